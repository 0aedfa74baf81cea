/* placement.h - finds nodes for the members of a group: together or not at all. Pure. */
#ifndef MUSTER_CORE_PLACEMENT_H
#define MUSTER_CORE_PLACEMENT_H

#include "core/ledger.h"

/* What counts as free. What is placed in the first two stays. */
enum room {
    ROOM_FREE,    /* not held, and nothing a group ahead in line would miss */
    ROOM_IN_TIME, /* that, and what is claimed for later than ledger.ends_ms */
    ROOM_UNHELD,  /* not held */
    ROOM_TO_COME, /* that, what is ending, and what victims would leave; less claims */
    ROOM_CLAIM,   /* all there is, less claims; nodes that miss least come first */
    ROOM_EMPTY,   /* all nodes, as if the group had them to itself */
};

/* Gives places to that many of the group's members without one, or to none. They hold them from now
 * on (ledger_hold); in room that is not free now they do so on trial. */
bool place_members(struct ledger *l, struct group *g, int64_t count, enum room room);
/* Before a trial with ROOM_CLAIM or ROOM_EMPTY: what others hold now does not count. */
void place_begin_trial(struct ledger *l, const struct group *g);
/* Ends the trial. */
void unplace_members(struct ledger *l, struct group *g);
/* Whether that many members would fit. Changes nothing. */
bool place_would_fit(struct ledger *l, struct group *g, int64_t count, enum room room);

/* Whether they would fit on empty, uncordoned nodes; also_lost: counting NotReady nodes too. */
bool place_would_fit_also(struct ledger *l, struct group *g, int64_t count, bool also_lost);
/* How many of its members fit into what is not held, or onto empty nodes; does not change the
 * group. */
int64_t place_count_fitting(struct ledger *l, struct group *g, enum room room);

/* Cordoned nodes, and also_lost: those that are not ready, count as ready until they are put back.
 */
struct ready_nodes {
    size_t len;
    bool has_taints;
    struct resources total;
};
struct ready_nodes place_count_also(struct ledger *l, bool also_lost);
void place_put_back(struct ledger *l, const struct ready_nodes *before);

struct resources place_room(const struct ledger *l, const struct node_room *n, enum room room);
/* Of what is counted. */
bool place_fits(const struct ledger *l, const struct resources *asks, const struct resources *room);
/* Whether the member fits. */
bool place_has_room(const struct ledger *l, const struct member *m, const struct node_room *n,
                    enum room room);
/* Whether the member may run there, room aside. With ROOM_EMPTY: ignoring other groups' pods. */
bool place_is_allowed(struct ledger *l, const struct member *m, const struct node_room *n,
                      enum room room);

/* constraints.c: may the pod run there, whatever room there is? alone: as if other groups had gone.
 */
bool constraints_allow(struct ledger *l, const struct member *m, const struct node_room *n,
                       bool alone);
/* The same, whatever pods are there. */
bool constraints_allow_but_for_pods(struct ledger *l, const struct member *m,
                                    const struct node_room *n);
/* The taint that alone keeps the pod away; NULL: there is none, or the node does not suit it. */
const struct json *constraints_taint(struct ledger *l, const struct member *m,
                                     const struct node_room *n);
/* The extended resource of which other pods leave the pod too little there; NULL: none. */
const char *constraints_used_up(struct ledger *l, const struct member *m,
                                const struct node_room *n);
/* How much the pod would like to run there, by each kind of preference, in numbers of that kind. */
void constraints_like(struct ledger *l, const struct member *m, const struct node_room *n,
                      int64_t ret[LIKINGS]);
/* A NodeSelector, as affinities and volumes have them; NULL: any node. */
bool node_selector_allows(const struct json *selector, const struct json *node);
/* The queue's own nodes, as node selectors say. */
bool queue_allows_node(struct ledger *l, const struct queue_entry *q, const struct node_room *n);
bool queue_allows_namespace(struct ledger *l, const struct queue_entry *q, const char *ns);

#endif
