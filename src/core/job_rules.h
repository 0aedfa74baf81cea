/*
 * job_rules.h - how job kinds differ. Everything else (judging, budget, deadline, pause, clean-up,
 * status, events, explanations) is common, in job_*.c; a kind's reconcile file defines its rules
 * and calls job_run_look().
 */
#ifndef MUSTER_CORE_JOB_RULES_H
#define MUSTER_CORE_JOB_RULES_H

#include "core/job.h"
#include "core/restart.h"

struct job_view;
struct replica;

enum restart_scope { SCOPE_REPLICA, SCOPE_JOB };

enum clean_up_policy { CLEAN_UP_UNFINISHED, CLEAN_UP_ALL, CLEAN_UP_NONE };

/* A group of replicas with one template. */
struct role {
    const struct json *spec; /* its entry of replicaSpecs; NULL: implied */
    const char *type;
    int64_t count;
    enum restart_policy policy;
    bool single; /* exactly one replica, and no index in its name */
};

struct job_rules {
    const struct kind *kind;
    /* Replicas meet at the master's name and port: each has a Service, and the job leases a
     * port. */
    bool rendezvous;
    /* The master leads and the others only serve it: its pod is created last and needs all of them.
     * If one of them ends early the attempt has failed, and it is replaced together with the
     * master, charged once. */
    bool led;
    enum restart_scope scope; /* default of runPolicy.restartScope */
    /* Names of the main container; otherwise it is the first. NULL-terminated. */
    const char *const *main_containers;
    /* An additional pod label with the job's name; may be NULL. */
    const char *name_label;
    /* Variables that form the process group: a user who sets one gets a warning.
     * NULL-terminated. */
    const char *const *group_variables;

    /* The spec in the layout the other functions expect; NULL: there is only one. */
    const struct json *(*unify)(struct arena *a, const struct json *spec);
    /* Fills v->roles and v->roles_len from v->spec. The first replica of the first role is the
     * master. */
    void (*assign_roles)(struct job_view *v);
    /* Default of runPolicy.backoffLimit; NULL: BACKOFF_LIMIT_DEFAULT. */
    int64_t (*budget)(const struct job_view *v);
    /* A new pod spec for the replica, without restartPolicy. */
    struct json *(*pod_spec)(const struct job_view *v, const struct replica *r);
    /* How many processes the replica's program starts; NULL: one. */
    int64_t (*processes)(const struct job_view *v, const struct replica *r);
    /* Other objects needed before the pods; may be NULL. */
    void (*prepare)(const struct job_view *v, struct plan *plan);
    /* What to do with this pod of an ended job; NULL: runPolicy.cleanUpPolicy for all. */
    enum clean_up_policy (*clean_up)(const struct job_view *v, const struct json *pod,
                                     enum clean_up_policy of_all);
};

/* Called by each kind's job_kind (job_run.c). */
void job_run_look(const struct job_rules *rules, const struct job_snapshot *s, struct plan *plan);
void job_run_names(const struct job_rules *rules, struct arena *a, const struct json *job,
                   void (*say)(void *arg, const char *name), void *arg);

#endif
