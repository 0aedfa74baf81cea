/*
 * reserve.h - small allocations that must succeed even when memory has run out: a timer, a queued
 * key. They come from malloc or, when that fails, from a reserve of a few hundred pieces. Any
 * thread.
 */
#ifndef MUSTER_BASE_RESERVE_H
#define MUSTER_BASE_RESERVE_H

#include "base/base.h"

#define RESERVE_PIECE_BYTES 512u

/* Zeroed. NULL: out of memory, and the reserve is used up or its pieces are too small. */
void *reserve_calloc(size_t size) must_check;
void reserve_free(void *p); /* also for memory from malloc; NULL-safe */

/* Counts failed allocations in base: after one, something may not have been stored or reported.
 * Code that depends on it compares the count. */
void memory_ran_out(void);
unsigned memory_shortages(void);

/* When to make up for failed allocations, asked at even intervals: at once, and while they go on
 * after ever longer pauses. Starts zeroed. */
struct recovery {
    unsigned found, done; /* counts of failed allocations: seen last, made up for */
    unsigned pause, left; /* intervals */
};

bool recovery_is_due(struct recovery *r);
void recovery_done(struct recovery *r);

static inline void *memory_checked(void *p)
{
    if (!p)
        memory_ran_out();
    return p;
}

#endif
