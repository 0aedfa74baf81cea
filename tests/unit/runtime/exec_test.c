/* exec_test.c - commands beside a container's program: their streams, ends, and what ends them. */
#include "pod_fixture.h"

#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#include "runtime/exec.h"
#include "runtime/exec_helper.h"
#include "runtime/proc.h"

struct run {
    struct fixture *f;
    struct exec_host *host;
    struct exec *exec;
    bool ended;
    int exit_code;
    char message[256];
};

static void on_ended(void *arg, const struct exec_end *end)
{
    struct run *r = arg;

    assert_false(r->ended);
    r->ended = true;
    r->exit_code = end->exit_code;
    (void)snprintf(r->message, sizeof(r->message), "%s", end->message);
}

static void run_open(struct run *r, struct fixture *f)
{
    *r = (struct run){.f = f, .host = exec_host_new(f->loop, NULL, NULL)};
    assert_non_null(r->host);
}

static void run_argv(struct run *r, const char *const *argv, bool tty)
{
    auto_err err = ERR_INIT;
    struct node_command c = {
        .container = "main", .argv = argv, .wanted = {true, true, !tty}, .tty = tty};

    r->ended = false;
    r->exec = exec_start(r->host, r->f->pods, "uid-1", &c, on_ended, r, &err);
    if (!r->exec)
        fail_msg("%s", err.text);
}

static void run_shell_in(struct run *r, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    run_argv(r, argv, false);
}

static void run_close(struct run *r)
{
    exec_free(r->exec);
    exec_host_free(r->host);
}

static void wait_ended(struct run *r)
{
    while (!r->ended)
        loop_run_once(r->f->loop);
}

static void became_ready(void *arg, unsigned events)
{
    (void)events;
    *(bool *)arg = true;
}

/* Everything until the stream's end, or until text is there. */
static char *read_text(struct run *r, enum node_stream stream, const char *text)
{
    struct buf b = BUF_INIT(1u << 20);
    int fd = exec_fd(r->exec, stream);
    bool ready = false;
    struct loop_fd *watch = loop_fd_watch(r->f->loop, fd, LOOP_READABLE, became_ready, &ready);
    size_t len;

    assert_non_null(watch);
    for (;;) {
        char bytes[4096];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n > 0)
            buf_add(&b, bytes, (size_t)n);
        if (n == 0 || (n < 0 && errno != EAGAIN) || (text && b.data && strstr(b.data, text)))
            break;
        if (n > 0)
            continue;
        ready = false;
        do
            loop_run_once(r->f->loop);
        while (!ready);
    }
    loop_fd_stop(watch);
    buf_adds(&b, "");
    return buf_take(&b, &len);
}

#define assert_text(r, stream, expected)                                                           \
    do {                                                                                           \
        char *text_ = read_text(r, stream, NULL);                                                  \
        assert_string_equal(text_ ? text_ : "", expected);                                         \
        free(text_);                                                                               \
    } while (0)

static void start_pod(struct fixture *f, const char *script)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};

    start_argv(f, "uid-1", argv, "/usr");
    wait_running(f, "uid-1");
}

static void write_all_in(struct run *r, const char *text)
{
    assert_int_equal(write(exec_fd(r->exec, NODE_STDIN), text, strlen(text)), strlen(text));
}

static bool is_gone(pid_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) < 0 || stat.state == 'Z';
}

/* Other processes' ends have no event here: the loop turns on a timer meanwhile. */
static void wait_gone(struct fixture *f, pid_t pid)
{
    while (!is_gone(pid)) {
        bool fired = false;

        (void)clock_start(loop_clock(f->loop), 5, on_log_ready, &fired);
        while (!fired)
            loop_run_once(f->loop);
    }
}

/* --- tests --- */

static void streams_and_exit_code(void **state)
{
    struct run r;

    start_pod(*state, "exec sleep 1000");
    run_open(&r, *state);
    run_shell_in(&r, "read a; echo got $a; echo oops >&2; cat; exit 7");
    write_all_in(&r, "one\ntwo\n");
    exec_close_stdin(r.exec);
    assert_int_equal(exec_fd(r.exec, NODE_STDIN), -1);
    assert_text(&r, NODE_STDOUT, "got one\ntwo\n");
    assert_text(&r, NODE_STDERR, "oops\n");
    wait_ended(&r);
    assert_int_equal(r.exit_code, 7);
    assert_string_equal(r.message, "");
    run_close(&r);
}

