/*
 * metrics.c - metrics.k8s.io/v1beta1, as read by `kubectl top`: the newest sample of each running
 * pod and node, from the nodes (port/node.h). Nothing is stored here; what was not measured
 * recently is missing.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api/selector.h"
#include "base/timefmt.h"
#include "server/internal.h"
#include "server/list.h"
#include "server/rbac.h"

#define FRESH_MS (60 * 1000) /* an older sample says nothing about now */

const struct kind kind_pod_metrics = {.group = METRICS_GROUP,
                                      .version = "v1beta1",
                                      .name = "PodMetrics",
                                      .plural = "pods",
                                      .singular = "",
                                      .namespaced = true};
const struct kind kind_node_metrics = {.group = METRICS_GROUP,
                                       .version = "v1beta1",
                                       .name = "NodeMetrics",
                                       .plural = "nodes",
                                       .singular = ""};

/* --- one object ------------------------------------------------------------------------- */

static void add_usage(struct arena *a, struct json *object, float cpu, float memory)
{
    struct json *usage = json_make_object(a, object, "usage");

    json_set_stringf(a, usage, "cpu", "%" PRId64 "n", (int64_t)((double)cpu * 1e9));
    json_set_stringf(a, usage, "memory", "%" PRId64 "Ki", (int64_t)(memory / 1024));
}

static struct json *metrics_object(struct arena *a, const struct kind *k, const struct json *of,
                                   const struct usage_latest *latest)
{
    struct json *v = json_new_object(a), *meta;
    char time[TIME_TEXT_SIZE];

    (void)time_format(latest->sample.time_ms, time);
    json_set_string(a, v, "kind", k->name);
    json_set_string(a, v, "apiVersion", METRICS_GROUP "/v1beta1");
    meta = json_make_object(a, v, "metadata");
    json_set_string(a, meta, "name", object_name(of));
    if (k->namespaced)
        json_set_string(a, meta, "namespace", object_namespace(of));
    json_set_string(a, meta, "creationTimestamp", time);
    if (object_labels(of))
        json_set(a, meta, "labels", json_clone(a, object_labels(of)));
    json_set_string(a, v, "timestamp", time);
    json_set_stringf(a, v, "window", "%.3fs", (double)latest->window_ms / 1000.0);
    return v;
}

static bool is_fresh(const struct server_request *r, const struct usage_latest *latest)
{
    return !isnan(latest->sample.v[USAGE_CPU]) && !isnan(latest->sample.v[USAGE_MEMORY]) &&
           clock_now_ms(r->server->clock) - latest->sample.time_ms < FRESH_MS;
}

static bool is_running(const struct json *pod, const char *container)
{
    const struct json *s = json_find(json_at(pod, "status", "containerStatuses"), "name",
                                     container);

    return json_is(json_at(s, "state", "running"), JSON_OBJECT);
}

/* NULL: nothing is known about it. */
static struct json *pod_metrics(struct server_request *r, const struct json *pod)
{
    struct usage_latest latest;
    struct node_pod which;
    struct node *node = pod_node(r, pod, &which, NULL);
    struct json *v, *list;

    if (!json_string_is(json_at(pod, "status", "phase"), "Running") || !node ||
        node->ops->latest(node, &which, &latest) != 0 || !is_fresh(r, &latest))
        return NULL;
    v = metrics_object(r->arena, &kind_pod_metrics, pod, &latest);
    list = json_make_array(r->arena, v, "containers");
    for (size_t i = 0; i < latest.containers_len; i++) {
        const struct usage_container *c = &latest.containers[i];
        struct json *item;

        if (!is_running(pod, c->name))
            continue;
        item = json_append(list, json_new_object(r->arena));
        json_set_string(r->arena, item, "name", c->name);
        add_usage(r->arena, item, c->cpu, c->memory);
    }
    return v;
}

static struct json *node_metrics(struct server_request *r, const struct json *object)
{
    struct usage_latest latest;
    struct node *node = server_node(r->server, r->arena, object_name(object), NULL);
    struct json *v;

    if (!node || node->ops->latest(node, NULL, &latest) != 0 || !is_fresh(r, &latest))
        return NULL;
    v = metrics_object(r->arena, &kind_node_metrics, object, &latest);
    add_usage(r->arena, v, latest.sample.v[USAGE_CPU], latest.sample.v[USAGE_MEMORY]);
    return v;
}

/* --- requests --------------------------------------------------------------------------- */

static const struct {
    const struct kind *kind, *of; /* the stored kind it is about */
    struct json *(*make)(struct server_request *r, const struct json *object);
} makers[] = {{&kind_pod_metrics, &kind_pod, pod_metrics},
              {&kind_node_metrics, &kind_node, node_metrics}};

struct listing {
    struct server_request *request;
    struct selection selection;
    struct json *items;
    size_t maker;
};

static bool add_item(void *arg, const struct store_item *item)
{
    struct listing *l = arg;
    struct arena *a = l->request->arena;
    const struct json *object = blob_parse(a, item->value, NULL);
    struct json *v;

    if (object && selection_matches(&l->selection, object)) {
        v = makers[l->maker].make(l->request, object);
        if (v)
            (void)json_append(l->items, v);
    }
    return !arena_failed(a);
}

