/*
 * writer.c - store/writer.h without its thread: a commit is an event some time after the changes
 * were sent, its coming back is another, and the server may be killed before, between and after.
 * Linked in place of the real one; the database below is the real one.
 */
#include "store/writer.h"

#include <assert.h>
#include <stdlib.h>

#include "sim.h"

struct writer {
    struct database *database;
    struct sim *sim;
    void (*on_back)(void *arg);
    void *arg;
    uint32_t failed_epoch;
    struct change_list inbox, outbox;
    struct database_failure failure;
    struct clock_timer *commit_timer, *back_timer;
};

extern struct sim *writer_sim; /* store_open has no room for it */
struct sim *writer_sim;

struct writer *writer_new(struct loop *l, struct database *d, void (*on_back)(void *arg), void *arg,
                          struct err *err)
{
    struct writer *w = calloc(1, sizeof(*w));

    (void)l;
    (void)err;
    assert(w);
    w->database = d;
    w->on_back = on_back;
    w->arg = arg;
    w->sim = writer_sim;
    return w;
}

static void on_back(void *arg)
{
    struct writer *w = arg;

    w->back_timer = NULL;
    w->on_back(w->arg);
}

static void mark_failed(struct change *first)
{
    for (; first; first = first->next)
        first->failed = true;
}

static bool disk_is_full(struct sim *s)
{
    if (sim_loop_now(s->loop) < s->disk_full_until)
        return true;
    if (!fault(s, FAULT_DISK_FULL))
        return false;
    s->disk_full_until = sim_loop_now(s->loop) + rand_range(1, 20000);
    return true;
}

static void commit(struct writer *w, struct change_list *list)
{
    struct change *first = list->first;

    while (first && first->epoch == w->failed_epoch) {
        first->failed = true;
        first = first->next;
    }
    if (!first)
        return;
    if (disk_is_full(w->sim)) {
        w->failure = (struct database_failure){ERR_UNAVAILABLE, "database or disk is full"};
        w->failed_epoch = first->epoch;
        mark_failed(first);
        return;
    }
    if (database_commit(w->database, first, &w->failure) < 0)
        violate(w->sim, "the database refused a commit: %s", w->failure.text);
    observer_commit(w->sim->observer, first);
}

static void on_commit(void *arg)
{
    struct writer *w = arg;
    struct change_list list = {0};

    w->commit_timer = NULL;
    change_list_move(&list, &w->inbox);
    commit(w, &list);
    change_list_move(&w->outbox, &list);
    if (!w->back_timer)
        w->back_timer = clock_start(w->sim->clock, rand_below(3), on_back, w);
    if (fault(w->sim, FAULT_SERVER_KILLED_AT_COMMIT))
        soon(w->sim, world_kill_server);
}

void writer_send(struct writer *w, struct change_list *list)
{
    int64_t delay = rand_below(4);

    change_list_move(&w->inbox, list);
    if (w->commit_timer || w->sim->server_dying)
        return;
    if (fault(w->sim, FAULT_DISK_SLOW))
        delay = rand_range(10, 3000);
    w->commit_timer = clock_start(w->sim->clock, delay, on_commit, w);
}

void writer_receive(struct writer *w, struct change_list *ret, struct database_failure *ret_failure)
{
    change_list_move(ret, &w->outbox);
    *ret_failure = w->failure;
}

bool writer_disk_is_full(struct writer *w)
{
    (void)w;
    return false; /* a full disk here fails everything, and this once */
}

/* Killed: what was not committed never is. */
void writer_finish(struct writer *w)
{
    clock_stop(w->sim->clock, w->commit_timer);
    clock_stop(w->sim->clock, w->back_timer);
    w->commit_timer = w->back_timer = NULL;
    if (w->sim->server_dying) {
        mark_failed(w->inbox.first);
        w->failure = (struct database_failure){ERR_UNAVAILABLE, "killed"};
    } else {
        commit(w, &w->inbox);
    }
    change_list_move(&w->outbox, &w->inbox);
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    writer_finish(w);
    free(w);
}
