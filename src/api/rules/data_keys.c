/* data_keys.c - see data_keys.h. */
#include "api/rules/data_keys.h"

#include <string.h>

#include "api/problem.h"

#define KEY_LIMIT 253u

static const char *key_problem(const char *key, size_t len)
{
    if (len == 0 || len > KEY_LIMIT)
        return "must be between 1 and 253 characters";
    for (size_t i = 0; i < len; i++)
        if (!(key[i] >= 'a' && key[i] <= 'z') && !(key[i] >= 'A' && key[i] <= 'Z') &&
            !(key[i] >= '0' && key[i] <= '9') && (!key[i] || !strchr("-._", key[i])))
            return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                   "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation "
                   "is '[-._a-zA-Z0-9]+')";
    if (strcmp(key, ".") == 0 || strncmp(key, "..", 2) == 0)
        return "must not be '.' and must not start with '..'";
    return NULL;
}

static void check_keys(const struct json *map, const struct field_path *at, struct err *err)
{
    json_each (m, map) {
        const char *problem = key_problem(m->key, m->key_len);
        const struct json quoted = {
            .type = JSON_STRING, .u.text = m->key, .len = m->key_len, .line = m->line};

        if (problem)
            problem_invalid(err, PATH_KEY(at, m->key), &quoted, "%s", problem);
    }
}

static size_t size_of(const struct json *map)
{
    size_t total = 0;

    json_each (m, map)
        total += json_is(m, JSON_STRING) ? m->len : 0;
    return total;
}

void data_maps_validate(const struct json *object, const struct json *old, const char *const *maps,
                        struct err *err)
{
    bool frozen = json_get_bool(old, "immutable", false);
    size_t total = 0;

    for (; *maps; maps++) {
        const struct json *map = json_get(object, *maps);
        const struct field_path at = {.name = *maps};

        check_keys(map, &at, err);
        total += size_of(map);
        if (frozen && !json_equal(map, json_get(old, *maps)))
            problem_forbidden(err, &at, map ? map->line : 0,
                              "field is immutable when `immutable` is set");
    }
    if (total > DATA_LIMIT_BYTES) {
        const struct json sum = {.type = JSON_INT, .u.integer = (int64_t)total};

        problem_invalid(err, PATH_MEMBER(NULL, "data"), &sum,
                        "may hold at most %u bytes, all keys together", DATA_LIMIT_BYTES);
    }
    if (frozen && !json_get_bool(object, "immutable", false))
        problem_forbidden(err, PATH_MEMBER(NULL, "immutable"), 0,
                          "field is immutable when `immutable` is set");
}
