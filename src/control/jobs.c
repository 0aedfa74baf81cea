/*
 * jobs.c - see jobs.h.
 *
 * A queue key is "Kind|namespace/name" of a job or of a pod that waits for one, or PORTS_KEY.
 * Nothing is decided before every cache has been filled once. After a plan was carried out the
 * caches lag behind it; deciding on stale caches would be harmless (creating again is refused,
 * stale writes conflict) but noisy, so a job pauses until the caches have seen what was written, or
 * REST_MS have passed.
 */
#include "control/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/log.h"
#include "base/map.h"
#include "client/queue.h"
#include "control/gc_graph.h"
#include "control/object_list.h"
#include "core/app.h"
#include "core/job.h"
#include "core/pod_state.h"
#include "core/ports.h"

#define IN_WORK_LIMIT 16
#define READY_JOBS 256 /* kept parsed per kind; most have ended */
#define REST_MS 5000
/* Timed waits are checked at least this often, because clocks are set. */
#define LONGEST_SLEEP_MS (5 * 60 * 1000)
/* Refused objects are retried with increasing delay: of the possible reasons only quotas are
 * watched. */
#define FIRST_PAUSE_MS 5000
#define LONGEST_PAUSE_MS (2 * 60 * 1000)
/* Pods come up one by one, and a status costs a cluster's server as much as three or four pods:
 * status updates wait this long for more. While other pods are being created they wait longer, then
 * one job is updated at a time, and finally all are. */
#define TELL_AFTER_MS 500
#define TELL_IN_TURN_MS 5000
#define TELL_LATEST_MS 30000
#define TELL_AGAIN_MS 1000 /* to check whether it is its turn */
/* Jobs that had already ended when first listed come after the others, to finish what a killed
 * daemon left undone: this many of each kind at a time, this often. */
#define WAKE_JOBS 100
#define WAKE_MS 100
#define WAKE_AFTER_MS 3000
#define FOREIGN_RECHECK_MS 10000 /* a name we want is taken by an object we do not watch */
#define RECONCILE_LIMIT_BYTES (256u * 1024u * 1024u)
#define NAMESPACE_SIZE 256
#define KEY_SIZE 640 /* kind 63, namespace 253, name 253 */
#define PORTS_KEY "ports"

/* The cache of one job kind. */
struct source {
    struct jobs *jobs;
    const struct job_kind *kind;
    struct cache *cache;
};

/* What the caches must have seen before a job is considered again. */
struct rest {
    int64_t job, pods, services, leases, boards, batch, groups; /* revisions */
    int64_t until_ms;
};

/* Why the API refused one of a job's children. */
struct refusal {
    const struct kind *kind;
    int64_t generation; /* of the job */
    int64_t at_ms, pause_ms;
    char why[];
};

/* A job's pod that succeeded and is gone; without this record it would be created again. */
struct end {
    struct end *next;
    struct json *pod;
};

/* A plan being carried out. */
struct pass {
    struct pass *next, **at;
    struct jobs *jobs;
    bool only_tells;
    char key[KEY_SIZE];
};

struct jobs {
    struct clock *clock;
    struct applier *applier;
    struct cache *pods, *groups, *services, *quotas;
    struct cache *leases; /* NULL without a shared network: no ports are needed */
    struct trouble *trouble;
    const char *lease_ns; /* see core/job.h */
    jobs_fn *tell;        /* called for each change of a job; or NULL */
    void (*tell_gone)(void *arg, const struct json *job);
    void (*tell_ready)(void *arg);
    void *tell_arg;
    bool shared_network, apps_unseen, ready;
    struct clock_timer *waking;
    struct idle_times idle;
    int64_t started_ms;
    struct queue *queue;
    struct map rests;    /* key -> struct rest */
    struct map refusals; /* key -> struct refusal */
    struct map ends;     /* key -> struct end */
    struct map tellings; /* key -> since when its status update waits, int64_t */
    struct pass *passes;
    size_t tellers;        /* with only a status update to make */
    struct source *boards; /* TensorBoards: one of sources, and children of the others */
    struct source *batch;  /* Jobs, also children of CronJobs; NULL: Kubernetes runs them */
    size_t sources_len;
    struct source sources[];
};

/* --- keys --- */

static void write_key(char key[KEY_SIZE], const struct kind *k, const char *ns, const char *name)
{
    (void)snprintf(key, KEY_SIZE, "%s|%s/%s", k->name, ns, name);
}

static void add_job(struct source *s, const char *ns, const char *name)
{
    char key[KEY_SIZE];

    write_key(key, s->kind->kind, ns, name);
    queue_add(s->jobs->queue, key);
}

