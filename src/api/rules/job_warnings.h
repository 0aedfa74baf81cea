/* job_warnings.h - saying what of a job deserves a warning, and what all job kinds warn about. */
#ifndef MUSTER_API_JOB_WARNINGS_H
#define MUSTER_API_JOB_WARNINGS_H

#include "base/json.h"

#define WARNING_LIMIT_BYTES 512

/* The receiver of warnings, as a kind's warn gets it (api/kind.h). */
struct speaker {
    void (*say)(void *arg, const char *text);
    void *arg;
};

/* Cut off at WARNING_LIMIT_BYTES. */
void speaker_say(const struct speaker *s, const char *fmt, ...) printf_like(2, 3);

/* A schedulerName beside a nodeName; at: where the spec of the pod is. */
void pod_warn_scheduler(const struct speaker *s, const struct json *spec, const char *at);
/* The same in the template of replicaSpecs[i], and its restartPolicy. */
void job_warn_template(const struct speaker *s, const struct json *replica_spec, size_t i);

/* Entries of spec.runMode for replica types that the job has not. */
void job_warn_run_mode(const struct speaker *s, const struct json *job,
                       bool (*has_type)(const struct json *job, const char *type));

#endif
