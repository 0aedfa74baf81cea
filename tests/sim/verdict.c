/*
 * verdict.c - when the faults are over and time went by: is everything where it must be? The core
 * must have nothing left to do (asked on the truth, not on a cache), processes and pods must agree,
 * nothing may be left over, and every job must be in the phase its pods and its spec demand.
 */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "core/job_view.h"
#include "core/schedule.h"
#include "observer.h"

#define QUIET_MS 20000
#define VERDICT_BYTES (64u * 1024u * 1024u)

struct list {
    struct arena *arena;
    const struct json **items;
    size_t len;
    const char *ns;
};

static void collect(void *arg, const char *key, const struct json *object)
{
    struct list *l = arg;

    (void)key;
    if (!l->ns || strcmp(object_namespace(object), l->ns) == 0)
        l->items[l->len++] = object;
}

static struct list all_of(struct observer *o, struct arena *a, const char *collection,
                          const char *ns)
{
    struct list l = {.arena = a, .ns = ns};

    l.items = arena_alloc(a, (observer_shelf(o, collection)->items.count + 1) *
                                 sizeof(const struct json *));
    if (!l.items)
        abort();
    observer_each(o, collection, collect, &l);
    return l;
}

static struct list all_jobs(struct observer *o, struct arena *a)
{
    struct list l = {.arena = a};

    l.items = arena_alloc(a, (o->jobs.count + 1) * sizeof(const struct json *));
    if (!l.items)
        abort();
    observer_each_job(o, collect, &l);
    return l;
}

struct judging {
    struct observer *o;
    struct sim *sim;
    struct arena *arena;
    struct list jobs, pods, services, leases, nodes, groups, queues;
    int64_t now_ms;
};

/* --- nothing left to do --------------------------------------------------------------------------
 */

static void check_plan(struct judging *g, const struct plan *plan, const char *who)
{
    for (const struct plan_step *step = plan->first; step; step = step->next)
        if (step->op != PLAN_EVENT) {
            violate(g->sim, "stuck: %s has still to do: %s %s/%s", who,
                    (const char *[]){"create", "delete", "update status of", "check", "evict",
                                     "patch", "bind", "event"}[step->op],
                    step->kind->name, step->name ? step->name : object_name(step->object));
            return;
        }
}

struct wanted {
    struct judging *g;
    const struct json *job;
    struct list *pods;
};

static bool is_in(const struct list *l, const struct json *object)
{
    for (size_t i = 0; i < l->len; i++)
        if (l->items[i] == object)
            return true;
    return false;
}

static void add_holder(void *arg, const char *name)
{
    struct wanted *w = arg;

    for (size_t i = 0; i < w->g->pods.len; i++)
        if (strcmp(object_name(w->g->pods.items[i]), name) == 0 &&
            !is_in(w->pods, w->g->pods.items[i]))
            w->pods->items[w->pods->len++] = w->g->pods.items[i];
}

static const struct job_kind *kind_of(const struct json *job)
{
    for (size_t i = 0; job_kinds[i]; i++)
        if (job_kinds[i]->kind == kind_of_object(job))
            return job_kinds[i];
    abort();
}

static const struct json *find(void *arg, const struct kind *k, const char *ns, const char *name)
{
    struct judging *g = arg;
    char key[600];

    (void)snprintf(key, sizeof(key), k->namespaced ? "%s/%s" : "%.0s%s", ns, name);
    return observer_get(g->o,
                        k == &kind_pod         ? PODS
                        : k == &kind_node      ? NODES
                        : k == &kind_pod_group ? GROUPS
                        : k == &kind_queue     ? QUEUES
                                               : NAMESPACES,
                        key);
}

static void check_job_plan(struct judging *g, const struct json *job)
{
    const struct job_kind *kind = kind_of(job);
    struct list pods = {
        .items = arena_alloc(g->arena, (g->pods.len + 1) * sizeof(const struct json *))};
    struct wanted w = {.g = g, .job = job, .pods = &pods};
    struct job_snapshot snapshot;
    struct plan plan;

    for (size_t i = 0; i < g->pods.len; i++)
        if (object_is_controlled_by(g->pods.items[i], object_uid(job)))
            pods.items[pods.len++] = g->pods.items[i];
    kind->wanted_names(g->arena, job, add_holder, &w);
    snapshot = (struct job_snapshot){
        .job = job,
        .pods = pods.items,
        .pods_len = pods.len,
        .services = g->services.items,
        .services_len = g->services.len,
        .leases = g->leases.items,
        .leases_len = g->leases.len,
        .group = find(g, &kind_pod_group, object_namespace(job), job_child_name(g->arena, job)),
        .shared_network = true,
        .now_ms = g->now_ms};
    plan_init(&plan, g->arena);
    job_look(kind, &snapshot, &plan);
    check_plan(g, &plan, object_name(job));
}

