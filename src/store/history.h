/*
 * history.h - the rows kept only for watches, oldest first. A row is deleted once the write that
 * made it history (its successor, or itself for a deletion) is too far back.
 */
#ifndef MUSTER_STORE_HISTORY_H
#define MUSTER_STORE_HISTORY_H

#include "base/base.h"

struct history_row {
    int64_t revision; /* of the row */
    int64_t since;    /* revision of the write that made it history */
    int64_t bytes;    /* roughly what that write takes */
};

struct history {
    struct history_row *rows; /* a ring */
    size_t cap, first, count;
    int64_t bytes;
};

void history_release(struct history *h);
/* Makes room for `more`, so that adding them cannot fail. */
int history_reserve(struct history *h, size_t more) must_check;
/* since never decreases. */
void history_add(struct history *h, struct history_row row);
const struct history_row *history_at(const struct history *h, size_t index);
void history_drop(struct history *h, size_t count); /* the oldest */

#endif
