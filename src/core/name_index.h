/*
 * name_index.h - constant-time lookup by name, for one decision. Lives in the decision's arena and
 * borrows the names. Searching an array would cost a million steps for a thousand replicas.
 */
#ifndef MUSTER_CORE_NAME_INDEX_H
#define MUSTER_CORE_NAME_INDEX_H

#include "base/arena.h"

struct name_slot {
    const char *name;
    void *value;
};

struct name_index {
    struct name_slot *slots;
    size_t mask;
};

/* Room for count names, which must not be exceeded. If the arena failed, every lookup finds
 * nothing. */
void name_index_init(struct name_index *x, struct arena *a, size_t count);
/* The first value for a name stays; returns the current one. */
void *name_index_put(struct name_index *x, const char *name, void *value);
void *name_index_get(const struct name_index *x, const char *name);

#endif
