/*
 * ledger_test.c - random histories of a cluster with queues: jobs come, fail, restart, end and are
 * preempted, nodes come and go, quotas are changed. After every decision what must never happen is
 * looked for, and a ledger made from scratch must agree with the one that was told of each change.
 */
#include "cluster.h"

#define HISTORIES 30
#define STEPS 120
#define JOBS_LIMIT 40

struct history {
    struct cluster c;
    uint64_t seed;
    int jobs;
    struct resources used[4]; /* of each queue, before a decision */
};

static const char *const queue_names[] = {"default", "low", "high", "top"};

static uint64_t draw(struct history *h, uint64_t below)
{
    h->seed = h->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (h->seed >> 33) % below;
}

/* --- what happens ----------------------------------------------------------------------------- */

static void job_comes(struct history *h)
{
    int pods = 1 + (int)draw(h, 4), least = draw(h, 3) ? pods : 1;
    const char *name = arena_printf(&h->c.arena, "j%d", h->jobs++);
    const char *asks = arena_printf(&h->c.arena, "{'cpu':'%d'}", 1 + (int)draw(h, 4));

    if (h->c.len[GROUPS] >= JOBS_LIMIT)
        return;
    add_group(&h->c, name, 59 - (h->jobs % 50), least,
              arena_printf(&h->c.arena, "'queue':'%s','members':%d,'priority':%d",
                           queue_names[draw(h, 4)], pods, (int)draw(h, 3)));
    for (int i = 0; i < pods; i++)
        add_pod(&h->c, name, arena_printf(&h->c.arena, "%s-%d", name, i), 59 - (h->jobs % 50),
                least, asks);
}

static const char *any(struct history *h, enum cluster_set set)
{
    return h->c.len[set] ? object_name(h->c.items[set][draw(h, h->c.len[set])]) : NULL;
}

/* As its job does it: gone, and made again under its name. */
static void pod_is_replaced(struct history *h, const char *name)
{
    const struct json *old = cluster_get(&h->c, PODS, name);
    const char *group = object_label(old, LABEL_GROUP_NAME);
    struct json *spec = json_clone(&h->c.arena, json_get(old, "spec"));
    struct json *pod;

    json_remove(spec, "nodeName");
    cluster_remove(&h->c, PODS, name);
    if (!cluster_get(&h->c, GROUPS, group) || draw(h, 4) == 0)
        return; /* its job has not got round to it yet, or is over */
    add_pod(&h->c, group, name, 1, 1, "{}");
    pod = cluster_edit(&h->c, PODS, name);
    json_set(&h->c.arena, pod, "spec", spec);
}

static void pod_ends(struct history *h)
{
    const char *name = any(h, PODS), *group;
    const struct json *spec;

    if (!name || !*node_of(&h->c, name))
        return;
    group = object_label(cluster_get(&h->c, PODS, name), LABEL_GROUP_NAME);
    if (draw(h, 2)) {
        pod_is_replaced(h, name);
        return;
    }
    set_phase(&h->c, name, "Succeeded");
    spec = cluster_get(&h->c, GROUPS, group);
    if (spec)
        set_spec(&h->c, GROUPS, group, "members",
                 arena_printf(&h->c.arena, "%" PRId64,
                              max_i64(json_int(json_at(spec, "spec", "members"), 1) - 1, 0)));
}

static void job_ends(struct history *h)
{
    const char *group = any(h, GROUPS);

    if (!group)
        return;
    for (size_t i = h->c.len[PODS]; i-- > 0;) {
        const struct json *pod = h->c.items[PODS][i];

        if (strcmp(object_label(pod, LABEL_GROUP_NAME), group) == 0)
            cluster_remove(&h->c, PODS, object_name(pod));
    }
    cluster_remove(&h->c, GROUPS, group);
}

static void deleted_pods_go(struct history *h)
{
    for (size_t i = h->c.len[PODS]; i-- > 0;)
        if (object_is_deleting(h->c.items[PODS][i]) && draw(h, 2))
            pod_is_replaced(h, object_name(h->c.items[PODS][i]));
}

