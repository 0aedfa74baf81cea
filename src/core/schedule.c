/*
 * schedule.c - see schedule.h. Walks the lines of all queues at once, always continuing with the
 * queue that currently comes first, and tries each group in turn.
 *
 * Cost: a waiting group is one step of the walk, and only a limited number (ledger.depth) behind
 * the first that does not fit are tried; unchanged statuses are not written again. Places in line
 * and counts change whenever a group starts: they are published once per TELL_EVERY_MS. When a
 * queue has changed its line is judged again; when a node has, all lines are, JUDGED_AT_ONCE per
 * decision.
 */
#include "core/schedule.h"

#include <limits.h>
#include <string.h>

#include "core/decision.h"

#define JUDGED_AT_ONCE 256
#define LINE_DEPTH 64 /* of a line's treap */
#define FIRST_LIMIT_MS (INT64_C(24) * 3600 * 1000)

/* --- lines ------------------------------------------------------------------------------------ */

struct lane {
    struct queue_entry *queue;
    struct map_node **path; /* NULL: still at the first group */
    int depth;
    struct group *next; /* NULL: end of the line */
    bool ahead;         /* consists of just this group, which precedes others */
    bool waits;         /* a group of it already waits */
    int priority;
    struct share share;
};

/* The lanes not yet exhausted, as a heap with the next one on top. */
struct lanes {
    struct lane **heap;
    size_t len;
};

static void descend(struct lane *lane, struct map_node *node)
{
    for (; node && lane->depth < LINE_DEPTH; node = node->left)
        lane->path[lane->depth++] = node;
}

static struct group *pop(struct lane *lane)
{
    struct map_node *node;

    if (lane->depth == 0)
        return NULL;
    node = lane->path[--lane->depth];
    descend(lane, node->right);
    return node->value;
}

static void advance(struct decision *d, struct lane *lane)
{
    if (!lane->path && !lane->ahead) {
        lane->path = arena_alloc(d->arena, LINE_DEPTH * sizeof(*lane->path));
        if (lane->path) {
            descend(lane, lane->queue->line.root);
            (void)pop(lane); /* the current one */
        }
    }
    lane->next = lane->path ? pop(lane) : NULL;
}

int share_compare(struct share a, struct share b)
{
    __int128 left = (__int128)a.held * b.of, right = (__int128)b.held * a.of;

    return left < right ? -1 : left > right;
}

/* What its preempted groups are losing is no longer its part. */
static struct share share_less(const struct ledger *l, const struct queue_entry *q,
                               const struct resources *less)
{
    struct share most = {0, 1};

    for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
        int64_t of = q->limited[i] ? q->quota.amount[i] : l->total.amount[i];
        struct share share = {q->used.amount[i] - q->leaving.amount[i] - less->amount[i],
                              max_i64(of, 1)};

        if (i == RESOURCE_PODS && !q->limited[i])
            continue; /* a node limit, not a shared resource */
        if (share_compare(share, most) > 0)
            most = share;
    }
    return most;
}

struct share queue_share(const struct ledger *l, const struct queue_entry *q)
{
    static const struct resources nothing;

    return share_less(l, q, &nothing);
}

static bool went_past(const struct group *other, const struct group *g)
{
    int64_t started_ms = other->lone ? other->created_ms : other->scheduled_ms;

    if (started_ms < g->waiting_ms || other->priority > g->priority)
        return false;
    if (other->priority != g->priority)
        return true;
    return other->created_ms != g->created_ms ? other->created_ms > g->created_ms
                                              : other->sequence > g->sequence;
}

static const struct resources *held_past(const struct group *g)
{
    struct queue_entry *q = g->queue;

    if (q->passed == g)
        return &q->held_past_it;
    q->passed = g;
    q->held_past_it = (struct resources){0};
    for (const struct group *other = q->running; other; other = other->next_running)
        if (went_past(other, g)) {
            resources_add(&q->held_past_it, &other->held);
            resources_subtract(&q->held_past_it, &other->losing);
        }
    return &q->held_past_it;
}

/* What groups behind a queue's first one hold, having overtaken it while it waited, must not hold
 * it back behind other queues, or that could go on forever; after a day nothing does. */
