/*
 * ledger.h - which nodes, queues and groups hold what, and which groups wait, updated
 * incrementally. The scheduler decides on it (schedule.h).
 *
 * A group is a PodGroup and the pods labelled with its name, or a single pod. Its room is recorded
 * in the PodGroup's status (placements) before any of its pods is bound; a member that is being
 * replaced keeps the place recorded for its name as long as the group's owner wants it
 * (spec.members). So room survives restarts of pods, of the scheduler and of its machine.
 *
 * The caller reports every change; whole objects are read back through find() when needed for
 * writing. Pure: no I/O, no clock. Its memory is on the heap, since it lives as long as the
 * scheduler; if that runs out the ledger is broken and must be rebuilt.
 */
#ifndef MUSTER_CORE_LEDGER_H
#define MUSTER_CORE_LEDGER_H

#include "api/kind.h"
#include "api/scheduler_config.h"
#include "base/map.h"
#include "core/gpus.h"
#include "core/pod_state.h"
#include "core/resources.h"

/* Conditions of a PodGroup: its room was taken; others are being stopped for it. */
#define CONDITION_PREEMPTED "Preempted"
#define CONDITION_PREEMPTING "Preempting"

#define GROUP_ROLES_LIMIT 16
#define HOPELESS_LIMIT 16

/* Kinds of node preferences. */
enum liking { LIKING_NODE, LIKING_PODS, LIKING_SPREAD, LIKING_TAINTS, LIKINGS };

/* Why a group waits. */
enum wait_reason {
    WAIT_NONE,
    WAIT_MEMBERS,     /* its owner has not created enough pods yet */
    WAIT_STOPPING,    /* it was preempted, and some of its pods are still stopping */
    WAIT_AGAIN,       /* it was preempted; in line, while its pods stop and are created again */
    WAIT_NO_QUEUE,    /* the queue does not exist */
    WAIT_NAMESPACE,   /* the queue is not for its namespace */
    WAIT_CLOSED,      /* the queue is closed */
    WAIT_NO_NODE,     /* no node is ready */
    WAIT_CORDONED,    /* it would fit if no node were cordoned */
    WAIT_NOT_READY,   /* it would fit if all nodes were ready */
    WAIT_NEVER_FITS,  /* not even on empty nodes */
    WAIT_QUOTA_NEVER, /* the queue's quota alone forbids it */
    WAIT_QUOTA,       /* the queue's quota is used up */
    WAIT_RESOURCES,   /* nodes are full */
    WAIT_TURN,        /* others come first */
};

/* A group's state. */
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
    uint64_t gpus, gpus_used; /* by index; only those allocated whole */
    struct gpu_shares shares; /* an empty set: only counted, and a device plugin picks the GPU */
    struct gpu_links links;
    struct member *holders;   /* members with room here */
    struct resources ending;  /* part of used: held by pods that are stopping */
    struct resources claimed; /* by groups at the head of the line, in this decision */
    struct resources beside;  /* what those behind may take permanently next to the claims */
    struct resources spare;   /* what victims would free, in this decision */
    struct resources before;  /* value of used before a trial */
    int64_t claimed_from_ms;  /* no claim of this decision is used earlier; 0: unknown */
    bool allowed;             /* for the member being placed */
    int64_t liking[LIKINGS];  /* that member's preference for this node */
};

/* The largest holders of something, for messages. */
struct holders {
    uint64_t at; /* ledger.walks when determined */
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
    struct resources reserved;        /* quota reserved for claiming groups and the first refused
                                       * one */
    bool refuses;                     /* a group was refused in this decision */
    struct map line;                  /* waiting groups in order: key -> struct group */
    uint64_t ruled_at;                /* ledger.rules at its last change */
    struct group *to_judge;           /* first group in line to judge again, as rules changed */
    struct group *running;            /* groups that hold room */
    size_t timed;                     /* of which so many have a deadline and no job */
    size_t groups;                    /* including those whose PodGroup does not exist */
    size_t in_phase[GROUP_EMPTY + 1]; /* existing groups, as last written */
    int64_t pods[POD_UNKNOWN + 1];    /* by phase */
    struct holders holders[RESOURCE_COUNT];
    const struct group *passed;    /* the group that running groups overtook; NULL: unknown */
    struct resources held_past_it; /* what those hold */
    struct resources leaving;      /* part of used: held by pods of preempted groups */
    bool dirty;                    /* its status may need to be written */
    struct queue_entry *next_dirty;
};

