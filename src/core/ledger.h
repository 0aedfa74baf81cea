/*
 * ledger.h - who holds what, who waits for it, kept up to date by what changed: nodes, queues,
 * groups of pods, their members. The scheduler decides over it (schedule.h).
 *
 * A group is a PodGroup and the pods labelled with its name, or one pod by itself. Its room is
 * recorded in the PodGroup's status (placements) before any of its pods is bound; a member that is
 * being replaced keeps the place recorded for its name as long as the group's owner wants it
 * (spec.members). So room is kept over restarts of pods, of the scheduler and of its machine.
 *
 * Told of every change by the caller; reads whole objects back through find() when it has to write
 * about them. Pure: no I/O, no clock. Memory is the heap's, since it lives as long as the
 * scheduler; when it runs out the ledger is broken and has to be made anew.
 */
#ifndef MUSTER_CORE_LEDGER_H
#define MUSTER_CORE_LEDGER_H

#include "api/kind.h"
#include "api/scheduler_config.h"
#include "base/map.h"
#include "core/gpus.h"
#include "core/pod_state.h"
#include "core/resources.h"

/* Conditions of a PodGroup: its room was taken; others are stopped to make room for it. */
#define CONDITION_PREEMPTED "Preempted"
#define CONDITION_PREEMPTING "Preempting"

#define GROUP_ROLES_LIMIT 16
#define HOPELESS_LIMIT 16

/* Kinds of preferences for nodes. */
enum liking { LIKING_NODE, LIKING_PODS, LIKING_SPREAD, LIKING_TAINTS, LIKINGS };

/* Why a group waits. */
enum wait_reason {
    WAIT_NONE,
    WAIT_MEMBERS,     /* its owner has not made enough pods yet */
    WAIT_STOPPING,    /* its room was taken, and pods of it are still being stopped */
    WAIT_NO_QUEUE,    /* there is no such queue */
    WAIT_NAMESPACE,   /* the queue is not for its namespace */
    WAIT_CLOSED,      /* the queue is closed */
    WAIT_NO_NODE,     /* none is ready */
    WAIT_CORDONED,    /* it would fit if no node were cordoned */
    WAIT_NOT_READY,   /* it would fit if all nodes were ready */
    WAIT_NEVER_FITS,  /* not even on empty nodes */
    WAIT_QUOTA_NEVER, /* the queue's quota alone forbids it */
    WAIT_QUOTA,       /* the queue's quota is used up */
    WAIT_RESOURCES,   /* nodes are full */
    WAIT_TURN,        /* others go first */
};

/* Where a group stands. */
enum group_phase {
    GROUP_UNTOLD,
    GROUP_PENDING,
    GROUP_RUNNING,
    GROUP_PAUSED,
    GROUP_FINISHED,
    GROUP_EMPTY,
};

struct node_room {
    char *name;
    bool exists, ready, tainted;
    bool cordoned;  /* it would be ready */
    bool elsewhere; /* it has an endpoint: a kubelet or a muster node, not muster up's own */
    uint64_t marks; /* of its labels, annotations, taints and allocatable */
    struct resources total, used;
    uint64_t gpus, gpus_used; /* by index; those that are had whole */
    struct gpu_shares
        shares; /* an empty set: they are counted, and a device plugin picks the GPU */
    struct gpu_links links;
    struct member *holders;   /* whose room is here */
    struct resources ending;  /* of used: held by pods that are being stopped */
    struct resources claimed; /* by groups at the head of the line, in this decision */
    struct resources beside;  /* the claims: what those behind may take there and keep */
    struct resources spare;   /* that victims would leave, in this decision */
    struct resources before;  /* used, before a trial */
    int64_t claimed_from_ms;  /* no claim of this decision is used before; 0: who knows */
    bool allowed;             /* for the member that is being placed */
    int64_t liking[LIKINGS];  /* of that member */
};

/* Who holds most of something, for words. */
struct holders {
    uint64_t at; /* ledger.walks when it was found out */
    const struct group *most, *second;
    int64_t len;
};

