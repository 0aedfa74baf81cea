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

/* "disk=ssd, zone=a" */
static const char *selector_text(const struct board *b, const struct json *selector)
{
    const char *text = "";

    json_each (m, selector)
        text = arena_printf(b->arena, "%s%s%s=%s", text ? text : "", text && *text ? ", " : "",
                            m->key, json_string(m, ""));
    return text;
}

/* The first member that no node is open to, whatever it has free. */
static const struct waiting *unwelcome(const struct board *b, const struct gang *g)
{
    for (const struct waiting *w = g->first; w; w = w->next)
        if (!board_is_open_to(b, w->pod))
            return w;
    return NULL;
}

/* Adds "asks 5 CPU, the node has 4" for each resource of which there is too little. */
static const char *too_little(const struct board *b, const char *text, const char *who,
                              const struct resources *asks, const struct resources *has,
                              const char *what_has)
{
    for (size_t i = 0; i < ELEMS(order); i++) {
        enum resource r = order[i];

        if (board_counts(b, r) && resources_get(asks, r) > resources_get(has, r))
            text = arena_printf(b->arena, "%s%s%sasks %s, %s %s", text ? text : "",
                                text && *text ? "; " : "", who, amount(b, asks, r), what_has,
                                number(b, has, r));
    }
    return text;
}

/* Whether a pod of its own is too large for every node that is open to it. */
static const char *too_large(const struct board *b, const struct gang *g, const char *text)
{
    for (const struct waiting *w = g->first; w; w = w->next) {
        struct resources most = board_largest(b, w->pod);
        const char *more = too_little(b, text, "a pod ", &w->asks, &most, "the largest node has");

        if (more != text)
            return more;
    }
    return text;
}

static const char *what_helps(const struct board *b, const struct resources *asks,
                              const struct resources *total)
{
    bool machine = b->nodes_len == 1 && !b->overcommit &&
                   (asks->cpu_milli > total->cpu_milli || asks->memory_bytes > total->memory_bytes);

    return machine ? " (what helps: smaller requests, fewer replicas, or muster up with "
                     "--overcommit, --cpus or --memory)"
                   : " (what helps: smaller requests or fewer replicas)";
}

const char *words_never(const struct board *b, const struct gang *g)
{
    struct resources asks = gang_lacks(g), total = board_total(b);
    const struct waiting *nowhere = unwelcome(b, g);
    bool one = b->nodes_len == 1;
    const char *has = one ? "the node has"
                          : arena_printf(b->arena, "the %zu nodes together have", b->nodes_len);
    const char *text;

    if (nowhere)
        return arena_printf(b->arena, NEVER_FITS ": no node has the labels of the nodeSelector: %s",
                            selector_text(b, json_at(nowhere->pod, "spec", "nodeSelector")));
    text = too_little(b, "", "", &asks, &total, has ? has : "");
    if (!one)
        text = too_large(b, g, text);
    if (!text || !*text)
        return arena_printf(b->arena,
                            NEVER_FITS ": its pods together fit on no nodes, the largest asks %s",
                            largest_pod(b, g));
    return arena_printf(b->arena, NEVER_FITS ": %s%s", text, what_helps(b, &asks, &total));
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
