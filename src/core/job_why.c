/*
 * job_why.c - one sentence with numbers: why the job is not running, or why it failed.
 *
 * Sentences contain nothing that changes with time alone (no "in 3 s"): each new text is an API
 * write, and a waiting job must not write.
 */
#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "core/job.h"
#include "core/job_run.h"
#include "core/job_status.h"
#include "core/schedule.h"

#define SCHEDULER_SILENT "SchedulerSilent"
/* Within this time an existing scheduler has placed a pod or said why not. */
#define SCHEDULER_SILENCE_MS (10 * INT64_C(1000))

static const char *const ending_reasons[] = {
    [ENDING_NONE] = "",
    [ENDING_SUCCEEDED] = "Succeeded",
    [ENDING_FAILED] = "MasterFailed",
    [ENDING_BUDGET] = "BackoffLimitExceeded",
    [ENDING_DEADLINE] = "DeadlineExceeded",
};

const char *job_ending_reason(enum job_ending ending)
{
    return ending_reasons[ending];
}

/* How it ended, from its pod or, once that is gone, from the status. */
static struct pod_state end_of(const struct replica *r)
{
    struct pod_state s = {.phase = POD_FAILED, .exit_code = -1, .reason = "", .message = ""};

    if (r->pod && pod_is_finished(r->pod))
        return r->state;
    json_each (c, json_get(r->recorded, "containers"))
        if (json_get_int(c, "exitCode", 0) != 0)
            s.exit_code = (int)json_get_int(c, "exitCode", 0);
    return s;
}

static const char *failure_of(const struct job_view *v, const struct replica *r)
{
    struct pod_state s = end_of(r);

    if (s.phase == POD_SUCCEEDED)
        return arena_printf(v->arena, "%s ended with exit code 0 while %s still needed it", r->name,
                            v->replicas[0].name);
    return pod_failure_text(v->arena, r->name, &s);
}

/* Which of two failed replicas is closer to the cause: one that did not lose a peer, else the
 * earlier. */
static bool goes_before(const struct replica *a, const struct replica *b)
{
    if (a->state.lost_peer != b->state.lost_peer)
        return b->state.lost_peer;
    return a->state.finished_ms > 0 && a->state.finished_ms < b->state.finished_ms;
}

/* The replica that made this one fail, or NULL. */
static const struct replica *cause_of(const struct job_view *v, const struct replica *r)
{
    const struct replica *cause = r;

    for (size_t i = 0; i < v->len && r->pod && r->state.lost_peer; i++) {
        const struct replica *other = &v->replicas[i];

        if (other->pod && other->state.phase == POD_FAILED && !other->state.lost &&
            goes_before(other, cause))
            cause = other;
    }
    return cause;
}

static const char *failure_with_cause(const struct job_view *v, const struct replica *r)
{
    const struct replica *cause = cause_of(v, r);

    if (cause == r)
        return failure_of(v, r);
    return arena_printf(v->arena, "%s, and with it %s", failure_of(v, cause), r->name);
}

const char *job_ending_text(const struct job_view *v, enum job_ending ending)
{
    const struct replica *r = v->culprit;
    struct arena *a = v->arena;

    switch (ending) {
    case ENDING_SUCCEEDED:
        return "The job has finished successfully.";
    case ENDING_FAILED:
        return arena_printf(a, "%s %s has failed: %s; restartPolicy %s does not restart it",
                            v->kind->name, v->name, failure_with_cause(v, r),
                            restart_policy_name(r->role->policy));
    case ENDING_BUDGET:
        return v->backoff_limit == 0
                   ? arena_printf(a, "%s %s has failed: %s; no restart is allowed (backoffLimit 0)",
                                  v->kind->name, v->name, failure_with_cause(v, r))
                   : arena_printf(a,
                                  "%s %s has failed: %s; the restart budget is spent (%" PRId64
                                  " of %" PRId64 ")",
                                  v->kind->name, v->name, failure_with_cause(v, r),
                                  v->backoff_count, v->backoff_limit);
    case ENDING_DEADLINE:
        return arena_printf(
            a, "%s %s has failed: it ran longer than activeDeadlineSeconds (%" PRId64 " s)",
            v->kind->name, v->name,
            json_int(json_at(v->spec, "runPolicy", "activeDeadlineSeconds"), 0));
    case ENDING_NONE:
        break;
    }
    return "";
}

