/*
 * claim_notes.h - possible problems with the claims a container mounts: reported when it fails and
 * its last output says that it may not write, or that a file is missing.
 */
#ifndef MUSTER_AGENT_CLAIM_NOTES_H
#define MUSTER_AGENT_CLAIM_NOTES_H

#include "agent/claims.h"
#include "port/runtime.h"

/* Adds to c's notes what may be wrong with the claim, whose folder c mounts. */
void claim_notes_add(struct arena *a, const struct claims *claims, const char *ns,
                     const char *claim, const struct container_mount *m, struct container_start *c);

#endif
