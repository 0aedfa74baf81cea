/* batch_job.h - conditions and names of Kubernetes' Jobs that batch_job.c and its users share. */
#ifndef MUSTER_CORE_BATCH_JOB_H
#define MUSTER_CORE_BATCH_JOB_H

#include "core/job.h"

/* On a Job: "true" makes its pods start together or not at all. */
#define ANNOTATION_GANG "muster.dev/gang"

/* Whether it has ended successfully. */
bool batch_job_is_complete(const struct json *job);
bool batch_job_has_failed(const struct json *job);
/* Whether its pods start together. */
bool batch_job_is_gang(const struct json *job);

#endif
