/*
 * fake_clock.h - a clock (port/clock.h) that stands still until a test steps it. Timers fire in the
 * order they are due, equal ones in the order they were started; a delay of 0 fires on the next
 * turn.
 */
#ifndef MUSTER_TESTS_FAKE_CLOCK_H
#define MUSTER_TESTS_FAKE_CLOCK_H

#include <assert.h>
#include <stdlib.h>

#include "port/clock.h"

struct clock_timer {
    struct clock_timer *next;
    int64_t due_ms;
    uint64_t order;
    void (*fn)(void *arg);
    void *arg;
};

struct fake_clock {
    struct clock clock;
    int64_t now_ms;
    uint64_t started;
    struct clock_timer *timers; /* in the order they fire */
};

static inline int64_t fake_clock_now(struct clock *c)
{
    return container_of(c, struct fake_clock, clock)->now_ms;
}

static inline struct clock_timer *fake_clock_start(struct clock *c, int64_t delay_ms,
                                                   void (*fn)(void *arg), void *arg)
{
    struct fake_clock *f = container_of(c, struct fake_clock, clock);
    struct clock_timer *t = calloc(1, sizeof(*t)), **at = &f->timers;

    assert(t);
    t->due_ms = f->now_ms + max_i64(delay_ms, 0);
    t->order = ++f->started;
    t->fn = fn;
    t->arg = arg;
    while (*at && (*at)->due_ms <= t->due_ms)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    return t;
}

static inline void fake_clock_stop(struct clock *c, struct clock_timer *t)
{
    struct fake_clock *f = container_of(c, struct fake_clock, clock);
    struct clock_timer **at = &f->timers;

    while (*at != t) {
        assert(*at); /* stopping a timer that has fired is a bug of its owner */
        at = &(*at)->next;
    }
    *at = t->next;
    free(t);
}

static const struct clock_ops fake_clock_ops = {
    .now_ms = fake_clock_now, .start = fake_clock_start, .stop = fake_clock_stop};

static inline void fake_clock_init(struct fake_clock *f)
{
    *f = (struct fake_clock){.clock = {&fake_clock_ops}, .now_ms = 1763193600000};
}

static inline void fake_clock_release(struct fake_clock *f)
{
    while (f->timers)
        fake_clock_stop(&f->clock, f->timers);
}

/* One turn: fires what is due now, but not what that starts. False when there was nothing. */
static inline bool fake_clock_turn(struct fake_clock *f)
{
    uint64_t last = f->started;
    bool any = false;

    for (;;) {
        struct clock_timer **at = &f->timers, *t;

        while (*at && (*at)->due_ms <= f->now_ms && (*at)->order > last)
            at = &(*at)->next;
        t = *at;
        if (!t || t->due_ms > f->now_ms)
            return any;
        *at = t->next;
        t->fn(t->arg);
        free(t);
        any = true;
    }
}

/* Turns until nothing is due now. A test that never settles is stuck in a loop and fails. */
static inline void fake_clock_settle(struct fake_clock *f)
{
    for (int turns = 0; fake_clock_turn(f); turns++)
        assert(turns < 100000);
}

/* Lets time pass, from timer to timer. */
static inline void fake_clock_advance(struct fake_clock *f, int64_t ms)
{
    int64_t end = f->now_ms + ms;

    fake_clock_settle(f);
    while (f->timers && f->timers->due_ms <= end) {
        f->now_ms = max_i64(f->now_ms, f->timers->due_ms);
        fake_clock_settle(f);
    }
    f->now_ms = end;
}

#endif