/* A pod of a group, or the place reserved for one of that name. */
struct member {
    struct group *group;
    struct member *next, **at; /* in its group */
    struct member *next_on_node, **at_node;
    struct node_room *node;     /* where it holds room, or NULL */
    struct node_room *recorded; /* the place recorded in its group's status */
    struct gpu_lease gpus, recorded_gpus, bound_gpus;
    struct resources asks;
    struct node_room *bound;   /* the pod's actual node */
    struct queue_entry *queue; /* in which the bound pod counts; NULL: its group's */
    bool has_pod, ours, deleting, finished, constrained;
    bool repels;   /* some others, from where it is */
    bool extended; /* asks for extended resources */
    bool yields;   /* its PriorityClass never preempts */
    bool critical; /* part of the cluster: of a system class, or of a DaemonSet */
    struct member *next_repelling, **at_repelling;
    enum pod_phase phase;
    int64_t priority;     /* from its pod's class */
    int64_t since_ms;     /* when its pod started; 0: not yet */
    int64_t grace_ms;     /* its pod has to stop */
    int64_t gone_ms;      /* when its deleted pod is gone at the latest; 0: soon, or not deleted */
    uint64_t owner;       /* hash of its controller's uid; 0: none */
    bool stray;           /* its group is a job's, and it is not */
    int64_t gang;         /* noted by its job: how many start together; 0: not noted */
    int64_t deadline_ms;  /* noted by its job */
    uint64_t shape;       /* equal for members that any node treats alike */
    const char *role;     /* one of its group's roles, or NULL */
    bool placed, evicted; /* by this decision */
    bool on_trial;        /* has a place only for a trial */
    bool awaited;         /* no pod, only what is known about the one its preempted group had */
    bool due;             /* awaited, and the group's owner still has to create it */
    int64_t vacant_ms;    /* since when the group keeps a place for it, without a pod; 0: not so */
    bool forgone;         /* that place was given up; until the group's status says so */
    bool ending;          /* counted in its node's ending */
    bool leaving;         /* counted in its queue's leaving */
    char name[];
};

struct claim_part {
    struct node_room *node;
    struct resources asks;
    bool is_short; /* not enough is free there besides the earlier claims */
};

struct group_role {
    char *name;
    int64_t min;
};

struct group {
    char *ns, *name;
    char *word, *owner; /* for messages: job "a", pod "b" */
    char *owner_kind, *owner_uid;
    bool of_job;    /* its owner is a kind of ours, which creates its pods and keeps its numbers */
    bool exists;    /* the PodGroup exists */
    bool deleting;  /* it is being deleted: it gets no more pods */
    bool lone;      /* a single pod */
    bool scheduled; /* according to its status */
    bool preempted; /* according to its status: its remaining pods must be stopped */
    char *taken_by; /* the key of the group it was preempted for, or NULL */
    bool taking;    /* others were evicted for it and it has no place yet */
    bool ahead;     /* is in ledger.ahead */
    int64_t stuck_ms; /* since when only incomplete groups are in its way; 0: not so */
    struct queue_entry *queue;
    int priority;
    int64_t min_member, wanted; /* wanted -1: unspecified */
    int64_t created_ms, sequence, scheduled_ms;
    int64_t deadline_ms; /* maximum run time, if something enforces it; 0: unknown */
    struct {
        int64_t min_member, deadline_ms;
        struct queue_entry *queue; /* NULL: unknown */
    } says;                        /* its PodGroup, which its user may edit */
    bool queue_known;              /* by its PodGroup or its pods */
    int64_t waiting_ms;            /* since when it waits, as last written */
    int64_t overdue_ms; /* the scheduled_ms for which exceeding the duration was reported */
    int64_t ended_ms;   /* when that was */
    struct group_role roles[GROUP_ROLES_LIMIT];
    size_t roles_len;
    struct map by_name;
    struct member *first; /* members in order: those a job needs most come first */

    /* Settled: */
    int64_t bound, unplaced, to_bind, holding;
    int64_t leaving;  /* part of bound: being deleted */
    int64_t due;      /* part of unplaced: members whose pods are still to be created */
    int64_t grace_ms; /* the longest of its pods */
    bool unlimited;   /* its queue's maximum duration is not for its pods, which are critical */
    int64_t most;     /* the most members that had room together since it started */
    int64_t pods[POD_UNKNOWN + 1];
    struct resources held, held_ready; /* held_ready: on ready nodes */
    struct resources losing;           /* part of held: by pods it was preempted from */
    bool started;
    bool lapsed;    /* none of its pods remain and too few places: it starts over */
    char *line_key; /* in its queue's line; NULL: not waiting */
    struct group *next_running, **at_running;
    bool timed; /* counted in its queue's timed */

