/* metadata.h - validation of every object's metadata. */
#ifndef MUSTER_API_METADATA_H
#define MUSTER_API_METADATA_H

#include "api/kind.h"
#include "api/problem.h"

extern const struct field object_reference_fields[];
extern const struct field object_meta_fields[]; /* of metadata */

/* Adds a cause per invalid field. old is NULL at creation. */
void metadata_validate(const struct kind *k, const struct json *object, const struct json *old,
                       struct err *err);
/* Refuses annotations reserved for muster that are new or differ from old's. */
void metadata_refuse_annotations(const struct json *meta, const struct json *old_meta,
                                 const char *const *names, size_t len, const struct field_path *at,
                                 struct err *err);
void metadata_validate_labels(const struct json *labels, const struct field_path *at,
                              struct err *err);

#endif
