/* gc_graph.c - see gc_graph.h. A record is one allocation: the struct, its owners, its strings. */
#include "control/gc_graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"

#define ABSENT_LIMIT 1024
#define FEWEST_BUCKETS 64u

/* --- records --- */

static const struct json *owners_of(const struct json *object)
{
    return json_at(object, "metadata", "ownerReferences");
}

static const char *uid_of(const struct json *owner)
{
    return json_get_string(owner, "uid", "");
}

static const char *put_text(char **at, const char *text)
{
    char *start = *at;
    size_t size = strlen(text) + 1;

    memcpy(start, text, size);
    *at += size;
    return start;
}

static struct gc_node *node_new(const char *ns, const char *name, const char *uid,
                                size_t owners_len)
{
    size_t head = sizeof(struct gc_node) + owners_len * sizeof(struct gc_owner);
    struct gc_node *n = calloc(1, head + strlen(ns) + strlen(name) + strlen(uid) + 3);
    char *text;

    if (!n)
        return NULL;
    text = (char *)n + head;
    n->ns = put_text(&text, ns);
    n->name = put_text(&text, name);
    n->uid = put_text(&text, uid);
    return n;
}

/* --- by UID --- */

static struct gc_node **bucket_of(const struct gc_graph *g, const char *uid)
{
    uint64_t h = fnv1a_64(FNV1A_64_START, uid, strlen(uid));

    return &g->buckets[(h ^ h >> 32) & (g->buckets_len - 1)];
}

/* Also one only known as an owner. */
static struct gc_node *find_any(const struct gc_graph *g, const char *uid)
{
    struct gc_node *n = g->buckets ? *bucket_of(g, uid) : NULL;

    while (n && strcmp(n->uid, uid) != 0)
        n = n->next;
    return n;
}

static void link_node(struct gc_graph *g, struct gc_node *n)
{
    struct gc_node **bucket = bucket_of(g, n->uid);

    n->next = *bucket;
    *bucket = n;
    g->count++;
}

static void unlink_node(struct gc_graph *g, const struct gc_node *n)
{
    struct gc_node **at = bucket_of(g, n->uid);

    if (g->each_next == n)
        g->each_next = n->next;
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    g->count--;
}

/* Makes room for one more. Longer chains are no failure, a missing table is. */
static bool reserve(struct gc_graph *g)
{
    size_t old_len = g->buckets_len, len = old_len ? 2 * old_len : FEWEST_BUCKETS;
    struct gc_node **old = g->buckets, **more;

    if (g->count < old_len)
        return true;
    more = calloc(len, sizeof(struct gc_node *));
    if (!more)
        return old;
    g->buckets = more;
    g->buckets_len = len;
    g->count = 0;
    for (size_t i = 0; i < old_len; i++)
        for (struct gc_node *n = old[i], *next; n; n = next) {
            next = n->next;
            link_node(g, n);
        }
    free(old);
    return true;
}

struct gc_node *gc_graph_find(const struct gc_graph *g, const char *uid)
{
    struct gc_node *n = find_any(g, uid);

    return n && n->kind ? n : NULL;
}

/* --- owners and dependents --- */

static void drop_if_unused(struct gc_graph *g, struct gc_node *n)
{
    if (n->kind || n->dependents)
        return;
    unlink_node(g, n);
    free(n);
}

static void tie(struct gc_owner *o, struct gc_node *dependent, struct gc_node *owner)
{
    o->dependent = dependent;
    o->node = owner;
    o->next = owner->dependents;
    o->at = &owner->dependents;
    if (o->next)
        o->next->at = &o->next;
    owner->dependents = o;
}

static void untie(struct gc_owner *o)
{
    *o->at = o->next;
    if (o->next)
        o->next->at = o->at;
}

static void untie_all(struct gc_graph *g, struct gc_node *n)
{
    for (size_t i = 0; i < n->owners_len; i++) {
        struct gc_node *owner = n->owners[i].node;

        untie(&n->owners[i]);
        if (owner != n)
            drop_if_unused(g, owner);
    }
    n->owners_len = 0;
}

/* The new record takes over the old one's dependents. */
static void inherit(struct gc_node *n, struct gc_node *old)
{
    n->dependents = old->dependents;
    old->dependents = NULL;
    if (n->dependents)
        n->dependents->at = &n->dependents;
    for (struct gc_owner *o = n->dependents; o; o = o->next)
        o->node = n;
}

/* A record for an object only known as an owner. */
static bool make_owner(struct gc_graph *g, const char *uid)
{
    struct gc_node *n = reserve(g) ? node_new("", "", uid, 0) : NULL;

    if (n)
        link_node(g, n);
    return n;
}

static bool make_owners(struct gc_graph *g, const struct json *object)
{
    json_each (owner, owners_of(object))
        if (!find_any(g, uid_of(owner)) && !make_owner(g, uid_of(owner)))
            return false;
    return true;
}

static void drop_unused_owners(struct gc_graph *g, const struct json *object)
{
    json_each (owner, owners_of(object)) {
        struct gc_node *n = find_any(g, uid_of(owner));

        if (n)
            drop_if_unused(g, n);
    }
}

static void fill(struct gc_graph *g, struct gc_node *n, const struct kind *k,
                 const struct json *object)
{
    const struct json *finalizers = json_at(object, "metadata", "finalizers");

    n->kind = k;
    n->deleting = object_is_deleting(object);
    n->foreground = json_has(finalizers, FINALIZER_FOREGROUND);
    n->orphan = json_has(finalizers, FINALIZER_ORPHAN);
    json_each (owner, owners_of(object)) {
        struct gc_owner *o = &n->owners[n->owners_len++];

        o->kind = gc_kinds_of_owner(g->kinds, owner);
        tie(o, n, find_any(g, uid_of(owner)));
    }
}

