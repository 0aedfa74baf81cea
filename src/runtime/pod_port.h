/*
 * pod_port.h - connects to a loopback port only if it is a pod's own: every socket listening there
 * is held by a process of that pod, before the connection is made and, the same sockets, after it.
 * Pods share the machine's network, so another program may have taken the port first, and the
 * number alone does not say which one answers. Blocking; links only the C library.
 */
#ifndef MUSTER_RUNTIME_POD_PORT_H
#define MUSTER_RUNTIME_POD_PORT_H

#include <sys/types.h>

#include "port/node.h"
#include "port/runtime.h"

/* A pod's processes: those in its containers' control groups, and descendants of its own. */
struct pod_members {
    const struct pod_start *pod;
    pid_t roots[POD_CONTAINERS_LIMIT + 2];
    size_t roots_len;
    /* Commands run in the pod, which have other parents: also processes of this user that carry the
     * pod's mark. Only our own user could forge it. */
    bool has_commands;
    pid_t program; /* of the container in question, and its pidfd */
    int program_fd;
};

/* A non-blocking connection; or -ECONNREFUSED when nothing listens on 127.0.0.1 or ::1, -EPERM when
 * a process outside the pod does, -ETIMEDOUT, or another errno. ret_token may be NULL: the
 * listener's NODE_TOKEN_VARIABLE, or "". */
int pod_port_connect(const struct pod_members *m, unsigned port, int timeout_ms,
                     char ret_token[NODE_TOKEN_SIZE]) must_check;
/* How many connections to its port on 127.0.0.1 a pod's program has accepted, of the first few; or
 * an error as above. */
int pod_port_peers(const struct pod_members *m, unsigned port) must_check;
/* For tests: behaves as if the kernel had no sock_diag. */
extern bool pod_port_from_proc;
/* The message for an error. */
const char *pod_port_problem(int error);

#endif
