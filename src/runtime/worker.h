/*
 * worker.h - does what there is to do for a pod: starts its containers, writes their logs, stops
 * and restarts them, writes state.json. It can be killed at any point; the next one goes on from
 * the group's memory and the folder.
 */
#ifndef MUSTER_RUNTIME_WORKER_H
#define MUSTER_RUNTIME_WORKER_H

#include "runtime/keeper.h"

/* In a child of the keeper. Returns when it has nothing left to do. */
enum worker_end worker_stay(struct group *g, pid_t keeper);

#endif
