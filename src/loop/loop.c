/*
 * loop.c - the event loop's turns: deferred calls, hooks before sleeping, and shutdown.
 *
 * A turn is: due timers, deferred calls, wake-ups, before-sleep hooks, sleep, descriptor events.
 * Deferred calls and wake-ups run in the prepare phase; what they defer or wake in turn runs on the
 * next turn, which the idle handle forces without sleeping. So two of them calling each other
 * cannot starve the descriptors.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/reserve.h"
#include "loop/loop_internal.h"

struct loop_hook {
    struct loop *loop;
    struct loop_hook *next;
    void (*fn)(void *arg);
    void *arg;
};

_Thread_local struct loop *loop_of_thread;

static void stay_awake(uv_idle_t *handle)
{
    (void)handle; /* an active idle handle keeps the next poll from blocking */
}

static void run_deferred(struct loop *l)
{
    struct deferred_queue swap = l->running;

    l->running = l->deferred;
    l->deferred = swap;
    l->deferred.count = 0;
    for (size_t i = 0; i < l->running.count; i++) {
        l->happened = true;
        l->running.items[i].fn(l->running.items[i].arg);
    }
    l->running.count = 0;
}

static void run_woken(struct loop *l)
{
    struct loop_wake *w;

    l->turn++;
    while ((w = l->woken) && w->turn != l->turn) {
        loop_wake_unlist(w);
        l->happened = true;
        w->fn(w->arg);
    }
}

static void run_hooks(struct loop *l)
{
    struct loop_hook *h = l->hooks;

    while (h) {
        l->next_hook = h->next;
        h->fn(h->arg);
        h = l->next_hook;
    }
    l->next_hook = NULL;
}

static void before_sleep(uv_prepare_t *handle)
{
    struct loop *l = handle->loop->data;

    uv_idle_stop(&l->awake);
    run_deferred(l);
    run_woken(l);
    run_hooks(l);
    if (l->deferred.count || l->woken || (l->once && l->happened))
        uv_idle_start(&l->awake, stay_awake);
}

struct loop *loop_new(struct err *err)
{
    struct loop *l = calloc(1, sizeof(*l));
    int r;

    if (!l) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    r = uv_loop_init(&l->uv);
    if (r < 0) {
        (void)err_set(err, ERR_INTERNAL, "cannot make an event loop: %s", uv_strerror(r));
        free(l);
        return NULL;
    }
    l->uv.data = l;
    l->woken_end = &l->woken;
    (void)uv_prepare_init(&l->uv, &l->prepare); /* these four cannot fail */
    (void)uv_idle_init(&l->uv, &l->awake);
    (void)uv_prepare_start(&l->prepare, before_sleep);
    loop_timers_init(l);
    return l;
}

static void free_after_close(uv_handle_t *handle)
{
    reserve_free(handle->data);
}

void loop_handle_close(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, free_after_close);
}

static void close_walked(uv_handle_t *handle, void *arg)
{
    (void)arg;
    loop_handle_close(handle);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    /* callbacks of work still under way may open new handles, so repeat */
    do {
        uv_walk(&l->uv, close_walked, NULL);
        uv_run(&l->uv, UV_RUN_DEFAULT);
    } while (uv_loop_close(&l->uv) == UV_EBUSY);
    for (size_t i = 0; i < l->deferred.count; i++)
        loop_timers_drop(&l->deferred.items[i]);
    for (struct loop_hook *h = l->hooks, *next; h; h = next) {
        next = h->next;
        free(h);
    }
    free(l->deferred.items);
    free(l->running.items);
    free(l);
}

static void run(struct loop *l, uv_run_mode mode)
{
    struct loop *outer = loop_of_thread;

    loop_of_thread = l;
    uv_run(&l->uv, mode);
    loop_of_thread = outer;
}

void loop_run(struct loop *l)
{
    run(l, UV_RUN_DEFAULT);
}

void loop_run_once(struct loop *l)
{
    l->once = true;
    l->happened = false;
    run(l, UV_RUN_ONCE);
    l->once = false;
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

int64_t loop_monotonic_ms(struct loop *l)
{
    return (int64_t)uv_now(&l->uv);
}

int loop_defer(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct deferred_queue *q = &l->deferred;

    if (q->count == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 16;
        struct deferred *items = reallocarray(q->items, cap, sizeof(*items));

        if (!items)
            return -ENOMEM;
        q->items = items;
        q->cap = cap;
    }
    q->items[q->count++] = (struct deferred){.fn = fn, .arg = arg};
    return 0;
}

struct loop_hook *loop_before_sleep(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct loop_hook *h = malloc(sizeof(*h));
    struct loop_hook **at = &l->hooks;

    if (!h)
        return NULL;
    *h = (struct loop_hook){.loop = l, .fn = fn, .arg = arg};
    while (*at)
        at = &(*at)->next;
    *at = h;
    return h;
}

void loop_hook_free(struct loop_hook *h)
{
    struct loop_hook **at;

    if (!h)
        return;
    at = &h->loop->hooks;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    if (h->loop->next_hook == h)
        h->loop->next_hook = h->next;
    free(h);
}