    /* The last decision about it. */
    struct claim_part *claim;
    size_t claim_len;
    int64_t claim_members;    /* members the claim is for */
    uint64_t claim_rules;     /* ledger.rules when it was made */
    uint64_t claimed_at;      /* ledger.walks when it was last in force */
    enum wait_reason verdict; /* a verdict regardless of free room; WAIT_NONE: may be tried */
    uint64_t judged_at;       /* ledger.rules at the verdict */
    enum wait_reason reason;
    enum group_phase phase; /* as counted in its queue */
    uint64_t told_at;       /* ledger.rules when the reason was written */
    size_t position;        /* in the line of all queues; 0: none */
    int64_t first_ms;       /* since when it has been first in its queue; 0: never */
    uint64_t walked;        /* ledger.walks when it was tried */
    struct group *next_reached, **at_reached; /* in ledger.reached; NULL: not */
    bool clears;                              /* it only waits for pods that are stopping */
    bool looked_at;                           /* in this decision */
    const struct group *taker;      /* the group that evicts all of it in this decision; or
                                     * itself */
    const struct group *evicted_by; /* the same, or the group that evicts one of its members */
    struct group *next_looked;
    unsigned refusals;                  /* consecutive plans that were refused */
    uint64_t refused_at;                /* ledger.walks at the last of them */
    int64_t rests_until_ms;             /* after the last refusal */
    bool rests;                         /* backed off: nothing is planned for it */
    struct group *next_owed, **at_owed; /* in ledger.owed; NULL: not */
    const char *words;                  /* why it waits, in this decision */
    bool waits_anew;                    /* for a new reason, in this decision */
    bool told_later;                    /* postponed: this decision writes enough */

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
    /* Records hold until rewritten, even on lost nodes. Set before anything is added. */
    bool keeps_all;
    bool broken; /* ran out of memory: must be rebuilt */
    bool may_preempt, spread;
    struct map nodes, queues, groups;
    struct map refused;  /* groups whose last plan was refused */
    struct map ahead;    /* groups in line that precede others of equal queues */
    struct map stopping; /* preempted groups of which pods still run */
    struct map vacant;   /* groups without a job that keep places for absent pods, or only places */
    uint64_t walks;      /* number of decisions */
    struct node_room **ready; /* ready nodes by name */
    size_t ready_len, ready_cap;
    struct member *repelling; /* members with anti-affinity, among those with room */
    bool nodes_changed, has_taints;
    struct resources total, used; /* of ready nodes */
    int64_t ending;               /* members whose room is about to become free */
    /* What this decision found no room for: later groups have even less. */
    struct hopeless {
        struct resources asks;
        int64_t count;
    } hopeless[HOPELESS_LIMIT];
    size_t hopeless_len;
    int64_t ends_ms;       /* latest end of the member being placed with ROOM_IN_TIME */
    uint64_t rules;        /* incremented when verdicts may change: nodes, queues, namespaces */
    uint64_t ruled_at;     /* last change that affects all queues */
    size_t depth;          /* how many waiting groups are tried after the first that does not fit */
    struct group *reached; /* waiting groups the last walk reached */
    struct group *dirty;
    struct queue_entry *dirty_queues, **dirty_queues_end; /* first come, first written */
    size_t waiting;                                       /* groups in lines */
    struct group *looked;                                 /* considered by the last decision */
    struct group *owed;  /* groups with a status write that can wait */
    int64_t told_ms;     /* when such writes were last made */
    size_t told_waiting; /* groups since then whose reason was written */
};

struct ledger *ledger_new(ledger_find_fn *find, void *arg, bool overcommit) must_check;
void ledger_free(struct ledger *l);

/* The object was added or changed, or is gone. */
void ledger_pod(struct ledger *l, const struct json *pod, bool gone);
/* For a pod that has ended and whose group does not exist: whether ledger_pod would change nothing.
 * Of the pod ledger_pod_parts (json_skim) suffice. */
bool ledger_ignores_pod(const struct ledger *l, const struct json *pod);
extern const struct json_part ledger_pod_parts[];
void ledger_group(struct ledger *l, const struct json *group, bool gone);
void ledger_queue(struct ledger *l, const struct json *queue, bool gone);
void ledger_node(struct ledger *l, const struct json *node, bool gone);
void ledger_namespaces_changed(struct ledger *l);
void ledger_configure(struct ledger *l, const struct scheduler_config *config);

