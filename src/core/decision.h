/* decision.h - one decision of the scheduler while it is made: the parts of schedule.c. */
#ifndef MUSTER_CORE_DECISION_H
#define MUSTER_CORE_DECISION_H

#include "core/placement.h"
#include "core/schedule.h"

#define CLAIMS_LIMIT 8     /* groups at the head of the line that claim room */
#define TELL_EVERY_MS 1000 /* what changes nothing: sentences for the same reason, counts */
#define QUEUES_TOLD 100    /* then, at most; the others the next time */
#define WAITING_TOLD 1000  /* groups in that time, at most */

/* The part of its quota a queue holds. */
struct share {
    int64_t held, of;
};

/* A preemption victim: a group, or a member it can do without. */
struct victim {
    struct group *group;
    struct member *member; /* NULL: all of it */
    struct share share;    /* of its queue */
    int64_t use;           /* to who takes its room */
};

struct decision {
    struct ledger *ledger;
    struct arena *arena;
    struct plan *plan;
    int64_t now_ms;
    struct group *heads[CLAIMS_LIMIT];
    size_t heads_len;
    int64_t lent_until_ms;     /* the latest that a claim is used, as far as is known */
    size_t position;           /* of the last group that waits for its turn or for room */
    const struct group *first; /* that waits for room */
    const struct group *line[PLACES_TOLD];
    struct group *looked; /* at, to be told something */
    unsigned preemptions; /* tried */
    bool tells;           /* what changes nothing, too */
    bool told_small;      /* something of that kind */
    struct holders holders[RESOURCE_COUNT];
    bool knows_starting; /* in the holders of queues */
};

/* The largest part of its quota a queue holds; of what it has no quota for, of the cluster. */
struct share queue_share(const struct ledger *l, const struct queue_entry *q);
int share_compare(struct share a, struct share b);

void decision_look_at(struct decision *d, struct group *g);
/* The same, or later when it is too early to tell again what changes nothing. */
void decision_tell_in_time(struct decision *d, struct group *g);

/* preempt.c: chooses whom to evict so that the group fits, and claims their room for it. */
bool preempt_for(struct decision *d, struct group *g, int64_t required);

/* Of gangs that lack members and wait for each other one is stopped, and each that no node can
 * complete. */
void preempt_stuck(struct decision *d);

/* claims.c: room that is kept for a group until it can start. */
void claims_clear(struct ledger *l);
void claim_room(struct decision *d, struct group *g, int64_t required);
/* Takes the places its members have been given in a trial as its claim, and gives them back. */
void claim_places(struct decision *d, struct group *g);
/* When a group ends at the latest; 0: not known. */
int64_t group_end_ms(const struct group *g);
/* How long it runs at most; 0: not known. */
int64_t group_duration_ms(const struct group *g);

/* schedule_words.c: why the group waits; which pods it waits for. */
const char *words_for(struct decision *d, struct group *g);
const char *words_of_members(struct decision *d, const struct group *g);

/* schedule_plan.c: what the decision means for objects. */
void plan_decision(struct decision *d);

#endif
