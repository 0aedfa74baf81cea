/*
 * placement.c - see placement.h. Each member gets its preferred node among those with room, and of
 * equal ones the fullest (or the emptiest, depending on the scheduler's configuration): whole nodes
 * stay free for those that need them.
 */
#include "core/placement.h"

static bool spares_claims(const struct ledger *l, const struct node_room *n, enum room room)
{
    return room == ROOM_FREE || (room == ROOM_IN_TIME && n->claimed_from_ms < l->ends_ms);
}

struct resources place_room(const struct ledger *l, const struct node_room *n, enum room room)
{
    struct resources r = n->total;

    resources_subtract(&r, &n->used);
    if (room == ROOM_EMPTY || room == ROOM_CLAIM)
        resources_add(&r, &n->before);
    if (room == ROOM_TO_COME) {
        resources_add(&r, &n->ending);
        resources_add(&r, &n->spare);
    }
    if (room == ROOM_TO_COME || room == ROOM_CLAIM)
        resources_subtract(&r, &n->claimed);
    for (enum resource i = 0; i < RESOURCE_COUNT && spares_claims(l, n, room); i++)
        r.amount[i] = min_i64(r.amount[i], n->beside.amount[i]);
    return r;
}

bool place_fits(const struct ledger *l, const struct resources *asks, const struct resources *room)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (asks->amount[i] > room->amount[i] && ledger_counts(l, i) && asks->amount[i] > 0)
            return false;
    return true;
}

/* GPUs that are held are devices, not amounts. */
static bool has_devices(const struct node_room *n, const struct resources *asks, enum room room)
{
    return room > ROOM_UNHELD || node_gives_gpus(n, asks);
}

/* How much must still become free there, in thousandths of the node. */
static int64_t missing(const struct ledger *l, const struct node_room *n,
                       const struct resources *asks)
{
    struct resources r = place_room(l, n, ROOM_TO_COME);
    int64_t sum = 0;

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (asks->amount[i] > r.amount[i] && n->total.amount[i] > 0)
            sum += (int64_t)((double)(asks->amount[i] - r.amount[i]) * 1000 /
                             (double)n->total.amount[i]);
    return sum;
}

/* What would be left on the node, in thousandths of it, over all resources but pods. */
static int64_t left_over(const struct node_room *n, const struct resources *asks,
                         const struct resources *room)
{
    int64_t sum = 0;

    for (enum resource i = 0; i < RESOURCE_PODS; i++)
        if (n->total.amount[i] >= 1000)
            sum += (room->amount[i] - asks->amount[i]) / (n->total.amount[i] / 1000);
        else if (n->total.amount[i] > 0)
            sum += multiply_i64(room->amount[i] - asks->amount[i], 1000) / n->total.amount[i];
    if (asks->gpus > 0) /* so that single GPUs do not break up nodes, however full these are
                         * otherwise */
        sum = add_i64(sum, multiply_i64(room->gpus - asks->gpus, 1000 * RESOURCE_COUNT));
    return sum;
}

bool place_is_allowed(struct ledger *l, const struct member *m, const struct node_room *n,
                      enum room room)
{
    return queue_allows_node(l, m->group->queue, n) &&
           ((!m->constrained && !n->tainted && !l->repelling) ||
            constraints_allow(l, m, n, room == ROOM_EMPTY));
}

/* Each kind of preference has its own scale: it is normalized by how much nodes differ in it. */
#define LIKING_RANGE 100

struct taste {
    bool has_any, asked;
    int64_t least[LIKINGS], most[LIKINGS];
};

static void taste_node(struct taste *t, const int64_t liking[LIKINGS])
{
    for (int i = 0; i < LIKINGS; i++) {
        t->least[i] = t->asked ? min_i64(t->least[i], liking[i]) : liking[i];
        t->most[i] = t->asked ? max_i64(t->most[i], liking[i]) : liking[i];
    }
    t->asked = true;
}

static int64_t liking_of(const struct taste *t, const int64_t liking[LIKINGS])
{
    int64_t sum = 0;

    for (int i = 0; i < LIKINGS; i++)
        if (t->most[i] > t->least[i])
            sum += (liking[i] - t->least[i]) * LIKING_RANGE / (t->most[i] - t->least[i]);
    return sum;
}

