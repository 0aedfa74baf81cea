/*
 * name_index.h - finds things by name in constant time, for one decision. Lives in the decision's
 * arena; names are borrowed. A plain array would make a job of a thousand replicas cost a million.
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

/* Room for count names; more must not be put. When the arena fails every lookup finds nothing. */
void name_index_init(struct name_index *x, struct arena *a, size_t count);
/* The first value put under a name stays; returns what is there afterwards. */
void *name_index_put(struct name_index *x, const char *name, void *value);
void *name_index_get(const struct name_index *x, const char *name);

#endif
