/* map.c - see map.h. Recursion depth is the treap's height, about 3 log2(n). */
#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"

#define FEWEST_BUCKETS 64u /* with fewer keys the tree is as fast */

static int compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
    size_t n = min_size(a_len, b_len);
    int c = n ? memcmp(a, b, n) : 0;

    if (c)
        return c < 0 ? -1 : 1;
    return a_len < b_len ? -1 : a_len > b_len;
}

static void free_tree(struct map_node *n, void (*free_value)(void *),
                      void (*free_node)(struct map_node *))
{
    while (n) {
        struct map_node *right = n->right;

        free_tree(n->left, free_value, free_node);
        if (free_value)
            free_value(n->value);
        if (free_node)
            free_node(n);
        else
            free(n);
        n = right;
    }
}

static void forget_tree(struct map *m)
{
    free(m->buckets);
    *m = (struct map)MAP_INIT;
}

void map_release(struct map *m, void (*free_value)(void *value))
{
    free_tree(m->root, free_value, NULL);
    forget_tree(m);
}

void map_release_nodes(struct map *m, void (*free_node)(struct map_node *n))
{
    free_tree(m->root, NULL, free_node);
    forget_tree(m);
}

static uint64_t mix(uint64_t h, const void *part, size_t len)
{
    uint64_t v = 0;

    memcpy(&v, part, len);
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint32_t priority_of(const char *key, size_t len)
{
    uint64_t h = len;

    for (; len >= sizeof(h); key += sizeof(h), len -= sizeof(h))
        h = mix(h, key, sizeof(h));
    h = mix(h, key, len);
    return (uint32_t)(h ^ h >> 32);
}

/* --- the hash table --- */

static struct map_node **bucket_of(const struct map *m, uint32_t priority)
{
    return &m->buckets[priority & (m->buckets_len - 1)];
}

static void bucket_add(struct map *m, struct map_node *n)
{
    struct map_node **bucket = bucket_of(m, n->priority);

    n->next = *bucket;
    *bucket = n;
}

static void bucket_remove(struct map *m, const struct map_node *n)
{
    struct map_node **at = bucket_of(m, n->priority);

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
}

static void bucket_tree(struct map *m, struct map_node *n)
{
    for (; n; n = n->right) {
        bucket_tree(m, n->left);
        bucket_add(m, n);
    }
}

/* Out of memory only makes lookups slower: they fall back to the tree. */
static void grow_buckets(struct map *m)
{
    size_t len = m->buckets_len ? 2 * m->buckets_len : FEWEST_BUCKETS;
    struct map_node **more = m->count >= len ? calloc(len, sizeof(struct map_node *)) : NULL;

    if (!more)
        return;
    free(m->buckets);
    m->buckets = more;
    m->buckets_len = len;
    bucket_tree(m, m->root);
}

/* --- the tree --- */

static struct map_node *find_in_tree(const struct map *m, const void *key, size_t len)
{
    struct map_node *n = m->root;

    while (n) {
        int c = compare(key, len, n->key, n->key_len);

        if (c == 0)
            return n;
        n = c < 0 ? n->left : n->right;
    }
    return NULL;
}

struct map_node *map_find(const struct map *m, const void *key, size_t len)
{
    struct map_node *n;
    uint32_t priority;

    if (!m->buckets)
        return find_in_tree(m, key, len);
    priority = priority_of(key, len);
    n = *bucket_of(m, priority);
    while (n && (n->priority != priority || compare(key, len, n->key, n->key_len) != 0))
        n = n->next;
    return n;
}

void *map_get(const struct map *m, const void *key, size_t len)
{
    struct map_node *n = map_find(m, key, len);

    return n ? n->value : NULL;
}

static uint32_t size_of(const struct map_node *n)
{
    return n ? n->size : 0;
}

static void resize(struct map_node *n)
{
    n->size = 1 + size_of(n->left) + size_of(n->right);
}

static struct map_node *insert(struct map_node *root, struct map_node *n)
{
    struct map_node *child;

    if (!root)
        return n;
    if (compare(n->key, n->key_len, root->key, root->key_len) < 0) {
        child = insert(root->left, n);
        root->left = child;
        if (child->priority > root->priority) {
            root->left = child->right;
            child->right = root;
            resize(root);
            resize(child);
            return child;
        }
    } else {
        child = insert(root->right, n);
        root->right = child;
        if (child->priority > root->priority) {
            root->right = child->left;
            child->left = root;
            resize(root);
            resize(child);
            return child;
        }
    }
    root->size++;
    return root;
}

size_t map_node_size(size_t before, size_t key_len)
{
    return before + max_size(offsetof(struct map_node, key) + key_len + 1, sizeof(struct map_node));
}

void map_node_init(struct map_node *n, const void *key, size_t len)
{
    assert(len < UINT32_MAX);
    *n = (struct map_node){.size = 1, .priority = priority_of(key, len), .key_len = (uint32_t)len};
    memcpy(n->key, key, len);
    n->key[len] = '\0';
}

void map_link(struct map *m, struct map_node *n)
{
    assert(!n->left && !n->right && n->size == 1);
    m->root = insert(m->root, n);
    m->count++;
    if (m->buckets)
        bucket_add(m, n);
    grow_buckets(m);
}

int map_put(struct map *m, const void *key, size_t len, void *value, void **ret_old)
{
    struct map_node *n = map_find(m, key, len);

    if (ret_old)
        *ret_old = n ? n->value : NULL;
    if (n) {
        n->value = value;
        return 0;
    }
    n = memory_checked(malloc(map_node_size(0, len)));
    if (!n)
        return -ENOMEM;
    map_node_init(n, key, len);
    n->value = value;
    map_link(m, n);
    return 0;
}

static struct map_node *join(struct map_node *left, struct map_node *right)
{
    if (!left)
        return right;
    if (!right)
        return left;
    if (left->priority > right->priority) {
        left->right = join(left->right, right);
        resize(left);
        return left;
    }
    right->left = join(left, right->left);
    resize(right);
    return right;
}

void map_unlink(struct map *m, struct map_node *n)
{
    struct map_node **at = &m->root;

    while (*at != n) {
        (*at)->size--;
        at = compare(n->key, n->key_len, (*at)->key, (*at)->key_len) < 0 ? &(*at)->left
                                                                         : &(*at)->right;
    }
    *at = join(n->left, n->right);
    if (m->buckets)
        bucket_remove(m, n);
    m->count--;
    n->left = n->right = NULL;
    n->size = 1;
}

void *map_remove(struct map *m, const void *key, size_t len)
{
    struct map_node *n = map_find(m, key, len);
    void *value;

    if (!n)
        return NULL;
    map_unlink(m, n);
    value = n->value;
    free(n);
    return value;
}

static struct map_node *first_from(const struct map *m, const void *key, size_t len, int least)
{
    struct map_node *n = m->root, *best = NULL;

    while (n) {
        if (compare(n->key, n->key_len, key, len) >= least) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct map_node *map_seek(const struct map *m, const void *key, size_t len)
{
    return first_from(m, key, len, 0);
}

struct map_node *map_after(const struct map *m, const void *key, size_t len)
{
    return first_from(m, key, len, 1);
}

static bool visit(struct map_node *n, const void *key, size_t len, map_visit_fn *fn, void *arg)
{
    for (; n; n = n->right) {
        if (key && compare(n->key, n->key_len, key, len) <= 0)
            continue;
        if (!visit(n->left, key, len, fn, arg) || !fn(arg, n))
            return false;
        key = NULL; /* all to the right of it are greater */
    }
    return true;
}

void map_visit_after(const struct map *m, const void *key, size_t len, map_visit_fn *fn, void *arg)
{
    (void)visit(m->root, key, len, fn, arg);
}

size_t map_rank(const struct map *m, const void *key, size_t len)
{
    const struct map_node *n = m->root;
    size_t rank = 0;

    while (n) {
        if (compare(n->key, n->key_len, key, len) >= 0) {
            n = n->left;
        } else {
            rank += 1u + size_of(n->left);
            n = n->right;
        }
    }
    return rank;
}

struct map_node *map_first(const struct map *m)
{
    struct map_node *n = m->root;

    while (n && n->left)
        n = n->left;
    return n;
}

void *map_gets(const struct map *m, const char *key)
{
    return map_get(m, key, strlen(key));
}

int map_puts(struct map *m, const char *key, void *value, void **ret_old)
{
    return map_put(m, key, strlen(key), value, ret_old);
}

void *map_removes(struct map *m, const char *key)
{
    return map_remove(m, key, strlen(key));
}
