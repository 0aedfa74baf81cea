/*
 * queues_judge.c - what must hold in the world of queues. Counted from the objects alone, by
 * nobody's ledger.
 */
#include "queues.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/quantity.h"

/* How long a scheduler may take to do what it can. */
#define SLACK_MS 20000

static const char *node_of(const struct json *pod)
{
    return json_string(json_at(pod, "spec", "nodeName"), "");
}

static bool is_ready(const struct json *node)
{
    return json_string_is(json_get(object_condition(node, "Ready"), "status"), "True") &&
           !json_bool(json_at(node, "spec", "unschedulable"), false);
}

static struct resources total_of(const struct json *node)
{
    return resources_of(json_at(node, "status", "allocatable"));
}

static struct resources used_on(struct queues *q, const char *node)
{
    struct resources sum = {0};

    map_for_each (n, &q->items[SET_PODS]) {
        struct resources asks = pod_requests(json_get(n->value, "spec"));

        if (pod_holds(n->value) && strcmp(node_of(n->value), node) == 0)
            resources_add(&sum, &asks);
    }
    return sum;
}

static struct resources asks_of(const struct task *t)
{
    return (struct resources){
        .cpu_milli = t->cpus * 1000, .gpus = t->gpus, .gpu_shares = t->gpu_shares, .pods = 1};
}

/* Places that are kept for pods which are not there; on a node, or NULL: on all. */
static struct resources kept_for_later(struct queues *q, const char *node)
{
    struct resources sum = {0};

    for (size_t i = 0; i < q->tasks_len; i++) {
        const struct task *t = &q->tasks[i];
        struct resources asks = asks_of(t);

        json_each (p, json_at(task_group(q, t), "status", "placements"))
            json_each (name, json_get(p, "members"))
                if ((!node || json_string_is(json_get(p, "node"), node)) &&
                    !pod_holds(queues_get(q, SET_PODS,
                                          arena_printf(&q->arena, "ns/%s", json_string(name, "")))))
                    resources_add(&sum, &asks);
    }
    return sum;
}

/* --- after every write --------------------------------------------------------------------------
 */

static void nothing_is_over_capacity(struct queues *q)
{
    map_for_each (n, &q->items[SET_NODES]) {
        struct resources total = total_of(n->value), used = used_on(q, n->key);

        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            if (used.amount[i] > total.amount[i])
                wrong(q, "over capacity: %s has %" PRId64 " of %" PRId64 " (%s)", n->key,
                      used.amount[i], total.amount[i], resource_key(i));
    }
}

static void no_gpu_is_given_twice(struct queues *q)
{
    map_for_each (node, &q->items[SET_NODES]) {
        struct gpu_shares shares = {.each = total_of(node->value).gpu_shares / 2};
        uint64_t whole = 0;

        map_for_each (n, &q->items[SET_PODS]) {
            struct resources asks = pod_requests(json_get(n->value, "spec"));
            const char *text = object_annotation(n->value, ANNOTATION_GPUS);
            struct gpu_lease lease = gpu_lease_read(text ? text : "", asks.gpu_shares);

            if (!pod_holds(n->value) || strcmp(node_of(n->value), node->key) != 0)
                continue;
            if (whole & lease.whole)
                wrong(q, "%s has a GPU of %s that another has", n->key, node->key);
            if (asks.gpus != gpu_set_count(lease.whole) ||
                (asks.gpu_shares > 0) != (lease.shared != 0))
                wrong(q, "%s asks %" PRId64 " GPU and %" PRId64 " shared and has %s", n->key,
                      asks.gpus, asks.gpu_shares, text ? text : "none");
            whole |= lease.whole;
            gpu_shares_use(&shares, lease.shared, asks.gpu_shares);
        }
        if (whole & gpu_shares_in_use(&shares))
            wrong(q, "a GPU of %s is given whole and in shares", node->key);
        for (size_t i = 0; i < GPUS_PER_NODE_LIMIT; i++)
            if (shares.used[i] > shares.each)
                wrong(q, "%" PRId64 " have shares of GPU %zu of %s", shares.used[i], i, node->key);
    }
}

static int64_t places_in(const struct json *group)
{
    int64_t count = 0;

    json_each (p, json_at(group, "status", "placements"))
        count += (int64_t)json_len(json_get(p, "members"));
    return count;
}

/* What a queue has given: to pods with nodes, and in records until they are written otherwise. */
static int64_t given_by(struct queues *q, const char *queue)
{
    int64_t sum = 0;

    for (size_t i = 0; i < q->tasks_len; i++) {
        const struct task *t = &q->tasks[i];
        const struct json *g = task_group(q, t);

        if (strcmp(t->queue, queue) != 0)
            continue;
        for (int k = 0; k < t->members; k++)
            if (pod_holds(task_pod(q, t, k)))
                sum += t->cpus;
        json_each (p, json_at(g, "status", "placements"))
            json_each (name, json_get(p, "members"))
                if (!pod_holds(queues_get(q, SET_PODS,
                                          arena_printf(&q->arena, "ns/%s", json_string(name, "")))))
                    sum += t->cpus;
    }
    return sum;
}

