/* standalone.c - see standalone.h: routes requests and manages sessions. */
#include "console/standalone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/list.h"
#include "client/http_transport.h"
#include "console/api_proxy.h"
#include "console/api_tunnel.h"
#include "console/app_proxy.h"
#include "console/curves.h"
#include "console/live.h"
#include "console/web.h"
#include "core/tensorboard.h"
#include "net/metrics.h"
#include "net/origin.h"
#include "net/sessions.h"

#define TOKEN_LIMIT_BYTES (16u * 1024u)
#define ANSWER_LIMIT_BYTES 4096u
#define LIFETIME_MS ((int64_t)12 * 3600 * 1000)

struct standalone_console {
    struct loop *loop;
    const struct client_config *server;
    const char *version;
    struct httpd *httpd;
    struct live_hub *live;
    struct api_proxy *proxy;
    struct ws_tunnels *tunnels;
    struct curves *curves;
    struct sessions sessions;
    const struct httpd_request *signing_out; /* the request that is ending its own session */
    struct sign_in *signing_in;
    size_t signing_in_len;
};

/* A request being routed, and its caller. */
struct request {
    struct mount_request mount;
    struct standalone_console *console;
    const struct session_entry *session; /* NULL: not signed in */
};

static struct transport *transport_for(struct standalone_console *r, const char *token)
{
    struct client_config config = {
        .server = r->server->server, .reach = client_reach_of_others(r->server), .token = token};

    return http_transport_new(r->loop, &config, NULL);
}

/* --- signing in: the API server identifies the token ------------------------------------- */

#define SIGN_IN_LIMIT 32u /* at a time */

struct sign_in {
    struct standalone_console *console;
    struct sign_in *prev, *next;
    struct httpd_request *http;
    struct transport *transport;
    char *token;
    bool again; /* the fallback was used */
};

static void sign_in_free(struct sign_in *s)
{
    list_remove(&s->console->signing_in, s);
    s->console->signing_in_len--;
    transport_free(s->transport);
    explicit_bzero(s->token, strlen(s->token));
    free(s->token);
    free(s);
}

static void reply_json(struct httpd_request *http, int code, const char *text)
{
    static const struct httpd_header header = {"Cache-Control", "no-store"};
    struct blob *body = text ? blob_new(text, strlen(text)) : NULL;

    httpd_reply(http, body ? code : 503, "application/json", &header, 1, body);
    blob_unref(body);
}

static void signed_in(struct sign_in *s, const char *user)
{
    char key[SESSION_KEY_SIZE];
    int rc = session_begin(&s->console->sessions, s->token, user, key);

    if (rc == -EBUSY)
        origin_refuse_with(s->http, ERR_TOO_MANY_REQUESTS, SESSIONS_FULL);
    else
        reply_json(s->http, 201,
                   rc == 0 ? arena_printf(&s->http->arena, "{\"key\":\"%s\"}", key) : NULL);
    sign_in_free(s);
}

static void not_signed_in(struct sign_in *s, enum err_reason reason, const char *text)
{
    origin_refuse_with(s->http, reason, text);
    sign_in_free(s);
}

static void ask_who(struct sign_in *s);

static void on_who(void *arg, const struct api_reply *reply)
{
    struct sign_in *s = arg;
    struct arena a = ARENA_INIT(1024u * 1024u);
    const struct json *review = json_parse(&a, reply->body, reply->body_len, NULL);
    const char *user = json_string(json_at(review, "status", "userInfo", "username"), "");

    if (reply->status == 200 || reply->status == 201) {
        signed_in(s, *user ? user : SESSION_USER_UNKNOWN);
    } else if (!s->again && (reply->status == 404 || reply->status == 403)) {
        s->again = true; /* a server before 1.28 lacks this review; any authenticated user may use
                          * the other */
        ask_who(s);
    } else if (reply->status == 401) {
        not_signed_in(s, ERR_UNAUTHORIZED, "the API server does not accept this token");
    } else {
        const char *text = arena_printf(
            &a, "the API server does not say whose this token is: %.300s",
            json_get_string(review, "message", reply->status ? "" : reply->body));

        not_signed_in(s, ERR_UNAVAILABLE, text ? text : "out of memory");
    }
    arena_release(&a);
}

