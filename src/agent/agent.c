/*
 * agent.c - see agent.h. Joins the parts: reports of caches and runtime become keys in a queue, and
 * each key is processed from scratch (pod_work.c). It decides nothing itself.
 */
#include "agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/disk_limits.h"
#include "agent/ephemeral.h"
#include "agent/newer.h"
#include "agent/samples.h"
#include "agent/scratch.h"
#include "api/object.h"
#include "base/log.h"
#include "client/client.h"
#include "core/resources.h"
#include "loop/file.h"
#include "runtime/podfolder.h"
#include "runtime/process.h"

#define AGAIN_MS 1000
#define PODS_IN_WORK 256
#define READY_PODS 256 /* kept parsed; most have ended */
#define READY_SERVICES 256
/* Pods gone from the API that are processed per turn of the loop. */
#define DEPARTED_AT_ONCE 32
#define THIS_PROGRAM "/proc/self/exe" /* also valid after the file was replaced */

/* --- keys --- */

static struct pod_work *work_new(struct agent *a, const char *ns, const char *name, const char *uid)
{
    struct pod_work *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->agent = a;
    w->stop_grace = -1;
    w->seen_ms = clock_now_ms(a->clock);
    arena_init(&w->refs_arena, 64u * 1024 * 1024);
    w->ns = strdup(ns);
    w->name = strdup(name);
    w->uid = strdup(uid);
    if (asprintf(&w->key, "%s/%s/%s", ns, name, uid) < 0)
        w->key = NULL;
    if (!w->ns || !w->name || !w->uid || !w->key || map_puts(&a->works, w->key, w, NULL) != 0) {
        pod_work_free(w);
        return NULL;
    }
    return w;
}

static struct pod_work *work_of(const struct agent *a, const char *ns, const char *name,
                                const char *uid)
{
    struct pod_work *w = NULL;
    char *key;

    if (asprintf(&key, "%s/%s/%s", ns, name, uid) >= 0) {
        w = map_gets(&a->works, key);
        free(key);
    }
    return w;
}

struct pod_work *agent_find_work(const struct agent *a, const struct pod_run *run)
{
    return work_of(a, run->ns, run->name, run->uid);
}

static void look_at_all(void *arg);

static void queue_pod(struct agent *a, const char *ns, const char *name, const char *uid)
{
    struct pod_work *w = work_of(a, ns, name, uid);

    if (!w)
        w = work_new(a, ns, name, uid);
    if (w) {
        queue_add(a->queue, w->key);
        return;
    }
    log_error("pod %s/%s: out of memory", ns, name);
    if (!a->again)
        a->again = clock_start(a->clock, AGAIN_MS, look_at_all, a);
}

void agent_forget_pod(struct pod_work *w)
{
    (void)map_removes(&w->agent->works, w->key);
    pod_work_free(w);
}

void agent_await(struct pod_work *w, bool awaits)
{
    struct agent *a = w->agent;

    if (awaits == (w->at_awaiting != NULL))
        return;
    if (!awaits) {
        *w->at_awaiting = w->next_awaiting;
        if (w->next_awaiting)
            w->next_awaiting->at_awaiting = w->at_awaiting;
        w->at_awaiting = NULL;
        return;
    }
    w->next_awaiting = a->awaiting;
    w->at_awaiting = &a->awaiting;
    if (w->next_awaiting)
        w->next_awaiting->at_awaiting = &w->next_awaiting;
    a->awaiting = w;
}

static void on_work(void *arg, const char *key)
{
    struct agent *a = arg;
    struct pod_work *w = map_gets(&a->works, key);

    if (w)
        pod_work_begin(w);
    else
        queue_done(a->queue, key, QUEUE_OK);
}

/* --- changes --- */

static void queue_object(struct agent *a, const struct json *pod)
{
    queue_pod(a, object_namespace(pod), object_name(pod), object_uid(pod));
}

static void add_uid(void *arg, const char *uid)
{
    static char present;

    if (map_puts(arg, uid, &present, NULL) != 0)
        log_error("pod %s: out of memory", uid);
}

/* For pods that have ended according to the API only the folders' names are read. */
static void read_folders(struct agent *a)
{
    if (a->knows_folders)
        return;
    a->knows_folders = true;
    a->runtime->ops->each_uid(a->runtime, add_uid, &a->departed);
    scratch_sweep(a->scratch, &a->departed);
}