static void because(struct job_view *v, const char *reason, const char *message)
{
    v->why_reason = reason;
    v->why_message = message ? message : "";
}

static const struct replica *first_failed(const struct job_view *v)
{
    size_t i = 0;

    while (v->replicas[i].phase != REPLICA_FAILED)
        i++;
    return &v->replicas[i];
}

const char *job_failure_text(const struct job_view *v)
{
    int64_t others = v->counts[REPLICA_FAILED] - 1;

    if (others == 0)
        return failure_of(v, first_failed(v));
    return arena_printf(v->arena, "%s; %" PRId64 " more failed",
                        failure_of(v, cause_of(v, first_failed(v))), others);
}

struct json *job_failure_data(const struct job_view *v)
{
    const struct replica *r = v->why_replica;
    const struct replica *cause = r ? cause_of(v, r) : NULL;
    struct arena *a = v->arena;
    struct pod_state s;
    struct json *data;

    if (!r)
        return NULL;
    s = end_of(cause);
    data = pod_failure_data(a, cause->name, &s);
    if (cause != r)
        json_set_string(a, data, "follower", r->name);
    if (v->counts[REPLICA_FAILED] > 1)
        json_set_int(a, data, "others", v->counts[REPLICA_FAILED] - 1);
    json_set_string(a, data, "restartPolicy", restart_policy_name(r->role->policy));
    json_set_int(a, data, "restartLimit", v->backoff_limit);
    if (v->ending == ENDING_NONE && r->restart_delay_s > 0)
        json_set_int(a, data, "restartSeconds", r->restart_delay_s);
    return data;
}

static bool explain_obstacle(struct job_view *v)
{
    struct arena *a = v->arena;

    if (v->len == 0) {
        because(v, "NoReplicas", "the job has no replicas: every entry of replicaSpecs says 0");
        return true;
    }
    if (v->clash) {
        because(v, "NameClash",
                arena_printf(a,
                             "a %s \"%s\" exists and does not belong to this job: delete it to let "
                             "the job continue",
                             v->clash->taken_by, v->clash->name));
        return true;
    }
    if (v->port.port == 0) {
        because(v, "NoPortFree",
                arena_printf(a, "waiting for a MASTER_PORT: all %d from %d on are leased to jobs",
                             PORT_COUNT, PORT_FIRST));
        return true;
    }
    return false;
}

/* `pods "NAME" is forbidden: exceeded quota: ...`: the name is arbitrary, the reason is not. */
const char *job_refusal_words(const struct job_snapshot *s)
{
    static const char *const before[] = {"\" is forbidden: ", "\" is invalid: "};
    const char *text = s->refused ? s->refusal : "";

    for (size_t i = 0; i < ELEMS(before); i++) {
        const char *found = strstr(text, before[i]);

        if (found)
            return found + strlen(before[i]);
    }
    return text;
}

/* On a cluster the Services come after the pods: without them the pods run but cannot find each
 * other. */
static bool lacks_names(const struct job_view *v)
{
    for (size_t i = 0; i < v->len && v->rules->rendezvous; i++)
        if (v->replicas[i].pod && !v->replicas[i].service)
            return true;
    return false;
}

