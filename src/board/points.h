/* points.h - a part of a curve for a picture so many pixels wide: of what falls into one column the
 * lowest and the highest point are kept, so that no peak is lost. */
#ifndef MUSTER_BOARD_POINTS_H
#define MUSTER_BOARD_POINTS_H

#include "board/series.h"

#define POINTS_WIDTH_LIMIT 8192u

struct points_range {
    int64_t from, to; /* steps, both included */
    uint32_t width;   /* 0: every kept point */
};

/* Answers the points; the array is the caller's (free()). NULL without any, or (with *ret_len
 * SIZE_MAX) without memory. */
struct point *points_of(const struct series *s, const struct points_range *range,
                        size_t *ret_len) must_check;

#endif