static bool pod_rests(void *arg, const struct json *head)
{
    struct agent *a = arg;
    bool rests = pod_is_settled(head);
    struct map_node *known;

    if (cache_is_synced(a->pods))
        return rests; /* departed is complete */
    read_folders(a);
    known = rests ? map_find(&a->departed, object_uid(head), strlen(object_uid(head))) : NULL;
    if (known)
        known->value = NULL; /* removed with the others at the end of the list */
    return rests;
}

static void on_pod(void *arg, enum cache_event event, const struct json *object,
                   const struct json *old)
{
    struct agent *a = arg;

    if (!cache_is_synced(a->pods)) { /* all are processed then */
        if (event == CACHE_DELETED)
            add_uid(&a->departed, object_uid(object));
        return;
    }
    if (event != CACHE_DELETED && pod_is_settled(object) &&
        !work_of(a, object_namespace(object), object_name(object), object_uid(object)))
        return;
    if (old && strcmp(object_uid(old), object_uid(object)) != 0)
        queue_object(a, old); /* replaced under the same name, unnoticed */
    queue_object(a, object);
}

/* An ephemeral container's run is its pod's. */
static void queue_run(void *arg, const struct pod_run *run)
{
    char *uid = strndup(run->uid, ephemeral_base_len(run->uid));

    queue_pod(arg, run->ns, run->name, uid ? uid : run->uid);
    free(uid);
}

/* --- after a restart --- */

static void take_up_departed(struct agent *a, const struct pod_run *run)
{
    struct pod_work *w;

    queue_run(a, run);
    w = run->alive ? work_of(a, run->ns, run->name, run->uid) : NULL;
    if (w && !w->newer)
        w->newer = newer_check(a->pod_root, run, a->revision);
}

static void look_at_departed(void *arg)
{
    struct agent *a = arg;

    a->next_departed = NULL;
    for (unsigned i = 0; i < DEPARTED_AT_ONCE && a->departed.count > 0; i++) {
        const struct map_node *first = map_first(&a->departed);
        const struct pod_run *run = a->runtime->ops->find(a->runtime, first->key);

        if (run)
            take_up_departed(a, run);
        (void)map_remove(&a->departed, first->key, first->key_len);
    }
    if (a->departed.count > 0)
        a->next_departed = clock_start(a->clock, 0, look_at_departed, a);
}

static bool take_up(void *arg, const struct json *pod)
{
    struct agent *a = arg;

    (void)map_removes(&a->departed, object_uid(pod));
    if (pod_is_settled(pod))
        return true;
    newer_forget(a->pod_root, object_uid(pod));
    queue_object(a, pod);
    return true;
}

static bool add_if_departed(void *arg, struct map_node *n)
{
    if (n->value)
        add_uid(arg, n->key);
    return true;
}

static void forget_known(struct agent *a)
{
    struct map departed = MAP_INIT;

    map_visit_after(&a->departed, NULL, 0, add_if_departed, &departed);
    map_release(&a->departed, NULL);
    a->departed = departed;
}

static void on_pods_synced(void *arg)
{
    struct agent *a = arg;

    read_folders(a);
    forget_known(a);
    a->knows_folders = false;
    a->revision = a->opened_revision ? a->opened_revision : cache_revision(a->pods);
    a->opened_revision = 0;
    cache_each_awake(a->pods, take_up, a);
    clock_stop(a->clock, a->next_departed);
    look_at_departed(a);
}

static void look_at_all(void *arg)
{
    struct agent *a = arg;

    a->again = NULL;
    if (!cache_is_synced(a->pods))
        return; /* all are processed then */
    a->knows_folders = false;
    read_folders(a);
    cache_each(a->pods, take_up, a);
    clock_stop(a->clock, a->next_departed);
    look_at_departed(a);
}

void agent_look_again(struct agent *a)
{
    if (!a->again && cache_is_synced(a->pods))
        a->again = clock_start(a->clock, 0, look_at_all, a);
}

