/*
 * batch_job.c - Kubernetes' Job: a number of pods run to completion. Pure. Fields, conditions and
 * messages are those of batch/v1.
 *
 * Every pod has a finalizer, so none vanishes uncounted. An end is counted in three writes: its UID
 * is added to status.uncountedTerminatedPods, the finalizer is removed, and the UID becomes one
 * more in status.succeeded or .failed. A crash between any two counts nothing twice. Pods that we
 * stop (suspended, surplus, the Job is over) lose the finalizer first and do not count. Names are
 * derived from what exists, so that deciding twice on stale caches creates one pod.
 */
#include "core/batch_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/index_set.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "core/child.h"
#include "core/pod_failure.h"
#include "core/pod_group.h"
#include "core/pod_state.h"
#include "core/replica_names.h"
#include "core/schedule.h"

#define COMPLETE "Complete"
#define FAILED "Failed"
#define SUCCESS_MET "SuccessCriteriaMet"
#define FAILURE_TARGET "FailureTarget"
#define SUSPENDED "Suspended"
#define CONTROLLER "kubernetes.io/job-controller"
#define KEY_INDEX "batch.kubernetes.io/job-completion-index"
#define KEY_FAILURES "batch.kubernetes.io/job-index-failure-count"

#define PODS_AT_ONCE 500
#define FIRST_DELAY_MS (10 * INT64_C(1000))
#define LONGEST_DELAY_MS (600 * INT64_C(1000))
#define NAME_LIMIT 63
#define NO_LIMIT INT64_C(2147483647)

struct job_pod {
    const struct json *pod;
    struct pod_state state;
    int64_t index, failures;
    bool tracked;
    bool ended;   /* finished, or nothing more will be reported about it */
    bool settled; /* accounted for in the status being written, or not counted at all */
    bool extra;   /* surplus */
};

struct look {
    const struct job_snapshot *snapshot;
    struct arena *arena;
    const struct json *job, *spec, *status;
    int64_t now_ms;
    bool indexed, suspended;
    int64_t parallelism, completions; /* completions -1: one success suffices */
    int64_t per_index;                /* backoffLimitPerIndex, or -1 */

    struct job_pod *pods; /* the Job's */
    size_t len;
    int64_t active, ready, terminating;
    int64_t succeeded, failed;               /* all that ended */
    int64_t old_succeeded, old_failed;       /* of those: finalizers already removed */
    struct json *new_succeeded, *new_failed; /* of those: not yet removed, by UID */
    struct index_set done, given_up;
    int64_t start_ms;
    const char *end_type, *end_reason, *end_message; /* end_type NULL: it continues */
    bool final;                                      /* and nothing of it runs any more */
};

bool batch_job_is_complete(const struct json *job)
{
    return object_condition_is(job, COMPLETE);
}

bool batch_job_has_failed(const struct json *job)
{
    return object_condition_is(job, FAILED);
}

bool batch_job_is_gang(const struct json *job)
{
    const char *said = object_annotation(job, ANNOTATION_GANG);

    return said && strcmp(said, "true") == 0;
}

/* --- what exists ------------------------------------------------------------------------------ */

