/* mounts.h - a mount namespace for a pod: what it sees in place of the machine's own files. */
#ifndef MUSTER_RUNTIME_MOUNTS_H
#define MUSTER_RUNTIME_MOUNTS_H

#include "base/err.h"

/* Moves the calling, single-threaded process into a namespace of its own where hosts_path is
 * /etc/hosts. Needs root, or a user namespace that maps the user to himself. */
int mounts_enter(const char *hosts_path, struct err *err) must_check;
/* Whether mounts_enter would work here: tried in a forked child. */
bool mounts_probe(void);

#endif
