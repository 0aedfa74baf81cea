/*
 * queue.h - keys waiting to be worked on. A key is in the queue at most once and in work at most
 * once; added while in work it comes again afterwards. Failing keys come back later and later (5 ms
 * doubling to 60 s), each for itself.
 */
#ifndef MUSTER_CLIENT_QUEUE_H
#define MUSTER_CLIENT_QUEUE_H

#include "base/base.h"
#include "port/clock.h"

struct queue;

/* Begin work on key, which is valid until queue_done; call that once when it is over, possibly
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
                enum queue_result result); /* OK forgets the back-off */
size_t queue_len(const struct queue *q);   /* waiting, in work and delayed */

#endif