static int64_t annotation_int(const struct json *object, const char *key, int64_t otherwise)
{
    const char *text = object_annotation(object, key);

    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void take_pod(struct look *l, const struct json *pod)
{
    struct job_pod *p = &l->pods[l->len++];
    bool ready = object_condition_is(pod, "Ready");

    p->pod = pod;
    p->state = pod_state_of(pod, NULL);
    p->index = l->indexed ? annotation_int(pod, KEY_INDEX, -1) : -1;
    p->failures = annotation_int(pod, KEY_FAILURES, 0);
    p->tracked = json_has(json_at(pod, "metadata", "finalizers"), FINALIZER_BATCH);
    p->ended = pod_is_finished(pod) || p->state.over;
    if (p->ended)
        return;
    if (p->state.deleting || !p->tracked)
        l->terminating++;
    else
        l->active++;
    l->ready += ready && !p->state.deleting && p->tracked;
}

static void look_init(struct look *l, const struct job_snapshot *s, struct arena *a)
{
    const struct json *spec = json_get(s->job, "spec"), *status = json_get(s->job, "status");

    *l = (struct look){.snapshot = s,
                       .arena = a,
                       .job = s->job,
                       .spec = spec,
                       .status = status,
                       .now_ms = s->now_ms,
                       .indexed = json_string_is(json_get(spec, "completionMode"), "Indexed"),
                       .suspended = json_get_bool(spec, "suspend", false),
                       .parallelism = json_get_int(spec, "parallelism", 1),
                       .completions = json_get_int(spec, "completions", -1),
                       .per_index = json_get_int(spec, "backoffLimitPerIndex", -1),
                       .old_succeeded = json_get_int(status, "succeeded", 0),
                       .old_failed = json_get_int(status, "failed", 0),
                       .start_ms = object_time(status, "startTime"),
                       .new_succeeded = json_new_array(a),
                       .new_failed = json_new_array(a)};
    if (l->indexed) {
        l->done = index_set_of(a, json_get_string(status, "completedIndexes", ""), l->completions);
        l->given_up = index_set_of(a, json_get_string(status, "failedIndexes", ""), l->completions);
    }
    l->pods = arena_alloc(a, (s->pods_len + 1) * sizeof(*l->pods));
    for (size_t i = 0; l->pods && i < s->pods_len; i++)
        if (object_is_controlled_by(s->pods[i], object_uid(s->job)))
            take_pod(l, s->pods[i]);
}

static const struct job_pod *find_pod(const struct look *l, const char *uid)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(object_uid(l->pods[i].pod), uid) == 0)
            return &l->pods[i];
    return NULL;
}

/* --- judging ---------------------------------------------------------------------------------- */

static void end_with(struct look *l, const char *type, const char *reason, const char *message)
{
    if (l->end_type)
        return;
    l->end_type = type;
    l->end_reason = reason;
    l->end_message = message;
}

static const struct json *uncounted(const struct look *l, const char *which)
{
    return json_at(l->status, "uncountedTerminatedPods", which);
}

/* UIDs whose pods no longer have finalizers become numbers. */
static void count_old(const struct look *l, const char *which, struct json *left, int64_t *counted)
{
    json_each (uid, uncounted(l, which)) {
        const struct job_pod *p = find_pod(l, json_string(uid, ""));

        if (p && p->tracked)
            json_append_string(l->arena, left, json_string(uid, ""));
        else
            ++*counted;
    }
}

static void count_success(struct look *l, struct job_pod *p)
{
    const char *uid = object_uid(p->pod);

    p->settled = true;
    if (l->indexed)
        index_set_add(&l->done, p->index);
    else if (!json_has(l->new_succeeded, uid))
        json_append_string(l->arena, l->new_succeeded, uid);
}

static void count_failure(struct look *l, struct job_pod *p)
{
    const char *uid = object_uid(p->pod), *why = "";
    enum failure_action action = FAILURE_COUNT;

    p->settled = true;
    if (json_has(l->new_failed, uid))
        return;
    if (p->state.phase == POD_FAILED)
        action = pod_failure_action(l->arena, json_get(l->spec, "podFailurePolicy"), p->pod, &why);
    if (action == FAILURE_IGNORE)
        return;
    if (action == FAILURE_FAIL_JOB)
        end_with(l, FAILURE_TARGET, "PodFailurePolicy", why);
    if (action == FAILURE_FAIL_INDEX || (l->per_index >= 0 && p->failures >= l->per_index))
        index_set_add(&l->given_up, p->index);
    json_append_string(l->arena, l->new_failed, uid);
}

static void count_ends(struct look *l)
{
    count_old(l, "succeeded", l->new_succeeded, &l->old_succeeded);
    count_old(l, "failed", l->new_failed, &l->old_failed);
    for (size_t i = 0; i < l->len; i++) {
        struct job_pod *p = &l->pods[i];

        if (p->tracked && p->ended)
            (p->state.phase == POD_SUCCEEDED ? count_success : count_failure)(l, p);
    }
    l->succeeded = l->indexed ? l->done.count
                              : l->old_succeeded + (int64_t)json_len(l->new_succeeded);
    l->failed = l->old_failed + (int64_t)json_len(l->new_failed);
}

