/*
 * worker.h - does the work for a pod: starts its containers, writes their logs, stops and restarts
 * them, writes state.json. It can be killed at any point; the next one continues from the group's
 * memory and the folder.
 */
#ifndef MUSTER_RUNTIME_WORKER_H
#define MUSTER_RUNTIME_WORKER_H

#include "runtime/group.h"

/* In a child of the keeper. Returns when the pod is over (according to the group's memory), when
 * the keeper is dead, or when it cannot work. */
void worker_stay(struct group *g, pid_t keeper);

#endif
