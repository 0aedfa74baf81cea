/*
 * map.h - an ordered map from byte strings to pointers (a treap: balanced by hashed priorities, so
 * iteration is in key order and changes are logarithmic whatever the insertion order). A large map
 * also has a hash table: among 100,000 keys a tree walk misses the processor's cache some twenty
 * times.
 *
 * The map copies keys and does not own values. Keys may contain NUL bytes; order is memcmp, shorter
 * first.
 */
#ifndef MUSTER_BASE_MAP_H
#define MUSTER_BASE_MAP_H

#include "base/base.h"

struct map_node {
    struct map_node *left, *right;
    struct map_node *next;   /* in its bucket */
    uint32_t priority, size; /* size: of the subtree, itself included */
    void *value;
    uint32_t key_len;
    char key[]; /* also NUL-terminated */
};

struct map {
    struct map_node *root;
    size_t count;
    struct map_node **buckets; /* by priority, which is a hash of the key; NULL: none */
    size_t buckets_len;        /* a power of two */
};

#define MAP_INIT                                                                                   \
    {                                                                                              \
        .root = NULL, .count = 0, .buckets = NULL, .buckets_len = 0                                \
    }

void map_release(struct map *m, void (*free_value)(void *value)); /* free_value may be NULL */

void *map_get(const struct map *m, const void *key, size_t len);
/* Returns 0 and, if ret_old is not NULL, the previous value or NULL in it; on -ENOMEM the map is
 * unchanged. */
int map_put(struct map *m, const void *key, size_t len, void *value, void **ret_old) must_check;
void *map_remove(struct map *m, const void *key, size_t len); /* the removed value or NULL */

/* First node with key >= (or > when after) the given key; NULL at the end. Iterate with
 * map_after(m, node). */
struct map_node *map_seek(const struct map *m, const void *key, size_t len);
struct map_node *map_after(const struct map *m, const void *key, size_t len);
struct map_node *map_first(const struct map *m);
/* Nodes with keys > the given one (NULL: all), in order, until fn returns false: much faster than
 * map_after where there are many. fn may not change the map. */
typedef bool map_visit_fn(void *arg, struct map_node *n);
void map_visit_after(const struct map *m, const void *key, size_t len, map_visit_fn *fn, void *arg);
/* How many keys come before this one. */
size_t map_rank(const struct map *m, const void *key, size_t len);

/* For a structure that embeds its node: a `struct map_node` as its last member, allocated with room
 * for the key, which the map neither copies nor frees. The value belongs to the caller. */
size_t map_node_size(size_t before, size_t key_len); /* before: offsetof the node */
void map_node_init(struct map_node *n, const void *key, size_t len);
struct map_node *map_find(const struct map *m, const void *key, size_t len);
void map_link(struct map *m, struct map_node *n); /* its key must not be in the map */
void map_unlink(struct map *m, struct map_node *n);
void map_release_nodes(struct map *m, void (*free_node)(struct map_node *n));

/* For string keys. The body of map_for_each may not remove nodes: collect keys first, or
 * loop on map_first. */
void *map_gets(const struct map *m, const char *key);
int map_puts(struct map *m, const char *key, void *value, void **ret_old) must_check;
void *map_removes(struct map *m, const char *key);

#define map_for_each(node, m)                                                                      \
    for (struct map_node *node = map_first(m); node; node = map_after(m, node->key, node->key_len))

#endif
