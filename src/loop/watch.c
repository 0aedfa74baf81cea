/*
 * watch.c - what wakes the loop: descriptors, signals, other threads.
 *
 * Every handle is the first member of its own allocation and is freed once libuv has closed it, so
 * each may be stopped from inside its own callback.
 */
#include <errno.h>
#include <stdlib.h>

#include "loop/loop_internal.h"

struct loop_fd {
    uv_poll_t handle;
    unsigned events;
    void (*fn)(void *arg, unsigned events);
    void *arg;
};

struct loop_signal {
    uv_signal_t handle;
    void (*fn)(void *arg, int signum);
    void *arg;
};

static const struct {
    unsigned ours;
    int uv;
} event_names[] = {
    {LOOP_READABLE, UV_READABLE},
    {LOOP_WRITABLE, UV_WRITABLE},
    {LOOP_HANGUP, UV_DISCONNECT},
};

static int events_to_uv(unsigned events)
{
    int r = 0;

    for (size_t i = 0; i < ELEMS(event_names); i++)
        if (events & event_names[i].ours)
            r |= event_names[i].uv;
    return r;
}

static unsigned events_from_uv(int events)
{
    unsigned r = 0;

    for (size_t i = 0; i < ELEMS(event_names); i++)
        if (events & event_names[i].uv)
            r |= event_names[i].ours;
    return r;
}

/* On an error libuv stops watching. Report everything as ready: the owner's next read or write gets
 * the error. */
static void fd_ready(uv_poll_t *handle, int status, int events)
{
    struct loop_fd *w = handle->data;

    w->fn(w->arg, status < 0 ? w->events | LOOP_HANGUP : events_from_uv(events));
}

struct loop_fd *loop_fd_watch(struct loop *l, int fd, unsigned events,
                              void (*fn)(void *arg, unsigned events), void *arg)
{
    struct loop_fd *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return NULL;
    w->fn = fn;
    w->arg = arg;
    r = uv_poll_init(&l->uv, &w->handle, fd);
    if (r < 0) {
        free(w);
        errno = -r;
        return NULL;
    }
    w->handle.data = w;
    r = loop_fd_change(w, events);
    if (r < 0) {
        loop_fd_stop(w);
        errno = -r;
        return NULL;
    }
    return w;
}

int loop_fd_change(struct loop_fd *w, unsigned events)
{
    w->events = events;
    return uv_poll_start(&w->handle, events_to_uv(events), fd_ready);
}

void loop_fd_stop(struct loop_fd *w)
{
    if (w)
        loop_handle_close((uv_handle_t *)&w->handle);
}

static void woken(uv_async_t *handle)
{
    struct loop_wake *w = handle->data;

    w->fn(w->arg);
}

struct loop_wake *loop_wake_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
    struct loop_wake *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->loop = l;
    w->fn = fn;
    w->arg = arg;
    w->handle.data = w;
    if (uv_async_init(&l->uv, &w->handle, woken) < 0) {
        free(w);
        return NULL;
    }
    return w;
}

static void list_woken(struct loop_wake *w)
{
    if (w->listed)
        return;
    w->listed = true;
    w->turn = w->loop->turn;
    *w->loop->woken_end = w;
    w->loop->woken_end = &w->next;
}

void loop_wake_unlist(struct loop_wake *w)
{
    struct loop_wake **at = &w->loop->woken;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if (w->loop->woken_end == &w->next)
        w->loop->woken_end = at;
    w->next = NULL;
    w->listed = false;
}

void loop_wake_send(struct loop_wake *w)
{
    if (loop_of_thread == w->loop)
        list_woken(w);
    else
        (void)uv_async_send(&w->handle);
}

void loop_wake_free(struct loop_wake *w)
{
    if (!w)
        return;
    if (w->listed)
        loop_wake_unlist(w);
    loop_handle_close((uv_handle_t *)&w->handle);
}

static void signal_came(uv_signal_t *handle, int signum)
{
    struct loop_signal *s = handle->data;

    s->fn(s->arg, signum);
}

struct loop_signal *loop_signal_watch(struct loop *l, int signum, void (*fn)(void *arg, int signum),
                                      void *arg)
{
    struct loop_signal *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->fn = fn;
    s->arg = arg;
    s->handle.data = s;
    if (uv_signal_init(&l->uv, &s->handle) < 0) {
        free(s);
        return NULL;
    }
    if (uv_signal_start(&s->handle, signal_came, signum) < 0) {
        loop_signal_stop(s);
        return NULL;
    }
    return s;
}

void loop_signal_stop(struct loop_signal *s)
{
    if (s)
        loop_handle_close((uv_handle_t *)&s->handle);
}
