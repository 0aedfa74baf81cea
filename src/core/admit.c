/* admit.c - see admit.h. Room that is already held is not checked again. */
#include "core/admit.h"

#include <inttypes.h>
#include <string.h>

#include "api/object.h"

static const struct resources nothing;

struct asking {
    struct ledger *ledger;
    struct arena *arena;
    const char *pod; /* its name */
};

static const char *no_room(const struct asking *k, const struct node_room *n,
                           const struct resources *asks, enum resource which)
{
    int64_t free = n->total.amount[which] - n->used.amount[which] - n->claimed.amount[which];

    return arena_printf(k->arena,
                        "node \"%s\" has no room for pod \"%s\": it asks %s, %s of %s is free",
                        n->name, k->pod, resource_text(k->arena, which, asks->amount[which]),
                        resource_number(k->arena, which, max_i64(free, 0)),
                        resource_text(k->arena, which, n->total.amount[which]));
}

/* On top of what is held there and what the same write has assigned (claimed). */
static const char *on_node(const struct asking *k, const struct node_room *n,
                           const struct resources *asks, struct gpu_lease gpus)
{
    uint64_t barred = node_barred_gpus(n, gpus, asks->gpu_shares);
    enum resource which;

    if (node_lacks(k->ledger, n, asks, &n->claimed, &which))
        return no_room(k, n, asks, which);
    if (barred)
        return arena_printf(k->arena, "GPU %s of node \"%s\" is in use: pod \"%s\" cannot have it",
                            gpu_set_text(k->arena, barred), n->name, k->pod);
    return NULL;
}

static const char *in_queue(const struct asking *k, const struct queue_entry *q,
                            const struct resources *asks)
{
    enum resource which;

    if (!queue_lacks(q, asks, &nothing, &which))
        return NULL;
    return arena_printf(k->arena,
                        asks->amount[which] > q->quota.amount[which]
                            ? "the quota of queue \"%s\" is too small: needs %s, %s of %s is in use"
                            : "the quota of queue \"%s\" is used up: needs %s, %s of %s is in use",
                        q->name, resource_text(k->arena, which, asks->amount[which]),
                        resource_number(k->arena, which, q->used.amount[which]),
                        resource_text(k->arena, which, q->quota.amount[which]));
}

static const char *no_node(struct arena *a, const char *name)
{
    return arena_printf(
        a, "there is no node \"%s\", or it is being deleted: name one that is there", name);
}

static struct node_room *node_called(const struct ledger *l, const char *name)
{
    struct node_room *n = map_gets(&l->nodes, name);

    return n && n->exists ? n : NULL;
}

static bool holds(const struct member *m, const struct node_room *n, struct gpu_lease gpus)
{
    return m && m->node == n &&
           ((!gpus.whole && !gpus.shared) ||
            (m->gpus.whole == gpus.whole && m->gpus.shared == gpus.shared));
}

/* --- groups ----------------------------------------------------------------------------------- */

static const char *place_one(const struct asking *k, const struct group *g,
                             const struct json *placement, const char *named, struct resources *sum)
{
    const char *on = json_get_string(placement, "node", "");
    struct node_room *n = node_called(k->ledger, on);
    const struct member *m = map_gets(&g->by_name, k->pod);
    struct resources asks = m && m->has_pod ? m->asks : placement_requests(placement);
    struct gpu_lease gpus = gpu_lease_read(named, asks.gpu_shares);
    const char *why;

    if (!n)
        return m && m->recorded && strcmp(m->recorded->name, on) == 0 ? NULL
                                                                      : no_node(k->arena, on);
    if (holds(m, n, gpus))
        return NULL;
    why = on_node(k, n, &asks, gpus);
    resources_add(&n->claimed, &asks);
    if (!m || !m->node) /* otherwise its queue already counts it */
        resources_add(sum, &asks);
    return why;
}

static const char *place_all(struct asking *k, const struct group *g, const struct json *list,
                             struct resources *sum)
{
    json_each (placement, list) {
        const struct json *gpus = json_first(json_get(placement, "gpus"));

        json_each (name, json_get(placement, "members")) {
            const char *why;

            k->pod = json_string(name, "");
            why = place_one(k, g, placement, json_string(gpus, ""), sum);
            if (why)
                return why;
            gpus = gpus ? gpus->next : NULL;
        }
    }
    return NULL;
}

/* For a group none of whose pods remain; the writer treats ended pods as running. */
static const char *by_half(const struct asking *k, const struct group *g, const struct json *list)
{
    int64_t places = 0;

    json_each (placement, list)
        places += (int64_t)json_len(json_get(placement, "members"));
    if (g->bound > g->leaving || places == 0 || places >= group_whole(g))
        return NULL;
    return arena_printf(k->arena,
                        "group \"%s\" needs %" PRId64 " members and would have places for %" PRId64,
                        g->name, group_whole(g), places);
}

