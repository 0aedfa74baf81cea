/*
 * cron_job.c - Kubernetes' CronJob: creates a Job at each time of its schedule. Pure.
 *
 * A Job is named after its scheduled time, so that each time is used once however often this runs.
 * Of missed times (downtime, or suspended) only the last one counts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/cron.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "core/batch_job.h"
#include "core/child.h"

#define ANNOTATION_TIME "batch.kubernetes.io/cronjob-scheduled-timestamp"

struct look {
    const struct job_snapshot *snapshot;
    struct arena *arena;
    const struct json *cron, *spec, *status;
    struct cron times;
    int64_t now_ms, due_ms; /* due_ms 0: nothing is due */
};

static bool is_over(const struct json *job)
{
    return batch_job_is_complete(job) || batch_job_has_failed(job);
}

/* --- status ----------------------------------------------------------------------------------- */

static struct json *reference_to(struct arena *a, const struct json *job)
{
    struct json *ref = json_new_object(a);

    json_set_string(a, ref, "apiVersion", kind_api_version(a, &kind_job));
    json_set_string(a, ref, "kind", kind_job.name);
    json_set_string(a, ref, "name", object_name(job));
    json_set_string(a, ref, "namespace", object_namespace(job));
    json_set_string(a, ref, "resourceVersion", object_resource_version(job));
    json_set_string(a, ref, "uid", object_uid(job));
    return ref;
}

/* An entry written before the Job changed still counts. */
static bool is_listed(const struct look *l, const struct json *job)
{
    return json_find(json_get(l->status, "active"), "uid", object_uid(job));
}

static struct json *active_jobs(const struct look *l)
{
    struct json *list = json_new_array(l->arena);

    for (size_t i = 0; i < l->snapshot->jobs_len; i++) {
        const struct json *job = l->snapshot->jobs[i];

        if (is_over(job))
            continue;
        if (is_listed(l, job))
            json_append(list, json_clone(l->arena, json_find(json_get(l->status, "active"), "uid",
                                                             object_uid(job))));
        else
            json_append(list, reference_to(l->arena, job));
    }
    return list;
}

static struct json *status_new(const struct look *l, int64_t last_ms)
{
    struct arena *a = l->arena;
    struct json *status = l->status ? json_clone(a, l->status) : json_new_object(a);
    struct json *active = active_jobs(l);
    int64_t well_ms = object_time(l->status, "lastSuccessfulTime");
    char time[TIME_TEXT_SIZE];

    for (size_t i = 0; i < l->snapshot->jobs_len; i++)
        well_ms = max_i64(well_ms,
                          object_time(json_get(l->snapshot->jobs[i], "status"), "completionTime"));
    if (json_len(active))
        json_set(a, status, "active", active);
    else
        json_remove(status, "active");
    if (well_ms)
        json_set_string(a, status, "lastSuccessfulTime", time_format(well_ms, time));
    if (last_ms)
        json_set_string(a, status, "lastScheduleTime", time_format(last_ms, time));
    return status;
}

static void plan_status(const struct look *l, int64_t last_ms, struct plan *plan)
{
    struct json *status = status_new(l, last_ms), *cron;

    if (json_equal(status, l->status) || (!l->status && json_len(status) == 0))
        return;
    cron = json_clone(l->arena, l->cron);
    json_set(l->arena, cron, "status", status);
    plan_update_status(plan, &kind_cron_job, cron);
}

/* --- history ---------------------------------------------------------------------------------- */

static int older_first(const void *a, const void *b)
{
    int64_t first = object_created_ms(*(const struct json *const *)a);
    int64_t second = object_created_ms(*(const struct json *const *)b);

    return first < second ? -1 : first > second;
}

static void forget(const struct look *l, const char *condition, const char *key, int64_t otherwise,
                   struct plan *plan)
{
    const struct json **jobs = arena_alloc(l->arena, (l->snapshot->jobs_len + 1) * sizeof(*jobs));
    int64_t keep = json_get_int(l->spec, key, otherwise);
    size_t n = 0;

    for (size_t i = 0; jobs && i < l->snapshot->jobs_len; i++)
        if (object_condition_is(l->snapshot->jobs[i], condition) &&
            !object_is_deleting(l->snapshot->jobs[i]))
            jobs[n++] = l->snapshot->jobs[i];
    if (n == 0 || (int64_t)n <= keep)
        return;
    qsort(jobs, n, sizeof(jobs[0]), older_first);
    for (size_t i = 0; i < n - (size_t)keep; i++)
        plan_delete(plan, &kind_job, jobs[i], -1);
}

/* --- the next Job ----------------------------------------------------------------------------- */

static const char *job_name(const struct look *l)
{
    return arena_printf(l->arena, "%s-%" PRId64, object_name(l->cron), l->due_ms / 60000);
}

