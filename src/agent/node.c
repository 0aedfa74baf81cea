/*
 * node.c - see node.h. Creates the Node (or patches our part of an existing one), then writes its
 * status; the status is renewed every few minutes, and after an error everything is repeated. So
 * heartbeats rarely wake watchers of nodes. A node in a process of its own also renews a Lease,
 * like a kubelet, so that its silence is noticed. A node in the server's process cannot fall silent
 * alone.
 */
#include "agent/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/quantity.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "client/cache.h"
#include "client/client.h"
#include "core/resources.h"

#define HEARTBEAT_MS                                                                               \
    (2 * 60 * 1000) /* without a Lease, the node is lost after five silent minutes */
#define LEASE_SECONDS 40
#define LEASE_RENEW_MS 10000
#define RETRY_FIRST_MS 200
#define MEND_MS 1000 /* two writers must not fight faster than that */
#define RETRY_LAST_MS 30000
#define NODE_ARENA_LIMIT_BYTES (1024u * 1024u)
#define PODS_LIMIT 500
#define VERSION "v1.32.0+muster"

struct node_keeper {
    struct node_options o;
    char *query;
    struct cache *self; /* to notice its deletion */
    struct clock_timer *timer, *lease_timer;
    char *uid; /* of the Node, which owns the Lease */
    int64_t retry_ms;
    bool exists;
};

static void begin(void *arg);
static void renew_lease(void *arg);

static const struct {
    const char *type, *status, *reason, *message;
} node_conditions[] = {
    {"MemoryPressure", "False", "MusterHasSufficientMemory", "not measured"},
    {"DiskPressure", "False", "MusterHasNoDiskPressure", "not measured"},
    {"PIDPressure", "False", "MusterHasSufficientPID", "not measured"},
    {"Ready", "True", "MusterReady", "muster runs pods on this machine"},
};

/* Without spec and status. */
static struct json *make_object(struct arena *a, const struct node_options *o)
{
    struct json *v = json_new_object(a), *meta, *labels, *annotations;

    json_set_string(a, v, "apiVersion", "v1");
    json_set_string(a, v, "kind", "Node");
    meta = json_make_object(a, v, "metadata");
    json_set_string(a, meta, "name", o->name);
    labels = json_make_object(a, meta, "labels");
    json_each (label, o->labels)
        json_set_string(a, labels, label->key, json_string(label, ""));
    json_set_string(a, labels, "kubernetes.io/hostname", o->name);
    json_set_string(a, labels, "kubernetes.io/os", "linux");
    json_set_string(a, labels, "kubernetes.io/arch", o->machine->arch);
    if (o->machine->gpu_product[0]) {
        json_set_string(a, labels, "nvidia.com/gpu.product", o->machine->gpu_product);
        json_set_stringf(a, labels, "nvidia.com/gpu.count", "%" PRId64,
                         gpu_set_count(o->machine->gpu_set | o->machine->shared_set));
        json_set_stringf(a, labels, "nvidia.com/gpu.memory", "%" PRId64,
                         o->machine->gpu_memory_mib);
    }
    annotations = json_make_object(a, meta, "annotations");
    if (o->door_port)
        json_set_string(a, annotations, ANNOTATION_NODE_CA, o->door_ca_pem);
    if (o->machine->gpus > 0) {
        json_set_string(a, annotations, ANNOTATION_GPUS, gpu_set_text(a, o->machine->gpu_set));
        json_set_string(a, annotations, ANNOTATION_SHARED_GPUS,
                        gpu_set_text(a, o->machine->shared_set));
    }
    if (o->machine->links.len > 0)
        json_set_string(a, annotations, ANNOTATION_GPU_LINKS,
                        gpu_links_text(a, &o->machine->links));
    return v;
}

static struct json *resources(struct arena *a, const struct machine *m)
{
    struct json *v = json_new_object(a);
    char cpu[QUANTITY_TEXT_SIZE];

