/* place.c - see place.h. */
#include "net/place.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "api/status.h"

#define COOKIE_PREFIX "muster_session_"
#define DEFAULT_PORT "80"
#define CSRF_HEADER "X-Muster-Console"
/* What TensorBoard's pages send instead. Any header of one's own will do: pages of other origins
 * cannot set one without being asked first, and are refused then. */
#define CSRF_TENSORBOARD "X-XSRF-Protected"
#define STATUS_LIMIT_BYTES (64u * 1024u)

/* --- where from -------------------------------------------------------------------------- */

static bool is_port(const char *text)
{
    return !*text ||
           (text[0] == ':' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1));
}

static int check_host(const char *host, struct err *err)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

    for (size_t i = 0; host && i < ELEMS(names); i++) {
        size_t len = strlen(names[i]);

        if (strncasecmp(host, names[i], len) == 0 && is_port(host + len))
            return 0;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "the request is for the host \"%.100s\", which is not this machine: use "
                   "127.0.0.1, localhost or [::1]",
                   host ? host : "");
}

static int check_origin(const char *origin, const char *host, struct err *err)
{
    static const char scheme[] = "http://";

    if (!origin)
        return 0;
    if (strncasecmp(origin, scheme, strlen(scheme)) == 0 &&
        strcasecmp(origin + strlen(scheme), host) == 0)
        return 0;
    return err_set(err, ERR_FORBIDDEN, "a page of \"%.100s\" may not use this server", origin);
}

struct twice {
    unsigned seen; /* a bit for each */
    const char *name;
};

/* What decides who asks and from where: of two, some readers take the first and some the last. */
static void note_twice(void *arg, const char *name, const char *value)
{
    static const char *const once[] = {"Host", "Origin", "Authorization", "Impersonate-User",
                                       "Impersonate-Uid"};
    struct twice *t = arg;

    (void)value;
    for (size_t i = 0; i < ELEMS(once); i++)
        if (strcasecmp(name, once[i]) == 0) {
            if (t->seen & 1u << i)
                t->name = once[i];
            t->seen |= 1u << i;
        }
}

static int check_once(const struct httpd_request *http, struct err *err)
{
    struct twice t = {.seen = 0};

    httpd_each_header(http, note_twice, &t);
    if (t.name)
        return err_set(err, ERR_BAD_REQUEST, "the header %s is there twice: send it once", t.name);
    return 0;
}

int place_check(const struct httpd_request *http, struct err *err)
{
    const char *host = httpd_header(http, "Host");
    int rc = check_once(http, err);

    if (rc == 0)
        rc = check_host(host, err);
    return rc == 0 ? check_origin(httpd_header(http, "Origin"), host, err) : rc;
}

/* --- the cookie -------------------------------------------------------------------------- */

const char *place_cookie_name(struct httpd_request *http)
{
    const char *host = httpd_header(http, "Host");
    const char *colon = host ? strrchr(host, ':') : NULL;
    bool has_port = colon && !strchr(colon, ']');

    return arena_printf(&http->arena, COOKIE_PREFIX "%s", has_port ? colon + 1 : DEFAULT_PORT);
}

const char *place_cookie(struct httpd_request *http)
{
    const char *name = place_cookie_name(http);
    size_t len = name ? strlen(name) : 0;

    for (const char *at = httpd_header(http, "Cookie"); name && at && *at; at += strcspn(at, ";")) {
        at += strspn(at, "; ");
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            at += len + 1;
            return arena_strndup(&http->arena, at, strcspn(at, ";"));
        }
    }
    return NULL;
}

/* SameSite: no other site's page can make a browser send it. Not "Secure": loopback is plain HTTP,
 * and one browser keeps such cookies there, another does not. */
const char *place_set_cookie(struct arena *a, const char *name, const char *value, int64_t seconds)
{
    return name && value
               ? arena_printf(a, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%" PRId64, name,
                              value, seconds)
               : NULL;
}

int place_check_cookie_use(const struct httpd_request *http, struct err *err)
{
    bool reads = strcmp(http->method, "GET") == 0 || strcmp(http->method, "HEAD") == 0;

    if (!reads && !httpd_header(http, CSRF_HEADER) && !httpd_header(http, CSRF_TENSORBOARD))
        return err_set(err, ERR_FORBIDDEN,
                       "a change asked for with a browser's cookie needs the header " CSRF_HEADER);
    if (httpd_header(http, "Upgrade") && !httpd_header(http, "Origin"))
        return err_set(err, ERR_FORBIDDEN,
                       "a WebSocket opened with a browser's cookie needs an Origin");
    return 0;
}

void place_refuse(struct httpd_request *http, const struct err *err)
{
    static const struct httpd_header headers[] = {{"Cache-Control", "no-store"},
                                                  {"X-Content-Type-Options", "nosniff"}};
    struct buf text = BUF_INIT(STATUS_LIMIT_BYTES);
    struct blob *body;

    json_write(&text, status_from_err(&http->arena, err, NULL, NULL));
    body = blob_from_buf(&text);
    httpd_reply(http, body ? err_http_code(err->reason) : 503, "application/json", headers,
                ELEMS(headers), body);
    blob_unref(body);
    buf_release(&text);
}
