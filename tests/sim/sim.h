/*
 * sim.h - one simulated cluster: the production server, store, controllers and agent on a simulated
 * loop (clock and turns), disk thread, network and runtime, with faults; and an observer who sees
 * every commit and every process and says when something happened that must not.
 *
 * Everything that happens follows from the seed: one thread, one queue of events, one source of
 * random numbers. What is replaced is replaced at link time, behind the headers production uses
 * (loop/loop.h, loop/random.h, store/writer.h, agent/machine.h, port/transport.h, port/runtime.h);
 * all other object code is the program's own.
 */
#ifndef MUSTER_TESTS_SIM_H
#define MUSTER_TESTS_SIM_H

#include <stdio.h>

#include "agent/agent.h"
#include "base/json.h"
#include "base/map.h"
#include "control/control.h"
#include "loop/loop.h"
#include "port/runtime.h"
#include "port/transport.h"
#include "server/server.h"
#include "store/change.h"

/* --- random numbers (loop.c) ---------------------------------------------------------------- */

uint64_t rand_next(void);
int64_t rand_below(int64_t bound);             /* 0 .. bound - 1 */
int64_t rand_range(int64_t low, int64_t high); /* both included */
bool rand_chance(double probability);
void rand_seed(uint64_t seed);

/* --- the loop (loop.c) ------------------------------------------------------------------------ */

bool sim_loop_step(struct loop *l);             /* one event; false when there is none */
int64_t sim_loop_now(const struct loop *l);     /* ms since the start, never jumps */
int64_t sim_loop_next(const struct loop *l);    /* when the next event is due; -1: none */
void sim_loop_jump(struct loop *l, int64_t ms); /* the wall clock */

/* --- faults (faults.c) ------------------------------------------------------------------------ */

enum fault {
    FAULT_EXIT_CODE, /* a replica ends with a code other than 0 */
    FAULT_NEVER_EXITS,
    FAULT_IGNORES_TERM,
    FAULT_START_ERROR,
    FAULT_REQUEST_LOST,
    FAULT_REPLY_LOST,
    FAULT_REQUEST_LATE,
    FAULT_REPLY_LATE,
    FAULT_409,
    FAULT_410,
    FAULT_429,
    FAULT_5XX,
    FAULT_WATCH_LATE,
    FAULT_WATCH_CUT,
    FAULT_WATCH_TWICE,
    FAULT_WATCH_STALL,
    FAULT_CONTROLLER_KILLED_AT_WRITE,
    FAULT_AGENT_KILLED_AT_ACTION,
    FAULT_SERVER_KILLED_AT_COMMIT,
    FAULT_DISK_SLOW,
    FAULT_DISK_FULL,
    FAULT_FOREIGN_POD,
    FAULT_ENDS_AT_EVICTION,
    FAULT_KILLED_AT_EVICTION,
    FAULT_BY_TIME, /* those below come by themselves, on average once per so many seconds */
    FAULT_CONTROLLER_KILLED = FAULT_BY_TIME,
    FAULT_AGENT_KILLED,
    FAULT_SERVER_KILLED,
    FAULT_ALL_KILLED,
    FAULT_NODE_LOST,
    FAULT_NODE_SILENT,
    FAULT_CLOCK_FORWARD,
    FAULT_CLOCK_BACK,
    FAULT_POD_DELETED,
    FAULT_POD_FORCE_DELETED,
    FAULT_JOB_DELETED,
    FAULT_JOB_RECREATED,
    FAULT_PAUSED,
    FAULT_RESUMED,
    FAULT_RESIZED,
    FAULT_POLICY_EDITED,
    FAULT_PREEMPTED,
    FAULT_COUNT
};

struct sim;

const char *fault_name(enum fault f);
void faults_draw(struct sim *s);              /* each run has its own mixture */
void faults_start(struct sim *s);             /* those that come by themselves */
bool fault(struct sim *s, enum fault f);      /* does it happen, here and now? */
void fault_note(struct sim *s, enum fault f); /* it happened */

/* --- the network (network.c) ------------------------------------------------------------------ */

enum client { CLIENT_CONTROLLER, CLIENT_AGENT, CLIENT_USER, CLIENT_READER, CLIENT_COUNT };

struct network;

struct network *network_new(struct sim *s);
void network_free(struct network *n);
void network_connect(struct network *n, struct server *server); /* the server is up */
void network_break(struct network *n);                          /* it is gone */
/* Freed by its user, or with everything else. What it has sent may still arrive. */
struct transport *network_link(struct network *n, enum client who);

/* --- the runtime (runtime.c) ------------------------------------------------------------------ */

struct process {
    char *ns, *name, *uid;
    struct pod_run run;
    struct container_state *containers;
    struct sim *sim;
    struct clock_timer *begin, *end, *kill, *tell;
    int exit_code;
    bool ignores_term, stopping;
    bool held;                /* the agent that lives asked for it: it is told of changes */
    char *port, *rank, *gpus; /* of its environment; NULL: not set */
    bool launches, serves;    /* launcher, worker of an MPIJob */
};

struct runtime *sim_runtime_new(struct sim *s);
void sim_runtime_let_go(struct runtime *r);   /* the agent has died */
void sim_runtime_lose_all(struct runtime *r); /* the machine is gone, and its disk */
/* Its program is done in a moment, if nobody stops it first. */
void sim_runtime_hurry(struct runtime *r, const char *uid);
void sim_runtime_each(struct runtime *r, void (*fn)(void *arg, struct process *p), void *arg);

/* --- the observer (observer.c, verdict.c) ----------------------------------------------------- */

