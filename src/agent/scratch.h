/*
 * scratch.h - one folder per pod UID for volumes that die with the pod, and how they do: moved
 * aside at once, deleted on a pool thread, one such job at a time. What cannot be deleted, because
 * a program made it immutable, is left and tried again later.
 */
#ifndef MUSTER_AGENT_SCRATCH_H
#define MUSTER_AGENT_SCRATCH_H

#include "base/map.h"
#include "loop/loop.h"

#define SCRATCH_RETRY_MS (10 * 60 * 1000)

struct scratch;

/* Of the folder root. NULL when out of memory. */
struct scratch *scratch_new(struct loop *l, struct clock *clock, const char *root,
                            int64_t retry_ms);
/* A job that is under way ends early; what it leaves, the next sweep finds. */
void scratch_free(struct scratch *s);
const char *scratch_root(const struct scratch *s);

/* Nothing happens when there is none. */
void scratch_remove(struct scratch *s, const char *uid);
/* Removes the folders of pods that are not among the UIDs: those of a daemon that was killed. */
void scratch_sweep(struct scratch *s, const struct map *uids);

#endif
