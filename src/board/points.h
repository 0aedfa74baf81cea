/* points.h - a part of a curve for a plot of a given width in pixels: per column the lowest and the
 * highest point are kept, so that no peak is lost. */
#ifndef MUSTER_BOARD_POINTS_H
#define MUSTER_BOARD_POINTS_H

#include "board/series.h"

#define POINTS_WIDTH_LIMIT 8192u

struct points_range {
    int64_t from, to; /* steps, inclusive */
    uint32_t width;   /* 0: every stored point */
};

/* Returns the points; the caller frees the array. NULL without any, or (with *ret_len SIZE_MAX)
 * when out of memory. */
struct point *points_of(const struct series *s, const struct points_range *range,
                        size_t *ret_len) must_check;

#endif
