/*
 * exec.c - see exec.h. The daemon has threads and much memory: none of its code runs between fork
 * and exec (posix_spawn), and the helper gets exactly the descriptors it needs.
 */
#include "runtime/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "loop/file.h"
#include "runtime/exec_helper.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"

/* Descriptors for the helper are first moved above their final numbers. */
#define SPAWN_FD_MIN 16
/* Stays ours even if the file was replaced by a newer one. */
#define OWN_PROGRAM "/proc/self/exe"

/* One helper, from its start until it is reaped; it may outlive its session. */
struct child {
    struct child *prev, *next;
    struct exec_host *host;
    int pid_fd;
    struct loop_fd *watch;
};

struct exec_host {
    struct loop *loop;
    char *program;
    struct child *children;
    unsigned child_count;
    struct exec *sessions;
};

struct exec {
    struct exec *prev, *next;
    struct exec_host *host;
    int fd[NODE_STREAMS];
    int terminal; /* the master, duplicated; or -1 */
    int control;
    struct loop_fd *watch;
    void (*ended)(void *arg, const struct exec_end *end);
    void *arg;
};

/* --- where ----------------------------------------------------------------------------- */

struct target {
    char dir[PATH_MAX];
    pid_t pid;
    int pid_fd;
};

/* The pid may be stale: only with its start time is it the container's program. */
static int hold_program(const struct container_state *c, struct target *t)
{
    struct proc_stat stat;

    t->pid = (pid_t)c->pid;
    t->pid_fd = t->pid > 0 ? pidfd_open(t->pid, 0) : -1;
    if (t->pid_fd >= 0 && proc_stat_read(t->pid, &stat) == 0 && stat.state != 'Z' &&
        stat.start_ticks == c->start_ticks)
        return 0;
    file_close(&t->pid_fd);
    return -ESRCH;
}

static int find_program(const char *pod_root, const char *pod_uid, const char *container,
                        struct target *t, struct err *err)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const struct container_state *c = NULL;
    struct pod_record record;
    int dir_fd = -1, rc;

    t->pid_fd = -1;
    if (pod_name_is_safe(pod_uid) &&
        (size_t)snprintf(t->dir, sizeof(t->dir), "%s/%s", pod_root, pod_uid) < sizeof(t->dir))
        dir_fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0 && pod_record_read(dir_fd, &a, &record, NULL) == 0)
        c = pod_record_container(&record, container);
    if (!c)
        rc = err_set(err, ERR_BAD_REQUEST, "container \"%s\" has not been started yet", container);
    else if (c->phase == CONTAINER_TERMINATED)
        rc = err_set(err, ERR_BAD_REQUEST, "container \"%s\" is not running: it has ended with %d",
                     container, c->exit_code);
    else if (c->phase != CONTAINER_RUNNING || hold_program(c, t) < 0)
        rc = err_set(err, ERR_BAD_REQUEST, "container \"%s\" is not running", container);
    else
        rc = 0;
    file_close(&dir_fd);
    arena_release(&a);
    return rc;
}

int exec_check(const char *pod_root, const char *pod_uid, const char *container, struct err *err)
{
    struct target t;
    int rc = find_program(pod_root, pod_uid, container, &t, err);

    file_close(&t.pid_fd);
    return rc;
}

/* --- helpers --------------------------------------------------------------------------- */

static void child_free(struct child *c)
{
    list_remove(&c->host->children, c);
    c->host->child_count--;
    loop_fd_stop(c->watch);
    file_close(&c->pid_fd);
    free(c);
}

