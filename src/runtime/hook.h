/*
 * hook.h - lifecycle.postStart and preStop: run right after a container's start and before it is
 * stopped. Run by a child like a probe's (probe.h), which ends when the worker does: another worker
 * then repeats it, as Kubernetes allows ("at least once").
 */
#ifndef MUSTER_RUNTIME_HOOK_H
#define MUSTER_RUNTIME_HOOK_H

#include "runtime/probe.h"

enum hook_outcome { HOOK_RUNNING, HOOK_GOOD, HOOK_BAD };

/* Starts zeroed, with probe.fd -1. */
struct hook {
    struct probe_start how;
    struct probe probe;
    bool begun;
};

void hook_init(struct hook *h);
/* Starts it on the first call; most_ms: time limit. hook_words has what went wrong. */
enum hook_outcome hook_run(struct hook *h, const struct probe_start *how,
                           const struct container_start *c, const struct pod_members *pod,
                           int64_t most_ms);
const char *hook_words(const struct hook *h);
/* Stops it if running; it may be started again. */
void hook_end(struct hook *h);

#endif
