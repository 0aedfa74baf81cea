/*
 * exec_helper.c - see exec_helper.h.
 *
 * Order matters: the folder is marked before anything runs, so that the pod's supervisor knows to
 * look for commands; files outside the pod are read before its mounts are joined. We keep our own
 * user, so that nothing in the container can inspect us; the command takes the rights of the
 * container's program (rights.h). All its descendants end up with us (child subreaper).
 */
#include "runtime/exec_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cgroup.h"
#include "runtime/join.h"
#include "runtime/launch.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"
#include "runtime/rights.h"

struct helper {
    struct arena arena;
    const struct json *plan;
    struct pod_start pod;
    struct container_start command;
    pid_t program; /* the container's */
    pid_t pid;     /* the command's; 0 when it is over */
    int signal_fd;
    bool program_over, caller_gone;
};

/* --- the plan -------------------------------------------------------------------------- */

static const struct container_start *find_container(const struct pod_start *pod, const char *name)
{
    for (size_t i = 0; i < pod->containers_len; i++)
        if (strcmp(pod->containers[i].name, name) == 0)
            return &pod->containers[i];
    return NULL;
}

static const struct json *read_plan(struct helper *h, struct err *err)
{
    struct buf text = BUF_INIT(POD_FILE_LIMIT_BYTES);
    const struct json *plan = NULL;
    char bytes[4096];
    ssize_t n;

    while ((n = read(EXEC_HELPER_PLAN, bytes, sizeof(bytes))) > 0)
        buf_add(&text, bytes, (size_t)n);
    if (n == 0 && text.len > 0 && !text.failed)
        plan = json_parse(&h->arena, text.data, text.len, err);
    else
        (void)err_set(err, ERR_INTERNAL, "the plan cannot be read");
    buf_release(&text);
    return plan;
}

static bool has_terminal(const struct helper *h)
{
    return json_get_bool(h->plan, "tty", false);
}

/* Programs need to know the terminal type; the container's environment takes precedence. */
static const char *const *add_term(struct arena *a, const char *const *env)
{
    const char **more;
    size_t n = 0;

    for (; env[n]; n++)
        if (strncmp(env[n], "TERM=", 5) == 0)
            return env;
    more = arena_alloc(a, (n + 2) * sizeof(*more));
    if (!more)
        return env;
    memcpy(more, env, n * sizeof(*more));
    more[n] = "TERM=xterm";
    return more;
}

static int make_command(struct helper *h, struct err *err)
{
    const char *container = json_get_string(h->plan, "container", "");
    const struct container_start *c = find_container(&h->pod, container);
    int rc;
    if (!c)
        return err_set(err, ERR_NOT_FOUND, "there is no container \"%s\"", container);
    h->command = *c;
    h->command.cgroups = NULL; /* entered by us, before joining the pod's mounts */
    rc = cgroup_enter(c->cgroups, false);
    if (rc < 0)
        return err_set(err, ERR_INTERNAL, "cannot enter the container's control group: %s",
                       strerror(-rc));
    h->command.argv = json_strings(&h->arena, json_get(h->plan, "argv"));
    h->command.env = pod_marked_env(&h->arena, c->env, h->pod.uid, c->name);
    if (has_terminal(h))
        h->command.env = add_term(&h->arena, h->command.env);
    if (!h->command.argv || !h->command.argv[0] || arena_failed(&h->arena))
        return err_set(err, ERR_INTERNAL, "there is no command, or no memory for it");
    return 0;
}

