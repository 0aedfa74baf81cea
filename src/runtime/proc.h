/* proc.h - reads /proc about processes. */
#ifndef MUSTER_RUNTIME_PROC_H
#define MUSTER_RUNTIME_PROC_H

#include <sys/types.h>

#include "base/base.h"

struct proc_stat {
    pid_t parent, session;
    char state; /* 'Z': already dead */
    int64_t start_ticks;
    int exit_status; /* of a dead one, as from wait(); 0 without permission */
};

int proc_stat_read(pid_t pid, struct proc_stat *ret) must_check;
/* Signals have no effect any more: all its threads are exiting. */
bool proc_is_exiting(pid_t pid);
/* Whether its initial environment contains pair (NAME=value). */
bool proc_has_env(pid_t pid, const char *pair);
/* The value of name there; "" if missing or too long. */
void proc_env(pid_t pid, const char *name, char *out, size_t size);
/* Calls fn for every process there is now. */
void proc_each(void (*fn)(void *arg, pid_t pid), void *arg);
/* Calls fn for every child of a single-threaded process, including zombies. */
void proc_each_child(pid_t parent, void (*fn)(void *arg, pid_t pid), void *arg);
/* KILLs every process with both pairs (the second may be NULL) in its environment, repeatedly until
 * none is found. Slow: not for a loop's thread. */
void proc_kill_by_env(const char *pair, const char *other_pair);

#endif