static struct json *job_new(const struct look *l)
{
    const struct json *template = json_get(l->spec, "jobTemplate");
    struct arena *a = l->arena;
    struct json *job = child_new(a, &kind_job, job_name(l), &kind_cron_job, l->cron);
    struct json *metadata = json_get_mut(job, "metadata");
    char time[TIME_TEXT_SIZE];

    json_set(a, metadata, "labels", json_clone(a, json_at(template, "metadata", "labels")));
    json_set(a, metadata, "annotations",
             json_clone(a, json_at(template, "metadata", "annotations")));
    json_set_string(a, json_make_object(a, metadata, "annotations"), ANNOTATION_TIME,
                    time_format(l->due_ms, time));
    json_set(a, job, "spec", json_clone(a, json_get(template, "spec")));
    return job;
}

/* The last unused time; 0: none, or it is too late for it. */
static int64_t due_ms(const struct look *l, struct plan *plan)
{
    const struct json *limit = json_get(l->spec, "startingDeadlineSeconds");
    int64_t since_ms = max_i64(object_created_ms(l->cron),
                               object_time(l->status, "lastScheduleTime"));
    int64_t at_ms = cron_last_ms(&l->times, since_ms, l->now_ms);
    char time[TIME_TEXT_SIZE];

    if (!at_ms || !json_is(limit, JSON_INT) || l->now_ms <= at_ms + json_int(limit, 0) * 1000)
        return at_ms;
    plan_event(plan, &kind_cron_job, l->cron, "Warning", "MissSchedule",
               "Missed scheduled time to start a job: %s", time_format(at_ms, time));
    return 0;
}

static bool has_active(const struct look *l)
{
    for (size_t i = 0; i < l->snapshot->jobs_len; i++)
        if (!is_over(l->snapshot->jobs[i]))
            return true;
    return false;
}

static bool may_start(const struct look *l, struct plan *plan)
{
    const char *policy = json_get_string(l->spec, "concurrencyPolicy", "Allow");

    if (strcmp(policy, "Forbid") == 0 && has_active(l)) {
        plan_event(plan, &kind_cron_job, l->cron, "Normal", "JobAlreadyActive",
                   "Not starting job because prior execution is running and concurrency policy is "
                   "Forbid");
        return false;
    }
    for (size_t i = 0; strcmp(policy, "Replace") == 0 && i < l->snapshot->jobs_len; i++) {
        const struct json *job = l->snapshot->jobs[i];

        if (!is_over(job) && !object_is_deleting(job) && strcmp(object_name(job), job_name(l)) != 0)
            plan_delete(plan, &kind_job, job, -1);
    }
    return true;
}

static bool is_made(const struct look *l)
{
    for (size_t i = 0; i < l->snapshot->jobs_len; i++)
        if (strcmp(object_name(l->snapshot->jobs[i]), job_name(l)) == 0)
            return true;
    return false;
}

/* Creates the Job, then records it in the status; a repeat yields the same name. */
static bool start(const struct look *l, struct plan *plan)
{
    if (is_made(l))
        return true;
    if (!may_start(l, plan))
        return false;
    if (l->snapshot->refused) {
        plan_event(plan, &kind_cron_job, l->cron, "Warning", "FailedCreate",
                   "Error creating job: %s", l->snapshot->refusal);
        plan_wake_at(plan, l->snapshot->refused_until_ms);
        if (l->snapshot->refused_until_ms > l->now_ms)
            return false;
    }
    plan_check(plan, &kind_cron_job, l->cron);
    plan_next_stage(plan);
    plan_create(plan, &kind_job, job_new(l));
    plan_next_stage(plan);
    plan_event(plan, &kind_cron_job, l->cron, "Normal", "SuccessfulCreate", "Created job %s",
               job_name(l));
    return true;
}

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    struct look l = {.snapshot = s,
                     .arena = plan->arena,
                     .cron = s->job,
                     .spec = json_get(s->job, "spec"),
                     .status = json_get(s->job, "status"),
                     .now_ms = s->now_ms};
    auto_err wrong = ERR_INIT;
    bool started = false;
    int64_t next_ms;

    forget(&l, "Complete", "successfulJobsHistoryLimit", 3, plan);
    forget(&l, "Failed", "failedJobsHistoryLimit", 1, plan);
    if (cron_parse(json_get_string(l.spec, "schedule", ""), &l.times, &wrong) == 0 &&
        !json_get_bool(l.spec, "suspend", false)) {
        l.due_ms = due_ms(&l, plan);
        started = l.due_ms && start(&l, plan);
        next_ms = cron_next_ms(&l.times, s->now_ms);
        if (next_ms)
            plan_wake_at(plan, next_ms);
        else
            plan_event(plan, &kind_cron_job, l.cron, "Warning", "InvalidSchedule",
                       "the schedule \"%s\" names no time of the next five years",
                       json_get_string(l.spec, "schedule", ""));
    }
    plan_status(&l, started ? l.due_ms : 0, plan);
}

const struct job_kind job_kind_cron = {
    .kind = &kind_cron_job, .without_port = true, .reconcile = reconcile};