static struct share share_of_next(const struct decision *d, const struct lane *lane)
{
    const struct group *g = lane->next;
    const struct ledger *l = d->ledger;

    if (!g || lane->ahead || lane->waits || g->started)
        return queue_share(l, lane->queue);
    if (g->first_ms && d->now_ms >= g->first_ms + FIRST_LIMIT_MS)
        return (struct share){0, 1};
    return share_less(l, lane->queue, held_past(g));
}

static bool goes_before(const struct lane *a, const struct lane *b)
{
    int c;

    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->ahead != b->ahead)
        return a->ahead;
    c = share_compare(a->share, b->share);
    if (c)
        return c < 0;
    /* equal queues continue with the older group */
    if (a->next->created_ms != b->next->created_ms)
        return a->next->created_ms < b->next->created_ms;
    if (a->next->sequence != b->next->sequence)
        return a->next->sequence < b->next->sequence;
    return strcmp(a->queue->name, b->queue->name) < 0;
}

/* A group for which room was made keeps it, and a partly running one gets the rest first. If its
 * part cannot be preempted, higher queues could only wait for its end. */
static int priority_ahead(const struct ledger *l, const struct group *g)
{
    bool stays = !l->may_preempt || !g->queue->preemptible;

    return group_is_broken(g) && stays ? INT_MAX : g->queue->priority;
}

static void sink(struct lanes *lanes, size_t at)
{
    struct lane *lane = lanes->heap[at];

    for (size_t child; (child = 2 * at + 1) < lanes->len; at = child) {
        if (child + 1 < lanes->len && goes_before(lanes->heap[child + 1], lanes->heap[child]))
            child++;
        if (!goes_before(lanes->heap[child], lane))
            break;
        lanes->heap[at] = lanes->heap[child];
    }
    lanes->heap[at] = lane;
}

static void open_lanes(struct decision *d, struct lanes *ret)
{
    struct ledger *l = d->ledger;
    size_t most = l->queues.count + l->ahead.count;
    struct lane *lane = arena_alloc(d->arena, (most + 1) * sizeof(*lane));

    *ret = (struct lanes){.heap = arena_alloc(d->arena, (most + 1) * sizeof(*ret->heap))};
    if (!lane || !ret->heap)
        return;
    map_for_each (node, &l->queues) {
        struct queue_entry *q = node->value;

        q->reserved = (struct resources){0};
        q->refuses = false;
        if (q->line.count == 0)
            continue;
        *lane = (struct lane){
            .queue = q, .next = map_first(&q->line)->value, .priority = q->priority};
        lane->share = share_of_next(d, lane);
        ret->heap[ret->len++] = lane++;
    }
    map_for_each (node, &l->ahead) {
        struct group *g = node->value;

        *lane = (struct lane){.queue = g->queue,
                              .next = g,
                              .ahead = true,
                              .priority = priority_ahead(l, g),
                              .share = queue_share(l, g->queue)};
        ret->heap[ret->len++] = lane++;
    }
    for (size_t i = ret->len / 2; i > 0; i--)
        sink(ret, i - 1);
}

/* The first lane has advanced or ended. */
static void reorder(const struct decision *d, struct lanes *lanes)
{
    lanes->heap[0]->share = share_of_next(d, lanes->heap[0]);
    if (!lanes->heap[0]->next)
        lanes->heap[0] = lanes->heap[--lanes->len];
    if (lanes->len > 0)
        sink(lanes, 0);
}

/* --- verdicts that do not depend on free room ------------------------------------------------- */

static bool has_members(const struct group *g)
{
    const struct group_role *role;
    int64_t there;

    if (g->started)
        return true;
    if (group_there(g) + g->unplaced < g->min_member)
        return false;
    return !group_lacks_role(g, &role, &there);
}

/* How many must be placed together now: one, for a group that has started. */
static int64_t needed(const struct group *g)
{
    return g->started ? 1 : group_required(g);
}

static bool quota_forbids(const struct queue_entry *q, const struct resources *asks)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (q->limited[i] && asks->amount[i] > max_i64(q->quota.amount[i], 0))
            return true;
    return false;
}

static bool quota_holds(const struct queue_entry *q, const struct resources *asks,
                        const struct resources *beside)
{
    enum resource which;

    return !queue_lacks(q, asks, beside, &which);
}

