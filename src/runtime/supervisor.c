/*
 * supervisor.c - see supervisor.h. One thread, one poll loop, no libuv, little memory: there is one
 * of these per pod for as long as it trains.
 *
 * It starts a pod at most once: lock first, then the marker, then anything else. It ends when every
 * container has ended and no descendant is left; whatever the pod forked, however it hid, is a
 * child of ours at the latest when its parents are dead (child subreaper). It must never wait for
 * the daemon, nor for a disk that is full.
 */
#include "runtime/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cri.h"
#include "runtime/last_words.h"
#include "runtime/launch.h"
#include "runtime/mounts.h"
#include "runtime/oom.h"
#include "runtime/podfolder.h"
#include "runtime/proc.h"

#define READ_BYTES 65536u
/* How long the pipes of a dead program may stay open in the hands of someone we cannot find. */
#define DRAIN_LIMIT_MS 1000
#define DRAIN_READS 16 /* as much as the largest pipe holds */

enum exit_status { EXIT_STARTED = 0, EXIT_FAILED = 1, EXIT_REFUSED = 3 };

struct container {
    const struct container_start *start;
    struct container_state *state;
    int out[CRI_STREAMS]; /* -1: closed */
    struct cri_writer log;
    struct last_words words;
    struct oom_count oom; /* when it was started */
    bool exited;          /* reaped; terminated only when its output is read */
    bool killed;          /* by us */
    int64_t drain_until_ms;
};

struct supervisor {
    int dir_fd, signal_fd;
    struct arena arena;
    struct pod_start pod;
    struct pod_record state;
    struct container *containers;
    size_t len, next; /* next: to be started */
    bool stopping;
    int64_t kill_at_ms;             /* monotonic; 0: not planned */
    bool dirty;                     /* state.json is to be written ... */
    enum pod_durability durability; /* ... like this */
};

static int64_t clock_ms(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void changed(struct supervisor *s, enum pod_durability durability)
{
    s->dirty = true;
    if (durability == POD_SYNCED)
        s->durability = POD_SYNCED;
}

/* --- output --- */

static void close_output(struct container *c, enum cri_stream stream)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)close(c->out[stream]);
    c->out[stream] = -1;
    cri_writer_end(&c->log, stream, now.tv_sec, now.tv_nsec);
}

/* One read. false when there was nothing (more) now. */
static bool read_output(struct container *c, enum cri_stream stream)
{
    static char buffer[READ_BYTES];
    struct timespec now;
    ssize_t n = read(c->out[stream], buffer, sizeof(buffer));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_output(c, stream);
        return false;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    cri_writer_feed(&c->log, stream, buffer, (size_t)n, now.tv_sec, now.tv_nsec);
    if (stream == CRI_STDERR)
        last_words_feed(&c->words, buffer, (size_t)n);
    return true;
}

static bool output_is_open(const struct container *c)
{
    return c->out[CRI_STDOUT] >= 0 || c->out[CRI_STDERR] >= 0;
}

/* --- ends --- */

static void record_end(struct supervisor *s, struct container *c, int exit_code, const char *reason,
                       const char *message)
{
    c->state->phase = CONTAINER_TERMINATED;
    c->state->exit_code = exit_code;
    c->state->finished_ms = clock_ms(CLOCK_REALTIME);
    c->state->reason = reason;
    c->state->message = message;
    if (c->log.lost_bytes > 0)
        c->state->message = arena_printf(
            &s->arena, "%s%s%llu bytes of its log could not be written", message,
            *message ? "; " : "", (unsigned long long)c->log.lost_bytes);
    if (c->log.fd >= 0 && cri_writer_sync(&c->log) != 0)
        (void)fprintf(stderr, "%s.log: fsync: %s\n", c->state->name, strerror(errno));
    changed(s, POD_SYNCED);
}

static struct container *container_of_pid(struct supervisor *s, pid_t pid)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->containers[i].state->phase == CONTAINER_RUNNING && !s->containers[i].exited &&
            s->containers[i].state->pid == pid)
            return &s->containers[i];
    return NULL;
}

static size_t still_running(const struct supervisor *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++)
        n += s->containers[i].state->phase == CONTAINER_RUNNING && !s->containers[i].exited;
    return n;
}

static void note_exit(struct container *c, int status)
{
    c->exited = true;
    c->drain_until_ms = clock_ms(CLOCK_MONOTONIC) + DRAIN_LIMIT_MS;
    if (WIFSIGNALED(status)) {
        c->state->signal = WTERMSIG(status);
        c->state->exit_code = 128 + WTERMSIG(status);
    } else {
        c->state->exit_code = WEXITSTATUS(status);
    }
}

/* The program's process group goes with it. It is killed while the dead leader still holds the
 * number. Returns whether any child is left. */
