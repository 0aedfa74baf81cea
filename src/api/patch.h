/*
 * patch.h - the patches of the Kubernetes API: RFC 7386 merge patch, RFC 6902 JSON patch, and
 * strategic merge patch, which merges lists by the keys the kinds' tables name.
 *
 * Each gives a patched copy of target that shares nothing with it; the inputs do not change. NULL
 * means that err is set, or that the arena failed.
 */
#ifndef MUSTER_API_PATCH_H
#define MUSTER_API_PATCH_H

#include "api/kind.h"

struct json *patch_merge(struct arena *a, const struct json *target,
                         const struct json *patch) must_check;

/* As many operations as the real server takes. */
#define PATCH_JSON_OPERATIONS_LIMIT 10000u

/* operations is the array of RFC 6902. A malformed one is ERR_BAD_REQUEST; one that does not fit
 * the target, a failed test too, is ERR_INVALID, and names the operation and its path. */
struct json *patch_json(struct arena *a, const struct json *target, const struct json *operations,
                        struct err *err) must_check;

/* Directives: $patch (merge, replace, delete), $retainKeys, $setElementOrder/LIST,
 * $deleteFromPrimitiveList/LIST. patch must be an object. */
struct json *patch_strategic(struct arena *a, const struct kind *k, const struct json *target,
                             const struct json *patch, struct err *err) must_check;
/* The same for server-side apply, which tells elements of some lists apart by two members. */
struct json *patch_by_all_keys(struct arena *a, const struct kind *k, const struct json *target,
                               const struct json *patch, struct err *err) must_check;
/* A patch without its directives: the members it sets, to be looked at by a kind's table. */
struct json *patch_strategic_members(struct arena *a, const struct json *patch) must_check;

#endif