struct queue_entry {
    char *name;
    bool exists, closed, preemptible, everybody, on_some_nodes;
    int priority;
    int64_t generation;
    int64_t max_duration_ms; /* 0: no limit */
    bool limited[RESOURCE_COUNT];
    struct resources quota, used;
    struct resources reserved;        /* quota of those who claim room, and of the first refused */
    bool refuses;                     /* refused a group in this decision */
    struct map line;                  /* waiting groups in order: key -> struct group */
    uint64_t ruled_at;                /* ledger.rules when it last changed */
    struct group *to_judge;           /* from here on in line, as rules have changed */
    struct group *running;            /* groups that hold something */
    size_t groups;                    /* those whose PodGroup is not there among them */
    size_t in_phase[GROUP_EMPTY + 1]; /* groups that are there, as last told */
    int64_t pods[POD_UNKNOWN + 1];    /* by phase */
    struct holders holders[RESOURCE_COUNT];
    const struct group *passed;    /* whom groups that run went past; NULL: not known */
    struct resources held_past_it; /* what those hold */
    bool dirty;                    /* its status may have to be written */
    struct queue_entry *next_dirty;
};

/* A pod of a group, or the place kept for one of that name. */
struct member {
    struct group *group;
    struct member *next, **at; /* in its group */
    struct member *next_on_node, **at_node;
    struct node_room *node;     /* where it holds room; NULL: nowhere */
    struct node_room *recorded; /* the place its group's status has for it */
    struct gpu_lease gpus, recorded_gpus, bound_gpus;
    struct resources asks;
    struct node_room *bound; /* the pod's own node */
    bool has_pod, ours, deleting, finished, constrained;
    bool repels;   /* some others, from where it is */
    bool extended; /* asks for extended resources */
    bool yields;   /* its PriorityClass never preempts */
    struct member *next_repelling, **at_repelling;
    enum pod_phase phase;
    int64_t priority;     /* of its pod's class */
    uint64_t shape;       /* equal for members any node treats alike */
    const char *role;     /* one of its group's, or NULL */
    bool placed, evicted; /* by this decision */
    bool on_trial;        /* it has a place only to see whether there is one */
    bool ending;          /* counted in its node's ending */
    char name[];
};

struct claim_part {
    struct node_room *node;
    struct resources asks;
    bool is_short; /* too little is free there, beside the claims before this one */
};

struct group_role {
    char *name;
    int64_t min;
};

struct group {
    char *ns, *name;
    char *word, *owner; /* job "a", pod "b" */
    char *owner_kind, *owner_uid;
    bool exists;      /* the PodGroup is there */
    bool lone;        /* a pod by itself */
    bool scheduled;   /* its status says so */
    bool preempted;   /* its status says so: what is left of it has to go */
    bool taking;      /* others were evicted for it and it has no place yet */
    bool ahead;       /* in ledger.ahead */
    int64_t stuck_ms; /* since when only others that lack members are in its way; 0: it is not */
    struct queue_entry *queue;
    int priority;
    int64_t min_member, wanted; /* wanted -1: not said */
    int64_t created_ms, sequence, deadline_ms, scheduled_ms;
    int64_t waiting_ms; /* since when it waits, as last told */
    int64_t overdue_ms; /* the scheduled_ms whose run was said to be too long */
    struct group_role roles[GROUP_ROLES_LIMIT];
    size_t roles_len;
    struct map by_name;
    struct member *first; /* members in order: the first of a job are those it needs most */

    /* Settled: */
    int64_t bound, unplaced, to_bind, holding;
    int64_t leaving; /* of bound: being deleted */
    int64_t most;    /* members that had room together since it started */
    int64_t pods[POD_UNKNOWN + 1];
    struct resources held, held_ready; /* held_ready: on nodes that are */
    bool started;
    bool lapsed;    /* nothing of it stays, and of its places too few: it begins anew */
    char *line_key; /* in its queue's line; NULL: not waiting */
    struct group *next_running, **at_running;