static bool reap(struct supervisor *s)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        struct container *c;
        int status;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            return errno != ECHILD;
        if (info.si_pid == 0)
            return true;
        c = container_of_pid(s, info.si_pid);
        if (c)
            (void)kill(-info.si_pid, SIGKILL);
        if (waitpid(info.si_pid, &status, 0) == info.si_pid && c)
            note_exit(c, status);
    }
}

/* A child that is no container's program was adopted. With one container it is that one's; with
 * several the environment tells, and what has none of it goes with the last of them. */
static bool is_leftover(const struct supervisor *s, pid_t pid)
{
    if (still_running(s) == 0)
        return true;
    for (size_t i = 0; i < s->len; i++) {
        char pair[256];

        if (!s->containers[i].exited)
            continue;
        (void)snprintf(pair, sizeof(pair), POD_ENV_CONTAINER "=%s", s->containers[i].state->name);
        if (proc_has_env(pid, pair))
            return true;
    }
    return false;
}

static void kill_leftover(void *arg, pid_t pid)
{
    struct supervisor *s = arg;

    if (!container_of_pid(s, pid) && is_leftover(s, pid))
        (void)kill(pid, SIGKILL); /* our child: the number cannot be another's */
}

static void sweep(struct supervisor *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->containers[i].exited) {
            proc_each_child(kill_leftover, s);
            return;
        }
}

/* Why it ended as it did, as far as can be known: of a SIGKILL the program could say nothing. */
static void explain_end(struct supervisor *s, struct container *c, const char **ret_reason,
                        const char **ret_message)
{
    *ret_reason = c->state->exit_code == 0 ? "Completed" : "Error";
    *ret_message = "";
    if (c->state->exit_code == 128 + SIGKILL && c->killed)
        *ret_message = "it did not end in its grace period";
    else if (oom_explain_end(&s->arena, c->start, c->state->exit_code,
                             last_words_text(&c->words, &s->arena), ret_reason, ret_message))
        return;
    else if (c->state->exit_code == 128 + SIGKILL)
        *ret_message = oom_words(&s->arena, c->oom, oom_count_read(""), ret_reason);
    else if (c->state->exit_code != 0)
        *ret_message = last_words_text(&c->words, &s->arena);
}

static void finish_container(struct supervisor *s, struct container *c, bool children_left)
{
    const char *reason, *message;

    if (output_is_open(c) && children_left && clock_ms(CLOCK_MONOTONIC) < c->drain_until_ms)
        return;
    for (int i = 0; i < CRI_STREAMS; i++) {
        for (int k = 0; k < DRAIN_READS && c->out[i] >= 0; k++)
            if (!read_output(c, (enum cri_stream)i))
                break;
        if (c->out[i] >= 0)
            close_output(c, (enum cri_stream)i);
    }
    explain_end(s, c, &reason, &message);
    record_end(s, c, c->state->exit_code, reason, message);
}

/* --- starts --- */

static void start_container(struct supervisor *s, struct container *c)
{
    struct container_start start = *c->start;
    struct launch_result r = {.pid = 0, .out = {-1, -1}, .exit_code = 128};
    struct proc_stat stat;
    char name[256];
    int fd;

    (void)snprintf(name, sizeof(name), "%s.log", c->state->name);
    fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || cri_writer_init(&c->log, fd) != 0) {
        c->log.fd = -1;
        r.message = arena_printf(&s->arena, "cannot write %s: %s", name, strerror(errno));
    } else {
        start.env = pod_marked_env(&s->arena, c->start->env, s->pod.uid, c->start->name);
        c->oom = oom_count_read("");
        launch(&start, &s->arena, &r);
    }
    c->state->started_ms = clock_ms(CLOCK_REALTIME);
    if (r.pid == 0) {
        record_end(s, c, r.exit_code, "StartError", r.message ? r.message : "out of memory");
        return;
    }
    c->state->phase = CONTAINER_RUNNING;
    c->state->pid = r.pid;
    c->state->start_ticks = proc_stat_read(r.pid, &stat) == 0 ? stat.start_ticks : 0;
    c->out[CRI_STDOUT] = r.out[0];
    c->out[CRI_STDERR] = r.out[1];
    changed(s, POD_NOT_SYNCED);
}

/* Init containers one after the other, each only when the one before it succeeded; then the rest
 * together. */
static void start_next(struct supervisor *s)
{
    while (s->next < s->len && !s->stopping) {
        if (s->next > 0 && s->containers[s->next - 1].state->init) {
            const struct container_state *before = s->containers[s->next - 1].state;

            if (before->phase != CONTAINER_TERMINATED || before->exit_code != 0)
                return;
        }
        start_container(s, &s->containers[s->next++]);
    }
}

