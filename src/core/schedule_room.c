/* schedule_room.c - counts what nodes have and pods hold. See schedule_room.h. */
#include "core/schedule_room.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/selector.h"
#include "core/job_view.h"
#include "core/name_index.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_ready(const struct json *node)
{
    const struct json *ready = object_condition(node, "Ready");

    return json_string_is(json_get(ready, "status"), "True") && !object_is_deleting(node) &&
           !json_get_bool(json_get(node, "spec"), "unschedulable", false);
}

/* A node that does not name them has the lowest. */
static void add_gpus(struct board *b, struct node_room *room)
{
    const char *named = object_annotation(room->node, ANNOTATION_GPUS);
    const char *links = object_annotation(room->node, ANNOTATION_GPU_LINKS);
    struct gpu_links *known = arena_alloc(b->arena, sizeof(*known));

    room->total.gpus = min_i64(room->total.gpus, GPUS_PER_NODE_LIMIT);
    if (known)
        gpu_links_parse(links ? links : "", known);
    room->links = known;
    if (!known || (named && gpu_set_parse(named, &room->gpus) == 0 &&
                   gpu_set_count(room->gpus) == room->total.gpus))
        return;
    room->gpus = room->total.gpus == GPUS_PER_NODE_LIMIT ? UINT64_MAX
                                                         : (UINT64_C(1) << room->total.gpus) - 1;
}

static void add_nodes(struct board *b, const struct schedule_snapshot *s, struct name_index *index)
{
    b->nodes = arena_alloc(b->arena, (s->nodes_len + 1) * sizeof(*b->nodes));
    name_index_init(index, b->arena, s->nodes_len);
    for (size_t i = 0; i < s->nodes_len && b->nodes; i++) {
        const struct json *status = json_get(s->nodes[i], "status");
        const struct json *has = json_get(status, "allocatable");
        struct node_room *room = &b->nodes[b->nodes_len];

        if (!is_ready(s->nodes[i]))
            continue;
        *room = (struct node_room){
            .node = s->nodes[i],
            .name = object_name(s->nodes[i]),
            .total = resources_of(has ? has : json_get(status, "capacity")),
        };
        add_gpus(b, room);
        name_index_put(index, room->name, room);
        b->nodes_len++;
    }
}

/* 0 when there are not enough (or none is asked for). */
static uint64_t free_gpus(const struct node_room *room, int64_t count)
{
    return gpus_choose(room->gpus & ~room->gpus_used, count, room->links);
}

static void occupy(struct node_room *room, const struct json *pod, const struct resources *asks)
{
    const char *gpus = object_annotation(pod, ANNOTATION_GPUS);
    uint64_t set = 0;

    /* What can be read of an odd list counts. */
    if (gpus && gpu_set_parse(gpus, &set) != 0)
        set &= room->gpus;
    /* One bound by somebody else names no indexes: it is thought to use what we would choose. */
    room->gpus_used |= set ? set : free_gpus(room, asks->gpus);
    resources_add(&room->used, asks);
}

/* --- gangs ------------------------------------------------------------------------------------ */

static int64_t queued_since(const struct json *pod)
{
    int64_t since = object_time(json_at(pod, "metadata", "annotations"), ANNOTATION_QUEUED_SINCE);

    return since ? since : object_created_ms(pod);
}

static struct gang *gang_of(struct board *b, struct name_index *gangs, const struct json *pod)
{
    const struct json *owner = object_controller(pod);
    const char *uid = owner ? json_get_string(owner, "uid", "") : object_uid(pod);
    /* With the namespace: a pod can say any owner's UID. */
    const char *key = arena_printf(b->arena, "%s/%s", object_namespace(pod), uid);
    struct gang *g = key ? name_index_get(gangs, key) : NULL;

    if (g || !key)
        return g;
    g = arena_alloc(b->arena, sizeof(*g));
    if (!g)
        return NULL;
    *g = (struct gang){
        .next = b->gangs,
        .word = owner ? "job" : "pod",
        .name = owner ? json_get_string(owner, "name", "") : object_name(pod),
        .ns = object_namespace(pod),
        .since_ms = queued_since(pod),
        .min_member = INT64_MAX,
    };
    b->gangs = g;
    return name_index_put(gangs, key, g);
}

static void add_waiting(struct board *b, struct gang *g, const struct json *pod,
                        const struct resources *asks)
{
    const char *least = object_annotation(pod, ANNOTATION_MIN_MEMBER);
    struct waiting *w = arena_alloc(b->arena, sizeof(*w));

    if (!w)
        return;
    *w = (struct waiting){.pod = pod, .asks = *asks};
    if (g->last)
        g->last->next = w;
    else
        g->first = w;
    g->last = w;
    g->waiting_len++;
    g->min_member = min_i64(g->min_member, least ? max_i64(strtoll(least, NULL, 10), 1) : 1);
}

