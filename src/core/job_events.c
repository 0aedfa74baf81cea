/*
 * job_events.c - reports what happened, once: each event corresponds to a difference between the
 * old and the new status, so a repeated pass emits nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/job_status.h"
#include "core/replica_pod.h"
#include "core/schedule.h"

struct teller {
    const struct job_view *v;
    struct plan *plan;
};

static void warn(void *arg, const char *reason, const char *text)
{
    struct teller *t = arg;

    plan_event(t->plan, t->v->kind, t->v->job, "Warning", reason, "%s", text ? text : "");
}

static void tell_creation(const struct job_view *v, struct plan *plan)
{
    struct teller t = {v, plan};

    if (v->was != JOB_NEW)
        return;
    plan_event(plan, v->kind, v->job, "Normal", "Created", "A %s has been created: %s",
               v->kind->name, v->name);
    replica_pod_warnings(v, warn, &t);
}

static void tell_obstacle(const struct job_view *v, struct plan *plan)
{
    static const char *const worth_telling[] = {"NameClash", "NoPortFree", "Refused",
                                                "SchedulerSilent"};

    if (json_string_is(json_get(v->status, "message"), v->why_message))
        return;
    for (size_t i = 0; i < ELEMS(worth_telling); i++)
        if (strcmp(worth_telling[i], v->why_reason) == 0)
            plan_event(plan, v->kind, v->job, "Warning", v->why_reason, "%s", v->why_message);
}

static void tell_preempted(const struct job_view *v, struct plan *plan)
{
    if (strcmp(v->why_reason, CONDITION_PREEMPTED) == 0 &&
        !json_string_is(json_get(v->status, "reason"), CONDITION_PREEMPTED))
        plan_event(plan, v->kind, v->job, "Warning", CONDITION_PREEMPTED, "%s",
                   job_preempted_text(v));
}

static void tell_replica(const struct job_view *v, const struct replica *r, struct plan *plan)
{
    const char *before = json_get_string(r->recorded, "phase", "");

    if (r->pod && r->pod_attempt == 0 && !r->outdated && !json_get(r->recorded, "uid"))
        plan_event(plan, v->kind, v->job, "Normal", "NewReplica",
                   json_get(r->recorded, "lastUID")
                       ? "Create the replica[%s] again: its last pod is gone."
                       : "Create the replica[%s] for the first time.",
                   r->name);
    if (r->phase == REPLICA_FAILED && strcmp(before, replica_phase_name(r->phase)) != 0 && r->pod)
        plan_event(plan, v->kind, v->job, "Warning", "ReplicaFailed", "%s",
                   pod_failure_text(v->arena, r->name, &r->state));
    if (r->renewed && v->scope == SCOPE_REPLICA)
        plan_event(plan, v->kind, v->job, "Normal", "Restart",
                   "Replace the replica[%s]: %" PRId64 " of %" PRId64 " restarts are used.",
                   r->name, v->backoff_count, v->backoff_limit);
}

static void tell_initialized(const struct job_view *v, struct plan *plan)
{
    bool before = json_string_is(json_get(object_condition(v->job, "Initialized"), "status"),
                                 "True");

    if (!before && v->len > 0 && v->counts[REPLICA_CREATING] == 0 && v->phase != JOB_PAUSED)
        plan_event(plan, v->kind, v->job, "Normal", "Start",
                   "The job has been initialized successfully.");
}

/* "2024-08-02 07:03:59.69 UTC" */
static void tell_running(const struct job_view *v, struct plan *plan)
{
    char time[TIME_TEXT_SIZE];

    if (v->phase != JOB_RUNNING || v->start_ms != 0)
        return;
    (void)time_format_micro(v->now_ms, time);
    plan_event(plan, v->kind, v->job, "Normal", "Running",
               "The job began running at %.10s %.11s UTC", time, time + 11);
}

static void tell_phase(const struct job_view *v, struct plan *plan)
{
    if (v->phase == v->was)
        return;
    if (v->phase == JOB_SUCCEEDED)
        plan_event(plan, v->kind, v->job, "Normal", "Succeeded", "%s", v->ending_text);
    if (v->phase == JOB_FAILED)
        plan_event(plan, v->kind, v->job, "Warning",
                   v->ending == ENDING_DEADLINE ? job_ending_reason(v->ending) : "Failed", "%s",
                   v->ending_text);
    if (v->phase == JOB_PAUSED)
        plan_event(plan, v->kind, v->job, "Normal", "Paused",
                   "The job is paused; its pods are stopped.");
    if (v->was == JOB_PAUSED)
        plan_event(plan, v->kind, v->job, "Normal", "Resuming", "The job has been resumed.");
}

void job_events_plan(const struct job_view *v, struct plan *plan)
{
    if (job_phase_is_final(v->was))
        return;
    tell_creation(v, plan);
    tell_obstacle(v, plan);
    tell_preempted(v, plan);
    for (size_t i = 0; i < v->len; i++)
        tell_replica(v, &v->replicas[i], plan);
    if (v->scope == SCOPE_JOB && v->len > 0 && v->replicas[0].renewed)
        plan_event(plan, v->kind, v->job, "Normal", "Restart",
                   "Replace all %zu replicas together: %" PRId64 " of %" PRId64
                   " restarts are used.",
                   v->len, v->backoff_count, v->backoff_limit);
    tell_initialized(v, plan);
    tell_running(v, plan);
    tell_phase(v, plan);
}
