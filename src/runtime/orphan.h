/*
 * orphan.h - how a program ended that is no child of the group's any more: its parents were killed
 * one after the other, and it came to the machine's init, which reaps it.
 *
 * Since Linux 6.15 a pidfd's holder can read how a reaped process ended. Before that the keeper
 * traces such programs, so that it is the keeper who reaps them first.
 */
#ifndef MUSTER_RUNTIME_ORPHAN_H
#define MUSTER_RUNTIME_ORPHAN_H

#include <stdbool.h>
#include <sys/types.h>

/* For tests: when it is set, the kernel is taken for one before 6.15. */
#define ORPHAN_ENV_OLD_KERNEL "MUSTER_TEST_OLD_KERNEL"

/* Whether the kernel tells of reaped processes. Found out with a child that ends at once and is
 * reaped before this returns. */
bool orphan_is_told(void);
/* The wait status of an exited process; false: unknown, or not yet known. */
bool orphan_status(int pid_fd, pid_t pid, int *ret_status);

/* The caller is to be told of its end by waiting, as if it were a child. */
int orphan_trace(int pid_fd, pid_t pid);
/* A traced process has stopped: it gets its signal and goes on. */
void orphan_go_on(pid_t pid);

#endif
