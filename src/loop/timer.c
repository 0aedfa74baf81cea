/*
 * timer.c - the loop as a clock (port/clock.h).
 *
 * A delay of 0 is a deferred call, not a timer: libuv runs timers started by timers in the same
 * round when due, so one that restarts itself with 0 would block the loop forever.
 */
#include <time.h>

#include "base/reserve.h"
#include "loop/loop_internal.h"

struct clock_timer {
    uv_timer_t handle; /* unused when deferred */
    void (*fn)(void *arg);
    void *arg;
    struct loop *loop;
    bool deferred, stopped;
};

static int64_t now_ms(struct clock *c)
{
    struct timespec now;

    (void)c;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void deferred_fired(void *arg)
{
    struct clock_timer *t = arg;

    if (!t->stopped)
        t->fn(t->arg);
    reserve_free(t);
}

static void timer_fired(uv_timer_t *handle)
{
    struct clock_timer *t = handle->data;

    t->loop->happened = true;
    loop_handle_close((uv_handle_t *)handle);
    t->fn(t->arg);
}

/* The turn's cached time may be stale; without this a timer would fire early. */
static uint64_t since_turn_began_ms(struct loop *l)
{
    uint64_t now = uv_hrtime() / 1000000, turn = uv_now(&l->uv);

    return now > turn ? now - turn : 0;
}

static struct clock_timer *start(struct clock *c, int64_t delay_ms, void (*fn)(void *arg),
                                 void *arg)
{
    struct loop *l = container_of(c, struct loop, clock);
    struct clock_timer *t = reserve_calloc(sizeof(*t));

    if (!t)
        return NULL;
    t->fn = fn;
    t->arg = arg;
    t->loop = l;
    t->deferred = delay_ms <= 0 && loop_defer(l, deferred_fired, t) == 0;
    if (t->deferred)
        return t;
    (void)uv_timer_init(&l->uv, &t->handle); /* neither can fail */
    t->handle.data = t;
    delay_ms = max_i64(delay_ms, 1); /* no memory for a deferred call: better late than never */
    (void)uv_timer_start(&t->handle, timer_fired, (uint64_t)delay_ms + since_turn_began_ms(l), 0);
    return t;
}

static void stop(struct clock *c, struct clock_timer *t)
{
    (void)c;
    if (t->deferred)
        t->stopped = true;
    else
        loop_handle_close((uv_handle_t *)&t->handle);
}

static const struct clock_ops loop_clock_ops = {.now_ms = now_ms, .start = start, .stop = stop};

void loop_timers_init(struct loop *l)
{
    l->clock.ops = &loop_clock_ops;
}

void loop_timers_drop(const struct deferred *d)
{
    if (d->fn == deferred_fired)
        reserve_free(d->arg);
}

struct clock *loop_clock(struct loop *l)
{
    return &l->clock;
}
