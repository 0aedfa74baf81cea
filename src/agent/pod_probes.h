/* pod_probes.h - converts a container's probes and hooks from its spec to the runtime's form.
 * Pure. */
#ifndef MUSTER_AGENT_POD_PROBES_H
#define MUSTER_AGENT_POD_PROBES_H

#include "base/json.h"
#include "port/runtime.h"

/* container: from the pod's spec. Strings are in the arena or the spec. */
void pod_probes_build(struct arena *a, const struct json *container, struct container_start *ret);
enum pod_restart pod_restart_policy(const struct json *pod);
/* -1: its owner does not count attempts. */
int64_t pod_attempt(const struct json *pod);

#endif