static bool is_over(const struct supervisor *s)
{
    bool blocked = s->stopping;

    for (size_t i = 0; i < s->len; i++) {
        const struct container_state *c = s->containers[i].state;

        if (c->phase == CONTAINER_RUNNING || (c->phase == CONTAINER_WAITING && !blocked))
            return false;
        blocked = blocked || (c->init && c->exit_code != 0);
    }
    return true;
}

/* --- stopping --- */

static void signal_containers(struct supervisor *s, int signum)
{
    for (size_t i = 0; i < s->len; i++) {
        struct container *c = &s->containers[i];

        if (c->state->phase != CONTAINER_RUNNING || c->exited)
            continue;
        c->killed = signum == SIGKILL;
        (void)kill((pid_t)-c->state->pid, signum);
    }
}

static void begin_stop(struct supervisor *s)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const struct json *v = pod_file_read_json(s->dir_fd, POD_FILE_STOP, &a, NULL);
    int64_t grace = json_get_int(v, "graceSeconds", s->pod.grace_seconds);
    int64_t kill_at = clock_ms(CLOCK_MONOTONIC) + max_i64(0, min_i64(grace, INT32_MAX)) * 1000;

    arena_release(&a);
    if (!s->stopping && grace > 0)
        signal_containers(s, SIGTERM);
    if (!s->stopping || (s->kill_at_ms != 0 && kill_at < s->kill_at_ms))
        s->kill_at_ms = kill_at;
    s->stopping = true;
}

static void kill_when_due(struct supervisor *s)
{
    if (s->kill_at_ms == 0 || clock_ms(CLOCK_MONOTONIC) < s->kill_at_ms)
        return;
    s->kill_at_ms = 0;
    signal_containers(s, SIGKILL);
}

/* --- the loop --- */

static void handle_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGTERM)
            begin_stop(s);
}

static int poll_timeout(const struct supervisor *s)
{
    int64_t at = s->kill_at_ms;

    for (size_t i = 0; i < s->len; i++) {
        const struct container *c = &s->containers[i];

        if (c->exited && c->state->phase == CONTAINER_RUNNING &&
            (at == 0 || c->drain_until_ms < at))
            at = c->drain_until_ms;
    }
    if (at == 0)
        return -1;
    return (int)min_i64(max_i64(at - clock_ms(CLOCK_MONOTONIC), 0), INT32_MAX);
}

static void wait_for_events(struct supervisor *s)
{
    struct pollfd fds[1 + POD_CONTAINERS_LIMIT * CRI_STREAMS];
    struct {
        struct container *c;
        enum cri_stream stream;
    } owners[ELEMS(fds)];
    nfds_t n = 1;

    fds[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    for (size_t i = 0; i < s->len; i++)
        for (int k = 0; k < CRI_STREAMS; k++)
            if (s->containers[i].out[k] >= 0) {
                owners[n].c = &s->containers[i];
                owners[n].stream = (enum cri_stream)k;
                fds[n++] = (struct pollfd){.fd = s->containers[i].out[k], .events = POLLIN};
            }
    if (poll(fds, n, poll_timeout(s)) <= 0)
        return;
    for (nfds_t i = 1; i < n; i++)
        if (fds[i].revents)
            (void)read_output(owners[i].c, owners[i].stream);
    if (fds[0].revents)
        handle_signals(s);
}

/* Commands that were run in the pod from outside are the children of others, who end them when
 * their container ends; but the pod is not over before they are. */
static void kill_executed(struct supervisor *s)
{
    char pair[128];

    if (!pod_is_executed(s->dir_fd))
        return;
    (void)snprintf(pair, sizeof(pair), POD_ENV_UID "=%s", s->pod.uid);
    (void)proc_kill_by_env(pair);
}

/* Everything that follows from what happened. Returns whether the pod is over. */
static bool advance(struct supervisor *s)
{
    bool children_left = reap(s);

    kill_when_due(s);
    sweep(s);
    for (size_t i = 0; i < s->len; i++)
        if (s->containers[i].exited && s->containers[i].state->phase == CONTAINER_RUNNING)
            finish_container(s, &s->containers[i], children_left);
    start_next(s);
    if (is_over(s) && !reap(s)) {
        kill_executed(s);
        s->state.final = true;
        changed(s, POD_SYNCED);
    }
    return s->state.final;
}

static void save(struct supervisor *s)
{
    int rc;

    if (!s->dirty)
        return;
    rc = pod_record_write(s->dir_fd, &s->state, s->durability);
    if (rc != 0)
        (void)fprintf(stderr, "%s: %s\n", POD_FILE_STATE, strerror(-rc));
    s->dirty = false;
    s->durability = POD_NOT_SYNCED;
}

/* The exit record is what this process is for: a full disk is waited for. */
static void save_final(struct supervisor *s)
{
    while (pod_record_write(s->dir_fd, &s->state, POD_SYNCED) != 0) {
        struct timespec second = {.tv_sec = 1, .tv_nsec = 0};

        if (faccessat(s->dir_fd, POD_FILE_RUN, F_OK, 0) != 0)
            return; /* the folder itself is gone */
        (void)nanosleep(&second, NULL);
    }
}

static void supervise(struct supervisor *s)
{
    while (!advance(s)) {
        save(s);
        wait_for_events(s);
    }
    save_final(s);
}

/* --- setting up --- */

static int init_state(struct supervisor *s)
{
    struct proc_stat stat;

    s->len = s->pod.containers_len;
    s->containers = arena_alloc(&s->arena, s->len * sizeof(*s->containers));
    s->state.run.containers = arena_alloc(&s->arena, s->len * sizeof(*s->state.run.containers));
    if (arena_failed(&s->arena))
        return -ENOMEM;
    s->state.run.ns = s->pod.ns;
    s->state.run.name = s->pod.name;
    s->state.run.uid = s->pod.uid;
    s->state.run.containers_len = s->len;
    s->state.pid = getpid();
    s->state.start_ticks = proc_stat_read(getpid(), &stat) == 0 ? stat.start_ticks : 0;
    for (size_t i = 0; i < s->len; i++) {
        s->containers[i] = (struct container){.start = &s->pod.containers[i],
                                              .state = &s->state.run.containers[i],
                                              .out = {-1, -1},
                                              .log = {.fd = -1}};
        s->state.run.containers[i] = (struct container_state){.name = s->pod.containers[i].name,
                                                              .init = s->pod.containers[i].init,
                                                              .reason = "",
                                                              .message = ""};
    }
    return 0;
}

static void fail_all(struct supervisor *s, const char *message)
{
    for (size_t i = 0; i < s->len; i++)
        record_end(s, &s->containers[i], 128, "StartError", message);
}

static int open_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGCHLD);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (sigprocmask(SIG_SETMASK, &set, NULL) != 0)
        return -errno;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void redirect_stdio(int dir_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = openat(dir_fd, POD_FILE_SUPERVISOR_LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                     0600);

    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(log >= 0 ? log : null, 2);
    if (null > 2)
        (void)close(null);
    if (log > 2)
        (void)close(log);
}