static int64_t quota_of(struct queues *q, const char *queue)
{
    const struct json *o = queues_get(q, SET_QUEUES,
                                      arena_printf(&q->arena, "t9k-system/%s", queue));
    const struct json *quota = json_at(o, "spec", "quota", "requests", "cpu");

    return quota ? quantity_json_milli(quota, 0) / 1000 : INT64_MAX;
}

static bool has_place(const struct json *group, const char *member)
{
    json_each (p, json_at(group, "status", "placements"))
        json_each (name, json_get(p, "members"))
            if (json_string_is(name, member))
                return true;
    return false;
}

static const struct json *version_before(struct queues *q, const struct json *group)
{
    const struct history *past = &q->past[SET_GROUPS];

    for (size_t i = past->len - 1; i-- > 0;)
        if (strcmp(object_name(past->events[i].object), object_name(group)) == 0)
            return past->events[i].object;
    return NULL;
}

/* Whether the last write of a group gave somebody a place: that of a pod which has its node may be
 * taken out of the record by one with an old picture, and written down again. */
static bool gives_places(struct queues *q, const struct json *group)
{
    const struct json *before = version_before(q, group);

    json_each (p, json_at(group, "status", "placements"))
        json_each (name, json_get(p, "members")) {
            const char *member = json_string(name, "");

            if (!has_place(before, member) &&
                !pod_holds(queues_get(q, SET_PODS, arena_printf(&q->arena, "ns/%s", member))))
                return true;
        }
    return false;
}

/* A quota may be lowered below what is given; more is not given then. */
static void no_quota_is_exceeded(struct queues *q, const struct json *group)
{
    const struct task *t = task_named(q, object_name(group));

    if (given_by(q, t->queue) > quota_of(q, t->queue))
        wrong(q, "over quota: queue %s has given %" PRId64 " of %" PRId64 " CPU, the last to %s",
              t->queue, given_by(q, t->queue), quota_of(q, t->queue), t->name);
}

static void no_place_is_given_twice(struct queues *q, const struct json *group)
{
    map_for_each (n, &q->items[SET_NODES]) {
        struct resources total = total_of(n->value), used = used_on(q, n->key);
        struct resources kept = kept_for_later(q, n->key);

        resources_add(&used, &kept);
        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            if (used.amount[i] > total.amount[i])
                wrong(q, "%s has given %" PRId64 " of %" PRId64 " (%s), the last to %s", n->key,
                      used.amount[i], total.amount[i], resource_key(i), object_name(group));
    }
}

/* A gang begins with all its places or with none. */
static void gangs_get_all_places(struct queues *q, const struct json *group)
{
    const struct task *t = task_named(q, object_name(group));

    if (places_in(group) < t->least && task_bound(q, t) == 0 &&
        json_int(json_at(group, "spec", "members"), 0) >= t->least)
        wrong(q, "a gang by half: %s of %d has %" PRId64 " places", t->name, t->least,
              places_in(group));
}

void judge_write(struct queues *q, bool binds, const struct json *group)
{
    if (binds) {
        nothing_is_over_capacity(q);
        no_gpu_is_given_twice(q);
    }
    if (group && queues_get(q, SET_GROUPS, arena_printf(&q->arena, "ns/%s", object_name(group))) &&
        gives_places(q, group)) {
        no_place_is_given_twice(q, group);
        no_quota_is_exceeded(q, group);
        gangs_get_all_places(q, group);
    }
}

/* --- after a decision ---------------------------------------------------------------------------
 */

static const struct queue_entry *queue_seen_by(const struct rival *r, const char *name)
{
    return map_gets(&r->ledger->queues, name);
}

/* "Preempted by job "x" of queue "q" (priority 2)": strictly above the victim's. */
static void only_lower_queues_are_preempted(struct queues *q, struct rival *r,
                                            const struct plan *plan)
{
    for (const struct plan_step *s = plan->first; s; s = s->next) {
        const char *text = s->op == PLAN_EVENT ? json_get_string(s->object, "message", "") : "";
        const char *at = strstr(text, "(priority ");
        char name[24];
        const struct task *t;
        const struct queue_entry *of;

        if (strncmp(text, "Preempted by", 12) != 0 || !at)
            continue;
        (void)snprintf(name, sizeof(name), "%s",
                       json_string(json_at(s->object, "involvedObject", "name"), ""));
        name[strcspn(name, "-")] = '\0';
        t = task_named(q, name);
        of = queue_seen_by(r, t->queue);
        if (!of->preemptible || atoi(at + 10) <= of->priority)
            wrong(q, "%s of queue %s (priority %d) is preempted: %s", name, t->queue, of->priority,
                  text);
    }
}

static bool comes_behind(const struct group *g, const struct group *head)
{
    return g != head && g->queue->priority <= head->queue->priority && g->line_key &&
           (g->queue != head->queue || strcmp(g->line_key, head->line_key) > 0);
}

static bool is_given_now(const struct member *m)
{
    return m->has_pod && !m->bound && !m->recorded;
}

static bool has_known_end(const struct group *g)
{
    return g->deadline_ms || g->queue->max_duration_ms;
}