/* A ledger made of what is there must agree with the one that was told of every change. */
static void check_schedule(struct judging *g)
{
    struct ledger *l = ledger_new(find, g, false);
    struct plan plan;

    for (size_t i = 0; i < g->nodes.len; i++)
        ledger_node(l, g->nodes.items[i], false);
    for (size_t i = 0; i < g->queues.len; i++)
        ledger_queue(l, g->queues.items[i], false);
    for (size_t i = 0; i < g->groups.len; i++)
        ledger_group(l, g->groups.items[i], false);
    for (size_t i = 0; i < g->pods.len; i++)
        ledger_pod(l, g->pods.items[i], false);
    plan_init(&plan, g->arena);
    schedule(l, g->now_ms, &plan);
    ledger_free(l);
    check_plan(g, &plan, "the scheduler");
}

/* --- jobs ----------------------------------------------------------------------------------------
 */

static const char *phase_of(const struct json *object)
{
    return json_string(json_at(object, "status", "phase"), "");
}

static bool is_phase(const struct json *object, const char *phase)
{
    return strcmp(phase_of(object), phase) == 0;
}

static bool is_finished(const struct json *pod)
{
    return is_phase(pod, "Succeeded") || is_phase(pod, "Failed");
}

static const struct json *pod_named(struct judging *g, const char *ns, const char *name)
{
    char key[600];

    (void)snprintf(key, sizeof(key), "%s/%s", ns, name);
    return observer_get(g->o, PODS, key);
}

static void check_left_pods(struct judging *g, const struct json *job, const struct job_record *j)
{
    const char *policy = json_string(json_at(job, "spec", "runPolicy", "cleanUpPolicy"), "");

    for (size_t i = 0; i < g->pods.len; i++) {
        const struct json *pod = g->pods.items[i];

        if (!object_is_controlled_by(pod, j->uid))
            continue;
        if (strcmp(policy, "All") == 0)
            violate(g->sim, "partial clean-up: %s is over (All), pod %s is there", j->key,
                    object_name(pod));
        if (strcmp(policy, "Unfinished") == 0 && !is_finished(pod))
            violate(g->sim, "partial clean-up: %s is over (Unfinished), pod %s is %s", j->key,
                    object_name(pod), phase_of(pod));
    }
    map_for_each (n, &j->kept) {
        const struct pod_record *p = n->value;

        if (p->gone && !p->by_hand && !j->clean_up_edited && strcmp(policy, "All") != 0)
            violate(g->sim, "clean-up %s of %s took the finished pod %s", policy, j->key, p->key);
    }
}

struct tally {
    bool clash;
    int64_t running;
    size_t missing, rank;
    const char *unexplained; /* a pod that waits and does not say what for */
};

static void check_replica(struct judging *g, const struct json *job, const struct json *entry,
                          struct tally *t)
{
    const char *name = json_get_string(entry, "name", "");
    const struct json *pod = pod_named(g, object_namespace(job), name);
    bool own = pod && object_is_controlled_by(pod, object_uid(job));
    bool master = t->rank++ == 0;

    t->clash |= pod && !own;
    t->running += own && is_phase(pod, "Running");
    t->missing += !pod && !json_string_is(json_get(entry, "phase"), "Succeeded");
    if (own && master && is_finished(pod))
        violate(g->sim, "stuck: the master of %s is %s, the job is %s", object_name(job),
                phase_of(pod), phase_of(job));
    if (own && is_phase(pod, "Pending") && !*json_string(json_at(pod, "spec", "nodeName"), "") &&
        !json_string_is(json_get(object_condition(pod, "PodScheduled"), "status"), "False"))
        t->unexplained = name;
}

static void check_running_job(struct judging *g, const struct json *job)
{
    struct tally t = {0};

    json_each (task, json_at(job, "status", "tasks"))
        json_each (entry, json_get(task, "replicas"))
            check_replica(g, job, entry, &t);
    if (t.clash && !json_string_is(json_at(job, "status", "reason"), "NameClash"))
        violate(g->sim, "a name of %s is taken and its status says %s", object_name(job),
                json_string(json_at(job, "status", "reason"), "nothing"));
    if (!t.clash && t.missing)
        violate(g->sim, "stuck: %zu pods of %s are missing", t.missing, object_name(job));
    if (!t.clash && t.unexplained)
        violate(g->sim, "stuck: pod %s waits and nobody says why", t.unexplained);
    if (t.running > 0 && !is_phase(job, "Running"))
        violate(g->sim, "%lld pods of %s run, the job is %s", (long long)t.running,
                object_name(job), phase_of(job));
    if (!t.running && is_phase(job, "Running"))
        violate(g->sim, "no pod of %s runs, the job is Running", object_name(job));
}

static void check_paused_job(struct judging *g, const struct json *job)
{
    if (!is_phase(job, "Paused"))
        violate(g->sim, "stuck: %s is to be paused and is %s", object_name(job), phase_of(job));
    for (size_t i = 0; i < g->pods.len; i++)
        if (object_is_controlled_by(g->pods.items[i], object_uid(job)))
            violate(g->sim, "stuck: %s is paused, pod %s is there", object_name(job),
                    object_name(g->pods.items[i]));
}

