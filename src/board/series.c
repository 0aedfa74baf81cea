/* series.c - see series.h. */
#include "board/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_START 16u

/* Orders values with NaN above all: a loss that became NaN must not vanish among its neighbours. */
static bool is_less(double a, double b)
{
    return isnan(b) ? !isnan(a) : a < b;
}

static bool same(const struct point *a, const struct point *b)
{
    return a->step == b->step && a->wall_time == b->wall_time &&
           (a->value == b->value || (isnan(a->value) && isnan(b->value)));
}

void series_release(struct series *s)
{
    free(s->points);
    *s = (struct series){0};
}

/* The lowest and the highest of n points, in order. Returns how many were written to out: 1 or
 * 2. */
static uint32_t extremes(const struct point *p, uint32_t n, struct point *out)
{
    uint32_t low = 0, high = 0;

    for (uint32_t i = 1; i < n; i++) {
        if (is_less(p[i].value, p[low].value))
            low = i;
        if (is_less(p[high].value, p[i].value))
            high = i;
    }
    if (low == high) {
        out[0] = p[low];
        return 1;
    }
    struct point pair[2] = {p[low < high ? low : high], p[low < high ? high : low]};

    memcpy(out, pair, sizeof(pair));
    return 2;
}

/* Merges four stored points into two; later points are grouped accordingly. */
static void put_together(struct series *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->len; i += 4)
        n += extremes(s->points + i, s->len - i < 4 ? s->len - i : 4, s->points + n);
    s->len = n;
    s->group = s->group <= 1 ? 4 : s->group > UINT32_MAX / 2 ? s->group : s->group * 2;
}

static bool grow(struct series *s, uint32_t capacity, size_t *bytes)
{
    uint32_t room = s->room ? s->room * 2 : ROOM_START;
    struct point *larger;

    if (room > capacity)
        room = capacity;
    larger = reallocarray(s->points, room, sizeof(*larger));
    if (!larger)
        return false;
    *bytes += (size_t)(room - s->room) * sizeof(*larger);
    s->points = larger;
    s->room = room;
    return true;
}

/* Makes room for two more points, by growing or by merging. */
static bool make_room(struct series *s, uint32_t capacity, size_t *bytes)
{
    while (s->len + 2 > s->room && s->room < capacity)
        if (!grow(s, capacity, bytes))
            break;
    while (s->len + 2 > s->room && s->len >= 4)
        put_together(s);
    return s->len + 2 <= s->room;
}

static void note_extremes(struct series *s, const struct point *p)
{
    if (!isfinite(p->value))
        return;
    if (!s->any_finite || p->value < s->min.value)
        s->min = *p;
    if (!s->any_finite || p->value > s->max.value)
        s->max = *p;
    s->any_finite = true;
}

static uint32_t open_group(const struct series *s, struct point out[2])
{
    const struct point both[2] = {s->low.step <= s->high.step ? s->low : s->high,
                                  s->low.step <= s->high.step ? s->high : s->low};

    if (!s->grouped)
        return 0;
    memcpy(out, both, sizeof(both));
    return same(&both[0], &both[1]) ? 1 : 2;
}

static void close_group(struct series *s)
{
    s->len += open_group(s, s->points + s->len);
    s->grouped = 0;
}

static void add_to_group(struct series *s, const struct point *p)
{
    if (!s->grouped || is_less(p->value, s->low.value))
        s->low = *p;
    if (!s->grouped || is_less(s->high.value, p->value))
        s->high = *p;
    s->grouped++;
}

int series_add(struct series *s, struct point p, uint32_t capacity, size_t *bytes)
{
    if (s->any && p.step < s->last.step)
        series_purge(s, p.step);
    if (s->len + 2 > s->room && !make_room(s, capacity, bytes))
        return -ENOMEM;
    if (!s->any)
        s->first = p;
    s->any = true;
    s->last = p;
    s->read++;
    note_extremes(s, &p);
    if (s->group <= 1 && s->grouped == 0) {
        s->points[s->len++] = p;
        return 0;
    }
    add_to_group(s, &p);
    if (s->grouped >= s->group)
        close_group(s);
    return 0;
}

static void find_extremes(struct series *s)
{
    s->any_finite = false;
    for (uint32_t i = 0; i < s->len; i++)
        note_extremes(s, &s->points[i]);
}

void series_purge(struct series *s, int64_t step)
{
    struct point open[2];
    uint32_t n = open_group(s, open);

    if (!s->any || s->last.step < step)
        return;
    s->purges++;
    s->grouped = 0;
    while (s->len && s->points[s->len - 1].step >= step)
        s->len--;
    for (uint32_t i = 0; i < n && open[i].step < step; i++)
        s->points[s->len++] = open[i]; /* there is room: groups are opened with room for two */
    s->any = s->first.step < step;
    if (!s->len)
        s->group = 1; /* starts over with every point */
    if (s->any)
        s->last = s->len ? s->points[s->len - 1] : s->first;
    find_extremes(s);
    if (s->any)
        note_extremes(s, &s->first);
}

void series_shrink(struct series *s, uint32_t capacity, size_t *bytes)
{
    struct point *smaller;

    if (s->room <= capacity)
        return;
    while (s->len + 2 > capacity && s->len >= 4)
        put_together(s);
    smaller = reallocarray(s->points, capacity, sizeof(*smaller));
    if (!smaller)
        return;
    *bytes -= (size_t)(s->room - capacity) * sizeof(*smaller);
    s->points = smaller;
    s->room = capacity;
}

size_t series_count(const struct series *s)
{
    return s->any ? (size_t)s->len + 4 : 0;
}

static size_t append(struct point *out, size_t n, const struct point *p)
{
    if (n && same(&out[n - 1], p))
        return n;
    out[n] = *p;
    return n + 1;
}

size_t series_points(const struct series *s, struct point *out)
{
    struct point open[2];
    uint32_t open_len = open_group(s, open);
    size_t n = 0;

    if (!s->any)
        return 0;
    if (s->group <= 1 && s->len) { /* all of them, twins included */
        memcpy(out, s->points, s->len * sizeof(*out));
        return s->len;
    }
    n = append(out, n, &s->first);
    for (uint32_t i = 0; i < s->len; i++)
        n = append(out, n, &s->points[i]);
    for (uint32_t i = 0; i < open_len; i++)
        n = append(out, n, &open[i]);
    return append(out, n, &s->last);
}
