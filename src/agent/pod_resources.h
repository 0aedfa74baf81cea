/* pod_resources.h - a container's resources: limits for the runtime, resourceFieldRef for its
 * environment. Pure. */
#ifndef MUSTER_AGENT_POD_RESOURCES_H
#define MUSTER_AGENT_POD_RESOURCES_H

#include "base/json.h"
#include "port/runtime.h"

/* The node's capacity, used for limits that are not set. */
struct pod_allocatable {
    int64_t cpu_milli, memory_bytes;
};

/* c: a container of the API. */
struct container_limits pod_container_limits(const struct json *c);
/* Whether a limit is set that needs a control group to enforce. */
bool pod_has_limits(const struct json *pod);

/* The value of a resourceFieldRef in container c of pod, rounded up as in Kubernetes. */
int pod_resource_value(struct arena *a, const struct json *pod, const struct json *c,
                       const struct json *ref, const struct pod_allocatable *node, const char **ret,
                       struct err *err) must_check;

#endif