/* Once all its pods have stopped. */
static enum wait_reason lasting_verdict(struct ledger *l, struct group *g)
{
    struct resources asks = group_asks(g, needed(g));

    if (g->started && group_required(g) > 0)
        resources_add(&asks, &g->held); /* it needs both */
    if (!has_members(g) || (!g->lone && !g->exists))
        return WAIT_MEMBERS;
    if (l->ready_len == 0)
        return WAIT_NO_NODE;
    if (!g->started && !g->queue->exists)
        return WAIT_NO_QUEUE;
    if (!g->started && !queue_allows_namespace(l, g->queue, g->ns))
        return WAIT_NAMESPACE;
    if (quota_forbids(g->queue, &asks))
        return WAIT_QUOTA_NEVER;
    if (!place_would_fit(l, g, needed(g), ROOM_EMPTY))
        return place_would_fit_also(l, g, needed(g), false)  ? WAIT_CORDONED
               : place_would_fit_also(l, g, needed(g), true) ? WAIT_NOT_READY
                                                             : WAIT_NEVER_FITS;
    return !g->started && g->queue->closed ? WAIT_CLOSED : WAIT_NONE;
}

static enum wait_reason find_verdict(struct ledger *l, struct group *g)
{
    enum wait_reason verdict = lasting_verdict(l, g);

    return g->preempted && g->bound > 0 && (verdict || g->due == 0) ? WAIT_STOPPING : verdict;
}

static enum wait_reason judge(struct ledger *l, struct group *g)
{
    if (group_is_misjudged(l, g) || g->verdict == WAIT_MEMBERS) {
        g->verdict = find_verdict(l, g);
        g->judged_at = l->rules;
    }
    return g->verdict;
}

/* --- trying ----------------------------------------------------------------------------------- */

/* An elastic job gets more than its minimum only from spare room, and delays no other group. */
static void place_rest(struct ledger *l, struct group *g, enum room room)
{
    while (g->unplaced > 0) {
        struct resources asks = group_asks(g, 1);

        if (!quota_holds(g->queue, &asks, &g->queue->reserved) || !place_members(l, g, 1, room))
            return;
    }
}

static bool place(struct decision *d, struct group *g, int64_t count)
{
    struct ledger *l = d->ledger;
    enum room room = ROOM_FREE;

    if (!place_members(l, g, count, room)) {
        int64_t length = group_duration_ms(g);

        room = ROOM_IN_TIME;
        l->ends_ms = d->now_ms + length + TIMES_MS + g->grace_ms;
        if (!length || l->ends_ms > d->lent_until_ms || !place_members(l, g, count, room))
            return false;
    }
    if (g->due == 0)
        place_rest(l, g, room);
    return true;
}

static enum wait_reason try_quota(struct group *g, const struct resources *asks)
{
    struct queue_entry *q = g->queue;
    struct resources others = {0}, own = {0};

    if (g->preempted)
        resources_subtract(&own, &g->held); /* it is about to lose that */
    if (!group_is_broken(g))                /* that is completed first: that way it ends sooner */
        others = q->reserved;
    resources_add(&others, &own);
    if (quota_holds(q, asks, &others))
        return WAIT_NONE;
    if (!q->refuses)
        resources_add(&q->reserved, asks);
    q->refuses = true;
    return quota_holds(q, asks, &own) ? WAIT_TURN : WAIT_QUOTA;
}

/* Too little is free of something that nobody before it wants: their turn is not what it awaits. */
static bool lacks_what_is_its_own(const struct decision *d, const struct group *g)
{
    const struct ledger *l = d->ledger;
    struct resources asks = group_asks(g, needed(g));

    for (enum resource r = 0; r < RESOURCE_COUNT && d->position < PLACES_TOLD; r++) {
        bool wanted = !ledger_counts(l, r) ||
                      asks.amount[r] <= l->total.amount[r] - l->used.amount[r];

        for (size_t i = 0; i < d->position && !wanted; i++)
            wanted = group_asks(d->line[i], max_i64(needed(d->line[i]), 1)).amount[r] > 0;
        if (!wanted)
            return true;
    }
    return false;
}

static enum wait_reason wait_for_room(struct decision *d, struct group *g)
{
    int64_t count = needed(g);
    bool behind = d->unclaimed, claims;

