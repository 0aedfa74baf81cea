/* name_index.c - open addressing over FNV-1a, at most half full. See name_index.h. */
#include "core/name_index.h"

#include <string.h>

#include "base/hash.h"

void name_index_init(struct name_index *x, struct arena *a, size_t count)
{
    size_t size = 2;

    while (size < count * 2)
        size *= 2;
    x->slots = arena_alloc(a, size * sizeof(*x->slots));
    x->mask = size - 1;
}

static struct name_slot *slot_of(const struct name_index *x, const char *name)
{
    size_t at = (size_t)fnv1a_64(FNV1A_64_START, name, strlen(name));

    for (;; at++) {
        struct name_slot *slot = &x->slots[at & x->mask];

        if (!slot->name || strcmp(slot->name, name) == 0)
            return slot;
    }
}

void *name_index_put(struct name_index *x, const char *name, void *value)
{
    struct name_slot *slot;

    if (!x->slots)
        return NULL;
    slot = slot_of(x, name);
    if (!slot->name)
        *slot = (struct name_slot){.name = name, .value = value};
    return slot->value;
}

void *name_index_get(const struct name_index *x, const char *name)
{
    return x->slots ? slot_of(x, name)->value : NULL;
}
