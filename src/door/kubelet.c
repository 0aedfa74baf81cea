/*
 * kubelet.c - see kubelet.h. A request is parsed as far as its headers are needed, then waits until
 * the API server has identified and authorized the caller; only then are pods accessed. Errors are
 * plain text, because an API server passes on a kubelet's as they are.
 */
#include "door/kubelet.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/list.h"
#include "base/percent.h"
#include "base/sha256.h"
#include "client/client.h"
#include "door/door_internal.h"
#include "door/kubelet_internal.h"
#include "loop/file.h"
#include "net/origin.h"
#include "net/query.h"

#define REVIEW_LIMIT_BYTES (1024u * 1024u)
#define KNOWN_MS 10000 /* how long a revoked right stays effective */
#define TEXT_TYPE "text/plain; charset=utf-8"

/* --- ending ----------------------------------------------------------------------------- */

static void visit_free(struct visit *v)
{
    client_forget(v);
    list_remove(&v->kubelet->visits, v);
    v->kubelet->visits_len--;
    err_release(&v->upgrade_err);
    free(v);
}

static void reply_text(struct visit *v, int code, const char *type, struct buf *text)
{
    struct blob *body = blob_from_buf(text);

    httpd_reply(v->http, body ? code : 503, type, NULL, 0, body);
    blob_unref(body);
    visit_free(v);
}

static void refuse(struct visit *v, const struct err *err)
{
    struct buf text = BUF_INIT(65536);

    buf_adds(&text, err->text ? err->text : "out of memory");
    reply_text(v, err_http_code(err->reason), TEXT_TYPE, &text);
    buf_release(&text);
}

static void refuse_with(struct visit *v, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    refuse(v, &err);
}

/* --- streams ---------------------------------------------------------------------------- */

struct served {
    struct served *prev, *next;
    struct kubelet *kubelet;
    struct node_session *session;
    enum mux_kind kind;
};

static void served_free(struct served *s)
{
    s->session->ops->free(s->session);
    list_remove(&s->kubelet->served, s);
    s->kubelet->served_len--;
    free(s);
}

static void on_over(void *arg)
{
    served_free(arg);
}

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct served *s = arg;

    if (fd < 0 || s->session->ops->begin(s->session, fd, early, early_len, s->kind) < 0)
        served_free(s);
}

static void hand_over(struct visit *v, struct node_session *session)
{
    struct kubelet *k = v->kubelet;
    struct served *s = k->served_len < KUBELET_SESSIONS_LIMIT ? calloc(1, sizeof(*s)) : NULL;

    if (!s || err_is_set(&v->upgrade_err)) {
        session->ops->free(session);
        free(s);
        if (err_is_set(&v->upgrade_err))
            refuse(v, &v->upgrade_err);
        else
            refuse_with(v, ERR_TOO_MANY_REQUESTS, "too many streams are open on this node");
        return;
    }
    *s = (struct served){.kubelet = k, .session = session, .kind = v->upgrade.kind};
    session->on_over = on_over;
    session->on_over_arg = s;
    list_push(&k->served, s);
    k->served_len++;
    httpd_upgrade(v->http, v->upgrade.headers, v->upgrade.header_count, on_upgraded, s);
    visit_free(v);
}

/* --- endpoints -------------------------------------------------------------------------- */

static const char *param(struct visit *v, const char *name)
{
    return query_param(&v->http->arena, v->http->query, name);
}

/* words: the path after the endpoint's name: NS, POD, and perhaps a UID, which must be the
 * pod's. */
static bool find_pod(struct visit *v, const char *uid, struct node_pod *ret)
{
    const struct kubelet_pods *pods = &v->kubelet->o.pods;
    const struct json *pod = pods->find(pods->arg, v->words[0], v->words[1]);
    struct arena *a = &v->http->arena;

    if (!pod || (uid && strcmp(object_uid(pod), uid) != 0)) {
        refuse_with(v, ERR_NOT_FOUND, "pod does not exist");
        return false;
    }
    *ret = (struct node_pod){v->words[0], v->words[1], arena_strdup(a, object_uid(pod))};
    if (!ret->uid)
        refuse_with(v, ERR_UNAVAILABLE, "out of memory");
    return ret->uid != NULL;
}

