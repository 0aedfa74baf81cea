/*
 * change.h - one write on its way: queued, committed on the writer thread, and finally a record in
 * the watch window. It is handed over whole; the comments below say which thread may use which
 * members.
 */
#ifndef MUSTER_STORE_CHANGE_H
#define MUSTER_STORE_CHANGE_H

#include "store/store.h"

struct entry;

struct change {
    /* Fixed at creation; read by both threads. */
    const char *collection_name;
    struct blob *value; /* the new state, or the last one for a deletion */
    int64_t revision;
    int64_t replaces; /* revision of the previous state, 0: none */
    uint32_t epoch;   /* counts failed commits: a write of a failed epoch must not be made */
    bool deletion;

    /* Belong to whichever thread has it. */
    struct change *next;
    bool failed; /* set by the writer */

    /* Loop thread only. */
    struct change *flight_next; /* the next newer unsettled one */
    struct store_collection *collection;
    struct entry *entry; /* NULL once settled */
    struct blob *previous;
    store_done_fn *done;
    void *arg;
    enum store_event_type type; /* known once committed */
    unsigned refs;
    bool settled; /* done was called */

    size_t key_len;
    char key[];
};

struct change_list {
    struct change *first, *last;
};

static inline void change_list_add(struct change_list *l, struct change *c)
{
    c->next = NULL;
    if (l->last)
        l->last->next = c;
    else
        l->first = c;
    l->last = c;
}

/* Appends all of src to dst. */
static inline void change_list_move(struct change_list *dst, struct change_list *src)
{
    if (!src->first)
        return;
    if (dst->last)
        dst->last->next = src->first;
    else
        dst->first = src->first;
    dst->last = src->last;
    src->first = src->last = NULL;
}

static inline struct change *change_list_pop(struct change_list *l)
{
    struct change *c = l->first;

    if (c) {
        l->first = c->next;
        if (!l->first)
            l->last = NULL;
        c->next = NULL;
    }
    return c;
}

/* Loop thread only; with one reference. NULL: out of memory. */
struct change *change_new(const char *key, size_t key_len, struct blob *value) must_check;
struct change *change_ref(struct change *c);
void change_unref(struct change *c);

#endif
