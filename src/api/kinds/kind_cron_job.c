/* kind_cron_job.c - CronJob (batch/v1): creates Jobs on a schedule. See core/cron_job.c. kubectl
 * 1.20 uses batch/v1beta1. */
#include "api/columns.h"
#include "api/cron.h"
#include "api/field_macros.h"
#include "api/kinds/batch_fields.h"
#include "api/metadata.h"
#include "api/object.h"

static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
static const char *const zones[] = {"Etc/UTC", "UTC", NULL};

static const struct field template_fields[] = {
    F_OBJ("metadata", object_meta_fields, "Labels and annotations of the Jobs.", P(1)),
    F_OBJ("spec", batch_job_spec_fields, "The Job.", P(2), REQUIRED,
          .schema_name = "io.k8s.api.batch.v1.JobSpec"),
    {0}};

static const struct field spec_fields[] = {
    F_STR("schedule",
          "Schedule, in cron's five fields (minute hour day month weekday) or @hourly, @daily ...; "
          "UTC.",
          PZ(1), REQUIRED),
    F_STR("timeZone", "Time zone of the schedule: only Etc/UTC, the default.", PZ(8),
          ONE_OF(zones)),
    F_INT64("startingDeadlineSeconds", "How late a Job may be created.", PZ(2), AT_LEAST(0)),
    F_STR("concurrencyPolicy",
          "What to do while the last Job runs: Allow another, Forbid it, or Replace the last.",
          P(3), ONE_OF(policies), DEFAULT("\"Allow\"")),
    F_BOOL("suspend", "Whether no Jobs are created for now.", PZ(4), DEFAULT("false")),
    F_OBJ("jobTemplate", template_fields, "The Job.", P(5), REQUIRED,
          .schema_name = "io.k8s.api.batch.v1.JobTemplateSpec"),
    F_INT32("successfulJobsHistoryLimit", "How many succeeded Jobs are kept.", PZ(6), AT_LEAST(0),
            DEFAULT("3")),
    F_INT32("failedJobsHistoryLimit", "How many failed Jobs are kept.", PZ(7), AT_LEAST(0),
            DEFAULT("1")),
    {0}};

static const struct field status_fields[] = {
    F_OBJS("active", object_reference_fields, "Running Jobs.", P(1)),
    F_TIME("lastScheduleTime", "When the last Job was scheduled.", P(4)),
    F_TIME("lastSuccessfulTime", "When a Job last succeeded.", P(5)),
    {0}};

static const struct field fields[] = {F_SPEC(spec_fields, REQUIRED), F_STATUS(status_fields), {0}};

static void set_defaults(struct arena *a, struct json *cron)
{
    struct json *template = json_get_mut(json_get_mut(cron, "spec"), "jobTemplate");

    batch_job_set_defaults(a, json_get_mut(template, "spec"));
}

#define NAME_LIMIT 52 /* its Jobs' names are 11 longer */

static void validate(const struct json *cron, const struct json *old, struct err *err)
{
    const struct field_path spec = {.name = "spec"}, meta = {.name = "metadata"};
    const struct json *schedule = json_at(cron, "spec", "schedule"),
                      *name = json_at(cron, "metadata", "name");
    const struct field_path *template = PATH_MEMBER(&spec, "jobTemplate");
    auto_err wrong = ERR_INIT;
    struct cron times;

    if (!old && name && name->len > NAME_LIMIT)
        problem_invalid(err, PATH_MEMBER(&meta, "name"), name, "must be no more than %d characters",
                        NAME_LIMIT);
    if (old && json_equal(json_get(cron, "spec"), json_get(old, "spec")))
        return;
    if (json_is(schedule, JSON_STRING) && cron_parse(schedule->u.text, &times, &wrong) < 0)
        problem_invalid(err, PATH_MEMBER(&spec, "schedule"), schedule, "%s", wrong.text);
    batch_job_spec_validate(json_at(cron, "spec", "jobTemplate", "spec"),
                            PATH_MEMBER(template, "spec"), err);
}

static struct json *render_zone(struct arena *a, const struct json *cron, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(cron, "spec", "timeZone"));
}

static struct json *render_active(struct arena *a, const struct json *cron, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_at(cron, "status", "active")));
}

static struct json *render_suspend(struct arena *a, const struct json *cron, int64_t now_ms)
{
    (void)now_ms;
    return json_new_string(a,
                           json_bool(json_at(cron, "spec", "suspend"), false) ? "True" : "False");
}

static struct json *render_last(struct arena *a, const struct json *cron, int64_t now_ms)
{
    int64_t last = object_time(json_get(cron, "status"), "lastScheduleTime");

    return last ? column_since(a, last, now_ms) : NULL;
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Schedule", "string", "When.", .path = ".spec.schedule"),
    COLUMN("Timezone", "string", "Time zone.", .render = render_zone),
    COLUMN("Suspend", "boolean", "Whether it is suspended.", .render = render_suspend),
    COLUMN("Active", "integer", "Running Jobs.", .render = render_active),
    COLUMN("Last Schedule", "string", "Time since the last one.", .render = render_last),
    COLUMN_AGE,
    {0}};

#define CRON_JOB                                                                                   \
    .group = "batch", .name = "CronJob", .plural = "cronjobs", .singular = "cronjob",              \
    .short_names = (const char *const[]){"cj", NULL},                                              \
    .categories = (const char *const[]){"all", NULL}, .namespaced = true, .has_status = true,      \
    .has_generation = true, .doc = "CronJob creates Jobs on a schedule.", .fields = fields,        \
    .columns = columns, .validate = validate, .set_defaults = set_defaults

const struct kind kind_cron_job = {CRON_JOB, .version = "v1", .collected = true};

const struct kind kind_cron_job_beta = {CRON_JOB, .version = "v1beta1", .stored_as = &kind_cron_job,
                                        .from_stored = kind_set_version,
                                        .to_stored = kind_set_stored_version};