static void on_child_over(void *arg, unsigned events)
{
    struct child *c = arg;
    siginfo_t info = {.si_pid = 0};

    (void)events;
    if (waitid(P_PIDFD, (id_t)c->pid_fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return;
    child_free(c);
}

/* A helper that cannot be watched is given up: it sees its control closed, and ends. */
static int child_new(struct exec_host *h, pid_t pid)
{
    struct child *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    *c = (struct child){.host = h, .pid_fd = pidfd_open(pid, 0)};
    list_push(&h->children, c);
    h->child_count++;
    if (c->pid_fd >= 0)
        c->watch = loop_fd_watch(h->loop, c->pid_fd, LOOP_READABLE, on_child_over, c);
    if (c->watch)
        return 0;
    child_free(c);
    return -ENOMEM;
}

/* What the helper inherits, by descriptor number. */
struct inheritance {
    int fds[EXEC_HELPER_FDS];
};

static void inheritance_init(struct inheritance *in)
{
    memset(in->fds, -1, sizeof(in->fds));
}

static void inheritance_release(struct inheritance *in)
{
    for (size_t i = 0; i < ELEMS(in->fds); i++)
        file_close(&in->fds[i]);
}

/* Takes fd. */
static int inherit(struct inheritance *in, int number, int fd)
{
    if (fd < 0)
        return -errno;
    file_close(&in->fds[number]);
    in->fds[number] = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FD_MIN);
    (void)close(fd);
    return in->fds[number] < 0 ? -errno : 0;
}

static int spawn_helper(struct exec_host *h, const struct inheritance *in)
{
    char *const argv[] = {(char[]){"muster"}, (char[]){EXEC_HELPER_COMMAND}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    pid_t pid;
    int rc;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attr);
    rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    for (int i = 0; i < EXEC_HELPER_FDS && rc == 0; i++)
        rc = posix_spawn_file_actions_adddup2(&actions, in->fds[i], i);
    if (rc == 0)
        rc = posix_spawn(&pid, h->program, &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc != 0 ? -rc : child_new(h, pid);
}

static int open_plan(const struct node_command *q, const struct target *t)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct buf text = BUF_INIT(POD_FILE_LIMIT_BYTES);
    struct json *plan = json_new_object(&a), *argv;
    int fd = memfd_create("plan", MFD_CLOEXEC);

    json_set_string(&a, plan, "dir", t->dir);
    json_set_string(&a, plan, "container", q->container);
    json_set_int(&a, plan, "pid", t->pid);
    json_set_bool(&a, plan, "tty", q->tty);
    argv = json_make_array(&a, plan, "argv");
    for (size_t i = 0; q->argv[i]; i++)
        json_append_string(&a, argv, q->argv[i]);
    json_write(&text, plan);
    if (fd >= 0 &&
        (arena_failed(&a) || text.failed || write(fd, text.data, text.len) != (ssize_t)text.len ||
         lseek(fd, 0, SEEK_SET) != 0)) {
        file_close(&fd);
        errno = ENOMEM;
    }
    buf_release(&text);
    arena_release(&a);
    return fd;
}

/* --- streams --------------------------------------------------------------------------- */

static int open_terminal(struct exec *e, const struct node_command *q, struct inheritance *in)
{
    int rc = 0, slave = -1;

    e->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (e->terminal >= 0 && grantpt(e->terminal) == 0 && unlockpt(e->terminal) == 0)
        slave = ioctl(e->terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return -errno;
    for (int i = 0; i < NODE_STREAMS && rc == 0; i++)
        rc = inherit(in, i, fcntl(slave, F_DUPFD_CLOEXEC, SPAWN_FD_MIN));
    (void)close(slave);
    /* A copy for each direction, as a descriptor can be watched only once. */
    for (int i = NODE_STDIN; i <= NODE_STDOUT && rc == 0; i++)
        if (q->wanted[i]) {
            e->fd[i] = fcntl(e->terminal, F_DUPFD_CLOEXEC, 0);
            rc = e->fd[i] < 0 ? -errno : 0;
        }
    return rc;
}

static int open_pipe(struct exec *e, int i, struct inheritance *in)
{
    int ends[2], ours = i == NODE_STDIN ? 1 : 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    e->fd[i] = ends[ours];
    if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) != 0) {
        (void)close(ends[!ours]);
        return -errno;
    }
    return inherit(in, i, ends[!ours]);
}

static int open_streams(struct exec *e, const struct node_command *q, struct inheritance *in)
{
    int rc = 0;

    if (q->tty)
        return open_terminal(e, q, in);
    for (int i = 0; i < NODE_STREAMS && rc == 0; i++)
        rc = q->wanted[i] ? open_pipe(e, i, in)
                          : inherit(in, i, open("/dev/null", O_RDWR | O_CLOEXEC));
    return rc;
}

static int open_control(struct exec *e, struct inheritance *in)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return -errno;
    e->control = ends[0];
    return inherit(in, EXEC_HELPER_CONTROL, ends[1]);
}

/* --- sessions -------------------------------------------------------------------------- */

static void on_control(void *arg, unsigned events)
{
    struct exec *e = arg;
    struct exec_report r;
    struct exec_end end = {.exit_code = 137, .message = ""};
    ssize_t n = recv(e->control, &r, sizeof(r), MSG_DONTWAIT);

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    loop_fd_stop(e->watch);
    e->watch = NULL;
    if (n == (ssize_t)sizeof(r)) {
        r.message[sizeof(r.message) - 1] = '\0';
        end = (struct exec_end){.exit_code = r.exit_code, .message = r.message};
    } /* otherwise the helper was killed, and the command with it */
    e->ended(e->arg, &end);
}

