/*
 * series.h - the points of one curve in bounded memory.
 *
 * Up to `capacity` points all are kept. Beyond that, neighbours are merged: of each group the
 * lowest and the highest stay, and later points are grouped right away. So a curve keeps its shape,
 * and its first, last, lowest and highest points are always exact; which points stay is
 * deterministic, unlike with random sampling.
 *
 * Steps never decrease: a point with a lower step than the last one comes from a restarted run, and
 * supersedes the points of its step and later ones (as in TensorBoard's loader). Points of the same
 * step are all kept. Merged groups from before a restart are dropped by the steps of their
 * remaining points.
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
    uint32_t len, room;     /* room: capacity allocated */
    uint32_t group;         /* points merged into one group; 1: none */
    uint32_t grouped;       /* so far in the open group */
    struct point low, high; /* of the open group */
    struct point first, last;
    struct point min, max; /* of the finite values */
    bool any, any_finite;
    uint64_t read;   /* points ever added */
    uint64_t purges; /* how often points were superseded */
};

void series_release(struct series *s);
/* -ENOMEM: the point is not stored. *bytes, the memory of many series, is updated. */
int series_add(struct series *s, struct point p, uint32_t capacity, size_t *bytes);
/* Drops points of this step and later ones. */
void series_purge(struct series *s, int64_t step);
/* Halves the points, to make room elsewhere. */
void series_shrink(struct series *s, uint32_t capacity, size_t *bytes);

/* Upper bound for series_points. */
size_t series_count(const struct series *s);
/* All points in order, including the open group and the exact ends; out has room for series_count.
 * Returns how many. */
size_t series_points(const struct series *s, struct point *out);

#endif
