/*
 * job_judge.c - what has become of a job: has it ended, what restarts, is it paused. Records the
 * decisions in the view; other files act on them.
 */
#include "core/job_run.h"

#include "core/job_status.h"

#define CAUSE_WAIT_MS (10 * INT64_C(1000))

/* The master of a led job needs this replica. */
static bool is_vital(const struct job_view *v, const struct replica *r)
{
    return v->rules->led && r != v->replicas;
}

static bool restart_wanted(const struct job_view *v, const struct replica *r)
{
    bool failed = r->state.phase == POD_FAILED || is_vital(v, r);

    return restart_asked(r->role->policy, failed, r->state.exit_code,
                         json_at(v->spec, "runPolicy", "restartableExitCodes"));
}

static bool has_failed(const struct job_view *v, const struct replica *r)
{
    return replica_has_ended(v, r) && r->state.phase == POD_FAILED;
}

static bool may_say_more(const struct job_view *v, const struct replica *r)
{
    return r->pod && !r->state.deleting && !replica_is_superseded(v, r) &&
           (r->state.phase == POD_RUNNING ||
            (r->state.phase == POD_PENDING && pod_is_placed(r->pod)));
}

/* When all failed replicas only report a lost peer, one still running is about to say why, and
 * stopping it now would hide the cause. Returns how long to wait for it; 0: not at all. */
static int64_t cause_due_ms(const struct job_view *v)
{
    int64_t due_ms = 0;
    bool others = false;

    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        if (r->pod && r->state.phase == POD_FAILED && !r->state.lost_peer)
            return 0;
        if (has_failed(v, r) && r->state.finished_ms <= v->now_ms)
            due_ms = max_i64(due_ms, r->state.finished_ms + CAUSE_WAIT_MS);
        others = others || may_say_more(v, r);
    }
    return others && due_ms > v->now_ms ? due_ms : 0;
}

static void wait_for_cause(struct job_view *v, struct plan *plan, int64_t due_ms)
{
    v->undecided = true;
    plan_wake_at(plan, due_ms);
}

static void end_job(struct job_view *v, enum job_ending ending, const struct replica *culprit)
{
    v->ending = ending;
    v->culprit = culprit;
    v->ending_text = job_ending_text(v, ending);
}

/* The replica whose end is the job's, unless it may and will be restarted. If a vital replica
 * ended, it is the reason for the master's failure. */
static const struct replica *find_culprit(const struct job_view *v)
{
    const struct replica *master = v->replicas;
    bool ended = replica_has_ended(v, master);

    if (ended && master->state.phase == POD_SUCCEEDED)
        return master;
    for (size_t i = 1; i < v->len && v->rules->led; i++)
        if (replica_has_ended(v, &v->replicas[i]))
            return &v->replicas[i];
    return ended ? master : NULL;
}

static void judge_end(struct job_view *v, struct plan *plan)
{
    const struct replica *culprit = v->len > 0 ? find_culprit(v) : NULL;
    int64_t due_ms;
    bool wanted;

    if (!culprit)
        return;
    wanted = restart_wanted(v, culprit);
    if (wanted && v->backoff_count < v->backoff_limit)
        return;
    if (culprit == v->replicas && culprit->state.phase == POD_SUCCEEDED) {
        end_job(v, ENDING_SUCCEEDED, culprit);
        return;
    }
    due_ms = cause_due_ms(v);
    if (due_ms)
        wait_for_cause(v, plan, due_ms);
    else
        end_job(v, wanted ? ENDING_BUDGET : ENDING_FAILED, culprit);
}

static void judge_deadline(struct job_view *v, struct plan *plan)
{
    int64_t seconds = json_int(json_at(v->spec, "runPolicy", "activeDeadlineSeconds"), 0);
    int64_t at_ms = job_seconds_after(v->start_ms, seconds);

    if (seconds <= 0 || v->start_ms == 0 || v->ending != ENDING_NONE)
        return;
    if (v->now_ms >= at_ms)
        end_job(v, ENDING_DEADLINE, NULL);
    else
        plan_wake_at(plan, at_ms);
}

static void renew(struct job_view *v, struct replica *r, int64_t delay_s)
{
    r->restarts++;
    r->restart_ms = v->now_ms;
    r->restart_delay_s = delay_s;
    r->gone_ms = 0;
    r->renewed = true;
    v->commits = true;
}

/* Replicas that are replaced together with the failed one. */
static bool goes_along(const struct job_view *v, const struct replica *failed,
                       const struct replica *r)
{
    if (r == failed || v->scope == SCOPE_JOB)
        return true;
    return v->rules->led && (r == v->replicas || replica_has_ended(v, r));
}

static void charge(struct job_view *v, struct replica *failed)
{
    int64_t before = failed->restart_ms > 0 ? failed->restarts : 0;
    int64_t delay_s = restart_delay_seconds(before, failed->restart_delay_s, failed->state.ran_ms);

    v->backoff_count++;
    for (size_t i = 0; i < v->len; i++)
        if (goes_along(v, failed, &v->replicas[i]))
            renew(v, &v->replicas[i], delay_s);
}

static void judge_restarts(struct job_view *v, struct plan *plan)
{
    int64_t due_ms = v->scope == SCOPE_JOB ? cause_due_ms(v) : 0;

    if (due_ms) { /* a restart would stop the others */
        wait_for_cause(v, plan, due_ms);
        return;
    }
    for (size_t i = 0; i < v->len && v->backoff_count < v->backoff_limit; i++) {
        struct replica *r = &v->replicas[i];

        /* Replicas replaced together are charged once, so further ends among them do not count. */
        if (replica_has_ended(v, r) && restart_wanted(v, r))
            charge(v, r);
    }
}

/* A pause supersedes all existing pods, so none is charged for being stopped. */
static void judge_pause(struct job_view *v)
{
    v->phase = JOB_PAUSED;
    if (v->was == JOB_PAUSED)
        return;
    v->pause_count++;
    v->commits = true;
}

void job_judge(struct job_view *v, struct plan *plan)
{
    judge_end(v, plan);
    if (v->pause_wanted && v->ending == ENDING_NONE) {
        judge_pause(v);
        return;
    }
    judge_deadline(v, plan);
    if (v->ending == ENDING_NONE)
        judge_restarts(v, plan);
}