static int prepare(struct supervisor *s, struct err *err)
{
    const struct json *v = pod_file_read_json(s->dir_fd, POD_FILE_RUN, &s->arena, err);
    int rc;

    if (!v)
        return err_errno(err->reason);
    rc = pod_start_from_json(&s->arena, v, &s->pod, err);
    if (rc != 0)
        return rc;
    if (init_state(s) != 0)
        return err_set(err, ERR_INTERNAL, "out of memory");
    s->signal_fd = open_signals();
    if (s->signal_fd < 0)
        return err_set(err, ERR_INTERNAL, "signalfd: %s", strerror(errno));
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return err_set(err, ERR_INTERNAL, "child subreaper: %s", strerror(errno));
    if (s->pod.hosts_path)
        return mounts_enter(&s->pod, err);
    return 0;
}

static void stay_with_pod(int dir_fd)
{
    struct supervisor s = {.dir_fd = dir_fd, .arena = ARENA_INIT(POD_ARENA_LIMIT_BYTES)};
    auto_err err = ERR_INIT;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "muster-pod");
    redirect_stdio(dir_fd);
    if (chdir("/") != 0)
        (void)fprintf(stderr, "/: %s\n", strerror(errno));
    if (prepare(&s, &err) != 0) {
        (void)fprintf(stderr, "cannot start the pod: %s\n", err.text);
        fail_all(&s, err.text);
    } else if (faccessat(dir_fd, POD_FILE_STOP, F_OK, 0) == 0) {
        s.stopping = true; /* asked to end before it began */
    }
    supervise(&s);
    for (size_t i = 0; i < s.len; i++)
        cri_writer_release(&s.containers[i].log);
    arena_release(&s.arena);
}

int supervisor_main(int argc, char **argv)
{
    int dir_fd, lock_fd, rc;
    pid_t pid;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: muster " SUPERVISOR_COMMAND " POD-FOLDER\n");
        return EXIT_FAILED;
    }
    (void)close_range(3, ~0u, 0);
    dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return EXIT_FAILED;
    lock_fd = pod_lock_take(dir_fd);
    if (lock_fd < 0)
        return lock_fd == -EAGAIN ? EXIT_REFUSED : EXIT_FAILED;
    rc = pod_mark_started(dir_fd);
    if (rc != 0)
        return rc == -EEXIST ? EXIT_REFUSED : EXIT_FAILED;
    pid = fork();
    if (pid != 0)
        return pid > 0 ? EXIT_STARTED : EXIT_FAILED; /* the lock is the child's now too */
    stay_with_pod(dir_fd);
    (void)close(lock_fd);
    (void)close(dir_fd);
    return EXIT_STARTED;
}
