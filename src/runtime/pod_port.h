/*
 * pod_port.h - connects to a port of this machine's loopback only when it is a pod's own: every
 * socket that listens there is held by a process of that pod, before the connection is made and,
 * the same sockets, after it. Pods share the machine's network, so anybody may have taken a port
 * first, and a number alone says nothing about who answers. Blocking; links the C library only.
 */
#ifndef MUSTER_RUNTIME_POD_PORT_H
#define MUSTER_RUNTIME_POD_PORT_H

#include <sys/types.h>

#include "port/node.h"
#include "port/runtime.h"

/* A pod's processes: those in its containers' control groups, and what descends from its own. */
struct pod_members {
    const struct pod_start *pod;
    pid_t roots[POD_CONTAINERS_LIMIT + 2];
    size_t roots_len;
    /* Commands run beside its programs, whose parents are others: also processes of this user that
     * carry the pod's mark. Only our own user could forge it. */
    bool has_commands;
};

/* A connection, not blocking; or -ECONNREFUSED when nobody listens on 127.0.0.1 or ::1, -EPERM when
 * a process outside the pod does, -ETIMEDOUT, or another errno. ret_token may be NULL: what who
 * listens has as NODE_TOKEN_VARIABLE, "" without one. */
int pod_port_connect(const struct pod_members *m, unsigned port, int timeout_ms,
                     char ret_token[NODE_TOKEN_SIZE]) must_check;
/* For tests: as where the kernel has no sock_diag. */
extern bool pod_port_from_proc;
/* What to say of it. */
const char *pod_port_problem(int error);

#endif
