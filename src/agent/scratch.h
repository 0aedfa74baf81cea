/*
 * scratch.h - one folder per pod UID for volumes that are deleted with the pod: moved aside at
 * once, then deleted on a pool thread, one at a time. What cannot be deleted, because a program
 * made it immutable, is retried later.
 */
#ifndef MUSTER_AGENT_SCRATCH_H
#define MUSTER_AGENT_SCRATCH_H

#include "base/map.h"
#include "loop/loop.h"

#define SCRATCH_RETRY_MS (10 * 60 * 1000)

struct scratch;

/* For the folder root. NULL when out of memory. */
struct scratch *scratch_new(struct loop *l, struct clock *clock, const char *root,
                            int64_t retry_ms);
/* A job under way ends early; the next sweep finds what it left. */
void scratch_free(struct scratch *s);
const char *scratch_root(const struct scratch *s);

/* No-op when there is none. */
void scratch_remove(struct scratch *s, const char *uid);
/* Removes the folders of pods not among the UIDs, left by a killed daemon. */
void scratch_sweep(struct scratch *s, const struct map *uids);

#endif
