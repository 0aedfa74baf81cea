/* history.c - see history.h. */
#include "store/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST_CAP 64u

void history_release(struct history *h)
{
    free(h->rows);
    *h = (struct history){0};
}

const struct history_row *history_at(const struct history *h, size_t index)
{
    return &h->rows[(h->first + index) % h->cap];
}

int history_reserve(struct history *h, size_t more)
{
    size_t cap = max_size(h->cap, FIRST_CAP);
    struct history_row *rows;

    while (cap < h->count + more)
        cap *= 2;
    if (cap == h->cap)
        return 0;
    rows = malloc(cap * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < h->count; i++)
        rows[i] = *history_at(h, i);
    free(h->rows);
    h->rows = rows;
    h->cap = cap;
    h->first = 0;
    return 0;
}

void history_add(struct history *h, struct history_row row)
{
    assert(h->count < h->cap);
    h->rows[(h->first + h->count) % h->cap] = row;
    h->count++;
    h->bytes += row.bytes;
}

void history_drop(struct history *h, size_t count)
{
    for (size_t i = 0; i < count; i++)
        h->bytes -= history_at(h, i)->bytes;
    if (h->cap)
        h->first = (h->first + count) % h->cap;
    h->count -= count;
}
