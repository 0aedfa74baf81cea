/* pod.c - what log, exec, attach and port-forward ask of a pod: which container, and which node has
 * it. */
#include <string.h>

#include "server/internal.h"

static bool has_container(const struct json *list, const char *name)
{
    json_each (c, list)
        if (json_string_is(json_get(c, "name"), name))
            return true;
    return false;
}

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
    if (!has_container(containers, asked) &&
        !has_container(json_get(spec, "initContainers"), asked))
        return err_set(err, ERR_BAD_REQUEST, "container %s is not valid for pod %s", asked,
                       r->route.name);
    *ret = asked;
    return 0;
}

struct node *server_node(const struct server *s, const char *name)
{
    return s->node && s->node->name && strcmp(s->node->name, name) == 0 ? s->node : NULL;
}

static bool has_started(const struct json *pod)
{
    json_each (status, json_at(pod, "status", "containerStatuses"))
        if (json_at(status, "state", "running") || json_at(status, "state", "terminated"))
            return true;
    return false;
}

struct node *pod_node(const struct server_request *r, const struct json *pod, struct node_pod *ret,
                      struct err *err)
{
    const char *name = json_string(json_at(pod, "spec", "nodeName"), "");
    struct node *node = r->server->node;

    if (!*name) {
        err_set(err, ERR_BAD_REQUEST, "pod %s does not have a host assigned", r->route.name);
        return NULL;
    }
    *ret = (struct node_pod){object_namespace(pod), object_name(pod), object_uid(pod)};
    if (node && (node->name ? strcmp(node->name, name) == 0
                            : !has_started(pod) || node->ops->keeps(node, ret)))
        return node;
    /* Not 400: that is asked again while a pod starts. */
    err_set(
        err, ERR_NOT_FOUND,
        "pod \"%s\" is on node \"%s\", which keeps its pods in a folder of its own: this server "
        "cannot ask it yet. What helps on the same machine: muster node with the server's "
        "folder as --dir",
        object_name(pod), name);
    return NULL;
}