    json_set_string(a, v, "cpu", quantity_format_milli(m->cpu_milli, cpu));
    json_set_stringf(a, v, "memory", "%" PRId64 "Ki", m->memory_bytes / 1024);
    json_set_stringf(a, v, "pods", "%d", PODS_LIMIT);
    json_set_stringf(a, v, "nvidia.com/gpu", "%" PRId64, gpu_set_count(m->gpu_set));
    /* Null removes what an earlier start offered. */
    (void)json_set(a, v, resource_key(RESOURCE_GPU_SHARE), json_new_null(a));
    if (m->gpu_shares > 0)
        json_set_stringf(a, v, resource_key(RESOURCE_GPU_SHARE), "%" PRId64,
                         gpu_set_count(m->shared_set) * m->gpu_shares);
    return v;
}

static struct json *node_info(struct arena *a, const struct machine *m)
{
    struct json *v = json_new_object(a);

    json_set_string(a, v, "machineID", m->machine_id);
    json_set_string(a, v, "systemUUID", m->machine_id);
    json_set_string(a, v, "bootID", m->boot_id);
    json_set_string(a, v, "kernelVersion", m->kernel);
    json_set_string(a, v, "osImage", m->os_image);
    json_set_string(a, v, "containerRuntimeVersion", "process://1.0");
    json_set_string(a, v, "kubeletVersion", VERSION);
    json_set_string(a, v, "kubeProxyVersion", "");
    json_set_string(a, v, "operatingSystem", "linux");
    json_set_string(a, v, "architecture", m->arch);
    return v;
}

static struct json *addresses(struct arena *a, const struct node_options *o)
{
    const struct {
        const char *type, *address;
    } list[] = {{"InternalIP", o->door_port ? o->door_host : "127.0.0.1"},
                {"Hostname", o->machine->host_name}};
    struct json *v = json_new_array(a);

    for (size_t i = 0; i < ELEMS(list); i++) {
        struct json *item = json_append(v, json_new_object(a));

        json_set_string(a, item, "type", list[i].type);
        json_set_string(a, item, "address", list[i].address);
    }
    return v;
}

static struct json *conditions(struct arena *a, int64_t now_ms)
{
    struct json *v = json_new_array(a);
    char now[TIME_TEXT_SIZE];

    (void)time_format(now_ms, now);
    for (size_t i = 0; i < ELEMS(node_conditions); i++) {
        struct json *c = json_append(v, json_new_object(a));

        json_set_string(a, c, "type", node_conditions[i].type);
        json_set_string(a, c, "status", node_conditions[i].status);
        json_set_string(a, c, "reason", node_conditions[i].reason);
        json_set_string(a, c, "message", node_conditions[i].message);
        json_set_string(a, c, "lastHeartbeatTime", now);
        json_set_string(a, c, "lastTransitionTime", now);
    }
    return v;
}

static struct json *make_status_patch(struct arena *a, const struct node_options *o, int64_t now_ms)
{
    struct json *v = json_new_object(a), *status = json_make_object(a, v, "status");

    (void)json_set(a, status, "capacity", resources(a, o->machine));
    (void)json_set(a, status, "allocatable", resources(a, o->machine));
    (void)json_set(a, status, "nodeInfo", node_info(a, o->machine));
    (void)json_set(a, status, "addresses", addresses(a, o));
    if (o->door_port)
        json_set_int(
            a,
            json_make_object(a, json_make_object(a, status, "daemonEndpoints"), "kubeletEndpoint"),
            "Port", o->door_port);
    (void)json_set(a, status, "conditions", conditions(a, now_ms));
    return v;
}

/* --- its Lease --- */

static void renew_lease_after(struct node_keeper *n, int64_t delay_ms)
{
    clock_stop(n->o.clock, n->lease_timer);
    n->lease_timer = clock_start(n->o.clock, delay_ms, renew_lease, n);
}