/* What those on a node hold, group by group. */
struct tenancy {
    const struct group *groups[TASKS_MAX];
    struct resources held[TASKS_MAX];
    size_t len;
    struct resources room; /* beside a claim; of what is not claimed all there is */
};

static void add_tenant(struct tenancy *t, const struct member *m)
{
    size_t i = 0;

    while (i < t->len && t->groups[i] != m->group)
        i++;
    if (i == t->len) {
        t->groups[t->len] = m->group;
        t->held[t->len++] = (struct resources){0};
    }
    resources_add(&t->held[i], &m->asks);
}

static bool has_room_for(const struct tenancy *t, const struct resources *sum)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (sum->amount[i] > t->room.amount[i])
            return false;
    return true;
}

/* Whether, of those there, some could stay with whom the claim would be served, and with that more
 * it would not. */
static bool would_miss(const struct tenancy *t, size_t from, const struct resources *stay,
                       const struct resources *more)
{
    struct resources both = *stay;

    if (!has_room_for(t, stay))
        return false;
    resources_add(&both, more);
    if (!has_room_for(t, &both))
        return true;
    for (size_t i = from; i < t->len; i++) {
        struct resources next = *stay;

        resources_add(&next, &t->held[i]);
        if (would_miss(t, i + 1, &next, more))
            return true;
    }
    return false;
}

static struct tenancy beside_claim(const struct claim_part *part)
{
    struct tenancy t = {.room = part->node->total};

    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (part->asks.amount[i] > 0)
            t.room.amount[i] -= part->asks.amount[i];
        else
            t.room.amount[i] = INT64_MAX;
    return t;
}

/* Its own pods that are being stopped are gone before it is whole. */
static void add_own(struct resources *stay, const struct member *m)
{
    if (!m->ending)
        resources_add(stay, &m->asks);
}

/* Who lacks a part and may not be stopped goes before all; from who only grows it is not told
 * apart. */
static bool may_go_first(const struct group *g)
{
    return g->line_key && g->started && g->bound > 0 && !g->queue->preemptible;
}

/* Given without an end in time to one behind the first in line. Queues of equal priority go by
 * share, which changes as we look. */
static bool went_ahead(const struct member *m, const struct group *head)
{
    const struct group *g = m->group;

    return is_given_now(m) && comes_behind(g, head) && !has_known_end(g) &&
           g->queue->priority != head->queue->priority && !may_go_first(g);
}

/* Whether it counts among what its group held when those behind the first were given room. A lower
 * queue's group that is sure to end may have been lent claimed room after that. */
static bool may_stay(const struct member *m, const struct group *head)
{
    const struct group *g = m->group;

    return !has_known_end(g) || g->queue->priority >= head->queue->priority ||
           (!is_given_now(m) && !may_go_first(g));
}

/* Whoever ends when: the first in line starts no later for what was given now to those behind it,
 * unless they are sure to give it back in time. */
static void the_first_is_not_delayed(struct queues *q, const struct group *head)
{
    for (size_t i = 0; i < head->claim_len; i++) {
        const struct claim_part *part = &head->claim[i];
        struct tenancy t = beside_claim(part);
        struct resources given = {0}, stay = {0};
        const char *last = "";

        for (const struct member *m = part->node->holders; m; m = m->next_on_node)
            if (went_ahead(m, head)) {
                resources_add(&given, &m->asks);
                last = m->group->name;
            } else if (m->group == head) {
                add_own(&stay, m);
            } else if (may_stay(m, head)) {
                add_tenant(&t, m);
            }
        if (*last && would_miss(&t, 0, &stay, &given))
            wrong(q, "%s got room on %s that %s waits for", last, part->node->name, head->name);
    }
}

static const struct group *first_in_line(const struct ledger *l)
{
    map_for_each (n, &l->groups) {
        const struct group *g = n->value;

        if (g->line_key && g->position == 1 && g->claim_len > 0 && g->reason == WAIT_RESOURCES)
            return g;
    }
    return NULL;
}

/* Preempted, wanted again, and some of its pods are not. */
static bool waits_without_pods(struct rival *r, const struct task *t, const struct json *group)
{
    int there = 0;

    if (!object_condition_is(group, "Preempted") || object_condition_is(group, "GroupScheduled") ||
        json_int(json_at(group, "spec", "members"), 0) < t->least)
        return false;
    for (int i = 0; i < t->members; i++) {
        const struct json *pod = map_gets(&r->seen[SET_PODS],
                                          arena_printf(&r->world->arena, "ns/%s-%d", t->name, i));

        there += pod && !object_is_deleting(pod) && !*node_of(pod);
    }
    return there < t->least;
}

static bool is_later(const struct group *g, const struct group *than)
{
    if (g->priority != than->priority)
        return g->priority < than->priority;
    if (g->created_ms != than->created_ms)
        return g->created_ms > than->created_ms;
    return g->sequence > than->sequence;
}

/* It lacked members when the decision began. */
static bool was_broken(const struct group *g)
{
    int64_t held = 0;

    for (const struct member *m = g->first; m; m = m->next)
        held += m->node && !is_given_now(m);
    return held > 0 && held < g->min_member;
}

