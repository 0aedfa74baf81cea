/*
 * schedule_words.c - says in one sentence what a waiting pod waits for. Only the first in line is
 * told numbers: they change with every pod that comes or goes, and each change is a write to the
 * API for every pod that is told them.
 */
#include <inttypes.h>

#include "core/schedule_room.h"

/* What is scarcest is named first. */
static const enum resource order[] = {RESOURCE_GPU, RESOURCE_CPU, RESOURCE_MEMORY};

const char *words_no_node(void)
{
    return "waiting for a node: none is ready";
}

static const char *amount(const struct board *b, const struct resources *r, enum resource which)
{
    return resource_text(b->arena, which, resources_get(r, which));
}

static const char *number(const struct board *b, const struct resources *r, enum resource which)
{
    return resource_number(b->arena, which, resources_get(r, which));
}

/* The pod that asks for most, for when the sum is not what is wrong. */
static const char *largest_pod(const struct board *b, const struct gang *g)
{
    const struct waiting *most = g->first;

    for (const struct waiting *w = g->first; w; w = w->next)
        if (w->asks.gpus > most->asks.gpus ||
            (w->asks.gpus == most->asks.gpus && w->asks.cpu_milli > most->asks.cpu_milli))
            most = w;
    return arena_printf(b->arena, "%s, %s, %s", amount(b, &most->asks, RESOURCE_CPU),
                        amount(b, &most->asks, RESOURCE_MEMORY),
                        amount(b, &most->asks, RESOURCE_GPU));
}

const char *words_never(const struct board *b, const struct gang *g)
{
    struct resources asks = gang_lacks(g), total = board_total(b);

    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];

        if (!board_counts(b, r) || resources_get(&asks, r) <= resources_get(&total, r))
            continue;
        if (b->nodes_len == 1)
            return arena_printf(b->arena, "can never fit: asks %s, the node has %s",
                                amount(b, &asks, r), number(b, &total, r));
        return arena_printf(b->arena, "can never fit: asks %s, the %zu nodes together have %s",
                            amount(b, &asks, r), b->nodes_len, number(b, &total, r));
    }
    return arena_printf(b->arena, "can never fit: no node is made for a pod of %s",
                        largest_pod(b, g));
}

/* Who has what is missing: the one that holds most, and how many more. */
static const char *holders(const struct board *b, enum resource which)
{
    const struct gang *most = NULL;
    int64_t others = 0;

    for (const struct gang *g = b->gangs; g; g = g->next) {
        int64_t held = resources_get(&g->held, which);

        others += held > 0;
        if (held > 0 && (!most || held > resources_get(&most->held, which)))
            most = g;
    }
    if (!most)
        return "";
    if (others == 1)
        return arena_printf(b->arena, "; %s \"%s\" holds %s", most->word, most->name,
                            amount(b, &most->held, which));
    return arena_printf(b->arena, "; %s \"%s\" holds %s, %" PRId64 " more hold the rest",
                        most->word, most->name, amount(b, &most->held, which), others - 1);
}

const char *words_lacking(const struct board *b, const struct gang *g)
{
    struct resources asks = gang_lacks(g);
    struct resources total = board_total(b), used = board_used(b);

    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];
        int64_t free = max_i64(resources_get(&total, r) - resources_get(&used, r), 0);

        if (board_counts(b, r) && resources_get(&asks, r) > free)
            return arena_printf(b->arena, "waiting for resources: needs %s, %s of %s is free%s",
                                amount(b, &asks, r), resource_number(b->arena, r, free),
                                amount(b, &total, r), holders(b, r));
    }
    return arena_printf(b->arena,
                        "waiting for resources: no node has room for a pod of %s at the moment",
                        largest_pod(b, g));
}

const char *words_behind(const struct board *b, const struct gang *head, size_t position)
{
    return arena_printf(b->arena, "waiting for its turn: number %zu in line behind %s \"%s\"",
                        position, head->word, head->name);
}
