/*
 * pod_dial.h - connects to a port of a pod on this machine (pod_port.h), on a pool thread. Loop
 * thread only.
 */
#ifndef MUSTER_RUNTIME_POD_DIAL_H
#define MUSTER_RUNTIME_POD_DIAL_H

#include "loop/loop.h"
#include "port/node.h"

struct pod_dial;

/* Like dial in port/node.h or, if it counts, count_peers. */
struct pod_dial *pod_dial_start(struct loop *l, const char *pod_root, const struct node_pod *pod,
                                unsigned port, bool counts, node_dial_fn *fn, void *arg) must_check;
/* fn will not be called. NULL-safe. */
void pod_dial_cancel(struct pod_dial *d);

#endif
