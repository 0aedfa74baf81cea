/*
 * rights.h - what a container's program may do: securityContext of the pod and the container, but
 * for who it is (identity.h). Pure.
 */
#ifndef MUSTER_AGENT_RIGHTS_H
#define MUSTER_AGENT_RIGHTS_H

#include "agent/identity.h"

/* ret_note: what was asked for and counts for less here, in the arena; NULL: nothing. */
int rights_of(struct arena *a, const struct json *pod, const struct json *container,
              const struct identity_machine *m, struct container_rights *ret, const char **ret_note,
              struct err *err) must_check;

/* Of this process. */
uint64_t rights_own_capabilities(void);

#endif