static void ask_who(struct sign_in *s)
{
    static const char self[] =
        "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}";
    static const char access[] =
        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
        "\"spec\":{\"resourceAttributes\":{\"verb\":\"list\",\"resource\":\"pods\"}}}";
    const char *body = s->again ? access : self;
    const struct api_call call = {
        .method = "POST",
        .path = s->again ? "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
                         : "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        .content_type = "application/json",
        .body = body,
        .body_len = strlen(body)};

    transport_call(s->transport, &call, on_who, s);
}

static bool is_token(const char *text)
{
    size_t len = strlen(text);

    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
            return false;
    return len > 0 && len <= TOKEN_LIMIT_BYTES;
}

/* Takes the token, which may be NULL: out of memory. */
static void begin_sign_in(struct standalone_console *r, struct httpd_request *http, char *token)
{
    struct sign_in *s = token && r->signing_in_len < SIGN_IN_LIMIT ? calloc(1, sizeof(*s)) : NULL;
    struct transport *t = s ? transport_for(r, token) : NULL;

    if (!t) {
        free(s);
        free(token);
        origin_refuse_with(http, ERR_TOO_MANY_REQUESTS, "too many concurrent sign-ins");
        return;
    }
    *s = (struct sign_in){.console = r, .http = http, .transport = t, .token = token};
    list_push(&r->signing_in, s);
    r->signing_in_len++;
    ask_who(s);
}

static void sign_in(struct request *q)
{
    struct httpd_request *http = q->mount.http;
    const struct json *body = json_parse(&http->arena, http->body, http->body_len, NULL);
    const char *token = json_get_string(body, "token", "");
    const char *code = json_get_string(body, "code", "");
    char *of_code = *code ? session_code_take(&q->console->sessions, code) : NULL;

    if (of_code)
        begin_sign_in(q->console, http, of_code);
    else if (*code)
        origin_refuse_with(http, ERR_UNAUTHORIZED,
                           "the code has already been used, or has expired");
    else if (is_token(token))
        begin_sign_in(q->console, http, strdup(token));
    else
        origin_refuse_with(http, ERR_UNAUTHORIZED, "this is not a token");
}

/* Whatever the session has open ends with it, except for the request that ends it. */
static void on_ended(void *arg, uint64_t session)
{
    struct standalone_console *r = arg;

    live_sign_out(r->live, session);
    ws_tunnels_end_session(r->tunnels, session);
    httpd_end_session(r->httpd, session, r->signing_out);
}

static void sign_out(struct request *q)
{
    struct httpd_request *http = q->mount.http;

    q->console->signing_out = http;
    session_end(&q->console->sessions, http->session);
    q->console->signing_out = NULL;
    httpd_reply(http, 204, NULL, NULL, 0, NULL);
}

static void reply_session(struct request *q)
{
    struct httpd_request *http = q->mount.http;
    const char *ns = q->console->server->ns;
    struct buf text = BUF_INIT(ANSWER_LIMIT_BYTES);
    struct json *v = json_new_object(&http->arena);

    json_set_string(&http->arena, v, "user", q->session->user);
    json_set_string(&http->arena, v, "namespace", ns && *ns ? ns : "default");
    json_set_string(&http->arena, v, "version", q->console->version);
    json_set_bool(&http->arena, v, "local", false);
    json_set_string(&http->arena, v, "console", web_hash());
    json_write(&text, v);
    reply_json(http, 200, text.failed ? NULL : text.data);
    buf_release(&text);
}

/* --- the rest --------------------------------------------------------------------------- */

/* The API server decides about each call; nothing is checked here. */
static bool may(const struct mount_request *m, const char *verb, const char *group,
                const char *plural, const char *ns, const char *name)
{
    (void)m, (void)verb, (void)group, (void)plural, (void)ns, (void)name;
    return false;
}

static struct transport *users_transport(const struct mount_request *m)
{
    const struct request *q = container_of(m, struct request, mount);

    return q->session ? transport_for(q->console, q->session->token) : NULL;
}

static void stream(struct request *q)
{
    live_handle(q->console->live, &q->mount);
}

