/* points.c - see points.h. */
#include "board/points.h"

#include <math.h>
#include <stdlib.h>

static size_t keep_range(struct point *p, size_t n, const struct points_range *range)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (p[i].step >= range->from && p[i].step <= range->to)
            p[kept++] = p[i];
    return kept;
}

static bool is_less(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

/* Of p[begin..end) the first, lowest, highest and last point as needed, in order. */
static size_t thin(struct point *out, size_t n, const struct point *p, size_t begin, size_t end,
                   size_t whole)
{
    size_t low = begin, high = begin;

    for (size_t i = begin + 1; i < end; i++) {
        if (is_less(p[i].value, p[low].value))
            low = i;
        if (is_less(p[high].value, p[i].value))
            high = i;
    }
    for (size_t i = begin; i < end; i++)
        if (i == low || i == high || i == 0 || i + 1 == whole)
            out[n++] = p[i];
    return n;
}

/* In place: writing never overtakes reading. */
static size_t thin_out(struct point *p, size_t n, uint32_t width)
{
    double from = (double)p[0].step, span = (double)p[n - 1].step - from;
    size_t kept = 0, begin = 0;

    while (begin < n) {
        double column = span > 0 ? floor(((double)p[begin].step - from) / span * width) : 0;
        size_t end = begin + 1;

        while (end < n &&
               (span <= 0 ? end < begin + n / width + 1
                          : floor(((double)p[end].step - from) / span * width) == column))
            end++;
        kept = thin(p, kept, p, begin, end, n);
        begin = end;
    }
    return kept;
}

struct point *points_of(const struct series *s, const struct points_range *range, size_t *ret_len)
{
    size_t room = series_count(s);
    struct point *p = room ? calloc(room, sizeof(*p)) : NULL;

    *ret_len = room && !p ? SIZE_MAX : 0;
    if (!p)
        return NULL;
    *ret_len = keep_range(p, series_points(s, p), range);
    if (range->width && *ret_len > 2u * (size_t)range->width)
        *ret_len = thin_out(p, *ret_len, range->width);
    return p;
}
