/*
 * rights.h - the last step before a container's program, or a command in it, is executed: its user
 * and rights. What is given up here cannot be regained.
 */
#ifndef MUSTER_RUNTIME_RIGHTS_H
#define MUSTER_RUNTIME_RIGHTS_H

#include "port/runtime.h"

/* Whether this process can change its user: root, unless in a user namespace with only one user. */
bool rights_can_be_others(void);
/* In the calling, single-threaded process, in the container's namespaces. */
int rights_take(const struct container_start *c, struct err *err) must_check;

/* seccomp_filter.c: blocks what container runtimes block by default, except for what these
 * capabilities permit. 0 or a negative errno. */
int seccomp_filter_install(uint64_t capabilities) must_check;

#endif
