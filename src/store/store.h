/*
 * store.h - durable objects with one revision counter, and their recent history for watches.
 *
 * SQLite in WAL mode with synchronous=FULL is the truth; every committed object is in memory too,
 * so reads never touch the disk; those that are seldom asked for are kept small there. Writes of
 * one loop turn are one transaction on the writer thread (group commit). A write is visible to
 * store_get, store_list and watches only once it is on disk, in revision order, together with its
 * done callback; store_head shows it at once, for preconditions of the writes behind it. When a
 * commit fails, it and every write queued behind it fail, head falls back to what is committed, and
 * the store goes on. The history for watches is on disk too, and read again when the store is
 * opened.
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
        *value; /* the object's JSON, metadata.resourceVersion inside; valid while the item is */
    const char *key;
};

enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_event {
    int64_t revision;
    enum store_event_type type;
    const char *key;
    struct blob *value;    /* the new state; for STORE_DELETED the last state with the deletion's
                              revision in it */
    struct blob *previous; /* the state before, NULL for STORE_ADDED */
};

struct store_options {
    size_t window_events; /* history kept per collection; 0: a default */
    size_t window_bytes;  /* and at most this many bytes of it; 0: a default */
    size_t ready_bytes;   /* of objects that are kept as they are; 0: a default */
};

/* path: the database file, made if absent, mode 0600. One of an older layout is brought up to date.
 */
struct store *store_open(struct loop *l, const char *path, const struct store_options *options,
                         struct err *err) must_check;
/* Commits what is queued, then closes. Done callbacks of writes that were queued are called; what
 * they write is refused. Watches still open see nothing more and may be freed later. */
void store_close(struct store *s);

struct store_collection *
store_collection(struct store *s, const char *name); /* made on first use; NULL: no memory */

int64_t store_revision(struct store *s); /* of the newest committed write */

/* Valid until the next turn of the loop, or a write of it is committed. */
const struct store_item *store_get(struct store_collection *c, const char *key);
const struct store_item *store_head(struct store_collection *c,
                                    const char *key); /* NULL also when being deleted */
size_t store_count(struct store_collection *c);

/* Committed items in key order, from the first key > after (NULL: from the start) that begins with
 * prefix. fn returns false to stop; the item's value is valid during the call. No write may happen
 * inside fn. */
void store_list(struct store_collection *c, const char *prefix, const char *after,
                bool (*fn)(void *arg, const struct store_item *item), void *arg);

/* How many store_list would tell, about: writes that are under way may count. */
size_t store_count_after(struct store_collection *c, const char *prefix, const char *after);

/* The same as store_head shows them. */
void store_list_heads(struct store_collection *c,
                      bool (*fn)(void *arg, const struct store_item *item), void *arg);
/* Raised when writes have failed: what was a head may not be one any more. */
uint32_t store_epoch(const struct store *s);

/* A write in two steps on the same turn: the revision it will have, then the value that carries it.
 */
int64_t store_next_revision(struct store *s);

/* err is NULL when the write is on disk. Called on the loop thread, never from inside store_put. */
typedef void store_done_fn(void *arg, const struct err *err);

/* value is the whole object; for a deletion its last state. Both with revision
 * store_next_revision() inside. Preconditions are the caller's, checked against store_head on the
 * same turn. done may be NULL. -ENOENT: nothing to delete; -ENAMETOOLONG: a key of more than 1024
 * bytes; -ENOSPC: the disk is full, and this would be a new object; -ESHUTDOWN: closing; -ENOMEM.
 * Nothing has happened then. */
int store_put(struct store_collection *c, const char *key, struct blob *value, store_done_fn *done,
              void *arg) must_check;
int store_delete(struct store_collection *c, const char *key, struct blob *last,
                 store_done_fn *done, void *arg) must_check;

/* Events after revision from, pulled with store_watch_next when on_ready was called (or right after
 * opening). -ESTALE with ERR_EXPIRED when from is older than the window; from in the future just
 * waits. */
int store_watch_open(struct store_collection *c, int64_t from, void (*on_ready)(void *arg),
                     void *arg, struct store_watch **ret, struct err *err) must_check;
/* 1: *ret is the next event, valid until the next call; 0: none now; -ESTALE: fell out of the
 * window. */
int store_watch_next(struct store_watch *w, struct store_event *ret) must_check;
void store_watch_free(struct store_watch *w);

/* An object whose stored state was found to be damaged when the store was opened. It is neither
 * read nor listed, in no state; a write or a deletion of its key ends that. */
struct store_damage {
    const char *collection, *key;
    int64_t revision;
};

int64_t store_damaged(struct store_collection *c, const char *key); /* its revision; 0: it is not */
size_t store_damage_count(const struct store *s);
void store_each_damage(struct store *s, void (*fn)(void *arg, const struct store_damage *damage),
                       void *arg);

#endif
