/* pod_status.h - a pod's status as the kubelet would write it. Pure. */
#ifndef MUSTER_AGENT_POD_STATUS_H
#define MUSTER_AGENT_POD_STATUS_H

#include "agent/pod_sync.h"

/* The merge patch that brings the pod's status in line with what runs (or, with failure, says why
 * nothing does); NULL when nothing changes, or nothing is known yet. Has metadata.uid as
 * precondition. Pods share the host's network: address is the machine's. */
struct json *pod_status_patch(struct arena *a, const struct json *pod, const struct pod_run *run,
                              const struct pod_failure *failure, const char *address,
                              int64_t now_ms);
/* The one that reports an eviction; its programs still run. */
struct json *pod_status_eviction(struct arena *a, const struct json *pod,
                                 const struct pod_failure *failure);

#endif
