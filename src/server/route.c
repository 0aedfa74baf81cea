/*
 * route.c - from method and path to the verb that answers. The table below lists everything the
 * server does; a verb is one file in this folder.
 *
 * Names in paths become keys of the store: a segment that would unescape to something with a slash
 * is refused here, before any lookup.
 */
#include <string.h>

#include "base/percent.h"
#include "server/endpoints.h"
#include "server/rbac.h"
#include "server/request_metrics.h"
#include "server/webhooks.h"

#define SEGMENTS_LIMIT 9

enum target { TARGET_COLLECTION, TARGET_OBJECT };

struct verb {
    const char *method;
    enum target target;
    const char *subresource;
    const struct kind *only; /* NULL: every kind (status: those that have one) */
    verb_fn *run;
};

static const struct verb verbs[] = {
    {"GET", TARGET_COLLECTION, "", NULL, verb_list}, /* with watch=true: verb_watch */
    {"POST", TARGET_COLLECTION, "", NULL, verb_create},
    {"DELETE", TARGET_COLLECTION, "", NULL, verb_delete_collection},
    {"GET", TARGET_OBJECT, "", NULL, verb_get},
    {"PUT", TARGET_OBJECT, "", NULL, verb_update},
    {"PATCH", TARGET_OBJECT, "", NULL, verb_patch},
    {"DELETE", TARGET_OBJECT, "", NULL, verb_delete},
    {"GET", TARGET_OBJECT, "status", NULL, verb_get},
    {"PUT", TARGET_OBJECT, "status", NULL, verb_update},
    {"PATCH", TARGET_OBJECT, "status", NULL, verb_patch},
    {"GET", TARGET_OBJECT, "scale", NULL, verb_get_scale},
    {"PUT", TARGET_OBJECT, "scale", NULL, verb_set_scale},
    {"PATCH", TARGET_OBJECT, "scale", NULL, verb_set_scale},
    {"GET", TARGET_OBJECT, "log", &kind_pod, verb_log},
    {"GET", TARGET_OBJECT, "samples", &kind_pod, verb_samples},
    {"GET", TARGET_OBJECT, "samples", &kind_node, verb_samples},
    {"GET", TARGET_OBJECT, "exec", &kind_pod, verb_exec},
    {"POST", TARGET_OBJECT, "exec", &kind_pod, verb_exec},
    {"GET", TARGET_OBJECT, "attach", &kind_pod, verb_attach},
    {"POST", TARGET_OBJECT, "attach", &kind_pod, verb_attach},
    {"GET", TARGET_OBJECT, "portforward", &kind_pod, verb_forward},
    {"POST", TARGET_OBJECT, "portforward", &kind_pod, verb_forward},
    {"GET", TARGET_OBJECT, APPROVAL, &kind_certificate_request, verb_get},
    {"PUT", TARGET_OBJECT, APPROVAL, &kind_certificate_request, verb_update},
    {"PATCH", TARGET_OBJECT, APPROVAL, &kind_certificate_request, verb_patch},
    {"GET", TARGET_OBJECT, EPHEMERAL_CONTAINERS, &kind_pod, verb_get},
    {"PUT", TARGET_OBJECT, EPHEMERAL_CONTAINERS, &kind_pod, verb_update},
    {"PATCH", TARGET_OBJECT, EPHEMERAL_CONTAINERS, &kind_pod, verb_patch},
    {"POST", TARGET_OBJECT, "binding", &kind_pod, verb_bind},
    {"POST", TARGET_OBJECT, "eviction", &kind_pod, verb_evict},
    {"POST", TARGET_OBJECT, "token", &kind_service_account, verb_token},
};

static const struct {
    const char *path;
    bool below; /* also paths below it */
    bool open;  /* public, as on a real cluster: health and version */
    verb_fn *run;
} fixed[] = {
    {"healthz", true, true, verb_health},
    {"livez", true, true, verb_health},
    {"readyz/storage", true, false, verb_storage},
    {"readyz", true, true, verb_ready},
    {"metrics", false, false, verb_metrics},
    {"version", false, true, verb_version},
    {"api", false, false, verb_discover_core},
    {"apis", false, false, verb_discover_groups},
    {"openapi/v2", false, false, verb_openapi_v2},
    {"openapi/v3", false, false, verb_openapi_v3},
    {"", false, false, verb_paths},
};

struct segments {
    char *text[SEGMENTS_LIMIT];
    size_t count;
};

static int unknown_path(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
}

static int not_allowed(struct err *err)
{
    return err_set(err, ERR_METHOD_NOT_ALLOWED,
                   "the server does not allow this method on the requested resource");
}

