/* identity.h - finds out which object a damaged row belongs to. */
#ifndef MUSTER_STORE_IDENTITY_H
#define MUSTER_STORE_IDENTITY_H

#include "base/arena.h"
#include "store/layout.h"

struct identity {
    const char *collection, *key;
    int64_t revision; /* that the row was written with */
};

/* Tries all combinations of what is read, what the value says, and other (the object whose row this
 * one replaced, or NULL), until a checksum proves one. False: none. */
bool identity_find(struct arena *a, const struct row *row, const struct identity *other,
                   struct identity *ret);

/* The key that the value names; NULL when it cannot be read. */
const char *identity_key_in_value(struct arena *a, const struct row *row);

#endif
