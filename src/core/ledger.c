/*
 * ledger.c - see ledger.h.
 *
 * A change is only noted and its group marked; ledger_settle() then recounts each marked group
 * once, however many changes there were. First all groups take the room their pods have, then what
 * is only recorded, as far as it is available: a stale record must not take room from a running
 * pod.
 */
#include "core/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/duration.h"
#include "api/object.h"
#include "base/hash.h"
#include "base/heap.h"
#include "core/pod_group.h"

#define PODS_UNLIMITED (INT64_MAX / 4)
#define DEPTH_LIMIT 256
#define REFUSALS_FORGIVEN 5 /* others were faster; after more it loses its claim */
#define FIRST_PAUSE_MS INT64_C(100)
#define LONGEST_PAUSE_MS INT64_C(60000)
#define LONGEST_SECONDS INT64_C(10000000000)
#define SOON_SECONDS 60
#define SYSTEM_PRIORITY INT64_C(2000000000) /* of system-cluster-critical; users' are lower */

/* We do not place pods of another scheduler or pods held by gates, but they count once placed. */
static bool is_ours(const struct ledger *l, const struct json *pod)
{
    if (l->beside_default && pod_is_for_default_scheduler(pod))
        return false;
    return !pod_foreign_scheduler(pod) && json_len(json_at(pod, "spec", "schedulingGates")) == 0;
}