/* uid is only used by our own server: logs outlive their pods. */
static void answer_logs(struct visit *v)
{
    int64_t now_ms = clock_now_ms(loop_clock(v->kubelet->o.loop));
    const char *uid = param(v, "uid");
    struct node_pod pod = {v->words[0], v->words[1], uid};
    struct node_log_options o;
    struct stream *stream;
    auto_err err = ERR_INIT;

    if (!uid && !find_pod(v, NULL, &pod))
        return;
    if (query_log_options(&v->http->arena, v->http->query, now_ms, &o, &err) < 0 ||
        door_open_log(v->kubelet->node, &pod, v->words[2], &o, &stream, &err) < 0) {
        refuse(v, &err);
        return;
    }
    httpd_stream(v->http, 200, o.search.wanted ? node_log_type(&o) : TEXT_TYPE, stream);
    visit_free(v);
}

static void answer_list(struct visit *v)
{
    struct stream *stream;
    auto_err err = ERR_INIT;

    if (door_list_logs(v->kubelet->node, v->words[0], &stream, &err) < 0) {
        refuse(v, &err);
        return;
    }
    httpd_stream(v->http, 200, NODE_JSON_LINES_TYPE, stream);
    visit_free(v);
}

static void answer_command(struct visit *v)
{
    /* As sent by an API server to a kubelet. */
    static const char *const streams[NODE_STREAMS] = {
        [NODE_STDIN] = "input", [NODE_STDOUT] = "output", [NODE_STDERR] = "error"};
    struct arena *a = &v->http->arena;
    struct node *n = v->kubelet->node;
    struct node_command c = {.container = v->words[v->words_len - 1]};
    struct node_session *session;
    struct node_pod pod;
    auto_err err = ERR_INIT;
    bool exec = v->endpoint->use == USE_EXEC;
    int rc;

    if (!find_pod(v, v->words_len == 4 ? v->words[2] : NULL, &pod))
        return;
    rc = query_streams(a, v->http->query, streams, &c, &err);
    if (rc == 0 && exec)
        rc = query_argv(a, v->http->query, &c, &err);
    if (rc == 0)
        rc = exec ? door_exec(n, &pod, &c, &session, &err)
                  : door_attach(n, &pod, &c, &session, &err);
    if (rc != 0)
        refuse(v, &err);
    else
        hand_over(v, session);
}

static void answer_forward(struct visit *v)
{
    struct node_session *session;
    struct node_ports ports;
    struct node_pod pod;
    auto_err err = ERR_INIT;

    if (!find_pod(v, v->words_len == 3 ? v->words[2] : NULL, &pod))
        return;
    if (query_ports(&v->http->arena, v->http->query, "port", &ports, &err) < 0 ||
        door_forward(v->kubelet->node, &pod, &ports, v->upgrade.kind, &session, &err) < 0)
        refuse(v, &err);
    else
        hand_over(v, session);
}

static void answer_json(struct visit *v, const struct json *value)
{
    struct buf text = BUF_INIT(KUBELET_ANSWER_LIMIT_BYTES);

    json_write(&text, value);
    reply_text(v, 200, "application/json", &text);
    buf_release(&text);
}

static void answer_pods(struct visit *v)
{
    answer_json(v, kubelet_pod_list(&v->http->arena, &v->kubelet->o.pods));
}

static void answer_summary(struct visit *v)
{
    answer_json(v, kubelet_summary(&v->http->arena, v->kubelet->node, &v->kubelet->o.pods));
}

/* Of a pod, which may be deleted, or of the machine. */
static void answer_samples(struct visit *v)
{
    struct arena *a = &v->http->arena;
    struct node_pod pod = {v->words[0], v->words[1], v->words[2]};
    struct node_samples_query q;
    struct buf text = BUF_INIT(NODE_SAMPLES_LIMIT_BYTES + 64);
    auto_err err = ERR_INIT;
    int rc = v->words_len % 3 ? err_set(&err, ERR_NOT_FOUND, "404 page not found") : 0;

    if (rc == 0)
        rc = query_number(a, v->http->query, "since", 0, INT64_MAX, 0, &q.since_ms, &err);
    if (rc == 0)
        rc = query_number(a, v->http->query, "until", 0, INT64_MAX, 0, &q.until_ms, &err);
    if (rc == 0)
        rc = query_number(a, v->http->query, "step", 0, INT64_MAX, 0, &q.step_ms, &err);
    buf_addc(&text, '{');
    if (rc == 0 && !door_samples(v->kubelet->node, v->words_len ? &pod : NULL, &q, &text))
        rc = err_set(&err, ERR_NOT_FOUND, "there are no samples of it");
    buf_addc(&text, '}');
    if (rc < 0)
        refuse(v, &err);
    else
        reply_text(v, 200, "application/json", &text);
    buf_release(&text);
}

