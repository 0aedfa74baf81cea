/*
 * job_view.h - one job as a decision sees it: its replicas in rank order, each with its pod, its
 * Service and its last entry in the job's status.
 *
 * Attempts. Pods are replaced under the same name and caches may be stale, so each pod carries a
 * number (ANNOTATION_ATTEMPT): how often its replica had been restarted and the job been paused
 * when it was created. Both counts are in the job's status, are raised by a status write that fails
 * on conflict, and never decrease. A pod with a smaller number than the status has is *superseded*:
 * its fate is already decided, so it can neither be charged twice nor be mistaken for its
 * replacement, whatever a cache shows and whichever process crashed when.
 */
#ifndef MUSTER_CORE_JOB_VIEW_H
#define MUSTER_CORE_JOB_VIEW_H

#include "core/job_rules.h"
#include "core/pod_state.h"
#include "core/ports.h"
#include "core/replica_names.h"

#define ANNOTATION_ATTEMPT "batch.tensorstack.dev/attempt"

#define REPLICAS_LIMIT 10000 /* over all replica types of a job */
#define BACKOFF_LIMIT_DEFAULT 3

enum job_phase {
    JOB_NEW, /* no status yet */
    JOB_PENDING,
    JOB_RUNNING,
    JOB_PAUSED,
    JOB_RESUMING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_UNKNOWN,
};

enum replica_phase {
    REPLICA_CREATING,
    REPLICA_PENDING,
    REPLICA_RUNNING,
    REPLICA_SUCCEEDED,
    REPLICA_FAILED,
    REPLICA_UNKNOWN,
    REPLICA_DELETED,
    REPLICA_PHASE_COUNT
};

enum job_ending { ENDING_NONE, ENDING_SUCCEEDED, ENDING_FAILED, ENDING_BUDGET, ENDING_DEADLINE };

struct replica {
    const struct role *role;
    const char *type, *name;
    int64_t index, rank;

    const struct json *pod;      /* ours, or NULL */
    const char *taken_by;        /* "pod" or "service": a foreign object with the name; or NULL */
    const struct json *service;  /* ours, or NULL */
    const struct json *recorded; /* its entry in the job's status, or NULL */

    struct pod_state state; /* of pod; meaningless without one */
    int64_t pod_attempt;
    bool outdated; /* the cache is behind the status about this pod */

    /* From the status; raised by a decision to restart. */
    int64_t restarts, restart_ms, restart_delay_s;
    int64_t gone_ms; /* when its pod was found unexpectedly missing; 0: it was not */
    bool renewed;    /* restarted by this pass */

    enum replica_phase phase; /* to be written to the status */
};

struct job_view {
    const struct job_snapshot *snapshot;
    struct arena *arena;
    const struct job_rules *rules;
    const struct kind *kind;
    const struct json *job, *status;
    const struct json *spec; /* in the layout the rules expect */
    const char *ns, *name, *uid;
    char hash5[HASH5_SIZE];
    int64_t now_ms;

    struct role *roles;
    size_t roles_len;
    struct replica *replicas; /* [0] is the master */
    size_t len;
    const struct json **surplus; /* our pods that belong to no replica */
    size_t surplus_len;
    const struct replica *clash; /* the first replica whose name is taken, or NULL */

    enum job_phase was;   /* according to the status */
    enum job_phase phase; /* to be written */
    enum restart_scope scope;
    int64_t backoff_limit;
    bool pause_wanted, resumed;
    bool elastic;

    /* From the status; raised by decisions. */
    int64_t backoff_count, pause_count, start_ms;
    struct port_claim port;

    bool undecided;                       /* whether a failed pod's end counts is not known yet */
    bool commits;                         /* this pass restarts or pauses, and only writes that */
    enum job_ending ending;               /* this pass ends the job */
    const struct replica *culprit;        /* the replica that caused it, or NULL */
    const char *ending_text;              /* the complete sentence */
    const char *why_reason, *why_message; /* "" when there is nothing to explain */
    const struct replica *why_replica;    /* the replica that failed; NULL: none did */
    int64_t look_again_ms; /* when the explanation may change without any event; 0: never */
    int64_t counts[REPLICA_PHASE_COUNT];
};

void job_view_init(struct job_view *v, const struct job_rules *rules, const struct job_snapshot *s,
                   struct arena *a);

const char *job_phase_name(enum job_phase phase);
const char *replica_phase_name(enum replica_phase phase);

static inline bool job_phase_is_final(enum job_phase phase)
{
    return phase == JOB_SUCCEEDED || phase == JOB_FAILED;
}

/* Ended, by this pass or earlier. */
static inline bool job_is_over(const struct job_view *v)
{
    return v->ending != ENDING_NONE || job_phase_is_final(v->was);
}

/* The attempt a pod of this replica must have to count. */
static inline int64_t replica_attempt(const struct job_view *v, const struct replica *r)
{
    return r->restarts + v->pause_count;
}

static inline bool replica_is_superseded(const struct job_view *v, const struct replica *r)
{
    return r->pod && r->pod_attempt < replica_attempt(v, r);
}

/* Its pod ended on its own, this has not been handled, and it counts. */
bool replica_has_ended(const struct job_view *v, const struct replica *r);
/* When its replacement may be created; 0: now. */
int64_t replica_due_ms(const struct job_view *v, const struct replica *r);
/* Fills each replica's phase and the counts, after all decisions. */
void job_view_settle(struct job_view *v);

/* Whether spec.torchrunConfig, spec.elastic ... is on, in either spelling. */
bool switched_on(const struct json *config);
/* The main container: named as in the rules, else the first. NULL when there is none. */
const struct json *main_container(const struct job_rules *rules, const struct json *pod_spec);
/* Replicas per entry of replicaSpecs; counts must have room for all entries. */
void replica_counts(const struct json *spec, int64_t *counts);

#endif