static void on_lease_created(void *arg, const struct json *object, const struct err *err)
{
    struct node_keeper *n = arg;

    (void)object;
    if (err && err->reason != ERR_NOT_FOUND)
        log_warn("lease of node %s: %s", n->o.name, err->text);
    renew_lease_after(n, err && err->reason == ERR_NOT_FOUND ? HEARTBEAT_MS : LEASE_RENEW_MS);
}

static struct json *make_lease(struct arena *a, const struct node_keeper *n, bool whole)
{
    struct json *v = json_new_object(a), *meta, *owner, *spec;
    char now[TIME_TEXT_SIZE];

    if (whole) {
        json_set_string(a, v, "apiVersion", kind_api_version(a, &kind_lease));
        json_set_string(a, v, "kind", kind_lease.name);
        meta = json_make_object(a, v, "metadata");
        json_set_string(a, meta, "name", n->o.name);
        json_set_string(a, meta, "namespace", NODE_LEASES);
        owner = json_append(json_make_array(a, meta, "ownerReferences"), json_new_object(a));
        json_set_string(a, owner, "apiVersion", "v1");
        json_set_string(a, owner, "kind", "Node");
        json_set_string(a, owner, "name", n->o.name);
        json_set_string(a, owner, "uid", n->uid);
    }
    spec = json_make_object(a, v, "spec");
    json_set_string(a, spec, "holderIdentity", n->o.name);
    json_set_int(a, spec, "leaseDurationSeconds", LEASE_SECONDS);
    json_set_string(a, spec, "renewTime", time_format_micro(clock_now_ms(n->o.clock), now));
    return v;
}

static void on_lease(void *arg, const struct json *object, const struct err *err)
{
    struct node_keeper *n = arg;
    struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);

    (void)object;
    if (err && err->reason == ERR_NOT_FOUND) {
        client_create(n->o.transport, &kind_lease, make_lease(&a, n, true), on_lease_created, n);
    } else {
        if (err)
            log_warn("lease of node %s: %s", n->o.name, err->text);
        renew_lease_after(n, LEASE_RENEW_MS);
    }
    arena_release(&a);
}

static void renew_lease(void *arg)
{
    struct node_keeper *n = arg;
    struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);

    n->lease_timer = NULL;
    client_patch(n->o.transport, &kind_lease, NODE_LEASES, n->o.name, "", make_lease(&a, n, false),
                 on_lease, n);
    arena_release(&a);
}

/* The first heartbeat; when the Node is recreated, the Lease belongs to the old one and is deleted
 * with it. */
static void note_uid(struct node_keeper *n, const char *uid)
{
    bool first = !n->uid;

    if (!first && strcmp(n->uid, uid) == 0)
        return;
    free(n->uid);
    n->uid = strdup(uid);
    if (first && n->uid && n->o.door_port)
        renew_lease(n);
}

/* --- the Node --- */

static void again_after(struct node_keeper *n, int64_t delay_ms)
{
    clock_stop(n->o.clock, n->timer);
    n->timer = clock_start(n->o.clock, delay_ms, begin, n);
}

static void retry(struct node_keeper *n, const struct err *err)
{
    log_warn("node %s: %s", n->o.name, err->text);
    n->exists = false;
    again_after(n, n->retry_ms);
    n->retry_ms = min_i64(n->retry_ms * 2, RETRY_LAST_MS);
}

static void on_status(void *arg, const struct json *object, const struct err *err)
{
    struct node_keeper *n = arg;

    (void)object;
    if (err) {
        retry(n, err);
        return;
    }
    n->retry_ms = RETRY_FIRST_MS;
    again_after(n, HEARTBEAT_MS);
}

static void send_status(struct node_keeper *n)
{
    struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);

    client_patch(n->o.transport, &kind_node, NULL, n->o.name, "status",
                 make_status_patch(&a, &n->o, clock_now_ms(n->o.clock)), on_status, n);
    arena_release(&a);
}

