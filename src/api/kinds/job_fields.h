/*
 * job_fields.h - what all job kinds share: fields, status, columns. A kind's table combines these
 * with its own.
 */
#ifndef MUSTER_API_JOB_FIELDS_H
#define MUSTER_API_JOB_FIELDS_H

#include "api/columns.h"
#include "api/field_macros.h"

/* Over all replica types of a job. */
#define JOB_REPLICAS_LIMIT 1024

extern const struct field job_run_mode_fields[];     /* debug, pause */
extern const struct field job_scheduler_fields[];    /* t9kScheduler */
extern const struct field tensorboard_spec_fields[]; /* of a TensorBoard made with a job */
extern const struct field job_status_fields[];

extern const char *const job_clean_up_policies[], *const job_restart_scopes[];
extern const char *const job_restart_policies[], *const job_phases[];

/* Checks common to all job kinds, beyond the tables. */
void job_validate(const struct json *job, const struct json *old, struct err *err);
/* As counted by status.aggregate: "running", "succeeded" ... */
int64_t job_replicas_in(const struct json *job, const char *phase);
/* "3/4": running replicas; for a succeeded job "4/4 done". */
struct json *job_render_running(struct arena *a, const struct json *job, int64_t replicas,
                                int64_t done);
struct json *job_render_restarts(struct arena *a, const struct json *job, int64_t now_ms);

/* --- fields that tables include one by one ---------------------------------------------------- */

#define JOB_FIELD_ENABLED(what) F_BOOL("enabled", what, .alias = "enable", DEFAULT("false"))

#define JOB_FIELD_DEADLINE                                                                         \
    F_INT64("activeDeadlineSeconds", "Seconds the job may run before it fails.", AT_LEAST(1))

#define JOB_FIELD_EXIT_CODES                                                                       \
    F_LIST(FIELD_INT32, "restartableExitCodes",                                                    \
           "Additional exit codes that the policy ExitCode restarts.", BETWEEN(1, 255))

#define JOB_FIELD_TTL                                                                              \
    F_INT32("ttlSecondsAfterFinished", "Seconds after the end of the job until it is deleted.",    \
            AT_LEAST(0))

#define JOB_FIELD_RUN_MODE                                                                         \
    F_OBJ("runMode", job_run_mode_fields, "Debug or pause the job instead of running it.")

#define JOB_FIELD_TENSORBOARD                                                                      \
    F_OBJ("tensorboardSpec", tensorboard_spec_fields, "A TensorBoard created with the job.",       \
          .rules = tensorboard_spec_rules)

#define JOB_FIELD_SCHEDULER                                                                        \
    F_OBJ("scheduler", job_scheduler_fields,                                                       \
          "Scheduler that places the replicas; the default one if absent.",                        \
          .flags = FIELD_IMMUTABLE,                                                                \
          .immutable = "field is immutable: change the priority of a waiting job in its PodGroup " \
                       "(spec.priority); for another queue, create the job again")

#define JOB_FIELD_SPEC(fields, cel) F_SPEC(fields, REQUIRED, .rules = (cel))
#define JOB_FIELD_STATUS(fields) F_STATUS(fields)

/* --- rules for clusters --------------------------------------------------------------------- */

extern const struct rule tensorboard_spec_rules[];

/* what: the objects named after this one. */
#define JOB_RULE_NAME(what)                                                                        \
    {                                                                                              \
        .rule = "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",                      \
        .field = ".metadata",                                                                      \
        .message = what " are named after it: the name must consist of lower case letters, "       \
                        "digits and '-', start with a letter and end with a letter or digit",      \
        .new_only = true                                                                           \
    }

/* --- columns ---------------------------------------------------------------------------------- */

/* render_running: "1/4", running out of all replicas. */
#define JOB_COLUMNS(render_running)                                                                \
    COLUMN_NAME, COLUMN("Phase", "string", "Phase of the job.", .path = ".status.phase"),          \
        COLUMN("Running", "string",                                                                \
               "Running replicas out of all; for a succeeded job, those done.",                    \
               .path = ".status.aggregate.running", .render = (render_running)),                   \
        COLUMN("Restarts", "integer", "Restarts used.", .path = ".status.backoffCount",            \
               .render = job_render_restarts),                                                     \
        COLUMN("Age", "date", "Time since the job was created.",                                   \
               .path = ".metadata.creationTimestamp"),                                             \
        COLUMN("Reason", "string", "Why it does not run, or why it failed.", .priority = 1,        \
               .path = ".status.reason"),                                                          \
        COLUMN("Message", "string", "Message about that.", .priority = 1,                          \
               .path = ".status.message")

#endif
