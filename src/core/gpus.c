/* gpus.c - see gpus.h. */
#include "core/gpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

/* --- sets --- */

static bool read_index(const char **text, unsigned long *ret)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *ret = strtoul(*text, &end, 10);
    *text = end;
    return *ret < GPUS_PER_NODE_LIMIT;
}

int gpu_set_parse(const char *text, uint64_t *ret)
{
    *ret = 0;
    if (!*text || strcmp(text, "none") == 0)
        return 0;
    for (;;) {
        unsigned long first, last;

        if (!read_index(&text, &first))
            return -EINVAL;
        last = first;
        if (*text == '-') {
            text++;
            if (!read_index(&text, &last) || last < first)
                return -EINVAL;
        }
        for (; first <= last; first++)
            *ret |= BIT(first);
        if (!*text)
            return 0;
        if (*text++ != ',')
            return -EINVAL;
    }
}

uint64_t gpu_set_read(const char *text)
{
    uint64_t set;
    bool whole = gpu_set_parse(text, &set) == 0;

    (void)whole;
    return set;
}

const char *gpu_set_text(struct arena *a, uint64_t set)
{
    const char *list = "";

    for (int i = 0; i < GPUS_PER_NODE_LIMIT && list; i++)
        if (set & BIT(i))
            list = arena_printf(a, "%s%s%d", list, list[0] ? "," : "", i);
    return list;
}

int64_t gpu_set_count(uint64_t set)
{
    return __builtin_popcountll(set);
}

struct gpu_lease gpu_lease_read(const char *text, int64_t shares)
{
    const char *comma = strrchr(text, ',');
    struct gpu_lease lease = {.whole = gpu_set_read(text)};

    if (shares > 0) {
        lease.shared = gpu_set_read(comma ? comma + 1 : text);
        lease.whole &= ~lease.shared;
    }
    return lease;
}

const char *gpu_lease_text(struct arena *a, struct gpu_lease lease)
{
    const char *whole = gpu_set_text(a, lease.whole), *shared = gpu_set_text(a, lease.shared);

    if (!lease.whole || !lease.shared)
        return lease.whole ? whole : shared;
    return whole && shared ? arena_printf(a, "%s,%s", whole, shared) : NULL;
}

/* --- distances --- */

void gpu_links_parse(const char *text, struct gpu_links *ret)
{
    size_t row = 0, column = 0, first = strcspn(text, ",");

    *ret = (struct gpu_links){.len = 0};
    if (first == 0 || first > GPUS_PER_NODE_LIMIT || strlen(text) != first * (first + 1) - 1)
        return;
    for (; *text; text++) {
        if (*text == ',' && column == first) {
            row++;
            column = 0;
        } else if (*text >= '0' && *text <= '9' && column < first) {
            ret->distance[row][column++] = (uint8_t)(*text - '0');
        } else {
            return;
        }
    }
    ret->len = first;
}

const char *gpu_links_text(struct arena *a, const struct gpu_links *links)
{
    char *out = arena_alloc(a, links->len * (links->len + 1) + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < links->len; i++) {
        if (i)
            out[n++] = ',';
        for (size_t j = 0; j < links->len; j++)
            out[n++] = (char)('0' + links->distance[i][j]);
    }
    out[n] = '\0';
    return out;
}

static int distance(const struct gpu_links *links, size_t a, size_t b)
{
    if (a >= links->len || b >= links->len)
        return a == b ? GPU_SAME : GPU_SYSTEM;
    return links->distance[a][b];
}

/* --- choosing --- */

/* The distance of g to all of set, and its closeness to the GPUs left free: the closer, the more is
 * broken up by taking it. */
static int64_t cost_of(const struct gpu_links *links, size_t g, uint64_t set, uint64_t left)
{
    int64_t far = 0, broken = 0;

    for (size_t i = 0; i < GPUS_PER_NODE_LIMIT; i++) {
        if (i == g)
            continue;
        if (set & BIT(i))
            far += distance(links, g, i);
        else if (left & BIT(i))
            broken += GPU_SYSTEM - distance(links, g, i);
    }
    /* distance dominates; broken is at most 63 * 8 */
    return far * 1024 + broken;
}

static uint64_t grow(uint64_t free, size_t start, int64_t count, const struct gpu_links *links)
{
    uint64_t set = BIT(start);

    while (gpu_set_count(set) < count) {
        int64_t least = INT64_MAX;
        size_t nearest = 0;

        for (size_t i = 0; i < GPUS_PER_NODE_LIMIT; i++) {
            int64_t cost;

            if (!(free & ~set & BIT(i)))
                continue;
            cost = cost_of(links, i, set, free & ~set);
            if (cost < least) {
                least = cost;
                nearest = i;
            }
        }
        set |= BIT(nearest);
    }
    return set;
}

uint64_t gpus_choose(uint64_t free, int64_t count, const struct gpu_links *links)
{
    int64_t least = INT64_MAX;
    uint64_t best = 0;

    if (count < 1 || gpu_set_count(free) < count)
        return 0;
    for (size_t start = 0; start < GPUS_PER_NODE_LIMIT; start++) {
        uint64_t set = free & BIT(start) ? grow(free, start, count, links) : 0;
        int64_t cost = 0;

        for (size_t i = 0; set && i < GPUS_PER_NODE_LIMIT; i++)
            if (set & BIT(i))
                cost += cost_of(links, i, set, free & ~set);
        if (set && cost < least) {
            least = cost;
            best = set;
        }
    }
    return best;
}

/* --- shares --- */

uint64_t gpu_shares_choose(const struct gpu_shares *s, uint64_t barred, int64_t count)
{
    int64_t most = 0;
    uint64_t best = 0;

    for (size_t i = 0; i < GPUS_PER_NODE_LIMIT && count > 0; i++) {
        int64_t left = s->each - s->used[i];

        if (!(s->set & ~barred & BIT(i)) || left < count || left <= most)
            continue;
        most = left;
        best = BIT(i);
    }
    return best;
}

uint64_t gpu_shares_in_use(const struct gpu_shares *s)
{
    uint64_t set = 0;

    for (size_t i = 0; i < GPUS_PER_NODE_LIMIT; i++)
        if (s->used[i] > 0)
            set |= BIT(i);
    return set;
}

void gpu_shares_use(struct gpu_shares *s, uint64_t which, int64_t count)
{
    for (size_t i = 0; i < GPUS_PER_NODE_LIMIT && which; i++)
        if (which & BIT(i))
            s->used[i] += count;
}
