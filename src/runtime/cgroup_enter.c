/*
 * cgroup_enter.c - how a program enters its groups. Writing a process into cgroup.procs waits for
 * an RCU grace period, 5 to 20 ms: most of the time it would take to start a pod. There are two
 * ways around it: a child can be created in a version 2 group (clone3), and a single thread, which
 * a child is before exec, can be written into version 1's `tasks` file without waiting.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cgroup.h"

static bool is_unified(const char *folder)
{
    char path[CGROUP_PATH_BYTES];

    return snprintf(path, sizeof(path), "%s/cgroup.controllers", folder) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

static pid_t fork_into(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
    pid_t pid = -1;

    if (fd >= 0) {
        args.cgroup = (unsigned)fd;
        pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    }
    if (pid != 0 && fd >= 0)
        (void)close(fd);
    return pid;
}

pid_t cgroup_fork(const char *const *folders, bool *ret_born)
{
    pid_t pid = -1;

    *ret_born = true; /* in the child's memory too */
    for (; folders && *folders && pid < 0; folders++)
        if (is_unified(*folders))
            pid = fork_into(*folders);
    if (pid >= 0)
        return pid;
    *ret_born = false;
    return fork();
}

int cgroup_enter(const char *const *folders, bool born)
{
    int rc = 0;

    for (; folders && *folders && rc == 0; folders++) {
        bool unified = is_unified(*folders);

        if (!unified || !born)
            rc = cgroup_file_write(*folders, unified ? "cgroup.procs" : "tasks", "0");
    }
    return rc;
}
