/* patch.c - RFC 7386. The result shares nothing with its inputs, so that a stored object never
 * changes. */
#include "api/patch.h"

static void merge_into(struct arena *a, struct json *target, const struct json *patch)
{
    json_each (m, patch) {
        if (json_is(m, JSON_NULL)) {
            json_remove(target, m->key);
        } else if (!json_is(m, JSON_OBJECT)) {
            json_set(a, target, m->key, json_clone(a, m));
        } else {
            struct json *under = json_make_object(a, target, m->key);

            if (under)
                merge_into(a, under, m);
        }
    }
}

struct json *patch_merge(struct arena *a, const struct json *target, const struct json *patch)
{
    struct json *result;

    if (!json_is(patch, JSON_OBJECT)) {
        result = patch ? json_clone(a, patch) : json_new_null(a);
    } else {
        result = json_is(target, JSON_OBJECT) ? json_clone(a, target) : json_new_object(a);
        if (result)
            merge_into(a, result, patch);
    }
    return arena_failed(a) ? NULL : result;
}
