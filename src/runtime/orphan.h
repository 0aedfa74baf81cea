/*
 * orphan.h - how a program ended that is no longer a child of the group: its parents were killed
 * one after the other, and it went to the machine's init, which reaps it.
 *
 * Since Linux 6.15 the holder of a pidfd can read how a reaped process ended. Before that the
 * keeper traces such programs, so that it reaps them first.
 */
#ifndef MUSTER_RUNTIME_ORPHAN_H
#define MUSTER_RUNTIME_ORPHAN_H

#include <stdbool.h>
#include <sys/types.h>

/* For tests: makes the kernel appear older than 6.15. */
#define ORPHAN_ENV_OLD_KERNEL "MUSTER_TEST_OLD_KERNEL"

/* Whether the kernel reports reaped processes. Tested with a child that ends at once and is reaped
 * before this returns. */
bool orphan_is_told(void);
/* The wait status of an exited process; false: unknown, or not yet known. */
bool orphan_status(int pid_fd, pid_t pid, int *ret_status);

/* Makes the caller receive its end by waiting, as for a child. */
int orphan_trace(int pid_fd, pid_t pid);
/* A traced process has stopped: delivers its signal and continues it. */
void orphan_go_on(pid_t pid);

#endif
