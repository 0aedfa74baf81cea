/*
 * rights.h - the last step before a container's program, or a command beside it, is executed: who
 * it is and what it may do. What is given up here cannot be taken back.
 */
#ifndef MUSTER_RUNTIME_RIGHTS_H
#define MUSTER_RUNTIME_RIGHTS_H

#include "port/runtime.h"

/* Whether this process can change its user: root, unless only in a user namespace where
 * there is nobody else. */
bool rights_can_be_others(void);
/* In the calling, single-threaded process, in the container's namespaces. */
int rights_take(const struct container_start *c, struct err *err) must_check;

/* seccomp_filter.c: forbids what container runtimes do by default, but for what these capabilities
 * are about. 0 or a negative errno. */
int seccomp_filter_install(uint64_t capabilities) must_check;

#endif
