/* front.c - the HTTP front: authentication, and HTTP's terms for the core's results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "loop/file.h"
#include "net/httpd.h"
#include "net/listen.h"
#include "net/origin.h"
#include "server/apps.h"
#include "server/impersonate.h"
#include "server/local.h"
#include "server/login.h"
#include "server/machine_access.h"
#include "server/rbac.h"
#include "server/request_metrics.h"
#include "server/signing.h"
#include "server/tokens.h"

#define OPEN_BODY_LIMIT_BYTES (16u * 1024u)
#define INDENTED_LIMIT_BYTES (4u * 1024u * 1024u)

struct http_request {
    struct server_request base;
    struct httpd_request *http;
    bool pretty;
};

/* --- answers --------------------------------------------------------------------------- */

static const char *warning_value(struct arena *a, const char *text)
{
    struct buf b = BUF_INIT(8192);
    const char *value = NULL;

    buf_adds(&b, "299 - \"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_addc(&b, '\\');
        buf_addc(&b,
                 (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c); /* prevents header injection */
    }
    buf_addc(&b, '"');
    if (!b.failed)
        value = arena_strdup(a, b.data);
    buf_release(&b);
    return value;
}

/* People read what curl and Wget print: indented like the real server's, unless they ask for
 * something else. */
static bool is_read_by_people(const struct httpd_request *http)
{
    static const char *const agents[] = {"curl/", "Wget/"};
    const char *agent = httpd_header(http, "User-Agent");

    for (size_t i = 0; agent && i < ELEMS(agents); i++)
        if (strncmp(agent, agents[i], strlen(agents[i])) == 0)
            return true;
    return false;
}

/* NULL: as it is. */
static struct blob *indented(struct http_request *h, const struct server_reply *reply)
{
    struct server_request *r = &h->base;
    const char *asked = query_get(r, "pretty");
    bool wanted = asked ? query_is_true(r, "pretty") : h->pretty;
    struct buf text = BUF_INIT(INDENTED_LIMIT_BYTES);
    const struct json *v = NULL;
    struct blob *body = NULL;

    if (wanted && reply->body && reply->body->len <= INDENTED_LIMIT_BYTES / 4 &&
        reply->content_type && strcmp(reply->content_type, JSON_TYPE) == 0)
        v = json_parse(r->arena, reply->body->data, reply->body->len, NULL);
    if (v) {
        json_write_pretty(&text, v);
        body = text.failed ? NULL : blob_from_buf(&text);
    }
    buf_release(&text);
    return body;
}

static void http_reply(struct server_request *r, const struct server_reply *reply)
{
    struct http_request *h = container_of(r, struct http_request, base);
    struct blob *body = indented(h, reply);
    struct httpd_header headers[WARNINGS_LIMIT + 2] = {{"Cache-Control", "no-cache, private"}};
    char seconds[16];
    size_t n = 1;

    for (const struct warning *w = reply->warnings; w && n <= WARNINGS_LIMIT; w = w->next) {
        const char *value = warning_value(r->arena, w->text);

        if (value)
            headers[n++] = (struct httpd_header){"Warning", value};
    }
    if (reply->retry_after_s) {
        (void)snprintf(seconds, sizeof(seconds), "%d", reply->retry_after_s);
        headers[n++] = (struct httpd_header){"Retry-After", seconds};
    }
    httpd_reply(h->http, reply->code, reply->content_type, headers, n, body ? body : reply->body);
    blob_unref(body);
}

static void http_stream(struct server_request *r, const char *content_type, struct stream *stream)
{
    httpd_stream(container_of(r, struct http_request, base)->http, 200, content_type, stream);
}

static void http_upgrade(struct server_request *r, const struct httpd_header *headers, size_t count,
                         httpd_upgrade_fn *fn, void *arg)
{
    httpd_upgrade(container_of(r, struct http_request, base)->http, headers, count, fn, arg);
}

static const char *http_header(struct server_request *r, const char *name)
{
    return httpd_header_joined(container_of(r, struct http_request, base)->http, name);
}

static void http_on_gone(struct server_request *r, void (*fn)(void *arg), void *arg)
{
    httpd_on_gone(container_of(r, struct http_request, base)->http, fn, arg);
}

static const struct server_front http_front = {.reply = http_reply,
                                               .stream = http_stream,
                                               .upgrade = http_upgrade,
                                               .header = http_header,
                                               .on_gone = http_on_gone};

/* --- authentication -------------------------------------------------------------------- */

bool front_knows_token(struct server *s, struct arena *a, const char *given,
                       const struct caller **ret)
{
    *ret = secret_equal(s->token, given) ? &caller_owner : token_caller(s, a, given);
    return *ret != NULL;
}

/* A browser presents a certificate by itself, whichever site's page makes the request. */
static bool is_asked_by_a_page(const struct httpd_request *http)
{
    const char *site = httpd_header(http, "Sec-Fetch-Site");

    return site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0;
}

static bool knows_certificate(const struct server *s, struct httpd_request *http,
                              const struct caller **ret)
{
    const struct tls_peer *peer = httpd_peer(http);
    const char *user = tls_peer_user(peer);

    if (!user || is_asked_by_a_page(http) || tls_peer_until(peer) <= clock_now_ms(s->clock) / 1000)
        return false;
    *ret = caller_of_certificate(&http->arena, user, tls_peer_groups(peer));
    return *ret;
}

static int check_token(struct server *s, struct httpd_request *http, const struct caller **ret,
                       struct err *err)
{
    const char *given = origin_bearer(http);

    if (knows_certificate(s, http, ret))
        return 0;
    if (given && login_knows_key(s, http, given, ret))
        return 0;
    if (given && front_knows_token(s, &http->arena, given, ret))
        return 0;
    return err_set(err, ERR_UNAUTHORIZED, "Unauthorized");
}

static int check_access(struct server *s, struct httpd_request *http, const struct caller **ret,
                        struct err *err)
{
    *ret = &caller_anonymous;
    if (route_is_open(http->method, http->path) || login_is_open(http))
        return 0;
    return check_token(s, http, ret, err);
}

/* An unauthenticated body is not read: it would use memory and time that belong to legitimate
 * callers. Public paths need only a few bytes. */
static bool admits(void *arg, struct httpd_request *http)
{
    struct server *s = arg;
    const struct server_mount *mount;
    const struct caller *caller;
    char app[ORIGIN_APP_SIZE];
    auto_err err = ERR_INIT;

    if (origin_is_app(http, app))
        return apps_admits(s, http, app);
    if (origin_check(http, &err) != 0 || check_access(s, http, &caller, &err) != 0)
        return false;
    mount = front_find_mount(s, http->path);
    http->pulls_body = mount && mount->pulls && caller != &caller_anonymous &&
                       http->body_len != SIZE_MAX;
    return caller != &caller_anonymous || http->body_len <= OPEN_BODY_LIMIT_BYTES;
}

static const char *copied_header(struct httpd_request *http, const char *name)
{
    const char *value = httpd_header(http, name);

    return value ? arena_strdup(&http->arena, value) : NULL;
}

/* --- what is served besides the API ---------------------------------------------------- */

struct mounted {
    struct mount_request request;
    struct server *server;
    const struct caller *caller;
};

static bool caller_may(const struct mount_request *r, const char *verb, const char *group,
                       const char *plural, const char *ns, const char *name)
{
    const struct mounted *m = container_of(r, struct mounted, request);
    const char *slash = strchr(plural, '/');
    const struct access what = {
        .verb = verb,
        .group = group,
        .resource = slash ? arena_strndup(&r->http->arena, plural, (size_t)(slash - plural))
                          : plural,
        .subresource = slash ? slash + 1 : "",
        .ns = ns,
        .name = name};

    return what.resource && rbac_allows(m->server, &r->http->arena, m->caller, &what);
}

static int caller_enters(const struct mount_request *r, const struct json *pod, struct err *err)
{
    const struct mounted *m = container_of(r, struct mounted, request);
    struct server_request as = {.arena = &r->http->arena,
                                .caller = m->caller,
                                .server = m->server,
                                .route = {.ns = object_namespace(pod)}};

    return machine_access_enter(&as, pod, err);
}

static int callers_pod_user(const struct mount_request *r, const char *ns, struct mount_user *ret,
                            struct err *err)
{
    const struct mounted *m = container_of(r, struct mounted, request);
    struct server_request as = {
        .arena = &r->http->arena, .caller = m->caller, .server = m->server, .route = {.ns = ns}};
    struct namespace_user user;
    int rc = machine_access_pod_user(&as, &user, err);

    *ret = (struct mount_user){.wanted = user.uid != NAMESPACE_USER_NONE,
                               .uid = (uint32_t)user.uid,
                               .gid = (uint32_t)user.gid};
    return rc;
}

static struct transport *callers_transport(const struct mount_request *r)
{
    const struct mounted *m = container_of(r, struct mounted, request);

    return server_local_transport(m->server, m->caller);
}

const struct server_mount *front_find_mount(const struct server *s, const char *path)
{
    for (size_t i = 0; i < s->mounts_len; i++) {
        size_t len = strlen(s->mounts[i].prefix);

        if (strncmp(path, s->mounts[i].prefix, len) == 0 && (!path[len] || path[len] == '/') &&
            (!s->mounts[i].fits || s->mounts[i].fits(path)))
            return &s->mounts[i];
    }
    return NULL;
}

const struct mount_request *front_mount_request(struct server *s, struct httpd_request *http,
                                                const struct caller *caller)
{
    struct mounted *m = arena_alloc(&http->arena, sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct mounted){.request = {.http = http,
                                      .may = caller_may,
                                      .enter = caller_enters,
                                      .pod_user = callers_pod_user,
                                      .transport = callers_transport,
                                      .session = http->session,
                                      .user = caller_share(caller)},
                          .server = s,
                          .caller = caller};
    return &m->request;
}

void front_run_mount(struct server *s, struct httpd_request *http, const struct caller *caller,
                     const struct server_mount *mount)
{
    const struct mount_request *r = front_mount_request(s, http, caller);

    if (r)
        mount->fn(mount->arg, r);
    else
        httpd_reply(http, 503, NULL, NULL, 0, NULL);
}

static bool is_mounted(struct server *s, struct httpd_request *http, const struct caller *caller)
{
    const struct server_mount *mount = front_find_mount(s, http->path);

    if (mount && mount->is_app)
        apps_refuse(http);
    else if (mount)
        front_run_mount(s, http, caller, mount);
    return mount;
}

static bool nobody_may(const struct mount_request *r, const char *verb, const char *group,
                       const char *plural, const char *ns, const char *name)
{
    (void)r, (void)verb, (void)group, (void)plural, (void)ns, (void)name;
    return false;
}

static struct transport *nobodys_transport(const struct mount_request *r)
{
    (void)r;
    return NULL;
}

/* Public files: no token is required, and no rights are used. */
static bool is_page(struct server *s, struct httpd_request *http)
{
    struct mount_request r = {
        .http = http, .may = nobody_may, .transport = nobodys_transport, .user = ""};

    if (!s->pages.wants || login_is_open(http) ||
        !s->pages.wants(http->method, http->path, httpd_header(http, "Accept")))
        return false;
    if (apps_asks_first(s, http))
        return true;
    s->pages.handle(s->pages.arg, &r);
    return true;
}

void server_set_pages(struct server *s, const struct server_pages *pages)
{
    s->pages = *pages;
}

static int add_mount(struct server *s, const struct server_mount *mount)
{
    if (s->mounts_len == SERVER_MOUNTS_LIMIT)
        return -ENOSPC;
    s->mounts[s->mounts_len++] = *mount;
    return 0;
}

int server_mount(struct server *s, const char *prefix, mount_fn *fn, void *arg)
{
    return add_mount(s, &(struct server_mount){.prefix = prefix, .fn = fn, .arg = arg});
}

int server_mount_pulling(struct server *s, const char *prefix, mount_fn *fn, void *arg)
{
    return add_mount(s,
                     &(struct server_mount){.prefix = prefix, .fn = fn, .arg = arg, .pulls = true});
}

int server_mount_proxy(struct server *s, bool (*fits)(const char *path), mount_fn *fn, void *arg)
{
    return add_mount(s, &(struct server_mount){
                            .prefix = "/api", .fits = fits, .fn = fn, .arg = arg, .pulls = true});
}

int server_mount_app(struct server *s, const char *prefix, const struct server_app *app)
{
    return add_mount(
        s, &(struct server_mount){
               .prefix = prefix, .fn = app->fn, .arg = app->arg, .is_app = true, .app = *app});
}

static void handle(void *arg, struct httpd_request *http)
{
    struct server *s = arg;
    struct http_request *h = arena_alloc(&http->arena, sizeof(*h));
    const struct caller *caller = NULL;
    char app[ORIGIN_APP_SIZE];
    auto_err err = ERR_INIT;
    int rc;

    if (origin_is_app(http, app)) {
        apps_handle(s, http, app);
        return;
    }
    if (!h) {
        httpd_reply(http, 503, NULL, NULL, 0, NULL);
        return;
    }
    rc = origin_check(http, &err);
    if (rc == 0 && is_page(s, http))
        return;
    if (rc == 0)
        rc = check_access(s, http, &caller, &err);
    if (rc == 0)
        rc = impersonate(s, http, &caller, &err);
    h->http = http;
    h->pretty = is_read_by_people(http);
    h->base = (struct server_request){.front = &http_front,
                                      .method = http->method,
                                      .path = http->path,
                                      .query = http->query,
                                      .accept = copied_header(http, "Accept"),
                                      .content_type = copied_header(http, "Content-Type"),
                                      .agent = copied_header(http, "User-Agent"),
                                      .body = http->body,
                                      .body_len = http->body_len,
                                      .too_large = http->too_large,
                                      .arena = &http->arena,
                                      .login = http->session,
                                      .caller = caller};
    if (rc < 0) {
        request_metrics_begin(s->metrics, &h->base);
        reply_err(&h->base, &err);
    } else if (!login_handle(s, http, caller) && !is_mounted(s, http, caller)) {
        server_handle(s, &h->base);
    }
}

/* --- start and end --------------------------------------------------------------------- */

int server_listen(struct server *s, const char *address, const char *token,
                  const struct tls_options *tls, struct err *err)
{
    struct httpd_options o = {.loop = s->loop,
                              .address = address,
                              .tls = tls,
                              .handle = handle,
                              .admits = admits,
                              .arg = s};

    if (!token || !*token)
        return err_set(err, ERR_BAD_REQUEST,
                       "without a token the server would be open to everyone");
    front_close(s);
    s->token = strdup(token);
    if (!s->token)
        return out_of_memory(err);
    tokens_set_secret(s, token);
    if (tls)
        signing_set_authority(s, &tls->authority);
    s->httpd = httpd_new(&o, err);
    if (s->httpd)
        s->other_loopback = listen_hold_other(address, httpd_port(s->httpd));
    return s->httpd ? 0 : -1;
}

unsigned server_port(const struct server *s)
{
    return s->httpd ? httpd_port(s->httpd) : 0;
}

void front_close(struct server *s)
{
    httpd_free(s->httpd);
    s->httpd = NULL;
    file_close(&s->other_loopback);
    free(s->token);
    s->token = NULL;
    signing_forget_authority(s);
}
