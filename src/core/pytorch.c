/*
 * pytorch.c - PyTorchTrainingJob: what to do next, given what is there. Pure.
 *
 * The order of every look: judge (has the job ended, what restarts, is it paused), write the status
 * if it changed, then make and delete what the status *as cached* allows. A look that charges the
 * restart budget, ends the job or pauses it does nothing but write that down: only when a later
 * look finds it written does anything follow from it. So being killed anywhere forgets nothing and
 * counts nothing twice. And pods are made only behind a status write, be it of what is there
 * already: it fails on an old job, so a cache that has not heard of the end makes no pods.
 */
#include <string.h>

#include "api/object.h"
#include "core/job_status.h"
#include "core/replica_pod.h"

#define LOOK_AGAIN_MS                                                                              \
    (10 * INT64_C(1000)) /* at what nobody tells us about: foreign pods, ports                     \
                          */

/* --- judging ---------------------------------------------------------------------------------- */

static bool restart_wanted(const struct job_view *v, const struct replica *r)
{
    return restart_asked(r->policy, r->state.phase == POD_FAILED, r->state.exit_code,
                         json_at(v->spec, "runPolicy", "restartableExitCodes"));
}

static void end_job(struct job_view *v, enum job_ending ending)
{
    v->ending = ending;
    v->ending_text = job_ending_text(v, ending);
}

/* The master's end is the job's, unless it is to run again and may. */
static void judge_master(struct job_view *v)
{
    const struct replica *master = v->replicas;
    bool wanted;

    if (v->len == 0 || !replica_has_ended(v, master))
        return;
    wanted = restart_wanted(v, master);
    if (wanted && v->backoff_count < v->backoff_limit)
        return;
    if (master->state.phase == POD_SUCCEEDED)
        end_job(v, ENDING_SUCCEEDED);
    else
        end_job(v, wanted ? ENDING_BUDGET : ENDING_FAILED);
}

/* Times in the status are whole seconds, cut off: giving the rest back keeps us from being early.
 */
static int64_t seconds_after(int64_t time_ms, int64_t seconds)
{
    return time_ms + 999 + seconds * 1000;
}

static void judge_deadline(struct job_view *v, struct plan *plan)
{
    int64_t seconds = json_int(json_at(v->spec, "runPolicy", "activeDeadlineSeconds"), 0);
    int64_t at_ms = seconds_after(v->start_ms, seconds);

    if (seconds <= 0 || v->start_ms == 0 || v->ending != ENDING_NONE)
        return;
    if (v->now_ms >= at_ms)
        end_job(v, ENDING_DEADLINE);
    else
        plan_wake_at(plan, at_ms);
}

static void renew(struct job_view *v, struct replica *r, int64_t delay_s)
{
    r->restarts++;
    r->restart_ms = v->now_ms;
    r->restart_delay_s = delay_s;
    r->renewed = true;
    v->commits = true;
}

static void charge(struct job_view *v, struct replica *failed)
{
    int64_t before = failed->restart_ms > 0 ? failed->restarts : 0;
    int64_t delay_s = restart_delay_seconds(before, failed->restart_delay_s, failed->state.ran_ms);

    v->backoff_count++;
    if (v->scope == SCOPE_REPLICA) {
        renew(v, failed, delay_s);
        return;
    }
    for (size_t i = 0; i < v->len; i++)
        renew(v, &v->replicas[i], delay_s);
}

static void judge_restarts(struct job_view *v)
{
    for (size_t i = 0; i < v->len && v->backoff_count < v->backoff_limit; i++) {
        struct replica *r = &v->replicas[i];

        /* With the whole job renewed nobody's end counts any more: the loop charges once. */
        if (replica_has_ended(v, r) && restart_wanted(v, r))
            charge(v, r);
    }
}

/* A pause makes all pods there are superseded: none of them is charged for being stopped. */
static void judge_pause(struct job_view *v)
{
    v->phase = JOB_PAUSED;
    if (v->was == JOB_PAUSED)
        return;
    v->pause_count++;
    v->commits = true;
}

static void judge(struct job_view *v, struct plan *plan)
{
    judge_master(v);
    if (v->pause_wanted && v->ending == ENDING_NONE) {
        judge_pause(v);
        return;
    }
    judge_deadline(v, plan);
    if (v->ending == ENDING_NONE)
        judge_restarts(v);
}

