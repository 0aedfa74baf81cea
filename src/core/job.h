/*
 * job.h - the interface of a job kind: a pure function from what exists to what to do. A new job
 * kind is a table in api/, a reconcile file here, and one line in job_kinds[] (core/job.c).
 */
#ifndef MUSTER_CORE_JOB_H
#define MUSTER_CORE_JOB_H

#include "core/plan.h"

/* status.reason of a job that could not run even on an empty cluster. */
#define JOB_NEVER_FITS "NeverFits"
#define JOB_QUOTA_FORBIDS "QuotaForbids" /* nor with the whole quota of its queue */

/* How long until an unused app is Idle, and until its pod is removed; 0: the defaults (core/app.h),
 * negative: never. */
struct idle_times {
    int64_t idle_ms, reclaim_ms;
};

/* All inputs of a decision. Objects come from caches and may be stale. */
struct job_snapshot {
    const struct json *job;
    const struct json *const
        *pods; /* in the job's namespace: controlled by it, or with one of its wanted names */
    size_t pods_len;
    const struct json *const *ends; /* the job's pods that succeeded and are gone */
    size_t ends_len;
    const struct json *const *services; /* likewise */
    size_t services_len;
    /* Port leases: the job's own if port_leases_suffice(), otherwise all. */
    const struct json *const *leases;
    size_t leases_len;
    const char *lease_ns; /* their namespace; NULL: SYSTEM_NAMESPACE */
    /* The object with the name of the job's TensorBoard (core/tensorboard.h), whatever its owner;
     * NULL when there is none, or the job wants none. */
    const struct json *tensorboard;
    const struct json *const *jobs; /* a CronJob's */
    size_t jobs_len;
    const struct json *group; /* the job's PodGroup (job_group.c), or NULL */
    /* The kind of object the API refused to create last time, and its message; NULL: none. */
    const struct kind *refused;
    const char *refusal;
    int64_t refused_until_ms; /* no point in retrying before */
    /* true on a single machine, where replicas share the network: MASTER_PORT is leased. On a
     * cluster it is a constant. */
    bool shared_network;
    bool apps_unseen; /* no proxy of ours serves apps, so their use is not observed (core/app.h) */
    struct idle_times idle;
    int64_t watched_since_ms; /* since when app use is observed; 0: always */
    int64_t now_ms;
};

struct job_kind {
    const struct kind *kind;
    bool without_port; /* needs no port leases */
    /* Fills plan. Not called for a job being deleted. Fails only when out of memory (the plan's
     * arena). */
    void (*reconcile)(const struct job_snapshot *s, struct plan *plan);
    /* Names of the pods and Services the job would use: the controller adds foreign objects of
     * those names to the snapshot. NULL: its names cannot clash. */
    void (*wanted_names)(struct arena *a, const struct json *job,
                         void (*say)(void *arg, const char *name), void *arg);
};

extern const struct job_kind job_kind_pytorch, job_kind_mpi;

extern const struct job_kind *const job_kinds[]; /* ends with NULL */

bool job_is_kind(const struct kind *k);

/* Kubernetes' Jobs and CronJobs, run here where there is no Kubernetes. */
extern const struct job_kind job_kind_batch, job_kind_cron;

extern const struct job_kind *const batch_kinds[]; /* ends with NULL */

bool batch_is_kind(const struct kind *k);

/* Decides about s->job: its kind's reconcile(), or its deletion when the time in its annotation has
 * come. */
void job_look(const struct job_kind *k, const struct job_snapshot *s, struct plan *plan);

#define JOB_REFUSED "Refused" /* status.reason when the API refuses its objects */
/* The API's reason without the object's name; "" when nothing is refused. */
const char *job_refusal_words(const struct job_snapshot *s);

/* The name of a job's PodGroup and TensorBoard: <job>-<hash5> */
const char *job_child_name(struct arena *a, const struct json *job);

/* Turns the spec's nodeName into a request to the scheduler. */
void job_ask_for_node(struct arena *a, struct json *pod_spec);

/* Deletes unused leases. A lease is in use while its job exists, or any of its pods may run. */
void job_release_ports(const struct json *const *leases, size_t leases_len,
                       bool (*is_used)(void *arg, const struct json *lease, const char *uid),
                       void *arg, struct plan *plan);

#endif
