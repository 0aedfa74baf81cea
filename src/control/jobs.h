/*
 * jobs.h - the controller of every job kind (core/job.h), of apps, and of Kubernetes' own Jobs:
 * looks when something changed, asks the core what to do, has it done.
 */
#ifndef MUSTER_CONTROL_JOBS_H
#define MUSTER_CONTROL_JOBS_H

#include "client/cache.h"
#include "control/applier.h"
#include "control/trouble.h"
#include "core/job.h"

struct jobs;

/* old NULL: it is new here. */
typedef void jobs_fn(void *arg, const struct kind *k, const struct json *job,
                     const struct json *old);

struct jobs_options {
    struct transport *transport;
    struct clock *clock;
    struct applier *applier;
    struct trouble *trouble;
    struct cache *pods;     /* of all namespaces; pass its events to jobs_on_pod */
    struct cache *groups;   /* PodGroups, likewise: jobs_on_group */
    bool shared_network;    /* see core/job.h */
    bool apps_unseen;       /* likewise */
    bool batch;             /* Kubernetes' own Jobs and CronJobs, too */
    const char *lease_ns;   /* likewise; outlives the jobs */
    struct idle_times idle; /* likewise */
    jobs_fn *on_job;        /* a job was added or has changed; may be NULL */
    void (*on_gone)(void *arg, const struct json *job); /* was deleted; may be NULL */
    void (*on_ready)(void *arg); /* every job was told that was there; may be NULL */
    void *arg;
};

struct jobs *jobs_new(const struct jobs_options *options) must_check;
void jobs_free(struct jobs *j); /* after the applier, before the cache of pods */
void jobs_on_pod(struct jobs *j, enum cache_event event, const struct json *pod);
void jobs_on_group(struct jobs *j, const struct json *group);
void jobs_on_synced(struct jobs *j); /* either of the caches it was given */
/* Every job there is, with old NULL; no TensorBoards. */
void jobs_each(const struct jobs *j, jobs_fn *fn, void *arg);
const char *jobs_trouble(const struct jobs *j); /* see control_trouble */

#endif