static void it_is_as_in_the_container(void **state)
{
    struct run r;

    start_pod(*state, "exec sleep 1000");
    run_open(&r, *state);
    run_shell_in(&r, "pwd; echo $GREETING $MUSTER_POD_UID $MUSTER_CONTAINER $TERM; ls /proc/$$/fd");
    assert_text(&r, NODE_STDOUT, "/usr\nhello uid-1 main\n0\n1\n2\n");
    wait_ended(&r);
    assert_int_equal(r.exit_code, 0);
    run_close(&r);
}

static void signals_are_told_as_codes(void **state)
{
    struct run r;

    start_pod(*state, "exec sleep 1000");
    run_open(&r, *state);
    run_shell_in(&r, "kill -SEGV $$");
    wait_ended(&r);
    assert_int_equal(r.exit_code, 139);
    run_close(&r);
}

static void what_cannot_be_run_says_why(void **state)
{
    static const char *const none[] = {"no-such-program", NULL}, *const folder[] = {"/usr", NULL};
    struct run r;

    start_pod(*state, "exec sleep 1000");
    run_open(&r, *state);
    run_argv(&r, none, false);
    wait_ended(&r);
    assert_int_equal(r.exit_code, 127);
    assert_string_equal(r.message, "command \"no-such-program\" not found in PATH (/usr/bin:/bin)");
    exec_free(r.exec);
    run_argv(&r, folder, false);
    wait_ended(&r);
    assert_int_equal(r.exit_code, 126);
    assert_string_equal(r.message, "cannot run command \"/usr\": Permission denied");
    run_close(&r);
}

static void a_terminal_has_a_size(void **state)
{
    const char *argv[] = {"sh", "-c", "stty size; tty >/dev/null && echo $TERM; read a; stty size",
                          NULL};
    struct run r;
    char *text;

    start_pod(*state, "exec sleep 1000");
    run_open(&r, *state);
    run_argv(&r, argv, true);
    assert_int_equal(exec_fd(r.exec, NODE_STDERR), -1);
    text = read_text(&r, NODE_STDOUT, "xterm\r\n");
    assert_string_equal(text, "0 0\r\nxterm\r\n");
    free(text);
    exec_resize(r.exec, 100, 40);
    write_all_in(&r, "\n");
    text = read_text(&r, NODE_STDOUT, NULL);
    assert_string_equal(text, "\r\n40 100\r\n");
    free(text);
    wait_ended(&r);
    assert_int_equal(r.exit_code, 0);
    run_close(&r);
}

static pid_t read_pid(struct run *r)
{
    char *text = read_text(r, NODE_STDOUT, "\n");
    pid_t pid = (pid_t)atoi(text);

    free(text);
    assert_true(pid > 0);
    return pid;
}

static void it_ends_when_let_go(void **state)
{
    struct fixture *f = *state;
    struct run r;
    pid_t pid;

    start_pod(f, "exec sleep 1000");
    run_open(&r, f);
    run_shell_in(&r, "trap '' TERM HUP; echo $$; while :; do sleep 1000; done");
    pid = read_pid(&r);
    exec_free(r.exec);
    r.exec = NULL;
    wait_gone(f, pid);
    assert_true(find(f, "uid-1")->alive);
    run_close(&r);
}

static void it_ends_with_its_container(void **state)
{
    struct fixture *f = *state;
    struct run r;
    pid_t pid;

    start_pod(f, "exec sleep 1000");
    run_open(&r, f);
    run_shell_in(&r,
                 "trap '' TERM HUP; setsid sh -c 'echo $$; exec sleep 1000' & wait; sleep 1000");
    pid = read_pid(&r);
    assert_int_equal(f->rt->ops->stop(f->rt, "uid-1", 0, NULL), 0);
    wait_dead(f, "uid-1");
    assert_true(is_gone(pid)); /* the pod is not over before */
    wait_ended(&r);
    assert_int_equal(r.exit_code, 137);
    run_close(&r);
}