static bool explain_refusal(struct job_view *v)
{
    const struct job_snapshot *s = v->snapshot;
    const char *words = job_refusal_words(s);

    if (!s->refused ||
        (v->counts[REPLICA_CREATING] == 0 && !(s->refused == &kind_service && lacks_names(v))))
        return false;
    because(
        v, JOB_REFUSED,
        s->refused == &kind_pod
            ? arena_printf(v->arena, "%" PRId64 " of %zu pods are refused: %s",
                           v->counts[REPLICA_CREATING], v->len, words)
            : arena_printf(v->arena, "a %s of the job is refused: %s", s->refused->name, words));
    return true;
}

bool job_said_refused(const struct job_view *v)
{
    return json_string_is(json_get(v->status, "reason"), JOB_REFUSED);
}

/* Refused by an earlier controller, or before the API accepted one: valid until all have been
 * retried. */
static bool explain_former_refusal(struct job_view *v)
{
    if (v->counts[REPLICA_CREATING] == 0 || !job_said_refused(v) ||
        (v->port.held && !job_makes_pods(v)))
        return false;
    because(v, JOB_REFUSED, json_get_string(v->status, "message", ""));
    return true;
}

static bool explain_silence(struct job_view *v)
{
    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];
        const char *scheduler = r->phase == REPLICA_PENDING ? pod_foreign_scheduler(r->pod) : NULL;
        int64_t silent_ms;

        if (!scheduler || pod_is_placed(r->pod) || object_condition(r->pod, "PodScheduled"))
            continue;
        silent_ms = object_created_ms(r->pod) + SCHEDULER_SILENCE_MS;
        if (v->now_ms < silent_ms) {
            v->look_again_ms = silent_ms;
            return false;
        }
        because(v, SCHEDULER_SILENT,
                arena_printf(v->arena,
                             "%s is waiting for the scheduler \"%s\", which has not responded: "
                             "does it exist? Without schedulerName the default scheduler places it",
                             r->name, scheduler));
        return true;
    }
    return false;
}

static bool explain_restart(struct job_view *v)
{
    const char *when = "at once";
    struct arena *a = v->arena;

    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        if (r->phase != REPLICA_FAILED || !replica_is_superseded(v, r))
            continue;
        if (r->restart_delay_s > 0)
            when = arena_printf(a, "after %" PRId64 " s", r->restart_delay_s);
        v->why_replica = r;
        because(v, "Restarting",
                arena_printf(a, "%s; restart %" PRId64 " of %" PRId64 " follows %s",
                             failure_with_cause(v, r), v->backoff_count, v->backoff_limit, when));
        return true;
    }
    return false;
}

static bool explain_unknown(struct job_view *v)
{
    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        if (r->phase != REPLICA_UNKNOWN)
            continue;
        because(v, "NodeLost",
                arena_printf(
                    v->arena,
                    r->state.lost
                        ? "%s was lost with its node: it is replaced without using up a restart"
                        : "the state of %s is unknown: its node does not answer",
                    r->name));
        return true;
    }
    return false;
}

/* A pod says Unschedulable, as Kubernetes' tools expect; its group says why, and a little earlier.
 */
static void explain_queueing(struct job_view *v, const char *message)
{
    const struct json *status = json_get(v->snapshot->group, "status");
    const char *reason = json_get_string(status, "reason", "");

    if (*reason)
        message = json_get_string(status, "message", message);
    because(v, *reason ? reason : "Unschedulable", message);
}

static bool explain_waiting(struct job_view *v)
{
    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];
        const char *reason, *message;

        if (r->phase != REPLICA_PENDING)
            continue;
        pod_waiting_for(r->pod, &reason, &message);
        if (!reason[0])
            continue;
        if (strcmp(reason, "Unschedulable") == 0)
            explain_queueing(v, message);
        else
            because(v, reason, arena_printf(v->arena, "%s is waiting: %s", r->name, message));
        return true;
    }
    return false;
}

const char *job_preempted_text(const struct job_view *v)
{
    const struct json *taken = object_condition(v->snapshot->group, CONDITION_PREEMPTED);

    return json_get_string(taken, "message", "");
}