bool ledger_counts(const struct ledger *l, enum resource which)
{
    return (which != RESOURCE_CPU && which != RESOURCE_MEMORY) || !l->overcommit;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static char *copy_text(struct ledger *l, const char *text)
{
    char *copy = heap_text(text);

    if (!copy)
        l->broken = true;
    return copy;
}

static void set_text(struct ledger *l, char **at, const char *text)
{
    if (*at && strcmp(*at, text) == 0)
        return;
    heap_free(*at);
    *at = copy_text(l, text);
}

static void put(struct ledger *l, struct map *m, const char *key, void *value)
{
    if (map_puts(m, key, value, NULL) < 0)
        l->broken = true;
}

static void touch_queue(struct ledger *l, struct queue_entry *q)
{
    if (q->dirty)
        return;
    q->dirty = true;
    q->next_dirty = NULL;
    *l->dirty_queues_end = q;
    l->dirty_queues_end = &q->next_dirty;
}

struct queue_entry *ledger_next_dirty_queue(struct ledger *l)
{
    struct queue_entry *q = l->dirty_queues;

    if (!q)
        return NULL;
    l->dirty_queues = q->next_dirty;
    if (!l->dirty_queues)
        l->dirty_queues_end = &l->dirty_queues;
    q->dirty = false;
    return q;
}

void ledger_touch(struct ledger *l, struct group *g)
{
    if (g->dirty)
        return;
    g->dirty = true;
    g->next_dirty = l->dirty;
    l->dirty = g;
}

bool group_is_broken(const struct group *g)
{
    return g->started && g->bound > 0 && group_required(g) > 0 && g->most >= g->min_member;
}

static void keep_ahead(struct ledger *l, struct group *g)
{
    bool ahead = g->line_key && (g->taking || group_is_broken(g));

    if (ahead == g->ahead)
        return;
    g->ahead = ahead;
    g->stuck_ms = 0;
    if (ahead)
        put(l, &l->ahead, g->key, g);
    else
        (void)map_removes(&l->ahead, g->key);
}

void ledger_set_taking(struct ledger *l, struct group *g, bool taking)
{
    g->taking = taking;
    keep_ahead(l, g);
}

void ledger_owe(struct ledger *l, struct group *g)
{
    if (g->at_owed)
        return;
    g->next_owed = l->owed;
    g->at_owed = &l->owed;
    if (l->owed)
        l->owed->at_owed = &g->next_owed;
    l->owed = g;
}

void ledger_pay(struct group *g)
{
    if (!g->at_owed)
        return;
    *g->at_owed = g->next_owed;
    if (g->next_owed)
        g->next_owed->at_owed = g->at_owed;
    g->at_owed = NULL;
}

void ledger_reach(struct ledger *l, struct group *g)
{
    if (g->at_reached)
        return;
    g->next_reached = l->reached;
    g->at_reached = &l->reached;
    if (l->reached)
        l->reached->at_reached = &g->next_reached;
    l->reached = g;
}

void ledger_unreach(struct group *g)
{
    if (!g->at_reached)
        return;
    *g->at_reached = g->next_reached;
    if (g->next_reached)
        g->next_reached->at_reached = g->at_reached;
    g->at_reached = NULL;
}

/* --- rules ------------------------------------------------------------------------------------ */

bool group_is_misjudged(const struct ledger *l, const struct group *g)
{
    return g->judged_at < l->ruled_at || g->judged_at < g->queue->ruled_at || !g->judged_at;
}

/* Groups that join the line later are judged anyway. */
static void judge_line_anew(struct queue_entry *q)
{
    struct map_node *first = map_first(&q->line);

    q->to_judge = first ? first->value : NULL;
}

static void judge_all_anew(struct ledger *l)
{
    l->ruled_at = ++l->rules;
    map_for_each (node, &l->queues)
        judge_line_anew(node->value);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct node_room *node_named(struct ledger *l, const char *name)
{
    struct node_room *n = map_gets(&l->nodes, name);

    if (n)
        return n;
    n = heap_new(sizeof(*n));
    if (n)
        n->name = copy_text(l, name);
    if (!n || !n->name) {
        heap_free(n);
        l->broken = true;
        return NULL;
    }
    put(l, &l->nodes, name, n);
    return n;
}

/* The set of shared GPUs may have changed under a pod: a GPU held whole has no shares to give, and
 * the other way round. */
struct gpu_lease node_free_gpus(const struct node_room *n, const struct resources *asks)
{
    uint64_t taken;

    if (asks->gpus == 0 && asks->gpu_shares == 0)
        return (struct gpu_lease){0};
    taken = n->gpus_used | gpu_shares_in_use(&n->shares);
    return (struct gpu_lease){
        .whole = gpus_choose(n->gpus & ~taken, asks->gpus, &n->links),
        .shared = gpu_shares_choose(&n->shares, n->gpus_used, asks->gpu_shares)};
}

bool node_gives_gpus(const struct node_room *n, const struct resources *asks)
{
    struct gpu_lease lease = node_free_gpus(n, asks);

    return (asks->gpus == 0 || lease.whole) &&
           (asks->gpu_shares == 0 || lease.shared || !n->shares.set);
}

uint64_t node_barred_gpus(const struct node_room *n, struct gpu_lease lease, int64_t shares)
{
    uint64_t barred = 0;

    if (lease.whole)
        barred = lease.whole & (n->gpus_used | gpu_shares_in_use(&n->shares));
    if (lease.shared && !gpu_shares_choose(&n->shares, n->gpus_used | ~lease.shared, shares))
        barred |= lease.shared;
    return barred;
}

static void read_shares(struct node_room *n, const struct json *node)
{
    const char *named = object_annotation(node, ANNOTATION_SHARED_GPUS);
    int64_t count;

    if (!named || gpu_set_parse(named, &n->shares.set) != 0)
        n->shares.set = 0;
    count = gpu_set_count(n->shares.set);
    n->shares.each = count > 0 ? n->total.gpu_shares / count : 0;
}

/* A node that does not list them has the lowest indexes. */
static void read_gpus(struct node_room *n, const struct json *node)
{
    const char *named = object_annotation(node, ANNOTATION_GPUS);
    const char *links = object_annotation(node, ANNOTATION_GPU_LINKS);

    gpu_links_parse(links ? links : "", &n->links);
    if (named && gpu_set_parse(named, &n->gpus) == 0 && gpu_set_count(n->gpus) == n->total.gpus)
        return;
    n->gpus = n->total.gpus == GPUS_PER_NODE_LIMIT ? UINT64_MAX
                                                   : (UINT64_C(1) << n->total.gpus) - 1;
}

static uint64_t hash_json(uint64_t hash, const struct json *v)
{
    struct buf text = BUF_INIT(1024u * 1024u);

    json_write(&text, v);
    hash = fnv1a_64(hash, text.data ? text.data : "", text.len);
    buf_release(&text);
    return hash;
}

/* Labels, annotations, taints and what it offers: what constraints and devices go by. */
static uint64_t marks_of(const struct json *node)
{
    uint64_t hash = FNV1A_64_START;

    if (json_at(node, "status", "allocatable"))
        hash = hash_json(hash, json_at(node, "status", "allocatable"));
    if (object_labels(node))
        hash = hash_json(hash, object_labels(node));
    if (json_at(node, "metadata", "annotations"))
        hash = hash_json(hash, json_at(node, "metadata", "annotations"));
    if (json_at(node, "spec", "taints"))
        hash = hash_json(hash, json_at(node, "spec", "taints"));
    return hash;
}

void ledger_node(struct ledger *l, const struct json *node, bool gone)
{
    const struct json *status = json_get(node, "status"), *has = json_get(status, "allocatable");
    struct node_room *n = node_named(l, object_name(node));
    struct resources total = resources_of(has ? has : json_get(status, "capacity"));
    bool exists = !gone && !object_is_deleting(node),
         up = exists && object_condition_is(node, "Ready");
    bool cordoned = up && json_get_bool(json_get(node, "spec"), "unschedulable", false);
    bool ready = up && !cordoned;
    bool tainted = json_len(json_at(node, "spec", "taints")) > 0;
    uint64_t marks = marks_of(node);

    if (!n)
        return;
    total.gpus = min_i64(total.gpus, GPUS_PER_NODE_LIMIT);
    if (!json_get(has ? has : json_get(status, "capacity"), "pods"))
        total.pods = PODS_UNLIMITED;
    if (n->exists == exists && n->ready == ready && n->cordoned == cordoned && n->marks == marks &&
        memcmp(&n->total, &total, sizeof(total)) == 0)
        return; /* just a heartbeat */
    n->marks = marks;
    n->exists = exists;
    n->ready = ready;
    n->cordoned = cordoned;
    n->tainted = tainted;
    n->elsewhere = json_at(status, "daemonEndpoints", "kubeletEndpoint", "Port");
    n->total = total;
    read_gpus(n, node);
    read_shares(n, node);
    l->nodes_changed = true;
    for (struct member *m = n->holders; m; m = m->next_on_node)
        ledger_touch(l, m->group); /* what is recorded here may be void */
}

static void list_ready(struct ledger *l)
{
    size_t cap = l->nodes.count;

    l->nodes_changed = false;
    judge_all_anew(l);
    if (cap > l->ready_cap) {
        struct node_room **grown = heap_resize(l->ready, cap * sizeof(*grown));

        if (!grown) {
            l->broken = true;
            return;
        }
        l->ready = grown;
        l->ready_cap = cap;
    }
    l->ready_len = 0;
    l->has_taints = false;
    l->total = l->used = (struct resources){0};
    map_for_each (node, &l->nodes) {
        struct node_room *n = node->value;

        if (!n->ready)
            continue;
        l->ready[l->ready_len++] = n;
        l->has_taints = l->has_taints || n->tainted;
        resources_add(&l->total, &n->total);
        resources_add(&l->used, &n->used);
    }
}

/* --- room ------------------------------------------------------------------------------------- */

void ledger_hold(struct ledger *l, struct member *m, struct node_room *n, struct gpu_lease gpus)
{
    m->node = n;
    /* Bound by another scheduler without indexes: assumed to use the lowest. */
    m->gpus = gpus.whole || gpus.shared ? gpus : node_free_gpus(n, &m->asks);
    m->next_on_node = n->holders;
    m->at_node = &n->holders;
    if (n->holders)
        n->holders->at_node = &m->next_on_node;
    n->holders = m;
    if (m->repels) {
        m->next_repelling = l->repelling;
        m->at_repelling = &l->repelling;
        if (l->repelling)
            l->repelling->at_repelling = &m->next_repelling;
        l->repelling = m;
    }
    n->gpus_used |= m->gpus.whole;
    gpu_shares_use(&n->shares, m->gpus.shared, m->asks.gpu_shares);
    resources_add(&n->used, &m->asks);
    resources_subtract(&n->beside, &m->asks);
    m->ending = m->deleting || (m->group->preempted && m->bound); /* not its next place */
    m->leaving = m->ending && m->group->preempted;
    if (m->ending) {
        resources_add(&n->ending, &m->asks);
        l->ending++;
    }
    if (m->leaving) {
        resources_add(&m->group->losing, &m->asks);
        resources_add(&m->group->queue->leaving, &m->asks);
    }
    if (n->ready) {
        resources_add(&l->used, &m->asks);
        resources_add(&m->group->held_ready, &m->asks);
    }
    resources_add(&m->group->held, &m->asks);
    resources_add(&m->group->queue->used, &m->asks);
    m->group->holding++;
    touch_queue(l, m->group->queue);
}

void ledger_release(struct ledger *l, struct member *m)
{
    struct node_room *n = m->node;

    if (!n)
        return;
    *m->at_node = m->next_on_node;
    if (m->next_on_node)
        m->next_on_node->at_node = m->at_node;
    m->node = NULL;
    if (m->at_repelling) {
        *m->at_repelling = m->next_repelling;
        if (m->next_repelling)
            m->next_repelling->at_repelling = m->at_repelling;
        m->at_repelling = NULL;
    }
    if (m->gpus.whole) {
        n->gpus_used = 0;
        for (const struct member *other = n->holders; other; other = other->next_on_node)
            n->gpus_used |= other->gpus.whole;
    }
    gpu_shares_use(&n->shares, m->gpus.shared, -m->asks.gpu_shares);
    m->gpus = (struct gpu_lease){0};
    resources_subtract(&n->used, &m->asks);
    resources_add(&n->beside, &m->asks);
    if (m->ending) {
        resources_subtract(&n->ending, &m->asks);
        l->ending--;
    }
    if (m->leaving) {
        resources_subtract(&m->group->losing, &m->asks);
        resources_subtract(&m->group->queue->leaving, &m->asks);
    }
    m->ending = m->leaving = false;
    if (n->ready) {
        resources_subtract(&l->used, &m->asks);
        resources_subtract(&m->group->held_ready, &m->asks);
    }
    resources_subtract(&m->group->held, &m->asks);
    resources_subtract(&m->group->queue->used, &m->asks);
    m->group->holding--;
    touch_queue(l, m->group->queue);
}

/* --- queues ----------------------------------------------------------------------------------- */

static struct queue_entry *queue_named(struct ledger *l, const char *name)
{
    struct queue_entry *q = map_gets(&l->queues, name);

    if (q)
        return q;
    q = heap_new(sizeof(*q));
    if (q)
        q->name = copy_text(l, name);
    if (!q || !q->name) {
        heap_free(q);
        l->broken = true;
        return NULL;
    }
    q->preemptible = true;
    q->exists = q->everybody = strcmp(name, DEFAULT_QUEUE) == 0; /* exists regardless of the API */
    put(l, &l->queues, name, q);
    return q;
}

static struct queue_entry *queue_said(struct ledger *l, const char *name)
{
    return queue_named(l, *name ? name : DEFAULT_QUEUE);
}

void ledger_queue(struct ledger *l, const struct json *queue, bool gone)
{
    const struct json *spec = json_get(queue, "spec");
    const struct json *quota = json_at(spec, "quota", "requests");
    struct queue_entry *q = queue_named(l, object_name(queue));

    int64_t generation = json_int(json_at(queue, "metadata", "generation"), 0);

    if (!q)
        return;
    if (q->exists && !gone && generation && generation == q->generation) {
        touch_queue(l, q); /* we write its status, but perhaps not this one last */
        return;
    }
    q->generation = generation;
    q->exists = q->everybody || (!gone && !object_is_deleting(queue));
    q->closed = json_get_bool(spec, "closed", false);
    q->on_some_nodes = json_len(json_get(spec, "nodeSelector")) > 0;
    q->preemptible = json_get_bool(spec, "preemptible", true);
    q->priority = (int)json_get_int(spec, "priority", 0);
    q->quota = resources_of(quota);
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        q->limited[i] = json_get(quota, resource_key(i));
    if (gone ||
        duration_parse_ms(json_get_string(spec, "maxDuration", "0"), &q->max_duration_ms) < 0)
        q->max_duration_ms = 0;
    q->ruled_at = ++l->rules;
    judge_line_anew(q);
    touch_queue(l, q);
}

void ledger_namespaces_changed(struct ledger *l)
{
    judge_all_anew(l);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void leave_line(struct ledger *l, struct group *g)
{
    if (!g->line_key)
        return;
    if (g->queue->passed == g)
        g->queue->passed = NULL;
    if (g->queue->to_judge == g)
        g->queue->to_judge = group_after(g);
    ledger_unreach(g);
    (void)map_removes(&g->queue->line, g->line_key);
    heap_free(g->line_key);
    g->line_key = NULL;
    l->waiting--;
    keep_ahead(l, g);
    touch_queue(l, g->queue);
}

struct group *group_after(const struct group *g)
{
    struct map_node *next = map_after(&g->queue->line, g->line_key, strlen(g->line_key));

    return next ? next->value : NULL;
}

static void enter_line(struct ledger *l, struct group *g)
{
    char key[700];

    (void)snprintf(key, sizeof(key), "%03d|%020lld|%020lld|%.599s", 100 - g->priority,
                   (long long)g->created_ms, (long long)g->sequence, g->key);
    g->line_key = copy_text(l, key);
    if (!g->line_key)
        return;
    put(l, &g->queue->line, key, g);
    l->waiting++;
    keep_ahead(l, g);
    touch_queue(l, g->queue);
}

static void leave_running(struct group *g)
{
    if (!g->at_running)
        return;
    g->queue->passed = NULL;
    g->queue->timed -= g->timed;
    *g->at_running = g->next_running;
    if (g->next_running)
        g->next_running->at_running = g->at_running;
    g->at_running = NULL;
}

static void enter_running(struct group *g)
{
    struct queue_entry *q = g->queue;

    q->passed = NULL;
    g->timed = !g->of_job && g->deadline_ms;
    q->timed += g->timed;
    g->next_running = q->running;
    g->at_running = &q->running;
    if (q->running)
        q->running->at_running = &g->next_running;
    q->running = g;
}

void ledger_set_phase(struct ledger *l, struct group *g, enum group_phase phase)
{
    if (g->phase == phase)
        return;
    if (g->phase)
        g->queue->in_phase[g->phase]--;
    if (phase)
        g->queue->in_phase[phase]++;
    g->phase = phase;
    touch_queue(l, g->queue);
}

static void count_pods(struct group *g, int sign)
{
    for (int i = 0; i <= POD_UNKNOWN; i++)
        g->queue->pods[i] += sign * g->pods[i];
}

/* --- groups and members ----------------------------------------------------------------------- */

#define GROUP_KEY_SIZE 600 /* namespace 253, name 253; a single pod has "//" */

static void write_key(char out[GROUP_KEY_SIZE], const char *ns, const char *name, bool lone)
{
    (void)snprintf(out, GROUP_KEY_SIZE, lone ? "%s//%s" : "%s/%s", ns, name);
}

struct group *ledger_find_group(const struct ledger *l, const char *ns, const char *name, bool lone)
{
    char key[GROUP_KEY_SIZE];

    write_key(key, ns, name, lone);
    return map_gets(&l->groups, key);
}

static struct group *group_keyed(struct ledger *l, const char *ns, const char *name, bool lone)
{
    struct group *g = ledger_find_group(l, ns, name, lone);
    char key[GROUP_KEY_SIZE];
    size_t size;

    if (g)
        return g;
    write_key(key, ns, name, lone);
    size = strlen(key) + 1;
    g = heap_new(sizeof(*g) + size);
    if (!g) {
        l->broken = true;
        return NULL;
    }
    memcpy(g->key, key, size);
    g->lone = lone;
    g->min_member = g->says.min_member = 1;
    g->wanted = -1;
    set_text(l, &g->ns, ns);
    set_text(l, &g->name, name);
    set_text(l, &g->word, lone ? "pod" : "group");
    set_text(l, &g->owner, name);
    g->queue = queue_named(l, DEFAULT_QUEUE);
    if (!g->ns || !g->name || !g->word || !g->owner || !g->queue)
        l->broken = true;
    put(l, &l->groups, key, g);
    if (g->queue)
        g->queue->groups++;
    return l->broken ? NULL : g;
}

int member_compare(const struct member *a, const struct member *b)
{
    size_t left = strlen(a->name), right = strlen(b->name);

    return left != right ? (left < right ? -1 : 1) : strcmp(a->name, b->name);
}

static void join(struct group *g, struct member *m)
{
    struct member **at = &g->first;

    while (*at && member_compare(*at, m) < 0)
        at = &(*at)->next;
    m->next = *at;
    m->at = at;
    if (m->next)
        m->next->at = &m->next;
    *at = m;
}

static struct member *member_named(struct ledger *l, struct group *g, const char *name)
{
    struct member *m = map_gets(&g->by_name, name);
    size_t size = strlen(name) + 1;

    if (m)
        return m;
    m = heap_new(sizeof(*m) + size);
    if (!m) {
        l->broken = true;
        return NULL;
    }
    memcpy(m->name, name, size);
    m->group = g;
    join(g, m);
    put(l, &g->by_name, name, m);
    return m;
}

static void member_free(struct ledger *l, struct member *m)
{
    struct group *g = m->group;

    ledger_release(l, m);
    *m->at = m->next;
    if (m->next)
        m->next->at = m->at;
    (void)map_removes(&g->by_name, m->name);
    heap_free(m);
}

static void set_owner(struct ledger *l, struct group *g, const struct json *object)
{
    const struct json *owner = object_controller(object);

    if (g->lone || (!owner && !g->exists)) /* a pod that was taken from its job does not tell */
        return;
    set_text(l, &g->word, owner ? "job" : "group");
    set_text(l, &g->owner, owner ? json_get_string(owner, "name", "") : g->name);
    set_text(l, &g->owner_kind, json_get_string(owner, "kind", ""));
    g->of_job = group_is_jobs(owner);
    set_text(l, &g->owner_uid, json_get_string(owner, "uid", ""));
}

/* A member's amounts must not change while it holds room. */
static void release_all(struct ledger *l, struct group *g)
{
    for (struct member *m = g->first; m; m = m->next)
        ledger_release(l, m);
}

/* A bound pod counts in the queue it was bound in, and its group with it, whatever becomes of the
 * PodGroup meanwhile. */
static void keep_queue(struct ledger *l, struct group *g)
{
    struct queue_entry *q = NULL;

    for (const struct member *m = g->first; m && !q; m = m->next)
        q = member_is_live(m) && m->bound ? m->queue : NULL;
    g->queue_known = q || g->says.queue;
    q = q ? q : g->says.queue;
    if (!q || q == g->queue)
        return;
    release_all(l, g);
    leave_line(l, g);
    leave_running(g);
    ledger_set_phase(l, g, GROUP_UNTOLD);
    count_pods(g, -1);
    memset(g->pods, 0, sizeof(g->pods));
    touch_queue(l, g->queue);
    touch_queue(l, q);
    g->queue->groups--;
    q->groups++;
    g->queue = q;
}

static int64_t sequence_of(const struct json *object)
{
    const char *given = object_annotation(object, ANNOTATION_SEQUENCE);

    return strtoll(given ? given : object_resource_version(object), NULL, 10);
}

static int64_t seconds_ms(int64_t seconds)
{
    return min_i64(max_i64(seconds, 0), LONGEST_SECONDS) * 1000;
}

static void read_roles(struct ledger *l, struct group *g, const struct json *spec)
{
    g->roles_len = 0;
    json_each (role, json_get(spec, "roles")) {
        if (g->roles_len == GROUP_ROLES_LIMIT)
            break;
        set_text(l, &g->roles[g->roles_len].name, json_get_string(role, "name", ""));
        g->roles[g->roles_len++].min = json_get_int(role, "minMember", 0);
    }
}

struct resources placement_requests(const struct json *placement)
{
    struct resources asks = resources_of(json_get(placement, "requests"));

    asks.pods = 1;
    return asks;
}

static void read_placement(struct ledger *l, struct group *g, const struct json *placement)
{
    struct node_room *n = node_named(l, json_get_string(placement, "node", ""));
    const struct json *gpus = json_first(json_get(placement, "gpus"));
    struct resources asks = placement_requests(placement);

    json_each (name, json_get(placement, "members")) {
        struct member *m = member_named(l, g, json_string(name, ""));

        if (m) {
            m->recorded = n;
            m->recorded_gpus = gpu_lease_read(json_string(gpus, ""), asks.gpu_shares);
            if (!m->has_pod)
                m->asks = asks;
        }
        gpus = gpus ? gpus->next : NULL;
    }
}

/* A group that waits again gets its time in a moment; until then no group has overtaken it. */
static int64_t waiting_since(const struct json *group)
{
    const struct json *status = json_get(group, "status");

    if (json_get(status, "waitingSince"))
        return object_time(status, "waitingSince");
    return *json_get_string(status, "phase", "") ? INT64_MAX : object_created_ms(group);
}

static void read_pod(struct ledger *l, struct member *m, const struct json *pod);

/* A pod of that name may still be stopping. Its successor is another member, under a name that no
 * pod can have. */
static void read_awaited(struct ledger *l, struct group *g, const struct json *awaited)
{
    json_each (name, json_get(awaited, "members")) {
        char key[GROUP_KEY_SIZE];
        struct member *m;

        (void)snprintf(key, sizeof(key), "%s/", json_string(name, ""));
        m = member_named(l, g, key);
        if (!m)
            return;
        read_pod(l, m, json_get(awaited, "pod"));
        m->has_pod = false;
        m->awaited = true;
    }
}

static bool names(const struct json *name, const struct member *m)
{
    size_t len = strlen(m->name) - 1;

    return strncmp(json_string(name, ""), m->name, len) == 0 && !json_string(name, "")[len];
}

const struct json *member_pod(const struct ledger *l, const struct member *m)
{
    const struct group *g = m->group;

    if (!m->awaited)
        return l->find(l->arg, &kind_pod, g->ns, m->name);
    json_each (awaited,
               json_at(l->find(l->arg, &kind_pod_group, g->ns, g->name), "status", "awaited"))
        json_each (name, json_get(awaited, "members"))
            if (names(name, m))
                return json_get(awaited, "pod");
    return NULL;
}

/* The server only counts what is given. */
static void read_preemption(struct ledger *l, struct group *g, const struct json *status)
{
    for (struct member *m = g->first; m; m = m->next)
        m->awaited = m->due = false;
    if (!g->preempted || l->keeps_all)
        return;
    json_each (awaited, json_get(status, "awaited"))
        read_awaited(l, g, awaited);
    set_text(l, &g->taken_by, json_get_string(status, "preemptedBy", ""));
    put(l, &l->stopping, g->key, g);
}

static void read_status(struct ledger *l, struct group *g, const struct json *group)
{
    const struct json *since = object_condition(group, "GroupScheduled");

    g->scheduled = object_condition_is(group, "GroupScheduled");
    g->preempted = !g->scheduled && object_condition_is(group, CONDITION_PREEMPTED);
    ledger_set_taking(
        l, g, !g->scheduled && !g->deleting && object_condition_is(group, CONDITION_PREEMPTING));
    g->waiting_ms = waiting_since(group);
    g->scheduled_ms = g->scheduled ? object_time(since, "lastTransitionTime") : 0;
    g->most = g->scheduled ? json_int(json_at(group, "status", "mostMembers"), 0) : 0;
    for (struct member *m = g->first; m; m = m->next)
        m->recorded = NULL;
    if (g->scheduled)
        json_each (placement, json_at(group, "status", "placements"))
            read_placement(l, g, placement);
    read_preemption(l, g, json_get(group, "status"));
    for (struct member *m = g->first; m; m = m->next)
        m->forgone = m->forgone && (m->recorded || m->awaited);
}

void ledger_group(struct ledger *l, const struct json *group, bool gone)
{
    const struct json *spec = json_get(group, "spec");
    struct group *g = group_keyed(l, object_namespace(group), object_name(group), false);

    if (!g)
        return;
    release_all(l, g);
    ledger_touch(l, g);
    g->judged_at = 0;
    g->exists = !gone;
    g->deleting = !gone && object_is_deleting(group);
    if (gone) {
        g->scheduled = g->preempted = false;
        g->wanted = -1;
        for (struct member *m = g->first; m; m = m->next) {
            m->recorded = NULL;
            m->awaited = m->due = m->forgone = false;
        }
        return;
    }
    set_owner(l, g, group);
    g->says.queue = queue_said(l, json_get_string(spec, "queue", ""));
    g->priority = (int)json_get_int(spec, "priority", 0);
    g->says.min_member = max_i64(json_get_int(spec, "minMember", 1), 1);
    g->wanted = json_get_int(spec, "members", -1);
    g->says.deadline_ms = seconds_ms(json_get_int(spec, "activeDeadlineSeconds", 0));
    g->created_ms = object_created_ms(group);
    g->sequence = g->sequence ? g->sequence : sequence_of(group);
    read_roles(l, g, spec);
    read_status(l, g, group);
}

static const char *const constraint_members[] = {"nodeSelector", "affinity", "tolerations",
                                                 "topologySpreadConstraints"};

/* Equal for pods that every node treats alike; also says whether some nodes treat it specially. */
static void read_shape(struct member *m, const struct json *spec)
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, (const char *)&m->asks, sizeof(m->asks));

    m->extended = pod_unoffered(spec, NULL, NULL, NULL);
    m->constrained = m->extended;
    for (size_t i = 0; i < ELEMS(constraint_members); i++) {
        const struct json *part = json_get(spec, constraint_members[i]);

        if (json_len(part) == 0)
            continue;
        m->constrained = true;
        hash = fnv1a_64(hash, constraint_members[i], strlen(constraint_members[i]));
        hash = hash_json(hash, part);
    }
    if (m->extended)
        json_each (c, json_get(spec, "containers"))
            hash = hash_json(hash, json_get(c, "resources"));
    m->shape = hash;
}

static enum pod_phase phase_of(const struct json *pod)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    const struct json *phase = json_at(pod, "status", "phase");

    for (int i = POD_PENDING; i <= POD_UNKNOWN; i++)
        if (json_string_is(phase, names[i]))
            return (enum pod_phase)i;
    return POD_PENDING;
}

