/* orphan.c - see orphan.h. */
#include "runtime/orphan.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/proc.h"

/* From <linux/pidfd.h> of Linux 6.15; Debian 12's is older. */
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT (UINT64_C(1) << 3)

static bool reaped_status(int pid_fd, int *ret_status)
{
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};

    if (ioctl(pid_fd, PIDFD_GET_INFO, &info) != 0 || !(info.mask & PIDFD_INFO_EXIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}

bool orphan_is_told(void)
{
    int status = 0, fd;
    bool told = false;
    pid_t pid;

    if (getenv(ORPHAN_ENV_OLD_KERNEL))
        return false;
    pid = fork();
    if (pid == 0)
        _exit(0);
    fd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pid > 0 && waitpid(pid, NULL, 0) == pid && fd >= 0)
        told = reaped_status(fd, &status);
    if (fd >= 0)
        (void)close(fd);
    return told;
}

/* init may be slow, or never reap: then /proc has the status, for those permitted to see it. Others
 * read 0; the error of the link next to it tells whether we are permitted. */
static bool zombie_status(int pid_fd, pid_t pid, int *ret_status)
{
    struct proc_stat stat;
    char path[64], target[1];

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (readlink(path, target, sizeof(target)) >= 0 || errno != ENOENT ||
        proc_stat_read(pid, &stat) != 0 || stat.state != 'Z' ||
        pidfd_send_signal(pid_fd, 0, NULL, 0) != 0) /* already reaped: the pid may be reused */
        return false;
    *ret_status = stat.exit_status;
    return true;
}

bool orphan_status(int pid_fd, pid_t pid, int *ret_status)
{
    if (getenv(ORPHAN_ENV_OLD_KERNEL))
        return false;
    return reaped_status(pid_fd, ret_status) || zombie_status(pid_fd, pid, ret_status);
}

/* --- kernels before 6.15 --- */

int orphan_trace(int pid_fd, pid_t pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
        return -errno;
    /* The pid may have been reused; tracing the wrong process does it no harm. */
    return pidfd_send_signal(pid_fd, 0, NULL, 0) == 0 ? 0 : -errno;
}

static bool stops(int signum)
{
    return signum == SIGSTOP || signum == SIGTSTP || signum == SIGTTIN || signum == SIGTTOU;
}

void orphan_go_on(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    int signum, event;

    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid == 0)
        return; /* it was killed meanwhile */
    signum = info.si_status & 0xFF;
    event = info.si_status >> 8;
    if (event == 0)
        (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signum);
    else if (stops(signum))
        (void)ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* it stays stopped, as requested */
    else
        (void)ptrace(PTRACE_CONT, pid, NULL, NULL);
}