static bool is_same(const struct gc_graph *g, const struct gc_node *n, const struct kind *k,
                    const struct json *object)
{
    const struct json *finalizers = json_at(object, "metadata", "finalizers");
    size_t i = 0;

    if (n->kind != k || strcmp(n->ns, object_namespace(object)) != 0 ||
        strcmp(n->name, object_name(object)) != 0 || n->deleting != object_is_deleting(object) ||
        n->foreground != json_has(finalizers, FINALIZER_FOREGROUND) ||
        n->orphan != json_has(finalizers, FINALIZER_ORPHAN) ||
        n->owners_len != json_len(owners_of(object)))
        return false;
    json_each (owner, owners_of(object)) {
        if (n->owners[i].kind != gc_kinds_of_owner(g->kinds, owner) ||
            strcmp(n->owners[i].node->uid, uid_of(owner)) != 0)
            return false;
        i++;
    }
    return true;
}

/* Most writes change nothing here. */
struct gc_node *gc_graph_put(struct gc_graph *g, const struct kind *k, const struct json *object)
{
    size_t owners_len = json_len(owners_of(object));
    struct gc_node *old = gc_graph_find(g, object_uid(object)), *n;

    if (old && is_same(g, old, k, object)) {
        old->ask_again = false;
        return old;
    }
    n = owners_len <= UINT16_MAX && reserve(g)
            ? node_new(object_namespace(object), object_name(object), object_uid(object),
                       owners_len)
            : NULL;
    if (!n || !make_owners(g, object)) {
        drop_unused_owners(g, object);
        free(n);
        return NULL;
    }
    map_removes(&g->absent, n->uid); /* a server restored from a copy may bring it back */
    old = find_any(g, n->uid);       /* it may be known as an owner, if only as its own */
    if (old) {
        inherit(n, old);
        unlink_node(g, old);
    }
    link_node(g, n);
    fill(g, n, k, object);
    if (old)
        untie_all(g, old);
    free(old);
    return n;
}

/* An object that others name as their owner stays known as such. */
void gc_graph_remove(struct gc_graph *g, struct gc_node *node)
{
    untie_all(g, node);
    node->kind = NULL;
    drop_if_unused(g, node);
}

void gc_graph_each(struct gc_graph *g, void (*fn)(void *arg, struct gc_node *node), void *arg)
{
    assert(!g->each_next);
    for (size_t i = 0; i < g->buckets_len; i++)
        for (struct gc_node *n = g->buckets[i]; n; n = g->each_next) {
            g->each_next = n->next;
            if (n->kind)
                fn(arg, n);
        }
}

void gc_graph_each_dependent(const struct gc_graph *g, const char *uid,
                             bool (*fn)(void *arg, const struct gc_node *node), void *arg)
{
    const struct gc_node *owner = find_any(g, uid);
    const char *ns = owner && owner->kind && owner->kind->namespaced ? owner->ns : NULL;

    for (const struct gc_owner *o = owner ? owner->dependents : NULL; o; o = o->next)
        if ((!ns || strcmp(o->dependent->ns, ns) == 0) && !fn(arg, o->dependent))
            return;
}

static bool stop_at_first(void *arg, const struct gc_node *node)
{
    bool *found = arg;

    (void)node;
    *found = true;
    return false;
}

bool gc_graph_has_dependents(const struct gc_graph *g, const char *uid)
{
    bool found = false;

    gc_graph_each_dependent(g, uid, stop_at_first, &found);
    return found;
}

/* --- absent objects --- */

static bool is_absent(const struct gc_graph *g, const char *uid)
{
    return map_gets(&g->absent, uid);
}

void gc_graph_mark_absent(struct gc_graph *g, const char *uid)
{
    char *slot;

    if (!g->absent_ring)
        g->absent_ring = calloc(ABSENT_LIMIT, sizeof(*g->absent_ring));
    if (!g->absent_ring || strlen(uid) >= sizeof(*g->absent_ring) || is_absent(g, uid) ||
        map_puts(&g->absent, uid, g, NULL) < 0)
        return; /* forgetting it only costs an API call */
    slot = g->absent_ring[g->absent_next];
    if (*slot)
        map_removes(&g->absent, slot);
    memcpy(slot, uid, strlen(uid) + 1);
    g->absent_next = (g->absent_next + 1) % ABSENT_LIMIT;
}

void gc_graph_release(struct gc_graph *g)
{
    for (size_t i = 0; i < g->buckets_len; i++)
        for (struct gc_node *n = g->buckets[i], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    free(g->buckets);
    map_release(&g->absent, NULL);
    free(g->absent_ring);
    *g = (struct gc_graph){0};
}

enum gc_owner_state gc_graph_owner_state(const struct gc_graph *g, const struct kind *owner_kind,
                                         const char *owner_uid, const char *ns)
{
    const struct gc_node *owner = gc_graph_find(g, owner_uid);

    if (!*owner_uid)
        return GC_OWNER_HOLDS;
    if (is_absent(g, owner_uid))
        return GC_OWNER_GONE;
    if (!owner)
        return owner_kind ? GC_OWNER_UNKNOWN : GC_OWNER_HOLDS;
    if (owner->kind->namespaced && strcmp(owner->ns, ns) != 0)
        return GC_OWNER_GONE;
    return owner->deleting && owner->foreground ? GC_OWNER_WAITS : GC_OWNER_HOLDS;
}
