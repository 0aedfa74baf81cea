/*
 * schedule_room.h - what is free on the nodes, and the gangs that want it. The parts schedule.c
 * decides with; schedule_words.c puts what is missing into words.
 */
#ifndef MUSTER_CORE_SCHEDULE_ROOM_H
#define MUSTER_CORE_SCHEDULE_ROOM_H

#include "core/gpus.h"
#include "core/schedule.h"

struct node_room {
    const struct json *node;
    const char *name;
    struct resources total, used;
    uint64_t gpus, gpus_used; /* by index */
    const struct gpu_links *links;
};

/* A pod that has no node yet. */
struct waiting {
    struct waiting *next;
    const struct json *pod;
    struct resources asks;
    struct node_room *node; /* chosen */
    uint64_t gpus;          /* chosen, by index */
    const char *message;    /* why not, when none was chosen; NULL: nothing is said */
};

/* Pods of one controller; or a pod by itself. */
struct gang {
    struct gang *next;
    const char *word, *name, *ns; /* job "a", pod "b" */
    int64_t since_ms;
    int64_t min_member; /* the least any waiting pod asks for */
    int64_t bound, waiting_len;
    bool started; /* some member has a node, be it that its part is over already */
    struct resources held;
    struct waiting *first, *last;
};

struct board {
    struct arena *arena;
    bool overcommit;
    struct node_room *nodes; /* that are ready */
    size_t nodes_len;
    struct gang *gangs;
};

void board_init(struct board *b, const struct schedule_snapshot *s, struct arena *a);

/* Puts the pod on the first node with room; false when there is none. */
bool board_place(struct board *b, struct waiting *w);
void board_unplace(struct waiting *w);
/* Could these pods ever run together, with nobody else there? */
bool board_could_hold(const struct board *b, const struct gang *g, int64_t members);
/* Whether some node's labels are those the pod's nodeSelector asks for. */
bool board_is_open_to(const struct board *b, const struct json *pod);
/* The most of each resource that one node open to the pod has. */
struct resources board_largest(const struct board *b, const struct json *pod);
/* Resources that are counted: with overcommit, GPUs only. */
bool board_counts(const struct board *b, enum resource which);
struct resources board_total(const struct board *b);
struct resources board_used(const struct board *b);

/* The first members of a gang that must start together. */
int64_t gang_required(const struct gang *g);
/* What must be free for the gang to get on: of one that has not started, for all it requires. */
struct resources gang_lacks(const struct gang *g);

const char *words_no_node(void);
const char *words_never(const struct board *b, const struct gang *g);
const char *words_lacking(const struct board *b, const struct gang *g);
const char *words_behind(const struct board *b, const struct gang *head, size_t position);

#endif
