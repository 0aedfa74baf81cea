/* object_list.h - cached objects gathered for a snapshot, in the reconcile's arena. */
#ifndef MUSTER_CONTROL_OBJECT_LIST_H
#define MUSTER_CONTROL_OBJECT_LIST_H

#include <string.h>

#include "base/json.h"

struct object_list {
    struct arena *arena;
    const struct json **items;
    size_t len, cap;
};

/* Does nothing once the arena has failed, which the reconcile checks at its end. */
static inline void object_list_add(struct object_list *l, const struct json *object)
{
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        const struct json **items = arena_alloc(l->arena, cap * sizeof(const struct json *));

        if (!items)
            return;
        if (l->len)
            memcpy(items, l->items, l->len * sizeof(const struct json *));
        l->items = items;
        l->cap = cap;
    }
    l->items[l->len++] = object;
}

/* For cache_each and similar. */
static inline bool object_list_collect(void *list, const struct json *object)
{
    object_list_add(list, object);
    return true;
}

#endif