/* Restarts by the pods themselves count as failures too. */
static int64_t restarts_within(const struct look *l)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    int64_t n = 0;

    if (!json_string_is(json_at(l->spec, "template", "spec", "restartPolicy"), "OnFailure"))
        return 0;
    for (size_t i = 0; i < l->len; i++)
        for (size_t k = 0; k < ELEMS(lists) && !l->pods[i].ended; k++)
            json_each (c, json_at(l->pods[i].pod, "status", lists[k]))
                n += json_get_int(c, "restartCount", 0);
    return n;
}

static bool has_spent_budget(const struct look *l)
{
    int64_t limit = json_get_int(l->spec, "backoffLimit", l->per_index >= 0 ? NO_LIMIT : 6);
    int64_t restarts = restarts_within(l);

    return l->failed > limit || (restarts > 0 && restarts >= limit);
}

static int64_t deadline_ms(const struct look *l)
{
    const struct json *limit = json_get(l->spec, "activeDeadlineSeconds");

    return json_is(limit, JSON_INT) && l->start_ms && !l->suspended
               ? l->start_ms + json_int(limit, 0) * 1000
               : 0;
}

static bool rule_is_met(const struct look *l, const struct json *rule)
{
    const struct json *count = json_get(rule, "succeededCount");
    const char *text = json_get_string(rule, "succeededIndexes", NULL);
    struct index_set named;
    int64_t met = 0;

    if (!text)
        return l->done.count >= json_int(count, NO_LIMIT);
    named = index_set_of(l->arena, text, l->completions);
    for (int64_t i = 0; i < named.size; i++)
        met += index_set_has(&named, i) && index_set_has(&l->done, i);
    return met >= json_int(count, named.count);
}

static void judge_indexes(struct look *l)
{
    size_t n = 0;

    if (l->given_up.count > json_get_int(l->spec, "maxFailedIndexes", NO_LIMIT))
        end_with(l, FAILURE_TARGET, "MaxFailedIndexesExceeded",
                 "Job has exceeded the specified maximal number of failed indexes");
    json_each (rule, json_at(l->spec, "successPolicy", "rules")) {
        if (rule_is_met(l, rule))
            end_with(l, SUCCESS_MET, "SuccessPolicy",
                     arena_printf(l->arena, "Matched rules at index %zu", n));
        n++;
    }
    if (l->given_up.count > 0 && l->done.count + l->given_up.count >= l->completions)
        end_with(l, FAILURE_TARGET, "FailedIndexes", "Job has failed indexes");
}

static void judge(struct look *l, struct plan *plan)
{
    static const char *const ends[] = {FAILURE_TARGET, SUCCESS_MET};
    int64_t deadline = deadline_ms(l);

    for (size_t i = 0; i < ELEMS(ends); i++) {
        const struct json *c = object_condition(l->job, ends[i]);

        if (json_string_is(json_get(c, "status"), "True"))
            end_with(l, ends[i], json_get_string(c, "reason", ""),
                     json_get_string(c, "message", ""));
    }
    count_ends(l);
    if (has_spent_budget(l))
        end_with(l, FAILURE_TARGET, "BackoffLimitExceeded",
                 "Job has reached the specified backoff limit");
    if (deadline && l->now_ms >= deadline)
        end_with(l, FAILURE_TARGET, "DeadlineExceeded",
                 "Job was active longer than specified deadline");
    if (l->indexed)
        judge_indexes(l);
    if (l->completions >= 0 ? l->succeeded >= l->completions
                            : l->succeeded > 0 && l->active == 0 && l->terminating == 0)
        end_with(l, SUCCESS_MET, "CompletionsReached", "Reached expected number of succeeded pods");
    plan_wake_at(plan, l->end_type ? 0 : deadline);
    l->final = l->end_type && l->active == 0 && l->terminating == 0;
    if (l->suspended && !l->end_type)
        l->start_ms = 0;
    else if (l->start_ms == 0)
        l->start_ms = l->now_ms;
}