static void pass_on(struct request *q)
{
    struct httpd_request *http = q->mount.http;

    if (httpd_header(http, "Upgrade"))
        api_tunnel_handle(q->console->tunnels, q->console->server, http, q->session->token);
    else
        api_proxy_handle(q->console->proxy, http, q->session->token);
}

static void say_ok(struct request *q)
{
    reply_json(q->mount.http, 200, "\"ok\"");
}

static void tell_metrics(struct request *q)
{
    struct buf text = BUF_INIT(ANSWER_LIMIT_BYTES);
    struct blob *body;

    metrics_add_process(&text);
    body = blob_from_buf(&text);
    httpd_reply(q->mount.http, body ? 200 : 503, METRICS_TYPE, NULL, 0, body);
    blob_unref(body);
    buf_release(&text);
}

static void curves(struct request *q)
{
    curves_handle(q->console->curves, &q->mount);
}

/* The next segment of a path. */
static const char *segment(struct arena *a, const char **at, const char *otherwise)
{
    size_t len = strcspn(*at, "/");
    const char *text = len ? arena_strndup(a, *at, len) : otherwise;

    *at += len + ((*at)[len] == '/');
    return text ? text : otherwise;
}

/* For an app's path, as requested or, when opening it, in the body. Its Service has a port of this
 * name whatever the number. */
static void not_here(struct request *q)
{
    struct httpd_request *http = q->mount.http;
    const struct json *body = json_parse(&http->arena, http->body, http->body_len, NULL);
    const char *path = json_get_string(body, "path", http->path), *ns, *name;
    const struct app_kind *kind = app_kind_at(path);
    auto_err err = ERR_INIT;

    if (!kind) {
        origin_refuse_with(http, ERR_NOT_FOUND,
                           "programs of pods are not shown by a console that is a process of its "
                           "own: run kubectl port-forward");
        return;
    }
    path += strlen(kind->path) + 1;
    ns = segment(&http->arena, &path, "NAMESPACE");
    name = segment(&http->arena, &path, "NAME");
    (void)err_set(&err, ERR_NOT_FOUND,
                  "%ss are not shown by a console that is a process of its own: run kubectl -n %s "
                  "port-forward service/%s%s%s %" PRId64
                  ":http, then open http://127.0.0.1:%" PRId64 "%s/%s/%s/",
                  kind->job->kind->name, ns, kind->service_prefix ? kind->service_prefix : "", name,
                  kind->service_prefix ? "" : kind->suffix, kind->port_on_cluster,
                  kind->port_on_cluster, kind->path, ns, name);
    origin_refuse(http, &err);
}

/* Longest prefixes first: the first match wins. */
static const struct {
    const char *method, *path; /* method NULL: any */
    bool below;                /* also paths below it */
    bool open;                 /* public */
    void (*handle)(struct request *q);
} paths[] = {
    {"POST", "/console/v1/login", false, true, sign_in},
    {"POST", "/console/v1/logout", false, false, sign_out},
    {"GET", "/console/v1/session", false, false, reply_session},
    {"GET", LIVE_PREFIX, false, false, stream},
    {"POST", "/console/v1/open", false, false, not_here},
    {NULL, CURVES_PREFIX, true, false, curves},
    {NULL, TENSORBOARD_PATH_PREFIX, true, false, not_here},
    {NULL, NOTEBOOK_PATH_PREFIX, true, false, not_here},
    {NULL, APP_PORT_PREFIX, true, false, not_here},
    {NULL, "/api", true, false, pass_on},
    {NULL, "/apis", true, false, pass_on},
    {NULL, "/openapi", true, false, pass_on},
    {"GET", "/version", false, false, pass_on},
    {"GET", "/healthz", false, true, say_ok},
    {"GET", "/readyz", false, true, say_ok},
    {"GET", "/metrics", false, true, tell_metrics},
};

static bool fits(size_t i, const struct httpd_request *http)
{
    size_t len = strlen(paths[i].path);

    return (!paths[i].method || strcmp(paths[i].method, http->method) == 0) &&
           strncmp(http->path, paths[i].path, len) == 0 &&
           (!http->path[len] || (paths[i].below && http->path[len] == '/'));
}

