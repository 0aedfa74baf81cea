/* loop_internal.h - what the files of src/loop share. The only header that knows libuv. */
#ifndef MUSTER_LOOP_LOOP_INTERNAL_H
#define MUSTER_LOOP_LOOP_INTERNAL_H

#include <uv.h>

#include "loop/loop.h"

struct deferred {
    void (*fn)(void *arg);
    void *arg;
};

struct deferred_queue {
    struct deferred *items;
    size_t count, cap;
};

/* When woken by its loop's own thread it is queued in a list, which costs no system call. */
struct loop_wake {
    uv_async_t handle;
    struct loop *loop;
    struct loop_wake *next;
    uint64_t turn; /* when it was woken */
    bool listed;
    void (*fn)(void *arg);
    void *arg;
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare; /* the moment before sleeping: deferred calls, then the hooks */
    uv_idle_t awake;      /* active while the loop must not sleep */
    struct clock clock;
    struct deferred_queue deferred, running; /* running: being called now, its memory reused */
    struct loop_wake *woken, **woken_end;    /* oldest first */
    uint64_t turn;
    struct loop_hook *hooks;
    struct loop_hook *next_hook; /* next to call; advanced when that hook is freed */
    bool once;                   /* inside loop_run_once */
    bool happened;               /* something was already called in this turn */
};

extern _Thread_local struct loop *loop_of_thread; /* the loop this thread runs, or NULL */

/* Closes a handle whose data points at the allocation it lives in (or NULL), and frees that. */
void loop_handle_close(uv_handle_t *handle);

/* watch.c: before it is called or freed. */
void loop_wake_unlist(struct loop_wake *w);

/* timer.c: gives the loop its clock; frees a timer of delay 0 whose deferred call will not come. */
void loop_timers_init(struct loop *l);
void loop_timers_drop(const struct deferred *d);

#endif