/* --- acting ----------------------------------------------------------------------------------- */

static void delete_pod(const struct json *pod, struct plan *plan)
{
    if (!object_is_deleting(pod))
        plan_delete(plan, &kind_pod, pod, -1);
}

static void delete_surplus(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->surplus_len; i++)
        delete_pod(v->surplus[i], plan);
}

/* Old pods of a group that restarts as a whole must be gone before any new one comes: else old and
 * new ranks would meet at the same address. */
static bool must_gather(const struct job_view *v)
{
    if (v->scope != SCOPE_JOB && v->phase != JOB_RESUMING)
        return false;
    if (v->surplus_len)
        return true;
    for (size_t i = 0; i < v->len; i++)
        if (replica_is_superseded(v, &v->replicas[i]))
            return true;
    return false;
}

/* How many pods must run together: those whose part is not done; an elastic job can do with less.
 */
static int64_t min_member(const struct job_view *v)
{
    int64_t least = (int64_t)v->len - v->counts[REPLICA_SUCCEEDED] - v->counts[REPLICA_FAILED];

    /* A failed replica that waits for its replacement is not done. */
    for (size_t i = 0; i < v->len; i++)
        least += v->replicas[i].phase == REPLICA_FAILED &&
                 replica_is_superseded(v, &v->replicas[i]);
    if (v->elastic)
        least = min_i64(least, json_int(json_at(v->spec, "elastic", "minReplicas"), least));
    return max_i64(least, 1);
}

static bool may_create(const struct job_view *v)
{
    return !v->commits && !job_is_over(v) && v->phase != JOB_PAUSED && v->port.held && !v->clash &&
           !must_gather(v);
}

static bool is_to_be_created(const struct job_view *v, const struct replica *r)
{
    return r->phase == REPLICA_CREATING && replica_due_ms(v, r) == 0;
}

static bool creates_pods(const struct job_view *v)
{
    if (may_create(v))
        for (size_t i = 0; i < v->len; i++)
            if (is_to_be_created(v, &v->replicas[i]))
                return true;
    return false;
}

static void retire_pod(const struct job_view *v, const struct replica *r, struct plan *plan)
{
    int64_t due_ms = v->scope == SCOPE_REPLICA ? replica_due_ms(v, r) : 0;

    if (!replica_is_superseded(v, r)) {
        if (r->state.lost && !r->outdated)
            delete_pod(r->pod, plan);
        return;
    }
    /* A failed pod is kept to be looked at until its replacement is due. */
    if (r->state.phase == POD_FAILED && due_ms)
        plan_wake_at(plan, due_ms);
    else
        delete_pod(r->pod, plan);
}

static void keep_going(const struct job_view *v, struct plan *plan)
{
    bool create = may_create(v);
    int64_t together = min_member(v);

    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        if (r->pod)
            retire_pod(v, r, plan);
        if (!create)
            continue;
        if (!r->service)
            plan_create(plan, &kind_service, replica_service_new(v, r));
        if (is_to_be_created(v, r))
            plan_create(plan, &kind_pod, replica_pod_new(v, r, together));
        else if (r->phase == REPLICA_CREATING)
            plan_wake_at(plan, replica_due_ms(v, r));
    }
    delete_surplus(v, plan);
}

/* The lease alone: whether we or another job got it shows only when the cache has it. */
static void lease_port(const struct job_view *v, struct plan *plan)
{
    if (v->port.held || v->len == 0)
        return;
    if (v->port.port)
        plan_create(plan, &kind_lease,
                    port_lease_new(v->arena, v->port.port, v->ns, v->name, v->uid));
    plan_wake_at(plan, v->now_ms + LOOK_AGAIN_MS);
}

/* The pause superseded all pods there were. One that is not comes from a resume we have not heard
 * of yet. */
static void stop_all(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->len; i++)
        if (replica_is_superseded(v, &v->replicas[i]))
            delete_pod(v->replicas[i].pod, plan);
    delete_surplus(v, plan);
}