static int read_pod(struct helper *h, struct err *err)
{
    const char *dir = json_get_string(h->plan, "dir", "");
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    const struct json *v;

    if (dir_fd < 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", dir, strerror(errno));
    v = pod_file_read_json(dir_fd, POD_FILE_RUN, &h->arena, err);
    rc = v ? pod_start_from_json(&h->arena, v, &h->pod, err) : -EIO;
    if (rc == 0) {
        rc = pod_mark_executed(dir_fd);
        if (rc < 0)
            rc = err_set(err, ERR_INTERNAL, "%s/%s: %s", dir, POD_FILE_EXECUTED, strerror(-rc));
    }
    (void)close(dir_fd);
    return rc;
}

/* --- becoming part of the pod ---------------------------------------------------------- */

/* The terminal is already open; if its owner cannot be changed, only reopening it by name fails. */
static void give_terminal(const struct helper *h)
{
    if (has_terminal(h) && h->command.identity.wanted && rights_can_be_others() &&
        fchown(0, h->command.identity.uid, (gid_t)-1) != 0)
        errno = 0;
}

/* --- its life -------------------------------------------------------------------------- */

static int prepare(struct helper *h, struct err *err)
{
    sigset_t set;
    int rc;

    h->plan = read_plan(h, err);
    if (!h->plan)
        return -EIO;
    h->program = (pid_t)json_get_int(h->plan, "pid", 0);
    rc = read_pod(h, err);
    if (rc == 0)
        rc = make_command(h, err);
    if (rc == 0)
        rc = join_namespaces(EXEC_HELPER_PROGRAM, h->program, err);
    if (rc < 0)
        return rc;
    if (chdir(launch_first_folder(&h->command)) != 0)
        errno = 0; /* retried and reported as the user */
    give_terminal(h);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    h->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (h->signal_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return err_set(err, ERR_INTERNAL, "cannot watch over a command: %s", strerror(errno));
    return 0;
}

static void report(int exit_code, const char *message)
{
    struct exec_report r = {.exit_code = exit_code};

    (void)snprintf(r.message, sizeof(r.message), "%s", message);
    (void)send(EXEC_HELPER_CONTROL, &r, sizeof(r), MSG_NOSIGNAL);
}

/* The command's output must end when the command and its children do, not when we do. */
static void let_go_of_stdio(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(EXEC_HELPER_LOG, 2);
    if (null > 2)
        (void)close(null);
}

/* Reports the command's end. Returns whether any child is left. */
static bool reap(struct helper *h)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != h->pid)
            continue;
        h->pid = 0;
        report(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), "");
    }
    return pid == 0;
}

static void kill_child(void *arg, pid_t pid)
{
    (void)arg;
    (void)kill(pid, SIGKILL); /* our child: the pid cannot have been reused */
}

static void wait_for_events(struct helper *h)
{
    struct signalfd_siginfo info;
    struct pollfd fds[] = {
        {.fd = h->signal_fd, .events = POLLIN},
        {.fd = h->program_over ? -1 : EXEC_HELPER_PROGRAM, .events = POLLIN},
        {.fd = h->caller_gone ? -1 : EXEC_HELPER_CONTROL, .events = POLLIN},
    };

    if (poll(fds, ELEMS(fds), -1) <= 0)
        return;
    while (read(h->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
    h->program_over = h->program_over || fds[1].revents != 0;
    h->caller_gone = h->caller_gone || fds[2].revents != 0;
}

/* Until nothing is left of the command. */
static void watch_over(struct helper *h)
{
    while (reap(h)) {
        if (h->program_over)
            proc_each_child(getpid(), kill_child, NULL);
        else if (h->caller_gone && h->pid > 0)
            (void)kill(-h->pid, SIGKILL);
        wait_for_events(h);
    }
}

int exec_helper_main(void)
{
    struct helper h = {.arena = ARENA_INIT(POD_ARENA_LIMIT_BYTES)};
    struct launch_result result = {.pid = 0, .exit_code = 126};
    auto_err err = ERR_INIT;

    (void)close_range(EXEC_HELPER_FDS, ~0u, 0);
    for (int fd = EXEC_HELPER_PLAN; fd < EXEC_HELPER_FDS; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, "muster-exec");
    if (prepare(&h, &err) < 0) {
        result.message = err.text;
    } else {
        launch_attached(&h.command, has_terminal(&h) ? LAUNCH_TERMINAL : LAUNCH_PLAIN, &h.arena,
                        &result);
    }
    let_go_of_stdio();
    h.pid = result.pid;
    if (h.pid == 0)
        report(result.exit_code, result.message);
    watch_over(&h);
    arena_release(&h.arena);
    return 0;
}
