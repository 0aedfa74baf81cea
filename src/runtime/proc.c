/* proc.c - see proc.h. A pid read here may be gone or reused a moment later: to kill, hold a pidfd
 * or be the parent. */
#include "runtime/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define STAT_SIZE 1024u
#define STATUS_SIZE 4096u
#define FLAG_EXITING 4u                          /* the kernel's PF_EXITING */
#define ENVIRON_LIMIT_BYTES (4u * 1024u * 1024u) /* the kernel: about 6 MiB with args */
#define KILL_ROUNDS 20
#define KILL_WAIT_MS 100 /* dying takes no longer, or very long */

static ssize_t read_all(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -errno;
    while (len < cap) {
        n = read(fd, out + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    n = n < 0 ? -errno : (ssize_t)len;
    (void)close(fd);
    return n;
}

int proc_stat_read(pid_t pid, struct proc_stat *ret)
{
    char path[64], text[STAT_SIZE + 1];
    int parent, session;
    long long start;
    const char *p;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    n = read_all(path, text, STAT_SIZE);
    if (n < 0)
        return (int)n;
    text[n] = '\0';
    p = strrchr(text, ')'); /* the name before it may contain anything */
    ret->exit_status = 0;
    if (!p ||
        sscanf(p + 1,
               " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld"
               " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %*d %*u %*u %*u"
               " %*u %*d %*u %*u %*u %*u %*u %*u %*u %d",
               &ret->state, &parent, &session, &start, &ret->exit_status) < 4)
        return -EIO;
    ret->parent = (pid_t)parent;
    ret->session = (pid_t)session;
    ret->start_ticks = (int64_t)start;
    return 0;
}

static bool thread_is_exiting(pid_t pid, const char *thread)
{
    char path[64], text[STATUS_SIZE + 1];
    const char *p = NULL;
    unsigned flags = 0;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, thread);
    n = read_all(path, text, STATUS_SIZE);
    if (n < 0)
        return true;
    text[n] = '\0';
    p = strrchr(text, ')');
    if (p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & FLAG_EXITING))
        return true;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, thread);
    n = read_all(path, text, STATUS_SIZE);
    text[max_i64(n, 0)] = '\0';
    p = strstr(text, "\nSigPnd:");
    return p && (strtoull(p + strlen("\nSigPnd:"), NULL, 16) >> (SIGKILL - 1) & 1);
}

bool proc_is_exiting(pid_t pid)
{
    const struct dirent *e;
    bool all = true;
    char path[64];
    DIR *d;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    d = opendir(path);
    while (d && all && (e = readdir(d)) != NULL)
        all = e->d_name[0] == '.' || thread_is_exiting(pid, e->d_name);
    if (d)
        (void)closedir(d);
    return d && all;
}

/* Whether fn is true for any variable of its initial environment. */
static bool each_env(pid_t pid, bool (*fn)(void *arg, const char *pair), void *arg)
{
    char path[64];
    char *text = malloc(ENVIRON_LIMIT_BYTES + 1);
    bool found = false;
    ssize_t n;

    if (!text)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    n = read_all(path, text, ENVIRON_LIMIT_BYTES);
    if (n > 0) {
        text[n] = '\0';
        for (const char *p = text; p < text + n && !found; p += strlen(p) + 1)
            found = fn(arg, p);
    }
    free(text);
    return found;
}

static bool is_pair(void *arg, const char *pair)
{
    return strcmp(pair, arg) == 0;
}

bool proc_has_env(pid_t pid, const char *pair)
{
    return each_env(pid, is_pair, (void *)pair);
}

struct env_value {
    const char *name;
    char *out;
    size_t size;
};

static bool take_value(void *arg, const char *pair)
{
    const struct env_value *v = arg;
    size_t len = strlen(v->name);

    if (strncmp(pair, v->name, len) != 0 || pair[len] != '=' || strlen(pair + len + 1) >= v->size)
        return false;
    memcpy(v->out, pair + len + 1, strlen(pair + len + 1) + 1);
    return true;
}

void proc_env(pid_t pid, const char *name, char *out, size_t size)
{
    struct env_value v = {.name = name, .out = out, .size = size};

    *out = '\0';
    (void)each_env(pid, take_value, &v);
}

void proc_each(void (*fn)(void *arg, pid_t pid), void *arg)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (isdigit((unsigned char)e->d_name[0]))
            fn(arg, (pid_t)strtol(e->d_name, NULL, 10));
    if (d)
        (void)closedir(d);
}

struct child_search {
    void (*fn)(void *arg, pid_t pid);
    void *arg;
    pid_t parent;
};

static void try_child(void *arg, pid_t pid)
{
    struct child_search *s = arg;
    struct proc_stat stat;

    if (proc_stat_read(pid, &stat) == 0 && stat.parent == s->parent)
        s->fn(s->arg, pid);
}

/* Kernels without CONFIG_PROC_CHILDREN have no such file: then every process is checked. */
void proc_each_child(pid_t parent, void (*fn)(void *arg, pid_t pid), void *arg)
{
    struct child_search search = {.fn = fn, .arg = arg, .parent = parent};
    char path[64];
    FILE *f;
    int pid;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    f = fopen(path, "re");
    if (!f) {
        proc_each(try_child, &search);
        return;
    }
    while (fscanf(f, "%d", &pid) == 1)
        fn(arg, (pid_t)pid);
    (void)fclose(f);
}

struct env_kill {
    const char *pairs[2];
    unsigned found;
};

static bool is_marked(const struct env_kill *k, pid_t pid)
{
    return proc_has_env(pid, k->pairs[0]) && (!k->pairs[1] || proc_has_env(pid, k->pairs[1]));
}

static void kill_if_marked(void *arg, pid_t pid)
{
    struct env_kill *k = arg;
    struct proc_stat stat;
    struct pollfd gone = {.events = POLLIN};
    int fd;

    if (!is_marked(k, pid))
        return;
    fd = pidfd_open(pid, 0);
    if (fd < 0)
        return;
    /* Checked again now that the pidfd holds it: the pid may have been reused. */
    if (is_marked(k, pid) && proc_stat_read(pid, &stat) == 0 && stat.state != 'Z' &&
        pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0) {
        k->found++;
        gone.fd = fd;
        (void)poll(&gone, 1, KILL_WAIT_MS);
    }
    (void)close(fd);
}

void proc_kill_by_env(const char *pair, const char *other_pair)
{
    for (int round = 0; round < KILL_ROUNDS; round++) {
        struct env_kill k = {.pairs = {pair, other_pair}, .found = 0};

        proc_each(kill_if_marked, &k);
        if (k.found == 0)
            break;
    }
}
