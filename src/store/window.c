/*
 * window.c - a ring of changes limited by number and bytes, read by watches through cursors.
 *
 * A watch holds only its position and the last change it was given, so a slow one costs no memory:
 * it falls out of the window and gets 410.
 */
#include "store/window.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_RING_CHANGES 16

struct store_watch {
    struct window *window; /* NULL when the store was closed before the watch */
    struct store_watch *next, **link;
    uint64_t number; /* of the next change to read */
    int64_t from;
    struct change *current; /* the reader's until the next call */
    bool waiting;           /* the reader reached the end and wants to be notified */
    void (*on_ready)(void *arg);
    void *arg;
};

int window_init(struct window *w, int64_t start_revision, size_t limit_events, size_t limit_bytes)
{
    *w = (struct window){.start_revision = start_revision,
                         .limit_events = max_size(limit_events, 1),
                         .limit_bytes = limit_bytes};
    w->cap = min_size(FIRST_RING_CHANGES, w->limit_events);
    w->ring = calloc(w->cap, sizeof(struct change *));
    return w->ring ? 0 : -ENOMEM;
}

static size_t slot(const struct window *w, size_t index)
{
    size_t i = w->first + index;

    return i < w->cap ? i : i - w->cap;
}

static struct change *at(const struct window *w, size_t index)
{
    return w->ring[slot(w, index)];
}

/* Both states, though neighbours may share one: an upper bound. */
static size_t bytes_of(const struct change *c)
{
    return sizeof(*c) + c->key_len + c->value->len + (c->previous ? c->previous->len : 0);
}

static void drop_oldest(struct window *w)
{
    struct change *c = at(w, 0);

    w->start_revision = c->revision;
    w->used_bytes -= bytes_of(c);
    w->first = slot(w, 1);
    w->first_number++;
    w->count--;
    change_unref(c);
}

static void grow(struct window *w)
{
    size_t cap = min_size(w->cap * 2, w->limit_events);
    struct change **ring;

    assert(cap > w->cap);
    ring = calloc(cap, sizeof(struct change *));
    if (!ring)
        return; /* just a shorter window */
    for (size_t i = 0; i < w->count; i++)
        ring[i] = at(w, i);
    free(w->ring);
    w->ring = ring;
    w->cap = cap;
    w->first = 0;
}

void window_add(struct window *w, struct change *c)
{
    size_t bytes = bytes_of(c);

    while (w->count && w->used_bytes + bytes > w->limit_bytes)
        drop_oldest(w);
    if (w->count == w->cap && w->cap < w->limit_events)
        grow(w);
    if (w->count == w->cap)
        drop_oldest(w);
    w->ring[slot(w, w->count)] = change_ref(c);
    w->count++;
    w->used_bytes += bytes;
}

void window_restart(struct window *w, int64_t revision)
{
    while (w->count && at(w, 0)->revision <= revision)
        drop_oldest(w);
    w->start_revision = max_i64(w->start_revision, revision);
}

void window_age(struct window *w)
{
    window_restart(w, w->aged_revision);
    if (w->count)
        w->aged_revision = at(w, w->count - 1)->revision;
}

void window_release(struct window *w)
{
    while (w->watches) {
        struct store_watch *watch = w->watches;

        w->watches = watch->next;
        watch->window = NULL;
    }
    while (w->count)
        drop_oldest(w);
    free(w->ring);
}

void window_tell(struct window *w)
{
    struct store_watch *watch = w->watches;

    while (watch) {
        w->next_watch = watch->next;
        if (watch->waiting) {
            watch->waiting = false;
            watch->on_ready(watch->arg);
        }
        watch = w->next_watch;
    }
    w->next_watch = NULL;
}

/* Index of the first change after revision; they are in order. */
static size_t find_after(const struct window *w, int64_t revision)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (at(w, middle)->revision > revision)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int window_watch(struct window *w, int64_t from, void (*on_ready)(void *arg), void *arg,
                 struct store_watch **ret, struct err *err)
{
    struct store_watch *watch;

    if (from < w->start_revision)
        return err_set(err, ERR_EXPIRED, "too old resource version: %" PRId64 " (%" PRId64 ")",
                       from, w->start_revision);
    watch = calloc(1, sizeof(*watch));
    if (!watch) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return -ENOMEM;
    }
    watch->window = w;
    watch->from = from;
    watch->number = w->first_number + find_after(w, from);
    watch->waiting = true;
    watch->on_ready = on_ready;
    watch->arg = arg;
    watch->next = w->watches;
    watch->link = &w->watches;
    if (watch->next)
        watch->next->link = &watch->next;
    w->watches = watch;
    *ret = watch;
    return 0;
}

static void fill_event(struct store_event *e, const struct change *c)
{
    e->revision = c->revision;
    e->type = c->type;
    e->key = c->key;
    e->value = c->value;
    e->previous = c->previous;
}

int store_watch_next(struct store_watch *watch, struct store_event *ret)
{
    struct window *w = watch->window;

    change_unref(watch->current);
    watch->current = NULL;
    if (!w)
        return 0;
    if (watch->number < w->first_number)
        return -ESTALE;
    while (watch->number < w->first_number + w->count) {
        struct change *c = at(w, (size_t)(watch->number++ - w->first_number));

        if (c->revision <= watch->from)
            continue; /* opened for a future revision */
        watch->current = change_ref(c);
        fill_event(ret, c);
        return 1;
    }
    watch->waiting = true;
    return 0;
}

void store_watch_free(struct store_watch *watch)
{
    if (!watch)
        return;
    change_unref(watch->current);
    if (watch->window) {
        if (watch->window->next_watch == watch)
            watch->window->next_watch = watch->next;
        *watch->link = watch->next;
        if (watch->next)
            watch->next->link = watch->link;
    }
    free(watch);
}