bool place_has_room(const struct ledger *l, const struct member *m, const struct node_room *n,
                    enum room room)
{
    struct resources r = place_room(l, n, room);

    return place_fits(l, &m->asks, &r) && has_devices(n, &m->asks, room);
}

/* The member's preferences among all nodes with room; none if it has no preferences. */
static struct taste taste_of(struct ledger *l, const struct member *m, enum room room)
{
    struct taste t = {0};

    if ((!m->constrained && !l->has_taints) || room == ROOM_CLAIM || room == ROOM_EMPTY)
        return t;
    t.has_any = true;
    for (size_t i = 0; i < l->ready_len; i++) {
        struct node_room *n = l->ready[i];

        n->allowed = place_has_room(l, m, n, room) && place_is_allowed(l, m, n, room);
        if (!n->allowed)
            continue;
        constraints_like(l, m, n, n->liking);
        taste_node(&t, n->liking);
    }
    return t;
}

static struct node_room *choose(struct ledger *l, const struct member *m, enum room room)
{
    const struct taste taste = taste_of(l, m, room);
    struct node_room *best = NULL;
    int64_t best_left = 0, best_liking = 0;

    for (size_t i = 0; i < l->ready_len; i++) {
        struct node_room *n = l->ready[i];
        struct resources r = place_room(l, n, room);
        int64_t left, liking = 0;

        if (taste.has_any ? !n->allowed
                          : !place_fits(l, &m->asks, &r) || !has_devices(n, &m->asks, room))
            continue;
        if (taste.has_any)
            liking = liking_of(&taste, n->liking);
        left = room == ROOM_CLAIM ? missing(l, n, &m->asks) : left_over(n, &m->asks, &r);
        if (l->spread && room != ROOM_CLAIM)
            left = -left;
        if (best && (liking < best_liking || (liking == best_liking && left >= best_left)))
            continue;
        if (!taste.has_any && !place_is_allowed(l, m, n, room))
            continue;
        best = n;
        best_left = left;
        best_liking = liking;
    }
    return best;
}

/* A member's shares are of one GPU: remainders of several do not add up. */
static int64_t sharers(const struct node_room *n, int64_t shares)
{
    if (shares == 0 || !n->shares.set)
        return INT64_MAX;
    return gpu_set_count(n->shares.set) * (n->shares.each / shares);
}

/* How many such members fit on all nodes together, counting up to enough. Exact unless nodes treat
 * them specially; otherwise an upper bound. */
static int64_t capacity(struct ledger *l, const struct resources *asks, int64_t enough,
                        enum room room)
{
    int64_t sum = 0;

    for (size_t i = 0; i < l->ready_len && sum < enough; i++) {
        struct resources r = place_room(l, l->ready[i], room);
        int64_t here = enough;

        for (enum resource k = 0; k < RESOURCE_COUNT; k++)
            if (asks->amount[k] > 0 && ledger_counts(l, k))
                here = min_i64(here, max_i64(r.amount[k], 0) / asks->amount[k]);
        sum += min_i64(here, sharers(l->ready[i], asks->gpu_shares));
    }
    return sum;
}

/* The shape common to all members without a place; NULL: they differ. */
static const struct member *common_shape(const struct group *g)
{
    const struct member *first = NULL;

    for (const struct member *m = g->first; m; m = m->next) {
        if (!member_is_unplaced(m))
            continue;
        first = first ? first : m;
        if (m->shape != first->shape)
            return NULL;
    }
    return first;
}

/* At least as much, as often, as something that already did not fit. */
static bool is_known_hopeless(const struct ledger *l, const struct resources *asks, int64_t count)
{
    for (size_t i = 0; i < l->hopeless_len; i++) {
        const struct hopeless *h = &l->hopeless[i];

        if (count >= h->count && asks->cpu_milli >= h->asks.cpu_milli &&
            asks->memory_bytes >= h->asks.memory_bytes && asks->gpus >= h->asks.gpus &&
            asks->gpu_shares >= h->asks.gpu_shares)
            return true;
    }
    return false;
}

