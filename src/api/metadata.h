/* metadata.h - what the metadata of any object must satisfy. */
#ifndef MUSTER_API_METADATA_H
#define MUSTER_API_METADATA_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field object_reference_fields[];
extern const struct field object_meta_fields[]; /* of metadata */

/* Adds a cause per wrong field. old is NULL at creation. */
void metadata_validate(const struct kind *k, const struct json *object, const struct json *old,
                       struct err *err);
/* Annotations that only muster itself writes: none that is new or different from old's. */
void metadata_refuse_annotations(const struct json *meta, const struct json *old_meta,
                                 const char *const *names, size_t len, const struct field_path *at,
                                 struct err *err);
/* Keys and values of a map of labels. */
void metadata_validate_labels(const struct json *labels, const struct field_path *at,
                              struct err *err);

#endif
