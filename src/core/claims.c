/*
 * claims.c - room reserved for groups at the head of the line. Groups behind it may use what it
 * does not need, so that it starts no later than without them. Once chosen a claim stays; otherwise
 * a group would chase whichever node looks best at the moment and might wait forever.
 */
#include "base/heap.h"
#include "core/decision.h"

#define UNLIMITED (INT64_MAX / 4)
#define TENANTS_LIMIT 32 /* groups on one node that are considered individually */
#define STAYING_LIMIT 10 /* of which all combinations are tried */

void claims_clear(struct ledger *l)
{
    l->hopeless_len = 0;
    for (size_t i = 0; i < l->ready_len; i++) {
        l->ready[i]->claimed = l->ready[i]->spare = (struct resources){0};
        l->ready[i]->claimed_from_ms = INT64_MAX;
        for (enum resource k = 0; k < RESOURCE_COUNT; k++)
            l->ready[i]->beside.amount[k] = UNLIMITED;
    }
}

bool group_claims(const struct ledger *l, const struct group *g)
{
    return g->claim_len > 0 && g->claimed_at == l->walks;
}

int64_t group_max_duration_ms(const struct group *g)
{
    return g->unlimited ? 0 : g->queue->max_duration_ms;
}

int64_t group_duration_ms(const struct group *g)
{
    int64_t limit = group_max_duration_ms(g);

    if (g->deadline_ms && (!limit || g->deadline_ms < limit))
        return g->deadline_ms;
    return limit;
}

/* Without a PodGroup it is as old as the oldest of its pods. */
int64_t group_since_ms(const struct group *g)
{
    int64_t since = INT64_MAX;

    if (!g->lone && g->exists)
        return g->scheduled_ms;
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_live(m) && m->bound && m->since_ms)
            since = min_i64(since, m->since_ms);
    return since == INT64_MAX ? 0 : since;
}

int64_t group_stop_ms(const struct group *g, int64_t length)
{
    int64_t since = group_since_ms(g);

    return length && since ? since + length + TIMES_MS : 0;
}

int64_t group_end_ms(const struct group *g)
{
    int64_t stop = group_stop_ms(g, group_duration_ms(g));

    return stop ? stop + g->grace_ms : 0;
}

/* --- when a head could start ------------------------------------------------------------------ */

/* The earliest time anything becomes free on the node, if all run as long as allowed; 0:
 * unknown. */
static int64_t first_end_ms(const struct node_room *n)
{
    int64_t first = INT64_MAX;

    for (const struct member *m = n->holders; m; m = m->next_on_node) {
        int64_t end = m->ending ? 0 : group_end_ms(m->group);

        if (!end)
            return 0;
        first = min_i64(first, end);
    }
    return first == INT64_MAX ? 0 : first;
}

static int64_t start_ms(const struct group *g)
{
    int64_t start = 0;

    for (size_t i = 0; i < g->claim_len; i++)
        if (g->claim[i].is_short) {
            int64_t end = first_end_ms(g->claim[i].node);

            if (!end)
                return 0;
            start = max_i64(start, end);
        }
    return start;
}

/* --- what the head does not need -------------------------------------------------------------- */

struct tenant {
    const struct group *group;
    struct resources held; /* on the node */
};

/* Groups that could still be there when all claims so far are served; one too large for that must
 * end first in any case. */
struct staying {
    struct resources room; /* left for them besides the claims */
    struct tenant tenants[TENANTS_LIMIT];
    size_t len;
    struct resources most; /* the most they can hold then, per resource */
};

static bool fits_beside(const struct staying *s, const struct resources *sum)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (sum->amount[i] > s->room.amount[i])
            return false;
    return true;
}

static void find_most(struct staying *s, size_t from, const struct resources *sum)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        s->most.amount[i] = max_i64(s->most.amount[i], sum->amount[i]);
    for (size_t i = from; i < s->len; i++) {
        struct resources more = *sum;

        resources_add(&more, &s->tenants[i].held);
        if (fits_beside(s, &more))
            find_most(s, i + 1, &more);
    }
}

/* False when there are too many. */
static bool list_tenants(struct staying *s, const struct node_room *n)
{
    for (const struct member *m = n->holders; m; m = m->next_on_node) {
        size_t i = 0;

        while (i < s->len && s->tenants[i].group != m->group)
            i++;
        if (i == TENANTS_LIMIT)
            return false;
        if (i == s->len)
            s->tenants[s->len++] = (struct tenant){.group = m->group};
        resources_add(&s->tenants[i].held, &m->asks);
    }
    return true;
}

/* The head's own members stay; groups that must end are left out. */
static bool list_staying(struct staying *s, const struct node_room *n, const struct group *head)
{
    struct resources own = group_held_on(head, n);
    size_t kept = 0;

    if (!list_tenants(s, n))
        return false;
    resources_subtract(&s->room, &own);
    for (size_t i = 0; i < s->len; i++)
        if (s->tenants[i].group != head && fits_beside(s, &s->tenants[i].held))
            s->tenants[kept++] = s->tenants[i];
    s->len = kept;
    return kept <= STAYING_LIMIT;
}

