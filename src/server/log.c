/*
 * log.c - GET pods/NAME/log. The node has the log (port/node.h); this determines which pod is
 * meant. A replaced replica keeps its name, so the name alone may mean a newer pod, or none: logs
 * outlive their pods, and uid=UID or attempt=NUMBER selects one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/job_view.h"
#include "net/query.h"
#include "server/caller.h"
#include "server/internal.h"

static const struct json *container_status(const struct json *pod, const char *container)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses",
                                        "ephemeralContainerStatuses"};

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

/* Between two runs the last one is both the newest and the previous. */
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

struct asked {
    struct server_request *request;
    struct node_round round; /* for a deleted pod */
    struct node_pod which;
    const char *container;
    struct node_log_options options;
};

static void on_log(void *arg, struct stream *stream, const struct err *err)
{
    const struct asked *g = arg;

    if (err)
        reply_node_err(g->request, err);
    else
        reply_stream(g->request, node_log_type(&g->options), stream);
}

/* --- other pods of that name ----------------------------------------------------------- */

static void ask_next(struct asked *g);

static void on_gone(void *arg, struct stream *stream, const struct err *err)
{
    struct asked *g = arg;

    /* a bad query is bad for all of them */
    if (!err || err->reason == ERR_BAD_REQUEST) {
        on_log(g, stream, err);
        return;
    }
    node_round_heard(&g->round, g->request->arena, err);
    ask_next(g);
}

static void ask_next(struct asked *g)
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

static int gone_log(struct asked *g, const char *uid, struct err *err)
{
    struct server_request *r = g->request;

    g->container = query_get(r, "container");
    if (!g->container || !*g->container)
        return err_set(err, ERR_BAD_REQUEST, "a container name must be specified with %s",
                       g->options.attempt == NODE_ANY_ATTEMPT ? "uid" : "attempt");
    g->which = (struct node_pod){r->route.ns, r->route.name, uid};
    ask_next(g);
    return 0;
}

/* --- the current pod of that name ------------------------------------------------------ */

static int pod_log(struct asked *g, const struct json *pod, struct err *err)
{
    struct server_request *r = g->request;
    struct node *node;
    int rc = pod_choose_container(r, pod, &g->container, err);

    if (rc == 0)
        rc = check_started(r, pod, g->container, err);
    if (rc < 0)
        return rc;
    node = pod_node(r, pod, &g->which, err);
    if (!node)
        return -1;
    g->options.previous = g->options.previous && !is_between_runs(pod, g->container);
    node->ops->open_log(node, &g->which, g->container, &g->options, on_log, g);
    return 0;
}

int verb_log(struct server_request *r, struct err *err)
{
    struct asked *g = arena_alloc(r->arena, sizeof(*g));
    const struct store_item *item;
    const struct json *pod;
    const char *key, *uid = query_get(r, "uid");
    int64_t attempt;
    int rc;

    if (!g)
        return out_of_memory(err);
    g->request = r;
    rc = query_log_options(r->arena, r->query ? r->query : "", clock_now_ms(r->server->clock),
                           &g->options, err);
    if (rc < 0)
        return rc;
    g->options.search.user = caller_share(r->caller);
    attempt = g->options.attempt;
    pod = request_load(r, &key, &item, uid || attempt >= 0 ? NULL : err);
    if (attempt >= 0 && (!pod || attempt_of(pod) != attempt))
        return gone_log(g, pod ? object_uid(pod) : "", err);
    g->options.attempt = NODE_ANY_ATTEMPT;
    if (uid && (!pod || strcmp(object_uid(pod), uid) != 0))
        return gone_log(g, uid, err);
    return pod ? pod_log(g, pod, err) : -1;
}
