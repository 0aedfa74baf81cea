/* scratch.h - one folder per pod UID for volumes that die with the pod, and how they do: moved
 * aside at once, deleted on a pool thread. */
#ifndef MUSTER_AGENT_SCRATCH_H
#define MUSTER_AGENT_SCRATCH_H

#include "loop/loop.h"
#include "port/runtime.h"

/* Nothing happens when there is none. */
void scratch_remove(struct loop *l, const char *root, const char *uid);
/* Removes the folders of pods the runtime does not know: those of a daemon that was killed. */
void scratch_sweep(struct loop *l, const char *root, struct runtime *runtime);

#endif
