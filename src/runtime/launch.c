/* launch.c - see launch.h. What forks here has one thread. What fails between fork and exec is told
 * through a pipe that a successful exec closes. */
#include "runtime/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cgroup.h"
#include "runtime/rootfs.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum stage { STAGE_SETUP, STAGE_CGROUP, STAGE_ROOTFS, STAGE_CWD, STAGE_FIND, STAGE_EXEC };

/* Small enough for a pipe to take it in one piece. */
struct failure {
    enum stage stage;
    int errnum;
    char text[1024]; /* of a stage that has more to say than its number */
};

struct plan {
    const struct container_start *c;
    struct arena *arena;
    bool enter_rootfs; /* false: it is there already */
    int std_in, std_out, std_err, report;
    enum launch_terminal terminal;
    bool born_in_group;
    pid_t parent;
};

static const char *env_value(const char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* By the container's PATH and mounts, not by ours. NULL when there is none. */
static const char *find_program(const struct container_start *c, struct arena *a)
{
    const char *dirs = env_value(c->env, "PATH");
    const char *name = c->argv[0];

    if (strchr(name, '/'))
        return name;
    if (!dirs)
        dirs = DEFAULT_PATH;
    while (*name) {
        size_t n = strcspn(dirs, ":");
        const char *path = arena_printf(a, "%.*s/%s", (int)n, n ? dirs : ".", name);

        if (!path)
            return NULL;
        if (n > 0 && is_program(path))
            return path;
        if (!dirs[n])
            break;
        dirs += n + 1;
    }
    return NULL;
}

static void reset_signals(void)
{
    sigset_t none;

    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void give_up(const struct plan *p, enum stage stage)
{
    struct failure f = {.stage = stage, .errnum = errno};

    if (write(p->report, &f, sizeof(f)) != (ssize_t)sizeof(f))
        _exit(127);
    _exit(126);
}

static void enter_rootfs(const struct plan *p)
{
    struct failure f = {.stage = STAGE_ROOTFS};
    struct err err = ERR_INIT;

    if (!p->enter_rootfs || rootfs_enter(p->c, &err) == 0)
        return;
    (void)snprintf(f.text, sizeof(f.text), "%s", err.text ? err.text : "out of memory");
    if (write(p->report, &f, sizeof(f)) != (ssize_t)sizeof(f))
        _exit(127);
    _exit(126);
}

static _Noreturn void become_program(const struct plan *p)
{
    const char *path;

    reset_signals();
    (void)umask(022);
    if (cgroup_enter(p->c->cgroups, p->born_in_group) != 0) /* while we are still who may */
        give_up(p, STAGE_CGROUP);
    enter_rootfs(p); /* before the line below: who becomes another user is forgotten there */
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up(p, STAGE_SETUP);
    if (getppid() != p->parent) /* it died before the line above */
        _exit(137);
    if (dup2(p->std_in, 0) < 0 || dup2(p->std_out, 1) < 0 || dup2(p->std_err, 2) < 0)
        give_up(p, STAGE_SETUP);
    if (p->terminal == LAUNCH_TERMINAL && ioctl(0, TIOCSCTTY, 0) != 0)
        give_up(p, STAGE_SETUP);
    if (chdir(p->c->cwd) != 0)
        give_up(p, STAGE_CWD);
    path = find_program(p->c, p->arena);
    if (!path)
        give_up(p, STAGE_FIND);
    (void)execve(path, (char *const *)(uintptr_t)p->c->argv, (char *const *)(uintptr_t)p->c->env);
    give_up(p, STAGE_EXEC);
}

static void explain(const struct container_start *c, struct failure f, struct arena *a,
                    struct launch_result *ret)
{
    const char *why = strerror(f.errnum), *dirs = env_value(c->env, "PATH");

    ret->exit_code = 128;
    if (f.stage == STAGE_CWD) {
        ret->message = arena_printf(a, "cannot enter working directory \"%s\": %s", c->cwd, why);
    } else if (f.stage == STAGE_CGROUP) {
        ret->message = arena_printf(a, "cannot enter the container's control group: %s", why);
    } else if (f.stage == STAGE_ROOTFS) {
        ret->message = arena_strdup(a, f.text);
    } else if (f.stage == STAGE_FIND) {
        ret->exit_code = 127;
        ret->message = arena_printf(a, "command \"%s\" not found in PATH (%s)", c->argv[0],
                                    dirs ? dirs : DEFAULT_PATH);
    } else if (f.stage == STAGE_SETUP) {
        ret->message = arena_printf(a, "cannot start \"%s\": %s", c->argv[0], why);
    } else {
        ret->exit_code = f.errnum == ENOENT ? 127 : 126;
        ret->message = arena_printf(a, "cannot run command \"%s\": %s", c->argv[0], why);
    }
}

/* Waits until the child has either become the program or said why not. */
static bool wait_for_exec(int report, struct failure *ret)
{
    ssize_t n;

    do
        n = read(report, ret, sizeof(*ret));
    while (n < 0 && errno == EINTR);
    return n != (ssize_t)sizeof(*ret);
}

static void close_all(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
        fds[i] = -1;
    }
}

/* fds: stdin, stdout read/write, stderr read/write. */
enum { IN, OUT_R, OUT_W, ERR_R, ERR_W, FDS };

static int open_all(int fds[FDS])
{
    memset(fds, -1, FDS * sizeof(*fds));
    fds[IN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fds[IN] < 0 || pipe2(fds + OUT_R, O_CLOEXEC) != 0 || pipe2(fds + ERR_R, O_CLOEXEC) != 0)
        return -errno;
    /* Our ends only: the program's own must block. */
    if (fcntl(fds[OUT_R], F_SETFL, O_NONBLOCK) != 0 || fcntl(fds[ERR_R], F_SETFL, O_NONBLOCK) != 0)
        return -errno;
    return 0;
}

/* Sets ret->pid, or why there is none. */
static void fork_program(struct plan *p, struct arena *a, struct launch_result *ret)
{
    struct failure f = {.stage = STAGE_SETUP, .errnum = 0};
    int report[2] = {-1, -1};
    pid_t pid = -1;

    if (pipe2(report, O_CLOEXEC) == 0) {
        p->report = report[1];
        p->parent = getpid();
        pid = cgroup_fork(p->c->cgroups, &p->born_in_group);
        if (pid == 0)
            become_program(p);
    }
    f.errnum = errno;
    close_all(&report[1], 1);
    if (pid > 0 && wait_for_exec(report[0], &f))
        ret->pid = pid;
    else
        explain(p->c, f, a, ret); /* the child, if any, is reaped with the others */
    close_all(&report[0], 1);
}

static void fork_with_pipes(struct plan *p, struct arena *a, struct launch_result *ret)
{
    int fds[FDS];
    int rc = open_all(fds);

    if (rc < 0) {
        explain(p->c, (struct failure){.stage = STAGE_SETUP, .errnum = -rc}, a, ret);
    } else {
        p->std_in = fds[IN];
        p->std_out = fds[OUT_W];
        p->std_err = fds[ERR_W];
        fork_program(p, a, ret);
    }
    if (ret->pid > 0) {
        ret->out[0] = fds[OUT_R];
        ret->out[1] = fds[ERR_R];
        fds[OUT_R] = fds[ERR_R] = -1;
    }
    close_all(fds, FDS);
}

void launch(const struct container_start *c, struct arena *a, struct launch_result *ret)
{
    struct plan p = {.c = c, .arena = a, .enter_rootfs = true};

    *ret = (struct launch_result){.pid = 0, .out = {-1, -1}};
    fork_with_pipes(&p, a, ret);
    if (ret->pid == 0 && !ret->message)
        ret->message = "out of memory";
}

void launch_attached(const struct container_start *c, enum launch_terminal terminal,
                     struct arena *a, struct launch_result *ret)
{
    struct plan p = {
        .c = c, .arena = a, .std_in = 0, .std_out = 1, .std_err = 2, .terminal = terminal};

    *ret = (struct launch_result){.pid = 0, .out = {-1, -1}};
    fork_program(&p, a, ret);
    if (ret->pid == 0 && !ret->message)
        ret->message = "out of memory";
}
