/* patch.c - RFC 7386. The result shares nothing with its inputs, so that a stored object never
 * changes. */
#include "api/patch.h"

#include "base/json_finder.h"

static void merge_into(struct arena *a, struct json *target, const struct json *patch)
{
    struct json_finder f = json_finder_of(a, target);

    json_each (m, patch) {
        if (json_is(m, JSON_NULL)) {
            json_finder_drop(&f, json_finder_get(&f, m->key, m->key_len));
        } else if (!json_is(m, JSON_OBJECT)) {
            json_finder_set(&f, m->key, m->key_len, json_clone(a, m));
        } else {
            struct json *under = json_finder_make_object(&f, m->key, m->key_len);

            if (under)
                merge_into(a, under, m);
        }
    }
    json_finder_end(&f);
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