/* --- status ----------------------------------------------------------------------------------- */

static void set_condition(const struct look *l, struct json *list, const char *type, bool is,
                          const char *reason, const char *message)
{
    const struct json *old = json_find(list, "type", type);
    struct arena *a = l->arena;
    char now[TIME_TEXT_SIZE];
    struct json *c;

    if (json_string_is(json_get(old, "status"), is ? "True" : "False"))
        return;
    if (old)
        json_remove_item(list, old);
    c = json_append(list, json_new_object(a));
    json_set_string(a, c, "type", type);
    json_set_string(a, c, "status", is ? "True" : "False");
    json_set_string(a, c, "lastProbeTime", time_format(l->now_ms, now));
    json_set_string(a, c, "lastTransitionTime", now);
    json_set_string(a, c, "reason", reason);
    json_set_string(a, c, "message", message);
}

/* The PodGroup tells why its queue stopped it, perhaps later than spec.suspend does. */
static void set_suspended(const struct look *l, struct json *list)
{
    const struct json *overdue = object_condition(l->snapshot->group, MAX_DURATION_EXCEEDED);
    const struct json *old = json_find(list, "type", SUSPENDED);
    const char *reason = overdue ? MAX_DURATION_EXCEEDED : "JobSuspended";

    if (overdue && object_condition_is(l->job, SUSPENDED) &&
        !json_string_is(json_get(old, "reason"), reason))
        json_remove_item(list, old);
    set_condition(l, list, SUSPENDED, true, reason,
                  overdue ? arena_printf(l->arena, "Job suspended: %s",
                                         json_get_string(overdue, "message", ""))
                          : "Job suspended");
}

static void set_conditions(const struct look *l, struct json *status)
{
    struct json *list = json_make_array(l->arena, status, "conditions");
    bool was_suspended = object_condition_is(l->job, SUSPENDED);
    bool well = l->end_type && strcmp(l->end_type, SUCCESS_MET) == 0;

    if (l->end_type)
        set_condition(l, list, l->end_type, true, l->end_reason, l->end_message);
    else if (l->suspended)
        set_suspended(l, list);
    else if (was_suspended)
        set_condition(l, list, SUSPENDED, false, "JobResumed", "Job resumed");
    if (l->final)
        set_condition(l, list, well ? COMPLETE : FAILED, true, l->end_reason, l->end_message);
    if (json_len(list) == 0)
        json_remove(status, "conditions");
}

static void set_count(const struct look *l, struct json *status, const char *key, int64_t n)
{
    if (n > 0)
        json_set_int(l->arena, status, key, n);
    else
        json_remove(status, key);
}

static void set_text(const struct look *l, struct json *status, const char *key, const char *text)
{
    if (text && *text)
        json_set_string(l->arena, status, key, text);
    else
        json_remove(status, key);
}

static void set_uncounted(const struct look *l, struct json *status)
{
    struct json *both = json_set(l->arena, status, "uncountedTerminatedPods",
                                 json_new_object(l->arena));

    if (l->final)
        return; /* nothing is counted any more */
    if (json_len(l->new_succeeded))
        json_set(l->arena, both, "succeeded", l->new_succeeded);
    if (json_len(l->new_failed))
        json_set(l->arena, both, "failed", l->new_failed);
}

static struct json *status_new(const struct look *l)
{
    struct arena *a = l->arena;
    struct json *status = l->status ? json_clone(a, l->status) : json_new_object(a);
    char time[TIME_TEXT_SIZE];

    set_count(l, status, "active", l->active);
    json_set_int(a, status, "ready", l->ready);
    json_set_int(a, status, "terminating", l->terminating);
    set_count(l, status, "succeeded", l->final || l->indexed ? l->succeeded : l->old_succeeded);
    set_count(l, status, "failed", l->final ? l->failed : l->old_failed);
    set_uncounted(l, status);
    if (l->indexed)
        set_text(l, status, "completedIndexes", index_set_text(a, &l->done));
    if (l->per_index >= 0)
        set_text(l, status, "failedIndexes", index_set_text(a, &l->given_up));
    set_text(l, status, "startTime", l->start_ms ? time_format(l->start_ms, time) : "");
    if (l->final && strcmp(l->end_type, SUCCESS_MET) == 0)
        json_set_string(a, status, "completionTime", time_format(l->now_ms, time));
    set_conditions(l, status);
    return status;
}

