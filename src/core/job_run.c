/*
 * job_run.c - one pass over a job of any kind: what to do next, given what exists. Pure.
 *
 * Every pass first judges (has the job ended, what restarts, is it paused), writes the status if it
 * changed, then creates and deletes what the status *as cached* allows. A pass that charges the
 * restart budget, ends the job or pauses it only writes that: nothing follows from it until a later
 * pass finds it written. So a crash at any point forgets nothing and counts nothing twice. Pods are
 * created only after a status write, even an unchanged one: it fails on a stale job, so a cache
 * that has missed the end creates no pods. On a cluster, where a write costs more than a pod, the
 * first pods are created after a read that proves the same: they charge nothing, and nothing about
 * them needs to be remembered.
 */
#include "core/job_run.h"

#include "api/object.h"
#include "core/job_status.h"

static bool begins(const struct job_view *v)
{
    if (v->was != JOB_NEW || v->snapshot->shared_network || v->snapshot->refused)
        return false;
    for (size_t i = 0; i < v->len; i++)
        if (v->replicas[i].pod)
            return false;
    return v->surplus_len == 0 && job_makes_pods(v);
}

static void plan_status(const struct job_view *v, struct plan *plan)
{
    struct json *status = job_status_new(v);
    bool changed = !json_equal(status, v->status);

    if (begins(v)) {
        plan_check(plan, v->kind, v->job);
        plan_next_stage(plan);
        return;
    }
    if (!changed && !job_makes_pods(v))
        return;
    plan->may_wait = !v->commits && v->ending == ENDING_NONE;
    plan_update_status(plan, v->kind, job_with_status(v, status));
    plan_next_stage(plan);
    if (changed)
        job_events_plan(v, plan);
}

void job_run_look(const struct job_rules *rules, const struct job_snapshot *s, struct plan *plan)
{
    struct job_view v;

    job_view_init(&v, rules, s, plan->arena);
    if (arena_failed(plan->arena))
        return;
    if (!job_phase_is_final(v.was))
        job_judge(&v, plan);
    job_view_settle(&v);
    v.phase = job_phase_now(&v);
    job_explain(&v);
    plan_wake_at(plan, v.look_again_ms);
    plan_status(&v, plan);
    if (job_phase_is_final(v.was))
        job_wind_up(&v, plan);
    else
        job_act(&v, plan);
    job_tensorboard_plan(&v, plan);
}

void job_run_names(const struct job_rules *rules, struct arena *a, const struct json *job,
                   void (*say)(void *arg, const char *name), void *arg)
{
    struct job_snapshot s = {.job = job};
    struct job_view v;

    job_view_init(&v, rules, &s, a);
    for (size_t i = 0; i < v.len; i++)
        say(arg, v.replicas[i].name);
}

/* Only if unchanged: cancelling the deletion must win over a stale cache. */
void job_look(const struct job_kind *k, const struct job_snapshot *s, struct plan *plan)
{
    const struct json *annotations = json_at(s->job, "metadata", "annotations");
    int64_t at_ms = object_time(annotations, ANNOTATION_DELETE_AT);

    if (at_ms && s->now_ms >= at_ms) {
        plan_delete_as_seen(plan, k->kind, s->job, -1);
        return;
    }
    plan_wake_at(plan, at_ms);
    k->reconcile(s, plan);
}
