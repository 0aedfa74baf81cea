/* json_keys.c - see json_keys.h. Open addressing; the table is rebuilt in the arena as it fills. */
#include "base/json_keys.h"

#include <string.h>

#include "base/hash.h"

const char json_keys_dropped[] = "\xff"; /* no text has it */

static bool is_key(const struct json *m, const char *key, uint32_t len)
{
    return m->key_len == len && memcmp(m->key, key, len) == 0;
}

static uint32_t first_slot(const struct json_keys *k, const char *key, uint32_t len)
{
    uint64_t h = fnv1a_64(FNV1A_64_START, key, len);

    return (uint32_t)(h ^ h >> 32) & (k->capacity - 1);
}

struct json *json_keys_find(const struct json_keys *k, struct json *object, const char *key,
                            uint32_t len)
{
    if (!k->slots) {
        for (struct json *m = json_first_mut(object); m; m = m->next)
            if (is_key(m, key, len))
                return m;
        return NULL;
    }
    for (uint32_t i = first_slot(k, key, len); k->slots[i]; i = (i + 1) & (k->capacity - 1))
        if (is_key(k->slots[i], key, len))
            return k->slots[i];
    return NULL;
}

static void put(struct json_keys *k, struct json *member)
{
    uint32_t i = first_slot(k, member->key, member->key_len);

    while (k->slots[i])
        i = (i + 1) & (k->capacity - 1);
    k->slots[i] = member;
    k->used++;
}

bool json_keys_add(struct arena *a, struct json_keys *k, struct json *object, struct json *member)
{
    if (!k->slots && object->len < JSON_KEYS_FROM)
        return true;
    if (k->slots && k->used < k->capacity / 2) {
        put(k, member);
        return true;
    }
    return json_keys_build(a, k, object);
}

bool json_keys_build(struct arena *a, struct json_keys *k, struct json *object)
{
    uint32_t capacity = object->len * 4;

    while (capacity & (capacity - 1))
        capacity += capacity & -capacity;
    k->slots = arena_alloc(a, capacity * sizeof(struct json *));
    k->capacity = capacity;
    k->used = 0;
    if (!k->slots) {
        k->capacity = 0;
        return false;
    }
    for (struct json *m = json_first_mut(object); m; m = m->next)
        if (m->key != json_keys_dropped)
            put(k, m);
    return true;
}