/* In a lower queue, or later in the same and none that goes before the others of equal queues.
 * Queues of equal priority go by share. */
static bool ranks_lower(const struct rival *r, const struct group *g, const struct group *than)
{
    if (g == than || may_go_first(g))
        return false;
    if (g->queue != than->queue)
        return g->queue->priority < than->queue->priority;
    return is_later(g, than) && !g->ahead && !map_gets(&r->taking, g->key) && !was_broken(g);
}

/* Now, not in an earlier decision, and before the group: of equal queues, those that were tried
 * before it. */
static bool claims_before(const struct rival *r, const struct group *g, const struct group *than)
{
    return g != than && group_claims(r->ledger, g) && !ranks_lower(r, g, than) &&
           (than->position == 0 || g->position < than->position);
}

enum left {
    LEFT_NOW,
    LEFT_WITHOUT_LOWER, /* as if those of lower rank had been given nothing now */
    LEFT_FOR_CLAIM,     /* with what is free although an earlier claim waits for an end there */
};

/* What the node has left for the group beside the claims before it. What its own pods still hold is
 * free before it has new ones. */
static struct resources left_for(const struct rival *r, const struct node_room *n,
                                 const struct group *g, enum left what)
{
    struct resources left = n->total;

    resources_subtract(&left, &n->used);
    for (const struct member *m = n->holders; m; m = m->next_on_node)
        if ((m->group == g && m->ending) ||
            (what == LEFT_WITHOUT_LOWER && is_given_now(m) && ranks_lower(r, m->group, g)))
            resources_add(&left, &m->asks);
    map_for_each (node, &r->ledger->groups) {
        const struct group *h = node->value;

        for (size_t i = 0; claims_before(r, h, g) && i < h->claim_len; i++)
            if (h->claim[i].node == n && !(what == LEFT_FOR_CLAIM && h->claim[i].is_short))
                resources_subtract(&left, &h->claim[i].asks);
    }
    return left;
}

static bool would_start(const struct rival *r, const struct group *g, const struct task *t,
                        enum left what)
{
    struct resources asks = asks_of(t);
    int64_t sum = 0;

    for (size_t k = 0; k < r->ledger->ready_len; k++) {
        struct resources left = left_for(r, r->ledger->ready[k], g, what);
        int64_t here = INT64_MAX;

        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            if (asks.amount[i] > 0)
                here = min_i64(here, max_i64(left.amount[i], 0) / asks.amount[i]);
        sum += here;
    }
    return sum >= t->least;
}

/* Whether the group's own claim is free: it starts there as soon as it has its pods. */
static bool has_room_kept(const struct rival *r, const struct group *g, const struct task *t)
{
    int64_t cpus = 0;

    for (size_t i = 0; i < g->claim_len && group_claims(r->ledger, g); i++) {
        const struct resources *asks = &g->claim[i].asks;
        struct resources left = left_for(r, g->claim[i].node, g, LEFT_FOR_CLAIM);

        for (enum resource k = 0; k < RESOURCE_COUNT; k++)
            if (asks->amount[k] > 0 && asks->amount[k] > left.amount[k])
                return false;
        cpus += asks->cpu_milli;
    }
    return cpus >= (int64_t)t->least * t->cpus * 1000;
}

static bool has_quota_for(const struct rival *r, const struct group *g, const struct task *t)
{
    const struct queue_entry *e = g->queue;
    int64_t used = e->used.cpu_milli - g->held.cpu_milli;

    if (!e->limited[RESOURCE_CPU])
        return true;
    map_for_each (node, &r->ledger->groups) {
        const struct group *h = node->value;

        if (h == g || h->queue != e)
            continue;
        if (h->line_key && !ranks_lower(r, h, g))
            return false; /* quota may be kept for that one */
        for (const struct member *m = h->first; m; m = m->next)
            if (m->node && is_given_now(m))
                used -= m->asks.cpu_milli;
    }
    return used + (int64_t)t->least * t->cpus * 1000 <= e->quota.cpu_milli;
}

/* A preempted group has its place in line also while it has no pods: nobody of lower rank gets room
 * with which it could have started, unless as much is left or kept for it. A scheduler that has not
 * seen its last state is not asked. */
static void no_preempted_group_is_overtaken(struct queues *q, struct rival *r)
{
    map_for_each (node, &r->seen[SET_GROUPS]) {
        const struct group *g = map_gets(&r->ledger->groups, node->key);
        const struct task *t = g ? task_named(q, g->name) : NULL;

        if (!t || t->lone || t->gpu_shares > 0 || task_group(q, t) != node->value ||
            !waits_without_pods(r, t, node->value) || g->rests || !g->queue->exists ||
            g->queue->closed || !has_quota_for(r, g, t))
            continue;
        if (would_start(r, g, t, LEFT_WITHOUT_LOWER) && !would_start(r, g, t, LEFT_NOW) &&
            !has_room_kept(r, g, t))
            wrong(q, "%s, which was preempted, is overtaken by one of lower rank", g->name);
    }
}

