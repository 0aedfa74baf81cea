/* pod_fields.h - the parts of a pod that other kinds hold too. */
#ifndef MUSTER_API_POD_FIELDS_H
#define MUSTER_API_POD_FIELDS_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field pod_spec_fields[];
extern const struct field pod_template_fields[]; /* metadata and spec */
extern const struct field resource_fields[];     /* limits, requests */
extern const struct field condition_fields[];    /* type, status, reason, message, times */

/* Checks across the fields of a pod spec: mounts name volumes, requests stay below limits. */
void pod_spec_validate(const struct json *spec, const struct field_path *at, struct err *err);

#endif
