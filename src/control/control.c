/* control.c - see control.h. Creates and frees the parts and what they share. */
#include "control/control.h"

#include <stdlib.h>

#include "api/object.h"
#include "client/cache.h"
#include "control/applier.h"
#include "control/gc.h"
#include "control/jobs.h"
#include "control/nodes.h"
#include "control/notifications.h"
#include "control/scheduler.h"
#include "control/sweeps.h"

struct control {
    struct event_recorder *events;
    struct applier *applier;
    struct cache *pods, *groups;
    struct trouble trouble;
    struct jobs *jobs;
    struct scheduler *scheduler;
    struct nodes *nodes;
    struct notifications *notifications;
    struct sweeps *sweeps;
    struct gc *gc;
};

static bool pod_rests(void *arg, const struct json *head)
{
    (void)arg;
    return object_rests(head);
}

static void on_pod(void *arg, enum cache_event event, const struct json *pod,
                   const struct json *old)
{
    struct control *c = arg;

    (void)old;
    if (c->jobs)
        jobs_on_pod(c->jobs, event, pod);
    if (c->scheduler)
        scheduler_on_pod(c->scheduler, event, pod);
    if (c->nodes)
        nodes_on_pod(c->nodes, event, pod);
}

static void on_group(void *arg, enum cache_event event, const struct json *group,
                     const struct json *old)
{
    struct control *c = arg;

    (void)old;
    if (c->jobs)
        jobs_on_group(c->jobs, group);
    if (c->scheduler)
        scheduler_on_group(c->scheduler, event, group);
}

static void on_synced(void *arg)
{
    struct control *c = arg;

    if (c->jobs)
        jobs_on_synced(c->jobs);
    if (c->scheduler)
        scheduler_on_synced(c->scheduler);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct control *c = arg;

    trouble_say(&c->trouble, &kind_pod, err);
}

static void on_groups_trouble(void *arg, const struct err *err)
{
    struct control *c = arg;

    trouble_say(&c->trouble, &kind_pod_group, err);
}

#define READY_PODS 512    /* kept parsed; most have ended */
#define READY_GROUPS 4096 /* the same; waiting ones are read repeatedly */

static bool open_pods(struct control *c, const struct control_options *o)
{
    c->events = event_recorder_new(o->transport, o->clock, "muster");
    if (c->events)
        c->applier = applier_new(o->transport, o->clock, c->events);
    if (c->applier)
        c->pods = cache_new(&(struct cache_options){.transport = o->transport,
                                                    .clock = o->clock,
                                                    .kind = &kind_pod,
                                                    .ready_objects = READY_PODS,
                                                    .rests = pod_rests,
                                                    .on_change = on_pod,
                                                    .on_synced = on_synced,
                                                    .on_trouble = on_trouble,
                                                    .arg = c});
    if (c->pods)
        c->groups = cache_new(&(struct cache_options){.transport = o->transport,
                                                      .clock = o->clock,
                                                      .kind = &kind_pod_group,
                                                      .ready_objects = READY_GROUPS,
                                                      .on_change = on_group,
                                                      .on_synced = on_synced,
                                                      .on_trouble = on_groups_trouble,
                                                      .arg = c});
    return c->groups;
}

static void on_job(void *arg, const struct kind *k, const struct json *job, const struct json *old)
{
    struct control *c = arg;

    if (c->notifications)
        notifications_on_job(c->notifications, k, job, old);
    sweeps_on_job(c->sweeps, k, job);
}

static void on_job_gone(void *arg, const struct json *job)
{
    struct control *c = arg;

    sweeps_on_gone(c->sweeps, job);
}

static void on_jobs_ready(void *arg)
{
    struct control *c = arg;

    sweeps_on_ready(c->sweeps);
}

static bool open_notifications(struct control *c, const struct control_options *o)
{
    c->notifications = notifications_new(&(struct notifications_options){.transport = o->transport,
                                                                         .clock = o->clock,
                                                                         .trouble = &c->trouble,
                                                                         .webhook = o->webhook,
                                                                         .jobs = &c->jobs});
    return c->notifications;
}

static bool open_jobs(struct control *c, const struct control_options *o)
{
    if (o->webhook && !open_notifications(c, o))
        return false;
    c->sweeps = sweeps_new(o->transport, o->clock);
    if (!c->sweeps)
        return false;
    c->jobs = jobs_new(&(struct jobs_options){.transport = o->transport,
                                              .clock = o->clock,
                                              .applier = c->applier,
                                              .trouble = &c->trouble,
                                              .pods = c->pods,
                                              .groups = c->groups,
                                              .shared_network = o->shared_network,
                                              .apps_unseen = o->apps_unseen,
                                              .batch = o->parts & CONTROL_BATCH,
                                              .lease_ns = o->lease_ns,
                                              .idle = o->idle,
                                              .on_job = on_job,
                                              .on_gone = on_job_gone,
                                              .on_ready = on_jobs_ready,
                                              .arg = c});
    return c->jobs;
}

static bool open_scheduler(struct control *c, const struct control_options *o)
{
    c->scheduler = scheduler_new(&(struct scheduler_options){.transport = o->transport,
                                                             .clock = o->clock,
                                                             .applier = c->applier,
                                                             .trouble = &c->trouble,
                                                             .pods = c->pods,
                                                             .groups = c->groups,
                                                             .overcommit = o->overcommit,
                                                             .beside_default = o->beside_default});
    return c->scheduler;
}

static bool open_nodes(struct control *c, const struct control_options *o)
{
    c->nodes = nodes_new(&(struct nodes_options){.transport = o->transport,
                                                 .clock = o->clock,
                                                 .applier = c->applier,
                                                 .trouble = &c->trouble,
                                                 .pods = c->pods});
    return c->nodes;
}

struct control *control_new(const struct control_options *o, struct err *err)
{
    struct control *c = calloc(1, sizeof(*c));
    bool ok = c;

    if (ok)
        c->trouble.clock = o->clock;
    if (ok && o->parts & (CONTROL_JOBS | CONTROL_SCHEDULER | CONTROL_NODES))
        ok = open_pods(c, o);
    if (ok && o->parts & CONTROL_JOBS)
        ok = open_jobs(c, o);
    if (ok && o->parts & CONTROL_SCHEDULER)
        ok = open_scheduler(c, o);
    if (ok && o->parts & CONTROL_NODES)
        ok = open_nodes(c, o);
    if (ok && o->parts & CONTROL_GC)
        ok = (c->gc = gc_new(o->transport, o->clock, &c->trouble)) != NULL;
    if (ok)
        return c;
    err_set(err, ERR_INTERNAL, "out of memory");
    control_free(c);
    return NULL;
}

const char *control_trouble(const struct control *c)
{
    const char *why = c->pods ? cache_trouble(c->pods) : NULL;

    if (!why && c->groups)
        why = cache_trouble(c->groups);
    if (!why && c->jobs)
        why = jobs_trouble(c->jobs);
    return why || !c->scheduler ? why : scheduler_trouble(c->scheduler);
}

void control_free(struct control *c)
{
    if (!c)
        return;
    applier_free(c->applier); /* first: its plans call back into the parts */
    notifications_free(c->notifications);
    c->notifications = NULL;
    jobs_free(c->jobs);
    sweeps_free(c->sweeps);
    scheduler_free(c->scheduler);
    nodes_free(c->nodes);
    gc_free(c->gc);
    cache_free(c->pods);
    cache_free(c->groups);
    event_recorder_free(c->events);
    free(c);
}
