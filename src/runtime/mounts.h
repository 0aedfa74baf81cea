/* mounts.h - namespaces for a pod: what it sees in place of the machine's own files and name. */
#ifndef MUSTER_RUNTIME_MOUNTS_H
#define MUSTER_RUNTIME_MOUNTS_H

#include "base/err.h"

/* Moves the calling, single-threaded process into namespaces of its own where hosts_path is
 * /etc/hosts and the host is called hostname (cut at 63 characters). torchrun finds out by that
 * name whether it is the one to host the rendezvous. Needs root, or a user namespace that maps the
 * user to himself. */
int mounts_enter(const char *hosts_path, const char *hostname, struct err *err) must_check;
/* Whether mounts_enter would work here: tried in a forked child. */
bool mounts_probe(void);

#endif
