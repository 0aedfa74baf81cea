/*
 * job_rules.h - in what job kinds differ. All else (judging, budget, deadline, pause, clean-up,
 * status, events, why) is the same for all of them, in job_*.c; a kind's reconcile file is its
 * rules and calls job_run_look().
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
    const struct json *spec; /* its entry of replicaSpecs; NULL: the job has it without saying so */
    const char *type;
    int64_t count;
    enum restart_policy policy;
    bool single; /* there is one replica, and its name has no index */
};

struct job_rules {
    const struct kind *kind;
    /* Replicas meet at the master's name and port: each has a Service, the job holds a port. */
    bool rendezvous;
    /* The master leads the others, who only serve it: its pod is made after theirs and cannot do
     * without any of them. When one of them ends early the attempt has failed, and what ended is
     * renewed together with the master, for the price of one. */
    bool led;
    enum restart_scope scope; /* when runPolicy.restartScope says nothing */
    /* Names of the container that does the work; else it is the first. Ends with NULL. */
    const char *const *main_containers;
    /* A label of pods that has the job's name, beside those all kinds have; may be NULL. */
    const char *name_label;
    /* Variables that make the replicas a group: a user who sets one is warned. Ends with NULL. */
    const char *const *group_variables;

    /* The spec in the layout the other functions read; NULL: it has only one. */
    const struct json *(*unify)(struct arena *a, const struct json *spec);
    /* Fills v->roles and v->roles_len from v->spec. The first replica of the first is the master.
     */
    void (*assign_roles)(struct job_view *v);
    /* The budget when runPolicy.backoffLimit says nothing; NULL: BACKOFF_LIMIT_DEFAULT. */
    int64_t (*budget)(const struct job_view *v);
    /* A new value: what the replica's pod runs, but for restartPolicy. */
    struct json *(*pod_spec)(const struct job_view *v, const struct replica *r);
    /* How many processes the replica's program starts; NULL: one. */
    int64_t (*processes)(const struct job_view *v, const struct replica *r);
    /* What else must be there before pods are made; may be NULL. */
    void (*prepare)(const struct job_view *v, struct plan *plan);
    /* What becomes of this pod of an ended job; NULL: as runPolicy.cleanUpPolicy says of all. */
    enum clean_up_policy (*clean_up)(const struct job_view *v, const struct json *pod,
                                     enum clean_up_policy of_all);
};

/* What a kind's job_kind calls (job_run.c). */
void job_run_look(const struct job_rules *rules, const struct job_snapshot *s, struct plan *plan);
void job_run_names(const struct job_rules *rules, struct arena *a, const struct json *job,
                   void (*say)(void *arg, const char *name), void *arg);

#endif
