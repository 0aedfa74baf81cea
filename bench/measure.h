/* measure.h - what the programs share that measure decisions: time, the median, memory or the end.
 */
#ifndef MUSTER_BENCH_MEASURE_H
#define MUSTER_BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline void *must(void *p)
{
    if (!p) {
        (void)fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static inline int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Puts them in order. */
static inline double median(double *times, size_t len)
{
    qsort(times, len, sizeof(*times), compare_times);
    return times[len / 2];
}

#endif
