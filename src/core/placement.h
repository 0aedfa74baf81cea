/* placement.h - finds nodes for the members of a group: together or not at all. Pure. */
#ifndef MUSTER_CORE_PLACEMENT_H
#define MUSTER_CORE_PLACEMENT_H

#include "core/ledger.h"

/* What counts as free. Placements with the first two are kept, unless pods are still to come. */
enum room {
    ROOM_FREE,    /* not held, and not missed by a group ahead in line */
    ROOM_IN_TIME, /* also what is claimed for after ledger.ends_ms */
    ROOM_UNHELD,  /* not held */
    ROOM_TO_COME, /* that, what is ending, and what victims would leave; less claims */
    ROOM_CLAIM,   /* all there is, less claims; nodes that miss least come first */
    ROOM_EMPTY,   /* all nodes, as if the group had them to itself */
};

/* Places that many of the group's members without a place, or none. They then hold the room
 * (ledger_hold); room that is not free now is held on trial. */
bool place_members(struct ledger *l, struct group *g, int64_t count, enum room room);
/* Before a trial with ROOM_CLAIM or ROOM_EMPTY: what others hold now does not count. */
void place_begin_trial(struct ledger *l, const struct group *g);
/* Ends the trial. */
void unplace_members(struct ledger *l, struct group *g);
/* Whether that many members would fit. Changes nothing. */
bool place_would_fit(struct ledger *l, struct group *g, int64_t count, enum room room);

/* Whether they would fit on empty, uncordoned nodes; also_lost: including NotReady nodes. */
bool place_would_fit_also(struct ledger *l, struct group *g, int64_t count, bool also_lost);
/* How many of its members fit into unheld room, or onto empty nodes; does not change the group. */
int64_t place_count_fitting(struct ledger *l, struct group *g, enum room room);

/* Treats cordoned nodes, and with also_lost those that are not ready, as ready until restored. */
struct ready_nodes {
    size_t len;
    bool has_taints;
    struct resources total;
};
struct ready_nodes place_count_also(struct ledger *l, bool also_lost);
void place_put_back(struct ledger *l, const struct ready_nodes *before);

struct resources place_room(const struct ledger *l, const struct node_room *n, enum room room);
/* Considers only counted resources. */
bool place_fits(const struct ledger *l, const struct resources *asks, const struct resources *room);
bool place_has_room(const struct ledger *l, const struct member *m, const struct node_room *n,
                    enum room room);
/* Whether the member may run there, regardless of room. With ROOM_EMPTY: ignoring other groups'
 * pods. */
bool place_is_allowed(struct ledger *l, const struct member *m, const struct node_room *n,
                      enum room room);

/* constraints.c: whether the pod may run there, regardless of room. alone: as if other groups were
 * gone. */
bool constraints_allow(struct ledger *l, const struct member *m, const struct node_room *n,
                       bool alone);
/* The same, ignoring all pods there. */
bool constraints_allow_but_for_pods(struct ledger *l, const struct member *m,
                                    const struct node_room *n);
/* The taint that alone keeps the pod away; NULL: none, or the node does not suit it otherwise. */
const struct json *constraints_taint(struct ledger *l, const struct member *m,
                                     const struct node_room *n);
/* The extended resource of which other pods leave the pod too little there; NULL: none. */
const char *constraints_used_up(struct ledger *l, const struct member *m,
                                const struct node_room *n);
/* How much the pod would like to run there, by each kind of preference, in numbers of that kind. */
void constraints_like(struct ledger *l, const struct member *m, const struct node_room *n,
                      int64_t ret[LIKINGS]);
/* A NodeSelector, as in affinities and volumes; NULL: any node. */
bool node_selector_allows(const struct json *selector, const struct json *node);
/* Whether the node is one of the queue's, by its node selector. */
bool queue_allows_node(struct ledger *l, const struct queue_entry *q, const struct node_room *n);
bool queue_allows_namespace(struct ledger *l, const struct queue_entry *q, const char *ns);

#endif
