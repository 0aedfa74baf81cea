/*
 * jobs.h - the controller of every job kind (core/job.h), of apps, and of Kubernetes' Jobs: on each
 * change it asks the core what to do, and has it done.
 */
#ifndef MUSTER_CONTROL_JOBS_H
#define MUSTER_CONTROL_JOBS_H

#include "client/cache.h"
#include "control/applier.h"
#include "control/trouble.h"
#include "core/job.h"

struct jobs;

/* old NULL: newly added. */
typedef void jobs_fn(void *arg, const struct kind *k, const struct json *job,
                     const struct json *old);

struct jobs_options {
    struct transport *transport;
    struct clock *clock;
    struct applier *applier;
    struct trouble *trouble;
    struct cache *pods;     /* in all namespaces; pass its events to jobs_on_pod */
    struct cache *groups;   /* PodGroups; pass its events to jobs_on_group */
    bool shared_network;    /* see core/job.h */
    bool apps_unseen;       /* see core/job.h */
    bool batch;             /* Kubernetes' Jobs and CronJobs, too */
    const char *lease_ns;   /* see core/job.h; must outlive this */
    struct idle_times idle; /* see core/job.h */
    jobs_fn *on_job;        /* added or changed; may be NULL */
    void (*on_gone)(void *arg, const struct json *job); /* deleted; may be NULL */
    void (*on_ready)(void *arg); /* every existing job was reported; may be NULL */
    void *arg;
};

struct jobs *jobs_new(const struct jobs_options *options) must_check;
void jobs_free(struct jobs *j); /* after the applier, before the cache of pods */
void jobs_on_pod(struct jobs *j, enum cache_event event, const struct json *pod);
void jobs_on_group(struct jobs *j, const struct json *group);
void jobs_on_synced(struct jobs *j); /* call it for either of the given caches */
/* Every existing job, with old NULL; no TensorBoards. */
void jobs_each(const struct jobs *j, jobs_fn *fn, void *arg);
const char *jobs_trouble(const struct jobs *j); /* see control_trouble */

#endif
