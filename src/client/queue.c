/*
 * queue.c - see queue.h. One record per key that is waiting, in progress or delayed; idle keys cost
 * nothing. A key has one due time, the earliest requested. Work starts from a timer, never from
 * inside queue_add, and a key added during a round waits for the next one: a key that re-adds
 * itself cannot starve the loop.
 */
#include "client/queue.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/reserve.h"

#define ROUND_ITEMS 64 /* per turn of the loop, so that others get their turn */
#define FIRST_BACKOFF_MS 5
#define LONGEST_BACKOFF_MS 60000

struct item {
    struct queue *queue;
    struct item *next_ready;
    struct clock_timer *delay;
    int64_t due_ms; /* while delay is set */
    unsigned failures;
    bool ready, in_work, again;
    struct map_node node; /* its key */
};

struct queue {
    struct clock *clock;
    queue_work_fn *work;
    void *arg;
    unsigned max_in_work, in_work;
    struct map items;
    struct item *first_ready, *last_ready;
    size_t ready;
    struct clock_timer *round;
};

static void run_round(void *arg);

struct queue *queue_new(struct clock *clock, unsigned max_in_work, queue_work_fn *work, void *arg)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->clock = clock;
    q->max_in_work = max_in_work;
    q->work = work;
    q->arg = arg;
    return q;
}

static struct item *item_at(struct map_node *n)
{
    return n ? container_of(n, struct item, node) : NULL;
}

static void item_free(struct map_node *n)
{
    struct item *i = container_of(n, struct item, node);

    clock_stop(i->queue->clock, i->delay);
    reserve_free(i);
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    map_release_nodes(&q->items, item_free);
    clock_stop(q->clock, q->round);
    free(q);
}

size_t queue_len(const struct queue *q)
{
    return q->items.count;
}

static struct item *item_of(struct queue *q, const char *key)
{
    size_t len = strlen(key);
    struct item *i = item_at(map_find(&q->items, key, len));

    if (i)
        return i;
    i = reserve_calloc(map_node_size(offsetof(struct item, node), len));
    if (!i)
        return NULL;
    i->queue = q;
    map_node_init(&i->node, key, len);
    map_link(&q->items, &i->node);
    return i;
}

static void plan_round(struct queue *q)
{
    if (!q->round && q->first_ready && q->in_work < q->max_in_work)
        q->round = clock_start(q->clock, 0, run_round, q);
}

static void make_ready(struct item *i)
{
    struct queue *q = i->queue;

    clock_stop(q->clock, i->delay);
    i->delay = NULL;
    if (i->in_work) {
        i->again = true;
        return;
    }
    if (!i->ready) {
        i->ready = true;
        i->next_ready = NULL;
        if (q->last_ready)
            q->last_ready->next_ready = i;
        else
            q->first_ready = i;
        q->last_ready = i;
        q->ready++;
    }
    plan_round(q);
}

static struct item *take_ready(struct queue *q)
{
    struct item *i = q->first_ready;

    q->first_ready = i->next_ready;
    if (!q->first_ready)
        q->last_ready = NULL;
    q->ready--;
    i->ready = false;
    return i;
}

static void run_round(void *arg)
{
    struct queue *q = arg;
    size_t left = min_size(q->ready, ROUND_ITEMS);

    q->round = NULL;
    while (left-- && q->first_ready && q->in_work < q->max_in_work) {
        struct item *i = take_ready(q);

        i->in_work = true;
        q->in_work++;
        q->work(q->arg, i->node.key);
    }
    plan_round(q);
}

void queue_add(struct queue *q, const char *key)
{
    struct item *i = item_of(q, key);

    if (i)
        make_ready(i);
}

static void on_due(void *arg)
{
    struct item *i = arg;

    i->delay = NULL;
    make_ready(i);
}

static void delay(struct item *i, int64_t delay_ms)
{
    struct queue *q = i->queue;
    int64_t due = clock_now_ms(q->clock) + delay_ms;

    if (i->ready || i->again || (i->delay && i->due_ms <= due))
        return;
    clock_stop(q->clock, i->delay);
    i->due_ms = due;
    i->delay = clock_start(q->clock, delay_ms, on_due, i);
    if (!i->delay)
        make_ready(i); /* no memory for a timer: rather early than never */
}

void queue_add_after(struct queue *q, const char *key, int64_t delay_ms)
{
    struct item *i;

    if (delay_ms <= 0) {
        queue_add(q, key);
        return;
    }
    i = item_of(q, key);
    if (i)
        delay(i, delay_ms);
}

static int64_t backoff_ms(unsigned failures)
{
    int64_t ms = FIRST_BACKOFF_MS;

    while (--failures && ms < LONGEST_BACKOFF_MS)
        ms *= 2;
    return min_i64(ms, LONGEST_BACKOFF_MS);
}

void queue_done(struct queue *q, const char *key, enum queue_result result)
{
    struct item *i = item_at(map_find(&q->items, key, strlen(key)));

    if (!i || !i->in_work)
        return;
    i->in_work = false;
    q->in_work--;
    /* If something changed meanwhile it is retried at once, without affecting the back-off: a pod's
     * end is reported in many pieces. */
    if (result == QUEUE_OK)
        i->failures = 0;
    else if (!i->again)
        i->failures++;
    if (i->again) {
        i->again = false;
        make_ready(i);
    } else if (i->failures) {
        delay(i, backoff_ms(i->failures));
    }
    if (!i->ready && !i->delay) {
        map_unlink(&q->items, &i->node);
        item_free(&i->node);
    }
    plan_round(q);
}
