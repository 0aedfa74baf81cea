/* launch.c - see launch.h. The forking process has one thread. Failures between fork and exec are
 * reported through a pipe that a successful exec closes. */
#include "runtime/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cgroup.h"
#include "runtime/join.h"
#include "runtime/oom.h"
#include "runtime/rights.h"
#include "runtime/rootfs.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct plan {
    const struct container_start *c;
    struct arena *arena;
    bool enter_rootfs; /* false: already there */
    int std_in, std_out, std_err, report;
    enum launch_terminal terminal;
    bool born_in_group;
    pid_t parent; /* killed when this process dies; 0: independent */
    const struct launch_hooks *hooks;
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

/* By the container's PATH and mounts, not ours. NULL when not found. */
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

const char *launch_first_folder(const struct container_start *c)
{
    return c->rights.no_new_privs ? "/" : c->cwd;
}

/* The folder may be in a place the program's user cannot enter: one who changes to that user while
 * in it stays. */
static bool enter_cwd(const char *path)
{
    char here[PATH_MAX];
    int why;

    if (chdir(path) == 0)
        return true;
    why = errno;
    if (why == EACCES && getcwd(here, sizeof(here)) && strcmp(here, path) == 0)
        return true;
    errno = why;
    return false;
}

/* The daemon raised its own. */
static void restore_limits(const struct container_start *c)
{
    struct rlimit limit;

    if (c->open_files <= 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = min_size((size_t)c->open_files, limit.rlim_max);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static _Noreturn void tell_failure(const struct plan *p, const struct launch_failure *f)
{
    if (p->hooks && p->hooks->failure)
        *p->hooks->failure = *f;
    if (write(p->report, f, sizeof(*f)) != (ssize_t)sizeof(*f))
        _exit(127);
    _exit(126);
}

static _Noreturn void give_up(const struct plan *p, enum launch_stage stage)
{
    struct launch_failure f = {.stage = stage, .errnum = errno};

    tell_failure(p, &f);
}

/* Otherwise another user could not open /dev/stdout. */
static void give_output(const struct plan *p)
{
    const int fds[] = {p->std_out, p->std_err};
    struct stat st;

    for (size_t i = 0; p->c->identity.wanted && i < ELEMS(fds); i++)
        if (fstat(fds[i], &st) == 0 && (S_ISFIFO(st.st_mode) || p->terminal == LAUNCH_TERMINAL) &&
            fchown(fds[i], p->c->identity.uid, p->c->identity.gid) != 0)
            errno = 0; /* not permitted; it is already open */
}

static int enter_view(const struct plan *p, struct err *err)
{
    int rc;

    if (!p->enter_rootfs)
        return 0;
    if (!p->c->join_pid)
        return rootfs_enter(p->c, err);
    rc = join_program((pid_t)p->c->join_pid, p->c->join_ticks, err);
    if (rc == 0 && chdir(launch_first_folder(p->c)) != 0)
        errno = 0; /* retried and reported as the user */
    return rc;
}

static void become_contained(const struct plan *p)
{
    struct launch_failure f = {.stage = LAUNCH_STAGE_ROOTFS};
    struct err err = ERR_INIT;

    give_output(p);
    if (enter_view(p, &err) == 0 && rights_take(p->c, &err) == 0)
        return;
    (void)snprintf(f.text, sizeof(f.text), "%s", err.text ? err.text : "out of memory");
    tell_failure(p, &f);
}

static _Noreturn void become_program(const struct plan *p)
{
    const char *path;

    reset_signals();
    oom_unprotect();
    (void)umask(022);
    if (cgroup_enter(p->c->cgroups, p->born_in_group) != 0) /* while still privileged */
        give_up(p, LAUNCH_STAGE_CGROUP);
    become_contained(p); /* before the line below, which changing the user would undo */
    if (setsid() < 0 || (p->parent && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0))
        give_up(p, LAUNCH_STAGE_SETUP);
    if (p->parent && getppid() != p->parent) /* it died before the line above */
        _exit(137);
    if (dup2(p->std_in, 0) < 0 || dup2(p->std_out, 1) < 0 || dup2(p->std_err, 2) < 0)
        give_up(p, LAUNCH_STAGE_SETUP);
    if (p->terminal == LAUNCH_TERMINAL && ioctl(0, TIOCSCTTY, 0) != 0)
        give_up(p, LAUNCH_STAGE_SETUP);
    if (!enter_cwd(p->c->cwd))
        give_up(p, LAUNCH_STAGE_CWD);
    restore_limits(p->c);
    path = find_program(p->c, p->arena);
    if (!path)
        give_up(p, LAUNCH_STAGE_FIND);
    (void)execve(path, (char *const *)(uintptr_t)p->c->argv, (char *const *)(uintptr_t)p->c->env);
    give_up(p, LAUNCH_STAGE_EXEC);
}

void launch_explain(const struct container_start *c, const struct launch_failure *f,
                    struct arena *a, struct launch_result *ret)
{
    const char *why = strerror(f->errnum), *dirs = env_value(c->env, "PATH");

    ret->exit_code = 128;
    if (f->stage == LAUNCH_STAGE_CWD) {
        ret->message = arena_printf(a, "cannot enter working directory \"%s\": %s", c->cwd, why);
    } else if (f->stage == LAUNCH_STAGE_CGROUP) {
        ret->message = arena_printf(a, "cannot enter the container's control group: %s", why);
    } else if (f->stage == LAUNCH_STAGE_ROOTFS) {
        ret->message = arena_strdup(a, f->text);
    } else if (f->stage == LAUNCH_STAGE_FIND) {
        ret->exit_code = 127;
        ret->message = arena_printf(a, "command \"%s\" not found in PATH (%s)", c->argv[0],
                                    dirs ? dirs : DEFAULT_PATH);
    } else if (f->stage == LAUNCH_STAGE_SETUP || f->stage == LAUNCH_STAGE_FORK) {
        ret->message = arena_printf(a, "cannot start \"%s\": %s", c->argv[0], why);
    } else {
        ret->exit_code = f->errnum == ENOENT ? 127 : 126;
        ret->message = arena_printf(a, "cannot run command \"%s\": %s", c->argv[0], why);
    }
}

/* Waits until the child has become the program or reported why not. */
static bool wait_for_exec(int report, struct launch_failure *ret)
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

/* Sets ret->pid, or why there is none. */
static void fork_program(struct plan *p, struct arena *a, struct launch_result *ret)
{
    struct launch_failure f = {.stage = LAUNCH_STAGE_FORK, .errnum = 0};
    int report[2] = {-1, -1};
    pid_t pid = -1;

    if (pipe2(report, O_CLOEXEC) == 0) {
        p->report = report[1];
        pid = cgroup_fork(p->c->cgroups, &p->born_in_group);
        if (pid == 0) {
            if (p->hooks && !p->hooks->born(p->hooks->arg))
                _exit(0);
            become_program(p);
        }
    }
    f.errnum = errno;
    close_all(&report[1], 1);
    if (pid > 0 && wait_for_exec(report[0], &f))
        ret->pid = pid;
    else
        launch_explain(p->c, &f, a, ret); /* the child, if any, is reaped with the others */
    close_all(&report[0], 1);
}

void launch(const struct container_start *c, const struct launch_pipes *pipes,
            const struct launch_hooks *hooks, struct arena *a, struct launch_result *ret)
{
    struct plan p = {.c = c,
                     .arena = a,
                     .enter_rootfs = !pipes->joined,
                     .std_in = pipes->in >= 0 ? fcntl(pipes->in, F_DUPFD_CLOEXEC, 3)
                                              : open("/dev/null", O_RDONLY | O_CLOEXEC),
                     .terminal = pipes->terminal ? LAUNCH_TERMINAL : LAUNCH_PLAIN,
                     .std_out = pipes->out,
                     .std_err = pipes->err,
                     .hooks = hooks};

    *ret = (struct launch_result){.pid = 0};
    fork_program(&p, a, ret);
    close_all(&p.std_in, 1);
    if (ret->pid == 0 && !ret->message)
        ret->message = "out of memory";
}

void launch_attached(const struct container_start *c, enum launch_terminal terminal,
                     struct arena *a, struct launch_result *ret)
{
    struct plan p = {.c = c,
                     .arena = a,
                     .std_in = 0,
                     .std_out = 1,
                     .std_err = 2,
                     .terminal = terminal,
                     .parent = getpid()};

    *ret = (struct launch_result){.pid = 0};
    fork_program(&p, a, ret);
    if (ret->pid == 0 && !ret->message)
        ret->message = "out of memory";
}
