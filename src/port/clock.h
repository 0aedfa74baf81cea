/*
 * clock.h - time as the controllers see it: the loop's (loop/loop.h) in production, stepped by hand
 * in tests and in the simulator. Wall time is only for what is written into objects; it may jump.
 */
#ifndef MUSTER_PORT_CLOCK_H
#define MUSTER_PORT_CLOCK_H

#include "base/base.h"

struct clock;
struct clock_timer;

struct clock_ops {
    int64_t (*now_ms)(struct clock *c); /* wall time, ms since the epoch */
    /* Calls fn once after delay_ms (0: on the next turn, never from inside this call). NULL when
     * out of memory. */
    struct clock_timer *(*start)(struct clock *c, int64_t delay_ms, void (*fn)(void *arg),
                                 void *arg);
    void (*stop)(struct clock *c,
                 struct clock_timer *t); /* before it fires; a fired timer frees itself */
};

struct clock {
    const struct clock_ops *ops;
};

static inline int64_t clock_now_ms(struct clock *c)
{
    return c->ops->now_ms(c);
}

static inline struct clock_timer *clock_start(struct clock *c, int64_t delay_ms,
                                              void (*fn)(void *arg), void *arg)
{
    return c->ops->start(c, delay_ms, fn, arg);
}

static inline void clock_stop(struct clock *c, struct clock_timer *t)
{
    if (t)
        c->ops->stop(c, t);
}

#endif
