/* pod_fields.h - the parts of a pod that other kinds contain too. */
#ifndef MUSTER_API_POD_FIELDS_H
#define MUSTER_API_POD_FIELDS_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field pod_spec_fields[];
extern const struct field pod_template_fields[]; /* metadata and spec */
extern const struct field resource_fields[];     /* limits, requests */
extern const struct field condition_fields[];    /* type, status, reason, message, times */
extern const char *const condition_states[];
/* Conditions as in Kubernetes' pods, claims and namespaces, and as in its newer kinds. */
extern const struct field pod_condition_fields[], meta_condition_fields[];

/* Checks across the fields of a pod spec: mounts refer to volumes, requests do not exceed
 * limits. */
/* old: the spec of the same pod before; NULL for a new one and for templates, which have no
 * ephemeral containers. */
void pod_spec_validate(const struct json *spec, const struct json *old, const struct field_path *at,
                       struct err *err);
/* An amount of the resource that is its key: not negative, and integral unless it can be shared. */
void resource_amount_validate(const struct json *amount, const struct field_path *at,
                              struct err *err);
/* Refuses annotations reserved for muster unless they are unchanged from old (which may be NULL);
 * for a pod, or for the pod template of a new job. */
void pod_annotations_validate(const struct json *metadata, const struct json *old,
                              const struct field_path *at, struct err *err);
void pod_template_annotations_validate(const struct json *metadata, const struct field_path *at,
                                       struct err *err);

#endif