static int start(struct exec *e, const struct node_command *q, const struct target *t)
{
    struct inheritance in;
    int rc;

    inheritance_init(&in);
    rc = open_streams(e, q, &in);
    if (rc == 0)
        rc = open_control(e, &in);
    if (rc == 0)
        rc = inherit(&in, EXEC_HELPER_PLAN, open_plan(q, t));
    if (rc == 0)
        rc = inherit(&in, EXEC_HELPER_PROGRAM, fcntl(t->pid_fd, F_DUPFD_CLOEXEC, SPAWN_FD_MIN));
    if (rc == 0)
        rc = inherit(&in, EXEC_HELPER_LOG, fcntl(2, F_DUPFD_CLOEXEC, SPAWN_FD_MIN));
    if (rc == 0)
        e->watch = loop_fd_watch(e->host->loop, e->control, LOOP_READABLE, on_control, e);
    if (rc == 0 && !e->watch)
        rc = -ENOMEM;
    if (rc == 0)
        rc = spawn_helper(e->host, &in);
    inheritance_release(&in);
    return rc;
}

struct exec *exec_start(struct exec_host *h, const char *pod_root, const char *pod_uid,
                        const struct node_command *q,
                        void (*ended)(void *arg, const struct exec_end *end), void *arg,
                        struct err *err)
{
    struct exec *e;
    struct target t = {.pid_fd = -1};
    int rc;

    if (h->child_count >= EXEC_LIMIT) {
        (void)err_set(err, ERR_TOO_MANY_REQUESTS, "%u commands are run in pods already",
                      EXEC_LIMIT);
        return NULL;
    }
    if (find_program(pod_root, pod_uid, q->container, &t, err) < 0)
        return NULL;
    e = calloc(1, sizeof(*e));
    rc = e ? 0 : -ENOMEM;
    if (e) {
        *e = (struct exec){.host = h, .terminal = -1, .control = -1, .ended = ended, .arg = arg};
        memset(e->fd, -1, sizeof(e->fd));
        list_push(&h->sessions, e);
        rc = start(e, q, &t);
    }
    file_close(&t.pid_fd);
    if (rc == 0)
        return e;
    (void)err_set(err, ERR_INTERNAL, "cannot run a command in the container: %s", strerror(-rc));
    exec_free(e);
    return NULL;
}

int exec_fd(const struct exec *e, enum node_stream stream)
{
    return e->fd[stream];
}

/* A terminal has no end of input except a typed one. */
void exec_close_stdin(struct exec *e)
{
    if (e->terminal >= 0 && e->fd[NODE_STDIN] >= 0 && write(e->terminal, "\x04", 1) < 0)
        errno = 0; /* the reader is gone */
    file_close(&e->fd[NODE_STDIN]);
}

void exec_resize(struct exec *e, unsigned columns, unsigned rows)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};

    if (e->terminal >= 0)
        (void)ioctl(e->terminal, TIOCSWINSZ, &size);
}

void exec_free(struct exec *e)
{
    if (!e)
        return;
    list_remove(&e->host->sessions, e);
    loop_fd_stop(e->watch);
    file_close(&e->control);
    for (int i = 0; i < NODE_STREAMS; i++)
        file_close(&e->fd[i]);
    file_close(&e->terminal);
    free(e);
}

/* --- the host -------------------------------------------------------------------------- */

struct exec_host *exec_host_new(struct loop *l, const char *program, struct err *err)
{
    struct exec_host *h = calloc(1, sizeof(*h));

    if (h) {
        h->loop = l;
        h->program = strdup(program ? program : OWN_PROGRAM);
    }
    if (h && h->program)
        return h;
    (void)err_set(err, ERR_UNAVAILABLE, "out of memory");
    free(h);
    return NULL;
}

void exec_host_free(struct exec_host *h)
{
    struct exec *e_next;
    struct child *c_next;

    if (!h)
        return;
    for (struct exec *e = h->sessions; e; e = e_next) {
        e_next = e->next;
        exec_free(e);
    }
    for (struct child *c = h->children; c; c = c_next) {
        c_next = c->next;
        child_free(c);
    }
    free(h->program);
    free(h);
}
