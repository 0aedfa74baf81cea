/*
 * reserve.h - small pieces of memory for what must not be lost when there is none: a timer, a key
 * that is to be looked at. They come from malloc; when that fails, from a reserve of some hundred.
 * Any thread.
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

static inline void *memory_checked(void *p)
{
    if (!p)
        memory_ran_out();
    return p;
}

#endif
