/* fuzz.h - the reader given arbitrary bytes: an event file, or what stands in its records. */
#ifndef MUSTER_TESTS_BOARD_FUZZ_H
#define MUSTER_TESTS_BOARD_FUZZ_H

#include <stdlib.h>

#include "board/media.h"
#include "board/points.h"
#include "board/run.h"
#include "board/tensor.h"

/* What the console does with the values it reads again. */
static void look_at(const struct event_value *v)
{
    struct histogram h;
    struct picture p;
    const char *text;
    size_t len;

    if (histogram_of(v, &h) && !(h.min <= h.max && h.count >= 0))
        abort();
    for (size_t i = 0; i <= PICTURES_LIMIT; i++)
        if (picture_of(v, i, &p) && (p.data < v->body.data || p.len > v->body.len))
            abort();
    if (v->content == VALUE_TENSOR && tensor_text(v->body.data, v->body.len, 0, &text, &len) &&
        len > v->body.len)
        abort();
}

static void take(struct run *r, const char *data, size_t len)
{
    struct event_value v;
    struct event e;

    if (!event_decode(data, len, &e))
        return;
    run_take(r, &e, &(struct run_place){.file = ""});
    for (size_t i = 0; i < e.summaries_len; i++)
        while (event_next_value(&e.summaries[i], &v))
            look_at(&v);
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
    struct run_limits limits = {
        .capacity = SERIES_CAPACITY_MIN, .tags_limit = 64, .limit_bytes = 1u << 20};
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
