/*
 * pod_sync.c - see pod_sync.h.
 *
 * Two rules matter most: a pod whose status says it ran is never started again (its folder may have
 * been lost, and a second copy of a replica corrupts a training), and nothing is stopped or removed
 * because it is missing from a cache: the API is asked first.
 */
#include "agent/pod_sync.h"

#include <string.h>

#include "api/object.h"
#include "core/pod_state.h"

static const char *container_problem(const struct json *c)
{
    if (json_len(json_get(c, "command")) == 0 && json_len(json_get(c, "args")) == 0)
        return "no command: the pod runs without its image; give command or args, or "
               "runtimeClassName: image";
    return NULL;
}

/* Why the pod can never run here, or NULL. */
static const char *pod_problem(const struct json *pod, bool in_image)
{
    static const char *const lists[] = {"initContainers", "containers"};
    size_t n = 0;

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_at(pod, "spec", lists[i])) {
            const char *problem = in_image ? NULL : container_problem(c);

            if (problem)
                return problem;
            if (++n > POD_CONTAINERS_LIMIT)
                return "too many containers";
        }
    return n == 0 ? "no containers" : NULL;
}

static bool status_says_it_ran(const struct json *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_at(pod, "status", lists[i]))
            if (*json_get_string(c, "containerID", ""))
                return true;
    return json_string_is(json_at(pod, "status", "phase"), "Running");
}

bool pod_run_has_running(const struct pod_run *run)
{
    for (size_t i = 0; i < run->containers_len; i++)
        if (run->containers[i].phase == CONTAINER_RUNNING)
            return true;
    return false;
}

bool pod_is_evicted(const struct json *pod)
{
    return json_string_is(json_at(pod, "status", "reason"), POD_REASON_EVICTED);
}

bool pod_is_settled(const struct json *pod)
{
    const struct json *statuses = json_at(pod, "status", "containerStatuses");

    if (!pod_is_finished(pod) || object_is_deleting(pod) ||
        json_len(statuses) != json_len(json_at(pod, "spec", "containers")))
        return false;
    json_each (c, statuses)
        if (!json_at(c, "state", "terminated"))
            return false;
    return true;
}

static const char *master_address(const struct json *pod)
{
    json_each (c, json_at(pod, "spec", "containers"))
        json_each (e, json_get(c, "env"))
            if (json_string_is(json_get(e, "name"), "MASTER_ADDR"))
                return json_get_string(e, "value", NULL);
    return NULL;
}

const char *pod_awaited_service(struct arena *a, const struct json *pod)
{
    const char *address = master_address(pod);
    size_t n = address ? strcspn(address, ".") : 0;
    const char *name;

    if (n == 0 || strcmp(address, "localhost") == 0)
        return NULL;
    /* NAME, NAME.NAMESPACE or NAME.NAMESPACE.svc...; an IP address starts with a digit, which a
     * Service name cannot. */
    name = arena_strndup(a, address, n);
    return name && name[0] >= 'a' && name[0] <= 'z' && !dns_label_problem(name) ? name : NULL;
}

static struct pod_decision stop(int64_t grace_seconds)
{
    return (struct pod_decision){.step = POD_STEP_STOP, .grace_seconds = grace_seconds};
}

static struct pod_decision fail(int exit_code, const char *reason, const char *message)
{
    return (struct pod_decision){
        .step = POD_STEP_FAIL,
        .failure = {.exit_code = exit_code, .reason = reason, .message = message}};
}

/* Reported first, so that a restarted daemon continues with it. */
static struct pod_decision evict(const struct pod_view *v)
{
    if (pod_is_evicted(v->pod))
        return stop(POD_EVICTION_GRACE_SECONDS);
    return (struct pod_decision){
        .step = POD_STEP_EVICT,
        .failure = {.reason = POD_REASON_EVICTED, .message = v->over_limit}};
}

static struct pod_decision decide_without_pod(const struct pod_view *v)
{
    if (!v->run || !v->synced)
        return (struct pod_decision){.step = POD_STEP_NONE};
    if (v->newer && v->run->alive)
        return (struct pod_decision){.step = POD_STEP_NONE};
    if (!v->gone)
        return (struct pod_decision){.step = POD_STEP_VERIFY};
    if (v->run->alive)
        return stop(POD_ORPHAN_GRACE_SECONDS);
    return (struct pod_decision){.step = POD_STEP_REMOVE};
}

static struct pod_decision decide_start(const struct pod_view *v)
{
    const char *problem = pod_problem(v->pod, v->in_image);
    int64_t waited = v->now_ms - v->seen_ms;

    if (status_says_it_ran(v->pod))
        return fail(137, "ContainerStatusUnknown",
                    "the pod was started before, but nothing of it is left on this machine");
    if (problem)
        return fail(128, "StartError", problem);
    /* A pod deleted without grace is gone from the API before it is gone from the machine, and its
     * name, GPUs and port are immediately reassigned. */
    if (v->room_held)
        return (struct pod_decision){.step = POD_STEP_WAIT, .wake_ms = POD_ROOM_RECHECK_MS};
    if (v->service_seen)
        return (struct pod_decision){.step = POD_STEP_START};
    if (waited >= 0 && waited < POD_SERVICE_WAIT_MS)
        return (struct pod_decision){.step = POD_STEP_WAIT,
                                     .wake_ms = POD_SERVICE_WAIT_MS - waited};
    return (struct pod_decision){.step = POD_STEP_START, .service_missing = true};
}

struct pod_decision pod_decide(const struct pod_view *v)
{
    bool alive = v->run && v->run->alive;

    if (!v->pod)
        return decide_without_pod(v);
    if (object_is_deleting(v->pod) && alive)
        return stop(json_int(json_at(v->pod, "metadata", "deletionGracePeriodSeconds"), 30));
    if (object_is_deleting(v->pod))
        return (struct pod_decision){.step = POD_STEP_DELETE};
    if (pod_is_finished(v->pod))
        return alive && pod_run_has_running(v->run) ? stop(POD_ORPHAN_GRACE_SECONDS)
                                                    : (struct pod_decision){.step = POD_STEP_NONE};
    if (!v->run)
        return decide_start(v);
    if (alive && (v->over_limit || pod_is_evicted(v->pod)))
        return evict(v);
    return (struct pod_decision){.step = POD_STEP_NONE};
}