static void handle_path(struct request *q, size_t i)
{
    struct httpd_request *http = q->mount.http;
    const char *key = origin_bearer(http);

    q->session = key ? session_find(&q->console->sessions, key) : NULL;
    http->session = q->mount.session = q->session ? q->session->id : 0;
    q->mount.user = q->session ? q->session->user : "";
    if (!paths[i].open && !q->session)
        origin_refuse_with(http, ERR_UNAUTHORIZED, "Unauthorized");
    else
        paths[i].handle(q);
}

static void note_impersonation(void *arg, const char *name, const char *value)
{
    static const char prefix[] = "Impersonate-";

    (void)value;
    if (strncasecmp(name, prefix, strlen(prefix)) == 0)
        *(bool *)arg = true;
}

/* They are not passed on, and such a client must not get the signed-in user's answer. */
static bool wants_to_impersonate(const struct httpd_request *http)
{
    bool found = false;

    httpd_each_header(http, note_impersonation, &found);
    return found;
}

static void handle(void *arg, struct httpd_request *http)
{
    struct request q = {
        .mount = {.http = http, .may = may, .transport = users_transport, .user = ""},
        .console = arg};
    auto_err err = ERR_INIT;
    size_t i = 0;

    if (origin_check(http, &err) < 0) {
        origin_refuse(http, &err);
        return;
    }
    if (wants_to_impersonate(http)) {
        origin_refuse_with(http, ERR_BAD_REQUEST,
                           "this console acts as the signed-in user: send Impersonate headers to "
                           "the API server itself");
        return;
    }
    while (i < ELEMS(paths) && !fits(i, http))
        i++;
    if (web_wants(http->method, http->path, httpd_header(http, "Accept")))
        web_handle(NULL, &q.mount);
    else if (i < ELEMS(paths))
        handle_path(&q, i);
    else
        origin_refuse_with(http, ERR_NOT_FOUND, "there is no such path");
}

/* --- life ------------------------------------------------------------------------------- */

const char *standalone_console_login_path(struct standalone_console *r, struct arena *a,
                                          const char *token)
{
    char code[SESSION_CODE_SIZE];

    return session_code_make(&r->sessions, token, code) == 0
               ? arena_printf(a, "/login?code=%s", code)
               : NULL;
}

unsigned standalone_console_port(const struct standalone_console *r)
{
    return httpd_port(r->httpd);
}

struct standalone_console *standalone_console_new(const struct standalone_console_options *o,
                                                  struct err *err)
{
    struct standalone_console *r = calloc(1, sizeof(*r));

    if (!r) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    r->loop = o->loop;
    r->server = o->server;
    r->version = o->version;
    if (sessions_init(&r->sessions, &(struct sessions_options){.clock = loop_clock(o->loop),
                                                               .lifetime_ms = LIFETIME_MS,
                                                               .ended = on_ended,
                                                               .arg = r}) < 0) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        free(r);
        return NULL;
    }
    r->live = live_hub_new(o->loop);
    r->tunnels = ws_tunnels_new(o->loop, "the API server");
    r->proxy = api_proxy_new(o->loop, o->server, err);
    r->curves = curves_new(o->loop, NULL, NULL, o->volumes);
    if (r->live && r->tunnels && r->proxy && r->curves)
        r->httpd = httpd_new_self_signed(
            &(struct httpd_options){
                .loop = o->loop, .address = o->listen, .handle = handle, .arg = r},
            err);
    if (r->httpd)
        return r;
    (void)err_set(err, ERR_INTERNAL, "out of memory"); /* unless already set */
    standalone_console_free(r);
    return NULL;
}

void standalone_console_free(struct standalone_console *r)
{
    if (!r)
        return;
    for (struct sign_in *s = r->signing_in, *next; s; s = next) {
        next = s->next;
        not_signed_in(s, ERR_UNAVAILABLE, "the console is stopping");
    }
    live_hub_free(r->live);
    ws_tunnels_free(r->tunnels);
    api_proxy_free(r->proxy);
    curves_free(r->curves);
    httpd_free(r->httpd);
    sessions_release(&r->sessions);
    free(r);
}
