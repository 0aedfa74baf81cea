/*
 * group.h - the two processes that stay with one pod, and their shared state.
 *
 *   keeper            starts a worker, and another when that dies (keeper.h)
 *     worker          logs, probes, stopping, starting, state.json (worker.h)
 *       program       one per running container
 *
 * The keeper is the worker's parent. A dead worker is replaced by its keeper, a dead keeper by its
 * worker, which makes itself the keeper of a new worker; so there is never more than one of each.
 * State is in shared memory, and all pipes are created before the first fork and kept open by both,
 * so that SIGKILL takes away a process but no output, no exit status and no decision.
 *
 * Exit statuses are recorded before they are reaped, by the program's parent: the worker that
 * started it, or the keeper that inherited it. A program whose parents were both killed belongs to
 * the machine's init; the pidfd that both hold by then tells how it ended (orphan.h).
 *
 * Only the worker changes what is not atomic.
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

#define GROUP_BLOCK_BYTES 65536u /* read from a pipe at once, at most */

/* The owner of an attempt to start: its ticket in the upper half, a pid below. An abandoned attempt
 * can no longer be claimed, however late its program comes. */
#define GROUP_CLAIM(ticket, pid) ((uint64_t)(ticket) << 32 | (uint32_t)(pid))
#define GROUP_CLAIM_PID(claim) ((pid_t)(int32_t)(uint32_t)(claim))
#define GROUP_CANCELLED ((pid_t)-1)

/* The state of a container's output. There are two that alternate: one is valid, the other in
 * preparation. */
struct group_log {
    uint32_t run;   /* the container's */
    uint64_t block; /* the last one included */
    struct cri_state cri;
    struct last_words words;
};

/* One container. */
struct group_slot {
    uint32_t run;           /* number of restarts */
    uint32_t ticket;        /* of the newest start attempt */
    _Atomic bool under_way; /* that attempt was made: the claim below is about it */
    _Atomic uint64_t program;
    struct launch_failure failure; /* why the program could not be started */
    int status;                    /* from wait(); valid once ... */
    _Atomic bool ended;            /* ... this is set */
    bool killed;                   /* we killed it */
    const char *killed_why;        /* a literal: the whole group runs the same program */
    int64_t started_ms;            /* wall time */
    int64_t started_at_ms;         /* monotonic */
    int64_t restart_at_ms;         /* monotonic; 0: not scheduled */
    int64_t kill_at_ms;            /* monotonic; 0: not scheduled */
    int64_t spared_until_ms;       /* monotonic: not killed earlier, because of its preStop */
    bool post_started;             /* its postStart is done, or there is none */
    bool pre_stopped;              /* its preStop likewise */
    bool told;                     /* TERM was sent */
    int64_t backoff_ms;
    struct oom_count oom; /* at its start */
    _Atomic uint32_t log_at;
    struct group_log logs[2];
};

struct group_memory {
    _Atomic bool over; /* only clean-up and the final record are left */
    bool stopping;
    int64_t kill_at_ms; /* monotonic; 0: not scheduled */
    /* What was last taken out of a pipe: it stays here until it is in a log. */
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
    /* The programs' pidfds, in this process and its forks; and the attempt each belongs to. */
    struct {
        int fd;
        uint32_t ticket; /* 0: none */
    } held[POD_CONTAINERS_LIMIT];
    struct arena arena;
    struct pod_start pod;
    struct group_memory *memory;
};

/* Creates pipes and memory for g->pod. */
int group_open(struct group *g, struct err *err) must_check;
int64_t group_clock_ms(void); /* monotonic */

/* Claims it for pid; fails when the attempt is superseded or already claimed. */
bool group_claim(_Atomic uint64_t *claim, uint32_t ticket, pid_t pid);
/* For a container whose program runs; -1 if it was reaped by others before we held it. */
int group_program_fd(struct group *g, size_t container);
/* Opens pidfds of all running programs. For their parent, before it forks a process that needs
 * them. */
void group_hold_programs(struct group *g);

/* Records how a container's program ended. */
void group_record_end(struct group *g, size_t container, int status);
/* Records the ends of children, then reaps them. Returns whether any child is left. ret_status is
 * the wait status of the child `watched`, if it was among them; 0 and NULL: none. */
bool group_reap(struct group *g, pid_t watched, int *ret_status);
/* For the worker: kills what ended containers left behind; returns whether there was anything. */
bool group_sweep(const struct group *g, pid_t keeper);

#endif
