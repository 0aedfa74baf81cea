/*
 * admit.h - whether there is room for what a scheduler writes, asked by a server whose ledger is
 * told of every write. A scheduler decides on what its caches show; of two that decide at once,
 * or of one whose caches are old, the server takes what fits. Pure.
 *
 * A group's room is checked where it is given: when its places are recorded, all at once. Its
 * members then have it, whatever becomes of the quota, and so a gang is never bound by half.
 */
#ifndef MUSTER_CORE_ADMIT_H
#define MUSTER_CORE_ADMIT_H

#include "core/ledger.h"

/* Why not, in a sentence with numbers; NULL: they may. The ledger does not show the write yet. */
const char *admit_group(struct ledger *l, struct arena *a, const struct json *group);
/* A group that is made: pods labelled with its name may hold room, counted in another queue. */
const char *admit_new_group(struct ledger *l, struct arena *a, const struct json *group);
/* The pod as it would be, with its node. */
const char *admit_pod(struct ledger *l, struct arena *a, const struct json *pod);

#endif