static void say_changes(const struct look *l, struct plan *plan)
{
    bool was_suspended = object_condition_is(l->job, SUSPENDED);

    if (l->final && strcmp(l->end_type, SUCCESS_MET) == 0)
        plan_event(plan, &kind_job, l->job, "Normal", "Completed", "Job completed");
    else if (l->final)
        plan_event(plan, &kind_job, l->job, "Warning", l->end_reason, "%s", l->end_message);
    else if (l->suspended && !was_suspended)
        plan_event(plan, &kind_job, l->job, "Normal", SUSPENDED, "Job suspended");
    else if (!l->suspended && was_suspended)
        plan_event(plan, &kind_job, l->job, "Normal", "Resumed", "Job resumed");
}

/* --- pods ------------------------------------------------------------------------------------- */

static void set_index_variable(struct arena *a, struct json *containers)
{
    for (struct json *c = json_first_mut(containers); c; c = c->next) {
        struct json *env = json_make_array(a, c, "env"), *variable, *ref;

        if (json_find(env, "name", "JOB_COMPLETION_INDEX"))
            continue;
        variable = json_append(env, json_new_object(a));
        json_set_string(a, variable, "name", "JOB_COMPLETION_INDEX");
        ref = json_make_object(a, json_make_object(a, variable, "valueFrom"), "fieldRef");
        json_set_string(a, ref, "apiVersion", "v1");
        json_set_string(a, ref, "fieldPath", "metadata.annotations['" KEY_INDEX "']");
    }
}

static void set_index(const struct look *l, struct json *pod, int64_t index, int64_t failures)
{
    struct arena *a = l->arena;
    struct json *metadata = json_get_mut(pod, "metadata"), *spec = json_get_mut(pod, "spec");

    json_set_stringf(a, json_make_object(a, metadata, "labels"), KEY_INDEX, "%" PRId64, index);
    json_set_stringf(a, json_make_object(a, metadata, "annotations"), KEY_INDEX, "%" PRId64, index);
    if (l->per_index >= 0)
        json_set_stringf(a, json_get_mut(metadata, "annotations"), KEY_FAILURES, "%" PRId64,
                         failures);
    if (!*json_get_string(spec, "hostname", ""))
        json_set_stringf(a, spec, "hostname", "%.40s-%" PRId64, object_name(l->job), index);
    set_index_variable(a, json_get_mut(spec, "containers"));
    set_index_variable(a, json_get_mut(spec, "initContainers"));
}

static struct json *pod_new(const struct look *l, const char *name, int64_t index, int64_t failures)
{
    const struct json *template = json_get(l->spec, "template");
    const struct json *folder = json_at(l->job, "metadata", "annotations", ANNOTATION_FOLDER);
    struct arena *a = l->arena;
    struct json *pod = child_new(a, &kind_pod, name, &kind_job, l->job);
    struct json *metadata = json_get_mut(pod, "metadata");

    json_set(a, metadata, "labels", json_clone(a, json_at(template, "metadata", "labels")));
    json_set(a, metadata, "annotations",
             json_clone(a, json_at(template, "metadata", "annotations")));
    json_append_string(a, json_make_array(a, metadata, "finalizers"), FINALIZER_BATCH);
    if (folder)
        json_set(a, json_make_object(a, metadata, "annotations"), ANNOTATION_FOLDER,
                 json_clone(a, folder));
    if (batch_job_is_gang(l->job))
        json_set_string(a, json_make_object(a, metadata, "labels"), LABEL_GROUP_NAME,
                        job_child_name(a, l->job));
    json_set(a, pod, "spec", json_clone(a, json_get(template, "spec")));
    if (index >= 0)
        set_index(l, pod, index, failures);
    return pod;
}