static void on_run(void *arg, const char *uid)
{
    struct agent *a = arg;
    const struct pod_run *run = a->runtime->ops->find(a->runtime, uid);

    if (!run)
        return;
    queue_run(a, run);
    for (const struct pod_work *w = a->awaiting; w && !run->alive; w = w->next_awaiting)
        queue_add(a->queue, w->key); /* there may be room now */
}

static void on_service(void *arg, enum cache_event event, const struct json *object,
                       const struct json *old)
{
    struct agent *a = arg;

    (void)old;
    if (event != CACHE_ADDED)
        return;
    if (hosts_add(a->hosts, object_namespace(object), object_name(object)) != 0)
        log_warn("service %s/%s: cannot be put into the hosts file", object_namespace(object),
                 object_name(object));
    for (const struct pod_work *w = a->awaiting; w; w = w->next_awaiting)
        if (strcmp(w->ns, object_namespace(object)) == 0)
            queue_add(a->queue, w->key);
}

static void on_trouble(void *arg, const struct err *err)
{
    (void)arg;
    log_warn("node agent: %s", err->text);
}

const char *agent_node_name(const struct agent *a)
{
    return a->node_name;
}

const struct json *agent_find_pod(const struct agent *a, const char *ns, const char *name)
{
    return cache_get(a->pods, ns, name);
}

void agent_each_pod(const struct agent *a, bool (*fn)(void *arg, const struct json *pod), void *arg)
{
    cache_each(a->pods, fn, arg);
}

bool agent_knows_pods(const struct agent *a)
{
    return cache_is_synced(a->pods);
}

bool agent_has_pod(const struct agent *a, const char *ns, const char *name, const char *uid)
{
    const struct json *pod = cache_get(a->pods, ns, name);

    return pod && strcmp(object_uid(pod), uid) == 0;
}

bool agent_names_pods(const struct agent *a)
{
    return a->runtime->ops->has_mounts(a->runtime);
}

static void on_image(void *arg)
{
    struct agent *a = arg;

    map_for_each (node, &a->works) {
        const struct pod_work *w = node->value;

        if (w->awaits_image)
            queue_add(a->queue, w->key);
    }
}

/* --- making and freeing --- */

static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char *out;

    if (asprintf(&out, "%.*s/%s", slash ? (int)(slash - path) : 0, path, name) < 0)
        return NULL;
    return out;
}

/* The path of our binary; a newer one in its place is as good. NULL: out of memory. */
static char *own_path(void)
{
    static const char gone[] = " (deleted)";
    char path[PATH_MAX];
    ssize_t n = readlink(THIS_PROGRAM, path, sizeof(path) - 1);
    size_t len = n > 0 ? (size_t)n : 0;

    path[len] = '\0';
    if (len > strlen(gone) && strcmp(path + len - strlen(gone), gone) == 0)
        path[len - strlen(gone)] = '\0';
    return strdup(path);
}

static int set_machine(struct agent *a, const struct agent_options *o, struct err *err)
{
    struct machine *m = &a->machine;

    machine_read(m);
    if (o->cpu_milli > 0)
        m->cpu_milli = o->cpu_milli;
    if (o->memory_bytes > 0)
        m->memory_bytes = o->memory_bytes;
    if (o->gpus && (*o->gpus & ~m->gpu_set))
        return err_set(err, ERR_BAD_REQUEST,
                       "--gpus names a GPU that does not exist: this machine has %" PRId64
                       ", counted from 0",
                       m->gpus);
    if (o->gpus)
        m->gpu_set = *o->gpus;
    if (o->gpu_shares == 0)
        return 0;
    m->shared_set = o->shared_gpus ? *o->shared_gpus : m->gpu_set;
    if (!m->shared_set || (m->shared_set & ~m->gpu_set))
        return err_set(err, ERR_BAD_REQUEST,
                       "--gpu-shares is for GPUs that pods may not use or that are not there: this "
                       "machine has %" PRId64 ", counted from 0; see --gpus",
                       m->gpus);
    m->gpu_shares = o->gpu_shares;
    m->gpu_set &= ~m->shared_set;
    return 0;
}

