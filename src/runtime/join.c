/* join.c - see join.h. */
#include "runtime/join.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/file.h"
#include "runtime/proc.h"

static const struct {
    const char *name;
    int flag;
} namespaces[] = {
    {"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},  {"uts", CLONE_NEWUTS},
    {"ipc", CLONE_NEWIPC},   {"net", CLONE_NEWNET}, {"cgroup", CLONE_NEWCGROUP},
};

/* A process cannot join its own namespace again, so only different ones are joined. -1: not known.
 */
static int is_other_namespace(pid_t pid, const char *name)
{
    char theirs_path[64], ours_path[64];
    struct stat theirs, ours;

    (void)snprintf(theirs_path, sizeof(theirs_path), "/proc/%d/ns/%s", (int)pid, name);
    (void)snprintf(ours_path, sizeof(ours_path), "/proc/self/ns/%s", name);
    if (stat(ours_path, &ours) != 0)
        return 0; /* the kernel does not have them */
    if (stat(theirs_path, &theirs) != 0)
        return -1;
    return theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev;
}

/* Checks, after /proc was read by the program's pid, that the pid was still its own. */
static int check_number(int pid_fd, struct err *err)
{
    if (pidfd_send_signal(pid_fd, 0, NULL, 0) == 0 || errno == EPERM)
        return 0;
    return err_set(err, ERR_INTERNAL, "the container's program has ended");
}

int join_namespaces(int pid_fd, pid_t pid, struct err *err)
{
    int flags = 0;
    bool known = true;

    for (size_t i = 0; i < ELEMS(namespaces); i++) {
        int other = is_other_namespace(pid, namespaces[i].name);

        known = known && other >= 0;
        flags |= other > 0 ? namespaces[i].flag : 0;
    }
    if (check_number(pid_fd, err) != 0)
        return -ESRCH;
    if (!known)
        return err_set(err, ERR_INTERNAL, "the container's namespaces cannot be seen");
    if (flags != 0 && setns(pid_fd, flags) != 0)
        return err_set(err, ERR_INTERNAL, "cannot join the container's namespaces: %s",
                       strerror(errno));
    return 0;
}

int join_program(pid_t pid, int64_t start_ticks, struct err *err)
{
    int pid_fd = pidfd_open(pid, 0), rc;
    struct proc_stat stat;

    if (pid_fd < 0 || proc_stat_read(pid, &stat) != 0 || stat.start_ticks != start_ticks)
        rc = err_set(err, ERR_INTERNAL, "the container's program has ended");
    else
        rc = join_namespaces(pid_fd, pid, err);
    file_close(&pid_fd);
    return rc;
}