static uint64_t hash_text(const char *text)
{
    return *text ? fnv1a_64(FNV1A_64_START, text, strlen(text)) : 0;
}

static int64_t noted(const struct json *pod, const char *annotation)
{
    const char *text = object_annotation(pod, annotation);

    return text ? max_i64(strtoll(text, NULL, 10), 0) : 0;
}

/* Elsewhere a user could name a system class or a DaemonSet to escape the queue's limits. */
static bool is_system_namespace(const char *ns)
{
    return strcmp(ns, LEADER_NAMESPACE) == 0 || strcmp(ns, QUEUE_NAMESPACE) == 0;
}

static void read_pod(struct ledger *l, struct member *m, const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec"), *meta = json_get(pod, "metadata");
    const char *node = json_get_string(spec, "nodeName", ""), *role, *gpus, *queue;

    m->asks = pod_requests(spec);
    read_shape(m, spec);
    m->repels = json_len(json_at(spec, "affinity", "podAntiAffinity",
                                 "requiredDuringSchedulingIgnoredDuringExecution")) > 0;
    m->has_pod = true;
    m->ours = is_ours(l, pod);
    m->deleting = object_is_deleting(pod);
    m->gone_ms = json_get_int(meta, "deletionGracePeriodSeconds", 0) > SOON_SECONDS
                     ? object_time(meta, "deletionTimestamp")
                     : 0;
    m->finished = pod_is_finished(pod);
    m->phase = phase_of(pod);
    m->priority = json_get_int(spec, "priority", 0);
    m->critical = is_system_namespace(object_namespace(pod)) &&
                  (m->priority >= SYSTEM_PRIORITY ||
                   json_string_is(json_get(object_controller(pod), "kind"), "DaemonSet"));
    m->yields = json_string_is(json_get(spec, "preemptionPolicy"), "Never");
    m->since_ms = object_time(json_get(pod, "status"), "startTime");
    m->grace_ms = seconds_ms(json_get_int(spec, "terminationGracePeriodSeconds", 0));
    m->owner = hash_text(json_get_string(object_controller(pod), "uid", ""));
    m->gang = noted(pod, ANNOTATION_GANG_SIZE);
    m->deadline_ms = seconds_ms(noted(pod, ANNOTATION_DEADLINE));
    m->bound = *node ? node_named(l, node) : NULL;
    queue = m->bound ? object_annotation(pod, ANNOTATION_BOUND_QUEUE) : NULL;
    m->queue = queue ? queue_said(l, queue) : NULL;
    gpus = object_annotation(pod, ANNOTATION_GPUS);
    m->bound_gpus = gpu_lease_read(m->bound && gpus ? gpus : "", m->asks.gpu_shares);
    role = object_label(pod, LABEL_GROUP_ROLE);
    m->role = NULL;
    for (size_t i = 0; i < m->group->roles_len && role; i++)
        if (strcmp(m->group->roles[i].name, role) == 0)
            m->role = m->group->roles[i].name;
}