static void add_pod(struct board *b, const struct name_index *nodes, struct name_index *gangs,
                    const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const char *node = json_get_string(spec, "nodeName", "");
    struct resources asks = pod_requests(spec);
    struct node_room *room = name_index_get(nodes, node);
    bool deleting = object_is_deleting(pod);
    struct gang *g = gang_of(b, gangs, pod);

    if (!g)
        return;
    g->started = g->started || (node[0] && !deleting);
    if (pod_is_finished(pod))
        return;
    g->since_ms = min_i64(g->since_ms, queued_since(pod));
    if (!node[0]) {
        if (!deleting)
            add_waiting(b, g, pod, &asks);
        return;
    }
    g->bound += !deleting;
    resources_add(&g->held, &asks);
    if (room)
        occupy(room, pod, &asks);
}

void board_init(struct board *b, const struct schedule_snapshot *s, struct arena *a)
{
    struct name_index nodes, gangs;

    *b = (struct board){.arena = a, .overcommit = s->overcommit};
    add_nodes(b, s, &nodes);
    name_index_init(&gangs, a, s->pods_len);
    for (size_t i = 0; i < s->pods_len && !arena_failed(a); i++)
        add_pod(b, &nodes, &gangs, s->pods[i]);
}

int64_t gang_required(const struct gang *g)
{
    return min_i64(g->waiting_len, max_i64(g->min_member - g->bound, 0));
}

struct resources gang_lacks(const struct gang *g)
{
    const struct waiting *w = g->first;
    struct resources sum = {0};
    int64_t members = g->started ? 1 : gang_required(g);

    for (; w; w = w->next)
        if (w->node)
            members = 1; /* it has started; who is left is placed one by one */
    for (w = g->first; w && members > 0; w = w->next) {
        if (w->node)
            continue;
        resources_add(&sum, &w->asks);
        members--;
    }
    return sum;
}

/* --- placing ---------------------------------------------------------------------------------- */

bool board_counts(const struct board *b, enum resource which)
{
    return which == RESOURCE_GPU || !b->overcommit;
}

static bool has_room(const struct board *b, const struct node_room *room,
                     const struct resources *asks)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (board_counts(b, i) &&
            resources_get(asks, i) > resources_get(&room->total, i) - resources_get(&room->used, i))
            return false;
    return asks->gpus == 0 || free_gpus(room, asks->gpus) != 0;
}

static bool accepts(const struct node_room *room, const struct json *pod)
{
    const struct json *selector = json_at(pod, "spec", "nodeSelector");

    return json_len(selector) == 0 || label_map_matches(selector, object_labels(room->node));
}

static bool place_on(const struct board *b, struct node_room *nodes, struct waiting *w)
{
    for (size_t i = 0; i < b->nodes_len; i++) {
        struct node_room *room = &nodes[i];

        if (!accepts(room, w->pod) || !has_room(b, room, &w->asks))
            continue;
        w->node = room;
        w->gpus = free_gpus(room, w->asks.gpus);
        room->gpus_used |= w->gpus;
        resources_add(&room->used, &w->asks);
        return true;
    }
    return false;
}

bool board_place(struct board *b, struct waiting *w)
{
    return place_on(b, b->nodes, w);
}

void board_unplace(struct waiting *w)
{
    if (!w->node)
        return;
    w->node->gpus_used &= ~w->gpus;
    w->node->used.cpu_milli -= w->asks.cpu_milli;
    w->node->used.memory_bytes -= w->asks.memory_bytes;
    w->node->used.gpus -= w->asks.gpus;
    w->node = NULL;
    w->gpus = 0;
}

bool board_could_hold(const struct board *b, const struct gang *g, int64_t members)
{
    struct node_room *empty = arena_alloc(b->arena, (b->nodes_len + 1) * sizeof(*empty));

    if (!empty)
        return false;
    for (size_t i = 0; i < b->nodes_len; i++)
        empty[i] = (struct node_room){.node = b->nodes[i].node,
                                      .total = b->nodes[i].total,
                                      .gpus = b->nodes[i].gpus,
                                      .links = b->nodes[i].links};
    for (const struct waiting *w = g->first; w && members-- > 0; w = w->next) {
        struct waiting trial = *w;

        if (!place_on(b, empty, &trial))
            return false;
    }
    return true;
}

bool board_is_open_to(const struct board *b, const struct json *pod)
{
    for (size_t i = 0; i < b->nodes_len; i++)
        if (accepts(&b->nodes[i], pod))
            return true;
    return false;
}

struct resources board_largest(const struct board *b, const struct json *pod)
{
    struct resources most = {0};

    for (size_t i = 0; i < b->nodes_len; i++) {
        const struct resources *has = &b->nodes[i].total;

        if (!accepts(&b->nodes[i], pod))
            continue;
        most.cpu_milli = max_i64(most.cpu_milli, has->cpu_milli);
        most.memory_bytes = max_i64(most.memory_bytes, has->memory_bytes);
        most.gpus = max_i64(most.gpus, has->gpus);
    }
    return most;
}

struct resources board_total(const struct board *b)
{
    struct resources sum = {0};

    for (size_t i = 0; i < b->nodes_len; i++)
        resources_add(&sum, &b->nodes[i].total);
    return sum;
}

struct resources board_used(const struct board *b)
{
    struct resources sum = {0};

    for (size_t i = 0; i < b->nodes_len; i++)
        resources_add(&sum, &b->nodes[i].used);
    return sum;
}
