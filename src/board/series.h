/*
 * series.h - the points of one curve in bounded memory.
 *
 * Up to `capacity` points all are kept. When there are more, neighbours are put together: of each
 * group the lowest and the highest stay, and later points are grouped from the start. So a curve
 * keeps its shape, and its first, last, lowest and highest point are always exact; which points
 * stay is the same at every reading, unlike with a random sample.
 *
 * Steps never decrease: a point whose step is lower than the last one's comes from a run that was
 * started again, and supersedes the points of its step and of later ones (as in TensorBoard's own
 * loader). Points of the same step are all kept. What was put together before a restart is dropped
 * by the steps of what was kept of it.
 */
#ifndef MUSTER_BOARD_SERIES_H
#define MUSTER_BOARD_SERIES_H

#include "base/base.h"

#define SERIES_CAPACITY_DEFAULT 2048u
#define SERIES_CAPACITY_MIN 32u

struct point {
    int64_t step;
    double wall_time; /* seconds since 1970 */
    double value;
};

struct series {
    struct point *points;   /* by step */
    uint32_t len, room;     /* room: allocated */
    uint32_t group;         /* points that are put together; 1: none are */
    uint32_t grouped;       /* so far in the open group */
    struct point low, high; /* of the open group */
    struct point first, last;
    struct point min, max; /* of the finite values */
    bool any, any_finite;
    uint64_t read;   /* points ever added */
    uint64_t purges; /* how often points were superseded */
};

void series_release(struct series *s);
/* -ENOMEM: the point is not kept. *bytes, the memory of many series, is kept up to date. */
int series_add(struct series *s, struct point p, uint32_t capacity, size_t *bytes);
/* Drops points of this step and of later ones. */
void series_purge(struct series *s, int64_t step);
/* Halves what is kept, to make room elsewhere. */
void series_shrink(struct series *s, uint32_t capacity, size_t *bytes);

/* What there is at most. */
size_t series_count(const struct series *s);
/* All kept points in order, the open group and the exact ends included; out has room for
 * series_count. Answers how many. */
size_t series_points(const struct series *s, struct point *out);

#endif
