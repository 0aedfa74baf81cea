/*
 * gc_graph.h - the ownership graph: a small record per object (its identity, owners, and deletion
 * state), indexed by UID and by the owners' UIDs. No I/O.
 */
#ifndef MUSTER_CONTROL_GC_GRAPH_H
#define MUSTER_CONTROL_GC_GRAPH_H

#include "base/map.h"
#include "control/gc_kinds.h"

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

struct gc_owner {
    const struct kind *kind; /* NULL: unknown when the object was added */
    const char *uid;
};

struct gc_node {
    const struct kind *kind;
    const char *ns, *name, *uid;
    unsigned seen_in_list;
    bool deleting;
    bool foreground, orphan; /* has the finalizer */
    bool ask_again;          /* an owner's kind may be known by now: read the object */
    size_t owners_len;
    struct gc_owner owners[]; /* followed by the strings */
};

struct gc_graph {
    const struct gc_kinds *kinds;
    struct map by_uid;     /* uid -> node */
    struct map dependents; /* "owner uid\0uid" -> node */
    struct map absent;     /* UIDs known to be gone, the newest ABSENT_LIMIT */
    char **absent_ring;
    size_t absent_next;
};

void gc_graph_release(struct gc_graph *g);

/* Adds the object's record, replacing one of the same UID. NULL: out of memory. */
struct gc_node *gc_graph_put(struct gc_graph *g, const struct kind *k, const struct json *object);
void gc_graph_remove(struct gc_graph *g, struct gc_node *node); /* frees it */
struct gc_node *gc_graph_find(const struct gc_graph *g, const char *uid);
/* Valid dependents: in the owner's namespace, if it has one. fn returns false to stop and must not
 * change the graph. */
void gc_graph_each_dependent(const struct gc_graph *g, const char *uid,
                             bool (*fn)(void *arg, const struct gc_node *node), void *arg);
bool gc_graph_has_dependents(const struct gc_graph *g, const char *uid);

/* The object with that UID is gone: it never comes back. */
void gc_graph_mark_absent(struct gc_graph *g, const char *uid);

enum gc_owner_state {
    GC_OWNER_HOLDS,   /* exists, or its kind cannot be judged */
    GC_OWNER_WAITS,   /* is being deleted and waits for its dependents */
    GC_OWNER_GONE,    /* known to be gone, or in another namespace, which counts as gone */
    GC_OWNER_UNKNOWN, /* not seen: ask the API */
};

/* For an owner of an object in namespace ns, by what the graph knows. */
enum gc_owner_state gc_graph_owner_state(const struct gc_graph *g, const struct kind *owner_kind,
                                         const char *owner_uid, const char *ns);

#endif