/* When it has its room nothing tells any more that others were stopped for it. */
void judge_before_decision(struct rival *r)
{
    map_release(&r->taking, NULL);
    map_for_each (node, &r->ledger->groups) {
        struct group *g = node->value;

        if (g->taking && map_puts(&r->taking, g->key, g, NULL) < 0)
            abort();
    }
}

void judge_decision(struct queues *q, struct rival *r, const struct plan *plan)
{
    const struct group *head = first_in_line(r->ledger);

    only_lower_queues_are_preempted(q, r, plan);
    no_preempted_group_is_overtaken(q, r);
    if (head)
        the_first_is_not_delayed(q, head);
}

/* --- at rest ------------------------------------------------------------------------------------
 */

static const char *told(struct queues *q, const struct task *t, const char **ret_reason)
{
    const struct json *status = json_get(task_group(q, t), "status");

    *ret_reason = json_get_string(status, "reason", "");
    return json_get_string(status, "message", "");
}

static struct resources free_in_all(struct queues *q)
{
    struct resources sum = {0};

    map_for_each (n, &q->items[SET_NODES]) {
        struct resources total = total_of(n->value), used = used_on(q, n->key);

        if (!is_ready(n->value))
            continue;
        resources_subtract(&total, &used);
        resources_add(&sum, &total);
    }
    return sum;
}

/* How many more pods like its own the nodes can take; empty: if nothing were there. */
static int64_t takes_of(struct queues *q, const struct task *t, bool empty)
{
    struct resources asks = asks_of(t);
    int64_t sum = 0;

    map_for_each (n, &q->items[SET_NODES]) {
        struct resources left = total_of(n->value), used = used_on(q, n->key);
        struct resources kept = kept_for_later(q, n->key);
        int64_t here = INT64_MAX;

        if (!is_ready(n->value))
            continue;
        resources_add(&used, &kept);
        if (!empty)
            resources_subtract(&left, &used);
        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            if (asks.amount[i] > 0)
                here = min_i64(here, max_i64(left.amount[i], 0) / asks.amount[i]);
        sum += here;
    }
    return sum;
}

static int64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

static bool is_on_a_ready_node(struct queues *q, const char *node)
{
    const struct json *o = queues_get(q, SET_NODES, node);

    return o && is_ready(o);
}

/* How many of its members have room, on ready nodes or anywhere: pods, and with their places. */
static int64_t pods_held(struct queues *q, const struct task *t, bool anywhere,
                         int64_t *ret_with_places)
{
    int64_t pods = 0;

    *ret_with_places = 0;
    for (int i = 0; i < t->members; i++) {
        const struct json *pod = task_pod(q, t, i);

        pods += pod_holds(pod) && (anywhere || is_on_a_ready_node(q, node_of(pod)));
    }
    json_each (p, json_at(task_group(q, t), "status", "placements"))
        if (anywhere || is_on_a_ready_node(q, json_get_string(p, "node", "")))
            *ret_with_places += (int64_t)json_len(json_get(p, "members"));
    *ret_with_places = max_i64(*ret_with_places, pods);
    return pods;
}

/* Of ...; job "a" (queue q) holds 4 CPU. */
static struct task *holder_named(struct queues *q, const char *message)
{
    const char *at = strstr(message, "; job \"");
    char name[24];

    at = at ? at : strstr(message, "; pod \"");
    if (!at || !strstr(at, " holds "))
        return NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)min_i64((int64_t)strcspn(at + 7, "\""), 20),
                   at + 7);
    return task_named(q, name);
}

/* "...; it holds 1 CPU itself; job "a" (queue q) holds 4 CPU, 2 more hold the rest": together all
 * that is not free, and the one that is named holds it where it is counted. */
static void check_holders(struct queues *q, const struct task *t, const char *message,
                          enum resource which, int64_t taken, bool anywhere)
{
    struct task *named = holder_named(q, message);
    const char *at = named ? strstr(message, named->name) : "";
    int64_t own = max_i64(number_after(message, "; it holds "), 0), with_places, pods, each;
    int64_t most = max_i64(number_after(at, " holds "), 0);
    struct resources asks;

    if (strstr(message, "the rest") ? own + most >= taken : own + most != taken)
        wrong(q, "%s is told what does not add up: %s", t->name, message);
    if (!named)
        return;
    asks = asks_of(named);
    each = asks.amount[which] / (which == RESOURCE_CPU ? 1000 : 1);
    pods = pods_held(q, named, anywhere, &with_places);
    if (most < pods * each || most > with_places * each)
        wrong(q, "%s is told: %s; %s has %" PRId64 " to %" PRId64, t->name, message, named->name,
              pods * each, with_places * each);
}

