/*
 * job_view.h - one job as a decision sees it: its replicas in the order of their ranks, each with
 * its pod, its service and what the job's status last said of it.
 *
 * Attempts. Pods are replaced under the same name, and caches may be old, so each pod carries a
 * number (annotation ANNOTATION_ATTEMPT): how often its replica had been restarted and the job been
 * paused when it was made. Both counts are in the job's status, are raised by a status write that
 * fails on conflict, and never fall. A pod with a smaller number than the status says is
 * *superseded*: whatever became of it has been decided already, so it can neither be charged twice
 * nor be mistaken for its replacement, whatever a cache shows and whichever process was killed
 * when.
 */
#ifndef MUSTER_CORE_JOB_VIEW_H
#define MUSTER_CORE_JOB_VIEW_H

#include "core/job_rules.h"
#include "core/pod_state.h"
#include "core/ports.h"
#include "core/replica_names.h"

#define ANNOTATION_ATTEMPT "batch.tensorstack.dev/attempt"

#define REPLICAS_LIMIT 10000 /* of one job, all types together */
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
    const char *taken_by;        /* "pod" or "service": has the name and is not ours; or NULL */
    const struct json *service;  /* ours, or NULL */
    const struct json *recorded; /* its entry in the job's status, or NULL */

    struct pod_state state; /* of pod; meaningless without one */
    int64_t pod_attempt;
    bool outdated; /* the cache shows less of the pod than the status already knows */

    /* From the status; a decision to restart raises them. */
    int64_t restarts, restart_ms, restart_delay_s;
    int64_t gone_ms; /* when its pod was found missing unexpectedly; 0: it was not */
    bool renewed;    /* this look restarts it */

    enum replica_phase phase; /* what the status will say */
};

struct job_view {
    const struct job_snapshot *snapshot;
    struct arena *arena;
    const struct job_rules *rules;
    const struct kind *kind;
    const struct json *job, *status;
    const struct json *spec; /* in the layout the rules read */
    const char *ns, *name, *uid;
    char hash5[HASH5_SIZE];
    int64_t now_ms;

    struct role *roles;
    size_t roles_len;
    struct replica *replicas; /* [0] is the master */
    size_t len;
    const struct json **surplus; /* our pods that no replica wants */
    size_t surplus_len;
    const struct replica *clash; /* the first replica whose name is taken, or NULL */

    enum job_phase was;   /* phase in the status */
    enum job_phase phase; /* that it will have */
    enum restart_scope scope;
    int64_t backoff_limit;
    bool pause_wanted, resumed;
    bool elastic;

    /* From the status; decisions raise them. */
    int64_t backoff_count, pause_count, start_ms;
    struct port_claim port;

    bool undecided;         /* whether a failed pod's end counts: more is to be heard first */
    bool commits;           /* this look restarts or pauses: it only writes that down */
    enum job_ending ending; /* this look ends the job */
    const struct replica *culprit;        /* the replica whose end caused it; NULL: none */
    const char *ending_text;              /* the whole sentence */
    const char *why_reason, *why_message; /* "" when there is nothing to explain */
    const struct replica *why_replica;    /* whose failure that is; NULL: nobody's */
    int64_t look_again_ms; /* what is explained may change then without a word; 0: never */
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

/* Ended, now or before. */
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

/* Its pod ended by itself, this is news, and it counts. */
bool replica_has_ended(const struct job_view *v, const struct replica *r);
/* When its replacement may be made; 0: now. */
int64_t replica_due_ms(const struct job_view *v, const struct replica *r);
/* Fills phase of every replica and counts, after all decisions. */
void job_view_settle(struct job_view *v);

/* spec.torchrunConfig, spec.elastic, ...: on? Both spellings are read. */
bool switched_on(const struct json *config);
/* The container that does the work: called as the rules say, else the first. NULL when there is
 * none. */
const struct json *main_container(const struct job_rules *rules, const struct json *pod_spec);
/* How many replicas each entry of replicaSpecs has; counts has room for all entries. */
void replica_counts(const struct json *spec, int64_t *counts);

#endif
