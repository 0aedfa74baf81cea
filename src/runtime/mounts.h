/* mounts.h - a pod's namespaces: what it sees in place of the machine's own files and name.
 * Differences between its containers are in rootfs.h. */
#ifndef MUSTER_RUNTIME_MOUNTS_H
#define MUSTER_RUNTIME_MOUNTS_H

#include "port/runtime.h"

/* Moves the calling, single-threaded process into its own namespaces, where pod->hosts_path is
 * /etc/hosts, the host is named like the pod (truncated to 63 characters) and the pod's memory
 * volumes are mounted. torchrun decides by that name whether to host the rendezvous. Memory volumes
 * live as long as the process or one of its children: call it in the pod's oldest. Requires root,
 * or a user namespace that maps the user to itself. */
int mounts_enter(const struct pod_start *pod, struct err *err) must_check;
/* Whether mounts_enter would work here: tried in a forked child. */
bool mounts_probe(void);
/* If not: why, and what to do; part of a sentence. */
const char *mounts_obstacle(void);

/* For rootfs.c: enters a user namespace in which the calling process has this uid and gid, and more
 * namespaces with it. 0 or negative errno. */
int mounts_unshare_as(uint32_t uid, uint32_t gid, int more) must_check;

#endif
