/*
 * json_keys.h - finding members while an object is being built. Small objects are searched
 * linearly; from JSON_KEYS_FROM members on there is a hash table, so that a large map does not take
 * quadratic time.
 */
#ifndef MUSTER_BASE_JSON_KEYS_H
#define MUSTER_BASE_JSON_KEYS_H

#include "base/json.h"

#define JSON_KEYS_FROM 24u

struct json_keys {
    struct json **slots; /* NULL while the object is small */
    uint32_t capacity, used;
};

/* The key of members that are to be unlinked. */
extern const char json_keys_dropped[2];

struct json *json_keys_find(const struct json_keys *k, struct json *object, const char *key,
                            uint32_t len);
/* Call after appending member to object. False when the arena failed. */
bool json_keys_add(struct arena *a, struct json_keys *k, struct json *object,
                   struct json *member) must_check;
/* Of all members. False when the arena failed. */
bool json_keys_build(struct arena *a, struct json_keys *k, struct json *object) must_check;

#endif
