/*
 * preempt.c - picks victims for a group of a higher queue. They are in preemptible queues of
 * strictly lower priority: first surplus members of elastic groups, then whole groups; from the
 * lowest queue, then the one with the larger share, the least important and youngest first. As few
 * as possible: of those that differ by age alone the larger ones, if that spares others; and pods
 * that are already ending are waited for instead. Among incomplete gangs that hold what the others
 * lack one is stopped, whatever its queue, and so is one whose lost members fit no node.
 */
#include <stdlib.h>
#include <string.h>

#include "core/decision.h"

#define CANDIDATES_LIMIT 4096
#define STUCK_MS 60000   /* a lost node may come back */
#define ATTEMPTS_LIMIT 8 /* groups that may look for victims in one decision */
#define ALONE_LIMIT 64   /* victims of which each is tried alone */

struct hunt {
    struct decision *decision;
    struct group *group;
    int64_t required;
    struct victim *victims;
    size_t len;
};

/* --- candidates ------------------------------------------------------------------------------- */

static bool may_take(const struct group *g, const struct queue_entry *from)
{
    return from->exists && from->preemptible && from->priority < g->queue->priority;
}

static void add(struct hunt *h, struct group *g, struct member *m)
{
    if (h->len < CANDIDATES_LIMIT)
        h->victims[h->len++] = (struct victim){
            .group = g, .member = m, .share = queue_share(h->decision->ledger, g->queue)};
}

static int64_t surplus_of(const struct group *g)
{
    return g->started && !g->lone ? max_i64(g->bound - g->min_member, 0) : 0;
}

/* The last members are surplus first: the leader comes first. */
static bool is_surplus(const struct group *g, const struct member *m)
{
    int64_t before = 0;

    for (const struct member *other = g->first; other != m; other = other->next)
        before += other->node != NULL;
    return m->node && before >= g->holding - surplus_of(g);
}

static void add_group(struct hunt *h, struct group *g)
{
    if (g->preempted || g->taker || g->rests || !g->queue_known) /* it may be a higher one's */
        return;
    for (struct member *m = g->first; m && surplus_of(g) > 0; m = m->next)
        if (is_surplus(g, m) && !m->ending && !m->evicted)
            add(h, g, m);
    add(h, g, NULL);
}

static int64_t pod_priority(const struct group *g)
{
    int64_t priority = INT64_MIN;

    for (const struct member *m = g->first; m; m = m->next)
        if (m->node)
            priority = max_i64(priority, m->priority);
    return priority;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Order of eviction by queues and priorities. */
static int compare_ranks(const struct victim *a, const struct victim *b)
{
    int c = (a->member == NULL) - (b->member == NULL);

    if (!c)
        c = compare_i64(a->group->queue->priority, b->group->queue->priority);
    if (!c && a->group->queue != b->group->queue)
        c = share_compare(b->share, a->share);
    if (!c)
        c = compare_i64(a->group->priority, b->group->priority);
    if (!c)
        c = compare_i64(pod_priority(a->group), pod_priority(b->group));
    return c;
}

static int compare_victims(const void *x, const void *y)
{
    const struct victim *a = x, *b = y;
    int c = compare_ranks(a, b);

    if (!c)
        c = compare_i64(b->group->created_ms, a->group->created_ms);
    if (!c)
        c = compare_i64(b->group->sequence, a->group->sequence);
    if (!c)
        c = strcmp(b->group->key, a->group->key);
    return c || !a->member ? c : member_compare(b->member, a->member);
}

static void collect(struct hunt *h)
{
    struct ledger *l = h->decision->ledger;

    map_for_each (node, &l->queues) {
        struct queue_entry *q = node->value;

        if (!may_take(h->group, q))
            continue;
        for (struct group *g = q->running; g; g = g->next_running)
            add_group(h, g);
    }
    if (h->len > 1)
        qsort(h->victims, h->len, sizeof(*h->victims), compare_victims);
}

/* --- trials ----------------------------------------------------------------------------------- */

static void set_spare(const struct victim *v, bool there)
{
    for (struct member *m = v->member ? v->member : v->group->first; m;
         m = v->member ? NULL : m->next) {
        bool apart = !v->member && surplus_of(v->group) > 0 && is_surplus(v->group, m);

        if (!m->node || m->ending || apart)
            continue;
        if (there)
            resources_add(&m->node->spare, &m->asks);
        else
            resources_subtract(&m->node->spare, &m->asks);
    }
}

static bool fits_without(struct hunt *h)
{
    return place_would_fit(h->decision->ledger, h->group, h->required, ROOM_TO_COME);
}

static void set_run(struct hunt *h, size_t *set, size_t len)
{
    for (; *set < len; ++*set)
        set_spare(&h->victims[*set], true);
    for (; *set > len; --*set)
        set_spare(&h->victims[*set - 1], false);
}

/* The length of the shortest sufficient prefix of the candidates, of which `set` are already
 * chosen; 0: not even all suffice. */
static size_t shortest_run(struct hunt *h, size_t set)
{
    size_t low = set, high = h->len;

    set_run(h, &set, high);
    if (!fits_without(h))
        high = 0;
    while (high > low + 1) {
        size_t middle = low + (high - low) / 2;

        set_run(h, &set, middle);
        if (fits_without(h))
            high = middle;
        else
            low = middle;
    }
    set_run(h, &set, high);
    return high;
}

/* Spares victims that turn out not to be needed. */
static size_t spare_the_needless(struct hunt *h, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++) {
        set_spare(&h->victims[i], false);
        if (fits_without(h))
            continue;
        set_spare(&h->victims[i], true);
        h->victims[kept++] = h->victims[i];
    }
    return kept;
}