/* Names nothing, and the client means something other than we would understand. */
static bool is_dots(const char *text)
{
    return strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
}

static int split_path(struct server_request *r, struct segments *s, struct err *err)
{
    const char *at = r->path;

    while (*at) {
        size_t len;
        char *text;

        at += strspn(at, "/");
        len = strcspn(at, "/");
        if (!len)
            break;
        text = percent_decode(r->arena, at, len);
        if (arena_failed(r->arena))
            return out_of_memory(err);
        if (!text || strchr(text, '/') || is_dots(text) || s->count == SEGMENTS_LIMIT)
            return unknown_path(err);
        s->text[s->count++] = text;
        at += len;
    }
    return 0;
}

static bool method_is(const struct server_request *r, const char *method)
{
    return strcmp(r->method, method) == 0;
}

/* Among stored kinds. */
static const struct kind *find_kind(const struct server *s, const char *group, const char *version,
                                    const char *plural)
{
    const struct kind *k = review_find(group, version, plural);

    return k && endpoints_are(k) ? k : server_kind(s, group, version, plural);
}

/* PLURAL[/NAME[/SUBRESOURCE]] of one group and version, optionally after namespaces/NS. */
static int route_kind(struct server_request *r, const char *group, const char *version,
                      char *const *text, size_t count, struct err *err)
{
    struct route *route = &r->route;
    bool in_namespace = false;

    *route = (struct route){.ns = "", .subresource = ""};
    if (count == 3 && strcmp(text[0], "namespaces") == 0 &&
        review_find(group, version, text[2]) == &kind_binding)
        return method_is(r, "POST") ? binding_route(r, text[1], err) : not_allowed(err);
    if (count >= 3 && strcmp(text[0], "namespaces") == 0 &&
        find_kind(r->server, group, version, text[2])) {
        route->ns = text[1];
        in_namespace = true;
        text += 2;
        count -= 2;
    }
    route->kind = find_kind(r->server, group, version, text[0]);
    if (!route->kind || count > 3 || in_namespace > route->kind->namespaced) {
        route->kind = NULL;
        return unknown_path(err);
    }
    if (count > 1)
        route->name = text[1];
    if (count > 2)
        route->subresource = text[2];
    if (route->name && route->kind->namespaced && !in_namespace) {
        route->kind = NULL;
        return unknown_path(err);
    }
    return 0;
}

/* Subresources any kind may have. */
static bool has_subresource(const struct kind *k, const char *name)
{
    if (strcmp(name, "status") == 0)
        return k->has_status;
    return strcmp(name, "scale") != 0 || k->scale;
}

/* Logs, samples and streams do not return objects, whatever the client accepts. */
static bool answers_objects(verb_fn *run)
{
    return run != verb_log && run != verb_samples && run != verb_exec && run != verb_attach &&
           run != verb_forward;
}

static int run_one(struct server_request *r, const struct verb *v, struct err *err)
{
    bool watch = v->run == verb_list && query_is_true(r, "watch");
    int rc = 0;

    if (answers_objects(v->run))
        rc = request_choose_media(r, watch ? MEDIA_WATCH : MEDIA_ANSWER, err);
    if (rc < 0)
        return rc;
    return watch ? verb_watch(r, err) : v->run(r, err);
}

static int run_verb(struct server_request *r, struct err *err)
{
    enum target target = r->route.name ? TARGET_OBJECT : TARGET_COLLECTION;
    const struct kind *k = r->route.kind;
    bool known = false;

    if (k->deprecation)
        request_warn(r, k->deprecation);
    if (k == &kind_machine_access && !method_is(r, "GET"))
        return err_set(
            err, ERR_METHOD_NOT_ALLOWED,
            "machineaccess.muster.dev is a right, not an object: a Role grants its verb use");
    if (k->refused && !method_is(r, "GET") && !method_is(r, "DELETE"))
        return err_set(err, ERR_METHOD_NOT_ALLOWED,
                       "this server runs pods and training jobs and has no controller for %s: "
                       "create pods, or a PyTorchTrainingJob or MPIJob",
                       resource_name(r->arena, k));

    for (size_t i = 0; i < ELEMS(verbs); i++) {
        const struct verb *v = &verbs[i];

        if (v->target != target || strcmp(v->subresource, r->route.subresource) != 0 ||
            (v->only && v->only != k) || !has_subresource(k, v->subresource))
            continue;
        known = true;
        if (!method_is(r, v->method))
            continue;
        if (v->run == verb_create && k->namespaced && !*r->route.ns)
            break;
        return run_one(r, v, err);
    }
    if (!known)
        return unknown_path(err);
    return not_allowed(err);
}