static void act(const struct job_view *v, struct plan *plan)
{
    if (v->commits || v->ending != ENDING_NONE)
        return;
    if (v->phase == JOB_PAUSED) {
        stop_all(v, plan);
        return;
    }
    lease_port(v, plan);
    keep_going(v, plan);
    if (v->clash)
        plan_wake_at(plan, v->now_ms + LOOK_AGAIN_MS);
}

/* --- after the end ---------------------------------------------------------------------------- */

static enum clean_up_policy clean_up_policy_of(const struct job_view *v)
{
    const struct json *word = json_at(v->spec, "runPolicy", "cleanUpPolicy");

    if (json_string_is(word, "All"))
        return CLEAN_UP_ALL;
    return json_string_is(word, "None") ? CLEAN_UP_NONE : CLEAN_UP_UNFINISHED;
}

static void clean_up(const struct job_view *v, struct plan *plan)
{
    enum clean_up_policy policy = clean_up_policy_of(v);

    for (size_t i = 0; i < v->snapshot->pods_len && policy != CLEAN_UP_NONE; i++) {
        const struct json *pod = v->snapshot->pods[i];

        if (!object_is_controlled_by(pod, v->uid) || object_is_deleting(pod))
            continue;
        if (policy == CLEAN_UP_ALL)
            plan_delete(plan, &kind_pod, pod, -1);
        else if (!pod_is_finished(pod)) /* it may have finished since, and then it stays */
            plan_delete_as_seen(plan, &kind_pod, pod, -1);
    }
}

/* Nobody is left who could use the job's port or look for its names. */
static bool is_deserted(const struct job_view *v)
{
    for (size_t i = 0; i < v->snapshot->pods_len; i++)
        if (object_is_controlled_by(v->snapshot->pods[i], v->uid) &&
            !pod_is_finished(v->snapshot->pods[i]))
            return false;
    return true;
}

/* Ports are few. */
static void give_back_port(const struct job_view *v, struct plan *plan)
{
    struct port_claim claim = port_claim_for(v->arena, v->snapshot->leases, v->snapshot->leases_len,
                                             v->uid, json_get_int(v->status, "masterPort", 0));

    if (claim.held && !object_is_deleting(claim.lease))
        plan_delete(plan, &kind_lease, claim.lease, -1);
}

/* Names are many, and every pod that runs is given all of them. */
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
    int64_t at_ms = seconds_after(object_time(v->status, "completionTime"), json_int(ttl, 0));

    if (!json_is(ttl, JSON_INT))
        return;
    if (v->now_ms >= at_ms)
        plan_delete(plan, v->kind, v->job, -1);
    else
        plan_wake_at(plan, at_ms);
}

static void wind_up(const struct job_view *v, struct plan *plan)
{
    clean_up(v, plan);
    if (is_deserted(v) && v->snapshot->shared_network)
        give_back_port(v, plan);
    if (is_deserted(v))
        give_back_names(v, plan);
    expire(v, plan);
}

/* --- the kind --------------------------------------------------------------------------------- */

static void plan_status(const struct job_view *v, struct plan *plan)
{
    struct json *status = job_status_new(v);
    bool changed = !json_equal(status, v->status);

    if (!changed && !creates_pods(v))
        return;
    plan_update_status(plan, v->kind, job_with_status(v, status));
    plan_next_stage(plan);
    if (changed)
        job_events_plan(v, plan);
}

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    struct job_view v;

    job_view_init(&v, &kind_pytorch_training_job, s, plan->arena);
    if (arena_failed(plan->arena))
        return;
    if (!job_phase_is_final(v.was))
        judge(&v, plan);
    job_view_settle(&v);
    v.phase = job_phase_now(&v);
    job_explain(&v);
    plan_status(&v, plan);
    if (job_phase_is_final(v.was))
        wind_up(&v, plan);
    else
        act(&v, plan);
}

static void wanted_names(struct arena *a, const struct json *job,
                         void (*say)(void *arg, const char *name), void *arg)
{
    struct job_snapshot s = {.job = job};
    struct job_view v;

    job_view_init(&v, &kind_pytorch_training_job, &s, a);
    for (size_t i = 0; i < v.len; i++)
        say(arg, v.replicas[i].name);
}

const struct job_kind job_kind_pytorch = {
    .kind = &kind_pytorch_training_job,
    .reconcile = reconcile,
    .wanted_names = wanted_names,
};