    if (group_required(g) == 0)
        return WAIT_RESOURCES; /* it would merely like more */
    claims = preempt_for(d, g, count);
    g->clears = claims && !behind; /* when the pods have stopped the one before may claim that */
    if (!claims)
        claim_room(d, g, count);
    return d->first && !g->clears && !lacks_what_is_its_own(d, g) ? WAIT_TURN : WAIT_RESOURCES;
}

/* What it would get now is kept for it until its pods are there. */
static enum wait_reason keep_turn(struct decision *d, struct group *g, bool has_quota)
{
    int64_t count = needed(g);

    if (has_quota && place(d, g, count))
        claim_free_places(d, g);
    else if (has_quota && !claim_ending_room(d, g, count))
        claim_room(d, g, count);
    return WAIT_AGAIN;
}

/* Partly running, and too large for its quota even alone. */
static bool outgrows_quota(const struct group *g)
{
    struct resources needs = group_asks(g, group_required(g));

    resources_add(&needs, &g->held);
    return group_is_broken(g) && g->queue->exists && quota_forbids(g->queue, &needs);
}

/* In a started group each member is placed alone, and those that find no room wait. */
static enum wait_reason try(struct decision *d, struct group *g)
{
    enum wait_reason reason = judge(d->ledger, g);

    if (outgrows_quota(g)) {
        g->taker = g->evicted_by = g; /* what it holds is useless to it */
        return WAIT_STOPPING;
    }
    while (reason == WAIT_NONE) {
        struct resources asks = group_asks(g, needed(g));

        reason = try_quota(g, &asks);
        if (g->due > 0)
            return keep_turn(d, g, reason == WAIT_NONE);
        if (reason != WAIT_NONE)
            break;
        if (!place(d, g, needed(g)))
            return wait_for_room(d, g);
        g->preempted = false;
        g->lapsed = !g->started && group_is_recorded(g); /* the record is withdrawn first */
        if (group_required(g) == 0)
            return g->unplaced > 0 ? WAIT_RESOURCES : WAIT_NONE;
    }
    return reason;
}

/* A group keeps its right to room made for it as long as it could use it. */
static enum wait_reason try_in_turn(struct decision *d, struct group *g)
{
    enum wait_reason reason;

    g->walked = d->ledger->walks;
    g->clears = false;
    reason = try(d, g);
    if (reason != WAIT_RESOURCES && reason != WAIT_TURN)
        ledger_set_taking(d->ledger, g, false);
    return reason;
}

static bool is_in_line(enum wait_reason reason)
{
    return reason == WAIT_RESOURCES || reason == WAIT_TURN || reason == WAIT_QUOTA ||
           reason == WAIT_AGAIN;
}

static bool is_told_exactly(size_t position)
{
    return position > 0 && position <= PLACES_TOLD;
}

static void note(struct decision *d, struct group *g, enum wait_reason reason, size_t position)
{
    size_t before = g->position;

    g->position = position;
    if (reason != g->reason || g->dirty || g->told_at != d->ledger->rules || g->holding > 0)
        decision_look_at(d, g);
    else if (g->clears || is_told_exactly(before) || is_told_exactly(g->position))
        decision_tell_in_time(d, g);
    g->told_at = d->ledger->rules;
    g->waits_anew = reason != g->reason;
    g->reason = reason;
}

static void note_reached(struct decision *d, struct group *g, enum wait_reason reason)
{
    bool waits = is_in_line(reason) && group_required(g) > 0;

    note(d, g, reason, waits ? ++d->position : 0);
    if (is_told_exactly(g->position))
        d->line[g->position - 1] = g;
    if (is_in_line(reason))
        ledger_reach(d->ledger, g);
    else
        ledger_unreach(g);
    if (!d->first && (reason == WAIT_RESOURCES || reason == WAIT_AGAIN) && waits)
        d->first = g;
}

/* Too far behind to be tried, but verdicts that do not depend on free room are still reported. */
static void note_unreached(struct decision *d, struct group *g)
{
    enum wait_reason reason = judge(d->ledger, g);

    ledger_unreach(g);
    if (reason || g->reason != WAIT_TURN || g->position > 0 || g->dirty)
        note(d, g, reason ? reason : WAIT_TURN, 0);
}