/* Its pods may still be terminating. */
static bool explain_preempted(struct job_view *v)
{
    const char *message = job_preempted_text(v);
    size_t stopping = 0;

    if (!*message)
        return false;
    if (json_at(v->snapshot->group, "status", "place")) { /* in line again, without pods */
        explain_queueing(v, message);
        return true;
    }
    for (size_t i = 0; i < v->len; i++) {
        const struct replica *r = &v->replicas[i];

        stopping += r->pod && (r->state.phase == POD_RUNNING ||
                               (r->state.phase == POD_PENDING && pod_is_placed(r->pod)));
    }
    because(v, CONDITION_PREEMPTED,
            stopping ? arena_printf(v->arena, "%s; %zu of %zu pods are still stopping", message,
                                    stopping, v->len)
                     : message);
    return true;
}

/* A leading master starts when all others are ready. */
static bool explain_unready(struct job_view *v)
{
    const struct replica *first = NULL;
    size_t unready = 0;

    for (size_t i = 1; i < v->len && v->rules->led; i++) {
        const struct replica *r = &v->replicas[i];
        const struct json *ready = r->pod ? object_condition(r->pod, "Ready") : NULL;

        if (r->phase != REPLICA_RUNNING || !json_string_is(json_get(ready, "status"), "False"))
            continue;
        first = first ? first : r;
        unready++;
    }
    if (!first)
        return false;
    because(v, "NotReady",
            arena_printf(v->arena, "%zu of %zu workers run and are not ready, %s is the first",
                         unready, v->len - 1, first->name));
    return true;
}

static bool explain_failure(struct job_view *v)
{
    if (v->counts[REPLICA_FAILED] == 0)
        return false;
    v->why_replica = first_failed(v);
    because(v, "ReplicaFailed", job_failure_text(v));
    return true;
}

static void explain_pause(struct job_view *v)
{
    const struct json *overdue = object_condition(v->snapshot->group, MAX_DURATION_EXCEEDED);
    const char *message = json_get_string(overdue, "message", "");
    const char *turn = object_annotation(v->snapshot->job, ANNOTATION_SWEEP_TURN);

    if (*message)
        because(v, MAX_DURATION_EXCEEDED,
                arena_printf(v->arena,
                             "the job is paused: %s; runMode.pause.enabled: false resumes it",
                             message));
    else if (turn && object_label(v->snapshot->job, LABEL_SWEEP))
        because(v, "Paused",
                arena_printf(v->arena,
                             "waits for its turn in sweep \"%s\", which runs at most %s at once",
                             object_label(v->snapshot->job, LABEL_SWEEP), turn));
    else
        because(v, "Paused", "the job is paused: runMode.pause.enabled is true");
}

void job_explain(struct job_view *v)
{
    int64_t well = v->counts[REPLICA_RUNNING] + v->counts[REPLICA_SUCCEEDED];

    if (v->ending != ENDING_NONE) {
        v->why_replica = v->ending == ENDING_FAILED || v->ending == ENDING_BUDGET ? v->culprit
                                                                                  : NULL;
        because(v,
                v->ending == ENDING_FAILED && v->culprit != v->replicas
                    ? "ReplicaFailed"
                    : job_ending_reason(v->ending),
                v->ending_text);
        return;
    }
    if (v->phase == JOB_PAUSED) {
        explain_pause(v);
        return;
    }
    if (explain_obstacle(v) || explain_refusal(v) || explain_former_refusal(v) ||
        explain_silence(v) || explain_restart(v) || explain_unknown(v) || explain_waiting(v) ||
        explain_preempted(v) || explain_unready(v) || explain_failure(v))
        return;
    if (well < (int64_t)v->len || v->counts[REPLICA_RUNNING] == 0)
        because(v, "Starting",
                arena_printf(v->arena, "%" PRId64 " of %zu pods are running",
                             v->counts[REPLICA_RUNNING], v->len));
}