static void answer_metrics(struct visit *v)
{
    struct buf text = BUF_INIT(KUBELET_ANSWER_LIMIT_BYTES);

    kubelet_metrics(&text, v->kubelet->node, &v->kubelet->o.pods,
                    clock_now_ms(loop_clock(v->kubelet->o.loop)));
    reply_text(v, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
    buf_release(&text);
}

static void answer_health(struct visit *v)
{
    struct buf text = BUF_INIT(16);

    buf_adds(&text, "ok");
    reply_text(v, 200, TEXT_TYPE, &text);
    buf_release(&text);
}

/* Those with a UID in the path have one more segment. */
static const struct endpoint endpoints[] = {
    {"containerLogs", 3, 3, "proxy", USE_ANSWER, answer_logs},
    {"podLogs", 1, 1, "proxy", USE_ANSWER, answer_list},
    {"exec", 3, 4, "proxy", USE_EXEC, answer_command},
    {"attach", 3, 4, "proxy", USE_ATTACH, answer_command},
    {"portForward", 2, 3, "proxy", USE_FORWARD, answer_forward},
    {"pods", 0, 0, "proxy", USE_ANSWER, answer_pods},
    {"healthz", 0, 0, "proxy", USE_ANSWER, answer_health},
    {"stats/summary", 0, 0, "stats", USE_ANSWER, answer_summary},
    {"samples", 0, 3, "stats", USE_ANSWER, answer_samples},
    {"metrics/resource", 0, 0, "metrics", USE_ANSWER, answer_metrics},
};

/* --- authorization ---------------------------------------------------------------------- */

static const struct kind token_review = {.group = "authentication.k8s.io",
                                         .version = "v1",
                                         .name = "TokenReview",
                                         .plural = "tokenreviews"};
static const struct kind access_review = {.group = "authorization.k8s.io",
                                          .version = "v1",
                                          .name = "SubjectAccessReview",
                                          .plural = "subjectaccessreviews"};

/* Covers the caller's credentials and the requested access. */
static void digest(struct visit *v)
{
    const struct tls_peer *peer = httpd_peer(v->http);
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, v->verb, strlen(v->verb) + 1);
    sha256_add(&s, v->endpoint->subresource, strlen(v->endpoint->subresource) + 1);
    if (v->user) {
        sha256_add(&s, "user", sizeof("user"));
        sha256_add(&s, v->user, strlen(v->user) + 1);
        for (const char *const *g = tls_peer_groups(peer); *g; g++)
            sha256_add(&s, *g, strlen(*g) + 1);
    } else {
        sha256_add(&s, "token", sizeof("token"));
        sha256_add(&s, v->token, strlen(v->token));
    }
    sha256_end(&s, v->digest);
}

static bool is_known(const struct visit *v)
{
    const struct kubelet *k = v->kubelet;
    int64_t now_ms = clock_now_ms(loop_clock(k->o.loop));

    for (size_t i = 0; i < KNOWN_RIGHTS; i++)
        if (k->known[i].until_ms > now_ms && k->known[i].until_ms <= now_ms + KNOWN_MS &&
            memcmp(k->known[i].digest, v->digest, sizeof(v->digest)) == 0)
            return true;
    return false;
}

static void remember(const struct visit *v)
{
    struct kubelet *k = v->kubelet;
    struct known_right *r = &k->known[k->known_next++ % KNOWN_RIGHTS];

    memcpy(r->digest, v->digest, sizeof(r->digest));
    r->until_ms = clock_now_ms(loop_clock(k->o.loop)) + KNOWN_MS;
}