static bool is_named(const struct look *l, const char *name)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(object_name(l->pods[i].pod), name) == 0)
            return true;
    return false;
}

/* The first unused name of the Job's series of pod names. */
static const char *name_for(const struct look *l, int64_t index, int64_t *n)
{
    const char *base = object_name(l->job), *name = NULL;
    char hash[HASH5_SIZE];

    if (index >= 0)
        base = arena_printf(l->arena, "%s-%" PRId64, base, index);
    do {
        const char *key = arena_printf(
            l->arena, "%s/%" PRId64 "/%" PRId64 "/%" PRId64, object_uid(l->job),
            json_int(json_at(l->job, "metadata", "generation"), 0), index, (*n)++);

        if (!key || !base)
            return NULL;
        replica_hash5(key, base, hash);
        name = arena_printf(l->arena, "%.*s-%s", NAME_LIMIT - HASH5_SIZE, base, hash);
    } while (name && is_named(l, name));
    return name;
}

/* --- how many, and when ----------------------------------------------------------------------- */

static int64_t ended_ms(const struct json *pod)
{
    int64_t last = 0;

    json_each (c, json_at(pod, "status", "containerStatuses"))
        last = max_i64(last, object_time(json_at(c, "state", "terminated"), "finishedAt"));
    return last;
}

/* After consecutive failures the next pod is delayed: 10 s, 20 s, 40 s ... 10 min. index -1: of any
 * index. */
static int64_t next_start_ms(const struct look *l, int64_t index)
{
    int64_t well_ms = 0, badly_ms = 0, n = 0, delay_ms = FIRST_DELAY_MS;

    for (size_t i = 0; i < l->len; i++)
        if (l->pods[i].state.phase == POD_SUCCEEDED && (index < 0 || l->pods[i].index == index))
            well_ms = max_i64(well_ms, ended_ms(l->pods[i].pod));
    for (size_t i = 0; i < l->len; i++) {
        const struct job_pod *p = &l->pods[i];

        if (p->state.phase != POD_FAILED || (index >= 0 && p->index != index) ||
            ended_ms(p->pod) <= well_ms)
            continue;
        badly_ms = max_i64(badly_ms, ended_ms(p->pod));
        if (n++ > 0)
            delay_ms = min_i64(2 * delay_ms, LONGEST_DELAY_MS);
    }
    return n > 0 ? badly_ms + delay_ms : 0;
}

/* Unless it is suspended. */
static int64_t wanted_at_once(const struct look *l)
{
    if (l->end_type)
        return 0;
    if (l->completions < 0)
        return l->succeeded > 0 ? min_i64(l->active, l->parallelism) : l->parallelism;
    return min_i64(l->parallelism, max_i64(l->completions - l->succeeded - l->given_up.count, 0));
}

static int64_t wanted(const struct look *l)
{
    return l->suspended ? 0 : wanted_at_once(l);
}

static bool waits_for_ends(const struct look *l)
{
    const char *policy = json_get_string(l->spec, "podReplacementPolicy", "");

    return strcmp(policy, "Failed") == 0 || (!*policy && json_get(l->spec, "podFailurePolicy"));
}

static bool is_active(const struct job_pod *p)
{
    return p->tracked && !p->ended && !p->state.deleting;
}

/* Pods that have not started first; of an index, the later ones. */
static void mark_extra(struct look *l)
{
    int64_t surplus = l->active - wanted(l);
    struct index_set seen = index_set_of(l->arena, "", l->indexed ? l->completions : 0);

    for (size_t i = 0; i < l->len; i++) {
        struct job_pod *p = &l->pods[i];

        if (!is_active(p))
            continue;
        p->extra = l->indexed &&
                   (p->index < 0 || p->index >= l->completions || index_set_has(&seen, p->index) ||
                    index_set_has(&l->done, p->index));
        index_set_add(&seen, p->index);
        surplus -= p->extra;
    }
    for (int begun = 0; begun < 2; begun++)
        for (size_t i = l->len; i-- > 0 && surplus > 0;) {
            struct job_pod *p = &l->pods[i];

            if (!is_active(p) || p->extra || (p->state.phase == POD_RUNNING) != (begun == 1))
                continue;
            p->extra = true;
            surplus--;
        }
}