/* NULL: the key is of another kind, or the object does not exist. */
static const struct json *find_keyed(struct cache *c, const struct kind *k, const char *key)
{
    size_t len = strlen(k->name);
    const char *slash = strncmp(k->name, key, len) == 0 && key[len] == '|' ? strchr(key, '/')
                                                                           : NULL;
    char ns[NAMESPACE_SIZE];

    if (!slash)
        return NULL;
    (void)snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key - (ptrdiff_t)len - 1), key + len + 1);
    return cache_get(c, ns, slash + 1);
}

/* The source and the job of a key; NULL when the job does not exist. */
static const struct json *find_job(struct jobs *j, const char *key, struct source **ret_source)
{
    for (size_t i = 0; i < j->sources_len; i++) {
        const struct json *job = find_keyed(j->sources[i].cache, j->sources[i].kind->kind, key);

        *ret_source = &j->sources[i];
        if (job)
            return job;
    }
    return NULL;
}

/* --- pausing --- */

static void rest_end(struct jobs *j, const char *key)
{
    free(map_removes(&j->rests, key));
}

static bool has_seen(const struct jobs *j, const struct source *s, const struct rest *r)
{
    return cache_revision(s->cache) >= r->job && cache_revision(j->pods) >= r->pods &&
           cache_revision(j->services) >= r->services &&
           (!j->leases || cache_revision(j->leases) >= r->leases) &&
           cache_revision(j->boards->cache) >= r->boards &&
           (!j->batch || cache_revision(j->batch->cache) >= r->batch) &&
           cache_revision(j->groups) >= r->groups;
}

/* True while the job should not be considered; it will be when the time is up. */
static bool rests(struct jobs *j, const struct source *s, const char *key)
{
    const struct rest *r = map_gets(&j->rests, key);
    int64_t left;

    if (!r)
        return false;
    left = r->until_ms - clock_now_ms(j->clock);
    if (left <= 0 || left > REST_MS || has_seen(j, s, r)) {
        rest_end(j, key);
        return false;
    }
    queue_add_after(j->queue, key, left);
    return true;
}

static void rest_begin(struct jobs *j, const struct source *s, const char *key,
                       const struct apply_result *result)
{
    struct rest *r = calloc(1, sizeof(*r));
    void *old = NULL;

    if (!r)
        return;
    r->until_ms = clock_now_ms(j->clock) + REST_MS;
    for (size_t i = 0; i < result->written_len; i++) {
        const struct kind *k = result->written[i].kind;
        int64_t *at = k == s->kind->kind       ? &r->job
                      : k == &kind_pod         ? &r->pods
                      : k == &kind_service     ? &r->services
                      : k == &kind_lease       ? &r->leases
                      : k == &kind_tensorboard ? &r->boards
                      : k == &kind_job         ? &r->batch
                      : k == &kind_pod_group   ? &r->groups
                                               : NULL;

        if (at)
            *at = result->written[i].revision;
    }
    if (map_puts(&j->rests, key, r, &old) < 0)
        free(r);
    free(old);
    /* An object may be gone again before a cache has seen it, which is then never reported. */
    queue_add_after(j->queue, key, REST_MS);
}

/* --- status updates --- */

static void telling_end(struct jobs *j, const char *key)
{
    free(map_removes(&j->tellings, key));
}

static int telling_begin(struct jobs *j, const char *key, int64_t now_ms)
{
    int64_t *since = malloc(sizeof(*since));

    if (!since)
        return -ENOMEM;
    *since = now_ms;
    if (map_puts(&j->tellings, key, since, NULL) == 0)
        return 0;
    free(since);
    return -ENOMEM;
}

/* True while the plan waits for others like it; it will be made again when the time is up. */
static bool waits_for_more(struct jobs *j, const char *key, const struct plan *plan)
{
    const int64_t *since = map_gets(&j->tellings, key);
    int64_t now = clock_now_ms(j->clock), waited = since ? now - *since : 0;
    bool is_turn = !applier_is_making(j->applier) || (waited >= TELL_IN_TURN_MS && j->tellers == 0);
    bool over = j->shared_network || !plan->may_wait || !plan_only_tells(plan) || waited < 0 ||
                waited >= TELL_LATEST_MS || (waited >= TELL_AFTER_MS && is_turn);

    if (over || (!since && telling_begin(j, key, now) < 0)) {
        telling_end(j, key);
        return false;
    }
    queue_add_after(j->queue, key, waited < TELL_AFTER_MS ? TELL_AFTER_MS - waited : TELL_AGAIN_MS);
    return true;
}

/* --- refusals --- */

static void refusal_end(struct jobs *j, const char *key)
{
    free(map_removes(&j->refusals, key));
}

static int64_t generation_of(const struct json *job)
{
    return json_int(json_at(job, "metadata", "generation"), 0);
}

