/*
 * job_status.c - writes a job's status. Unknown fields are kept. See job_status.h.
 *
 * Besides what users read, the status is the job's memory: backoffCount, pauseCount, ranSeconds,
 * masterPort and each replica's restartCount, restartTime, restartDelaySeconds, lastUID and
 * goneTime (see job_view.h).
 */
#include "core/job_status.h"

#include "api/object.h"
#include "base/timefmt.h"
#include "core/job_run.h"
#include "core/pod_group.h"

#define INTERRUPTIONS_LIMIT 16

enum job_phase job_phase_now(const struct job_view *v)
{
    if (job_phase_is_final(v->was))
        return v->was;
    if (v->ending != ENDING_NONE)
        return v->ending == ENDING_SUCCEEDED ? JOB_SUCCEEDED : JOB_FAILED;
    if (v->pause_wanted)
        return JOB_PAUSED;
    if (v->counts[REPLICA_RUNNING] > 0)
        return JOB_RUNNING;
    if (v->counts[REPLICA_UNKNOWN] > 0)
        return JOB_UNKNOWN;
    return v->was == JOB_PAUSED || v->was == JOB_RESUMING ? JOB_RESUMING : JOB_PENDING;
}

static const char *container_state(const struct json *container_status)
{
    static const struct {
        const char *member, *word;
    } states[] = {{"running", "Running"}, {"terminated", "Terminated"}, {"waiting", "Waiting"}};

    for (size_t i = 0; i < ELEMS(states); i++)
        if (json_at(container_status, "state", states[i].member))
            return states[i].word;
    return "Unknown";
}

static void set_containers(struct arena *a, struct json *entry, const struct json *pod)
{
    const struct json *statuses = json_at(pod, "status", "containerStatuses");
    struct json *list = json_new_array(a);

    json_each (c, statuses) {
        const struct json *code = json_at(c, "state", "terminated", "exitCode");
        struct json *item = json_append(list, json_new_object(a));

        json_set_string(a, item, "name", json_get_string(c, "name", ""));
        json_set_string(a, item, "state", container_state(c));
        json_set(a, item, "exitCode", json_clone(a, code));
    }
    if (json_len(list))
        json_set(a, entry, "containers", list);
}

/* The recorded entry of a replica whose pod is not (or no longer) visible. */
static struct json *remembered(const struct job_view *v, const struct replica *r)
{
    struct json *entry = json_clone(v->arena, r->recorded);
    const struct json *uid = json_get(entry, "uid");

    if (r->phase == REPLICA_CREATING && uid) {
        json_set(v->arena, entry, "lastUID", json_clone(v->arena, uid));
        json_remove(entry, "uid");
    }
    if (r->phase == REPLICA_CREATING || r->phase == REPLICA_DELETED)
        json_remove(entry, "containers");
    return entry ? entry : json_new_object(v->arena);
}

static struct json *replica_entry(const struct job_view *v, const struct replica *r)
{
    bool visible = r->pod && (!r->outdated || replica_is_superseded(v, r));
    struct arena *a = v->arena;
    struct json *entry = visible ? json_new_object(a) : remembered(v, r);
    char time[TIME_TEXT_SIZE];

    json_set_string(a, entry, "name", r->name);
    if (visible)
        json_set_string(a, entry, "uid", object_uid(r->pod));
    if (visible && (replica_is_superseded(v, r) || r->state.lost))
        json_set_string(a, entry, "lastUID", object_uid(r->pod));
    if (r->phase == REPLICA_CREATING && r->gone_ms > 0)
        json_set_string(a, entry, "goneTime", time_format_micro(r->gone_ms, time));
    json_set_string(a, entry, "phase", replica_phase_name(r->phase));
    if (visible)
        set_containers(a, entry, r->pod);
    if (r->restarts > 0)
        json_set_int(a, entry, "restartCount", r->restarts);
    if (r->restart_ms > 0) {
        json_set_string(a, entry, "restartTime", time_format_micro(r->restart_ms, time));
        json_set_int(a, entry, "restartDelaySeconds", r->restart_delay_s);
    }
    return entry;
}

static void set_tasks(const struct job_view *v, struct json *status)
{
    struct arena *a = v->arena;
    struct json *tasks = json_set(a, status, "tasks", json_new_array(a));
    size_t i = 0;

    for (size_t role = 0; role < v->roles_len; role++) {
        struct json *task = json_append(tasks, json_new_object(a));
        struct json *replicas = json_new_array(a);
        int64_t restarts = 0;

        for (; i < v->len && v->replicas[i].role == &v->roles[role]; i++) {
            restarts += v->replicas[i].restarts;
            json_append(replicas, replica_entry(v, &v->replicas[i]));
        }
        json_set_string(a, task, "type", v->roles[role].type);
        if (restarts > 0)
            json_set_int(a, task, "restartCount", restarts);
        json_set(a, task, "replicas", replicas);
    }
}

static void set_aggregate(const struct job_view *v, struct json *status)
{
    static const char *const names[REPLICA_PHASE_COUNT] = {
        [REPLICA_CREATING] = "creating", [REPLICA_PENDING] = "pending",
        [REPLICA_RUNNING] = "running",   [REPLICA_SUCCEEDED] = "succeeded",
        [REPLICA_FAILED] = "failed",     [REPLICA_UNKNOWN] = "unknown",
        [REPLICA_DELETED] = "deleted",
    };
    struct json *aggregate = json_set(v->arena, status, "aggregate", json_new_object(v->arena));

    for (size_t i = 0; i < ELEMS(names); i++)
        json_set_int(v->arena, aggregate, names[i], v->counts[i]);
}

