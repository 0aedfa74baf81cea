/*
 * pod_status.c - see pod_status.h. Only differences are sent, so an unchanged status costs nothing.
 * A final phase never changes.
 */
#include "agent/pod_status.h"

#include <inttypes.h>
#include <string.h>

#include "agent/pod_probes.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "base/utf8.h"
#include "core/pod_state.h"

enum phase { PENDING, RUNNING, SUCCEEDED, FAILED };

static const char *const phase_names[] = {
    [PENDING] = "Pending", [RUNNING] = "Running", [SUCCEEDED] = "Succeeded", [FAILED] = "Failed"};

struct summary {
    enum phase phase;
    bool initialized, all_ready, by_itself;
};

/* It may quote what the pod's author or program wrote. */
static void set_message(struct arena *a, struct json *v, const char *text)
{
    text = text ? utf8_without_controls(a, text, strlen(text)) : NULL;
    json_set_string(a, v, "message", text ? text : "");
}

static const struct container_state *state_of(const struct pod_run *run, const char *name)
{
    for (size_t i = 0; run && i < run->containers_len; i++)
        if (strcmp(run->containers[i].name, name) == 0)
            return &run->containers[i];
    for (size_t i = 0; run && i < run->late_len; i++)
        if (strcmp(run->late[i].name, name) == 0)
            return &run->late[i];
    return NULL;
}

/* A container that ended and will be restarted still counts as running. */
static bool will_be_restarted(const struct pod_run *run, const struct container_state *c,
                              enum pod_restart policy)
{
    if (!run->alive || (c->phase == CONTAINER_WAITING && !c->last))
        return false;
    if (c->phase == CONTAINER_WAITING)
        return true;
    if (c->phase != CONTAINER_TERMINATED || policy == POD_RESTART_NEVER)
        return false;
    return c->exit_code != 0 || (policy == POD_RESTART_ALWAYS && !c->init);
}

static struct summary summarize(const struct json *pod, const struct pod_run *run,
                                const struct pod_failure *failure)
{
    struct summary s = {
        .phase = PENDING, .initialized = true, .all_ready = true, .by_itself = true};
    enum pod_restart policy = pod_restart_policy(pod);
    bool evicted = pod_is_evicted(pod) && run && !pod_run_has_running(run);
    bool failed = (failure && !failure->waiting) || evicted, waiting = false, running = false;
    bool blocked = false;

    for (size_t i = 0; run && i < run->containers_len; i++) {
        const struct container_state *c = &run->containers[i];
        bool good = c->phase == CONTAINER_TERMINATED && c->exit_code == 0;
        bool again = will_be_restarted(run, c, policy);

        failed = failed || (c->phase == CONTAINER_TERMINATED && !good && !again);
        s.by_itself = s.by_itself && (c->phase == CONTAINER_TERMINATED ? c->by_itself : blocked);
        if (c->init) {
            s.initialized = s.initialized && good;
            blocked = blocked || (c->phase == CONTAINER_TERMINATED && !good);
            continue;
        }
        waiting = waiting || (c->phase == CONTAINER_WAITING && !again);
        running = running || c->phase == CONTAINER_RUNNING || again;
        s.all_ready = s.all_ready && c->ready;
    }
    s.by_itself = s.by_itself && run && run->containers_len > 0 && !failure && !evicted;
    if (failure || !run || run->containers_len == 0)
        s.all_ready = false;
    if (running)
        s.phase = RUNNING; /* until the last container has ended */
    else if ((failure && failure->waiting) || (waiting && run->alive && (s.initialized || !failed)))
        s.phase = PENDING;
    else if (failed || waiting || !run || run->containers_len == 0)
        s.phase = FAILED;
    else
        s.phase = SUCCEEDED;
    return s;
}

/* --- containers --- */

static void set_time(struct arena *a, struct json *v, const char *key, int64_t ms)
{
    char text[TIME_TEXT_SIZE];

    if (ms > 0)
        json_set_string(a, v, key, time_format(ms, text));
}

static const char *container_id(struct arena *a, const struct json *pod,
                                const struct container_state *c)
{
    if (!c || c->pid == 0)
        return "";
    return arena_printf(a, "process://%s/%" PRId64, object_uid(pod), c->pid);
}

static struct json *terminated_of(struct arena *a, const struct json *pod,
                                  const struct container_state *c)
{
    struct json *v = json_new_object(a);

    json_set_int(a, v, "exitCode", c->exit_code);
    if (c->signal)
        json_set_int(a, v, "signal", c->signal);
    json_set_string(a, v, "reason", c->reason);
    if (c->message && *c->message)
        set_message(a, v, c->message);
    set_time(a, v, "startedAt", c->started_ms);
    set_time(a, v, "finishedAt", c->finished_ms);
    if (c->pid)
        json_set_string(a, v, "containerID", container_id(a, pod, c));
    return v;
}

