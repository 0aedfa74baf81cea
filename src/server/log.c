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

static void on_log(void *arg, struct stream *stream, const struct err *err)
{
    struct server_request *r = arg;

    if (err)
        reply_node_err(r, err);
    else
        reply_stream(r, "text/plain", stream);
}

/* --- of one that is not the pod of that name, or no more -------------------------------- */

struct gone {
    struct server_request *request;
    struct node_round round;
    struct node_pod which;
    const char *container;
    struct node_log_options options;
};

static void ask_next(struct gone *g);

static void on_gone(void *arg, struct stream *stream, const struct err *err)
{
    struct gone *g = arg;

    if (!err) {
        reply_stream(g->request, "text/plain", stream);
        return;
    }
    node_round_heard(&g->round, g->request->arena, err);
    ask_next(g);
}

static void ask_next(struct gone *g)
{
    struct node *node = server_next_node(g->request, &g->round);
    auto_err err = ERR_INIT;

    if (node) {
        node->ops->open_log(node, &g->which, g->container, &g->options, on_gone, g);
        return;
    }
    if (g->round.text)
        (void)err_set(&err, g->round.reason, "%s", g->round.text);
    else
        (void)err_set(&err, ERR_NOT_FOUND, "pod \"%s\" left no log here", g->which.name);
    reply_node_err(g->request, &err);
}

static int gone_log(struct server_request *r, const char *uid, const struct node_log_options *o,
                    struct err *err)
{
    const char *container = query_get(r, "container");
    struct gone *g = arena_alloc(r->arena, sizeof(*g));

    if (!g)
        return out_of_memory(err);
    if (!container || !*container)
        return err_set(err, ERR_BAD_REQUEST, "a container name must be specified with %s",
                       o->attempt == NODE_ANY_ATTEMPT ? "uid" : "attempt");
    *g = (struct gone){.request = r,
                       .which = {r->route.ns, r->route.name, uid},
                       .container = container,
                       .options = *o};
    ask_next(g);
    return 0;
}

/* --- of the pod of that name ------------------------------------------------------------ */

static int pod_log(struct server_request *r, const struct json *pod, struct node_log_options *o,
                   struct err *err)
{
    const char *container;
    struct node_pod which;
    struct node *node;
    int rc = pod_choose_container(r, pod, &container, err);

    if (rc == 0)
        rc = check_started(r, pod, container, err);
    if (rc < 0)
        return rc;
    node = pod_node(r, pod, &which, err);
    if (!node)
        return -1;
    o->previous = o->previous && !is_between_runs(pod, container);
    node->ops->open_log(node, &which, container, o, on_log, r);
    return 0;
}

int verb_log(struct server_request *r, struct err *err)
{
    struct node_log_options o = {0};
    const struct store_item *item;
    const struct json *pod;
    const char *key, *uid = query_get(r, "uid");
    int rc = query_log_options(r->arena, r->query ? r->query : "", clock_now_ms(r->server->clock),
                               &o, err);

    if (rc < 0)
        return rc;
    pod = request_load(r, &key, &item, uid || o.attempt >= 0 ? NULL : err);
    if (o.attempt >= 0 && (!pod || attempt_of(pod) != o.attempt))
        return gone_log(r, pod ? object_uid(pod) : "", &o, err);
    o.attempt = NODE_ANY_ATTEMPT;
    if (uid && (!pod || strcmp(object_uid(pod), uid) != 0))
        return gone_log(r, uid, &o, err);
    return pod ? pod_log(r, pod, &o, err) : -1;
}
