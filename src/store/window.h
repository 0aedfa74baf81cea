/* window.h - the recent changes of one collection, and their readers. Loop thread only. */
#ifndef MUSTER_STORE_WINDOW_H
#define MUSTER_STORE_WINDOW_H

#include "store/change.h"

struct window {
    struct change **ring;
    size_t cap, first, count;
    size_t limit_events, limit_bytes, used_bytes;
    uint64_t first_number;  /* of the oldest change held; consecutive */
    int64_t start_revision; /* every change after it is held */
    int64_t aged_revision;  /* of the newest change when it was last aged */
    struct store_watch *watches;
    struct store_watch *next_watch; /* to notify next; advanced when it is freed */
};

int window_init(struct window *w, int64_t start_revision, size_t limit_events,
                size_t limit_bytes) must_check;
void window_release(struct window *w); /* open watches are detached and see nothing more */

void window_add(struct window *w, struct change *c);     /* takes its own reference; cannot fail */
void window_restart(struct window *w, int64_t revision); /* forgets everything up to revision */
/* Forgets what was there at the last call already. */
void window_age(struct window *w);
void window_tell(struct window *w); /* notifies waiting watches that have something to read */

int window_watch(struct window *w, int64_t from, void (*on_ready)(void *arg), void *arg,
                 struct store_watch **ret, struct err *err) must_check;

#endif
