/*
 * ephemeral.h - containers added to a running pod, for debugging. To the runtime each is a pod of
 * its own, whose UID is made of the pod's and the container's name (runtime/podfolder.h), so that
 * it is supervised, and found again, like any other; here they are its pod's. They are started once
 * and end with their pod.
 */
#ifndef MUSTER_AGENT_EPHEMERAL_H
#define MUSTER_AGENT_EPHEMERAL_H

#include "agent/agent_internal.h"

/* The length of the pod's UID in that of a run, which may be an ephemeral container's. */
size_t ephemeral_base_len(const char *uid);

/* The next one to start, or NULL. */
const struct json *ephemeral_next(const struct pod_work *w, const struct json *pod,
                                  const struct pod_run *run);
/* A pod with this container alone, for pod_start_build. NULL when out of memory. */
struct json *ephemeral_pod(struct arena *a, const struct json *pod, const struct json *container);
/* Makes the start built of that pod the container's: its UID, its limits, and the namespaces of a
 * container that runs. */
int ephemeral_prepare(struct arena *a, const struct json *pod, const struct json *container,
                      const struct pod_run *run, struct pod_start *start, struct err *err);

/* run with the states of its pod's ephemeral containers, in the arena. */
struct pod_run ephemeral_with(struct arena *a, const struct pod_work *w, const struct json *pod,
                              const struct pod_run *run);

bool ephemeral_any(const struct pod_work *w, bool alive_only);
void ephemeral_stop(const struct pod_work *w, int64_t grace_seconds);
/* Those that have ended. */
void ephemeral_remove(const struct pod_work *w);

#endif
