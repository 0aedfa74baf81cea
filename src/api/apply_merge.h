/*
 * apply_merge.h - server-side apply: an object is merged with what one manager wants of it. What a
 * manager wanted last is kept in metadata.managedFields, so that what it no longer mentions goes,
 * and so that two managers who want different things learn of each other.
 *
 * Other writes are tracked too: what they set is theirs from then on.
 */
#ifndef MUSTER_API_APPLY_MERGE_H
#define MUSTER_API_APPLY_MERGE_H

#include "api/kind.h"

struct apply {
    const struct kind *kind;
    const char *manager;
    const char *api_version;
    const char *operation;   /* "Apply", or "Update" for other writes */
    const char *subresource; /* "" for the object itself */
    bool force;              /* take over what others want otherwise */
    int64_t now_ms;
};

/* live may be NULL: nothing is there. config is decoded (object_decode), and is not changed.
 * *ret_next: the merged object; *ret_managed: its managedFields, a list. ERR_CONFLICT with one
 * cause for each field another manager wants to be different. */
int apply_merge(struct arena *a, const struct apply *apply, const struct json *live,
                const struct json *config, struct json **ret_next, struct json **ret_managed,
                struct err *err) must_check;

/* The text of managedFields (managed.h) after another kind of write made next of old, which is NULL
 * at a creation. managed is what it was before. */
const char *apply_track_update(struct arena *a, const struct apply *update, const char *managed,
                               const struct json *old, const struct json *next) must_check;

/* The fields an object of the kind sets, as FieldsV1: names as "f:NAME", elements of keyed lists as
 * "k:{KEYS}", of sets as "v:VALUE". */
struct json *apply_fields(struct arena *a, const struct kind *k,
                          const struct json *object) must_check;

#endif