static bool is_hopeless(struct ledger *l, const struct group *g, int64_t count, enum room room)
{
    const struct member *m = common_shape(g);

    if (!m || (room == ROOM_FREE && is_known_hopeless(l, &m->asks, count)))
        return m;
    if (capacity(l, &m->asks, count, room) >= count)
        return false;
    if (room == ROOM_FREE && l->hopeless_len < HOPELESS_LIMIT)
        l->hopeless[l->hopeless_len++] = (struct hopeless){m->asks, count};
    return true;
}

void unplace_members(struct ledger *l, struct group *g)
{
    for (struct member *m = g->first; m; m = m->next)
        if (m->on_trial) {
            ledger_release(l, m);
            m->on_trial = false;
            g->unplaced++;
            g->to_bind--;
        }
}

static void keep_places(struct group *g)
{
    for (struct member *m = g->first; m; m = m->next) {
        m->placed = m->placed || m->on_trial;
        m->on_trial = false;
    }
}

bool place_members(struct ledger *l, struct group *g, int64_t count, enum room room)
{
    int64_t left = count;

    if (count > g->unplaced || is_hopeless(l, g, count, room))
        return false;
    for (struct member *m = g->first; m && left > 0; m = m->next) {
        struct node_room *n = member_is_unplaced(m) ? choose(l, m, room) : NULL;

        if (!n)
            continue;
        ledger_hold(l, m, n, (struct gpu_lease){0});
        m->on_trial = true;
        g->unplaced--;
        g->to_bind++;
        left--;
    }
    if (left > 0)
        unplace_members(l, g);
    else if (room <= ROOM_IN_TIME && g->due == 0)
        keep_places(g);
    return left == 0;
}

void place_begin_trial(struct ledger *l, const struct group *g)
{
    for (size_t i = 0; i < l->ready_len; i++)
        l->ready[i]->before = l->ready[i]->used;
    for (const struct member *m = g->first; m; m = m->next)
        if (m->node && !m->ending)
            resources_subtract(&m->node->before, &m->asks);
}

/* Counts only what this trial placed. */
static bool fits_on_empty(struct ledger *l, struct group *g, int64_t count)
{
    const struct member *m = common_shape(g);
    bool fit;

    place_begin_trial(l, g);
    if (m && !m->constrained && !l->has_taints && !g->queue->on_some_nodes)
        return capacity(l, &m->asks, count, ROOM_EMPTY) >= count;
    fit = place_members(l, g, count, ROOM_EMPTY);
    if (fit)
        unplace_members(l, g);
    return fit;
}

bool place_would_fit(struct ledger *l, struct group *g, int64_t count, enum room room)
{
    if (room == ROOM_EMPTY)
        return fits_on_empty(l, g, count);
    if (!place_members(l, g, count, room))
        return false;
    unplace_members(l, g);
    return true;
}

struct ready_nodes place_count_also(struct ledger *l, bool also_lost)
{
    struct ready_nodes before = {l->ready_len, l->has_taints, l->total};

    map_for_each (node, &l->nodes) {
        struct node_room *n = node->value;

        if (n->ready || !n->exists || (!n->cordoned && !also_lost) || l->ready_len == l->ready_cap)
            continue;
        l->ready[l->ready_len++] = n;
        l->has_taints = l->has_taints || n->tainted;
        resources_add(&l->total, &n->total);
    }
    return before;
}

void place_put_back(struct ledger *l, const struct ready_nodes *before)
{
    l->ready_len = before->len;
    l->has_taints = before->has_taints;
    l->total = before->total;
}

bool place_would_fit_also(struct ledger *l, struct group *g, int64_t count, bool also_lost)
{
    struct ready_nodes before = place_count_also(l, also_lost);
    bool fit = l->ready_len > before.len && fits_on_empty(l, g, count);

    place_put_back(l, &before);
    return fit;
}

int64_t place_count_fitting(struct ledger *l, struct group *g, enum room room)
{
    int64_t count = 0;

    if (room == ROOM_EMPTY)
        place_begin_trial(l, g);
    while (place_members(l, g, 1, room))
        count++;
    unplace_members(l, g);
    return count;
}