/* "waiting for resources: needs 3 CPU, 2 of 8 CPU is free" */
static void check_missing(struct queues *q, const struct task *t, const char *message)
{
    struct resources left = free_in_all(q), kept = kept_for_later(q, NULL);
    int64_t needs = number_after(message, "needs "), free = number_after(message, ", ");
    enum resource which = strstr(message, " GPU, ")       ? RESOURCE_GPU
                          : strstr(message, " GPU share") ? RESOURCE_GPU_SHARE
                          : strstr(message, " CPU, ")     ? RESOURCE_CPU
                                                          : RESOURCE_PODS;
    int64_t unit = which == RESOURCE_CPU ? 1000 : 1;
    int64_t most = left.amount[which] / unit, least = most - kept.amount[which] / unit;

    if (free < max_i64(least, 0) || free > most || needs <= free)
        wrong(q, "%s is told: %s; %" PRId64 " to %" PRId64 " is free", t->name, message, least,
              most);
    check_holders(q, t, message, which, number_after(message, " of ") - free, false);
}

/* "waiting for the quota of queue "q": needs 3 CPU, 8 of 8 CPU is in use" */
static void check_quota(struct queues *q, const struct task *t, const char *message)
{
    const char *numbers = strstr(message, ": needs ");
    int64_t needs = number_after(message, "needs "), used = number_after(message, " CPU, ");
    int64_t given = given_by(q, t->queue), quota = quota_of(q, t->queue);
    const struct task *named = holder_named(q, message);

    if (used < 0)
        return; /* it is far behind */
    if (used > given || used + needs <= quota ||
        quota != max_i64(number_after(numbers, " of "), number_after(numbers, " than its ")))
        wrong(q, "%s is told: %s; %" PRId64 " of %" PRId64 " are given", t->name, message, given,
              quota);
    if (named && strcmp(named->queue, t->queue) != 0)
        wrong(q, "%s is told: %s; %s is in queue %s", t->name, message, named->name, named->queue);
    check_holders(q, t, message, RESOURCE_CPU, used, true);
}

static int64_t lacks(struct queues *q, const struct task *t)
{
    return t->least - task_bound(q, t);
}

/* Who is said to wait for its turn or for room could start if it had that. */
static void check_may_start(struct queues *q, const struct task *t, const struct json *queue,
                            const char *message)
{
    bool is_default = strcmp(t->queue, DEFAULT_QUEUE) == 0;

    if (task_bound(q, t) > 0)
        return;
    if ((!queue && !is_default) || json_bool(json_at(queue, "spec", "closed"), false) ||
        (int64_t)t->least * t->cpus > quota_of(q, t->queue))
        wrong(q, "%s is told: %s; its queue does not let it in", t->name, message);
    else if (takes_of(q, t, true) < t->least)
        wrong(q, "%s is told: %s; the nodes can take %" PRId64 " of its %d", t->name, message,
              takes_of(q, t, true), t->least);
}

static void check_reason(struct queues *q, const struct task *t)
{
    const char *reason, *message = told(q, t, &reason);
    const struct json *queue = queues_get(q, SET_QUEUES,
                                          arena_printf(&q->arena, "t9k-system/%s", t->queue));
    int64_t needs = lacks(q, t) * t->cpus, quota = quota_of(q, t->queue);
    int there = 0;
    bool is_default = strcmp(t->queue, DEFAULT_QUEUE) == 0;

    for (int i = 0; i < t->members; i++)
        there += task_pod(q, t, i) && !object_is_deleting(task_pod(q, t, i));
    if (t->paused || places_in(task_group(q, t)) > 0 || there == 0)
        return;
    if (strcmp(reason, "WaitingForTurn") == 0 || strcmp(reason, "InsufficientResources") == 0 ||
        strcmp(reason, "QuotaExceeded") == 0)
        check_may_start(q, t, queue, message);
    if (!*reason || !*message)
        wrong(q, "%s waits and is told nothing", t->name);
    else if (strcmp(reason, "InsufficientResources") == 0 &&
             strstr(message, "waiting for resources: needs "))
        check_missing(q, t, message);
    else if (strstr(message, "no node has room for a pod") && takes_of(q, t, false) > 0)
        wrong(q, "%s is told: %s; there is room for %" PRId64, t->name, message,
              takes_of(q, t, false));
    else if (strcmp(reason, "InsufficientResources") == 0 && !strstr(message, " to stop") &&
             takes_of(q, t, false) >= lacks(q, t) && !strstr(message, "number "))
        wrong(q, "%s fits and is told: %s", t->name, message);
    else if (strcmp(reason, "QuotaExceeded") == 0)
        check_quota(q, t, message);
    else if (strcmp(reason, "QuotaForbids") == 0 && needs <= quota)
        wrong(q, "%s is told: %s", t->name, message);
    else if (strcmp(reason, "QueueNotFound") == 0 && (queue || is_default))
        wrong(q, "%s is told: %s", t->name, message);
    else if (strcmp(reason, "QueueClosed") == 0 &&
             !json_bool(json_at(queue, "spec", "closed"), false))
        wrong(q, "%s is told: %s", t->name, message);
    else if ((strcmp(reason, "NeverFits") == 0 || strcmp(reason, "NodeCordoned") == 0 ||
              strcmp(reason, "NodeNotReady") == 0) &&
             takes_of(q, t, true) >= t->least)
        wrong(q, "%s is told: %s", t->name, message);
    else if (strcmp(reason, "InsufficientMember") == 0 && there >= t->least)
        wrong(q, "%s is told: %s; %d pods are there", t->name, message, there);
}

