/* window.h - the recent changes of one collection, and who reads them. Loop thread only. */
#ifndef MUSTER_STORE_WINDOW_H
#define MUSTER_STORE_WINDOW_H

#include "store/change.h"

struct window {
    struct change **ring;
    size_t cap, first, count;
    size_t limit_events, limit_bytes, used_bytes;
    uint64_t first_number;  /* of the oldest change held; they are numbered as they come */
    int64_t start_revision; /* every change after it is held */
    struct store_watch *watches;
    struct store_watch *next_watch; /* to be told next; moved on when that one is freed */
};

int window_init(struct window *w, int64_t start_revision, size_t limit_events,
                size_t limit_bytes) must_check;
void window_release(struct window *w); /* watches still open are cut loose and see nothing more */

void window_add(struct window *w, struct change *c); /* takes a reference of its own; cannot fail */
void window_restart(struct window *w, int64_t revision); /* what is not newer is not known */
void window_tell(struct window *w); /* watches that wait and now have something */

int window_watch(struct window *w, int64_t from, void (*on_ready)(void *arg), void *arg,
                 struct store_watch **ret, struct err *err) must_check;

#endif