static void what_it_leaves_lives_until_the_pod_ends(void **state)
{
    struct fixture *f = *state;
    struct run r;
    pid_t pid;

    start_pod(f, "exec sleep 1000");
    run_open(&r, f);
    run_shell_in(&r, "setsid sh -c 'echo $$; exec sleep 1000' & exit 0");
    pid = read_pid(&r);
    wait_ended(&r);
    run_close(&r);
    assert_false(is_gone(pid));
    assert_int_equal(f->rt->ops->stop(f->rt, "uid-1", 0, NULL), 0);
    wait_dead(f, "uid-1");
    assert_true(is_gone(pid));
}

static void only_running_containers_take_commands(void **state)
{
    struct fixture *f = *state;
    auto_err absent = ERR_INIT, other = ERR_INIT, over = ERR_INIT, tricky = ERR_INIT;

    start_pod(f, "exec sleep 1000");
    assert_int_equal(exec_check(f->pods, "uid-1", "main", NULL), 0);
    assert_true(exec_check(f->pods, "uid-2", "main", &absent) < 0);
    assert_string_equal(absent.text, "container \"main\" has not been started yet");
    assert_true(exec_check(f->pods, "uid-1", "other", &other) < 0);
    assert_true(exec_check(f->pods, "../pods/uid-1", "main", &tricky) < 0);
    assert_int_equal(f->rt->ops->stop(f->rt, "uid-1", 0, NULL), 0);
    wait_dead(f, "uid-1");
    assert_true(exec_check(f->pods, "uid-1", "main", &over) < 0);
    assert_string_equal(over.text, "container \"main\" is not running: it has ended with 137");
}

static pid_t fork_waiting(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The helper with those descriptors, as exec.c starts it. */
static _Noreturn void become_helper(const struct fixture *f, int plan, int control, int program)
{
    int null = open("/dev/null", O_RDWR),
        own[EXEC_HELPER_FDS] = {null, null, null, plan, control, program, 2};

    for (int i = 0; i < EXEC_HELPER_FDS; i++)
        own[i] = fcntl(own[i], F_DUPFD, 32);
    for (int i = 0; i < EXEC_HELPER_FDS; i++)
        (void)dup2(own[i], i);
    (void)execl(f->program, f->program, EXEC_HELPER_COMMAND, (char *)NULL);
    _exit(99);
}

/* The program has ended while the helper was starting, and its number is another's. */
static void a_number_that_is_anothers_is_noticed(void **state)
{
    struct fixture *f = *state;
    pid_t ended = fork_waiting(), other = fork_waiting(), helper;
    int program = pidfd_open(ended, 0), control[2], status;
    FILE *plan = tmpfile();
    struct exec_report report = {.exit_code = -1};

    start_pod(f, "exec sleep 1000");
    end_child(ended);
    assert_true(program >= 0);
    assert_non_null(plan);
    (void)fprintf(plan,
                  "{\"dir\":\"%s/uid-1\",\"container\":\"main\",\"pid\":%d,"
                  "\"argv\":[\"true\"]}",
                  f->pods, (int)other);
    (void)fflush(plan);
    (void)lseek(fileno(plan), 0, SEEK_SET);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
    helper = fork();
    if (helper == 0)
        become_helper(f, fileno(plan), control[1], program);
    (void)close(control[1]);
    assert_int_equal(recv(control[0], &report, sizeof(report), 0), sizeof(report));
    assert_int_equal(report.exit_code, 126);
    assert_string_equal(report.message, "the container's program has ended");
    (void)close(control[0]);
    assert_int_equal(waitpid(helper, &status, 0), helper);
    end_child(other);
    (void)close(program);
    (void)fclose(plan);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(streams_and_exit_code, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(it_is_as_in_the_container, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(signals_are_told_as_codes, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_says_why, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_terminal_has_a_size, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(it_ends_when_let_go, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(it_ends_with_its_container, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_it_leaves_lives_until_the_pod_ends, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_number_that_is_anothers_is_noticed, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(only_running_containers_take_commands, fixture_setup,
                                        fixture_teardown),
    };
    int ret;

    if (argc > 1 && strcmp(argv[1], EXEC_HELPER_COMMAND) == 0)
        return exec_helper_main();
    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
