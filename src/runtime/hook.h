/*
 * hook.h - what is done right after a container's start and before it is asked to end
 * (lifecycle.postStart, preStop). Done by a child like a probe's (probe.h), which ends when the
 * worker does: another worker does it again, as Kubernetes allows ("at least once").
 */
#ifndef MUSTER_RUNTIME_HOOK_H
#define MUSTER_RUNTIME_HOOK_H

#include "runtime/probe.h"

enum hook_outcome { HOOK_RUNNING, HOOK_GOOD, HOOK_BAD };

/* Zero with probe.fd -1 is a good start. */
struct hook {
    struct probe_start how;
    struct probe probe;
    bool begun;
};

void hook_init(struct hook *h);
/* Begins the first time it is called; most_ms: how long it may take. What went wrong is in
 * hook_words. */
enum hook_outcome hook_run(struct hook *h, const struct probe_start *how,
                           const struct container_start *c, const struct pod_members *pod,
                           int64_t most_ms);
const char *hook_words(const struct hook *h);
/* Stops it if running; it may be started again. */
void hook_end(struct hook *h);

#endif