static void read_lone(struct ledger *l, struct group *g, const struct json *pod)
{
    const char *queue = object_label(pod, LABEL_QUEUE);

    g->says.queue = queue_said(l, queue ? queue : "");
    g->created_ms = g->waiting_ms = object_created_ms(pod);
    g->sequence = g->sequence ? g->sequence : sequence_of(pod);
}

static const struct json_part parts_of_metadata[] = {
    {"name", NULL}, {"namespace", NULL}, {"labels", NULL}, {NULL, NULL}};
static const struct json_part parts_of_status[] = {{"phase", NULL}, {NULL, NULL}};

const struct json_part ledger_pod_parts[] = {
    {"metadata", parts_of_metadata}, {"status", parts_of_status}, {NULL, NULL}};

static const char *group_name_of(const struct json *pod, bool *ret_lone)
{
    const char *name = object_label(pod, LABEL_GROUP_NAME);

    *ret_lone = !name || !*name;
    return *ret_lone ? object_name(pod) : name;
}

bool ledger_ignores_pod(const struct ledger *l, const struct json *pod)
{
    bool lone;
    const char *group = group_name_of(pod, &lone);

    return pod_is_finished(pod) && !ledger_find_group(l, object_namespace(pod), group, lone);
}

void ledger_pod(struct ledger *l, const struct json *pod, bool gone)
{
    bool lone;
    const char *ns = object_namespace(pod), *group = group_name_of(pod, &lone);
    struct group *g = ledger_find_group(l, ns, group, lone);
    struct member *m;

    if (!g && (gone || pod_is_finished(pod)))
        return; /* most pods of a restart are such changes: nothing to recount */
    g = g ? g : group_keyed(l, ns, group, lone);
    m = g ? member_named(l, g, object_name(pod)) : NULL;
    if (!m)
        return;
    ledger_touch(l, g);
    ledger_release(l, m);
    g->judged_at = 0;
    if (gone) {
        m->has_pod = m->deleting = m->finished = false;
        m->bound = NULL;
        return;
    }
    read_pod(l, m, pod);
    if (lone)
        read_lone(l, g, pod);
    else if (!g->exists)
        set_owner(l, g, pod);
}

