/* fuzz.h - the reader given arbitrary bytes: an event file, or what stands in its records. */
#ifndef MUSTER_TESTS_BOARD_FUZZ_H
#define MUSTER_TESTS_BOARD_FUZZ_H

#include <stdlib.h>

#include "board/points.h"
#include "board/run.h"

static void take(struct run *r, const char *data, size_t len)
{
    struct event e;

    if (event_decode(data, len, &e))
        run_take(r, &e, false);
}

static void take_records(struct run *r, const char *data, size_t len)
{
    while (len >= 16) {
        uint64_t size;

        memcpy(&size, data, sizeof(size));
        if (size > len - 16)
            return;
        take(r, data + 12, (size_t)size);
        data += 16 + size;
        len -= 16 + (size_t)size;
    }
}

static size_t count_points(const struct run *r)
{
    const struct points_range range = {.from = INT64_MIN, .to = INT64_MAX, .width = 10};
    size_t tags_len, points = 0;
    const struct tag **tags = run_tags(r, &tags_len);

    for (size_t i = 0; i < tags_len; i++) {
        size_t n;
        struct point *p = points_of(&tags[i]->series, &range, &n);

        points += p ? n : 0;
        free(p);
    }
    free(tags);
    return points;
}

/* Takes the bytes for an Event, and again for a whole file of records, of which damaged checksums
 * are forgiven: a fuzzer does not find right ones. Answers the number of points read. */
static size_t board_fuzz(const void *data, size_t len)
{
    struct run_limits limits = {.capacity = SERIES_CAPACITY_MIN, .tags_limit = 64};
    struct run *r = run_new(".", &limits);
    size_t points;

    if (!r)
        return 0;
    take(r, data, len);
    take_records(r, data, len);
    points = count_points(r);
    run_shrink(r);
    run_free(r);
    return points;
}

#endif
