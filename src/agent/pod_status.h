/* pod_status.h - a pod's status as the kubelet would write it. Pure. */
#ifndef MUSTER_AGENT_POD_STATUS_H
#define MUSTER_AGENT_POD_STATUS_H

#include "agent/pod_sync.h"

/* The merge patch that makes the pod's status match what runs (or, with failure, why nothing does);
 * NULL when it already does, or nothing is known yet. Has metadata.uid as precondition. */
struct json *pod_status_patch(struct arena *a, const struct json *pod, const struct pod_run *run,
                              const struct pod_failure *failure, int64_t now_ms);
/* The one that reports an eviction; its programs still run. */
struct json *pod_status_eviction(struct arena *a, const struct json *pod,
                                 const struct pod_failure *failure);

#endif