static void on_patched(void *arg, const struct json *object, const struct err *err)
{
    struct node_keeper *n = arg;

    if (err) {
        retry(n, err);
        return;
    }
    n->exists = true;
    note_uid(n, object_uid(object));
    send_status(n);
}

static void on_created(void *arg, const struct json *object, const struct err *err)
{
    struct node_keeper *n = arg;

    if (err && err->reason == ERR_ALREADY_EXISTS) {
        struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);

        client_patch(n->o.transport, &kind_node, NULL, n->o.name, "", make_object(&a, &n->o),
                     on_patched, n);
        arena_release(&a);
        return;
    }
    on_patched(arg, object, err);
}

static void begin(void *arg)
{
    struct node_keeper *n = arg;
    struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);

    n->timer = NULL;
    if (n->exists) {
        send_status(n);
    } else {
        struct json *node = make_object(&a, &n->o);

        if (n->o.taints)
            (void)json_set(&a, json_make_object(&a, node, "spec"), "taints",
                           json_clone(&a, n->o.taints));
        client_create(n->o.transport, &kind_node, node, on_created, n);
    }
    arena_release(&a);
}

/* The machine still exists, and otherwise its pods would be given up. */
static void make_again(struct node_keeper *n)
{
    n->exists = false;
    again_after(n, 0);
}

/* Whether its annotations are right: its endpoint's CA, and its GPUs. */
static bool says_what_is(const struct node_keeper *n, const struct json *node)
{
    struct arena a = ARENA_INIT(NODE_ARENA_LIMIT_BYTES);
    const struct json *ours = make_object(&a, &n->o);
    bool right = true;

    json_each (v, json_at(ours, "metadata", "annotations"))
        right = right && json_equal(v, json_at(node, "metadata", "annotations", v->key));
    arena_release(&a);
    return right;
}

/* A cluster sets Unknown for a node it has not heard from, and only the node itself changes it
 * back. */
static bool is_ready_or_new(const struct json *node)
{
    const struct json *ready = object_condition(node, "Ready");

    return !ready || json_string_is(json_get(ready, "status"), "True");
}

static void on_node(void *arg, enum cache_event event, const struct json *node,
                    const struct json *old)
{
    struct node_keeper *n = arg;

    (void)old;
    if (strcmp(object_name(node), n->o.name) != 0)
        return;
    if (event == CACHE_DELETED) {
        make_again(n);
    } else if (n->exists && !says_what_is(n, node)) {
        log_warn("node %s: another client changed its annotations; they are set again", n->o.name);
        n->exists = false;
        again_after(n, MEND_MS);
    } else if (n->exists && !is_ready_or_new(node)) {
        again_after(n, MEND_MS);
    }
}

static void on_nodes_synced(void *arg)
{
    struct node_keeper *n = arg;
    bool waits = n->timer && !n->exists; /* for a server that answers again */

    if (waits || (n->exists && !cache_get(n->self, NULL, n->o.name)))
        make_again(n);
}

struct node_keeper *node_keeper_new(const struct node_options *options)
{
    struct node_keeper *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->o = *options;
    n->retry_ms = RETRY_FIRST_MS;
    begin(n);
    if (asprintf(&n->query, "fieldSelector=metadata.name%%3D%s", n->o.name) < 0)
        n->query = NULL;
    else
        n->self = cache_new(&(struct cache_options){.transport = n->o.transport,
                                                    .clock = n->o.clock,
                                                    .kind = &kind_node,
                                                    .query = n->query,
                                                    .on_change = on_node,
                                                    .on_synced = on_nodes_synced,
                                                    .arg = n});
    if (n->self)
        return n;
    node_keeper_free(n);
    return NULL;
}

void node_keeper_free(struct node_keeper *n)
{
    if (!n)
        return;
    client_forget(n);
    cache_free(n->self);
    clock_stop(n->o.clock, n->timer);
    clock_stop(n->o.clock, n->lease_timer);
    free(n->uid);
    free(n->query);
    free(n);
}
