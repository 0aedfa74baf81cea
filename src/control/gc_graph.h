/*
 * gc_graph.h - who owns whom: a small record per object (what it is, its owners, whether it is
 * being deleted and how), found by UID and by the UID of an owner. No I/O.
 *
 * There are as many records as objects, so each is one allocation. An owner is a pointer to its
 * record; an owner that was not reported has a record without a kind.
 */
#ifndef MUSTER_CONTROL_GC_GRAPH_H
#define MUSTER_CONTROL_GC_GRAPH_H

#include "base/map.h"
#include "control/gc_kinds.h"

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"

struct gc_node;

/* A dependent's tie to one of its owners. */
struct gc_owner {
    const struct kind *kind; /* NULL: not known when the object was put */
    struct gc_node *node;
    struct gc_node *dependent;
    struct gc_owner *next, **at; /* among the owner's dependents */
};

struct gc_node {
    struct gc_node *next;        /* in the same hash bucket */
    const struct kind *kind;     /* NULL: only known as an owner */
    struct gc_owner *dependents; /* the newest first */
    const char *ns, *name, *uid;
    unsigned seen_in_list;
    uint16_t owners_len;
    bool deleting : 1;
    bool foreground : 1, orphan : 1; /* has the finalizer */
    bool ask_again : 1;              /* an owner's kind may be known by now: read the object */
    struct gc_owner owners[];        /* and the strings behind them */
};

struct gc_graph {
    const struct gc_kinds *kinds;
    struct gc_node **buckets;  /* by UID */
    size_t buckets_len;        /* a power of two */
    size_t count;              /* including those only known as owners */
    struct gc_node *each_next; /* of gc_graph_each: the next one, should the current one be
                                * removed */
    struct map absent;         /* uids known to be gone, newest ABSENT_LIMIT of them */
    char (*absent_ring)[64];   /* the same, oldest at absent_next; "": none yet */
    size_t absent_next;
};

void gc_graph_release(struct gc_graph *g);

/* Adds the object's record, replacing one of the same UID. NULL: out of memory. */
struct gc_node *gc_graph_put(struct gc_graph *g, const struct kind *k, const struct json *object);
void gc_graph_remove(struct gc_graph *g, struct gc_node *node); /* frees it */
struct gc_node *gc_graph_find(const struct gc_graph *g, const char *uid);
/* Calls fn for all objects, in no order. fn may remove the one it is called with, but must not
 * change the graph otherwise. */
void gc_graph_each(struct gc_graph *g, void (*fn)(void *arg, struct gc_node *node), void *arg);
/* Possible dependents: in the owner's namespace, if it has one. fn returns false to stop and must
 * not change the graph. */
void gc_graph_each_dependent(const struct gc_graph *g, const char *uid,
                             bool (*fn)(void *arg, const struct gc_node *node), void *arg);
bool gc_graph_has_dependents(const struct gc_graph *g, const char *uid);

/* The object with that UID is gone: it never comes back. */
void gc_graph_mark_absent(struct gc_graph *g, const char *uid);

enum gc_owner_state {
    GC_OWNER_HOLDS,   /* exists, or its kind cannot be judged */
    GC_OWNER_WAITS,   /* is being deleted and waits for its dependents */
    GC_OWNER_GONE,    /* known to be gone, or in another namespace, which counts as gone */
    GC_OWNER_UNKNOWN, /* not seen: look it up in the API */
};

/* For an owner of an object in namespace ns, by what the graph knows. */
enum gc_owner_state gc_graph_owner_state(const struct gc_graph *g, const struct kind *owner_kind,
                                         const char *owner_uid, const char *ns);

#endif
