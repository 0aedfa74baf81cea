/* pod_fields.h - the parts of a pod that other kinds hold too. */
#ifndef MUSTER_API_POD_FIELDS_H
#define MUSTER_API_POD_FIELDS_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field pod_spec_fields[];
extern const struct field pod_template_fields[]; /* metadata and spec */
extern const struct field resource_fields[];     /* limits, requests */
extern const struct field condition_fields[];    /* type, status, reason, message, times */
extern const char *const condition_states[];
/* The same, as Kubernetes has them in pods, claims and namespaces, and in its newer kinds. */
extern const struct field pod_condition_fields[], meta_condition_fields[];

/* Checks across the fields of a pod spec: mounts name volumes, requests stay below limits. */
void pod_spec_validate(const struct json *spec, const struct field_path *at, struct err *err);
/* An amount of the resource that is its key: not below 0, and of what cannot be shared whole ones.
 */
void resource_amount_validate(const struct json *amount, const struct field_path *at,
                              struct err *err);
/* Annotations that only muster itself may write are not new or different from old's (which may be
 * NULL); of a pod, or of the pods a new job makes. */
void pod_annotations_validate(const struct json *metadata, const struct json *old,
                              const struct field_path *at, struct err *err);
void pod_template_annotations_validate(const struct json *metadata, const struct field_path *at,
                                       struct err *err);

#endif
