/*
 * apply_merge.h - server-side apply: merges into an object the fields one manager sets. Each
 * manager's fields are recorded in metadata.managedFields, so that fields it no longer sets are
 * removed and managers that disagree get a conflict.
 *
 * Other writes are recorded too.
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
    bool force;              /* take over fields other managers own */
    int64_t now_ms;
};

/* live may be NULL: the object does not exist yet. config is decoded (object_decode) and not
 * changed. *ret_next: the merged object; *ret_managed: its managedFields, a list. ERR_CONFLICT with
 * one cause for each field to which another manager gives a different value. */
int apply_merge(struct arena *a, const struct apply *apply, const struct json *live,
                const struct json *config, struct json **ret_next, struct json **ret_managed,
                struct err *err) must_check;

/* The fields an object of the kind sets, as FieldsV1: names as "f:NAME", elements of keyed lists as
 * "k:{KEYS}", of sets as "v:VALUE". */
struct json *apply_fields(struct arena *a, const struct kind *k,
                          const struct json *object) must_check;

#endif