    /* What was last decided about it. */
    struct claim_part *claim;
    size_t claim_len;
    int64_t claim_members;    /* how many it is for */
    uint64_t claim_rules;     /* ledger.rules when it was made */
    enum wait_reason verdict; /* that needs no look at free room; WAIT_NONE: may be tried */
    uint64_t judged_at;       /* ledger.rules when it was found */
    enum wait_reason reason;
    enum group_phase phase; /* as it is counted in its queue */
    uint64_t told_at;       /* ledger.rules when it was told the reason */
    size_t position;        /* in line, of all queues; 0: none */
    int64_t first_ms;       /* since when it is first of its queue; 0: it has not been */
    uint64_t walked;        /* ledger.walks when it was tried */
    struct group *next_reached, **at_reached; /* in ledger.reached; NULL: not */
    bool clears;                    /* it waits for pods that are being stopped, and nothing else */
    bool looked_at;                 /* in this decision */
    const struct group *taker;      /* that evicts all of it, in this decision; or itself */
    const struct group *evicted_by; /* the same, or one of its members */
    struct group *next_looked;
    unsigned refusals;                  /* of what was planned for it, in a row */
    int64_t rests_until_ms;             /* after the last of them */
    bool rests;                         /* nothing is planned for it */
    struct group *next_owed, **at_owed; /* in ledger.owed; NULL: not */
    const char *words;                  /* why it waits, in this decision */
    bool waits_anew;                    /* for another reason than before, in this decision */
    bool told_later;                    /* by another decision: this one has enough to tell */

    bool dirty;
    struct group *next_dirty;
    char key[];
};

typedef const struct json *ledger_find_fn(void *arg, const struct kind *k, const char *ns,
                                          const char *name);

struct ledger {
    ledger_find_fn *find;
    void *arg;
    bool overcommit;     /* CPU and memory are not counted; GPUs, shares and pods are */
    bool beside_default; /* default-scheduler is another program. Set before anything is added */
    /* Records hold until they are written otherwise, also on lost nodes. Set before anything is
     * told. */
    bool keeps_all;
    bool broken; /* ran out of memory: must be rebuilt */
    bool may_preempt, spread;
    struct map nodes, queues, groups;
    struct map refused;       /* groups for which the last that was planned was refused */
    struct map ahead;         /* groups in line that go before others of equal queues */
    uint64_t walks;           /* decisions made */
    struct node_room **ready; /* those that are, in order of their names */
    size_t ready_len, ready_cap;
    struct member *repelling; /* those that do, of all who hold room */
    bool nodes_changed, has_taints;
    struct resources total, used; /* of ready nodes */
    int64_t ending;               /* members whose room is about to be free */
    /* What this decision has found no room for: less is left for all who come later. */
    struct hopeless {
        struct resources asks;
        int64_t count;
    } hopeless[HOPELESS_LIMIT];
    size_t hopeless_len;
    int64_t ends_ms;       /* whoever is being placed with ROOM_IN_TIME, surely */
    uint64_t rules;        /* raised when judgements may change: nodes, queues, namespaces */
    uint64_t ruled_at;     /* when they last did for all queues */
    size_t depth;          /* how many that wait are tried behind the first that does not fit */
    struct group *reached; /* those of the last walk that wait in line */
    struct group *dirty;
    struct queue_entry *dirty_queues, **dirty_queues_end; /* first come, first written */
    size_t waiting;                                       /* groups in lines */
    struct group *looked;                                 /* at, by the last decision */
    struct group *owed;  /* groups with a status write that can wait */
    int64_t told_ms;     /* when such things were last told */
    size_t told_waiting; /* groups since then, why they wait */
};

struct ledger *ledger_new(ledger_find_fn *find, void *arg, bool overcommit) must_check;
void ledger_free(struct ledger *l);

/* The object came or changed, or is gone. */
void ledger_pod(struct ledger *l, const struct json *pod, bool gone);
void ledger_group(struct ledger *l, const struct json *group, bool gone);
void ledger_queue(struct ledger *l, const struct json *queue, bool gone);
void ledger_node(struct ledger *l, const struct json *node, bool gone);
void ledger_namespaces_changed(struct ledger *l);
void ledger_configure(struct ledger *l, const struct scheduler_config *config);

