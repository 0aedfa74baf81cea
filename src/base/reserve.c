/* reserve.c - see reserve.h. */
#include "base/reserve.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 512u
#define LONGEST_PAUSE 63u

static alignas(max_align_t) unsigned char pieces[PIECES][RESERVE_PIECE_BYTES];
static bool taken[PIECES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_uint shortages;

void memory_ran_out(void)
{
    atomic_fetch_add_explicit(&shortages, 1, memory_order_relaxed);
}

unsigned memory_shortages(void)
{
    return atomic_load_explicit(&shortages, memory_order_relaxed);
}

bool recovery_is_due(struct recovery *r)
{
    if (r->left > 0) {
        r->left--;
        return false;
    }
    r->found = memory_shortages();
    if (r->found == r->done)
        r->pause = 0;
    return r->found != r->done;
}

void recovery_done(struct recovery *r)
{
    r->done = r->found;
    r->pause = (unsigned)min_size(2 * r->pause + 1, LONGEST_PAUSE);
    r->left = r->pause;
}

static void *take_piece(void)
{
    void *piece = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; !piece && i < PIECES; i++)
        if (!taken[i]) {
            taken[i] = true;
            piece = pieces[i];
        }
    pthread_mutex_unlock(&lock);
    return piece;
}

void *reserve_calloc(size_t size)
{
    void *p = calloc(1, size);

    if (p)
        return p;
    memory_ran_out();
    p = size <= RESERVE_PIECE_BYTES ? take_piece() : NULL;
    if (p)
        memset(p, 0, RESERVE_PIECE_BYTES);
    return p;
}

void reserve_free(void *p)
{
    uintptr_t at = (uintptr_t)p, first = (uintptr_t)pieces;

    if (at < first || at >= first + sizeof(pieces)) {
        free(p);
        return;
    }
    pthread_mutex_lock(&lock);
    taken[(at - first) / RESERVE_PIECE_BYTES] = false;
    pthread_mutex_unlock(&lock);
}
