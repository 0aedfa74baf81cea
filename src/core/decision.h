/* decision.h - one scheduler decision in progress: shared by the parts of schedule.c. */
#ifndef MUSTER_CORE_DECISION_H
#define MUSTER_CORE_DECISION_H

#include "core/placement.h"
#include "core/schedule.h"

#define CLAIMS_LIMIT 8     /* groups at the head of the line that may claim room */
#define TELL_EVERY_MS 1000 /* how often minor updates are written: rephrased reasons, counts */
#define QUEUES_TOLD 100    /* per update, at most; the others next time */
#define WAITING_TOLD 1000  /* groups per update, at most */

/* The fraction of its quota a queue holds. */
struct share {
    int64_t held, of;
};

/* A preemption victim: a group, or one of its surplus members. */
struct victim {
    struct group *group;
    struct member *member; /* NULL: the whole group */
    struct share share;    /* its queue's */
    int64_t use;           /* how much the preempting group gains */
};

struct decision {
    struct ledger *ledger;
    struct arena *arena;
    struct plan *plan;
    int64_t now_ms;
    struct group *heads[CLAIMS_LIMIT];
    size_t heads_len;
    int64_t lent_until_ms;     /* the latest known time at which a claim is used */
    size_t position;           /* in line, of the last group waiting for its turn or for room */
    const struct group *first; /* the first group waiting for room */
    bool unclaimed;            /* a waiting group found no room to claim beside earlier claims */
    const struct group *line[PLACES_TOLD];
    struct group *looked; /* groups considered, whose status may be written */
    unsigned preemptions; /* attempted */
    bool tells;           /* minor updates are written too */
    bool told_small;      /* a minor update was written */
    struct holders holders[RESOURCE_COUNT];
    bool knows_starting; /* queue holders include the groups starting now */
};

/* The largest fraction of its quota a queue holds; of the cluster, for resources without a
 * quota. */
struct share queue_share(const struct ledger *l, const struct queue_entry *q);
int share_compare(struct share a, struct share b);

void decision_look_at(struct decision *d, struct group *g);
/* The same, but postponed when it is too early for another minor update. */
void decision_tell_in_time(struct decision *d, struct group *g);

/* preempt.c: picks victims so that the group fits, and claims their room for it. */
bool preempt_for(struct decision *d, struct group *g, int64_t required);

/* Stops one of several incomplete gangs that wait for each other, and every gang that no node can
 * complete. */
void preempt_stuck(struct decision *d);

/* claims.c: room reserved for a group until it can start. */
void claims_clear(struct ledger *l);
void claim_room(struct decision *d, struct group *g, int64_t required);
/* Claims what is free or held by pods that are stopping, if that suffices. */
bool claim_ending_room(struct decision *d, struct group *g, int64_t required);
/* Turns the places from a trial into the group's claim, and ends the trial. */
void claim_places(struct decision *d, struct group *g);
/* The same for places that are free: it needs them as soon as it has its pods. */
void claim_free_places(struct decision *d, struct group *g);
/* When it started; 0: it has not. */
int64_t group_since_ms(const struct group *g);
/* Times in the API are cut to whole seconds: what they tell may be so much later. */
#define TIMES_MS 999
/* When it will have run that long, and not before; 0: it has not started, or no length. */
int64_t group_stop_ms(const struct group *g, int64_t length);
/* The latest time a group can end, its grace period included; 0: unknown. */
int64_t group_end_ms(const struct group *g);
/* What its queue says of how long it may run; 0: nothing, or not to its pods. */
int64_t group_max_duration_ms(const struct group *g);
/* How long it may run before it is stopped; 0: unknown. */
int64_t group_duration_ms(const struct group *g);

/* schedule_words.c: why the group waits; which pods it waits for. */
const char *words_for(struct decision *d, struct group *g);
const char *words_of_members(struct decision *d, const struct group *g);

/* schedule_plan.c: gives up places whose pods do not come; whether there were any. */
bool plan_forgone(struct decision *d);
/* Turns the decision into writes. */
void plan_decision(struct decision *d);

#endif