/* --- settling --------------------------------------------------------------------------------- */

bool member_is_live(const struct member *m)
{
    return m->has_pod && !m->finished;
}

static bool is_waiting(const struct member *m)
{
    return member_is_live(m) && !m->bound && !m->deleting && m->ours && !m->stray;
}

bool member_is_unplaced(const struct member *m)
{
    return (is_waiting(m) || m->due) && !m->node;
}

/* Its bound members that are about to go: all of them if it is preempted. */
static int64_t leaving(const struct group *g)
{
    return g->preempted ? g->bound : g->leaving;
}

int64_t group_there(const struct group *g)
{
    return g->bound + g->to_bind - (g->started ? 0 : leaving(g));
}

bool group_lacks_role(const struct group *g, const struct group_role **ret_role, int64_t *ret_there)
{
    for (size_t i = 0; i < g->roles_len; i++) {
        int64_t there = 0;

        for (const struct member *m = g->first; m; m = m->next)
            there += m->role == g->roles[i].name && ((member_is_live(m) && !m->deleting) || m->due);
        if (there >= g->roles[i].min)
            continue;
        *ret_role = &g->roles[i];
        *ret_there = there;
        return true;
    }
    return false;
}

int64_t group_required(const struct group *g)
{
    return min_i64(g->unplaced, max_i64(g->min_member - group_there(g), 0));
}