static void refusal_note(struct jobs *j, const char *key, const struct apply_result *result)
{
    const struct refusal *last = map_gets(&j->refusals, key);
    size_t size = strlen(result->refusal) + 1;
    struct refusal *r;
    struct source *s;
    void *old = NULL;

    if (!last || strcmp(last->why, result->refusal) != 0)
        log_warn("%s: %s", key, result->err->text);
    r = malloc(sizeof(*r) + size);
    if (!r)
        return;
    r->kind = result->refused;
    r->generation = generation_of(find_job(j, key, &s));
    r->at_ms = clock_now_ms(j->clock);
    r->pause_ms = max_i64(last ? min_i64(2 * last->pause_ms, LONGEST_PAUSE_MS) : 0, FIRST_PAUSE_MS);
    memcpy(r->why, result->refusal, size);
    if (map_puts(&j->refusals, key, r, &old) < 0)
        free(r);
    free(old);
}

/* After a job has changed the API may decide differently. */
static void refusal_check(struct jobs *j, const char *key, const struct json *job)
{
    const struct refusal *r = map_gets(&j->refusals, key);

    if (r && r->generation != generation_of(job))
        refusal_end(j, key);
}

static bool has_written(const struct apply_result *result, const struct kind *k)
{
    for (size_t i = 0; i < result->written_len; i++)
        if (result->written[i].kind == k)
            return true;
    return false;
}

/* 0: at once. A clock set back must not extend the wait. */
static int64_t refused_until_ms(const struct jobs *j, const struct refusal *r)
{
    return clock_now_ms(j->clock) < r->at_ms ? 0 : r->at_ms + r->pause_ms;
}

/* A deleted pod may free quota that another lacks, and a changed quota may admit it at once. */
static void refusals_hurry(struct jobs *j, const char *ns, int64_t pause_ms)
{
    size_t len = strlen(ns);

    map_for_each (node, &j->refusals) {
        struct refusal *r = node->value;
        const char *of = strchr(node->key, '|') + 1;

        if (r->pause_ms <= pause_ms || strncmp(of, ns, len) != 0 || of[len] != '/')
            continue;
        r->pause_ms = pause_ms;
        queue_add_after(j->queue, node->key,
                        max_i64(r->at_ms + pause_ms - clock_now_ms(j->clock), 0));
    }
}

/* --- ends --- */

static void ends_free(void *first)
{
    for (struct end *e = first, *next; e; e = next) {
        next = e->next;
        free(e->pod);
        free(e);
    }
}

static void ends_drop(struct jobs *j, const char *key)
{
    ends_free(map_removes(&j->ends, key));
}

/* Kept until its job is over. */
static void end_note(struct jobs *j, const struct source *s, const struct json *pod)
{
    struct pod_state state = pod_state_of(pod, NULL);
    struct end *e;
    char key[KEY_SIZE];
    void *old = NULL;

    if (state.phase != POD_SUCCEEDED || (state.deleting && !state.ended_first))
        return;
    write_key(key, s->kind->kind, object_namespace(pod),
              json_get_string(object_controller(pod), "name", ""));
    e = calloc(1, sizeof(*e));
    if (e)
        e->pod = json_pack(pod, NULL);
    if (!e || !e->pod || map_puts(&j->ends, key, e, &old) < 0) {
        ends_free(e);
        return;
    }
    e->next = old;
}

/* --- carrying out --- */

static void pass_free(struct pass *p)
{
    p->jobs->tellers -= p->only_tells;
    *p->at = p->next;
    if (p->next)
        p->next->at = p->at;
    free(p);
}

static void on_applied(void *arg, const struct apply_result *result)
{
    struct pass *p = arg;
    struct jobs *j = p->jobs;
    const struct refusal *refusal = map_gets(&j->refusals, p->key);
    struct source *s = NULL;

    if (result->refused)
        refusal_note(j, p->key, result);
    else if (refusal && has_written(result, refusal->kind))
        refusal_end(j, p->key);
    if (result->outcome == APPLY_FAILED && !result->refused)
        log_warn("%s: %s", p->key, result->err->text);
    else if (result->outcome == APPLY_AGAIN)
        log_debug("%s: looking again: %s", p->key, result->err->text);
    /* If part of a job was refused, the rest of it still counts. */
    if ((result->outcome == APPLY_DONE || result->refused) && find_job(j, p->key, &s))
        rest_begin(j, s, p->key, result);
    queue_done(j->queue, p->key, result->outcome == APPLY_DONE ? QUEUE_OK : QUEUE_RETRY);
    pass_free(p);
}

static enum queue_result start_pass(struct jobs *j, const char *key, const struct plan *plan)
{
    struct pass *p = calloc(1, sizeof(*p));