#define LATE_MS 15000 /* what goes over the network arrives at the latest after this */

struct pod_record {
    char *uid, *key, *job_uid;
    int64_t attempt, epoch, generation;
    bool gone, deleting, finished, lost, by_hand, foreign;
    bool ended_by_itself; /* nobody asked it to */
    bool excused;         /* it failed as its job was evicted: perhaps because another was told */
    int exit_code;        /* of its process; -1: none yet */
    bool started, process_ended, process_lost, stopped;
    int64_t milli_cpus;
    int64_t marked_ms; /* when its eviction for a higher queue's job began; 0: it did not */
};

struct job_record {
    char *uid, *key;
    bool gone, final, gone_by_user;
    char phase[16];
    char completion[40];
    int64_t backoff_count, pause_count, limit_max, charges, own_ends, epoch;
    int64_t generation; /* how often all replicas were restarted together */
    bool scope_job_ever, scope_job_now, master_succeeded;
    bool high;         /* in the queue that preempts the others */
    int64_t ended_ms;  /* 0: it has not, nor is it gone */
    bool led;          /* an MPIJob: the launcher goes with any worker that does */
    bool lost_some;    /* a pod of it was lost, or deleted by hand */
    char clean_up[16]; /* cleanUpPolicy when it ended */
    bool pause_wanted, clean_up_edited;
    int64_t expected;
    struct map last_pod;     /* pod key -> pod_record */
    struct map name_charges; /* pod key -> count */
    struct map kept;         /* uid -> pod_record: finished when the job ended */
};

struct observer;

struct observer *observer_new(struct sim *s);
void observer_free(struct observer *o);
void observer_commit(struct observer *o, const struct change *first);
void observer_opened(struct observer *o, struct store *store); /* after a start of the server */
void observer_acknowledged(struct observer *o, const struct api_call *call,
                           const struct api_reply *reply);
void observer_watch_line(struct observer *o, const char *path, int64_t *last_revision,
                         const char *line, size_t len);
void observer_by_hand(struct observer *o, const char *uid);
void observer_job_deleted_by_user(struct observer *o, const char *uid);
void observer_started(struct observer *o, struct process *p);
void observer_ended(struct observer *o, const struct process *p, bool lost);
void observer_stopped(struct observer *o, const struct process *p);
const struct json *observer_get(struct observer *o, const char *collection, const char *key);
/* All of a collection, in key order. */
void observer_each(struct observer *o, const char *collection,
                   void (*fn)(void *arg, const char *key, const struct json *object), void *arg);
/* Jobs of all kinds; a name is used by one kind only. */
void observer_each_job(struct observer *o,
                       void (*fn)(void *arg, const char *key, const struct json *object),
                       void *arg);
struct pod_record *observer_pod(struct observer *o, const char *uid);
struct job_record *observer_job(struct observer *o, const char *uid);
/* After the faults ended and time went by: is everything where it must be? */
void observer_judge(struct observer *o);

#define PYTORCH_JOBS "batch.tensorstack.dev/pytorchtrainingjobs"
#define MPI_JOBS "batch.tensorstack.dev/mpijobs"
#define PODS "/pods"
#define SERVICES "/services"
#define LEASES "coordination.k8s.io/leases"
#define NODES "/nodes"
#define GROUPS "scheduler.tensorstack.dev/podgroups"
#define HIGH_QUEUE "high"
#define QUEUES "scheduler.tensorstack.dev/queues"
#define NAMESPACES "/namespaces"

/* --- the user (user.c) ------------------------------------------------------------------------ */

struct user;

struct user *user_new(struct sim *s);
void user_free(struct user *u);
void user_act(struct user *u, enum fault what);
void user_saw_job(struct user *u, const struct json *job);  /* just committed, new */
void user_saw_gone(struct user *u, const struct json *pod); /* just committed, gone */
void user_settle(struct user *u);                           /* the last things before peace */

/* A reader (reader.c): caches of jobs and pods over a faulty link, as a console would have them. */
struct reader;
struct reader *reader_new(struct sim *s);
void reader_free(struct reader *r);
void reader_judge(struct reader *r);

/* --- the world (world.c) ---------------------------------------------------------------------- */

struct machine_size {
    int64_t cpus, memory_bytes, gpus;
};
extern struct machine_size sim_machine;

struct sim {
    uint64_t seed;
    bool verbose;
    struct loop *loop;
    struct clock *clock;
    char folder[256], database[300];

    struct store *store;
    struct server *server;
    struct network *network;
    struct transport *controller_link, *agent_link, *reader_link;
    struct control *control;
    struct agent *agent;
    struct runtime *runtime;
    struct observer *observer;
    struct user *user;
    struct reader *reader;
    bool server_dying;
    int64_t disk_full_until;

    bool peace; /* no more faults */
    double rates[FAULT_COUNT];
    uint32_t fired[FAULT_COUNT];
    uint64_t steps;

    uint64_t hash; /* of the timeline */
    bool failed;
    char violation[1024];
};

void say(struct sim *s, const char *fmt, ...) printf_like(2, 3);     /* one line of the timeline */
void violate(struct sim *s, const char *fmt, ...) printf_like(2, 3); /* the first one counts */

void world_kill_controller(struct sim *s);
void world_kill_agent(struct sim *s);
void world_kill_server(struct sim *s);
void world_lose_node(struct sim *s);
void world_silence_node(struct sim *s);
void soon(struct sim *s, void (*fn)(struct sim *s)); /* on the next turn, not inside a callback */

/* Runs one seed. s->failed tells. */
void sim_run(struct sim *s, uint64_t seed, bool verbose);

#endif