static void on_access(void *arg, const struct json *review, const struct err *err)
{
    struct visit *v = arg;
    auto_err no = ERR_INIT;

    if (err) {
        (void)err_set(&no, ERR_UNAVAILABLE, "the caller cannot be authorized: %s", err->text);
    } else if (!json_bool(json_at(review, "status", "allowed"), false)) {
        (void)err_set(&no, ERR_FORBIDDEN,
                      "Forbidden (user=%s, verb=%s, resource=nodes, subresource=%s)", v->user,
                      v->verb, v->endpoint->subresource);
    } else {
        remember(v);
        v->endpoint->answer(v);
        return;
    }
    refuse(v, &no);
}

static void ask_access(struct visit *v, const struct json *user)
{
    struct arena a = ARENA_INIT(REVIEW_LIMIT_BYTES);
    struct json *review = json_new_object(&a), *spec = json_make_object(&a, review, "spec"), *what;
    static const char *const copied[] = {"groups", "extra"};

    json_set_string(&a, review, "apiVersion", "authorization.k8s.io/v1");
    json_set_string(&a, review, "kind", access_review.name);
    json_set_string(&a, spec, "user", v->user);
    json_set_string(&a, spec, "uid", json_get_string(user, "uid", ""));
    for (size_t i = 0; i < ELEMS(copied); i++)
        if (json_get(user, copied[i]))
            json_set(&a, spec, copied[i], json_clone(&a, json_get(user, copied[i])));
    what = json_make_object(&a, spec, "resourceAttributes");
    json_set_string(&a, what, "verb", v->verb);
    json_set_string(&a, what, "version", "v1");
    json_set_string(&a, what, "resource", "nodes");
    json_set_string(&a, what, "subresource", v->endpoint->subresource);
    json_set_string(&a, what, "name", v->kubelet->node->name);
    client_create(v->kubelet->o.transport, &access_review, review, on_access, v);
    arena_release(&a);
}

/* In the form of a TokenReview. */
static const struct json *peer_as_user(struct visit *v)
{
    struct arena *a = &v->http->arena;
    struct json *user = json_new_object(a), *groups = json_make_array(a, user, "groups");

    for (const char *const *g = tls_peer_groups(httpd_peer(v->http)); *g; g++)
        json_append_string(a, groups, *g);
    json_append_string(a, groups, "system:authenticated");
    return user;
}

static void on_token(void *arg, const struct json *review, const struct err *err)
{
    struct visit *v = arg;
    const struct json *user = json_at(review, "status", "user");
    auto_err no = ERR_INIT;

    if (err)
        (void)err_set(&no, ERR_UNAVAILABLE, "the caller cannot be identified: %s", err->text);
    else if (!json_bool(json_at(review, "status", "authenticated"), false))
        (void)err_set(&no, ERR_UNAUTHORIZED, "Unauthorized");
    else if (!(v->user = arena_strdup(&v->http->arena, json_get_string(user, "username", ""))))
        (void)door_out_of_memory(&no);
    if (err_is_set(&no))
        refuse(v, &no);
    else
        ask_access(v, user);
}

static void ask_token(struct visit *v)
{
    struct arena a = ARENA_INIT(REVIEW_LIMIT_BYTES);
    struct json *review = json_new_object(&a);

    json_set_string(&a, review, "apiVersion", "authentication.k8s.io/v1");
    json_set_string(&a, review, "kind", token_review.name);
    json_set_string(&a, json_make_object(&a, review, "spec"), "token", v->token);
    client_create(v->kubelet->o.transport, &token_review, review, on_token, v);
    arena_release(&a);
}

/* --- requests --------------------------------------------------------------------------- */

static const char *verb_of(const char *method)
{
    static const char *const verbs[][2] = {{"GET", "get"},     {"HEAD", "get"},
                                           {"POST", "create"}, {"PUT", "update"},
                                           {"PATCH", "patch"}, {"DELETE", "delete"}};

    for (size_t i = 0; i < ELEMS(verbs); i++)
        if (strcmp(method, verbs[i][0]) == 0)
            return verbs[i][1];
    return "";
}