/* Works off what was told; before a decision. */
void ledger_settle(struct ledger *l);

/* The same where nothing is decided: what was worked off is forgotten. */
void ledger_rest(struct ledger *l);

/* What the last decision planned was not carried out, or not all of it. */
void ledger_undone(struct ledger *l);

/* All of it was. */
void ledger_done(struct ledger *l);

/* It was not, because of what was planned for that group: it is left alone for a while, longer each
 * time, so that others are not held up by it. Returns for how long. */
int64_t ledger_refused(struct ledger *l, const char *key, int64_t now_ms);

/* --- for those who decide --- */

/* Those that have rested are looked at; when the next has, 0: none rests. */
int64_t ledger_rouse(struct ledger *l, int64_t now_ms);

bool ledger_counts(const struct ledger *l, enum resource which);
void ledger_hold(struct ledger *l, struct member *m, struct node_room *n, struct gpu_lease gpus);
void ledger_release(struct ledger *l, struct member *m);
void ledger_touch(struct ledger *l, struct group *g);
void ledger_set_taking(struct ledger *l, struct group *g, bool taking);
struct group *ledger_find_group(const struct ledger *l, const char *ns, const char *name,
                                bool lone);
/* Whether so much more is too much there, beside what is held and that; which is the first. */
bool node_lacks(const struct ledger *l, const struct node_room *n, const struct resources *asks,
                const struct resources *beside, enum resource *ret);
bool queue_lacks(const struct queue_entry *q, const struct resources *asks,
                 const struct resources *beside, enum resource *ret);
struct resources placement_requests(const struct json *placement); /* of each of its members */
struct queue_entry *ledger_next_dirty_queue(struct ledger *l);
/* How the group is counted in its queue from now on. */
void ledger_set_phase(struct ledger *l, struct group *g, enum group_phase phase);
/* Rules have changed since it was judged. */
bool group_is_misjudged(const struct ledger *l, const struct group *g);
struct group *group_after(const struct group *g); /* in its queue's line; NULL: none */
/* The walk has come to it. */
void ledger_reach(struct ledger *l, struct group *g);
void ledger_unreach(struct group *g);
/* It has a message that can wait; the message is out. */
void ledger_owe(struct ledger *l, struct group *g);
void ledger_pay(struct group *g);
/* Free GPUs, close to each other, and one with shares enough. Of each none, when there are not
 * enough or none is asked for. */
struct gpu_lease node_free_gpus(const struct node_room *n, const struct resources *asks);
/* Those of the lease that cannot be had there. */
uint64_t node_barred_gpus(const struct node_room *n, struct gpu_lease lease, int64_t shares);
/* Whether there are devices for all that is asked for, as far as the node names any. */
bool node_gives_gpus(const struct node_room *n, const struct resources *asks);
/* Its status has places for it, whether they are of any use or not. */
bool group_is_recorded(const struct group *g);
/* How many members it cannot run without. */
int64_t group_whole(const struct group *g);
/* It has lost members, and what runs of it runs for nothing without them. One that was only asked
 * to grow has lost none. */
bool group_is_broken(const struct group *g);
/* By name, with numbers in order: of a job's replicas the master or the first worker comes first.
 */
int member_compare(const struct member *a, const struct member *b);
/* It has a pod that waits and has no place. */
bool member_is_unplaced(const struct member *m);
/* Its pod is there and has not ended. */
bool member_is_live(const struct member *m);
/* How many pods of it are placed, as far as it can count on them. */
int64_t group_there(const struct group *g);
/* Whether a role has too few members; the first such one and how many it has. */
bool group_lacks_role(const struct group *g, const struct group_role **ret_role,
                      int64_t *ret_there);
/* How many of the members without a place must get one together. */
int64_t group_required(const struct group *g);
struct resources group_asks(const struct group *g, int64_t members);
/* What its members hold there, but for those about to go. */
struct resources group_held_on(const struct group *g, const struct node_room *n);

#endif
