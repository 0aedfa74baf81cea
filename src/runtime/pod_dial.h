/*
 * pod_dial.h - a connection to a port of one pod of this machine (pod_port.h), made on a pool
 * thread. Loop thread only.
 */
#ifndef MUSTER_RUNTIME_POD_DIAL_H
#define MUSTER_RUNTIME_POD_DIAL_H

#include "loop/loop.h"

struct pod_dial;

/* fn is called once, not from inside: fd is the callee's, not blocking; or a negative errno as of
 * pod_port_connect, and -ENOENT when the pod does not run here. NULL when out of memory. */
struct pod_dial *pod_dial_start(struct loop *l, const char *pod_root, const char *pod_uid,
                                unsigned port, void (*fn)(void *arg, int fd), void *arg) must_check;
/* fn is not called any more. NULL-safe. */
void pod_dial_cancel(struct pod_dial *d);

#endif
