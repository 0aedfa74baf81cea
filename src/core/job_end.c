/*
 * job_end.c - after a job's end: pods by its clean-up policy, its port, its names, and the job
 * itself after its TTL.
 */
#include "api/object.h"
#include "core/job_run.h"

/* How long replicas of a succeeded job may take to end on their own. */
#define OWN_END_MS (10 * INT64_C(1000))

static enum clean_up_policy clean_up_policy_of(const struct job_view *v)
{
    const struct json *word = json_at(v->spec, "runPolicy", "cleanUpPolicy");

    if (json_string_is(word, "All"))
        return CLEAN_UP_ALL;
    return json_string_is(word, "None") ? CLEAN_UP_NONE : CLEAN_UP_UNFINISHED;
}

/* When unfinished replicas are stopped; 0: now. Those of a successful job usually end by themselves
 * shortly; those that only serve a master never do, and after a failure nothing is waited for. A
 * clock set back must not extend the wait. */
static int64_t stop_at_ms(const struct job_view *v)
{
    int64_t ended_ms = object_time(v->status, "completionTime"), at_ms = ended_ms + OWN_END_MS;

    if (v->was != JOB_SUCCEEDED || v->rules->led)
        return 0;
    return at_ms > v->now_ms && ended_ms <= v->now_ms ? at_ms : 0;
}

/* Nothing ever ran in it and it has no place: it would wait forever. */
static bool never_began(const struct json *pod)
{
    return pod_state_of(pod, NULL).phase == POD_PENDING && !pod_is_placed(pod);
}

static void clean_up(const struct job_view *v, struct plan *plan)
{
    enum clean_up_policy of_all = clean_up_policy_of(v);
    int64_t later_ms = stop_at_ms(v);

    for (size_t i = 0; i < v->snapshot->pods_len; i++) {
        const struct json *pod = v->snapshot->pods[i];
        enum clean_up_policy policy = v->rules->clean_up ? v->rules->clean_up(v, pod, of_all)
                                                         : of_all;

        if (!object_is_controlled_by(pod, v->uid) || object_is_deleting(pod))
            continue;
        if (never_began(pod)) /* it may have been placed since */
            plan_delete_as_seen(plan, &kind_pod, pod, -1);
        else if (later_ms && policy != CLEAN_UP_NONE && !pod_is_finished(pod))
            plan_wake_at(plan, later_ms);
        else if (policy == CLEAN_UP_ALL)
            plan_delete(plan, &kind_pod, pod, -1);
        else if (policy == CLEAN_UP_UNFINISHED && !pod_is_finished(pod))
            /* it may have finished since, and then it stays */
            plan_delete_as_seen(plan, &kind_pod, pod, -1);
    }
}

/* No pod is left that could use the job's port or names. */
static bool is_deserted(const struct job_view *v)
{
    for (size_t i = 0; i < v->snapshot->pods_len; i++)
        if (object_is_controlled_by(v->snapshot->pods[i], v->uid) &&
            !pod_is_finished(v->snapshot->pods[i]))
            return false;
    return true;
}

/* Ports are scarce. */
static void give_back_port(const struct job_view *v, struct plan *plan)
{
    struct port_claim claim = port_claim_for(v->arena, v->snapshot->leases, v->snapshot->leases_len,
                                             v->uid, json_get_int(v->status, "masterPort", 0));

    if (claim.held && !object_is_deleting(claim.lease))
        plan_delete(plan, &kind_lease, claim.lease, -1);
}

/* Names accumulate, and every running pod gets all of them. */
static void give_back_names(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->snapshot->services_len; i++) {
        const struct json *service = v->snapshot->services[i];

        if (object_is_controlled_by(service, v->uid) && !object_is_deleting(service))
            plan_delete(plan, &kind_service, service, -1);
    }
}

static void expire(const struct job_view *v, struct plan *plan)
{
    const struct json *ttl = json_at(v->spec, "runPolicy", "ttlSecondsAfterFinished");
    int64_t at_ms = job_seconds_after(object_time(v->status, "completionTime"), json_int(ttl, 0));

    if (!json_is(ttl, JSON_INT))
        return;
    if (v->now_ms >= at_ms)
        plan_delete(plan, v->kind, v->job, -1);
    else
        plan_wake_at(plan, at_ms);
}

void job_wind_up(const struct job_view *v, struct plan *plan)
{
    clean_up(v, plan);
    job_release(v, plan);
    if (is_deserted(v) && v->snapshot->shared_network && v->rules->rendezvous)
        give_back_port(v, plan);
    if (is_deserted(v)) {
        give_back_names(v, plan);
        job_group_end(v, plan);
    } else {
        job_group_keep(v, plan);
    }
    expire(v, plan);
}
