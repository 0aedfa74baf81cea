/* json_keys.c - see json_keys.h. Open addressing; the table is rebuilt in the arena as it fills. */
#include "base/json_keys.h"

#include <string.h>

#include "base/hash.h"

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
    uint32_t capacity = k->capacity ? k->capacity * 2 : JSON_KEYS_FROM * 4;

    if (!k->slots && object->len < JSON_KEYS_FROM)
        return true;
    if (k->slots && k->used < k->capacity / 2) {
        put(k, member);
        return true;
    }
    while (capacity & (capacity - 1))
        capacity += capacity & -capacity;
    k->slots = arena_alloc(a, capacity * sizeof(struct json *));
    k->capacity = capacity;
    k->used = 0;
    if (!k->slots)
        return false;
    for (struct json *m = json_first_mut(object); m; m = m->next)
        put(k, m);
    return true;
}