/* Groups the walk did not reach although rules have changed. */
static void judge_unreached(struct decision *d)
{
    struct ledger *l = d->ledger;
    int left = JUDGED_AT_ONCE;

    for (struct group *g = l->reached, *next; g; g = next) {
        next = g->next_reached;
        if (g->walked != l->walks && !g->rests)
            note_unreached(d, g);
    }
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        if (g->line_key && g->walked != l->walks && !g->rests)
            note_unreached(d, g);
    map_for_each (node, &l->queues) {
        struct queue_entry *q = node->value;

        for (; q->to_judge && left > 0; q->to_judge = group_after(q->to_judge)) {
            struct group *g = q->to_judge;

            if (!group_is_misjudged(l, g) || g->rests)
                continue;
            note_unreached(d, g);
            left--;
        }
        if (q->to_judge)
            plan_wake_at(d->plan, d->now_ms + 1);
    }
}

static void walk(struct decision *d)
{
    struct lanes lanes;
    size_t tried = 0;

    open_lanes(d, &lanes);
    d->ledger->walks++;
    while (tried < d->ledger->depth && lanes.len > 0) {
        struct lane *lane = lanes.heap[0];
        struct group *g = lane->next;
        enum wait_reason reason;

        advance(d, lane);
        if (g->rests || g->walked == d->ledger->walks) { /* it went ahead */
            reorder(d, &lanes);
            continue;
        }
        reason = try_in_turn(d, g);
        if (is_in_line(reason) && !g->started && !lane->waits) {
            lane->waits = true;
            g->first_ms = g->first_ms ? g->first_ms : d->now_ms;
        }
        reorder(d, &lanes);
        note_reached(d, g, reason);
        tried += is_in_line(reason) && d->heads_len > 0;
    }
    judge_unreached(d);
}

void decision_look_at(struct decision *d, struct group *g)
{
    if (g->looked_at || g->rests)
        return;
    g->looked_at = true;
    g->next_looked = d->looked;
    d->looked = g;
}

void decision_tell_in_time(struct decision *d, struct group *g)
{
    if (d->tells)
        decision_look_at(d, g);
    else
        ledger_owe(d->ledger, g);
}

/* Groups whose update was postponed last time. */
static void begin_telling(struct decision *d)
{
    struct ledger *l = d->ledger;

    d->tells = d->now_ms >= l->told_ms + TELL_EVERY_MS || d->now_ms < l->told_ms;
    if (d->tells)
        l->told_waiting = 0;
    while (d->tells && l->owed) {
        struct group *g = l->owed;

        ledger_pay(g);
        decision_look_at(d, g);
    }
}

static void end_telling(struct decision *d)
{
    struct ledger *l = d->ledger;

    if (d->told_small)
        l->told_ms = d->now_ms;
    if (l->owed || l->dirty_queues)
        plan_wake_at(d->plan, l->told_ms + TELL_EVERY_MS);
}

static void clean_up(struct decision *d)
{
    struct ledger *l = d->ledger;

    for (struct group *g = l->dirty; g; g = g->next_dirty)
        g->dirty = false;
    l->dirty = NULL;
    l->looked = d->looked;
    for (struct group *g = d->looked; g; g = g->next_looked) {
        bool placed = false;

        g->looked_at = g->waits_anew = false;
        g->taker = g->evicted_by = NULL;
        for (struct member *m = g->first; m; m = m->next) {
            placed = placed || m->placed || m->evicted;
            m->placed = m->evicted = false;
        }
        if (placed) /* only what is written counts: it is looked up again */
            ledger_touch(l, g);
    }
}

void schedule(struct ledger *l, int64_t now_ms, struct plan *plan)
{
    struct decision d = {.ledger = l, .arena = plan->arena, .plan = plan, .now_ms = now_ms};

    l->looked = NULL;
    plan_wake_at(plan, ledger_rouse(l, now_ms));
    ledger_settle(l);
    if (plan_forgone(&d))
        ledger_settle(l);
    claims_clear(l);
    begin_telling(&d);
    walk(&d);
    preempt_stuck(&d);
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        decision_look_at(&d, g);
    plan_decision(&d);
    end_telling(&d);
    clean_up(&d);
}