static struct json *container_state_of(struct arena *a, const struct json *pod,
                                       const struct container_state *c, bool initialized)
{
    struct json *v = json_new_object(a), *inner;

    if (c && c->phase == CONTAINER_TERMINATED) {
        (void)json_set(a, v, "terminated", terminated_of(a, pod, c));
    } else if (c && c->phase == CONTAINER_RUNNING) {
        inner = json_set(a, v, "running", json_new_object(a));
        set_time(a, inner, "startedAt", c->started_ms);
    } else {
        inner = json_set(a, v, "waiting", json_new_object(a));
        if (c && c->reason && *c->reason) {
            json_set_string(a, inner, "reason", c->reason);
            set_message(a, inner, c->message);
        } else {
            json_set_string(a, inner, "reason",
                            initialized ? "ContainerCreating" : "PodInitializing");
        }
    }
    return v;
}

static struct json *container_status(struct arena *a, const struct json *pod,
                                     const struct json *spec, const struct container_state *c,
                                     bool init, bool initialized)
{
    struct json *v = json_new_object(a), *last;
    bool ready = init ? c && c->phase == CONTAINER_TERMINATED && c->exit_code == 0 : c && c->ready;

    json_set_string(a, v, "name", json_get_string(spec, "name", ""));
    (void)json_set(a, v, "state", container_state_of(a, pod, c, init || initialized));
    last = json_set(a, v, "lastState", json_new_object(a));
    if (c && c->last)
        (void)json_set(a, last, "terminated", terminated_of(a, pod, c->last));
    json_set_bool(a, v, "ready", ready);
    json_set_int(a, v, "restartCount", c ? c->restart_count : 0);
    json_set_string(a, v, "image", json_get_string(spec, "image", ""));
    json_set_string(a, v, "imageID", c && c->image_id ? c->image_id : "");
    if (c && c->pid)
        json_set_string(a, v, "containerID", container_id(a, pod, c));
    json_set_bool(a, v, "started", c && c->started);
    return v;
}

static struct json *container_statuses(struct arena *a, const struct json *pod, const char *list,
                                       const struct pod_run *run, const struct pod_failure *failure,
                                       bool initialized, int64_t now_ms)
{
    bool init = strcmp(list, "initContainers") == 0;
    struct json *v = json_new_array(a);

    json_each (spec, json_at(pod, "spec", list)) {
        const struct container_state *c = state_of(run, json_get_string(spec, "name", ""));
        struct container_state failed;

        if (failure && !init && (!c || c->phase != CONTAINER_TERMINATED)) {
            failed = (struct container_state){.phase = failure->waiting ? CONTAINER_WAITING
                                                                        : CONTAINER_TERMINATED,
                                              .exit_code = failure->exit_code,
                                              .reason = failure->reason,
                                              .message = failure->message,
                                              .finished_ms = now_ms};
            c = &failed;
        }
        (void)json_append(v, container_status(a, pod, spec, c, init, initialized));
    }
    return v;
}

/* --- conditions --- */

static void set_condition(struct arena *a, struct json *list, const char *type, bool value,
                          const char *reason, int64_t now_ms)
{
    struct json *c = NULL;

    for (struct json *i = json_first_mut(list); i; i = i->next)
        if (json_string_is(json_get(i, "type"), type))
            c = i;
    if (!c) {
        c = json_append(list, json_new_object(a));
        json_set_string(a, c, "type", type);
    }
    if (!json_string_is(json_get(c, "status"), value ? "True" : "False")) {
        json_set_string(a, c, "status", value ? "True" : "False");
        set_time(a, c, "lastTransitionTime", now_ms);
    }
    (void)json_remove(c, "message");
    if (reason)
        json_set_string(a, c, "reason", reason);
    else
        (void)json_remove(c, "reason");
}

