/*
 * keeper.h - sees to it that a pod has a worker, and clears away behind the last of them. Above the
 * worker as its parent and child subreaper, it inherits minders, programs and their leftovers when
 * the worker dies.
 */
#ifndef MUSTER_RUNTIME_KEEPER_H
#define MUSTER_RUNTIME_KEEPER_H

#include <signal.h>

#include "runtime/group.h"

/* Sent by the kernel to workers and minders when their parent dies. */
#define KEEPER_PARENT_SIGNAL SIGUSR1

/* How a worker ends. */
enum worker_end {
    WORKER_OVER = 0,  /* the pod is: memory->over says so too */
    WORKER_ALONE = 1, /* its keeper died: it is to take its place */
    WORKER_BUSY = 2,  /* there is another worker */
};

/* Becomes the keeper; returns when everything of the pod is gone and said, or when somebody else is
 * at it (then nothing is said). */
void keeper_stay(struct group *g);
/* The same in place of a keeper and a worker that are both gone. */
_Noreturn void keeper_replace(struct group *g);

#endif