static int set_names(struct agent *a, const struct agent_options *o, struct err *err)
{
    int rc = file_make_dirs(o->pod_root, 0700);

    if (rc != 0) {
        (void)err_set(err, ERR_INTERNAL, "%s: %s", o->pod_root, strerror(-rc));
        return rc;
    }
    rc = set_machine(a, o, err);
    if (rc != 0)
        return rc;
    a->pod_root = realpath(o->pod_root, NULL);
    a->node_name = strdup(o->node_name && *o->node_name ? o->node_name : a->machine.host_name);
    a->exe = own_path();
    a->server = o->server ? strdup(o->server) : NULL;
    a->ca_pem = o->ca_pem ? strdup(o->ca_pem) : NULL;
    a->door_port = o->door_port;
    a->door_host = o->door_port ? strdup(o->door_host) : NULL;
    a->door_ca_pem = o->door_port ? strdup(o->door_ca_pem) : NULL;
    if (!a->pod_root || !a->node_name || !a->exe || (o->server && !a->server) ||
        (o->ca_pem && !a->ca_pem) || (o->door_port && (!a->door_host || !a->door_ca_pem)) ||
        asprintf(&a->pods_query, "fieldSelector=spec.nodeName%%3D%s", a->node_name) < 0)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (dns_name_problem(a->node_name))
        return err_set(err, ERR_INVALID, "node name \"%s\": %s", a->node_name,
                       dns_name_problem(a->node_name));
    return 0;
}

static int open_volumes(struct agent *a, const struct agent_options *o, struct err *err)
{
    char *root = beside(a->pod_root, "volumes"), *scratch = beside(a->pod_root, "scratch");
    struct claims_options claims = {.transport = a->transport,
                                    .clock = a->clock,
                                    .root = root,
                                    .mapped = o->volumes,
                                    .asks_server = o->asks_server};
    int rc;

    a->scratch = scratch ? scratch_new(a->loop, a->clock, scratch, SCRATCH_RETRY_MS) : NULL;
    a->folder = strndup(a->pod_root, (size_t)(strrchr(a->pod_root, '/') - a->pod_root));
    a->start = beside(a->pod_root, "start");
    a->in_image = o->in_image;
    a->images = a->folder ? images_new(&(struct images_options){.loop = a->loop,
                                                                .data = a->folder,
                                                                .limit_bytes = o->image_bytes,
                                                                .on_change = on_image,
                                                                .arg = a})
                          : NULL;
    rc = root && a->scratch && a->folder && a->start && a->images ? file_make_dirs(scratch, 0700)
                                                                  : -ENOMEM;
    if (rc == 0)
        rc = file_make_dirs(a->start, 0700);
    if (rc != 0)
        (void)err_set(err, ERR_INTERNAL, "scratch and start folders: %s", strerror(-rc));
    else if (!(a->claims = claims_new(&claims, err)))
        rc = -EIO;
    free(scratch);
    free(root);
    return rc;
}

static int open_runtime(struct agent *a, const struct agent_options *o, struct err *err)
{
    char *hosts_dir = beside(a->pod_root, "hosts");
    char *log_root = beside(a->pod_root, POD_LOGS_FOLDER);
    struct process_options p = {.loop = a->loop,
                                .pod_root = a->pod_root,
                                .log_root = log_root,
                                .program = o->program ? o->program : THIS_PROGRAM,
                                .small_program = o->small_program,
                                .log_bytes = o->log_bytes};
    int rc = 0;

    if (!hosts_dir || !log_root)
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    if (rc == 0) {
        a->hosts = hosts_new(hosts_dir, err);
        rc = a->hosts ? 0 : -EIO;
    }
    if (rc == 0 && !o->runtime) {
        rc = process_runtime_new(&p, &a->runtime, err);
        a->owns_runtime = rc == 0;
    } else if (rc == 0) {
        a->runtime = o->runtime;
    }
    free(hosts_dir);
    free(log_root);
    return rc;
}

/* None for a pod that shares a GPU: its activity is not the pod's alone. */
static const char *leased_gpus(void *arg, const struct pod_run *run)
{
    const struct agent *a = arg;
    struct pod_work *w = a->machine.gpus > 0 ? agent_find_work(a, run) : NULL;
    const struct json *pod = w && !w->no_gpus ? cache_get(a->pods, run->ns, run->name) : NULL;
    const char *list = pod ? object_annotation(pod, ANNOTATION_GPUS) : NULL;
    struct resources wanted;

    if (!pod || strcmp(object_uid(pod), run->uid) != 0)
        return "";
    wanted = pod_requests(json_get(pod, "spec"));
    w->no_gpus = wanted.gpus == 0; /* asking for the pod again would keep it parsed */
    return list && wanted.gpu_shares == 0 ? list : "";
}

