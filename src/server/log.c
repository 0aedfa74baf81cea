/*
 * log.c - GET pods/NAME/log. The node has it (port/node.h); which pod is meant is worked out here.
 * A replica that is replaced keeps its name, so the name alone may mean a newer pod, or none: logs
 * outlive their pods, and uid=UID or attempt=NUMBER ask for one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/job_view.h"
#include "net/query.h"
#include "server/internal.h"

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
    const struct json *status = container_status(pod, container);
    const struct json *state = json_get(status, "state");

    if (!*json_string(json_at(pod, "spec", "nodeName"), ""))
        return err_set(err, ERR_BAD_REQUEST, "pod %s does not have a host assigned", r->route.name);
    if (json_get(state, "running") || json_get(state, "terminated") ||
        json_at(status, "lastState", "terminated") || query_is_true(r, "previous"))
        return 0;
    return err_set(err, ERR_BAD_REQUEST, "container \"%s\" in pod \"%s\" is waiting to start: %s",
                   container, r->route.name,
                   json_string(json_at(state, "waiting", "reason"), "ContainerCreating"));
}

/* Between two runs the one that ended last is both the newest and the previous one. */
static bool is_between_runs(const struct json *pod, const char *container)
{
    const struct json *status = container_status(pod, container);

    return json_at(status, "state", "waiting") && json_at(status, "lastState", "terminated");
}

static int64_t attempt_of(const struct json *pod)
{
    const char *text = object_annotation(pod, ANNOTATION_ATTEMPT);

    return text ? strtoll(text, NULL, 10) : NODE_ANY_ATTEMPT;
}

/* Of one that is not the pod of that name, or no more. uid NULL: by its attempt. */
static int gone_log(struct server_request *r, const struct json *pod, const char *uid,
                    int64_t attempt, const struct node_log_options *o, struct err *err)
{
    const char *container = query_get(r, "container");
    struct node *node = r->server->node;
    struct node_pod which = {r->route.ns, r->route.name, uid ? uid : pod ? object_uid(pod) : ""};
    struct stream *stream;
    int rc;

    if (!container || !*container)
        return err_set(err, ERR_BAD_REQUEST, "a container name must be specified with %s",
                       uid ? "uid" : "attempt");
    if (!node)
        return err_set(err, ERR_NOT_FOUND, "pod \"%s\" left no log here", r->route.name);
    rc = uid ? node->ops->open_log(node, &which, container, o, &stream, err)
             : node->ops->open_earlier_log(node, &which, attempt, container, o, &stream, err);
    if (rc == 0)
        reply_stream(r, "text/plain", stream);
    return rc;
}

/* The previous run is of this pod, or else of one before it: not finding it is no error yet. */
static int pod_log(struct server_request *r, const struct json *pod, struct node_log_options *o,
                   struct err *err)
{
    const char *container;
    struct node_pod which;
    struct node *node;
    struct stream *stream;
    int rc = pod_choose_container(r, pod, &container, err);

    if (rc == 0)
        rc = check_started(r, pod, container, err);
    if (rc < 0)
        return rc;
    node = pod_node(r, pod, &which, err);
    if (!node)
        return -1;
    o->previous = o->previous && !is_between_runs(pod, container);
    rc = node->ops->open_log(node, &which, container, o, &stream, o->previous ? NULL : err);
    if (rc < 0 && o->previous)
        rc = node->ops->open_earlier_log(node, &which, NODE_ANY_ATTEMPT, container, o, &stream,
                                         err);
    if (rc == 0)
        reply_stream(r, "text/plain", stream);
    return rc;
}

int verb_log(struct server_request *r, struct err *err)
{
    struct node_log_options options = {0};
    const struct store_item *item;
    const struct json *pod;
    const char *key, *uid = query_get(r, "uid");
    int64_t attempt;
    int rc = query_log_options(r->arena, r->query ? r->query : "", clock_now_ms(r->server->clock),
                               &options, err);

    if (rc == 0)
        rc = query_int(r, "attempt", NODE_ANY_ATTEMPT, &attempt, err);
    if (rc < 0)
        return rc;
    pod = request_load(r, &key, &item, uid || attempt >= 0 ? NULL : err);
    if (attempt >= 0 && (!pod || attempt_of(pod) != attempt))
        return gone_log(r, pod, NULL, attempt, &options, err);
    if (uid && (!pod || strcmp(object_uid(pod), uid) != 0))
        return gone_log(r, pod, uid, attempt, &options, err);
    return pod ? pod_log(r, pod, &options, err) : -1;
}