static void set_or_remove(struct arena *a, struct json *object, const char *key, const char *text)
{
    if (text[0])
        json_set_string(a, object, key, text);
    else
        json_remove(object, key);
}

static bool is_true(const struct json *object, const char *condition)
{
    return object_condition_is(object, condition);
}

/* It was preempted and waits for its turn again. */
static bool waits_preempted(const struct job_view *v)
{
    const struct json *group = v->snapshot->group;

    return group && v->counts[REPLICA_RUNNING] == 0 && is_true(group, "Preempted") &&
           !is_true(group, "GroupScheduled");
}

/* A run ended by a pause or preemption is recorded, so that running time can be told from waiting
 * time. */
static void interrupt(const struct job_view *v, struct json *status, const char *reason)
{
    struct arena *a = v->arena;
    struct json *list = json_make_array(a, status, "interruptions");
    struct json *entry = json_append(list, json_new_object(a));
    int64_t ran_ms = v->start_ms ? max_i64(0, v->now_ms - v->start_ms) : 0;
    char time[TIME_TEXT_SIZE];

    json_set_string(a, entry, "reason", reason);
    if (v->start_ms)
        json_set_string(a, entry, "startTime", time_format(v->start_ms, time));
    json_set_string(a, entry, "stopTime", time_format(v->now_ms, time));
    if (json_len(list) > INTERRUPTIONS_LIMIT)
        json_remove_item(list, json_first(list));
    json_set_int(a, status, "ranSeconds", json_get_int(status, "ranSeconds", 0) + ran_ms / 1000);
    json_remove(status, "startTime");
}

static void resume(const struct job_view *v, struct json *status)
{
    struct json *list = json_get_mut(status, "interruptions");
    struct json *last = json_is(list, JSON_ARRAY) ? list->u.list.last : NULL;
    char time[TIME_TEXT_SIZE];

    if (json_is(last, JSON_OBJECT))
        json_set_string(v->arena, last, "resumeTime", time_format(v->now_ms, time));
}

/* activeDeadlineSeconds starts with the first running pod: waiting in the queue does not count. It
 * stops at a pause or preemption and then starts anew. */
static void set_times(const struct job_view *v, struct json *status)
{
    bool begins = v->start_ms == 0 && (v->phase == JOB_RUNNING || v->ending != ENDING_NONE);
    char time[TIME_TEXT_SIZE];

    if (v->was == JOB_PAUSED && v->phase != JOB_PAUSED)
        resume(v, status);
    if (v->phase == JOB_PAUSED && v->was != JOB_PAUSED)
        interrupt(v, status, "Paused");
    else if (v->start_ms && v->ending == ENDING_NONE && waits_preempted(v))
        interrupt(v, status, "Preempted");
    else if (begins)
        json_set_string(v->arena, status, "startTime", time_format(v->now_ms, time));
    if (v->ending != ENDING_NONE)
        json_set_string(v->arena, status, "completionTime", time_format(v->now_ms, time));
}

static void set_counters(const struct job_view *v, struct json *status)
{
    struct arena *a = v->arena;

    json_set_int(a, status, "backoffCount", v->backoff_count);
    if (v->pause_count > 0)
        json_set_int(a, status, "pauseCount", v->pause_count);
    /* A paused job requests none: it would have to change it whenever another job takes that
     * port. */
    if (v->rules->rendezvous && v->snapshot->shared_network && v->port.port &&
        (v->phase != JOB_PAUSED || v->port.held))
        json_set_int(a, status, "masterPort", v->port.port);
}

static void set_place(const struct job_view *v, struct json *status)
{
    const struct json *place = json_at(v->snapshot->group, "status", "place");

    if (job_is_grouped(v))
        json_set_string(v->arena, status, "queue", group_queue(v->job));
    if (place && v->phase == JOB_PENDING)
        json_set(v->arena, status, "place", json_clone(v->arena, place));
    else
        json_remove(status, "place");
}

static void set_failure(const struct job_view *v, struct json *status)
{
    struct json *failure = job_failure_data(v);

    if (failure)
        json_set(v->arena, status, "failure", failure);
    else
        json_remove(status, "failure");
}

struct json *job_status_new(const struct job_view *v)
{
    struct arena *a = v->arena;
    struct json *status = json_is(v->status, JSON_OBJECT) ? json_clone(a, v->status)
                                                          : json_new_object(a);

    if (!job_phase_is_final(v->was)) {
        json_set_string(a, status, "phase", job_phase_name(v->phase));
        set_or_remove(a, status, "reason", v->why_reason);
        set_or_remove(a, status, "message", v->why_message);
        set_place(v, status);
        set_failure(v, status);
        set_times(v, status);
        set_counters(v, status);
        job_conditions_set(v, status);
    }
    json_set(a, status, "observedGeneration",
             json_clone(a, json_at(v->job, "metadata", "generation")));
    set_tasks(v, status);
    set_aggregate(v, status);
    job_tensorboard_status(v, status);
    return status;
}

/* A new parent for an old value: members are shared, which is safe because plans are read-only. */
static struct json *shared(struct arena *a, const struct json *value)
{
    struct json *copy = value ? arena_alloc(a, sizeof(*copy)) : NULL;

    if (copy)
        *copy = *value;
    return copy;
}

struct json *job_with_status(const struct job_view *v, struct json *status)
{
    struct arena *a = v->arena;
    struct json *job = json_new_object(a);

    json_set_string(a, job, "apiVersion", kind_api_version(a, v->kind));
    json_set_string(a, job, "kind", v->kind->name);
    json_set(a, job, "metadata", shared(a, json_get(v->job, "metadata")));
    json_set(a, job, "spec", shared(a, json_get(v->job, "spec")));
    json_set(a, job, "status", status);
    return job;
}
