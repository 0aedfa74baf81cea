/* pod_fixture.h - a process runtime in a folder of its own, driven by the loop, and small ways to
 * start pods and wait for what they do. The test's own binary is the supervisor: its main must
 * begin with fixture_main. A watchdog ends a test that waits in vain; it is wound up for each, or
 * a slow machine's many tests together would take too long for it. */
#ifndef TESTS_POD_FIXTURE_H
#define TESTS_POD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/podfolder.h"
#include "runtime/podlog.h"
#include "runtime/proc.h"
#include "runtime/process.h"
#include "runtime/supervisor.h"

#define WATCHDOG_SECONDS 120

struct fixture {
    char root[64], pods[128], logs[128], program[PATH_MAX];
    struct loop *loop;
    struct runtime *rt;
};

/* Processes are known by their pod's UID, which is unique everywhere but in these tests: programs
 * of them that run at the same time would end each other's pods. So one waits for the other; the
 * lock goes with its holder. */
static inline void fixture_alone(void)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        abort();
}

/* The tests run in a child: what nobody else is the parent of comes to this process and is reaped
 * at once, as by a machine's init, which this one's need not be. */
static inline void fixture_reap(void)
{
    pid_t tests, pid;
    int status;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || (tests = fork()) < 0)
        abort();
    if (tests == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    while ((pid = waitpid(-1, &status, 0)) != tests)
        if (pid < 0)
            abort();
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* true: this process is a supervisor and over; *ret is what main returns. */
static inline bool fixture_main(int argc, char **argv, int *ret)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISOR_COMMAND) == 0) {
        *ret = supervisor_main(argc, argv);
        return true;
    }
    fixture_reap();
    fixture_alone();
    return false;
}

static inline void fixture_watch(void)
{
    (void)alarm(WATCHDOG_SECONDS);
}

static inline void fixture_attach(struct fixture *f)
{
    struct process_options o = {
        .loop = f->loop, .pod_root = f->pods, .log_root = f->logs, .program = f->program};

    assert_int_equal(process_runtime_new(&o, &f->rt, NULL), 0);
}

static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    ssize_t n;

    assert_non_null(f);
    fixture_watch();
    strcpy(f->root, "/tmp/muster-test-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->pods, sizeof(f->pods), "%s/pods", f->root);
    (void)snprintf(f->logs, sizeof(f->logs), "%s/logs", f->root);
    n = readlink("/proc/self/exe", f->program, sizeof(f->program) - 1);
    assert_true(n > 0);
    f->loop = loop_new(NULL);
    assert_non_null(f->loop);
    fixture_attach(f);
    *state = f;
    return 0;
}

static inline const struct pod_run *find(struct fixture *f, const char *uid)
{
    return f->rt->ops->find(f->rt, uid);
}

static inline void wait_dead(struct fixture *f, const char *uid)
{
    while (find(f, uid)->alive)
        loop_run_once(f->loop);
}

static inline void stop_one(void *arg, const struct pod_run *run)
{
    struct fixture *f = arg;

    assert_int_equal(f->rt->ops->stop(f->rt, run->uid, 0, NULL), 0);
}

static inline void count_alive(void *arg, const struct pod_run *run)
{
    *(size_t *)arg += run->alive;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    char command[256];

    f->rt->ops->each(f->rt, stop_one, f);
    for (;;) {
        size_t alive = 0;

        f->rt->ops->each(f->rt, count_alive, &alive);
        if (alive == 0)
            break;
        loop_run_once(f->loop);
    }
    f->rt->ops->free(f->rt);
    loop_free(f->loop);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->root);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

static const char *const fixture_env[] = {"PATH=/usr/bin:/bin", "GREETING=hello", NULL};

static inline void start_containers(struct fixture *f, const char *uid,
                                    const struct container_start *c, size_t n)
{
    struct pod_start p = {.ns = "default",
                          .name = "pod",
                          .uid = uid,
                          .containers = c,
                          .containers_len = n,
                          .grace_seconds = 30};

    assert_int_equal(f->rt->ops->start(f->rt, &p, NULL), 0);
}

