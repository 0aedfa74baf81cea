/*
 * log.c - GET pods/NAME/log: what the kubelet would serve, read from the folder the pod's node
 * names, which is on this machine.
 */
#include <errno.h>
#include <string.h>

#include "base/timefmt.h"
#include "runtime/podlog.h"
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

static int choose_container(const struct server_request *r, const struct json *pod,
                            const char **ret, struct err *err)
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

static const struct json *container_status(const struct json *pod, const char *container)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (s, json_at(pod, "status", lists[i]))
            if (json_string_is(json_get(s, "name"), container))
                return s;
    return NULL;
}

static int check_started(const struct server_request *r, const struct json *pod,
                         const char *container, struct err *err)
{
    const struct json *state = json_get(container_status(pod, container), "state");

    if (query_is_true(r, "previous"))
        return err_set(err, ERR_BAD_REQUEST,
                       "previous terminated container \"%s\" in pod \"%s\" not found", container,
                       r->route.name);
    if (!*json_string(json_at(pod, "spec", "nodeName"), ""))
        return err_set(err, ERR_BAD_REQUEST, "pod %s does not have a host assigned", r->route.name);
    if (json_get(state, "running") || json_get(state, "terminated"))
        return 0;
    return err_set(err, ERR_BAD_REQUEST, "container \"%s\" in pod \"%s\" is waiting to start: %s",
                   container, r->route.name,
                   json_string(json_at(state, "waiting", "reason"), "ContainerCreating"));
}

/* Where the pod's node keeps its pods. */
static const char *pod_root(struct server_request *r, const struct json *pod, struct err *err)
{
    const char *name = json_string(json_at(pod, "spec", "nodeName"), "");
    const struct store_item *item = store_get(server_collection(r->server, &kind_node), name);
    const struct json *node = item ? blob_parse(r->arena, item->value, err) : NULL;
    const char *root = node ? object_annotation(node, ANNOTATION_POD_ROOT) : NULL;

    if (!root)
        err_set(err, ERR_INTERNAL, "the logs of node \"%s\" cannot be reached from this server",
                name);
    return root;
}

static int read_options(struct server_request *r, struct podlog_options *o, struct err *err)
{
    const char *since = query_get(r, "sinceTime");
    int64_t seconds = -1;
    int rc = query_int(r, "tailLines", -1, &o->tail_lines, err);

    if (rc == 0)
        rc = query_int(r, "limitBytes", -1, &o->limit_bytes, err);
    if (rc == 0)
        rc = query_int(r, "sinceSeconds", -1, &seconds, err);
    if (rc < 0)
        return rc;
    o->follow = query_is_true(r, "follow");
    o->timestamps = query_is_true(r, "timestamps");
    if (seconds >= 0)
        o->since_ms = clock_now_ms(r->server->clock) - min_i64(seconds, INT32_MAX) * 1000;
    else if (since && *since && time_parse(since, &o->since_ms) < 0)
        rc = err_set(err, ERR_BAD_REQUEST,
                     "sinceTime: Invalid value: \"%s\": must be a time like 2026-01-31T15:04:05Z",
                     since);
    return rc;
}

int verb_log(struct server_request *r, struct err *err)
{
    struct podlog_options options = {0};
    const struct store_item *item;
    struct json *pod;
    const char *key, *container = NULL, *root, *uid = query_get(r, "uid");
    struct stream *stream;
    int rc = read_options(r, &options, err);

    if (rc < 0)
        return rc;
    pod = request_load(r, &key, &item, uid ? NULL : err);
    if (uid && (!pod || strcmp(object_uid(pod), uid) != 0))
        return attempt_log(r, uid, &options, err);
    if (!pod)
        return -1;
    rc = choose_container(r, pod, &container, err);
    if (rc == 0)
        rc = check_started(r, pod, container, err);
    if (rc < 0)
        return rc;
    root = pod_root(r, pod, err);
    if (!root)
        return -1;
    rc = podlog_open(r->server->loop, root, object_uid(pod), container, &options, &stream, err);
    if (rc == 0)
        reply_stream(r, "text/plain", stream);
    return rc;
}
