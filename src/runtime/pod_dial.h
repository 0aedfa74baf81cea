/*
 * pod_dial.h - a connection to a port of one pod of this machine (pod_port.h), made on a pool
 * thread. Loop thread only.
 */
#ifndef MUSTER_RUNTIME_POD_DIAL_H
#define MUSTER_RUNTIME_POD_DIAL_H

#include "loop/loop.h"
#include "port/node.h"

struct pod_dial;

/* As dial of port/node.h. */
struct pod_dial *pod_dial_start(struct loop *l, const char *pod_root, const struct node_pod *pod,
                                unsigned port, node_dial_fn *fn, void *arg) must_check;
/* fn is not called any more. NULL-safe. */
void pod_dial_cancel(struct pod_dial *d);

#endif
