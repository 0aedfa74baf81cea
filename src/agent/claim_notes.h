/*
 * claim_notes.h - what may be wrong with the claims a container mounts: told when it fails and its
 * last words say that it may not write, or that a file is not there.
 */
#ifndef MUSTER_AGENT_CLAIM_NOTES_H
#define MUSTER_AGENT_CLAIM_NOTES_H

#include "agent/claims.h"
#include "port/runtime.h"

/* Adds to c's notes what is to be said of the claim, whose folder c mounts. */
void claim_notes_add(struct arena *a, const struct claims *claims, const char *ns,
                     const char *claim, const struct container_mount *m, struct container_start *c);

#endif
