/* queues.h - the simulated world of queues: see queues.c. */
#ifndef MUSTER_TESTS_SIM_QUEUES_H
#define MUSTER_TESTS_SIM_QUEUES_H

#include "core/admit.h"
#include "core/decision.h"
#include "sim.h"

#define RIVALS_MAX 2
#define TASKS_MAX 48
#define CROWD_WORK_MS 30000 /* that jobs in a crowd run at most */

enum set { SET_PODS, SET_GROUPS, SET_NODES, SET_QUEUES, SET_NAMESPACES, SETS };

struct event {
    const struct json *object;
    bool gone;
};

struct history {
    struct event *events;
    size_t len, cap;
};

/* One scheduler: what it has seen, and the plan it carries out. */
struct rival {
    struct queues *world;
    struct ledger *ledger;
    struct map seen[SETS];
    size_t seen_len[SETS], must_see[SETS];
    struct map taking; /* groups for which others were being stopped when it last decided */
    struct arena plans;
    const struct plan_step *next;
    int64_t wake_at_ms; /* as its last plan asks */
    bool wrote, lists;
};

/* A job, or a pod by itself. */
struct task {
    char name[24];
    const char *queue;
    bool lone, made, over, paused, was_whole, lost_some, too_large;
    int members, least, cpus, gpus, gpu_shares, priority;
    int64_t comes_ms, work_ms, done_ms, deadline_ms, resumes_ms;
    int64_t promised_ms; /* when it starts at the latest; 0: nothing was promised */
    int64_t patient_ms;  /* until when it waits first of its queue, at the longest; 0: it is not */
    int again;           /* how many were in its place before */
};

struct queues {
    struct sim *sim;
    struct arena arena; /* of all objects; a run is a process */
    int64_t now_ms, revision;
    int64_t waited_ms; /* since the last step, which all that runs catches up with in the next */
    struct map items[SETS];
    struct history past[SETS];
    struct ledger *server;
    struct rival rivals[RIVALS_MAX];
    size_t rivals_len;
    struct task tasks[TASKS_MAX];
    size_t tasks_len;
    bool calm, peace; /* calm: nothing goes wrong, and how long jobs run is known */
    size_t crowd;     /* so many equal queues in which there are always jobs; 0: other ones */
    uint64_t binds, refusals, evictions;
};

void queues_run(struct sim *s, uint64_t seed, bool verbose);

const struct json *queues_get(struct queues *q, enum set set, const char *key);
const struct json *task_pod(struct queues *q, const struct task *t, int i);
const struct json *task_group(struct queues *q, const struct task *t);
int64_t task_bound(struct queues *q, const struct task *t);
struct task *task_named(struct queues *q, const char *name);
bool pod_holds(const struct json *pod); /* a node's room */

void note(struct queues *q, const char *fmt, ...) printf_like(2, 3);
void wrong(struct queues *q, const char *fmt, ...) printf_like(2, 3);

/* queues_judge.c: what must hold after every write, at a decision, and when nothing is left to
 * be decided. */
void judge_write(struct queues *q, bool binds, const struct json *group);
void judge_before_decision(struct rival *r);
void judge_decision(struct queues *q, struct rival *r, const struct plan *plan);
void judge_rest(struct queues *q);

#endif