/* Room the write removes from the record is free for the rest of it. */
static void give_back(struct ledger *l, struct group *g, const struct json *list)
{
    json_each (placement, list) {
        const struct node_room *n = node_called(l, json_get_string(placement, "node", ""));
        const struct json *gpus = json_first(json_get(placement, "gpus"));

        json_each (name, json_get(placement, "members")) {
            struct member *m = map_gets(&g->by_name, json_string(name, ""));
            int64_t shares = m ? m->asks.gpu_shares : 0;

            if (holds(m, n, gpu_lease_read(json_string(gpus, ""), shares)))
                m->on_trial = true;
            gpus = gpus ? gpus->next : NULL;
        }
    }
    for (struct member *m = g->first; m; m = m->next) {
        if (!m->on_trial && !(m->bound && member_is_live(m)))
            ledger_release(l, m);
        m->on_trial = false;
    }
    ledger_touch(l, g); /* until the write is seen */
}

static void forget_claims(struct ledger *l, const struct json *list)
{
    json_each (placement, list) {
        struct node_room *n = map_gets(&l->nodes, json_get_string(placement, "node", ""));

        if (n)
            n->claimed = nothing;
    }
}

const char *admit_group(struct ledger *l, struct arena *a, const struct json *group)
{
    const struct json *list = json_at(group, "status", "placements");
    struct asking k = {.ledger = l, .arena = a};
    struct resources sum = {0};
    struct group *g;
    const char *why;

    ledger_rest(l);
    g = ledger_find_group(l, object_namespace(group), object_name(group), false);
    if (!g)
        return NULL;
    why = by_half(&k, g, list);
    if (why)
        return why;
    give_back(l, g, list);
    why = place_all(&k, g, list, &sum);
    forget_claims(l, list);
    return why ? why : in_queue(&k, g->queue, &sum);
}

const char *admit_new_group(struct ledger *l, struct arena *a, const struct json *group)
{
    const char *queue = json_string(json_at(group, "spec", "queue"), DEFAULT_QUEUE);
    const struct group *g;

    ledger_rest(l);
    g = ledger_find_group(l, object_namespace(group), object_name(group), false);
    if (!g || g->bound == 0 || !g->queue_known || strcmp(g->queue->name, queue) == 0)
        return NULL;
    return arena_printf(a, "in queue \"%s\": name that queue, or give the group another name",
                        g->queue->name);
}

/* --- pods ------------------------------------------------------------------------------------- */

static const struct queue_entry *queue_of(const struct ledger *l, const struct group *g,
                                          const struct json *pod)
{
    const char *named = object_label(pod, LABEL_QUEUE);

    return g ? g->queue : map_gets(&l->queues, named ? named : DEFAULT_QUEUE);
}

const char *admit_pod(struct ledger *l, struct arena *a, const struct json *pod)
{
    const char *group = object_label(pod, LABEL_GROUP_NAME);
    const char *named = object_annotation(pod, ANNOTATION_GPUS);
    bool lone = !group || !*group;
    struct asking k = {.ledger = l, .arena = a, .pod = object_name(pod)};
    struct resources asks = pod_requests(json_get(pod, "spec"));
    struct gpu_lease gpus = gpu_lease_read(named ? named : "", asks.gpu_shares);
    const struct node_room *n;
    const struct queue_entry *q;
    const struct group *g;
    const struct member *m;
    const char *why;

    ledger_rest(l);
    n = node_called(l, json_string(json_at(pod, "spec", "nodeName"), ""));
    g = ledger_find_group(l, object_namespace(pod), lone ? object_name(pod) : group, lone);
    m = g ? map_gets(&g->by_name, k.pod) : NULL;
    if (!n)
        return no_node(a, json_string(json_at(pod, "spec", "nodeName"), ""));
    if (!lone && (!g || !g->exists))
        return arena_printf(a,
                            "there is no PodGroup \"%s\" in namespace %s, whose quota and members "
                            "would count: create it first, or remove the label %s",
                            group, object_namespace(pod), LABEL_GROUP_NAME);
    if (holds(m, n, gpus) && (!g->lapsed || group_whole(g) == 1))
        return NULL;
    if (!lone && (!m || m->ours) && !g->started && group_whole(g) > 1)
        return arena_printf(a,
                            "group \"%s\" starts with %" PRId64
                            " members at once: write the places of all of them into its "
                            "status.placements first, or leave it to the scheduler",
                            g->name, group_whole(g));
    why = on_node(&k, n, &asks, gpus);
    q = queue_of(l, g, pod);
    return why || !q || (m && m->node) ? why : in_queue(&k, q, &asks);
}