static bool split_words(struct visit *v, const char *at)
{
    while (*at == '/') {
        size_t len = strcspn(++at, "/");

        if (v->words_len == WORDS_LIMIT)
            return false;
        v->words[v->words_len] = percent_decode(&v->http->arena, at, len);
        if (!v->words[v->words_len] || !*v->words[v->words_len])
            return false;
        v->words_len++;
        at += len;
    }
    return *at == '\0';
}

static const struct endpoint *find_endpoint(struct visit *v)
{
    const char *path = v->http->path + (*v->http->path == '/');

    for (size_t i = 0; i < ELEMS(endpoints); i++) {
        const struct endpoint *e = &endpoints[i];
        size_t len = strlen(e->name);

        if (strncmp(path, e->name, len) != 0 || (path[len] && path[len] != '/'))
            continue;
        return split_words(v, path + len) && v->words_len >= e->words_least &&
                       v->words_len <= e->words_most
                   ? e
                   : NULL;
    }
    return NULL;
}

static const char *header(void *arg, const char *name)
{
    return httpd_header_joined(arg, name);
}

/* Headers can only be read now; errors in them are reported once the caller is identified. */
static void negotiate(struct visit *v)
{
    const struct upgrade_request asked = {
        .method = v->http->method, .header = header, .arg = v->http};

    enum upgrade_use use = v->endpoint->use == USE_FORWARD ? UPGRADE_PORT_FORWARD
                                                           : UPGRADE_REMOTE_COMMAND;

    if (v->endpoint->use != USE_ANSWER &&
        upgrade_negotiate(&asked, use, &v->http->arena, &v->upgrade, &v->upgrade_err) < 0)
        v->upgrade.header_count = 0;
}

static void handle(void *arg, struct httpd_request *http)
{
    struct kubelet *k = arg;
    struct visit *v = k->visits_len < KUBELET_REQUESTS_LIMIT ? calloc(1, sizeof(*v)) : NULL;
    const char *token = origin_bearer(http);
    const char *user = tls_peer_user(httpd_peer(http));

    if (!v) {
        httpd_reply(http, 429, TEXT_TYPE, NULL, 0, NULL);
        return;
    }
    *v = (struct visit){.kubelet = k, .http = http, .upgrade_err = ERR_INIT};
    list_push(&k->visits, v);
    k->visits_len++;
    v->token = token ? arena_strdup(&http->arena, token) : NULL;
    v->endpoint = find_endpoint(v);
    /* Opening a two-way stream counts as create, whatever the method. */
    v->verb = v->endpoint && v->endpoint->use != USE_ANSWER ? "create" : verb_of(http->method);
    v->user = user ? arena_strdup(&http->arena, user) : NULL;
    if (!v->token && !v->user) {
        refuse_with(v, ERR_UNAUTHORIZED, "Unauthorized");
    } else if (!v->endpoint) {
        refuse_with(v, ERR_NOT_FOUND, "404 page not found");
    } else {
        negotiate(v);
        digest(v);
        if (is_known(v))
            v->endpoint->answer(v);
        else if (v->user)
            ask_access(v, peer_as_user(v));
        else
            ask_token(v);
    }
}

/* --- life ------------------------------------------------------------------------------- */

struct kubelet *kubelet_new(const struct kubelet_options *options, struct err *err)
{
    struct kubelet *k = calloc(1, sizeof(*k));
    struct httpd_options how = {.loop = options->loop,
                                .address = options->address,
                                .tls = options->tls,
                                .tls_only = true,
                                .handle = handle,
                                .arg = k};

    if (!k) {
        (void)door_out_of_memory(err);
        return NULL;
    }
    k->o = *options;
    k->httpd = httpd_new(&how, err);
    if (k->httpd)
        return k;
    free(k);
    return NULL;
}

void kubelet_free(struct kubelet *k)
{
    if (!k)
        return;
    httpd_free(k->httpd); /* pending upgrades fail and are notified */
    for (struct visit *v = k->visits, *next; v; v = next) {
        next = v->next;
        refuse_with(v, ERR_UNAVAILABLE, "the node is stopping");
    }
    for (struct served *s = k->served, *next; s; s = next) {
        next = s->next;
        served_free(s);
    }
    free(k);
}

void kubelet_set_node(struct kubelet *k, struct node *n)
{
    k->node = n;
}

unsigned kubelet_port(const struct kubelet *k)
{
    return httpd_port(k->httpd);
}