/* How much of what the group asks for it holds, in thousandths of each resource. */
static int64_t use_of(const struct hunt *h, const struct victim *v)
{
    struct resources asks = group_asks(h->group, h->required);
    int64_t sum = 0;

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (asks.amount[i] > 0 && ledger_counts(h->decision->ledger, i))
            sum += (int64_t)(1000 * (double)min_i64(v->group->held.amount[i], asks.amount[i]) /
                             (double)asks.amount[i]);
    return sum;
}

static int compare_uses(const void *x, const void *y)
{
    const struct victim *a = x, *b = y;
    int c = compare_i64(b->use, a->use);

    return c ? c : compare_victims(a, b);
}

/* The first candidate of the run that suffices without the others; len: none. */
static size_t alone(struct hunt *h, size_t from)
{
    for (size_t i = from; i < h->len && i < from + ALONE_LIMIT; i++) {
        bool fits;

        set_spare(&h->victims[i], true);
        fits = fits_without(h);
        set_spare(&h->victims[i], false);
        if (fits)
            return i;
    }
    return h->len;
}

/* All victims of earlier ranks are needed. Of the last rank, whose groups differ only by age, picks
 * the fewest whole groups; returns how many victims that makes. */
static size_t fewest(struct hunt *h, size_t len)
{
    size_t first = len - 1, end = len, set = len, one;
    struct victim last = h->victims[len - 1];

    while (first > 0 && compare_ranks(&h->victims[first - 1], &last) == 0)
        first--;
    while (end < h->len && compare_ranks(&h->victims[end], &last) == 0)
        end++;
    if (last.member || len - first == 1)
        return len;
    set_run(h, &set, first);
    h->len = end;
    one = alone(h, first);
    if (one < end) {
        last = h->victims[one];
        h->victims[one] = h->victims[first];
        h->victims[first] = last;
        set_run(h, &set, first + 1);
        return first + 1;
    }
    for (size_t i = first; i < end; i++)
        h->victims[i].use = use_of(h, &h->victims[i]);
    qsort(&h->victims[first], end - first, sizeof(*h->victims), compare_uses);
    set = shortest_run(h, first);
    if (set < len)
        return set;
    set_run(h, &set, first); /* no fewer of the larger ones: then the younger */
    qsort(&h->victims[first], end - first, sizeof(*h->victims), compare_victims);
    set_run(h, &set, len);
    return len;
}

static void evict(struct hunt *h, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct victim *v = &h->victims[i];

        if (v->member)
            v->member->evicted = true;
        else
            v->group->taker = h->group;
        v->group->evicted_by = h->group;
        decision_look_at(h->decision, v->group);
    }
    if (len > 0)
        ledger_set_taking(h->decision->ledger, h->group, true);
}

static bool yields(const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (m->yields)
            return true;
    return false;
}