/* Processes the reported changes; before a decision. */
void ledger_settle(struct ledger *l);

/* The same without a decision: forgets what was processed. */
void ledger_rest(struct ledger *l);

/* The last decision's plan was not (completely) carried out. */
void ledger_undone(struct ledger *l);

/* It was. */
void ledger_done(struct ledger *l);

/* It failed because of this group's part: the group is backed off, longer each time, so that it
 * does not hold up others. Returns for how long; a plan counts once, however many of its writes
 * were refused. */
int64_t ledger_refused(struct ledger *l, const char *key, int64_t now_ms);

/* --- for the scheduler --- */

/* Reconsiders groups whose back-off is over; returns when the next one is, 0: none. */
int64_t ledger_rouse(struct ledger *l, int64_t now_ms);

bool ledger_counts(const struct ledger *l, enum resource which);
void ledger_hold(struct ledger *l, struct member *m, struct node_room *n, struct gpu_lease gpus);
void ledger_release(struct ledger *l, struct member *m);
void ledger_touch(struct ledger *l, struct group *g);
/* The member loses the place that is kept for it; takes effect when settled. */
void ledger_forgo(struct ledger *l, struct member *m);
void ledger_set_taking(struct ledger *l, struct group *g, bool taking);
struct group *ledger_find_group(const struct ledger *l, const char *ns, const char *name,
                                bool lone);
/* Whether there is no room for asks besides what is held and `beside`; of which resource first. */
bool node_lacks(const struct ledger *l, const struct node_room *n, const struct resources *asks,
                const struct resources *beside, enum resource *ret);
bool queue_lacks(const struct queue_entry *q, const struct resources *asks,
                 const struct resources *beside, enum resource *ret);
struct resources placement_requests(const struct json *placement); /* of each of its members */
struct queue_entry *ledger_next_dirty_queue(struct ledger *l);
/* The phase in which its queue counts the group from now on. */
void ledger_set_phase(struct ledger *l, struct group *g, enum group_phase phase);
/* Whether rules have changed since its verdict. */
bool group_is_misjudged(const struct ledger *l, const struct group *g);
struct group *group_after(const struct group *g); /* in its queue's line; NULL: none */
/* The walk has reached it. */
void ledger_reach(struct ledger *l, struct group *g);
void ledger_unreach(struct group *g);
/* It has a message that can wait; the message was written. */
void ledger_owe(struct ledger *l, struct group *g);
void ledger_pay(struct group *g);
/* Free GPUs close to each other, and one with enough shares. Empty when there are not enough or
 * none are asked for. */
struct gpu_lease node_free_gpus(const struct node_room *n, const struct resources *asks);
/* The GPUs of the lease that are not available there. */
uint64_t node_barred_gpus(const struct node_room *n, struct gpu_lease lease, int64_t shares);
/* Whether there are devices for everything asked for, if the node lists any. */
bool node_gives_gpus(const struct node_room *n, const struct resources *asks);
/* Its group keeps room or a place in line for it, but no job will create its pod: a client has
 * to. */
bool member_is_vacant(const struct member *m);
/* Its status has places, usable or not. */
bool group_is_recorded(const struct group *g);
/* The number of members it cannot run without. */
int64_t group_whole(const struct group *g);
/* It has lost members without which the rest is useless. A group that was merely asked to grow has
 * lost none. */
bool group_is_broken(const struct group *g);
/* By name, with numbers in numeric order: a job's master or first worker comes first. */
int member_compare(const struct member *a, const struct member *b);
/* It has a waiting pod without a place, or one is still to be created for it. */
bool member_is_unplaced(const struct member *m);
/* Its pod exists and has not ended. */
bool member_is_live(const struct member *m);
/* Its pod; for an awaited one, what its group's status says about it. */
const struct json *member_pod(const struct ledger *l, const struct member *m);
/* How many of its pods are placed and can be relied on. */
int64_t group_there(const struct group *g);
/* Whether a role has too few members; the first such role and its count. */
bool group_lacks_role(const struct group *g, const struct group_role **ret_role,
                      int64_t *ret_there);
/* Whether its claim is one of the last decision, not of an earlier one. */
bool group_claims(const struct ledger *l, const struct group *g);
/* How many members without a place must get one together. */
int64_t group_required(const struct group *g);
struct resources group_asks(const struct group *g, int64_t members);
/* What its members hold there, except for those about to go. */
struct resources group_held_on(const struct group *g, const struct node_room *n);

#endif
