/*
 * admit.h - checks a scheduler's writes for room, in a server whose ledger sees every write. A
 * scheduler decides on what its caches show; if two decide at once, or caches are stale, the server
 * accepts only what fits. Pure.
 *
 * A group's room is checked once, when all its placements are recorded. Its members then have it
 * even if the quota changes, so a gang is never bound by half.
 */
#ifndef MUSTER_CORE_ADMIT_H
#define MUSTER_CORE_ADMIT_H

#include "core/ledger.h"

/* Why not, as a sentence with numbers; NULL: accepted. The ledger must not contain the write
 * yet. */
const char *admit_group(struct ledger *l, struct arena *a, const struct json *group);
/* For a new group: pods labelled with its name may already run, and count in another queue. */
const char *admit_new_group(struct ledger *l, struct arena *a, const struct json *group);
/* The pod as it would be, including its node. */
const char *admit_pod(struct ledger *l, struct arena *a, const struct json *pod);

#endif
