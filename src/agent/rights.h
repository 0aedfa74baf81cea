/*
 * rights.h - the rights of a container's program: securityContext of pod and container, except for
 * its user (identity.h). Pure.
 */
#ifndef MUSTER_AGENT_RIGHTS_H
#define MUSTER_AGENT_RIGHTS_H

#include "agent/identity.h"

/* ret_note: what was requested but has less effect here, in the arena; or NULL. */
int rights_of(struct arena *a, const struct json *pod, const struct json *container,
              const struct identity_machine *m, struct container_rights *ret, const char **ret_note,
              struct err *err) must_check;

/* This process's. */
uint64_t rights_own_capabilities(void);

#endif