struct making {
    int64_t count, n, wake_ms;
    const char *names[PODS_AT_ONCE];
    int64_t indexes[PODS_AT_ONCE], failures[PODS_AT_ONCE];
};

static bool is_held_for(const struct look *l, const struct job_pod *p)
{
    return p->index >= 0 && (is_active(p) || (!p->ended && waits_for_ends(l)));
}

static void add_index(struct look *l, struct making *m, int64_t index)
{
    int64_t due_ms = l->per_index >= 0 ? next_start_ms(l, index) : 0, failures = 0;

    for (size_t i = 0; i < l->len; i++) {
        if (l->pods[i].index == index && is_held_for(l, &l->pods[i]))
            return;
        if (l->pods[i].index == index && l->pods[i].ended && l->pods[i].settled)
            failures = max_i64(failures, l->pods[i].failures +
                                             json_has(l->new_failed, object_uid(l->pods[i].pod)));
    }
    if (due_ms > l->now_ms) {
        m->wake_ms = m->wake_ms ? min_i64(m->wake_ms, due_ms) : due_ms;
        return;
    }
    m->indexes[m->count] = index;
    m->failures[m->count] = failures;
    m->n = failures;
    m->names[m->count++] = name_for(l, index, &m->n);
}

static void choose(struct look *l, struct making *m)
{
    int64_t missing = wanted(l) - l->active - (waits_for_ends(l) ? l->terminating : 0);
    int64_t due_ms = l->per_index < 0 ? next_start_ms(l, -1) : 0;
    const struct job_snapshot *s = l->snapshot;

    if (s->refused && s->refused_until_ms > l->now_ms)
        due_ms = max_i64(due_ms, s->refused_until_ms);
    missing = min_i64(missing, s->refused ? 1 : PODS_AT_ONCE);
    if (missing > 0 && due_ms > l->now_ms) {
        m->wake_ms = due_ms;
        return;
    }
    m->n = l->succeeded + l->failed + l->active;
    for (int64_t i = 0; l->indexed && i < l->completions && m->count < missing; i++)
        if (!index_set_has(&l->done, i) && !index_set_has(&l->given_up, i))
            add_index(l, m, i);
    while (!l->indexed && m->count < missing) {
        m->indexes[m->count] = -1;
        m->names[m->count++] = name_for(l, -1, &m->n);
    }
}

/* --- carrying out ----------------------------------------------------------------------------- */

static struct group_wish group_wish(const struct look *l)
{
    int64_t members = l->final ? 0 : wanted(l);

    return (struct group_wish){.arena = l->arena,
                               .kind = &kind_job,
                               .job = l->job,
                               .group = l->snapshot->group,
                               .least = max_i64(l->final ? 0 : wanted_at_once(l), 1),
                               .members = members,
                               .deadline = json_get(l->spec, "activeDeadlineSeconds"),
                               .start_ms = l->start_ms};
}

/* An index's failures are recorded on its last pod, which stays until the next one has them. */
static bool is_remembered_by(const struct look *l, const struct job_pod *p)
{
    if (l->per_index < 0 || p->state.phase != POD_FAILED || index_set_has(&l->done, p->index) ||
        index_set_has(&l->given_up, p->index))
        return false;
    for (size_t i = 0; i < l->len; i++)
        if (l->pods[i].index == p->index && l->pods[i].failures > p->failures)
            return false;
    return true;
}

static void release_pods(const struct look *l, struct plan *plan)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct job_pod *p = &l->pods[i];
        bool over = p->settled && (l->final || !is_remembered_by(l, p));

        if (p->tracked && (over || p->extra))
            plan_release(plan, p->pod);
    }
}