/* Who was preempted is in line, whether its pods are there or not, unless it could not start. */
static void check_again(struct queues *q, const struct task *t)
{
    const char *reason, *message = told(q, t, &reason);
    const struct json *group = task_group(q, t);
    int64_t place = json_int(json_at(group, "status", "place"), 0);
    int stopping = 0;

    for (int i = 0; i < t->members; i++)
        stopping += pod_holds(task_pod(q, t, i));
    if (t->paused || t->lost_some || !waits_without_pods(&q->rivals[0], t, group))
        return;
    if (strcmp(reason, "InsufficientMember") == 0 || strcmp(reason, "") == 0 ||
        (strcmp(reason, "Preempted") == 0 && place == 0 && stopping == 0))
        wrong(q, "%s was preempted and has no place in line: %s", t->name, message);
    if (strcmp(reason, "Preempted") == 0 && place > 0 && place <= PLACES_TOLD &&
        number_after(message, "number ") != place)
        wrong(q, "%s is number %" PRId64 " in line and told: %s", t->name, place, message);
    if (strstr(message, " still stopping") && number_after(message, " in line; ") != stopping)
        wrong(q, "%s is told: %s; %d of its pods hold room", t->name, message, stopping);
}

/* Nothing is under way: who has begun and was never whole is a gang by half. */
static void check_gang(struct queues *q, const struct task *t)
{
    int64_t bound = task_bound(q, t);

    if (bound > 0 && bound < t->least && !t->was_whole && !t->lost_some)
        wrong(q, "a gang by half: %" PRId64 " of %d pods of %s are bound", bound, t->least,
              t->name);
}

static const struct json *status_of(struct queues *q, const struct group *g)
{
    return json_get(queues_get(q, SET_GROUPS, arena_printf(&q->arena, "%s/%s", g->ns, g->name)),
                    "status");
}

static const char *message_of(struct queues *q, const struct group *g)
{
    return json_get_string(status_of(q, g), "message", "");
}

/* Every group in line is told its place: in the sentence, unless it is the first or far
 * behind. Nothing is told in the status of what runs and lacks a member, or is a pod by itself. */
static void check_place(struct queues *q, const struct group *g)
{
    const char *message = message_of(q, g);
    int64_t told = number_after(message, "number ");
    int64_t place = (int64_t)g->position, written = json_get_int(status_of(q, g), "place", 0);

    if (*message && told != place && (told > 0 || (place > 1 && g->position <= PLACES_TOLD)))
        wrong(q, "%s is number %" PRId64 " in line and told: %s", g->name, place, message);
    if (*message && written != min_i64(place, PLACES_TOLD + 1))
        wrong(q, "%s is number %" PRId64 " in line and its status says %" PRId64, g->name, place,
              written);
}

/* "number 3 in line behind job "a"": that one has a lower number. */
static void check_before(struct queues *q, const struct group *g)
{
    const char *message = message_of(q, g);
    const char *at = strstr(message, " in line behind ");
    const char *name = at ? strstr(at, " \"") : NULL;
    const struct ledger *l = q->rivals[0].ledger;

    map_for_each (n, &l->groups) {
        const struct group *h = n->value;
        size_t len = strlen(h->owner);

        if (name && strncmp(name + 2, h->owner, len) == 0 && name[2 + len] == '"' &&
            (h->position == 0 || h->position >= g->position))
            wrong(q, "%s, number %zu, is told: %s; %s is number %zu", g->name, g->position, message,
                  h->owner, h->position);
    }
}

/* Places in line are 1, 2, 3 ..., in each queue in the order of priority and age. */
static void check_line(struct queues *q)
{
    const struct ledger *l = q->rivals[0].ledger;
    size_t most = 0, sum = 0;

    map_for_each (n, &l->queues) {
        const struct queue_entry *e = n->value;
        size_t before = 0;

        map_for_each (at, &e->line) {
            const struct group *g = at->value;

            if (g->position == 0 || !g->line_key)
                continue;
            if (g->position <= before && !g->ahead)
                wrong(q, "%s is number %zu in line, and one before it in its queue %zu", g->name,
                      g->position, before);
            check_place(q, g);
            check_before(q, g);
            before = g->position;
            sum += g->position;
            most = g->position > most ? g->position : most;
        }
    }
    if (sum != most * (most + 1) / 2)
        wrong(q, "the numbers in line are not 1 to %zu", most);
}

/* How many pods like that the node could take now of which the first in line would miss nothing; of
 * a node that others claim too, none. */
static int64_t takes_unmissed(const struct node_room *n, const struct group *head,
                              const struct resources *asks)
{
    struct resources sum = {0}, more = {0}, left = n->total;
    const struct claim_part *part = NULL;
    struct tenancy t = {.len = 0};
    int64_t count = 0;

    for (size_t i = 0; head && i < head->claim_len; i++)
        part = head->claim[i].node == n ? &head->claim[i] : part;
    if (memcmp(&n->claimed, part ? &part->asks : &sum, sizeof(n->claimed)) != 0)
        return 0;
    if (part)
        t = beside_claim(part);
    for (const struct member *m = n->holders; m; m = m->next_on_node)
        if (m->group == head)
            add_own(&sum, m);
        else
            add_tenant(&t, m);
    resources_subtract(&left, &n->used);
    for (;; count++) {
        bool fits = true;

        resources_add(&more, asks);
        for (enum resource i = 0; i < RESOURCE_COUNT; i++)
            fits = fits && (asks->amount[i] == 0 || more.amount[i] <= left.amount[i]);
        if (!fits || (part && would_miss(&t, 0, &sum, &more)))
            return count;
    }
}

