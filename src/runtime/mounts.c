/* mounts.c - see mounts.h. */
#include "runtime/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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

int mounts_unshare_as(uint32_t uid, uint32_t gid, int more)
{
    char uids[64], gids[64];

    (void)snprintf(uids, sizeof(uids), "%u %u 1\n", uid, geteuid());
    (void)snprintf(gids, sizeof(gids), "%u %u 1\n", gid, getegid());
    if (unshare(CLONE_NEWUSER | more) != 0)
        return -errno;
    /* Without "deny" the group map cannot be written; kernels before 3.19 have no such file. */
    (void)write_file("/proc/self/setgroups", "deny");
    if (!write_file("/proc/self/uid_map", uids) || !write_file("/proc/self/gid_map", gids))
        return -errno;
    return 0;
}

/* Async-signal-safe except for snprintf, which does not allocate for these formats: it runs in a
 * forked child of a threaded process. */
static const char *enter(const char *hosts_path, const char *hostname)
{
    if (unshare(OWN_NAMESPACES) != 0 &&
        mounts_unshare_as(geteuid(), getegid(), OWN_NAMESPACES) != 0)
        return "no mount namespace";
    /* Later mounts and unmounts on the machine still reach the pod, but not the other way round. */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return "cannot detach from the machine's mounts";
    if (mount(hosts_path, HOSTS, NULL, MS_BIND, NULL) != 0)
        return "cannot mount the hosts file";
    if (sethostname(hostname, min_size(strlen(hostname), HOSTNAME_LIMIT)) != 0)
        return "cannot set the host name";
    return NULL;
}

static const char *mount_memory(const struct pod_memory *m)
{
    char options[128];
    size_t n = (size_t)snprintf(options, sizeof(options), "mode=%s", m->group ? "2777" : "0777");

    if (m->limit_bytes > 0)
        n += (size_t)snprintf(options + n, sizeof(options) - n, ",size=%lld",
                              (long long)m->limit_bytes);
    if (m->group)
        (void)snprintf(options + n, sizeof(options) - n, ",gid=%u", m->group);
    return mount("tmpfs", m->path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0
               ? NULL
               : "cannot mount a memory volume";
}

int mounts_enter(const struct pod_start *pod, struct err *err)
{
    const char *problem = enter(pod->hosts_path, pod->hostname ? pod->hostname : pod->name);

    for (size_t i = 0; i < pod->memory_len && !problem; i++)
        problem = mount_memory(&pod->memory[i]);
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

/* --- obstacles --- */

/* Settings that disable user namespaces for ordinary users, and the value that does. */
static const struct {
    const char *path, *off, *words;
} switches[] = {
    {"/proc/sys/kernel/unprivileged_userns_clone", "0",
     "this machine forbids user namespaces (sysctl kernel.unprivileged_userns_clone is 0); set it "
     "to 1 or run muster as root"},
    {"/proc/sys/user/max_user_namespaces", "0",
     "this machine forbids user namespaces (sysctl user.max_user_namespaces is 0); raise it or run "
     "muster as root"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "this machine restricts user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns "
     "is 1); set it to 0 or run muster as root"},
};

static bool file_says(const char *path, const char *value)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, value) == 0;
}

const char *mounts_obstacle(void)
{
    if (access(HOSTS, F_OK) != 0)
        return "this machine has no " HOSTS ", onto which a pod's own is mounted; create it";
    for (size_t i = 0; i < ELEMS(switches); i++)
        if (file_says(switches[i].path, switches[i].off))
            return switches[i].words;
    return "this machine lets muster make no mount namespace (a container or seccomp filter may "
           "forbid it); allow user namespaces or run muster as root";
}
