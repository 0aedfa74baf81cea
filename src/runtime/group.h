/*
 * group.h - the processes that stay with one pod, and what they share.
 *
 *   keeper            starts a worker, and another when that dies (keeper.h)
 *     worker          logs, probes, stopping, starting, state.json (supervisor.c)
 *       minder        one per running container: the parent of its program (minder.h)
 *         program
 *
 * Each is forked from the one above, and whoever dies is replaced: a dead worker by its keeper, a
 * dead keeper by its worker, which makes itself a keeper with a new worker; when both are gone, a
 * minder does it. What is known lies in shared memory, and all pipes are made before the first fork
 * and kept open by all, so that SIGKILL takes away a process but no output, no exit status and no
 * decision. Exit statuses are recorded by whoever is the program's parent then, before it is
 * reaped.
 *
 * Only the worker, of which there is one at a time (it holds a lock), changes what is not atomic.
 */
#ifndef MUSTER_RUNTIME_GROUP_H
#define MUSTER_RUNTIME_GROUP_H

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/cri.h"
#include "runtime/last_words.h"
#include "runtime/launch.h"
#include "runtime/oom.h"
#include "runtime/podfolder.h"

#define GROUP_BLOCK_BYTES 65536u /* most that is taken from a pipe at once */

/* Who is claimed by whom: the number of the attempt to start in the upper half, a pid below. An
 * attempt that was given up cannot claim any more, however late it comes. */
#define GROUP_CLAIM(ticket, pid) ((uint64_t)(ticket) << 32 | (uint32_t)(pid))
#define GROUP_CLAIM_PID(claim) ((pid_t)(int32_t)(uint32_t)(claim))
#define GROUP_CANCELLED ((pid_t)-1)

/* What a container's output has come to. Two of them take turns: one counts, the other is being
 * made. */
struct group_log {
    uint32_t run;   /* of the container */
    uint64_t block; /* the last one that is in it */
    struct cri_state cri;
    struct last_words words;
};

/* One container. */
struct group_slot {
    uint32_t run;           /* how often it was restarted */
    uint32_t ticket;        /* of the newest attempt to start it */
    _Atomic bool under_way; /* that attempt was made: the claims below are about it */
    _Atomic uint64_t minder, program;
    struct launch_failure failure; /* why the program could not be run */
    int status;                    /* as wait() says; when ... */
    _Atomic bool ended;            /* ... the program has ended */
    _Atomic bool cleared;          /* and whatever it left behind, too */
    bool killed;                   /* its end was ours */
    const char *killed_why;        /* a literal: all of the group are one program */
    int64_t started_ms;            /* wall time */
    int64_t started_at_ms;         /* monotonic */
    int64_t restart_at_ms;         /* monotonic; 0: not planned */
    int64_t kill_at_ms;            /* monotonic; 0: not planned */
    int64_t spared_until_ms;       /* monotonic: not killed before, for the sake of its preStop */
    bool post_started;             /* its postStart is done, or there is none */
    bool pre_stopped;              /* its preStop likewise */
    bool told;                     /* it was sent TERM */
    int64_t backoff_ms;
    struct oom_count oom; /* when it was started */
    _Atomic uint32_t log_at;
    struct group_log logs[2];
};

struct group_memory {
    _Atomic pid_t keeper, worker;
    _Atomic bool over; /* nothing is left to do but to clear away and say so */
    bool stopping;
    int64_t kill_at_ms; /* monotonic; 0: not planned */
    /* What was taken out of a pipe last: it stays here until it is in a log. */
    uint64_t block; /* its number */
    uint32_t container, stream;
    int64_t sec, nsec;
    _Atomic uint32_t len; /* 0: none, or it is still in the staging pipe */
    char data[GROUP_BLOCK_BYTES];
    struct group_slot slots[];
};

struct group {
    int dir_fd, lock_fd, event_fd;
    int staging[2];
    int pipes[POD_CONTAINERS_LIMIT][CRI_STREAMS][2];
    int fd_end; /* all of the above are below it; what is not is one process's own */
    struct arena arena;
    struct pod_start pod;
    struct group_memory *memory;
};

/* Pipes and memory for g->pod. */
int group_open(struct group *g, struct err *err) must_check;
int64_t group_clock_ms(void); /* monotonic */

/* Tells the worker to look. Async-signal-safe. */
void group_wake(const struct group *g);
/* pid is the keeper's or the worker's. */
bool group_is_own(const struct group *g, pid_t pid);

/* Whether it is pid's now: only when that attempt still counts and nobody else has it. */
bool group_claim(_Atomic uint64_t *claim, uint32_t ticket, pid_t pid);

/* Records the ends of children, then reaps them. Returns whether any child is left. ret_status is
 * the wait status of the child named watched, if that was among them; 0 and NULL: none is. */
bool group_reap(const struct group *g, pid_t watched, int *ret_status);
/* Kills adopted children that no living container owns. spared: a child that is none of them; 0:
 * there is no such. */
void group_sweep(const struct group *g, pid_t spared);

#endif
