/*
 * job_fields.h - what all job kinds have in common: fields, status, columns. A kind's own table is
 * made of these and of what is its own.
 */
#ifndef MUSTER_API_JOB_FIELDS_H
#define MUSTER_API_JOB_FIELDS_H

#include "api/columns.h"
#include "api/field_macros.h"

/* All replicas of a job together. */
#define JOB_REPLICAS_LIMIT 1024

extern const struct field job_run_mode_fields[];     /* debug, pause */
extern const struct field job_scheduler_fields[];    /* t9kScheduler */
extern const struct field tensorboard_spec_fields[]; /* of a TensorBoard made with a job */
extern const struct field job_status_fields[];

extern const char *const job_clean_up_policies[], *const job_restart_scopes[];
extern const char *const job_restart_policies[];

/* "1/4": replicas that run, of so many. */
/* As status.aggregate counts them: "running", "succeeded" ... */
int64_t job_replicas_in(const struct json *job, const char *phase);
/* "3/4" run; of a job that has succeeded, "4/4 done". */
struct json *job_render_running(struct arena *a, const struct json *job, int64_t replicas,
                                int64_t done);
struct json *job_render_restarts(struct arena *a, const struct json *job, int64_t now_ms);

/* --- fields that tables list by themselves ---------------------------------------------------- */

#define JOB_FIELD_ENABLED(what_en, what_zh)                                                        \
    {                                                                                              \
        .name = "enabled", .alias = "enable", .type = FIELD_BOOL, .default_json = "false",         \
        .doc = (what_en), .doc_zh = (what_zh)                                                      \
    }

#define JOB_FIELD_DEADLINE                                                                         \
    {                                                                                              \
        .name = "activeDeadlineSeconds", .type = FIELD_INT64, .has_min = true, .min = 1,           \
        .doc = "Seconds after its start after which the job has failed.",                          \
        .doc_zh = "作业的最长执行时间（秒），超过后作业失败。"                \
    }

#define JOB_FIELD_EXIT_CODES                                                                       \
    {                                                                                              \
        .name = "restartableExitCodes", .type = FIELD_LIST, .item = FIELD_INT32, .has_min = true,  \
        .min = 1, .has_max = true, .max = 255,                                                     \
        .doc = "More exit codes after which the policy ExitCode restarts.",                        \
        .doc_zh = "ExitCode 策略下额外的可重启退出码。"                               \
    }

#define JOB_FIELD_TTL                                                                              \
    {                                                                                              \
        .name = "ttlSecondsAfterFinished", .type = FIELD_INT32, .has_min = true, .min = 0,         \
        .doc = "Seconds after its end after which the job itself is deleted.",                     \
        .doc_zh = "作业结束多少秒后删除作业本身。"                                  \
    }

#define JOB_FIELD_RUN_MODE                                                                         \
    {                                                                                              \
        .name = "runMode", .type = FIELD_OBJECT, .fields = job_run_mode_fields,                    \
        .doc = "Debug or pause instead of running.", .doc_zh = "运行模式：Debug 或暂停。" \
    }

#define JOB_FIELD_TENSORBOARD                                                                      \
    {                                                                                              \
        .name = "tensorboardSpec", .type = FIELD_OBJECT, .fields = tensorboard_spec_fields,        \
        .rules = tensorboard_spec_rules, .doc = "A TensorBoard made with the job.",                \
        .doc_zh = "随作业创建的 TensorBoard。"                                              \
    }

#define JOB_FIELD_SCHEDULER                                                                        \
    {                                                                                              \
        .name = "scheduler", .type = FIELD_OBJECT, .flags = FIELD_IMMUTABLE,                       \
        .fields = job_scheduler_fields,                                                            \
        .immutable = "field is immutable: the priority of a job that waits is changed in its "     \
                     "PodGroup (spec.priority), its queue by making the job anew",                 \
        .doc = "Which scheduler places the replicas; the default one when absent.",                \
        .doc_zh = "调度器设置；不设置则使用默认调度器。"                         \
    }

#define JOB_FIELD_SPEC(fields, cel)                                                                \
    F_SPEC(fields, REQUIRED, .rules = (cel), .doc_zh = "期望的状态。")
#define JOB_FIELD_STATUS(fields) F_STATUS(fields, .doc_zh = "实际的状态。")

/* --- rules for clusters ------------------------------------------------------------------------
 */

extern const struct rule tensorboard_spec_rules[];

/* what: of the objects named after this one. */
#define JOB_RULE_NAME(what)                                                                        \
    {                                                                                              \
        .rule = "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",                      \
        .field = ".metadata",                                                                      \
        .message = what " are named after it: the name must consist of lower case letters, "       \
                        "digits and '-', start with a letter and end with a letter or digit",      \
        .new_only = true                                                                           \
    }

/* --- columns ---------------------------------------------------------------------------------- */

/* render: "1/4", running replicas of all the job has. */
#define JOB_COLUMNS(render_running)                                                                \
    COLUMN_NAME,                                                                                   \
        {.name = "Phase",                                                                          \
         .type = "string",                                                                         \
         .doc = "Where the job is in its life.",                                                   \
         .path = ".status.phase"},                                                                 \
        {.name = "Running",                                                                        \
         .type = "string",                                                                         \
         .doc = "Replicas that run, of all; when the job has succeeded, that are done.",           \
         .path = ".status.aggregate.running",                                                      \
         .render = (render_running)},                                                              \
        {.name = "Restarts",                                                                       \
         .type = "integer",                                                                        \
         .doc = "Restarts used up.",                                                               \
         .path = ".status.backoffCount",                                                           \
         .render = job_render_restarts},                                                           \
        {.name = "Age",                                                                            \
         .type = "date",                                                                           \
         .doc = "Time since the job was created.",                                                 \
         .path = ".metadata.creationTimestamp"},                                                   \
        {.name = "Reason",                                                                         \
         .type = "string",                                                                         \
         .priority = 1,                                                                            \
         .doc = "Why it does not run, or why it failed.",                                          \
         .path = ".status.reason"},                                                                \
        {.name = "Message",                                                                        \
         .type = "string",                                                                         \
         .priority = 1,                                                                            \
         .doc = "The same as a sentence.",                                                         \
         .path = ".status.message"},                                                               \
    {                                                                                              \
        0                                                                                          \
    }

#endif