static inline void start_argv(struct fixture *f, const char *uid, const char *const *argv,
                              const char *cwd)
{
    struct container_start c = {.name = "main", .argv = argv, .env = fixture_env, .cwd = cwd};

    start_containers(f, uid, &c, 1);
}

static inline void start_shell(struct fixture *f, const char *uid, const char *script)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};

    start_argv(f, uid, argv, "/");
}

static inline void wait_running(struct fixture *f, const char *uid)
{
    while (!find(f, uid)->known || find(f, uid)->containers[0].phase == CONTAINER_WAITING)
        loop_run_once(f->loop);
}

static inline const struct container_state *run_shell(struct fixture *f, const char *uid,
                                                      const char *script)
{
    start_shell(f, uid, script);
    wait_dead(f, uid);
    return &find(f, uid)->containers[0];
}

static inline int pod_dir_fd(struct fixture *f, const char *uid)
{
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", f->pods, uid);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static inline struct pod_record stored_state(struct fixture *f, const char *uid, struct arena *a)
{
    struct pod_record s;
    int fd = pod_dir_fd(f, uid);

    assert_int_equal(pod_record_read(fd, a, &s, NULL), 0);
    (void)close(fd);
    return s;
}

/* The current ones, by the pod's record. */
enum { KEEPER, WORKER, GROUP };

static inline void group_pids(struct fixture *f, const char *uid, pid_t ret[GROUP])
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record s = stored_state(f, uid, &a);

    ret[KEEPER] = (pid_t)s.keeper_pid;
    ret[WORKER] = (pid_t)s.pid;
    arena_release(&a);
}

static inline void kill_group(const pid_t pids[GROUP])
{
    for (size_t i = 0; i < GROUP; i++) /* none can take another's place */
        assert_int_equal(kill(pids[i], SIGSTOP), 0);
    for (size_t i = 0; i < GROUP; i++)
        assert_int_equal(kill(pids[i], SIGKILL), 0);
}

/* --- logs --- */

static const struct node_log_options log_all = {
    .tail_lines = -1, .limit_bytes = -1, .attempt = NODE_ANY_ATTEMPT};
static const struct node_log_options log_follow = {
    .follow = true, .tail_lines = -1, .limit_bytes = -1, .attempt = NODE_ANY_ATTEMPT};

static inline void on_log_ready(void *arg)
{
    *(bool *)arg = true;
}

/* Until STREAM_END; or, with until, until the text ends with it. */
static inline void drain_log(struct fixture *f, struct stream *s, const char *until,
                             struct buf *out)
{
    bool ready = true;

    s->on_ready = on_log_ready;
    s->on_ready_arg = &ready;
    for (;;) {
        char *room = buf_reserve(out, 1000);
        ssize_t n;

        assert_non_null(room);
        n = s->ops->read(s, room, 1000);
        if (n == STREAM_END)
            break;
        if (n > 0) {
            out->len += (size_t)n;
            out->data[out->len] = '\0';
        }
        if (until && out->len >= strlen(until) &&
            strcmp(out->data + out->len - strlen(until), until) == 0)
            break;
        if (n > 0)
            continue;
        ready = false;
        do
            loop_run_once(f->loop);
        while (!ready);
    }
    s->on_ready = NULL;
}

static inline struct stream *open_log(struct fixture *f, const char *uid, const char *container,
                                      const struct node_log_options *o)
{
    struct stream *s = NULL;

    assert_int_equal(podlog_open(f->loop, f->pods, uid, container, o, &s, NULL), 0);
    return s;
}

static inline char *read_log(struct fixture *f, const char *uid, const struct node_log_options *o)
{
    struct stream *s = open_log(f, uid, "main", o);
    struct buf text = BUF_INIT(64u * 1024 * 1024);
    size_t len;

    drain_log(f, s, NULL, &text);
    s->ops->close(s);
    buf_adds(&text, ""); /* what was only reserved has no end yet */
    return buf_take(&text, &len);
}

#define assert_log(f, uid, o, expected)                                                            \
    do {                                                                                           \
        char *text_ = read_log(f, uid, o);                                                         \
        assert_string_equal(text_ ? text_ : "", expected);                                         \
        free(text_);                                                                               \
    } while (0)

#endif
