/* mounts.h - namespaces for a pod: what it sees in place of the machine's own files and name. What
 * differs between its containers is in rootfs.h. */
#ifndef MUSTER_RUNTIME_MOUNTS_H
#define MUSTER_RUNTIME_MOUNTS_H

#include "port/runtime.h"

/* Moves the calling, single-threaded process into namespaces of its own where pod->hosts_path is
 * /etc/hosts, the host is called as the pod (cut at 63 characters) and the pod's memory volumes are
 * mounted. torchrun finds out by that name whether it is the one to host the rendezvous. Memory
 * volumes live as long as the process or one of its children does: call it in the pod's oldest.
 * Needs root, or a user namespace that maps the user to himself. */
int mounts_enter(const struct pod_start *pod, struct err *err) must_check;
/* Whether mounts_enter would work here: tried in a forked child. */
bool mounts_probe(void);
/* When it would not: why, and what to do; part of a sentence. */
const char *mounts_obstacle(void);

/* For rootfs.c: a user namespace in which the calling process, who it was outside, is uid and gid;
 * and more namespaces with it. 0 or negative errno. */
int mounts_unshare_as(uint32_t uid, uint32_t gid, int more) must_check;

#endif
