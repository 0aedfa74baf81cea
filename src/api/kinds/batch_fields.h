/* batch_fields.h - what Job and CronJob share: a Job's spec and its rules; and Kubernetes' own pod
 * template. */
#ifndef MUSTER_API_KINDS_BATCH_FIELDS_H
#define MUSTER_API_KINDS_BATCH_FIELDS_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field batch_job_spec_fields[], batch_template_fields[];

/* Checks of a Job's spec beyond its table; before: the old spec, NULL at creation. */
void batch_job_spec_validate(const struct json *spec, const struct field_path *at, struct err *err);
void batch_job_set_defaults(struct arena *a, struct json *spec);

#endif
