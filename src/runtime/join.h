/* join.h - enters the namespaces of a container's program. */
#ifndef MUSTER_RUNTIME_JOIN_H
#define MUSTER_RUNTIME_JOIN_H

#include <sys/types.h>

#include "base/err.h"

/* pid_fd holds the program, so that its pid can be checked to be still its own. */
int join_namespaces(int pid_fd, pid_t pid, struct err *err) must_check;
/* The same by its pid and the kernel's start time of it. */
int join_program(pid_t pid, int64_t start_ticks, struct err *err) must_check;

#endif
