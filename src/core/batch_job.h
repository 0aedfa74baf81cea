/* batch_job.h - what batch.c's kinds agree on: conditions and names of Kubernetes' own Jobs. */
#ifndef MUSTER_CORE_BATCH_JOB_H
#define MUSTER_CORE_BATCH_JOB_H

#include "core/job.h"

/* On a Job: "true" makes its pods start together or not at all. */
#define ANNOTATION_GANG "muster.dev/gang"

/* Whether it has ended, and well. */
bool batch_job_is_complete(const struct json *job);
bool batch_job_has_failed(const struct json *job);
/* Whose pods start together. */
bool batch_job_is_gang(const struct json *job);

#endif