bool preempt_for(struct decision *d, struct group *g, int64_t required)
{
    struct hunt h = {.decision = d, .group = g, .required = required};
    struct ledger *l = d->ledger;
    size_t len;

    if (claim_ending_room(d, g, required)) /* its victims are already stopping */
        return true;
    if (d->heads_len == CLAIMS_LIMIT)
        return false;
    if (!l->may_preempt || g->started || yields(g) || d->preemptions >= ATTEMPTS_LIMIT)
        return false;
    h.victims = arena_alloc(d->arena, CANDIDATES_LIMIT * sizeof(*h.victims));
    if (!h.victims)
        return false;
    collect(&h);
    if (h.len == 0)
        return false;
    d->preemptions++;
    len = shortest_run(&h, 0);
    if (len == 0)
        return false;
    len = spare_the_needless(&h, fewest(&h, len));
    if (!place_members(l, g, required, ROOM_TO_COME))
        return false;
    claim_places(d, g);
    evict(&h, len);
    for (size_t i = 0; i < len; i++)
        set_spare(&h.victims[i], false);
    return true;
}

/* --- gangs that block each other -------------------------------------------------------------- */

/* It lacks members, so what it holds is useless until it gets them. */
static bool holds_for_nothing(const struct group *g)
{
    return group_is_broken(g) && !g->taker && !g->preempted && g->leaving == 0;
}

static bool is_stuck(const struct group *g)
{
    return holds_for_nothing(g) &&
           (g->reason == WAIT_QUOTA || g->reason == WAIT_RESOURCES || g->reason == WAIT_TURN);
}

static struct group *later(struct group *a, struct group *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->queue->priority != b->queue->priority)
        return a->queue->priority < b->queue->priority ? a : b;
    return strcmp(a->line_key, b->line_key) > 0 ? a : b;
}

/* Considers one holder of what the group waits for; false: it may well end by itself. */
static bool is_in_the_way(const struct group *g, struct group *other, struct group **last)
{
    if (other == g)
        return true;
    if (!is_stuck(other))
        return false;
    *last = later(*last, other);
    return true;
}

/* The last of those in its way, if all of them are stuck; else NULL. */
static struct group *last_in_the_way(const struct decision *d, const struct group *g)
{
    struct group *last = NULL;

    if (!is_stuck(g))
        return NULL;
    if (g->reason == WAIT_QUOTA) {
        for (struct group *o = g->queue->running; o; o = o->next_running)
            if (!is_in_the_way(g, o, &last))
                return NULL;
        return last;
    }
    for (size_t i = 0; i < g->claim_len && group_claims(d->ledger, g); i++)
        for (const struct member *m = g->claim[i].is_short ? g->claim[i].node->holders : NULL; m;
             m = m->next_on_node)
            if (m->ending || !is_in_the_way(g, m->group, &last))
                return NULL;
    return last;
}

/* No node could take what it lacks. */
static bool is_hopeless(const struct group *g)
{
    return holds_for_nothing(g) && g->reason == WAIT_NEVER_FITS;
}

/* Whether it would fit on an otherwise empty cluster. */
static bool fits_alone(struct ledger *l, struct group *g)
{
    bool fit;

    for (size_t i = 0; i < l->ready_len; i++) {
        struct node_room *n = l->ready[i];

        n->spare = n->used;
        resources_subtract(&n->spare, &n->ending);
        resources_add(&n->spare, &n->claimed);
        for (const struct member *m = n->holders; m; m = m->next_on_node)
            if (m->group == g)
                resources_subtract(&n->spare, &m->asks);
    }
    fit = place_would_fit(l, g, group_required(g), ROOM_TO_COME);
    for (size_t i = 0; i < l->ready_len; i++)
        l->ready[i]->spare = (struct resources){0};
    return fit;
}

static void stop(struct decision *d, struct group *g, const struct group *taker)
{
    g->taker = g->evicted_by = taker;
    decision_look_at(d, g);
}

void preempt_stuck(struct decision *d)
{
    struct ledger *l = d->ledger;
    struct group *first = NULL, *last;

    map_for_each (node, &l->ahead) {
        struct group *g = node->value;

        if (!is_hopeless(g) && !last_in_the_way(d, g)) {
            g->stuck_ms = 0;
            continue;
        }
        g->stuck_ms = g->stuck_ms ? g->stuck_ms : d->now_ms;
        if (d->now_ms < g->stuck_ms + STUCK_MS)
            plan_wake_at(d->plan, g->stuck_ms + STUCK_MS);
        else if (is_hopeless(g))
            stop(d, g, g);
        else if (fits_alone(l, g) && (!first || later(first, g) == first))
            first = g;
    }
    if (!first)
        return;
    last = last_in_the_way(d, first);
    stop(d, last, first);
}
