/*
 * log.c - GET pods/NAME/log: what the kubelet would serve, read from the folder the pod's node
 * names, which is on this machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "core/job_view.h"
#include "runtime/kept.h"
#include "runtime/podlog.h"
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
    o->previous = query_is_true(r, "previous");
    if (seconds >= 0)
        o->since_ms = clock_now_ms(r->server->clock) - min_i64(seconds, INT32_MAX) * 1000;
    else if (since && *since && time_parse(since, &o->since_ms) < 0)
        rc = err_set(err, ERR_BAD_REQUEST,
                     "sinceTime: Invalid value: \"%s\": must be a time like 2026-01-31T15:04:05Z",
                     since);
    return rc;
}

static int64_t attempt_of(const struct json *pod)
{
    const char *text = object_annotation(pod, ANNOTATION_ATTEMPT);

    return text ? strtoll(text, NULL, 10) : KEPT_ANY_ATTEMPT;
}

int verb_log(struct server_request *r, struct err *err)
{
    struct podlog_options options = {0};
    const struct store_item *item;
    struct json *pod;
    const char *key, *container = NULL, *root, *uid = query_get(r, "uid");
    struct err *err_if_last = err;
    struct stream *stream;
    int64_t attempt;
    int rc = read_options(r, &options, err);

    if (rc < 0)
        return rc;
    rc = query_int(r, "attempt", KEPT_ANY_ATTEMPT, &attempt, err);
    if (rc < 0)
        return rc;
    pod = request_load(r, &key, &item, uid || attempt >= 0 ? NULL : err);
    if (attempt >= 0 && (!pod || attempt_of(pod) != attempt))
        return earlier_log(r, pod ? object_uid(pod) : "", query_get(r, "container"), attempt,
                           &options, err);
    if (uid && (!pod || strcmp(object_uid(pod), uid) != 0))
        return attempt_log(r, uid, &options, err);
    if (!pod)
        return -1;
    rc = pod_choose_container(r, pod, &container, err);
    if (rc == 0)
        rc = check_started(r, pod, container, err);
    if (rc < 0)
        return rc;
    options.previous = options.previous && !is_between_runs(pod, container);
    if (options
            .previous) /* of this pod, or else of one before it: not finding it is no error yet */
        err_if_last = NULL;
    root = pod_root(r, pod, err_if_last);
    rc = root ? podlog_open(r->server->loop, root, object_uid(pod), container, &options, &stream,
                            err_if_last)
              : -ENOENT;
    if (rc < 0 && options.previous)
        return earlier_log(r, object_uid(pod), container, KEPT_ANY_ATTEMPT, &options, err);
    if (rc == 0)
        reply_stream(r, "text/plain", stream);
    return rc;
}