static int reply_list(struct server_request *r, size_t maker, struct err *err)
{
    struct listing l = {.request = r, .maker = maker};
    struct json *v = json_new_object(r->arena);
    int rc;

    json_set_stringf(r->arena, v, "kind", "%sList", makers[maker].kind->name);
    json_set_string(r->arena, v, "apiVersion", METRICS_GROUP "/v1beta1");
    (void)json_make_object(r->arena, v, "metadata");
    l.items = json_make_array(r->arena, v, "items");
    rc = selection_init(&l.selection, r, r->arena, err);
    if (rc < 0)
        return rc;
    store_list(server_collection(r->server, makers[maker].of),
               l.selection.prefix ? l.selection.prefix : "", NULL, add_item, &l);
    if (arena_failed(r->arena))
        return out_of_memory(err);
    reply_json(r, 200, v);
    return 0;
}

static int reply_one(struct server_request *r, size_t maker, struct err *err)
{
    const struct kind *of = makers[maker].of;
    const char *key = object_key(r->arena, of, r->route.ns, r->route.name);
    const struct store_item *item = key ? store_get(server_collection(r->server, of), key) : NULL;
    const struct json *object = item ? blob_parse(r->arena, item->value, NULL) : NULL;
    struct json *v = object ? makers[maker].make(r, object) : NULL;
    struct node_pod which;

    if (!v && of == &kind_pod && json_string_is(json_at(object, "status", "phase"), "Running") &&
        !pod_node(r, object, &which, err))
        return -1;
    if (!v)
        return err_set(err, ERR_NOT_FOUND, "%s.%s \"%s%s%s\" not found", makers[maker].kind->plural,
                       METRICS_GROUP, r->route.ns, *r->route.ns ? "/" : "", r->route.name);
    reply_json(r, 200, v);
    return 0;
}

/* [namespaces/NS/]PLURAL[/NAME] */
static bool parse_path(struct server_request *r, char *const *text, size_t count, size_t *ret_maker)
{
    bool in_namespace = count >= 3 && strcmp(text[0], "namespaces") == 0;
    size_t i = 0;

    r->route = (struct route){.ns = in_namespace ? text[1] : "", .subresource = ""};
    if (in_namespace) {
        text += 2;
        count -= 2;
    }
    while (i < ELEMS(makers) && strcmp(makers[i].kind->plural, text[0]) != 0)
        i++;
    if (i == ELEMS(makers) || count > 2 || in_namespace > makers[i].kind->namespaced ||
        (count == 2 && in_namespace != makers[i].kind->namespaced))
        return false;
    r->route.name = count == 2 ? text[1] : NULL;
    r->route.kind = makers[i].of; /* for selectors */
    *ret_maker = i;
    return true;
}

struct question {
    struct node_refresh refresh;
    struct server_request *request;
    size_t maker;
};

static void answer(struct node_refresh *refresh)
{
    const struct question *q = container_of(refresh, struct question, refresh);
    struct server_request *r = q->request;
    auto_err err = ERR_INIT;
    int rc = r->route.name ? reply_one(r, q->maker, &err) : reply_list(r, q->maker, &err);

    if (rc < 0)
        reply_err(r, &err);
}

/* The nodes to ask: all, or the one concerned. */
static struct server_nodes *nodes_of(struct server_request *r, size_t maker)
{
    const char *only = r->route.name, *key;
    const struct store_item *item;

    if (only && makers[maker].of == &kind_pod) {
        key = object_key(r->arena, &kind_pod, r->route.ns, r->route.name);
        item = key ? store_get(server_collection(r->server, &kind_pod), key) : NULL;
        only = item ? json_string(
                          json_at(blob_parse(r->arena, item->value, NULL), "spec", "nodeName"), "")
                    : "";
    }
    return server_other_nodes(r, only);
}

static int ask(struct server_request *r, size_t maker, struct err *err)
{
    struct question *q = arena_alloc(r->arena, sizeof(*q));
    const struct server_nodes *nodes = q ? nodes_of(r, maker) : NULL;
    struct node_directory *directory = r->server->directory;

    if (!nodes)
        return out_of_memory(err);
    *q = (struct question){.refresh = {.fn = answer}, .request = r, .maker = maker};
    if (nodes->len)
        directory->ops->refresh(directory, nodes->items, nodes->len, &q->refresh);
    else
        answer(&q->refresh);
    return 0;
}

int metrics_answer(struct server_request *r, const char *version, char *const *text, size_t count,
                   struct err *err)
{
    struct access what = {.group = METRICS_GROUP, .subresource = ""};
    size_t maker;
    int rc;

    if (strcmp(version, "v1beta1") != 0 || !parse_path(r, text, count, &maker))
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    if (strcmp(r->method, "GET") != 0 || query_is_true(r, "watch"))
        return err_set(err, ERR_METHOD_NOT_ALLOWED,
                       "the server does not allow this method on the requested resource");
    what.verb = r->route.name ? "get" : "list";
    what.resource = makers[maker].kind->plural;
    what.ns = r->route.ns;
    what.name = r->route.name ? r->route.name : "";
    rc = rbac_check_access(r, &what, err);
    if (rc < 0)
        return rc;
    return ask(r, maker, err);
}