    if (!p)
        return QUEUE_RETRY;
    p->jobs = j;
    p->only_tells = plan_only_tells(plan);
    j->tellers += p->only_tells;
    (void)snprintf(p->key, sizeof(p->key), "%s", key);
    p->next = j->passes;
    p->at = &j->passes;
    if (p->next)
        p->next->at = &p->next;
    j->passes = p;
    if (apply_plan(j->applier, plan, on_applied, p) == 0)
        return QUEUE_OK;
    pass_free(p);
    return QUEUE_RETRY;
}

/* Carries out the plan; without steps the key is done. */
static void carry_out(struct jobs *j, const char *key, const struct plan *plan)
{
    int64_t wake_in = plan->wake_at_ms - clock_now_ms(j->clock);

    if (arena_failed(plan->arena)) {
        log_error("%s: out of memory", key);
        queue_done(j->queue, key, QUEUE_RETRY);
        return;
    }
    if (plan->wake_at_ms)
        queue_add_after(j->queue, key, min_i64(max_i64(wake_in, 1), LONGEST_SLEEP_MS));
    if (plan_is_empty(plan))
        queue_done(j->queue, key, QUEUE_OK);
    else if (start_pass(j, key, plan) != QUEUE_OK)
        queue_done(j->queue, key, QUEUE_RETRY);
}

/* --- deciding about a job --- */

struct gathering {
    struct jobs *jobs;
    const struct json *job;
    struct object_list pods, ends, services, leases, children;
    bool has_foreign;
};

static bool gather_child(struct object_list *list, const struct json *job, const struct json *child)
{
    if (strcmp(object_namespace(child), object_namespace(job)) == 0)
        object_list_add(list, child);
    return true;
}

static bool gather_pod(void *arg, const struct json *pod)
{
    struct gathering *g = arg;

    return gather_child(&g->pods, g->job, pod);
}

static bool gather_service(void *arg, const struct json *service)
{
    struct gathering *g = arg;

    return gather_child(&g->services, g->job, service);
}

static bool gather_job(void *arg, const struct json *job)
{
    struct gathering *g = arg;

    return gather_child(&g->children, g->job, job);
}

static void gather_holder(struct gathering *g, struct object_list *list, const struct json *holder)
{
    if (!holder || object_is_controlled_by(holder, object_uid(g->job)))
        return;
    object_list_add(list, holder);
    g->has_foreign = true;
}

static void gather_holders(void *arg, const char *name)
{
    struct gathering *g = arg;
    const char *ns = object_namespace(g->job);

    gather_holder(g, &g->pods, cache_get(g->jobs->pods, ns, name));
    gather_holder(g, &g->services, cache_get(g->jobs->services, ns, name));
}

/* All leases only for a job that has to choose a port: the others know theirs. */
static void gather_leases(struct gathering *g, struct arena *a)
{
    const struct json *own[PORTS_OF_JOB] = {NULL};
    const char *names[PORTS_OF_JOB];

    port_lease_names(a, g->job, names);
    for (size_t i = 0; i < PORTS_OF_JOB; i++)
        own[i] = names[i] ? cache_get(g->jobs->leases, g->jobs->lease_ns, names[i]) : NULL;
    if (!port_leases_suffice(g->job, own))
        cache_each(g->jobs->leases, object_list_collect, &g->leases);
    else
        for (size_t i = 0; i < PORTS_OF_JOB; i++)
            if (own[i])
                object_list_add(&g->leases, own[i]);
}

static void gather(struct gathering *g, struct arena *a, const struct job_kind *kind,
                   const char *key)
{
    const char *uid = object_uid(g->job);

    g->pods.arena = g->ends.arena = g->services.arena = g->leases.arena = g->children.arena = a;
    for (const struct end *e = map_gets(&g->jobs->ends, key); e; e = e->next)
        if (object_is_controlled_by(e->pod, uid))
            object_list_add(&g->ends, e->pod);
    cache_each_of_controller(g->jobs->pods, uid, gather_pod, g);
    cache_each_of_controller(g->jobs->services, uid, gather_service, g);
    if (kind->kind == &kind_cron_job)
        cache_each_of_controller(g->jobs->batch->cache, uid, gather_job, g);
    if (kind->wanted_names)
        kind->wanted_names(a, g->job, gather_holders, g);
    if (!kind->without_port && g->jobs->leases)
        gather_leases(g, a);
}

static const struct json *find_board(struct jobs *j, struct arena *a, const struct json *job)
{
    const char *name = json_at(job, "spec", "tensorboardSpec") ? job_child_name(a, job) : NULL;

    return name ? cache_get(j->boards->cache, object_namespace(job), name) : NULL;
}

static const struct json *find_group(struct jobs *j, struct arena *a, const struct json *job)
{
    const char *name = job_child_name(a, job);

    return name ? cache_get(j->groups, object_namespace(job), name) : NULL;
}