struct resources group_asks(const struct group *g, int64_t members)
{
    struct resources sum = {0};

    for (const struct member *m = g->first; m && members > 0; m = m->next)
        if (member_is_unplaced(m)) {
            resources_add(&sum, &m->asks);
            members--;
        }
    return sum;
}

struct resources group_held_on(const struct group *g, const struct node_room *n)
{
    struct resources sum = {0};

    for (const struct member *m = g->holding > 0 ? g->first : NULL; m; m = m->next)
        if (m->node == n && !m->ending)
            resources_add(&sum, &m->asks);
    return sum;
}

/* What its job has noted on its pods overrides its PodGroup, which its user may edit at any time:
 * no fewer pods start together, as long as that many exist or are wanted, and they run no shorter.
 * Its job stops it in time; without a job the scheduler does. */
static void heed_job(struct group *g)
{
    int64_t live = 0, gang = 0, least = INT64_MAX, most = g->says.deadline_ms;
    bool any = false, critical = true;
    uint64_t owner = g->of_job ? hash_text(g->owner_uid) : 0;

    g->grace_ms = 0;
    for (struct member *m = g->first; m; m = m->next) {
        m->stray = m->has_pod && owner && m->owner != owner;
        any = any || m->has_pod;
        critical = critical && (m->critical || !m->has_pod);
        if (!member_is_live(m) || (m->stray && !m->bound))
            continue;
        g->grace_ms = max_i64(g->grace_ms, m->grace_ms);
        least = m->stray ? 0 : min_i64(least, m->deadline_ms);
        most = max_i64(most, m->deadline_ms);
        live += !m->deleting;
        gang = m->deleting ? gang : max_i64(gang, m->gang);
    }
    if (any) /* otherwise its next pods will be as the last were */
        g->unlimited = critical;
    if (!g->of_job)
        g->deadline_ms = g->says.deadline_ms;
    else
        g->deadline_ms = g->says.deadline_ms && least && least < INT64_MAX ? most : 0;
    g->min_member = max_i64(g->says.min_member, min_i64(gang, max_i64(g->wanted, live)));
}

/* Removes it from everything that counts it; its pods take their room again. */
static void unsettle(struct ledger *l, struct group *g)
{
    keep_queue(l, g);
    touch_queue(l, g->queue);
    leave_line(l, g);
    leave_running(g);
    count_pods(g, -1);
    release_all(l, g);
    g->held_ready = (struct resources){0}; /* a node may have appeared or gone */
    memset(g->pods, 0, sizeof(g->pods));
    g->bound = g->leaving = 0;
    for (struct member *m = g->first, *next; m; m = next) {
        next = m->next;
        if (!m->has_pod && !m->recorded && !m->awaited) {
            member_free(l, m);
            continue;
        }
        if (m->has_pod)
            g->pods[m->phase]++;
        if (!member_is_live(m) || !m->bound)
            continue;
        ledger_hold(l, m, m->bound, m->bound_gpus);
        g->bound++;
        g->leaving += m->deleting;
    }
    heed_job(g);
    count_pods(g, 1);
}

