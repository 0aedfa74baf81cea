/* pod.c - common to log, exec, attach and port-forward: the container and the node of a pod. */
#include <string.h>

#include "server/internal.h"

static void name_containers(struct buf *out, const struct json *list)
{
    buf_addc(out, '[');
    json_each (c, list)
        buf_addf(out, "%s%s", c == json_first(list) ? "" : " ", json_get_string(c, "name", ""));
    buf_addc(out, ']');
}

static int several(const struct server_request *r, const struct json *spec, struct err *err)
{
    struct buf b = BUF_INIT(8192);
    int rc;

    name_containers(&b, json_get(spec, "containers"));
    if (json_len(json_get(spec, "initContainers"))) {
        buf_adds(&b, " or one of the init containers: ");
        name_containers(&b, json_get(spec, "initContainers"));
    }
    rc = err_set(err, ERR_BAD_REQUEST,
                 "a container name must be specified for pod %s, choose one of: %s", r->route.name,
                 b.failed ? "its containers" : b.data);
    buf_release(&b);
    return rc;
}

int pod_choose_container(const struct server_request *r, const struct json *pod, const char **ret,
                         struct err *err)
{
    const struct json *spec = json_get(pod, "spec"), *containers = json_get(spec, "containers");
    const char *asked = query_get(r, "container");

    if (!asked || !*asked)
        asked = object_annotation(pod, "kubectl.kubernetes.io/default-container");
    if (!asked && json_len(containers) == 1)
        asked = json_get_string(json_first(containers), "name", "");
    if (!asked)
        return several(r, spec, err);
    if (!json_find(containers, "name", asked) &&
        !json_find(json_get(spec, "initContainers"), "name", asked) &&
        !json_find(json_get(spec, "ephemeralContainers"), "name", asked))
        return err_set(err, ERR_BAD_REQUEST, "container %s is not valid for pod %s", asked,
                       r->route.name);
    *ret = asked;
    return 0;
}

struct node *server_node(const struct server *s, struct arena *a, const char *name, struct err *err)
{
    const struct store_item *item;
    const struct json *object;

    if (s->node && strcmp(s->node->name, name) == 0)
        return s->node;
    item = store_get(server_collection(s, &kind_node), name);
    object = item ? blob_parse(a, item->value, err) : NULL;
    if (!object)
        (void)err_set(err, ERR_NOT_FOUND, "node \"%s\" is gone", name);
    else if (!s->directory)
        (void)err_set(err, ERR_NOT_FOUND, "node \"%s\" cannot be reached by this server", name);
    return object && s->directory ? s->directory->ops->find(s->directory, object, err) : NULL;
}

struct node *pod_node(const struct server_request *r, const struct json *pod, struct node_pod *ret,
                      struct err *err)
{
    const char *name = json_string(json_at(pod, "spec", "nodeName"), "");
    struct node *node;

    if (!*name) {
        err_set(err, ERR_BAD_REQUEST, "pod %s does not have a host assigned", r->route.name);
        return NULL;
    }
    *ret = (struct node_pod){object_namespace(pod), object_name(pod), object_uid(pod)};
    node = server_node(r->server, r->arena, name, err);
    if (!node && err)
        err_context(err, "pod \"%s\"", object_name(pod));
    return node;
}

struct gathering {
    struct server_request *request;
    const char *only;
    struct server_nodes *list;
};

static bool gather_node(void *arg, const struct store_item *item)
{
    struct gathering *g = arg;
    const struct node *own = g->request->server->node;
    const struct json *node = blob_parse(g->request->arena, item->value, NULL);

    if (node && g->list->len < SERVER_NODES_LIMIT &&
        (!own || strcmp(own->name, object_name(node)) != 0) &&
        (!g->only || strcmp(g->only, object_name(node)) == 0) && object_condition_is(node, "Ready"))
        g->list->items[g->list->len++] = node;
    return !arena_failed(g->request->arena);
}

struct server_nodes *server_other_nodes(struct server_request *r, const char *only)
{
    struct server_nodes *list = arena_alloc(r->arena, sizeof(*list));
    struct gathering g = {.request = r, .only = only, .list = list};

    if (list && r->server->directory)
        store_list(server_collection(r->server, &kind_node), NULL, NULL, gather_node, &g);
    return list;
}

struct node *server_next_node(struct server_request *r, struct node_round *round)
{
    struct server *s = r->server;
    struct node *node = round->others ? NULL : s->node;

    if (!round->others)
        round->others = server_other_nodes(r, NULL);
    while (!node && round->others && round->next < round->others->len)
        node = s->directory->ops->find(s->directory, round->others->items[round->next++], NULL);
    return node;
}

void node_round_heard(struct node_round *round, struct arena *a, const struct err *err)
{
    if (err->text && (!round->text || round->reason == ERR_NOT_FOUND)) {
        round->reason = err->reason;
        round->text = arena_strdup(a, err->text);
    }
}