static void reconcile(struct jobs *j, const struct source *s, const char *key,
                      const struct json *job)
{
    struct arena a = ARENA_INIT(RECONCILE_LIMIT_BYTES);
    struct gathering g = {.jobs = j, .job = job};
    const struct refusal *refusal;
    struct job_snapshot snapshot;
    struct plan plan;

    refusal_check(j, key, job);
    refusal = map_gets(&j->refusals, key);
    if (object_has_ended(job))
        ends_drop(j, key);
    gather(&g, &a, s->kind, key);
    snapshot = (struct job_snapshot){
        .job = job,
        .pods = g.pods.items,
        .pods_len = g.pods.len,
        .ends = g.ends.items,
        .ends_len = g.ends.len,
        .services = g.services.items,
        .services_len = g.services.len,
        .leases = g.leases.items,
        .leases_len = g.leases.len,
        .lease_ns = j->lease_ns,
        .tensorboard = find_board(j, &a, job),
        .jobs = g.children.items,
        .jobs_len = g.children.len,
        .group = find_group(j, &a, job),
        .refused = refusal ? refusal->kind : NULL,
        .refusal = refusal ? refusal->why : NULL,
        .refused_until_ms = refusal ? refused_until_ms(j, refusal) : 0,
        .shared_network = j->shared_network,
        .apps_unseen = j->apps_unseen,
        .idle = j->idle,
        .watched_since_ms = j->started_ms,
        .now_ms = clock_now_ms(j->clock),
    };
    plan_init(&plan, &a);
    job_look(s->kind, &snapshot, &plan);
    if (g.has_foreign)
        plan_wake_at(&plan, snapshot.now_ms + FOREIGN_RECHECK_MS);
    if (waits_for_more(j, key, &plan))
        plan.first = plan.last = NULL;
    carry_out(j, key, &plan);
    arena_release(&a);
}

/* --- returning ports --- */

/* The job that a lease names as its holder, or NULL. */
static const struct json *find_holder(struct jobs *j, const struct json *lease,
                                      struct source **ret_source)
{
    const char *holder = json_string(json_at(lease, "spec", "holderIdentity"), "");
    const char *uid = object_label(lease, LABEL_JOB_UID);
    const char *slash = strchr(holder, '/');
    char ns[NAMESPACE_SIZE];

    if (!uid || !slash)
        return NULL;
    (void)snprintf(ns, sizeof(ns), "%.*s", (int)(slash - holder), holder);
    for (size_t i = 0; i < j->sources_len; i++) {
        const struct json *job = cache_get(j->sources[i].cache, ns, slash + 1);

        *ret_source = &j->sources[i];
        if (job && strcmp(object_uid(job), uid) == 0)
            return job;
    }
    return NULL;
}

static bool see_live_pod(void *arg, const struct json *pod)
{
    bool *live = arg;

    *live = !pod_is_finished(pod);
    return !*live;
}

/* A deleted job's pods take longer to go than the job. */
static bool port_is_used(void *arg, const struct json *lease, const char *uid)
{
    struct jobs *j = arg;
    struct source *s;
    bool live = find_holder(j, lease, &s);

    if (!live)
        cache_each_of_controller(j->pods, uid, see_live_pod, &live);
    return live;
}

static void release_ports(struct jobs *j)
{
    struct arena a = ARENA_INIT(RECONCILE_LIMIT_BYTES);
    struct object_list leases = {.arena = &a};
    struct plan plan;

    plan_init(&plan, &a);
    if (j->leases)
        cache_each(j->leases, object_list_collect, &leases);
    job_release_ports(leases.items, leases.len, port_is_used, j, &plan);
    carry_out(j, PORTS_KEY, &plan);
    arena_release(&a);
}

/* --- pods nothing accounts for --- */

/* NULL: its job is gone, or it has none. */
static struct source *source_of(struct jobs *j, const struct json *child)
{
    const struct json *owner = object_controller(child);

    for (size_t i = 0; i < j->sources_len; i++) {
        const struct json *job = cache_get(j->sources[i].cache, object_namespace(child),
                                           json_get_string(owner, "name", ""));

        if (job && strcmp(object_uid(job), json_get_string(owner, "uid", "")) == 0)
            return &j->sources[i];
    }
    return NULL;
}

/* Its job, unless that is gone or being deleted. */
static const struct json *live_job(struct jobs *j, const struct json *pod)
{
    struct source *s = source_of(j, pod);
    const struct json *job = s ? cache_get(s->cache, object_namespace(pod),
                                           json_get_string(object_controller(pod), "name", ""))
                               : NULL;

    return job && !object_is_deleting(job) ? job : NULL;
}

static bool add_held(void *arg, const struct json *pod)
{
    struct jobs *j = arg;
    char key[KEY_SIZE];

    write_key(key, &kind_pod, object_namespace(pod), object_name(pod));
    if (pod_is_held(pod) && !live_job(j, pod))
        queue_add(j->queue, key);
    return true;
}

