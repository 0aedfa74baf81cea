/*
 * keeper.h - sees to it that a pod has a worker, and clears away behind the last of them. Above the
 * worker as its parent and child subreaper, it inherits programs and their leftovers when the
 * worker dies.
 */
#ifndef MUSTER_RUNTIME_KEEPER_H
#define MUSTER_RUNTIME_KEEPER_H

#include "runtime/group.h"

/* Becomes the keeper. Returns when everything of the pod is gone and said: here, or in the worker
 * that took this process's place. */
void keeper_stay(struct group *g);

#endif