static void node_changes(struct history *h)
{
    const char *name = any(h, NODES);

    if (h->c.len[NODES] < 5 && draw(h, 2))
        add_node(&h->c, arena_printf(&h->c.arena, "n%d", (int)h->c.revision), 2 + (int)draw(h, 6),
                 64, 0);
    else if (name && h->c.len[NODES] > 2)
        set_spec(&h->c, NODES, name, "unschedulable", draw(h, 2) ? "true" : "false");
}

static void queue_changes(struct history *h)
{
    const char *name = queue_names[1 + draw(h, 3)];

    switch (draw(h, 3)) {
    case 0:
        set_spec(&h->c, QUEUES, name, "quota",
                 arena_printf(&h->c.arena, "{'requests':{'cpu':'%d'}}", 1 + (int)draw(h, 12)));
        break;
    case 1:
        set_spec(&h->c, QUEUES, name, "closed", draw(h, 3) ? "false" : "true");
        break;
    default:
        set_spec(&h->c, QUEUES, name, "preemptible", draw(h, 2) ? "false" : "true");
    }
}

static void something_happens(struct history *h)
{
    switch (draw(h, 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        job_comes(h);
        break;
    case 4:
    case 5:
        pod_ends(h);
        break;
    case 6:
        job_ends(h);
        break;
    case 7:
        node_changes(h);
        break;
    case 8:
        queue_changes(h);
        break;
    default:
        break;
    }
    deleted_pods_go(h);
}

/* --- what must hold --------------------------------------------------------------------------- */

static const struct queue_entry *queue_of(struct history *h, const char *name)
{
    return map_gets(&h->c.ledger->queues, name);
}

static void nothing_is_over_capacity(struct history *h)
{
    for (size_t i = 0; i < h->c.len[NODES]; i++) {
        const struct json *node = h->c.items[NODES][i];
        struct resources total = resources_of(json_at(node, "status", "capacity")), sum = {0};

        for (size_t k = 0; k < h->c.len[PODS]; k++) {
            const struct json *pod = h->c.items[PODS][k];
            struct resources asks = pod_requests(json_get(pod, "spec"));

            if (!pod_is_finished(pod) &&
                json_string_is(json_at(pod, "spec", "nodeName"), object_name(node)))
                resources_add(&sum, &asks);
        }
        assert_true(sum.cpu_milli <= total.cpu_milli);
    }
}

/* Quotas may be lowered below what runs; nothing is added then. */
static void nothing_is_added_over_quota(struct history *h)
{
    for (size_t i = 0; i < ELEMS(queue_names); i++) {
        const struct queue_entry *q = queue_of(h, queue_names[i]);

        if (q && q->limited[RESOURCE_CPU] && q->used.cpu_milli > h->used[i].cpu_milli)
            assert_true(q->used.cpu_milli <= q->quota.cpu_milli);
    }
}

static void gangs_start_whole(const struct group *g, int64_t held_before)
{
    int64_t placed = 0;

    for (const struct member *m = g->first; m; m = m->next)
        placed += m->node != NULL;
    if (held_before == 0 && placed > 0)
        assert_true(placed >= g->min_member);
}

/* "Preempted by job "x" of queue "q" (priority 2)": strictly above the victim's. */
static void only_higher_queues_preempt(struct history *h, const struct plan *plan)
{
    for (const struct plan_step *s = plan->first; s; s = s->next) {
        const char *text = s->op == PLAN_EVENT ? json_get_string(s->object, "message", "") : "";
        const char *at = strstr(text, "(priority ");
        const struct json *pod, *group;
        const struct queue_entry *q;

        if (strncmp(text, "Preempted by", 12) != 0 || !at)
            continue;
        pod = cluster_get(&h->c, PODS,
                          json_string(json_at(s->object, "involvedObject", "name"), ""));
        group = cluster_get(&h->c, GROUPS, object_label(pod, LABEL_GROUP_NAME));
        q = queue_of(h, json_string(json_at(group, "spec", "queue"), DEFAULT_QUEUE));
        assert_true(q->preemptible);
        assert_true(atoi(at + 10) > q->priority);
    }
}

static void who_waits_knows_why(struct history *h)
{
    for (size_t i = 0; i < h->c.len[GROUPS]; i++) {
        const char *name = object_name(h->c.items[GROUPS][i]);
        const struct group *g = map_gets(&h->c.ledger->groups,
                                         arena_printf(&h->c.arena, "ns/%s", name));

        assert_non_null(g);
        if (g->unplaced > 0 && !g->started) {
            assert_string_not_equal(reason_of(&h->c, name), "");
            assert_string_not_equal(message_of(&h->c, name), "");
        }
    }
}

/* What a group behind the first of its queue was given is not all that one waits for on a node. */
static void the_head_is_not_delayed(const struct group *head, const struct group *behind)
{
    if (behind->queue != head->queue || !behind->line_key ||
        strcmp(behind->line_key, head->line_key) < 0)
        return;
    for (size_t i = 0; i < head->claim_len; i++) {
        const struct claim_part *part = &head->claim[i];
        struct resources left = part->node->total, given = {0};
        bool fits = true, would_fit = true;

        for (const struct member *m = behind->first; m; m = m->next)
            if (m->node == part->node && m->has_pod && !m->bound && !m->recorded)
                resources_add(&given, &m->asks);
        resources_subtract(&left, &part->node->used);
        for (enum resource k = 0; k < RESOURCE_COUNT; k++) {
            fits = fits && left.amount[k] >= part->asks.amount[k];
            would_fit = would_fit && left.amount[k] + given.amount[k] >= part->asks.amount[k];
        }
        assert_false(would_fit && !fits);
    }
}

/* Room was made for those ahead. */
static void heads_are_not_delayed(struct history *h, const struct map *ahead)
{
    const struct group *head = NULL;

    map_for_each (node, &h->c.ledger->groups) {
        const struct group *g = node->value;

        if (g->line_key && g->position == 1 && g->claim_len > 0 && g->reason == WAIT_RESOURCES)
            head = g;
    }
    if (!head)
        return;
    map_for_each (node, &h->c.ledger->groups)
        if (!map_gets(ahead, node->key))
            the_head_is_not_delayed(head, node->value);
}

/* --- histories -------------------------------------------------------------------------------- */

static void decide(struct history *h)
{
    struct map held = MAP_INIT, ahead = MAP_INIT;
    struct plan plan;

    cluster_feed(&h->c);
    ledger_settle(h->c.ledger);
    for (size_t i = 0; i < ELEMS(queue_names); i++)
        h->used[i] = queue_of(h, queue_names[i]) ? queue_of(h, queue_names[i])->used
                                                 : (struct resources){0};
    map_for_each (node, &h->c.ledger->groups) {
        const struct group *g = node->value;

        assert_int_equal(map_puts(&held, node->key, (void *)(uintptr_t)g->holding, NULL), 0);
        if (g->ahead)
            assert_int_equal(map_puts(&ahead, node->key, node->value, NULL), 0);
    }
    look(&h->c, &plan);
    map_for_each (node, &h->c.ledger->groups)
        gangs_start_whole(node->value, (int64_t)(uintptr_t)map_gets(&held, node->key));
    heads_are_not_delayed(h, &ahead);
    map_release(&ahead, NULL);
    only_higher_queues_preempt(h, &plan);
    nothing_is_added_over_quota(h);
    map_release(&held, NULL);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        cluster_apply(&h->c, s);
    settle(&h->c);
    nothing_is_over_capacity(h);
    who_waits_knows_why(h);
}

static void begin(struct history *h, uint64_t seed)
{
    *h = (struct history){.seed = seed};
    cluster_init(&h->c);
    add_namespace(&h->c);
    add_queue(&h->c, "low", "'priority':0,'quota':{'requests':{'cpu':'8'}}");
    add_queue(&h->c, "high", "'priority':5,'quota':{'requests':{'cpu':'10'}}");
    add_queue(&h->c, "top", "'priority':9,'preemptible':false");
    add_node(&h->c, "n1", 6, 64, 0);
    add_node(&h->c, "n2", 4, 64, 0);
}

static void whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct history h;

        begin(&h, seed);
        for (int step = 0; step < STEPS; step++) {
            something_happens(&h);
            decide(&h);
        }
        cluster_release(&h.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens)};

    return cmocka_run_group_tests_name("core ledger", tests, NULL, NULL);
}