static struct json *conditions(struct arena *a, const struct json *pod, const struct summary *s,
                               int64_t now_ms)
{
    const struct json *old = json_at(pod, "status", "conditions");
    struct json *list = json_is(old, JSON_ARRAY) ? json_clone(a, old) : json_new_array(a);
    const char *not_ready = s->all_ready            ? NULL
                            : s->phase == SUCCEEDED ? "PodCompleted"
                            : s->phase == FAILED    ? "PodFailed"
                                                    : "ContainersNotReady";

    set_condition(a, list, "Initialized", s->initialized,
                  s->initialized ? NULL : "ContainersNotInitialized", now_ms);
    set_condition(a, list, "Ready", s->all_ready, not_ready, now_ms);
    set_condition(a, list, "ContainersReady", s->all_ready, not_ready, now_ms);
    set_condition(a, list, "PodScheduled", true, NULL, now_ms);
    /* A group's pod may have been preempted without our knowing yet. */
    if ((object_is_deleting(pod) || object_label(pod, LABEL_GROUP_NAME)) &&
        (s->phase == SUCCEEDED || s->phase == FAILED) && s->by_itself)
        set_condition(a, list, POD_ENDED_BY_ITSELF, true, NULL, now_ms);
    return list;
}

/* --- quality of service --- */

static const char *qos_class(const struct json *pod)
{
    static const char *const names[] = {"cpu", "memory"};
    bool any = false, guaranteed = true;

    json_each (c, json_at(pod, "spec", "containers")) {
        const struct json *requests = json_at(c, "resources", "requests");
        const struct json *limits = json_at(c, "resources", "limits");

        for (size_t i = 0; i < ELEMS(names); i++) {
            const struct json *r = json_get(requests, names[i]), *l = json_get(limits, names[i]);

            any = any || r || l;
            guaranteed = guaranteed && l && (!r || json_equal(r, l));
        }
    }
    return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

/* --- the whole status --- */

static int64_t start_time(const struct pod_run *run, int64_t now_ms)
{
    for (size_t i = 0; run && i < run->containers_len; i++)
        if (run->containers[i].started_ms > 0)
            return run->containers[i].started_ms;
    return now_ms;
}

static struct json *wanted_status(struct arena *a, const struct json *pod,
                                  const struct pod_run *run, const struct pod_failure *failure,
                                  const char *address, int64_t now_ms)
{
    struct summary s = summarize(pod, run, failure);
    const char *phase = json_string(json_at(pod, "status", "phase"), "");
    struct json *v = json_new_object(a);
    struct json *ip;

    if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
        phase = phase_names[s.phase];
    json_set_string(a, v, "phase", phase);
    (void)json_set(a, v, "conditions", conditions(a, pod, &s, now_ms));
    if (json_len(json_at(pod, "spec", "initContainers")) > 0)
        (void)json_set(a, v, "initContainerStatuses",
                       container_statuses(a, pod, "initContainers", run, failure, false, now_ms));
    (void)json_set(a, v, "containerStatuses",
                   container_statuses(a, pod, "containers", run, failure, s.initialized, now_ms));
    if (json_len(json_at(pod, "spec", "ephemeralContainers")) > 0)
        (void)json_set(a, v, "ephemeralContainerStatuses",
                       container_statuses(a, pod, "ephemeralContainers", run, NULL, true, now_ms));
    json_set_string(a, v, "hostIP", address);
    json_set_string(a, v, "podIP", address);
    ip = json_append(json_make_array(a, v, "podIPs"), json_new_object(a));
    json_set_string(a, ip, "ip", address);
    json_set_string(a, v, "qosClass", qos_class(pod));
    if (json_is_null(json_at(pod, "status", "startTime")))
        set_time(a, v, "startTime", start_time(run, now_ms));
    if (failure && !failure->waiting) {
        json_set_string(a, v, "reason", failure->reason);
        set_message(a, v, failure->message);
    }
    return v;
}

static struct json *new_patch(struct arena *a, const struct json *pod)
{
    struct json *patch = json_new_object(a);

    json_set_string(a, json_make_object(a, patch, "metadata"), "uid", object_uid(pod));
    (void)json_make_object(a, patch, "status");
    return patch;
}

struct json *pod_status_eviction(struct arena *a, const struct json *pod,
                                 const struct pod_failure *failure)
{
    struct json *patch = new_patch(a, pod), *status = json_make_object(a, patch, "status");

    json_set_string(a, status, "reason", failure->reason);
    set_message(a, status, failure->message);
    return patch;
}

struct json *pod_status_patch(struct arena *a, const struct json *pod, const struct pod_run *run,
                              const struct pod_failure *failure, const char *address,
                              int64_t now_ms)
{
    struct json *patch, *status;

    if (!failure && (!run || !run->known))
        return NULL;
    patch = new_patch(a, pod);
    status = json_make_object(a, patch, "status");
    json_each (wanted, wanted_status(a, pod, run, failure, address, now_ms))
        if (!json_equal(wanted, json_at(pod, "status", wanted->key)))
            (void)json_set(a, status, wanted->key, json_clone(a, wanted));
    return json_len(status) > 0 ? patch : NULL;
}
