/*
 * job.h - what every job kind gives: a pure function from what is there to what to do. A new job
 * kind is its table in api/, one reconcile file here, and one line in job_kinds[] (core/job.c).
 */
#ifndef MUSTER_CORE_JOB_H
#define MUSTER_CORE_JOB_H

#include "core/plan.h"

/* A job's status.reason when it could not run if all were free. */
#define JOB_NEVER_FITS "NeverFits"

/* After how long an app that nobody uses is Idle, and its pod removed; 0: the defaults
 * (core/app.h), less: never. */
struct idle_times {
    int64_t idle_ms, reclaim_ms;
};

/* Everything a decision may look at. Objects are as the caches hold them, possibly old. */
struct job_snapshot {
    const struct json *job;
    const struct json *const
        *pods; /* of the job's namespace with its UID as controller, or holding a wanted name */
    size_t pods_len;
    const struct json *const *ends; /* pods of the job that succeeded and are gone */
    size_t ends_len;
    const struct json *const *services; /* likewise */
    size_t services_len;
    /* Of ports: the one the job holds, if port_lease_suffices(), else all jobs'. */
    const struct json *const *leases;
    size_t leases_len;
    const char *lease_ns; /* where they are; NULL: SYSTEM_NAMESPACE */
    /* What holds the name the job's TensorBoard has (core/tensorboard.h), whatever its owner; NULL
     * when nothing does, or the job wants none. */
    const struct json *tensorboard;
    const struct json *const *jobs; /* of a CronJob */
    size_t jobs_len;
    const struct json *group; /* the job's PodGroup (job_group.c), or NULL */
    /* What the API refused last time of what the job was to be made of, and its words; NULL:
     * nothing. */
    const struct kind *refused;
    const char *refusal;
    int64_t refused_until_ms; /* before it is of no use to ask again */
    /* true on one machine, where replicas share the network: MASTER_PORT is leased. On a cluster it
     * is a constant. */
    bool shared_network;
    bool
        apps_unseen; /* nothing tells when an app is used: no proxy of ours shows it (core/app.h) */
    struct idle_times idle;
    int64_t watched_since_ms; /* from when on something looks whether apps are used; 0: always */
    int64_t now_ms;
};

struct job_kind {
    const struct kind *kind;
    bool without_port; /* needs no leases in the snapshot */
    /* Fills plan. The job is not being deleted. Cannot fail but for memory (the plan's arena). */
    void (*reconcile)(const struct job_snapshot *s, struct plan *plan);
    /* Names of pods and services the job would use: the controller puts foreign holders of them
     * into the snapshot. NULL: their names are nobody else's. */
    void (*wanted_names)(struct arena *a, const struct json *job,
                         void (*say)(void *arg, const char *name), void *arg);
};

extern const struct job_kind job_kind_pytorch, job_kind_mpi;

extern const struct job_kind *const job_kinds[]; /* ends with NULL */

bool job_is_kind(const struct kind *k);

/* Kubernetes' own Jobs and CronJobs, which are run where Kubernetes itself is not. */
extern const struct job_kind job_kind_batch, job_kind_cron;

extern const struct job_kind *const batch_kinds[]; /* ends with NULL */

bool batch_is_kind(const struct kind *k);

/* What to do about s->job: its kind's reconcile(), or its deletion when the time for that, in an
 * annotation of it, has come. */
void job_look(const struct job_kind *k, const struct job_snapshot *s, struct plan *plan);

#define JOB_REFUSED "Refused" /* the reason where the API takes no part of it */
/* Why, in the API's words, without which part it was; "" when it takes them. */
const char *job_refusal_words(const struct job_snapshot *s);

/* What a job's PodGroup and TensorBoard are called: <job>-<hash5> */
const char *job_child_name(struct arena *a, const struct json *job);

/* The pod asks the scheduler for the node that its spec names. */
void job_ask_for_node(struct arena *a, struct json *pod_spec);

/* Leases nobody uses: the plan deletes them. A lease is used while its job exists, or any pod of it
 * that may run. */
void job_release_ports(const struct json *const *leases, size_t leases_len,
                       bool (*is_used)(void *arg, const struct json *lease, const char *uid),
                       void *arg, struct plan *plan);

#endif