/* Whom it has tried, and whom no quota holds back, the scheduler lets use what nobody misses. */
static void check_idle_room(struct queues *q, const struct group *g)
{
    const struct ledger *l = q->rivals[0].ledger;
    const struct group *head = first_in_line(l);
    struct resources asks = group_asks(g, 1);
    int64_t count = 0;

    if (!g->line_key || g->started || g->rests || g->walked != l->walks || asks.gpu_shares > 0 ||
        g->queue->limited[RESOURCE_CPU] || (g->reason != WAIT_TURN && g->reason != WAIT_RESOURCES))
        return;
    for (size_t i = 0; i < l->ready_len; i++)
        count += takes_unmissed(l->ready[i], head, &asks);
    if (count >= group_required(g))
        wrong(q, "%s could use what nobody will miss and is told: %s", g->name, message_of(q, g));
}

/* It is as old, and its pods may not be there yet. */
static bool may_go_before(struct queues *q, const struct task *other, const struct task *t)
{
    return other != t && other->made && !other->over && other->comes_ms < t->comes_ms + 5000 &&
           task_bound(q, other) == 0 && places_in(task_group(q, other)) == 0;
}

/* Nothing goes wrong and it is known how long all run: who is first in line starts when the last of
 * those that run now has ended, at the latest. */
static void check_promise(struct queues *q, struct task *t)
{
    const char *reason, *message = told(q, t, &reason);
    int64_t last = q->now_ms;

    if (places_in(task_group(q, t)) > 0) {
        if (t->promised_ms && q->now_ms > t->promised_ms + SLACK_MS)
            wrong(q, "%s starts %" PRId64 " ms later than it could", t->name,
                  q->now_ms - t->promised_ms);
        t->promised_ms = 0;
        return;
    }
    if (strcmp(reason, "InsufficientResources") != 0 || strstr(message, "number ")) {
        t->promised_ms = 0; /* one that is older has got its pods together */
        return;
    }
    if (t->promised_ms)
        return;
    for (size_t i = 0; i < q->tasks_len; i++)
        if (may_go_before(q, &q->tasks[i], t))
            return;
    for (size_t i = 0; i < q->tasks_len; i++)
        if (!q->tasks[i].over &&
            (task_bound(q, &q->tasks[i]) > 0 || places_in(task_group(q, &q->tasks[i])) > 0))
            last = max_i64(last,
                           q->now_ms - q->waited_ms + q->tasks[i].work_ms - q->tasks[i].done_ms);
    t->promised_ms = last;
}

/* Whether it waits and nobody of its queue is before it. */
static bool is_first_of_its_queue(struct queues *q, const struct task *t)
{
    const char *reason, *message = told(q, t, &reason);

    if ((strcmp(reason, "InsufficientResources") != 0 && strcmp(reason, "WaitingForTurn") != 0) ||
        !*message)
        return false;
    for (size_t i = 0; i < q->tasks_len; i++)
        if (strcmp(q->tasks[i].queue, t->queue) == 0 && may_go_before(q, &q->tasks[i], t) &&
            !q->tasks[i].too_large)
            return false;
    return true;
}

/* In a crowd of equal queues: what its queue held before it came first ends, then those start that
 * are older, one after the other at the worst, then what holds its own room ends. */
static void check_patience(struct queues *q, struct task *t)
{
    int64_t turns = 2;

    if (!is_first_of_its_queue(q, t)) {
        t->patient_ms = 0;
        return;
    }
    for (size_t i = 0; i < q->tasks_len && !t->patient_ms; i++)
        turns += may_go_before(q, &q->tasks[i], t);
    if (!t->patient_ms)
        t->patient_ms = q->now_ms + turns * (CROWD_WORK_MS + SLACK_MS);
    if (q->now_ms > t->patient_ms)
        wrong(q, "%s starves: it waits first of its queue for %" PRId64 " s longer than it should",
              t->name, (q->now_ms - t->patient_ms) / 1000);
}

void judge_rest(struct queues *q)
{
    for (size_t i = 0; i < q->tasks_len; i++) {
        struct task *t = &q->tasks[i];

        if (!t->made || t->over || t->lone)
            continue;
        check_gang(q, t);
        if (q->rivals_len == 1) {
            check_reason(q, t);
            check_again(q, t);
        }
        if (q->calm)
            check_promise(q, t);
        if (q->crowd)
            check_patience(q, t);
    }
    if (q->rivals_len > 1)
        return;
    check_line(q);
    map_for_each (n, &q->rivals[0].ledger->groups)
        check_idle_room(q, n->value);
}
