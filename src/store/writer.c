/*
 * writer.c - group commit. While one transaction waits for the disk the next one gathers in the
 * inbox.
 *
 * When a commit fails, what was queued behind it was decided on a state that never came to be. All
 * of it carries the same epoch, and the writer returns every change of a failed epoch unmade; the
 * loop starts the next epoch once it knows. So there is only one failure at a time to report.
 */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_FOR_ROOM_S 1
#define REST_S 5

struct writer {
    struct database *database; /* the thread's */
    uint32_t failed_epoch;     /* the thread's; epochs start at 1 */
    bool restless;             /* the thread's: it wrote since the last idle work */
    struct loop_wake *wake;
    pthread_t thread;
    bool started;
    atomic_bool disk_is_full;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t arrived;
    struct change_list inbox, outbox;
    struct database_failure failure;
    bool ending;
};

static void mark_failed(struct change *first)
{
    for (struct change *c = first; c; c = c->next)
        c->failed = true;
}

/* failure is filled in when a commit was tried and failed. */
static bool commit(struct writer *w, struct change_list *list, struct database_failure *failure)
{
    struct change *first = list->first;

    while (first && first->epoch == w->failed_epoch) {
        first->failed = true;
        first = first->next;
    }
    if (!first || database_commit(w->database, first, failure) == 0)
        return true;
    mark_failed(first);
    w->failed_epoch = first->epoch;
    return false;
}

/* On a full disk, checks every second for room, as there may be no writes. After some idle time,
 * there is time for housekeeping. */
static void wait_for_more(struct writer *w)
{
    struct timespec until;
    int r;

    if (!w->disk_is_full && !w->restless) {
        pthread_cond_wait(&w->arrived, &w->lock);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += w->disk_is_full ? LOOK_FOR_ROOM_S : REST_S;
    r = pthread_cond_timedwait(&w->arrived, &w->lock, &until);
    if (w->disk_is_full) {
        w->disk_is_full = database_is_full(w->database);
    } else if (r == ETIMEDOUT && !w->inbox.first && !w->ending) {
        pthread_mutex_unlock(&w->lock);
        database_rest(w->database);
        pthread_mutex_lock(&w->lock);
        w->restless = false;
    }
}

static bool take(struct writer *w, struct change_list *list)
{
    bool any;

    pthread_mutex_lock(&w->lock);
    while (!w->inbox.first && !w->ending)
        wait_for_more(w);
    change_list_move(list, &w->inbox);
    any = list->first != NULL;
    pthread_mutex_unlock(&w->lock);
    return any;
}

/* Returns whether nothing more is waiting. */
static bool give_back(struct writer *w, struct change_list *list,
                      const struct database_failure *failure)
{
    bool idle;

    pthread_mutex_lock(&w->lock);
    change_list_move(&w->outbox, list);
    if (failure)
        w->failure = *failure;
    idle = !w->inbox.first;
    pthread_mutex_unlock(&w->lock);
    loop_wake_send(w->wake);
    return idle;
}

static void *write_for_ever(void *arg)
{
    struct writer *w = arg;
    struct change_list list = {0};

    while (take(w, &list)) {
        struct database_failure failure;
        bool ok = commit(w, &list, &failure);
        bool idle;

        w->restless = true;
        w->disk_is_full = database_is_full(w->database);
        idle = give_back(w, &list, ok ? NULL : &failure);
        database_checkpoint(w->database, idle);
    }
    return NULL;
}

/* Signals are handled by the loop thread. */
static int start_thread(struct writer *w)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&w->thread, NULL, write_for_ever, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

struct writer *writer_new(struct loop *l, struct database *d, void (*on_back)(void *arg), void *arg,
                          struct err *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    int r;

    if (!w) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    w->database = d;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->arrived, NULL);
    w->wake = loop_wake_new(l, on_back, arg);
    r = w->wake ? start_thread(w) : 0;
    if (!w->wake || r < 0) {
        (void)err_set(err, ERR_INTERNAL, "cannot start the store's writer: %s",
                      r < 0 ? strerror(-r) : "out of memory");
        writer_free(w);
        return NULL;
    }
    w->started = true;
    return w;
}

void writer_send(struct writer *w, struct change_list *list)
{
    pthread_mutex_lock(&w->lock);
    change_list_move(&w->inbox, list);
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->arrived);
}

void writer_receive(struct writer *w, struct change_list *ret, struct database_failure *ret_failure)
{
    pthread_mutex_lock(&w->lock);
    change_list_move(ret, &w->outbox);
    *ret_failure = w->failure;
    pthread_mutex_unlock(&w->lock);
}

bool writer_disk_is_full(struct writer *w)
{
    return w->disk_is_full;
}

void writer_finish(struct writer *w)
{
    if (!w->started)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->arrived);
    pthread_join(w->thread, NULL);
    w->started = false;
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    writer_finish(w);
    loop_wake_free(w->wake);
    pthread_cond_destroy(&w->arrived);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
