/* wait.c - requests that wait for a revision: notified at a commit, or on timeout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/internal.h"

struct wait {
    struct server *server;
    struct wait *next, **link;
    struct store_watch *watch;
    struct clock_timer *timer;
    int64_t revision;
    struct blob *write; /* the write waited for; NULL: any of that revision or later */
    bool seen;
    wait_fn *fn;
    void *arg;
};

static void finish(struct wait *w)
{
    struct server *s = w->server;
    bool reached = w->write ? w->seen : store_revision(s->store) >= w->revision;
    wait_fn *fn = w->fn;
    void *arg = w->arg;

    blob_unref(w->write);
    store_watch_free(w->watch);
    clock_stop(s->clock, w->timer);
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    free(w);
    fn(arg, reached);
}

static void time_is_over(void *arg)
{
    struct wait *w = arg;

    w->timer = NULL;
    finish(w);
}

static void something_committed(void *arg)
{
    struct wait *w = arg;
    struct store_event e;

    while (store_watch_next(w->watch, &e) > 0) /* the next commit is only reported after the last
                                                * event */
        w->seen = w->seen || (w->write && e.revision == w->revision && e.value &&
                              e.value->len == w->write->len &&
                              memcmp(e.value->data, w->write->data, w->write->len) == 0);
    if (store_revision(w->server->store) >= w->revision)
        finish(w);
}

int wait_for_revision(struct server *s, struct store_collection *c, int64_t revision,
                      int64_t limit_ms, wait_fn *fn, void *arg)
{
    return wait_for_write(s, c, revision, NULL, limit_ms, fn, arg);
}

int wait_for_write(struct server *s, struct store_collection *c, int64_t revision,
                   struct blob *value, int64_t limit_ms, wait_fn *fn, void *arg)
{
    struct wait *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    *w = (struct wait){.server = s, .revision = revision, .fn = fn, .arg = arg};
    w->timer = clock_start(s->clock, limit_ms, time_is_over, w);
    if (!w->timer || store_watch_open(c, store_revision(s->store), something_committed, w,
                                      &w->watch, NULL) < 0) {
        clock_stop(s->clock, w->timer);
        free(w);
        return -ENOMEM;
    }
    w->write = value ? blob_ref(value) : NULL;
    w->next = s->waits;
    w->link = &s->waits;
    if (w->next)
        w->next->link = &w->next;
    s->waits = w;
    return 0;
}

void wait_free_all(struct server *s)
{
    struct wait *next;

    for (struct wait *w = s->waits; w; w = next) {
        next = w->next;
        finish(w);
    }
}
