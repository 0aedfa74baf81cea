/* join.h - enters the namespaces of a container's program. */
#ifndef MUSTER_RUNTIME_JOIN_H
#define MUSTER_RUNTIME_JOIN_H

#include <sys/types.h>

#include "base/err.h"

/* pid_fd refers to the program: it shows that pid was not reused. */
int join_namespaces(int pid_fd, pid_t pid, struct err *err) must_check;
/* The same for the program with this pid and start time, as the kernel counts it. */
int join_program(pid_t pid, int64_t start_ticks, struct err *err) must_check;

#endif
