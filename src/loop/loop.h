/*
 * loop.h - the one event loop: libuv behind our own names. Everything here belongs to the loop's
 * thread except loop_wake_send and what loop_work runs.
 */
#ifndef MUSTER_LOOP_LOOP_H
#define MUSTER_LOOP_LOOP_H

#include "base/err.h"
#include "port/clock.h"

struct loop;

struct loop *loop_new(struct err *err) must_check;
/* Closes every open handle, runs the close callbacks, frees. Waits for work under way and calls its
 * done; drops deferred calls and timers. */
void loop_free(struct loop *l);
void loop_run(struct loop *l);      /* until loop_stop */
void loop_run_once(struct loop *l); /* one turn, waiting for something to happen; for tests */
void loop_stop(struct loop *l);

struct clock *loop_clock(struct loop *l);
int64_t loop_monotonic_ms(struct loop *l); /* for intervals; cached once per turn */

/* Runs fn after the current turn's callbacks, before the loop sleeps again. Never from inside this
 * call. */
int loop_defer(struct loop *l, void (*fn)(void *arg), void *arg) must_check;
/* Called once per turn before the loop sleeps, while registered: where writes are batched. */
struct loop_hook;
struct loop_hook *loop_before_sleep(struct loop *l, void (*fn)(void *arg), void *arg) must_check;
void loop_hook_free(struct loop_hook *h);

/* Watches a descriptor, which stays the caller's, with at most one watch each; it is made
 * non-blocking. Stop watching before closing it. Level-triggered; after an error on the descriptor
 * (reported as all requested events plus LOOP_HANGUP) only loop_fd_change resumes it. NULL with
 * errno set when it cannot be watched. */
enum loop_fd_event { LOOP_READABLE = 1, LOOP_WRITABLE = 2, LOOP_HANGUP = 4 };
struct loop_fd;
struct loop_fd *loop_fd_watch(struct loop *l, int fd, unsigned events,
                              void (*fn)(void *arg, unsigned events), void *arg) must_check;
int loop_fd_change(struct loop_fd *w,
                   unsigned events);  /* negative errno when the descriptor cannot be watched */
void loop_fd_stop(struct loop_fd *w); /* NULL-safe; fn is not called again */

/* Wakes the loop from any thread; several sends may arrive as one call. No thread may send once it
 * is freed. */
struct loop_wake;
struct loop_wake *loop_wake_new(struct loop *l, void (*fn)(void *arg), void *arg) must_check;
void loop_wake_send(struct loop_wake *w);
void loop_wake_free(struct loop_wake *w);

struct loop_signal;
struct loop_signal *loop_signal_watch(struct loop *l, int signum, void (*fn)(void *arg, int signum),
                                      void *arg) must_check;
void loop_signal_stop(struct loop_signal *s);

/* Runs work on a pool thread, then done on the loop. -ENOMEM or -EAGAIN when it could not be
 * queued. */
int loop_work(struct loop *l, void (*work)(void *arg), void (*done)(void *arg),
              void *arg) must_check;

#endif