static void release(struct jobs *j, const char *key, const struct json *pod)
{
    struct arena a = ARENA_INIT(RECONCILE_LIMIT_BYTES);
    struct plan plan;

    plan_init(&plan, &a);
    if (pod_is_held(pod) && !live_job(j, pod))
        plan_release(&plan, pod);
    carry_out(j, key, &plan);
    arena_release(&a);
}

static bool find_live(void *arg, const struct json *pod)
{
    bool *ret_live = arg;

    *ret_live = *ret_live || !pod_is_finished(pod);
    return true;
}

/* A finalizer can keep a deleted job for ever, and it creates no pods: its PodGroup must not keep
 * room for them. One whose dependents are orphaned leaves it to them. */
static void end_group(struct jobs *j, const char *key, const struct json *job)
{
    struct arena a = ARENA_INIT(RECONCILE_LIMIT_BYTES);
    const struct json *group = find_group(j, &a, job);
    bool live = json_has(json_at(job, "metadata", "finalizers"), FINALIZER_ORPHAN);
    struct plan plan;

    plan_init(&plan, &a);
    cache_each_of_controller(j->pods, object_uid(job), find_live, &live);
    if (group && !live && !object_is_deleting(group) &&
        object_is_controlled_by(group, object_uid(job)))
        plan_delete(&plan, &kind_pod_group, group, -1);
    carry_out(j, key, &plan);
    arena_release(&a);
}

/* --- work --- */

static void work(void *arg, const char *key)
{
    struct jobs *j = arg;
    struct source *s = NULL;
    const struct json *job, *pod = find_keyed(j->pods, &kind_pod, key);

    if (!j->ready) { /* everything is considered once it is */
        queue_done(j->queue, key, QUEUE_OK);
        return;
    }
    if (strcmp(key, PORTS_KEY) == 0) {
        release_ports(j);
        return;
    }
    if (pod) {
        release(j, key, pod);
        return;
    }
    job = find_job(j, key, &s);
    if (!job || object_is_deleting(job)) {
        rest_end(j, key);
        telling_end(j, key);
        refusal_end(j, key);
        ends_drop(j, key);
        if (job)
            end_group(j, key, job);
        else
            queue_done(j->queue, key, QUEUE_OK);
    } else if (rests(j, s, key)) {
        queue_done(j->queue, key, QUEUE_OK);
    } else {
        reconcile(j, s, key, job);
    }
}

/* --- changes --- */

static void add_owner(struct jobs *j, const struct json *child);

static bool add_each_job(void *arg, const struct json *job)
{
    struct source *s = arg;

    add_job(s, object_namespace(job), object_name(job));
    add_owner(s->jobs, job);
    return true;
}

static bool add_each_owner(void *arg, const struct json *child)
{
    add_owner(arg, child);
    return true;
}

static bool add_each_holder(void *arg, const struct json *lease)
{
    struct source *s;
    const struct json *job = find_holder(arg, lease, &s);

    if (job)
        add_job(s, object_namespace(job), object_name(job));
    return true;
}

static void wake_some(void *arg)
{
    struct jobs *j = arg;
    bool more = false;

    j->waking = NULL;
    for (size_t i = 0; i < j->sources_len; i++)
        more = cache_wake(j->sources[i].cache, WAKE_JOBS) || more;
    if (more)
        j->waking = clock_start(j->clock, WAKE_MS, wake_some, j);
}

static void check_ready(struct jobs *j)
{
    bool all = cache_is_synced(j->pods) && cache_is_synced(j->services) &&
               (!j->leases || cache_is_synced(j->leases)) && cache_is_synced(j->groups);

    for (size_t i = 0; i < j->sources_len; i++)
        all = all && cache_is_synced(j->sources[i].cache);
    if (!all || j->ready)
        return;
    j->ready = true;
    queue_add(j->queue, PORTS_KEY);
    cache_each_awake(j->pods, add_held, j);
    for (size_t i = 0; i < j->sources_len; i++)
        cache_each_awake(j->sources[i].cache, add_each_job, &j->sources[i]);
    cache_each_awake(j->pods, add_each_owner, j);
    cache_each(j->services, add_each_owner, j);
    cache_each(j->groups, add_each_owner, j);
    if (j->leases)
        cache_each(j->leases, add_each_holder, j);
    j->waking = clock_start(j->clock, WAKE_AFTER_MS, wake_some, j);
    if (j->tell_ready)
        j->tell_ready(j->tell_arg);
}

void jobs_on_synced(struct jobs *j)
{
    check_ready(j);
}

static void on_synced(void *arg)
{
    check_ready(arg);
}

static void on_job_synced(void *arg)
{
    struct source *s = arg;

    check_ready(s->jobs);
}

