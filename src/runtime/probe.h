/*
 * probe.h - startup, liveness and readiness probes, as in the kubelet. Each one runs in a
 * short-lived child, so that a container that does not answer blocks nothing.
 */
#ifndef MUSTER_RUNTIME_PROBE_H
#define MUSTER_RUNTIME_PROBE_H

#include "base/arena.h"
#include "port/runtime.h"
#include "runtime/pod_port.h"

#define PROBE_TEXT_SIZE 512u /* for the failure text */

/* One of a container's probes or hooks. Starts zeroed, with fd -1. */
struct probe {
    const struct probe_start *how;
    int fd;              /* for the pending answer; or -1 */
    int child_fd;        /* pidfd of the child */
    int64_t next_at_ms;  /* monotonic; 0: not scheduled */
    int64_t give_up_ms;  /* monotonic: then the child itself is stuck */
    int64_t good, bad;   /* consecutive */
    bool passed, failed; /* which threshold was reached last */
    char text[PROBE_TEXT_SIZE];
    size_t text_len;
};

void probe_begin(struct probe *p, const struct probe_start *how, int64_t now_ms);
void probe_end(struct probe *p);
/* Starts it when it is time. */
void probe_ask(struct probe *p, const struct container_start *c, const struct pod_members *pod,
               int64_t now_ms);
/* Checks for an answer. True: there is one; p->good or p->bad tells which, p->text why. */
bool probe_answer(struct probe *p, int64_t now_ms);
/* When to check again, monotonic; 0: never. */
int64_t probe_wake_ms(const struct probe *p);

#endif
