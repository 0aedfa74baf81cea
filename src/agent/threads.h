/*
 * threads.h - OMP_NUM_THREADS for programs whose author has not set it: libraries unaware of the
 * container's share would start a thread per core of the machine.
 */
#ifndef MUSTER_AGENT_THREADS_H
#define MUSTER_AGENT_THREADS_H

#include "agent/pod_env.h"

#define THREADS_VARIABLE "OMP_NUM_THREADS"

/* At least 1. ret_why, in the arena: what it was derived from. */
int64_t threads_of(struct arena *a, const struct json *pod, const struct json *container,
                   const struct pod_machine *machine, const char **ret_why);

#endif