static void on_job_trouble(void *arg, const struct err *err)
{
    struct source *s = arg;

    trouble_say(s->jobs->trouble, s->kind->kind, err);
}

/* By the owner's name, not its UID: a recreated job waits for the remains of the old one. */
static void add_owner(struct jobs *j, const struct json *child)
{
    const struct json *owner = object_controller(child);
    const char *kind = json_get_string(owner, "kind", "");

    for (size_t i = 0; i < j->sources_len; i++)
        if (strcmp(j->sources[i].kind->kind->name, kind) == 0)
            add_job(&j->sources[i], object_namespace(child), json_get_string(owner, "name", ""));
}

void jobs_on_group(struct jobs *j, const struct json *group)
{
    add_owner(j, group);
}

static void on_job(void *arg, enum cache_event event, const struct json *job,
                   const struct json *old)
{
    struct source *s = arg;

    add_job(s, object_namespace(job), object_name(job));
    add_owner(s->jobs, job);
    if (!job_is_kind(s->kind->kind))
        ; /* not reported for apps and Kubernetes' Jobs */
    else if (s->jobs->tell && event != CACHE_DELETED)
        s->jobs->tell(s->jobs->tell_arg, s->kind->kind, job, old);
    else if (s->jobs->tell_gone && event == CACHE_DELETED)
        s->jobs->tell_gone(s->jobs->tell_arg, job);
    if (event == CACHE_DELETED)
        queue_add(s->jobs->queue, PORTS_KEY);
    if (event == CACHE_DELETED || object_is_deleting(job))
        cache_each_of_controller(s->jobs->pods, object_uid(job), add_held, s->jobs);
}

struct telling {
    const struct source *source;
    jobs_fn *fn;
    void *arg;
};

static bool tell_one(void *arg, const struct json *job)
{
    const struct telling *t = arg;

    t->fn(t->arg, t->source->kind->kind, job, NULL);
    return true;
}

void jobs_each(const struct jobs *j, jobs_fn *fn, void *arg)
{
    for (size_t i = 0; i < j->sources_len; i++) {
        struct telling t = {.source = &j->sources[i], .fn = fn, .arg = arg};

        if (job_is_kind(t.source->kind->kind))
            cache_each(t.source->cache, tell_one, &t);
    }
}

void jobs_on_pod(struct jobs *j, enum cache_event event, const struct json *pod)
{
    const struct source *s = source_of(j, pod);

    add_owner(j, pod);
    if (event != CACHE_DELETED)
        (void)add_held(j, pod);
    if (event != CACHE_DELETED && !pod_is_finished(pod))
        return;
    refusals_hurry(j, object_namespace(pod), FIRST_PAUSE_MS);
    if (event == CACHE_DELETED && s)
        end_note(j, s, pod);
    if (!s)
        queue_add(j->queue, PORTS_KEY); /* it may have been the last to use a port */
}

static void on_service(void *arg, enum cache_event event, const struct json *service,
                       const struct json *old)
{
    (void)event;
    (void)old;
    add_owner(arg, service);
}

static bool same_limits(const struct json *a, const struct json *b)
{
    return json_equal(json_at(a, "spec", "hard"), json_at(b, "spec", "hard")) &&
           json_equal(json_at(a, "status", "hard"), json_at(b, "status", "hard"));
}

/* Its usage changes all the time, but pods report that. */
static void on_quota(void *arg, enum cache_event event, const struct json *quota,
                     const struct json *old)
{
    if (event == CACHE_DELETED || !old || !same_limits(quota, old))
        refusals_hurry(arg, object_namespace(quota), 0);
}

/* Only logged: without it refused objects are just retried a little later. */
static void on_quotas_trouble(void *arg, const struct err *err)
{
    struct jobs *j = arg;

    trouble_say(j->trouble, &kind_resource_quota, err);
}

/* The job that holds the lease, if known; a lease without a holder is returned. */
static void on_lease(void *arg, enum cache_event event, const struct json *lease,
                     const struct json *old)
{
    struct jobs *j = arg;
    struct source *s;
    const struct json *job = find_holder(j, lease, &s);

    (void)old;
    if (job)
        add_job(s, object_namespace(job), object_name(job));
    else if (object_label(lease, LABEL_JOB_UID) && event != CACHE_DELETED)
        queue_add(j->queue, PORTS_KEY);
}

static void on_services_trouble(void *arg, const struct err *err)
{
    struct jobs *j = arg;

    trouble_say(j->trouble, &kind_service, err);
}

static void on_leases_trouble(void *arg, const struct err *err)
{
    struct jobs *j = arg;

    trouble_say(j->trouble, &kind_lease, err);
}

