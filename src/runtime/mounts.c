/* mounts.c - see mounts.h. */
#include "runtime/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTS "/etc/hosts"
#define HOSTNAME_LIMIT 63
#define OWN_NAMESPACES (CLONE_NEWNS | CLONE_NEWUTS)

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* A user namespace in which the user is who he was. */
static bool unshare_as_user(void)
{
    unsigned uid = geteuid(), gid = getegid();
    char uids[64], gids[64];

    (void)snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
    (void)snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
    if (unshare(CLONE_NEWUSER | OWN_NAMESPACES) != 0)
        return false;
    /* Without "deny" the group map may not be written; kernels before 3.19 have no such file. */
    (void)write_file("/proc/self/setgroups", "deny");
    return write_file("/proc/self/uid_map", uids) && write_file("/proc/self/gid_map", gids);
}

/* Async-signal-safe but for snprintf, which allocates nothing for these formats: it runs in a
 * forked child of a process with threads. */
static const char *enter(const char *hosts_path, const char *hostname)
{
    if (unshare(OWN_NAMESPACES) != 0 && !unshare_as_user())
        return "no mount namespace";
    /* What the machine mounts or unmounts later still reaches the pod, nothing goes the other way.
     */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return "cannot detach from the machine's mounts";
    if (mount(hosts_path, HOSTS, NULL, MS_BIND, NULL) != 0)
        return "cannot mount the hosts file";
    if (sethostname(hostname, min_size(strlen(hostname), HOSTNAME_LIMIT)) != 0)
        return "cannot set the host name";
    return NULL;
}

int mounts_enter(const char *hosts_path, const char *hostname, struct err *err)
{
    const char *problem = enter(hosts_path, hostname);

    if (!problem)
        return 0;
    return err_set(err, ERR_INTERNAL, "%s: %s", problem, strerror(errno));
}

bool mounts_probe(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(enter(HOSTS, "probe") == NULL ? 0 : 1);
    if (pid < 0)
        return false;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
