/* gc_graph.c - see gc_graph.h. A record is one allocation: struct, owners and their strings. */
#include "control/gc_graph.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/buf.h"

#define ABSENT_LIMIT 1024
#define KEY_LIMIT_BYTES 2048u

/* --- records --- */

static const struct json *owners_of(const struct json *object)
{
    return json_at(object, "metadata", "ownerReferences");
}

static size_t text_size(const struct json *object)
{
    size_t size = strlen(object_namespace(object)) + strlen(object_name(object)) +
                  strlen(object_uid(object)) + 3;

    json_each (owner, owners_of(object))
        size += strlen(json_get_string(owner, "uid", "")) + 1;
    return size;
}

static const char *put_text(char **at, const char *text)
{
    char *start = *at;
    size_t size = strlen(text) + 1;

    memcpy(start, text, size);
    *at += size;
    return start;
}

static struct gc_node *node_new(const struct gc_kinds *known, const struct kind *k,
                                const struct json *object)
{
    size_t owners_len = json_len(owners_of(object));
    size_t head = sizeof(struct gc_node) + owners_len * sizeof(struct gc_owner);
    struct gc_node *n = calloc(1, head + text_size(object));
    const struct json *finalizers = json_at(object, "metadata", "finalizers");
    char *text;

    if (!n)
        return NULL;
    text = (char *)n + head;
    n->kind = k;
    n->ns = put_text(&text, object_namespace(object));
    n->name = put_text(&text, object_name(object));
    n->uid = put_text(&text, object_uid(object));
    n->deleting = object_is_deleting(object);
    n->foreground = json_has(finalizers, FINALIZER_FOREGROUND);
    n->orphan = json_has(finalizers, FINALIZER_ORPHAN);
    json_each (owner, owners_of(object)) {
        struct gc_owner *o = &n->owners[n->owners_len++];

        o->kind = gc_kinds_of_owner(known, owner);
        o->uid = put_text(&text, json_get_string(owner, "uid", ""));
    }
    return n;
}

/* --- keys --- */

static void write_dependent_key(struct buf *out, const char *owner_uid, const char *uid)
{
    buf_add(out, owner_uid, strlen(owner_uid) + 1);
    buf_adds(out, uid);
}

static void unindex(struct gc_graph *g, const struct gc_node *n)
{
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);

    for (size_t i = 0; i < n->owners_len; i++) {
        buf_clear(&key);
        write_dependent_key(&key, n->owners[i].uid, n->uid);
        if (!key.failed)
            map_remove(&g->dependents, key.data, key.len);
    }
    buf_release(&key);
}

static bool put_under(struct map *m, const struct buf *key, struct gc_node *n)
{
    return !key->failed && map_put(m, key->data, key->len, n, NULL) == 0;
}

static bool index_node(struct gc_graph *g, struct gc_node *n)
{
    struct buf key = BUF_INIT(KEY_LIMIT_BYTES);
    bool ok = true;

    for (size_t i = 0; ok && i < n->owners_len; i++) {
        buf_clear(&key);
        write_dependent_key(&key, n->owners[i].uid, n->uid);
        ok = put_under(&g->dependents, &key, n);
    }
    buf_release(&key);
    return ok && map_puts(&g->by_uid, n->uid, n, NULL) == 0;
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
            strcmp(n->owners[i].uid, json_get_string(owner, "uid", "")) != 0)
            return false;
        i++;
    }
    return true;
}

/* Most writes change nothing here. */
struct gc_node *gc_graph_put(struct gc_graph *g, const struct kind *k, const struct json *object)
{
    struct gc_node *old = gc_graph_find(g, object_uid(object)), *n;

    if (old && is_same(g, old, k, object)) {
        old->ask_again = false;
        return old;
    }
    n = node_new(g->kinds, k, object);
    if (!n)
        return NULL;
    if (old)
        gc_graph_remove(g, old);
    map_removes(&g->absent, n->uid); /* a server restored from a backup may bring it back */
    if (index_node(g, n))
        return n;
    unindex(g, n);
    free(n);
    return NULL;
}

void gc_graph_remove(struct gc_graph *g, struct gc_node *node)
{
    unindex(g, node);
    map_removes(&g->by_uid, node->uid);
    free(node);
}

struct gc_node *gc_graph_find(const struct gc_graph *g, const char *uid)
{
    return map_gets(&g->by_uid, uid);
}

void gc_graph_each_dependent(const struct gc_graph *g, const char *uid,
                             bool (*fn)(void *arg, const struct gc_node *node), void *arg)
{
    size_t prefix = strlen(uid) + 1; /* including the NUL after the UID in the key */
    struct map_node *at = map_seek(&g->dependents, uid, prefix);
    const struct gc_node *owner = gc_graph_find(g, uid);
    const char *ns = owner && owner->kind->namespaced ? owner->ns : NULL;

    while (at && at->key_len >= prefix && memcmp(at->key, uid, prefix) == 0) {
        const struct gc_node *dependent = at->value;

        if ((!ns || strcmp(dependent->ns, ns) == 0) && !fn(arg, dependent))
            return;
        at = map_after(&g->dependents, at->key, at->key_len);
    }
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
    char *copy;

    if (!g->absent_ring)
        g->absent_ring = calloc(ABSENT_LIMIT, sizeof(*g->absent_ring));
    if (!g->absent_ring || is_absent(g, uid) || !(copy = strdup(uid)))
        return; /* forgetting it only costs an API call */
    if (map_puts(&g->absent, uid, g, NULL) < 0) {
        free(copy);
        return;
    }
    if (g->absent_ring[g->absent_next]) {
        map_removes(&g->absent, g->absent_ring[g->absent_next]);
        free(g->absent_ring[g->absent_next]);
    }
    g->absent_ring[g->absent_next] = copy;
    g->absent_next = (g->absent_next + 1) % ABSENT_LIMIT;
}

void gc_graph_release(struct gc_graph *g)
{
    map_release(&g->dependents, NULL);
    map_release(&g->by_uid, free);
    map_release(&g->absent, NULL);
    for (size_t i = 0; g->absent_ring && i < ABSENT_LIMIT; i++)
        free(g->absent_ring[i]);
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