const char *jobs_trouble(const struct jobs *j)
{
    const char *why = cache_trouble(j->services);

    if (!why && j->leases)
        why = cache_trouble(j->leases);
    for (size_t i = 0; i < j->sources_len && !why; i++)
        why = cache_trouble(j->sources[i].cache);
    return why;
}

/* --- life --- */

static bool open_caches(struct jobs *j, const struct jobs_options *o)
{
    struct cache_options quotas = {.transport = o->transport,
                                   .clock = o->clock,
                                   .kind = &kind_resource_quota,
                                   .on_change = on_quota,
                                   .on_trouble = on_quotas_trouble,
                                   .arg = j};
    struct cache_options services = {.transport = o->transport,
                                     .clock = o->clock,
                                     .kind = &kind_service,
                                     .ready_objects = READY_JOBS,
                                     .on_change = on_service,
                                     .on_synced = on_synced,
                                     .on_trouble = on_services_trouble,
                                     .arg = j};
    struct cache_options leases = {.transport = o->transport,
                                   .clock = o->clock,
                                   .kind = &kind_lease,
                                   .ns = j->lease_ns,
                                   .on_change = on_lease,
                                   .on_synced = on_synced,
                                   .on_trouble = on_leases_trouble,
                                   .arg = j};

    j->services = cache_new(&services);
    j->quotas = cache_new(&quotas);
    if (o->shared_network)
        j->leases = cache_new(&leases);
    return j->services && j->quotas && (j->leases || !o->shared_network);
}

static bool job_rests(void *arg, const struct json *head)
{
    (void)arg;
    return object_rests(head);
}

static bool open_source(struct jobs *j, const struct jobs_options *o, struct source *s)
{
    s->cache = cache_new(&(struct cache_options){.transport = o->transport,
                                                 .clock = o->clock,
                                                 .kind = s->kind->kind,
                                                 .ready_objects = READY_JOBS,
                                                 .rests = job_rests,
                                                 .on_change = on_job,
                                                 .on_synced = on_job_synced,
                                                 .on_trouble = on_job_trouble,
                                                 .arg = s});
    s->jobs = j;
    return s->cache;
}

static size_t count_kinds(const struct job_kind *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static size_t count_apps(void)
{
    size_t n = 0;

    while (app_kinds[n])
        n++;
    return n;
}

static const struct job_kind *kind_at(size_t i)
{
    size_t jobs_len = count_kinds(job_kinds), apps_len = count_apps();

    if (i < jobs_len)
        return job_kinds[i];
    return i < jobs_len + apps_len ? app_kinds[i - jobs_len]->job
                                   : batch_kinds[i - jobs_len - apps_len];
}

struct jobs *jobs_new(const struct jobs_options *o)
{
    size_t jobs_len = count_kinds(job_kinds), others_len = jobs_len + count_apps();
    size_t kinds_len = others_len + (o->batch ? count_kinds(batch_kinds) : 0);
    struct jobs *j = calloc(1, sizeof(*j) + kinds_len * sizeof(j->sources[0]));
    bool ok;

    if (!j)
        return NULL;
    j->clock = o->clock;
    j->applier = o->applier;
    j->pods = o->pods;
    j->groups = o->groups;
    j->trouble = o->trouble;
    j->tell = o->on_job;
    j->tell_gone = o->on_gone;
    j->tell_ready = o->on_ready;
    j->tell_arg = o->arg;
    j->shared_network = o->shared_network;
    j->apps_unseen = o->apps_unseen;
    j->idle = o->idle;
    j->started_ms = clock_now_ms(o->clock);
    j->lease_ns = o->lease_ns ? o->lease_ns : SYSTEM_NAMESPACE;
    j->queue = queue_new(o->clock, IN_WORK_LIMIT, work, j);
    j->boards = &j->sources[jobs_len];
    j->batch = o->batch ? &j->sources[others_len] : NULL;
    ok = j->queue && open_caches(j, o);
    for (; ok && j->sources_len < kinds_len; j->sources_len++) {
        j->sources[j->sources_len].kind = kind_at(j->sources_len);
        ok = open_source(j, o, &j->sources[j->sources_len]);
    }
    if (ok)
        return j;
    jobs_free(j);
    return NULL;
}

void jobs_free(struct jobs *j)
{
    if (!j)
        return;
    clock_stop(j->clock, j->waking);
    for (size_t i = 0; i < j->sources_len; i++)
        cache_free(j->sources[i].cache);
    cache_free(j->services);
    cache_free(j->quotas);
    cache_free(j->leases);
    queue_free(j->queue);
    for (struct pass *p = j->passes, *next; p; p = next) {
        next = p->next;
        pass_free(p);
    }
    map_release(&j->rests, free);
    map_release(&j->tellings, free);
    map_release(&j->refusals, free);
    map_release(&j->ends, ends_free);
    free(j);
}
