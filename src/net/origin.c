/* origin.c - see origin.h. */
#include "net/origin.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/status.h"
#include "base/base64.h"

#define STATUS_LIMIT_BYTES (64u * 1024u)

/* --- where it comes from ----------------------------------------------------------------- */

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

static int check_origin(const struct httpd_request *http, const char *origin, struct err *err)
{
    const char *scheme = httpd_is_tls(http) ? "https://" : "http://";
    const char *host = httpd_header(http, "Host");

    if (!origin)
        return 0;
    if (strncasecmp(origin, scheme, strlen(scheme)) == 0 &&
        strcasecmp(origin + strlen(scheme), host) == 0)
        return 0;
    return err_set(err, ERR_FORBIDDEN, "a page of \"%.100s\" may not use this server", origin);
}

struct twice {
    unsigned seen; /* one bit per header */
    const char *name;
};

/* Headers that determine caller and origin: of duplicates some parsers take the first, some the
 * last. */
static void note_twice(void *arg, const char *name, const char *value)
{
    static const char *const once[] = {"Origin", "Authorization", "Impersonate-User",
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
        return err_set(err, ERR_BAD_REQUEST, "the header %s occurs twice: send it once", t.name);
    return 0;
}

int origin_check(const struct httpd_request *http, struct err *err)
{
    const char *host = httpd_header(http, "Host");
    int rc = check_once(http, err);

    if (rc == 0 && !(host && httpd_is_tls(http)))
        rc = check_host(host, err);
    return rc == 0 ? check_origin(http, httpd_header(http, "Origin"), err) : rc;
}

/* --- origins of apps --------------------------------------------------------------------- */

static size_t app_label_len(const char *host)
{
    size_t len = strlen(ORIGIN_APP_PREFIX) + ORIGIN_APP_DIGITS;

    return strncasecmp(host, ORIGIN_APP_PREFIX, strlen(ORIGIN_APP_PREFIX)) == 0 &&
                   strspn(host + strlen(ORIGIN_APP_PREFIX), "0123456789abcdefABCDEF") ==
                       ORIGIN_APP_DIGITS
               ? len
               : 0;
}

bool origin_is_app(const struct httpd_request *http, char out[ORIGIN_APP_SIZE])
{
    static const char domain[] = ".localhost";
    const char *host = httpd_header(http, "Host");
    size_t len = host ? app_label_len(host) : 0;

    if (!len || strncasecmp(host + len, domain, strlen(domain)) != 0 ||
        !is_port(host + len + strlen(domain)))
        return false;
    for (size_t i = 0; i < len; i++)
        out[i] = (char)tolower((unsigned char)host[i]);
    out[len] = '\0';
    return true;
}

int origin_check_app(const struct httpd_request *http, struct err *err)
{
    bool reads = strcmp(http->method, "GET") == 0 || strcmp(http->method, "HEAD") == 0;
    const char *origin = httpd_header(http, "Origin");
    int rc = check_once(http, err);

    if (rc < 0)
        return rc;
    if (!origin && (!reads || httpd_header(http, "Upgrade")))
        return err_set(err, ERR_FORBIDDEN, "changes and WebSockets need an Origin here");
    if (httpd_header(http, "Service-Worker"))
        return err_set(err, ERR_FORBIDDEN, "there are no service workers here");
    return check_origin(http, origin, err);
}

bool origin_is_loopback(const struct httpd_request *http)
{
    return check_host(httpd_header(http, "Host"), NULL) == 0;
}

const char *origin_port(const struct httpd_request *http)
{
    const char *host = httpd_header(http, "Host");
    const char *colon = host ? strrchr(host, ':') : NULL;

    return colon && !strchr(colon, ']') ? colon : "";
}

const char *origin_cookie(struct httpd_request *http, const char *name, const char **at)
{
    size_t len = strlen(name);
    const char *value;

    while (*at && **at) {
        *at += strspn(*at, "; ");
        value = strncmp(*at, name, len) == 0 && (*at)[len] == '=' ? *at + len + 1 : NULL;
        *at += strcspn(*at, ";");
        if (value)
            return arena_strndup(&http->arena, value, (size_t)(*at - value));
    }
    return NULL;
}

/* --- the caller -------------------------------------------------------------------------- */

/* Kubernetes' way for browsers, which cannot add headers to a WebSocket. */
static const char *websocket_bearer(struct httpd_request *http)
{
    const char *at = httpd_header_joined(http, "Sec-WebSocket-Protocol");

    while (at && *at) {
        size_t len;

        at += strspn(at, ", \t");
        len = strcspn(at, ", \t");
        if (origin_is_bearer_protocol(at))
            return base64url_decode(&http->arena, at + strlen(ORIGIN_BEARER_PROTOCOL),
                                    len - strlen(ORIGIN_BEARER_PROTOCOL), NULL);
        at += len;
    }
    return NULL;
}

bool origin_is_bearer_protocol(const char *protocol)
{
    return strncmp(protocol, ORIGIN_BEARER_PROTOCOL, strlen(ORIGIN_BEARER_PROTOCOL)) == 0;
}

const char *origin_bearer(struct httpd_request *http)
{
    static const char bearer[] = "Bearer ";
    const char *authorization = httpd_header(http, "Authorization");

    if (authorization)
        return strncasecmp(authorization, bearer, strlen(bearer)) == 0
                   ? authorization + strlen(bearer)
                   : NULL;
    return httpd_header(http, "Upgrade") ? websocket_bearer(http) : NULL;
}

void origin_refuse(struct httpd_request *http, const struct err *err)
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

void origin_refuse_with(struct httpd_request *http, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    origin_refuse(http, &err);
}

bool origin_is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

void html_escape(struct buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            buf_adds(out, "&lt;");
            break;
        case '>':
            buf_adds(out, "&gt;");
            break;
        case '&':
            buf_adds(out, "&amp;");
            break;
        case '"':
            buf_adds(out, "&quot;");
            break;
        default:
            buf_addc(out, *text);
        }
}
