/*
 * nodes.c - see nodes.h.
 *
 * A node's silence is measured by a timer that every sign of life restarts. The times a node writes
 * are not used, so neither a clock adjustment nor downtime of our own makes a node look lost, and a
 * list confirms the silence before it counts. A node that renews a Lease counts as silent, and gets
 * no new pods, long before it counts as lost. A lost node is checked repeatedly, for pods that were
 * bound to it late.
 *
 * Pods bound to a node that never existed, or was deleted, are given up sooner.
 */
#include "control/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "client/queue.h"
#include "control/object_list.h"
#include "core/node_loss.h"
#include "core/pod_state.h"

#define LOOK_AGAIN_MS 10000
#define CONFIRM_MS 1000 /* how often we look whether the list that confirms it is there */
#define IN_WORK_LIMIT 4
#define LOSS_LIMIT_BYTES (256u * 1024u * 1024u)

struct watched {
    struct nodes *nodes;
    char *name;
    uint64_t heartbeat; /* hash of the last one; 0: none yet */
    struct clock_timer *patience;
    unsigned list; /* that will confirm its silence; 0: not asked for */
    bool leased;   /* it renews a Lease */
    bool silent;
    bool lost;   /* silent for too long */
    bool absent; /* its Node does not exist */
};

/* A plan being carried out. */
struct loss {
    struct loss *next, **at;
    struct nodes *nodes;
    char *name;
};

struct nodes {
    struct clock *clock;
    struct applier *applier;
    struct trouble *trouble;
    struct cache *pods, *nodes, *leases;
    struct queue *queue;
    struct map watched; /* name -> struct watched */
    struct loss *losses;
};

/* --- heartbeats --- */

static int64_t silent_ms(const struct watched *w)
{
    return w->lost ? NODE_LOST_AFTER_MS : NODE_SILENT_AFTER_MS;
}

static void on_silence(void *arg);

/* A watch may be the one that is silent: what a list does not show either has not come. */
static bool is_confirmed(struct watched *w)
{
    struct cache *heard = w->leased && !w->absent ? w->nodes->leases : w->nodes->nodes;

    if (!w->list)
        w->list = cache_refresh(heard);
    if (cache_has_listed(heard, w->list)) {
        w->list = 0;
        return true;
    }
    w->patience = clock_start(w->nodes->clock, CONFIRM_MS, on_silence, w);
    return false;
}

static void on_silence(void *arg)
{
    struct watched *w = arg;

    w->patience = NULL;
    if (!is_confirmed(w))
        return;
    w->lost = w->silent || w->absent || !w->leased;
    w->silent = true;
    if (w->absent)
        log_warn("node %s does not exist: its pods are given up", w->name);
    else
        log_warn("node %s has not reported for %lld s", w->name, (long long)silent_ms(w) / 1000);
    if (!w->lost)
        w->patience = clock_start(w->nodes->clock, NODE_LOST_AFTER_MS - NODE_SILENT_AFTER_MS,
                                  on_silence, w);
    queue_add(w->nodes->queue, w->name);
}

static void watched_free(void *value)
{
    struct watched *w = value;

    clock_stop(w->nodes->clock, w->patience);
    free(w->name);
    free(w);
}

static struct watched *watched_new(struct nodes *n, const char *name)
{
    struct watched *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->nodes = n;
    w->name = strdup(name);
    w->leased = n->leases && cache_get(n->leases, NODE_LEASES, name);
    if (w->name && map_puts(&n->watched, name, w, NULL) == 0)
        return w;
    free(w->name);
    free(w);
    return NULL;
}

static void be_patient(struct watched *w)
{
    w->silent = w->lost = false;
    w->list = 0;
    clock_stop(w->nodes->clock, w->patience);
    w->patience = clock_start(w->nodes->clock,
                              w->absent   ? NODE_ABSENT_AFTER_MS
                              : w->leased ? NODE_SILENT_AFTER_MS
                                          : NODE_LOST_AFTER_MS,
                              on_silence, w);
}

static uint64_t hash_of(const char *heartbeat)
{
    return fnv1a_64(FNV1A_64_START, heartbeat, strlen(heartbeat));
}

static void note_heartbeat(struct watched *w, uint64_t heartbeat, bool absent)
{
    w->heartbeat = heartbeat;
    w->absent = absent;
    be_patient(w);
}

static void on_node(void *arg, enum cache_event event, const struct json *node,
                    const struct json *old)
{
    struct nodes *n = arg;
    bool absent = event == CACHE_DELETED;
    const char *name = object_name(node);
    uint64_t heartbeat = hash_of(absent ? "" : node_heartbeat(node));
    struct watched *w = map_gets(&n->watched, name);

    (void)old;
    if (!w)
        w = watched_new(n, name);
    if (w && (w->heartbeat != heartbeat || w->absent != absent))
        note_heartbeat(w, heartbeat, absent);
    else if (w && w->silent)
        queue_add(n->queue, name);
}

/* A Lease may come before its node, or stay behind it. */
static void on_lease(void *arg, enum cache_event event, const struct json *lease,
                     const struct json *old)
{
    const struct nodes *n = arg;
    struct watched *w = map_gets(&n->watched, object_name(lease));

    if (!w || w->absent ||
        (event == CACHE_CHANGED &&
         json_equal(json_at(lease, "spec", "renewTime"), json_at(old, "spec", "renewTime"))))
        return;
    w->leased = event != CACHE_DELETED;
    be_patient(w);
}

/* --- pods of missing nodes --- */