static void check_job(struct judging *g, const struct json *job)
{
    const struct job_record *j = observer_job(g->o, object_uid(job));

    if (object_is_deleting(job))
        violate(g->sim, "stuck: job %s is still being deleted", object_name(job));
    check_job_plan(g, job);
    if (j->final)
        check_left_pods(g, job, j);
    else if (j->pause_wanted)
        check_paused_job(g, job);
    else
        check_running_job(g, job);
}

/* --- pods, processes, leftovers ------------------------------------------------------------------
 */

static void check_process(void *arg, struct process *p)
{
    struct judging *g = arg;
    const struct json *pod = pod_named(g, p->ns, p->name);

    if (!pod || strcmp(object_uid(pod), p->uid) != 0)
        violate(g->sim, "stuck: the node still has %s (%s), the API has not", p->name,
                p->run.alive ? "running" : "ended");
    else if (p->run.alive && !is_phase(pod, "Running"))
        violate(g->sim, "%s runs, the API says %s", p->name, phase_of(pod));
    else if (!p->run.alive && !is_finished(pod))
        violate(g->sim, "%s has ended, the API says %s", p->name, phase_of(pod));
}

static void check_pod(struct judging *g, const struct json *pod)
{
    bool bound = *json_string(json_at(pod, "spec", "nodeName"), "");

    if (object_is_deleting(pod))
        violate(g->sim, "stuck: pod %s is still being deleted", object_name(pod));
    else if (bound && !is_finished(pod) &&
             !g->sim->runtime->ops->find(g->sim->runtime, object_uid(pod)))
        violate(g->sim, "stuck: pod %s is %s on the node, which has nothing of it",
                object_name(pod), phase_of(pod));
}

static void check_owners(struct judging *g, const struct map *uids)
{
    map_for_each (n, &g->o->shelves) {
        struct list l = all_of(g->o, g->arena, n->key, NULL);

        for (size_t i = 0; i < l.len; i++)
            json_each (ref, json_at(l.items[i], "metadata", "ownerReferences"))
                if (!map_gets(uids, json_get_string(ref, "uid", "")))
                    violate(g->sim, "orphan: %s %s, its owner %s is gone", n->key,
                            object_name(l.items[i]), json_get_string(ref, "name", ""));
    }
}

static void collect_uids(struct judging *g, struct map *uids)
{
    map_for_each (n, &g->o->shelves) {
        struct list l = all_of(g->o, g->arena, n->key, NULL);

        for (size_t i = 0; i < l.len; i++)
            if (map_puts(uids, object_uid(l.items[i]), (void *)l.items[i], NULL) < 0)
                abort();
    }
}

static void check_leases(struct judging *g, const struct map *uids)
{
    for (size_t i = 0; i < g->leases.len; i++) {
        const char *uid = object_label(g->leases.items[i], LABEL_JOB_UID);

        if (uid && !map_gets(uids, uid))
            violate(g->sim, "lease %s is held by a job that is gone",
                    object_name(g->leases.items[i]));
    }
}

/* Jobs may go on failing and restarting for a while after the last fault; when pods and jobs have
 * not changed for some time, nothing is under way. */
static void wait_for_quiet(struct observer *o)
{
    struct sim *s = o->sim;
    int64_t limit = sim_loop_now(s->loop) + 3600 * 1000;

    while (sim_loop_now(s->loop) - o->last_news_ms < QUIET_MS && !s->failed) {
        if (!sim_loop_step(s->loop) || sim_loop_now(s->loop) > limit) {
            violate(s, "never quiet: pods or jobs change for ever");
            return;
        }
    }
}

void observer_judge(struct observer *o)
{
    struct arena a = ARENA_INIT(VERDICT_BYTES);
    struct judging g = {.o = o, .sim = o->sim, .arena = &a};
    struct map uids = MAP_INIT;

    wait_for_quiet(o);
    g.now_ms = clock_now_ms(o->sim->clock);
    g.jobs = all_jobs(o, &a);
    g.pods = all_of(o, &a, PODS, NULL);
    g.services = all_of(o, &a, SERVICES, NULL);
    g.leases = all_of(o, &a, LEASES, SYSTEM_NAMESPACE);
    g.nodes = all_of(o, &a, NODES, NULL);
    g.groups = all_of(o, &a, GROUPS, NULL);
    g.queues = all_of(o, &a, QUEUES, NULL);
    for (size_t i = 0; i < g.jobs.len; i++)
        check_job(&g, g.jobs.items[i]);
    check_schedule(&g);
    for (size_t i = 0; i < g.pods.len; i++)
        check_pod(&g, g.pods.items[i]);
    sim_runtime_each(o->sim->runtime, check_process, &g);
    collect_uids(&g, &uids);
    check_owners(&g, &uids);
    check_leases(&g, &uids);
    map_release(&uids, NULL);
    arena_release(&a);
}