bool node_lacks(const struct ledger *l, const struct node_room *n, const struct resources *asks,
                const struct resources *beside, enum resource *ret)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (ledger_counts(l, i) && asks->amount[i] > 0 &&
            (__int128)asks->amount[i] + n->used.amount[i] + beside->amount[i] >
                n->total.amount[i]) {
            *ret = i;
            return true;
        }
    return false;
}

bool queue_lacks(const struct queue_entry *q, const struct resources *asks,
                 const struct resources *beside, enum resource *ret)
{
    for (enum resource i = 0; i < RESOURCE_COUNT; i++)
        if (q->limited[i] && asks->amount[i] > 0 &&
            (__int128)asks->amount[i] + q->used.amount[i] + beside->amount[i] >
                q->quota.amount[i]) {
            *ret = i;
            return true;
        }
    return false;
}

static bool fits_now(const struct ledger *l, const struct node_room *n, const struct member *m)
{
    static const struct resources nothing;
    enum resource which;

    return !node_lacks(l, n, &m->asks, &nothing, &which) &&
           node_barred_gpus(n, m->recorded_gpus, m->asks.gpu_shares) == 0;
}

/* Which members without a bound pod keep the place recorded for them: first those whose pod waits
 * for it, then those to be created, then those that have ended and may return. */
static int keeping_rank(const struct member *m)
{
    if (!m->recorded || !m->recorded->ready || m->forgone || (member_is_live(m) && !is_waiting(m)))
        return -1;
    if (!m->group->of_job && m->has_pod && m->phase == POD_SUCCEEDED)
        return -1; /* a job counts it as done itself */
    if (is_waiting(m))
        return 0;
    if (!m->has_pod)
        return 1;
    return m->phase == POD_FAILED ? 2 : 3;
}

/* Those of a preempted group first have to stop. */
bool member_is_vacant(const struct member *m)
{
    const struct group *g = m->group;

    if (g->of_job || g->lone)
        return false;
    return m->due ? g->bound == 0 : m->node && !member_is_live(m);
}

void ledger_forgo(struct ledger *l, struct member *m)
{
    m->forgone = true;
    ledger_touch(l, m->group);
}

bool group_is_recorded(const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (m->recorded)
            return true;
    return false;
}

int64_t group_whole(const struct group *g)
{
    return g->wanted >= 0 ? min_i64(g->min_member, g->wanted) : g->min_member;
}

/* A group without remaining pods keeps all it needs or gives up everything: a part would only keep
 * others out. Its new pods may not exist yet. */
static bool has_lapsed(const struct group *g)
{
    int64_t kept = 0;

    if (g->bound > g->leaving || (g->lone && g->bound > 0))
        return false;
    for (const struct member *m = g->first; m; m = m->next)
        kept += m->node && m->recorded;
    return kept < group_whole(g);
}

static void keep_recorded(struct ledger *l, struct group *g)
{
    int64_t left = g->wanted >= 0 ? g->wanted - g->bound : INT64_MAX;
    int last = g->wanted >= 0 ? 3 : 0;

    for (int rank = 0; rank <= last && g->scheduled && !g->deleting; rank++) {
        if (rank == 1) /* existing pods take precedence over those that may return */
            for (const struct member *m = g->first; m; m = m->next)
                left -= member_is_unplaced(m);
        for (struct member *m = g->first; m && left > 0; m = m->next)
            if (!m->node && keeping_rank(m) == rank && fits_now(l, m->recorded, m)) {
                ledger_hold(l, m, m->recorded, m->recorded_gpus);
                left--;
            }
    }
    g->lapsed = has_lapsed(g);
    for (struct member *m = g->first; m; m = m->next)
        if (l->keeps_all && !g->deleting && !m->node && m->recorded && fits_now(l, m->recorded, m))
            ledger_hold(l, m, m->recorded, m->recorded_gpus);
        else if (!l->keeps_all && g->lapsed && !m->bound)
            ledger_release(l, m);
}

/* Groups with running pods first: the room next to those is theirs. */
static void keep_all_recorded(struct ledger *l)
{
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        if (g->bound > 0)
            keep_recorded(l, g);
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        if (g->bound == 0)
            keep_recorded(l, g);
}

/* Its pod exists again. */
static bool is_replaced(const struct group *g, const struct member *m)
{
    const struct member *pod = map_get(&g->by_name, m->name, strlen(m->name) - 1);

    return pod && is_waiting(pod);
}

/* Which members its owner has yet to create. If it has given up those, it waits like any group that
 * lacks pods. */
static void find_due(struct group *g)
{
    int64_t left = g->preempted && !g->deleting ? max_i64(g->wanted, 0) : 0;
    bool forgone = false;

    g->due = 0;
    for (const struct member *m = g->first; m; m = m->next)
        left -= is_waiting(m);
    for (struct member *m = g->first; m; m = m->next) {
        m->due = m->awaited && left > 0 && !is_replaced(g, m);
        left -= m->due;
        forgone = forgone || (m->due && m->forgone);
        m->due = m->due && !m->forgone;
        g->due += m->due;
    }
    g->preempted = g->preempted && (!forgone || g->due > 0 || g->bound > 0);
}

static void find_vacant(struct ledger *l, struct group *g)
{
    bool vacant = !g->of_job && !g->lone && g->holding > 0 && g->bound == 0;

    for (struct member *m = g->first; m; m = m->next) {
        bool is_vacant = member_is_vacant(m);

        m->vacant_ms = is_vacant ? m->vacant_ms : 0;
        vacant = vacant || is_vacant;
    }
    if (vacant)
        put(l, &l->vacant, g->key, g);
    else
        (void)map_removes(&l->vacant, g->key);
}

/* Some of its pods run and are not being stopped yet. */
static bool still_runs(const struct group *g)
{
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_live(m) && m->bound && !m->deleting)
            return true;
    return false;
}

