/* syscalls.c - wrappers that glibc has only since 2.36, so that the binary also runs with 2.34
 * (Ubuntu 22.04). They take precedence over the C library's. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

int pidfd_send_signal(int fd, int signum, siginfo_t *info, unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, signum, info, flags);
}

int fsopen(const char *type, unsigned flags)
{
    return (int)syscall(SYS_fsopen, type, flags);
}

int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux)
{
    return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

int fsmount(int fd, unsigned flags, unsigned attributes)
{
    return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

int open_tree(int fd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, fd, path, flags);
}

int move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

int mount_setattr(int fd, const char *path, unsigned flags, struct mount_attr *attr, size_t size)
{
    return (int)syscall(SYS_mount_setattr, fd, path, flags, attr, size);
}