/* Whichever group ends first: as long as those behind take no more than this, the claims are served
 * at the same time as without them. */
static void set_beside(const struct ledger *l, struct node_room *n, const struct group *head)
{
    static const struct resources nothing;
    struct staying s = {.len = 0};
    bool known;

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        s.room.amount[i] = n->claimed.amount[i] > 0 && ledger_counts(l, i)
                               ? subtract_i64(n->total.amount[i], n->claimed.amount[i])
                               : UNLIMITED;
    known = list_staying(&s, n, head);
    if (known)
        find_most(&s, 0, &nothing);
    for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
        /* shares are per GPU: a sufficient total need not fit */
        int64_t stays = known && i != RESOURCE_GPU_SHARE ? s.most.amount[i] : n->used.amount[i];

        if (s.room.amount[i] < UNLIMITED / 2)
            n->beside.amount[i] = min_i64(n->beside.amount[i], s.room.amount[i] - stays);
    }
}

static void become_head(struct decision *d, struct group *g)
{
    int64_t start;

    for (size_t i = 0; i < g->claim_len; i++) {
        struct claim_part *part = &g->claim[i];
        enum resource which;

        part->is_short = node_lacks(d->ledger, part->node, &part->asks, &part->node->claimed,
                                    &which);
        resources_add(&part->node->claimed, &part->asks);
        resources_add(&g->queue->reserved, &part->asks);
        set_beside(d->ledger, part->node, g);
    }
    start = start_ms(g);
    d->lent_until_ms = max_i64(d->lent_until_ms, start);
    for (size_t i = 0; i < g->claim_len; i++) {
        struct node_room *n = g->claim[i].node;

        n->claimed_from_ms = min_i64(n->claimed_from_ms, start);
    }
    g->claimed_at = d->ledger->walks;
    if (d->heads_len < CLAIMS_LIMIT)
        d->heads[d->heads_len++] = g;
}

/* --- claiming --------------------------------------------------------------------------------- */

static struct claim_part *part_on(struct group *g, struct node_room *n)
{
    for (size_t i = 0; i < g->claim_len; i++)
        if (g->claim[i].node == n)
            return &g->claim[i];
    g->claim[g->claim_len] = (struct claim_part){.node = n};
    return &g->claim[g->claim_len++];
}

void claim_places(struct decision *d, struct group *g)
{
    size_t count = 0;

    for (const struct member *m = g->first; m; m = m->next)
        count += m->on_trial;
    heap_free(g->claim);
    g->claim_len = 0;
    g->claim_members = (int64_t)count;
    g->claim = heap_new((count + 1) * sizeof(*g->claim));
    if (!g->claim)
        d->ledger->broken = true;
    for (const struct member *m = g->first; m && g->claim; m = m->next)
        if (m->on_trial)
            resources_add(&part_on(g, m->node)->asks, &m->asks);
    unplace_members(d->ledger, g);
    become_head(d, g);
}

/* The group starts on its claim as soon as its pods exist, even while claims ahead of it wait, so
 * groups behind it only get what the claim leaves. */
static void keep_from_others(const struct ledger *l, const struct group *g, bool with_ending)
{
    for (size_t k = 0; k < g->claim_len; k++) {
        struct node_room *n = g->claim[k].node;
        struct resources left = n->total;

        resources_subtract(&left, &n->used);
        resources_subtract(&left, &g->claim[k].asks);
        if (with_ending)
            resources_add(&left, &n->ending);
        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            if (g->claim[k].asks.amount[i] > 0 && ledger_counts(l, i))
                n->beside.amount[i] = min_i64(n->beside.amount[i], left.amount[i]);
    }
}

void claim_free_places(struct decision *d, struct group *g)
{
    claim_places(d, g);
    keep_from_others(d->ledger, g, false);
}

/* The previous decision's claim, if still valid. */
static bool is_good(const struct ledger *l, const struct group *g, int64_t required)
{
    if (g->claim_len == 0 || g->claim_members != required || g->claim_rules != l->rules)
        return false;
    for (size_t i = 0; i < g->claim_len; i++) {
        const struct node_room *n = g->claim[i].node;
        struct resources room = n->total, own = group_held_on(g, n);

        resources_subtract(&room, &own);
        resources_subtract(&room, &n->claimed);
        if (!place_fits(l, &g->claim[i].asks, &room))
            return false;
    }
    return true;
}

bool claim_ending_room(struct decision *d, struct group *g, int64_t required)
{
    if (d->heads_len == CLAIMS_LIMIT || d->ledger->ending == 0 ||
        !place_members(d->ledger, g, required, ROOM_TO_COME))
        return false;
    claim_places(d, g);
    keep_from_others(d->ledger, g, true);
    return true;
}

void claim_room(struct decision *d, struct group *g, int64_t required)
{
    if (d->heads_len == CLAIMS_LIMIT)
        return;
    if (is_good(d->ledger, g, required)) {
        become_head(d, g);
        return;
    }
    place_begin_trial(d->ledger, g);
    g->claim_len = 0;
    g->claim_rules = d->ledger->rules;
    if (place_members(d->ledger, g, required, ROOM_CLAIM))
        claim_places(d, g);
    else
        d->unclaimed = true;
}