static void settle(struct ledger *l, struct group *g)
{
    g->unplaced = g->to_bind = 0;
    find_due(g);
    if (!g->preempted || !still_runs(g))
        (void)map_removes(&l->stopping, g->key);
    for (const struct member *m = g->first; m; m = m->next) {
        g->unplaced += member_is_unplaced(m);
        g->to_bind += is_waiting(m) && m->node;
    }
    if (g->deleting)
        g->unplaced = 0;
    if (g->wanted >= 0) /* the others are about to be deleted */
        g->unplaced = min_i64(g->unplaced, max_i64(g->wanted + leaving(g) - g->holding, 0));
    g->started = g->holding > 0 && !g->preempted && !g->lapsed;
    g->most = g->started ? max_i64(g->most, g->holding) : 0;
    find_vacant(l, g);
    if (g->holding > 0)
        enter_running(g);
    if (g->unplaced > 0)
        enter_line(l, g);
    else
        g->first_ms = 0;
}

static void forgive(struct ledger *l, struct group *g)
{
    if (g->refusals == 0)
        return;
    g->refusals = 0;
    g->rests = false;
    (void)map_removes(&l->refused, g->key);
}

static void group_free(struct ledger *l, struct group *g)
{
    ledger_pay(g);
    forgive(l, g);
    (void)map_removes(&l->stopping, g->key);
    (void)map_removes(&l->vacant, g->key);
    while (g->first)
        member_free(l, g->first);
    (void)map_removes(&l->groups, g->key);
    if (g->queue)
        g->queue->groups--;
    for (size_t i = 0; i < GROUP_ROLES_LIMIT; i++)
        heap_free(g->roles[i].name);
    map_release(&g->by_name, NULL);
    heap_free(g->ns);
    heap_free(g->name);
    heap_free(g->word);
    heap_free(g->owner);
    heap_free(g->owner_kind);
    heap_free(g->owner_uid);
    heap_free(g->taken_by);
    heap_free(g->line_key);
    heap_free(g->claim);
    heap_free(g);
}

/* When a group is gone only its running pods count. */
static bool is_over(const struct group *g)
{
    if (g->exists)
        return false;
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_live(m))
            return false;
    return true;
}

static void drop_over(struct ledger *l, struct group **at)
{
    while (*at) {
        struct group *g = *at;

        if (!is_over(g)) {
            at = &g->next_dirty;
            continue;
        }
        *at = g->next_dirty;
        touch_queue(l, g->queue);
        leave_line(l, g);
        leave_running(g);
        ledger_set_phase(l, g, GROUP_UNTOLD);
        count_pods(g, -1);
        group_free(l, g);
    }
}

/* It will not run any more, or not for now. */
static bool has_left(const struct group *g)
{
    if (!g || (!g->lone && !g->exists) || g->deleting || g->wanted == 0)
        return true;
    if (g->wanted > 0 && g->of_job)
        return false;
    for (const struct member *m = g->first; m; m = m->next)
        if (member_is_live(m))
            return false;
    return true;
}

/* A preempted group keeps what still runs of it when the group it made room for is gone. It had
 * started, so it was complete. */
static void call_off(struct ledger *l)
{
    map_for_each (node, &l->stopping) {
        struct group *g = node->value;

        if (!g->preempted || !*g->taken_by || !has_left(map_gets(&l->groups, g->taken_by)) ||
            !still_runs(g))
            continue;
        g->preempted = false;
        g->most = g->min_member;
        g->judged_at = 0;
        ledger_touch(l, g);
    }
}

void ledger_settle(struct ledger *l)
{
    if (l->nodes_changed)
        list_ready(l);
    drop_over(l, &l->dirty);
    call_off(l);
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        unsettle(l, g);
    keep_all_recorded(l);
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        settle(l, g);
}

void ledger_rest(struct ledger *l)
{
    ledger_settle(l);
    for (struct group *g = l->dirty; g; g = g->next_dirty)
        g->dirty = false;
    l->dirty = NULL;
}

void ledger_undone(struct ledger *l)
{
    for (struct group *g = l->looked; g; g = g->next_looked)
        ledger_touch(l, g);
    l->looked = NULL;
    l->told_ms = 0; /* the updates may have been cut short */
    map_for_each (node, &l->queues)
        touch_queue(l, node->value);
}

void ledger_done(struct ledger *l)
{
    for (struct group *g = l->looked; g; g = g->next_looked)
        forgive(l, g);
}

int64_t ledger_refused(struct ledger *l, const char *key, int64_t now_ms)
{
    struct group *g = map_gets(&l->groups, key);
    int64_t pause_ms = 0;

    if (!g || g->refused_at == l->walks)
        return 0;
    g->refused_at = l->walks;
    put(l, &l->refused, g->key, g);
    if (g->refusals >= REFUSALS_FORGIVEN)
        pause_ms = min_i64(FIRST_PAUSE_MS << min_i64(g->refusals - REFUSALS_FORGIVEN, 30),
                           LONGEST_PAUSE_MS);
    g->refusals++;
    g->rests_until_ms = now_ms + pause_ms;
    return pause_ms;
}

int64_t ledger_rouse(struct ledger *l, int64_t now_ms)
{
    int64_t next = 0;

    map_for_each (node, &l->refused) {
        struct group *g = node->value;
        int64_t left = g->rests_until_ms - now_ms;

        g->rests = left > 0 && left <= LONGEST_PAUSE_MS; /* the clock may be set back */
        if (!g->rests)
            ledger_touch(l, g);
        else if (next == 0 || g->rests_until_ms < next)
            next = g->rests_until_ms;
    }
    return next;
}

/* --- life ------------------------------------------------------------------------------------- */

struct ledger *ledger_new(ledger_find_fn *find, void *arg, bool overcommit)
{
    struct ledger *l = heap_new(sizeof(*l));

    if (!l)
        return NULL;
    l->find = find;
    l->arg = arg;
    l->overcommit = overcommit;
    l->may_preempt = true;
    l->dirty_queues_end = &l->dirty_queues;
    l->rules = 1;
    l->depth = DEPTH_LIMIT;
    return l;
}

static void node_free(void *value)
{
    struct node_room *n = value;

    heap_free(n->name);
    heap_free(n);
}

static void queue_free_entry(void *value)
{
    struct queue_entry *q = value;

    map_release(&q->line, NULL);
    heap_free(q->name);
    heap_free(q);
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    while (map_first(&l->groups)) {
        struct group *g = map_first(&l->groups)->value;

        leave_line(l, g);
        leave_running(g);
        group_free(l, g);
    }
    map_release(&l->groups, NULL);
    map_release(&l->ahead, NULL);
    map_release(&l->stopping, NULL);
    map_release(&l->vacant, NULL);
    map_release(&l->refused, NULL);
    map_release(&l->nodes, node_free);
    map_release(&l->queues, queue_free_entry);
    heap_free(l->ready);
    heap_free(l);
}

void ledger_configure(struct ledger *l, const struct scheduler_config *config)
{
    l->may_preempt = config->preempts;
    l->spread = config->spreads;
    judge_all_anew(l);
}