void nodes_on_pod(struct nodes *n, enum cache_event event, const struct json *pod)
{
    const char *name = json_string(json_at(pod, "spec", "nodeName"), "");
    struct watched *w;

    if (event == CACHE_DELETED || !*name || (pod_is_finished(pod) && !object_is_deleting(pod)) ||
        !cache_is_synced(n->nodes) || cache_get(n->nodes, NULL, name) ||
        map_gets(&n->watched, name))
        return;
    w = watched_new(n, name);
    if (w)
        note_heartbeat(w, hash_of(""), true);
}

static bool see_pod(void *arg, const struct json *pod)
{
    nodes_on_pod(arg, CACHE_CHANGED, pod);
    return true;
}

static void on_nodes_synced(void *arg)
{
    struct nodes *n = arg;

    cache_each_awake(n->pods, see_pod, n);
}

/* --- loss --- */

static void loss_free(struct loss *l)
{
    *l->at = l->next;
    if (l->next)
        l->next->at = l->at;
    free(l->name);
    free(l);
}

static void on_applied(void *arg, const struct apply_result *result)
{
    struct loss *l = arg;

    if (result->outcome == APPLY_FAILED)
        log_warn("node %s: %s", l->name, result->err->text);
    queue_done(l->nodes->queue, l->name, result->outcome == APPLY_DONE ? QUEUE_OK : QUEUE_RETRY);
    loss_free(l);
}

static bool carry_out(struct nodes *n, const char *name, const struct plan *plan)
{
    struct loss *l = arena_failed(plan->arena) ? NULL : calloc(1, sizeof(*l));

    if (!l)
        return false;
    l->nodes = n;
    l->next = n->losses;
    l->at = &n->losses;
    if (l->next)
        l->next->at = &l->next;
    n->losses = l;
    l->name = strdup(name);
    if (l->name && apply_plan(n->applier, plan, on_applied, l) == 0)
        return true;
    loss_free(l);
    return false;
}

struct collecting {
    const struct cache *cache;
    struct object_list *list;
};

/* Requested through cache_get, so that it stays valid after the walk. */
static bool collect_unfinished(void *arg, const struct json *pod)
{
    const struct collecting *c = arg;

    if (!pod_is_finished(pod) || object_is_deleting(pod))
        pod = cache_get(c->cache, object_namespace(pod), object_name(pod));
    else
        pod = NULL;
    if (pod)
        object_list_add(c->list, pod);
    return true;
}

static void give_up(struct nodes *n, const struct watched *w, const char *name)
{
    const struct json *node = cache_get(n->nodes, NULL, name);
    struct arena a = ARENA_INIT(LOSS_LIMIT_BYTES);
    struct object_list pods = {.arena = &a};
    struct plan plan;

    if (w->lost)
        cache_each_awake(n->pods, collect_unfinished, &(struct collecting){n->pods, &pods});
    plan_init(&plan, &a);
    if (node)
        node_loss_plan(node, pods.items, pods.len, silent_ms(w), clock_now_ms(n->clock), &plan);
    else
        node_absence_plan(name, pods.items, pods.len, &plan);
    if (node || !plan_is_empty(&plan))
        queue_add_after(n->queue, name, LOOK_AGAIN_MS);
    else
        watched_free(map_removes(&n->watched, name));
    if (plan_is_empty(&plan) && !arena_failed(&a))
        queue_done(n->queue, name, QUEUE_OK);
    else if (!carry_out(n, name, &plan))
        queue_done(n->queue, name, QUEUE_RETRY);
    arena_release(&a);
}

static void work(void *arg, const char *name)
{
    struct nodes *n = arg;
    const struct watched *w = map_gets(&n->watched, name);

    if (w && w->silent && cache_is_synced(n->pods))
        give_up(n, w, name);
    else
        queue_done(n->queue, name, QUEUE_OK);
}

/* --- life --- */

static void on_trouble(void *arg, const struct err *err)
{
    struct nodes *n = arg;

    trouble_say(n->trouble, &kind_node, err);
}

static void on_lease_trouble(void *arg, const struct err *err)
{
    struct nodes *n = arg;

    trouble_say(n->trouble, &kind_lease, err);
}

struct nodes *nodes_new(const struct nodes_options *o)
{
    struct nodes *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->clock = o->clock;
    n->applier = o->applier;
    n->trouble = o->trouble;
    n->pods = o->pods;
    n->queue = queue_new(o->clock, IN_WORK_LIMIT, work, n);
    if (n->queue)
        n->nodes = cache_new(&(struct cache_options){.transport = o->transport,
                                                     .clock = o->clock,
                                                     .kind = &kind_node,
                                                     .on_change = on_node,
                                                     .on_synced = on_nodes_synced,
                                                     .on_trouble = on_trouble,
                                                     .arg = n});
    if (n->nodes)
        n->leases = cache_new(&(struct cache_options){.transport = o->transport,
                                                      .clock = o->clock,
                                                      .kind = &kind_lease,
                                                      .ns = NODE_LEASES,
                                                      .on_change = on_lease,
                                                      .on_trouble = on_lease_trouble,
                                                      .arg = n});
    if (n->leases)
        return n;
    nodes_free(n);
    return NULL;
}

void nodes_free(struct nodes *n)
{
    if (!n)
        return;
    cache_free(n->leases);
    cache_free(n->nodes);
    queue_free(n->queue);
    for (struct loss *l = n->losses, *next; l; l = next) {
        next = l->next;
        loss_free(l);
    }
    map_release(&n->watched, watched_free);
    free(n);
}
