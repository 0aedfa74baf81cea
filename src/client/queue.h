/*
 * queue.h - keys waiting to be processed. A key is queued at most once and in progress at most
 * once; added while in progress it is processed again afterwards. Failing keys are retried with
 * back-off (5 ms doubling to 60 s), each on its own.
 */
#ifndef MUSTER_CLIENT_QUEUE_H
#define MUSTER_CLIENT_QUEUE_H

#include "base/base.h"
#include "port/clock.h"

struct queue;

/* Starts processing key, which is valid until queue_done; call that once when done, possibly
 * later. */
typedef void queue_work_fn(void *arg, const char *key);

struct queue *queue_new(struct clock *clock, unsigned max_in_work, queue_work_fn *work,
                        void *arg) must_check;
void queue_free(struct queue *q);
void queue_add(struct queue *q, const char *key);
void queue_add_after(struct queue *q, const char *key,
                     int64_t delay_ms); /* the earliest of several counts */
enum queue_result { QUEUE_OK, QUEUE_RETRY };
void queue_done(struct queue *q, const char *key,
                enum queue_result result); /* OK resets the back-off */
size_t queue_len(const struct queue *q);   /* waiting, in progress and delayed */

#endif
