/*
 * json_finder.h - finds, sets and removes many members of one object, in time that is linear
 * altogether: members mostly come in the order of the object, and for others there is a hash table.
 */
#ifndef MUSTER_BASE_JSON_FINDER_H
#define MUSTER_BASE_JSON_FINDER_H

#include "base/json_keys.h"

struct json_finder {
    struct arena *arena, *tables; /* the same, unless the caller sets another for the table */
    struct json *object, *at;     /* at: the one that is probably wanted next */
    struct json_keys keys;
    unsigned misses;
    bool dropped; /* members, which are unlinked at the end */
};

/* object may be NULL. Meanwhile only the finder may change its members. */
struct json_finder json_finder_of(struct arena *a, struct json *object);
struct json_finder json_finder_over(struct arena *a, const struct json *object); /* only get */
/* NULL also when there is no memory for a table: without one, it would take too long. */
struct json *json_finder_get(struct json_finder *f, const char *key, size_t len);
/* Like json_set, but the value moves where a member is replaced: returns it. */
struct json *json_finder_set(struct json_finder *f, const char *key, size_t len,
                             struct json *value);
/* The member, replaced by an empty object if absent or of another type. */
struct json *json_finder_make_object(struct json_finder *f, const char *key, size_t len);
void json_finder_drop(struct json_finder *f, struct json *member); /* NULL does nothing */
void json_finder_end(struct json_finder *f);

#endif
