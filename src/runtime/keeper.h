/*
 * keeper.h - makes sure that a pod has a worker, and cleans up after the last one. As the worker's
 * parent and a child subreaper it inherits programs and their leftovers when the worker dies.
 */
#ifndef MUSTER_RUNTIME_KEEPER_H
#define MUSTER_RUNTIME_KEEPER_H

#include "runtime/group.h"

/* Becomes the keeper. Returns when everything of the pod is gone and recorded: here, or in the
 * worker that took this process's place. */
void keeper_stay(struct group *g);

#endif
