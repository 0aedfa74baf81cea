/* job_warnings.h - warnings about jobs, and those common to all job kinds. */
#ifndef MUSTER_API_JOB_WARNINGS_H
#define MUSTER_API_JOB_WARNINGS_H

#include "base/json.h"

#define WARNING_LIMIT_BYTES 512

/* Receives warnings, as passed to a kind's warn (api/kind.h). */
struct speaker {
    void (*say)(void *arg, const char *text);
    void *arg;
};

/* Truncated at WARNING_LIMIT_BYTES. */
void speaker_say(const struct speaker *s, const char *fmt, ...) printf_like(2, 3);

/* Warns of a schedulerName next to a nodeName; at: path of the pod spec. */
void pod_warn_scheduler(const struct speaker *s, const struct json *spec, const char *at);
/* The same for the template of replicaSpecs[i], and its restartPolicy. */
void job_warn_template(const struct speaker *s, const struct json *replica_spec, size_t i);

/* Entries of spec.runMode for replica types the job does not have. */
void job_warn_run_mode(const struct speaker *s, const struct json *job,
                       bool (*has_type)(const struct json *job, const char *type));

#endif
