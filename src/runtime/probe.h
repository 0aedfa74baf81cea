/*
 * probe.h - asks a container whether it is well: startup, liveness, readiness, as the kubelet does.
 * Each question is asked by a short-lived child, so that a container that does not answer holds up
 * nobody.
 */
#ifndef MUSTER_RUNTIME_PROBE_H
#define MUSTER_RUNTIME_PROBE_H

#include "base/arena.h"
#include "port/runtime.h"
#include "runtime/pod_port.h"

#define PROBE_TEXT_SIZE 512u /* of what went wrong */

/* One of a container's probes, or of its hooks. Zero with fd -1 is a good start. */
struct probe {
    const struct probe_start *how;
    int fd;              /* the answer that is awaited; -1: none */
    int child_fd;        /* who is to give it */
    int64_t next_at_ms;  /* monotonic; 0: not planned */
    int64_t give_up_ms;  /* monotonic: the child itself is stuck */
    int64_t good, bad;   /* in a row */
    bool passed, failed; /* a threshold was reached, that one last */
    char text[PROBE_TEXT_SIZE];
    size_t text_len;
};

void probe_begin(struct probe *p, const struct probe_start *how, int64_t now_ms);
void probe_end(struct probe *p);
/* Asks when it is time. */
void probe_ask(struct probe *p, const struct container_start *c, const struct pod_members *pod,
               int64_t now_ms);
/* There may be an answer. true: there is; p->good or p->bad tells which, p->text why. */
bool probe_answer(struct probe *p, int64_t now_ms);
/* When to look again, monotonic; 0: never. */
int64_t probe_wake_ms(const struct probe *p);

#endif
