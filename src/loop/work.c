/* work.c - blocking work on libuv's thread pool. The pool's threads start with the first use. */
#include <stdlib.h>

#include "loop/loop_internal.h"

struct work {
    uv_work_t request;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
};

static void run_work(uv_work_t *request)
{
    struct work *w = request->data;

    w->work(w->arg);
}

static void work_done(uv_work_t *request, int status)
{
    struct work *w = request->data;

    (void)status; /* only UV_ECANCELED is possible, and nothing is ever cancelled */
    w->done(w->arg);
    free(w);
}

int loop_work(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    struct work *w = malloc(sizeof(*w));
    int r;

    if (!w)
        return UV_ENOMEM;
    w->request.data = w;
    w->work = work;
    w->done = done;
    w->arg = arg;
    r = uv_queue_work(&l->uv, &w->request, run_work, work_done);
    if (r < 0)
        free(w);
    return r;
}
