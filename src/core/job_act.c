/*
 * job_act.c - creates and deletes the pods of a running job, and what they need. Acts only on what
 * the cached status allows; see job_run.c.
 */
#include "api/object.h"
#include "core/job_run.h"
#include "core/job_status.h"
#include "core/replica_pod.h"

/* Poll interval for what no watch reports: foreign pods, ports. */
#define LOOK_AGAIN_MS (10 * INT64_C(1000))

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

/* When a group restarts as a whole, its old pods must be gone before any new one is created:
 * otherwise old and new ranks would meet at the same address. */
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

/* A refused TensorBoard does not keep pods from being created. */
static bool waits_refused(const struct job_view *v)
{
    const struct job_snapshot *s = v->snapshot;

    return s->refused && s->refused != &kind_tensorboard && s->refused_until_ms > v->now_ms;
}

static bool may_create(const struct job_view *v)
{
    return !waits_refused(v) && !v->commits && !job_is_over(v) && v->phase != JOB_PAUSED &&
           v->port.held && !v->clash && !must_gather(v);
}

static bool is_to_be_created(const struct job_view *v, const struct replica *r)
{
    return r->phase == REPLICA_CREATING && replica_due_ms(v, r) == 0;
}

bool job_makes_pods(const struct job_view *v)
{
    if (may_create(v))
        for (size_t i = 0; i < v->len; i++)
            if (is_to_be_created(v, &v->replicas[i]))
                return true;
    return false;
}

/* A leading master needs all the others: if one was deleted or lost, the master is replaced too, at
 * no charge. It was created after them, so none of them can be merely missing from the cache. */
static bool lacks_others(const struct job_view *v)
{
    for (size_t i = 1; i < v->len && v->rules->led; i++) {
        const struct replica *r = &v->replicas[i];

        if (!r->outdated && (!r->pod || r->state.deleting || r->state.lost))
            return true;
    }
    return false;
}

static void retire_pod(const struct job_view *v, const struct replica *r, struct plan *plan)
{
    int64_t due_ms = v->scope == SCOPE_REPLICA ? replica_due_ms(v, r) : 0;

    if (!replica_is_superseded(v, r)) {
        bool alone = r == v->replicas && !pod_is_finished(r->pod) && lacks_others(v);

        if ((r->state.lost || alone) && !r->outdated)
            delete_pod(r->pod, plan);
        return;
    }
    /* A failed pod is kept for inspection until its replacement is due. */
    if (r->state.phase == POD_FAILED && due_ms)
        plan_wake_at(plan, due_ms);
    else
        delete_pod(r->pod, plan);
}

/* After a refusal, one object of the kind is tried before the rest. A controller that just started
 * knows of it only from the status, and only while no pod exists. */
static size_t most_at_once(const struct job_view *v)
{
    if (v->snapshot->refused)
        return 1;
    for (size_t i = 0; i < v->len; i++)
        if (v->replicas[i].pod)
            return v->len;
    return job_said_refused(v) ? 1 : v->len;
}

static size_t make_pod(const struct job_view *v, const struct replica *r, struct plan *plan)
{
    bool now = is_to_be_created(v, r);

    if (now)
        plan_create(plan, &kind_pod, replica_pod_new(v, r));
    else if (r->phase == REPLICA_CREATING)
        plan_wake_at(plan, replica_due_ms(v, r));
    return now ? 1 : 0;
}

/* The others' pods exist, or are created before it. */
static bool master_may_follow(const struct job_view *v)
{
    for (size_t i = 1; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        if (!is_to_be_created(v, r) && (!r->pod || replica_is_superseded(v, r) ||
                                        r->state.deleting || pod_is_finished(r->pod)))
            return false;
    }
    return true;
}

/* A pod gets its address from its node: on a cluster the names are useless before the first pod is
 * placed, and jobs may wait long. On a single machine names are written before the pods start. */
static bool needs_names(const struct job_view *v)
{
    if (!v->rules->rendezvous || v->snapshot->shared_network)
        return v->rules->rendezvous;
    for (size_t i = 0; i < v->len; i++)
        if (v->replicas[i].pod && pod_is_placed(v->replicas[i].pod))
            return true;
    return false;
}

static void make_names(const struct job_view *v, struct plan *plan)
{
    size_t services = needs_names(v) ? most_at_once(v) : 0;

    for (size_t i = 0; i < v->len && services; i++) {
        if (v->replicas[i].service)
            continue;
        plan_create(plan, &kind_service, replica_service_new(v, &v->replicas[i]));
        services--;
    }
}

static void make_pods(const struct job_view *v, struct plan *plan)
{
    size_t first = v->rules->led ? 1 : 0, pods = most_at_once(v);

    make_names(v, plan);
    if (v->rules->prepare && job_makes_pods(v)) {
        v->rules->prepare(v, plan);
        plan_next_stage(plan);
    }
    job_group_make(v, plan);
    for (size_t i = first; i < v->len && pods; i++)
        pods -= make_pod(v, &v->replicas[i], plan);
    if (first == 0 || v->len == 0 || !pods || !master_may_follow(v))
        return;
    plan_next_stage(plan);
    (void)make_pod(v, v->replicas, plan);
}

static void keep_going(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->len; i++)
        if (v->replicas[i].pod)
            retire_pod(v, &v->replicas[i], plan);
    delete_surplus(v, plan);
    if (may_create(v))
        make_pods(v, plan);
}

/* Only the lease: whether we or another job got it is known once the cache has it. */
static void lease_port(const struct job_view *v, struct plan *plan)
{
    if (v->port.held || v->len == 0)
        return;
    if (v->port.port && !waits_refused(v))
        plan_create(
            plan, &kind_lease,
            port_lease_new(v->arena, v->snapshot->lease_ns, v->port.port, v->ns, v->name, v->uid));
    plan_wake_at(plan, v->now_ms + LOOK_AGAIN_MS);
}

/* The pause superseded all existing pods. A pod that is not superseded comes from a resume not yet
 * in our cache. */
static void stop_all(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->len; i++)
        if (replica_is_superseded(v, &v->replicas[i]))
            delete_pod(v->replicas[i].pod, plan);
    delete_surplus(v, plan);
}

/* After the status write: ends it does not mention by then do not count. */
void job_release(const struct job_view *v, struct plan *plan)
{
    for (size_t i = 0; i < v->snapshot->pods_len; i++) {
        const struct json *pod = v->snapshot->pods[i];

        if (object_is_controlled_by(pod, v->uid) && pod_is_held(pod) &&
            !(v->undecided && pod_state_of(pod, NULL).phase == POD_FAILED))
            plan_release(plan, pod);
    }
}

void job_act(const struct job_view *v, struct plan *plan)
{
    if (v->commits || v->ending != ENDING_NONE)
        return;
    job_release(v, plan);
    job_group_keep(v, plan);
    if (v->phase == JOB_PAUSED) {
        stop_all(v, plan);
        return;
    }
    if (waits_refused(v))
        plan_wake_at(plan, v->snapshot->refused_until_ms);
    if (v->rules->rendezvous)
        lease_port(v, plan);
    keep_going(v, plan);
    if (v->clash)
        plan_wake_at(plan, v->now_ms + LOOK_AGAIN_MS);
}