/* Measuring pods. */
static int start_samples(struct agent *a, struct err *err)
{
    struct samples_options o = {.loop = a->loop,
                                .runtime = a->runtime,
                                .pod_root = a->pod_root,
                                .gpus = (size_t)a->machine.gpus,
                                .leased_gpus = leased_gpus,
                                .arg = a};

    if (!a->owns_runtime)
        return 0; /* its pods are not processes */
    a->samples = samples_new(&o);
    a->disk_limits = disk_limits_new(a);
    return a->samples && a->disk_limits ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
}

static int start_clients(struct agent *a, const struct agent_options *o, struct err *err)
{
    struct node_options node = {.transport = a->transport,
                                .clock = a->clock,
                                .name = a->node_name,
                                .door_host = a->door_host,
                                .door_ca_pem = a->door_ca_pem,
                                .door_port = a->door_port,
                                .machine = &a->machine,
                                .labels = o->labels,
                                .taints = o->taints};
    struct cache_options pods = {.transport = a->transport,
                                 .clock = a->clock,
                                 .kind = &kind_pod,
                                 .query = a->pods_query,
                                 .ready_objects = READY_PODS,
                                 .rests = pod_rests,
                                 .on_change = on_pod,
                                 .on_synced = on_pods_synced,
                                 .on_trouble = on_trouble,
                                 .arg = a};
    struct cache_options services = {.transport = a->transport,
                                     .clock = a->clock,
                                     .kind = &kind_service,
                                     .ready_objects = READY_SERVICES,
                                     .on_change = on_service,
                                     .on_trouble = on_trouble,
                                     .arg = a};

    a->runtime->on_change = on_run;
    a->runtime->on_change_arg = a;
    a->queue = queue_new(a->clock, PODS_IN_WORK, on_work, a);
    a->services = cache_new(&services);
    a->pods = cache_new(&pods);
    a->node = node_keeper_new(&node);
    if (!a->queue || !a->services || !a->pods || !a->node)
        return err_set(err, ERR_INTERNAL, "out of memory");
    return 0;
}

struct agent *agent_new(const struct agent_options *options, struct err *err)
{
    struct agent *a = calloc(1, sizeof(*a));
    int rc;

    if (!a) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    a->loop = options->loop;
    a->clock = loop_clock(options->loop);
    a->transport = options->transport;
    a->opened_revision = options->opened_revision;
    rc = set_names(a, options, err);
    if (rc == 0)
        rc = open_runtime(a, options, err);
    if (rc == 0)
        rc = open_volumes(a, options, err);
    if (rc == 0)
        rc = start_clients(a, options, err);
    if (rc == 0)
        rc = start_samples(a, err);
    if (rc != 0) {
        agent_free(a);
        return NULL;
    }
    return a;
}

static void free_work(void *value)
{
    pod_work_free(value);
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    client_forget(a);
    samples_free(a->samples);
    disk_limits_free(a->disk_limits);
    node_keeper_free(a->node);
    cache_free(a->pods);
    cache_free(a->services);
    clock_stop(a->clock, a->again);
    clock_stop(a->clock, a->next_departed);
    map_release(&a->departed, NULL);
    queue_free(a->queue);
    map_release(&a->works, free_work);
    images_free(a->images);
    hosts_free(a->hosts);
    claims_free(a->claims);
    if (a->owns_runtime)
        a->runtime->ops->free(a->runtime);
    else if (a->runtime)
        a->runtime->on_change = NULL;
    free(a->node_name);
    free(a->pod_root);
    free(a->pods_query);
    free(a->in_doubt);
    free(a->folder);
    free(a->start);
    scratch_free(a->scratch);
    free(a->exe);
    free(a->server);
    free(a->ca_pem);
    free(a->door_host);
    free(a->door_ca_pem);
    free(a);
}

int agent_claim_folder(const struct agent *agent, struct arena *a, const char *ns,
                       const char *claim, const char **ret, struct err *err)
{
    return claims_folder(agent->claims, a, ns, claim, ret, err);
}