/* /api/v1/... and /apis/G/V/... */
static int route_group(struct server_request *r, const struct segments *s, struct err *err)
{
    bool core = strcmp(s->text[0], "api") == 0;
    size_t used = core ? 2 : 3;
    const char *group = core ? "" : s->text[1];
    const char *version = s->count >= used ? s->text[used - 1] : NULL;
    const struct kind *review;
    int rc;

    if (s->count <= used) {
        if (!method_is(r, "GET"))
            return err_set(err, ERR_METHOD_NOT_ALLOWED, "only GET is allowed here");
        return discover_group(r, group, version, err);
    }
    if (strcmp(group, METRICS_GROUP) == 0)
        return metrics_answer(r, version, s->text + used, s->count - used, err);
    if (pod_logs_are(group, version, s->text + used, s->count - used))
        return pod_logs_answer(r, s->text[used + 1], err);
    review = s->count == used + 1 ? review_find(group, version, s->text[used]) : NULL;
    if (review && !endpoints_are(review))
        return review_answer(r, review, err);
    rc = route_kind(r, group, version, s->text + used, s->count - used, err);
    if (rc == 0 && r->route.kind)
        rc = rbac_check(r, err);
    if (rc < 0 || !r->route.kind)
        return rc;
    return endpoints_are(r->route.kind) ? endpoints_answer(r, err) : run_verb(r, err);
}

static bool under(const char *path, const char *prefix, bool below)
{
    size_t len = strlen(prefix);

    return strncmp(path, prefix, len) == 0 &&
           (!path[len] || strcmp(path + len, "/") == 0 || (below && path[len] == '/'));
}

bool route_is_open(const char *method, const char *path)
{
    path += strspn(path, "/");
    for (size_t i = 0; i < ELEMS(fixed); i++)
        if (fixed[i].open && under(path, fixed[i].path, false))
            return strcmp(method, "GET") == 0;
    return false;
}

static int check_caller(const struct server_request *r, struct err *err)
{
    if (!caller_is_known(r->caller) ||
        (r->caller->kind == CALLER_ANONYMOUS && !route_is_open(r->method, r->path)))
        return err_set(err, ERR_UNAUTHORIZED, "Unauthorized");
    return 0;
}

static int route_request(struct server_request *r, struct err *err)
{
    const char *path = r->path + strspn(r->path, "/");
    struct segments s = {.count = 0};
    int rc;

    for (size_t i = 0; i < ELEMS(fixed); i++)
        if (under(path, fixed[i].path, fixed[i].below)) {
            if (!method_is(r, "GET") && !(fixed[i].run == verb_storage && method_is(r, "DELETE")))
                return err_set(err, ERR_METHOD_NOT_ALLOWED, "only GET is allowed here");
            return fixed[i].run(r, err);
        }
    if (strncmp(path, "openapi/v3/", 11) == 0)
        return openapi_v3_document(r, path + 11, err);
    rc = split_path(r, &s, err);
    if (rc < 0)
        return rc;
    if (s.count >= 2 && (strcmp(s.text[0], "api") == 0 || strcmp(s.text[0], "apis") == 0))
        return route_group(r, &s, err);
    return unknown_path(err);
}

int64_t request_now_ms(struct server_request *r)
{
    if (!r->begun_ms)
        r->begun_ms = clock_now_ms(r->server->clock);
    return r->begun_ms;
}

/* Until the webhooks have answered, the request holds no memory but what the front gave it. */
static void let_wait(struct server_request *r)
{
    arena_rewind(r->arena, &r->begin);
    r->route = (struct route){.kind = NULL};
    r->params = NULL;
    r->media_chosen = false;
    r->warnings = r->last_warning = NULL;
    r->warning_count = 0;
}

void server_handle(struct server *s, struct server_request *r)
{
    struct webhook_calls *asked = r->asked;
    auto_err err = ERR_INIT;
    int rc;

    r->server = s;
    request_metrics_begin(s->metrics, r);
    if (!asked)
        r->begin = arena_mark(r->arena);
    rc = check_caller(r, &err);
    if (rc == 0 && r->too_large)
        rc = err_set(&err, ERR_TOO_LARGE, "Request entity too large: limit is %u",
                     OBJECT_LIMIT_BYTES);
    if (rc == 0)
        rc = query_parse(r, &err);
    if (rc == 0)
        rc = route_request(r, &err);
    if (rc < 0) {
        if (!err_is_set(&err) && webhook_calls_wait(r->asked)) {
            let_wait(r);
            return;
        }
        webhook_calls_free(r->asked);
        reply_err(r, &err);
    } else {
        webhook_calls_free(asked); /* r may be gone */
    }
}
