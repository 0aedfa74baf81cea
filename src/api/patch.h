/*
 * patch.h - the patches of the Kubernetes API: RFC 7386 merge patch, RFC 6902 JSON patch, and
 * strategic merge patch, which merges lists by the keys in the kinds' tables.
 *
 * Each returns a patched copy of target that shares nothing with it; the inputs do not change. NULL
 * means that err is set or the arena failed.
 */
#ifndef MUSTER_API_PATCH_H
#define MUSTER_API_PATCH_H

#include "api/kind.h"

struct json *patch_merge(struct arena *a, const struct json *target,
                         const struct json *patch) must_check;

/* The real server's limit. */
#define PATCH_JSON_OPERATIONS_LIMIT 10000u

/* operations is the array of RFC 6902. A malformed one is ERR_BAD_REQUEST; one that does not apply
 * to the target, including a failed test, is ERR_INVALID and names the operation and its path. */
struct json *patch_json(struct arena *a, const struct json *target, const struct json *operations,
                        struct err *err) must_check;

/* Directives: $patch (merge, replace, delete), $retainKeys, $setElementOrder/LIST,
 * $deleteFromPrimitiveList/LIST. patch must be an object. */
struct json *patch_strategic(struct arena *a, const struct kind *k, const struct json *target,
                             const struct json *patch, struct err *err) must_check;
/* For server-side apply, which tells elements of some lists apart by two members. */
struct json *patch_by_all_keys(struct arena *a, const struct kind *k, const struct json *target,
                               const struct json *patch, struct err *err) must_check;
/* A patch without its directives: just the members it sets, for checking against the kind's
 * table. */
struct json *patch_strategic_members(struct arena *a, const struct json *patch) must_check;

#endif
