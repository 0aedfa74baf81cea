/* proc.h - what /proc tells about processes. */
#ifndef MUSTER_RUNTIME_PROC_H
#define MUSTER_RUNTIME_PROC_H

#include <sys/types.h>

#include "base/base.h"

struct proc_stat {
    pid_t parent, session;
    char state; /* 'Z': dead already */
    int64_t start_ticks;
    int exit_status; /* as wait() says, of one that is dead; 0 to those who may not know */
};

int proc_stat_read(pid_t pid, struct proc_stat *ret) must_check;
/* No signal has an effect any more: each of its threads exits, or has to. */
bool proc_is_exiting(pid_t pid);
/* The process carries NAME=value (pair) in the environment it was started with. */
bool proc_has_env(pid_t pid, const char *pair);
/* The value it has for name there; "" without one that fits. */
void proc_env(pid_t pid, const char *name, char *out, size_t size);
/* Calls fn for every process there is now. */
void proc_each(void (*fn)(void *arg, pid_t pid), void *arg);
/* Calls fn for every child of a process of one thread, zombies too. */
void proc_each_child(pid_t parent, void (*fn)(void *arg, pid_t pid), void *arg);
/* KILLs every process with both pairs (the second may be NULL) in its environment, again until a
 * look finds none. It takes its time: not for a loop's thread. */
void proc_kill_by_env(const char *pair, const char *other_pair);

#endif
