/*
 * store.h - durable objects with one revision counter, and their recent history for watches.
 *
 * SQLite in WAL mode with synchronous=FULL is the source of truth; every committed object is also
 * in memory, so reads never touch the disk; rarely used ones are compressed there. The writes of
 * one loop turn are one transaction on the writer thread (group commit). A write is visible to
 * store_get, store_list and watches only once it is on disk, in revision order, together with its
 * done callback; store_head shows it at once, for preconditions of later writes. When a commit
 * fails, it and every write queued behind it fail, heads are reverted to the committed state, and
 * the store continues. The history for watches is on disk too, and read again on opening.
 *
 * All functions run on the loop's thread. A collection is a kind's "group/plural" ("/pods" for
 * core), a key is "namespace/name" or "name".
 */
#ifndef MUSTER_STORE_STORE_H
#define MUSTER_STORE_STORE_H

#include "base/blob.h"
#include "base/err.h"
#include "loop/loop.h"

struct store;
struct store_collection;
struct store_watch;

struct store_item {
    int64_t revision; /* of its last write */
    struct blob
        *value; /* the object's JSON, including metadata.resourceVersion; valid while the item is */
    const char *key;
};

enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_event {
    int64_t revision;
    enum store_event_type type;
    const char *key;
    struct blob *value;    /* the new state; for STORE_DELETED the last one, with the deletion's
                            * revision */
    struct blob *previous; /* the previous state, NULL for STORE_ADDED */
};

struct store_options {
    size_t window_events; /* history kept per collection; 0: a default */
    size_t window_bytes;  /* and at most this many bytes; 0: a default */
    size_t ready_bytes;   /* of objects kept uncompressed; 0: a default */
};

/* path: the database file, created if absent, mode 0600. An older layout is upgraded. */
struct store *store_open(struct loop *l, const char *path, const struct store_options *options,
                         struct err *err) must_check;
/* Commits what is queued, then closes. Done callbacks of queued writes are called; new writes in
 * them are refused. Open watches see nothing more and may be freed later. */
void store_close(struct store *s);

struct store_collection *
store_collection(struct store *s, const char *name); /* created on first use; NULL: out of memory */

int64_t store_revision(struct store *s); /* of the newest committed write */

/* Valid until the next turn of the loop, or until a write to it is committed. */
const struct store_item *store_get(struct store_collection *c, const char *key);
const struct store_item *store_head(struct store_collection *c,
                                    const char *key); /* NULL also when being deleted */
size_t store_count(struct store_collection *c);

/* Committed items with the prefix in key order, from the first key > after (NULL: from the start).
 * fn returns false to stop; the item's value is valid during the call. No writes inside fn. */
void store_list(struct store_collection *c, const char *prefix, const char *after,
                bool (*fn)(void *arg, const struct store_item *item), void *arg);

/* How many items store_list would visit, approximately: pending writes may count. */
size_t store_count_after(struct store_collection *c, const char *prefix, const char *after);

/* The same with the states store_head shows. */
void store_list_heads(struct store_collection *c,
                      bool (*fn)(void *arg, const struct store_item *item), void *arg);
/* Incremented when writes have failed: a former head may no longer be one. */
uint32_t store_epoch(const struct store *s);

/* A write takes two steps on the same turn: its revision, then the value that contains it. */
int64_t store_next_revision(struct store *s);

/* err is NULL once the write is on disk. Called on the loop thread, never from inside store_put. */
typedef void store_done_fn(void *arg, const struct err *err);

/* value is the whole object; for a deletion its last state. Both contain the revision
 * store_next_revision(). Preconditions are up to the caller, checked against store_head on the same
 * turn. done may be NULL. -ENOENT: nothing to delete; -ENAMETOOLONG: a key longer than 1024 bytes;
 * -ENOSPC: the disk is full, and this would be a new object; -ESHUTDOWN: closing; -ENOMEM. On error
 * nothing has happened. */
int store_put(struct store_collection *c, const char *key, struct blob *value, store_done_fn *done,
              void *arg) must_check;
int store_delete(struct store_collection *c, const char *key, struct blob *last,
                 store_done_fn *done, void *arg) must_check;

/* Events after revision `from`, pulled with store_watch_next after on_ready (or right after
 * opening). -ESTALE with ERR_EXPIRED when from is older than the window; a future one just
 * waits. */
int store_watch_open(struct store_collection *c, int64_t from, void (*on_ready)(void *arg),
                     void *arg, struct store_watch **ret, struct err *err) must_check;
/* 1: *ret is the next event, valid until the next call; 0: none now; -ESTALE: it fell out of the
 * window. */
int store_watch_next(struct store_watch *w, struct store_event *ret) must_check;
void store_watch_free(struct store_watch *w);

/* To be called now and then, between two turns: changes that were there at the last call leave the
 * windows, and values not read since are compressed. */
void store_age(struct store *s);

/* An object whose stored state was found corrupt on opening. It is neither read nor listed, in any
 * state; writing or deleting its key ends that.
 *
 * When even the object's identity is lost, everything the row names is withheld, and any absent
 * object may be the one: only store_damage_forget ends that. */
struct store_damage {
    const char *collection; /* NULL: may be any */
    const char *key;        /* NULL: not known which object it is */
    int64_t revision;       /* of the row */
};

int64_t store_damaged(struct store_collection *c,
                      const char *key); /* its revision; 0: not damaged */
/* The revision of a corrupt row of an unknown object that may be in the collection; 0: none. */
int64_t store_damage_unidentified(const struct store_collection *c);
/* Deletes the corrupt row: its object is lost. -ENOENT: there is none of that revision. */
int store_damage_forget(struct store *s, int64_t revision, store_done_fn *done,
                        void *arg) must_check;
size_t store_damage_count(const struct store *s);
void store_each_damage(struct store *s, void (*fn)(void *arg, const struct store_damage *damage),
                       void *arg);

#endif