static void delete_pods(const struct look *l, struct plan *plan)
{
    for (size_t i = 0; i < l->len; i++) {
        const struct job_pod *p = &l->pods[i];

        if (p->ended || p->state.deleting || (p->tracked && !p->extra))
            continue;
        plan_delete(plan, &kind_pod, p->pod, -1);
        plan_event(plan, &kind_job, l->job, "Normal", "SuccessfulDelete", "Deleted pod: %s",
                   object_name(p->pod));
    }
}

static void make_pods(const struct look *l, const struct making *m, struct plan *plan)
{
    const struct group_wish wish = group_wish(l);

    for (int64_t i = 0; i < m->count; i++) {
        struct json *pod = pod_new(l, m->names[i], m->indexes[i], m->failures[i]);
        struct json *metadata = json_get_mut(pod, "metadata");

        if (batch_job_is_gang(l->job))
            group_note(&wish, json_make_object(l->arena, metadata, "annotations"));
        plan_create(plan, &kind_pod, pod);
    }
    plan_next_stage(plan);
    for (int64_t i = 0; i < m->count; i++)
        plan_event(plan, &kind_job, l->job, "Normal", "SuccessfulCreate", "Created pod: %s",
                   m->names[i]);
}

static void plan_status(const struct look *l, bool makes_pods, struct plan *plan)
{
    struct json *status = status_new(l), *job;

    if (!json_equal(status, l->status)) {
        job = json_clone(l->arena, l->job);
        json_set(l->arena, job, "status", status);
        plan_update_status(plan, &kind_job, job);
        plan_next_stage(plan);
        say_changes(l, plan);
    } else if (makes_pods) {
        plan_check(plan, &kind_job, l->job);
    }
    plan_next_stage(plan);
}

static void go_on(struct look *l, struct plan *plan)
{
    const struct job_snapshot *s = l->snapshot;
    const struct group_wish wish = group_wish(l);
    struct making *m = arena_alloc(l->arena, sizeof(*m));

    if (!m)
        return;
    mark_extra(l);
    choose(l, m);
    plan_wake_at(plan, m->wake_ms);
    if (batch_job_is_gang(l->job) && m->count > 0)
        group_make(&wish, plan);
    plan_status(l, m->count > 0, plan);
    if (s->refused == &kind_pod && m->count > 0)
        plan_event(plan, &kind_job, l->job, "Warning", "FailedCreate", "Error creating: %s",
                   s->refusal);
    if (batch_job_is_gang(l->job))
        group_keep(&wish, plan);
    release_pods(l, plan);
    plan_next_stage(plan);
    delete_pods(l, plan);
    make_pods(l, m, plan);
}

static void wind_up(struct look *l, struct plan *plan)
{
    const struct json *ttl = json_get(l->spec, "ttlSecondsAfterFinished");
    const struct json *end = object_condition(l->job,
                                              batch_job_is_complete(l->job) ? COMPLETE : FAILED);
    int64_t at_ms = object_time(end, "lastTransitionTime") + json_int(ttl, 0) * 1000;
    const struct group_wish wish = group_wish(l);

    for (size_t i = 0; i < l->len; i++)
        l->pods[i].settled = l->pods[i].ended;
    l->final = true;
    release_pods(l, plan);
    if (batch_job_is_gang(l->job) && l->active == 0 && l->terminating == 0)
        group_end(&wish, plan);
    if (json_is(ttl, JSON_INT) && l->now_ms >= at_ms)
        plan_delete(plan, &kind_job, l->job, -1);
    else if (json_is(ttl, JSON_INT))
        plan_wake_at(plan, at_ms);
}

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    const char *manager = json_string(json_at(s->job, "spec", "managedBy"), CONTROLLER);
    struct look l;

    if (strcmp(manager, CONTROLLER) != 0)
        return;
    look_init(&l, s, plan->arena);
    if (arena_failed(plan->arena))
        return;
    if (batch_job_is_complete(s->job) || batch_job_has_failed(s->job)) {
        wind_up(&l, plan);
        return;
    }
    judge(&l, plan);
    go_on(&l, plan);
}

const struct job_kind job_kind_batch = {
    .kind = &kind_job, .without_port = true, .reconcile = reconcile};
