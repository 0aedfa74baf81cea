/* supervisor_test.c - what a pod's supervisor does with its programs: starts, ends, kills, writes.
 */
#include "pod_fixture.h"

#include <poll.h>
#include <sys/pidfd.h>

#include "runtime/group.h"
#include "runtime/mounts.h"
#include "runtime/oom.h"
#include "runtime/orphan.h"
#include "runtime/proc.h"

static void exit_codes_are_kept(void **state)
{
    struct fixture *f = *state;
    const struct container_state *c = run_shell(f, "ok", "exit 0");

    assert_int_equal(c->phase, CONTAINER_TERMINATED);
    assert_int_equal(c->exit_code, 0);
    assert_true(c->by_itself);
    assert_string_equal(c->reason, "Completed");
    assert_true(c->started_ms > 0 && c->finished_ms >= c->started_ms);
    c = run_shell(f, "seven", "exit 7");
    assert_int_equal(c->exit_code, 7);
    assert_int_equal(c->signal, 0);
    assert_string_equal(c->reason, "Error");
}

/* A pod that ended within its first second was asked after only when that was over. From its end,
 * not its start: how long a program takes to begin is the machine's affair. And the quickest of
 * several, because other work may hold up any one of them. */
static void an_early_end_is_told_at_once(void **state)
{
    static const char *const uids[] = {"a", "b", "c", "d", "e"};
    struct fixture *f = *state;
    int64_t quickest = INT64_MAX;

    for (size_t i = 0; i < ELEMS(uids); i++) {
        int64_t end = run_shell(f, uids[i], "exit 0")->finished_ms;

        quickest = min_i64(quickest, clock_now_ms(loop_clock(f->loop)) - end);
    }
    assert_true(quickest < 500);
}

static void signals_become_128_and_more(void **state)
{
    struct fixture *f = *state;
    const struct container_state *c = run_shell(f, "killed", "kill -9 $$");

    assert_int_equal(c->exit_code, 137);
    assert_int_equal(c->signal, 9);
    c = run_shell(f, "ended", "kill -15 $$");
    assert_int_equal(c->exit_code, 143);
}

static void a_failure_leaves_its_last_words(void **state)
{
    struct fixture *f = *state;
    const struct container_state *c;

    c = run_shell(f, "words", "echo out; echo first >&2; echo 'No such dataset' >&2; exit 1");
    assert_string_equal(c->message, "No such dataset");
    c = run_shell(f, "unended", "printf 'no newline' >&2; exit 2");
    assert_string_equal(c->message, "no newline");
    c = run_shell(f, "fine", "echo only a warning >&2");
    assert_string_equal(c->message, "");
    c = run_shell(f, "shell", "no-such-program");
    assert_int_equal(c->exit_code, 127);
    assert_non_null(strstr(c->message, "no-such-program"));
}

/* Where the kernel counts them, kills for lack of memory are distinguished from others. */
static void a_kill_says_what_the_kernel_says(void **state)
{
    struct fixture *f = *state;
    struct oom_count now = oom_count_read("");
    const struct container_state *c = run_shell(f, "killed", "echo busy >&2; kill -9 $$");

    assert_string_equal(c->reason, "Error");
    assert_string_equal(c->message, now.machine < 0
                                        ? ""
                                        : "not for lack of memory: the kernel counts no such kill");
}

static void environment_and_folder_are_the_containers(void **state)
{
    struct fixture *f = *state;
    const char *argv[] = {"sh", "-c", "echo $GREETING $PWD $MUSTER_POD_UID; env | wc -l", NULL};

    start_argv(f, "env", argv, "/usr");
    wait_dead(f, "env");
    /* PATH, GREETING, the two marks and the shell's own PWD */
    assert_log(f, "env", &log_all, "hello /usr env\n5\n");
}

static void a_missing_command_says_its_name(void **state)
{
    struct fixture *f = *state;
    const char *missing[] = {"no-such-program", NULL};
    const char *missing_path[] = {"/no/such/program", NULL};
    const char *not_runnable[] = {"/etc/passwd", NULL};
    const struct container_state *c;

    start_argv(f, "a", missing, "/");
    wait_dead(f, "a");
    c = &find(f, "a")->containers[0];
    assert_int_equal(c->exit_code, 127);
    assert_string_equal(c->reason, "StartError");
    assert_string_equal(c->message,
                        "command \"no-such-program\" not found in PATH (/usr/bin:/bin)");
    start_argv(f, "b", missing_path, "/");
    wait_dead(f, "b");
    c = &find(f, "b")->containers[0];
    assert_int_equal(c->exit_code, 127);
    assert_non_null(strstr(c->message, "/no/such/program"));
    start_argv(f, "c", not_runnable, "/");
    wait_dead(f, "c");
    c = &find(f, "c")->containers[0];
    assert_int_equal(c->exit_code, 126);
    assert_non_null(strstr(c->message, "Permission denied"));
}

static void a_missing_folder_says_its_name(void **state)
{
    struct fixture *f = *state;
    const char *argv[] = {"true", NULL};
    const struct container_state *c;

    start_argv(f, "cwd", argv, "/no/such/folder");
    wait_dead(f, "cwd");
    c = &find(f, "cwd")->containers[0];
    assert_int_equal(c->exit_code, 128);
    assert_string_equal(c->reason, "StartError");
    assert_string_equal(
        c->message,
        "cannot enter working directory \"/no/such/folder\": No such file or directory");
}

static void term_ends_a_polite_program(void **state)
{
    struct fixture *f = *state;
    struct stream *log;
    struct buf text = BUF_INIT(100000);

    start_shell(f, "polite",
                "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 1000 & wait; done");
    wait_running(f, "polite");
    log = open_log(f, "polite", "main", &log_follow);
    drain_log(f, log, "up\n", &text);
    assert_int_equal(f->rt->ops->stop(f->rt, "polite", 30, NULL), 0);
    wait_dead(f, "polite");
    assert_int_equal(find(f, "polite")->containers[0].exit_code, 3);
    assert_false(find(f, "polite")->containers[0].by_itself);
    drain_log(f, log, NULL, &text);
    assert_string_equal(text.data, "up\nbye\n");
    buf_release(&text);
    log->ops->close(log);
}

static void kill_follows_after_the_grace(void **state)
{
    struct fixture *f = *state;
    struct stream *log;
    struct buf text = BUF_INIT(100000);

    start_shell(f, "deaf", "trap '' TERM; echo up; sleep 1000");
    wait_running(f, "deaf");
    log = open_log(f, "deaf", "main", &log_follow);
    drain_log(f, log, "up\n", &text);
    assert_int_equal(f->rt->ops->stop(f->rt, "deaf", 1, NULL), 0);
    wait_dead(f, "deaf");
    assert_int_equal(find(f, "deaf")->containers[0].exit_code, 137);
    assert_string_equal(find(f, "deaf")->containers[0].message,
                        "it did not end in its grace period");
    buf_release(&text);
    log->ops->close(log);
}

static void a_shorter_grace_counts(void **state)
{
    struct fixture *f = *state;
    struct stream *log;
    struct buf text = BUF_INIT(100000);

    start_shell(f, "deaf", "trap 'echo term' TERM; echo up; while :; do sleep 1000 & wait; done");
    wait_running(f, "deaf");
    log = open_log(f, "deaf", "main", &log_follow);
    drain_log(f, log, "up\n", &text);
    assert_int_equal(f->rt->ops->stop(f->rt, "deaf", 1000, NULL), 0);
    drain_log(f, log, "term\n", &text);
    assert_int_equal(f->rt->ops->stop(f->rt, "deaf", 0, NULL), 0);
    wait_dead(f, "deaf");
    assert_int_equal(find(f, "deaf")->containers[0].exit_code, 137);
    buf_release(&text);
    log->ops->close(log);
}

/* What a shell printed: "<pid>\n". */
static pid_t pid_in_log(struct fixture *f, const char *uid)
{
    char *text = read_log(f, uid, &log_all);
    pid_t pid = (pid_t)atoi(text ? text : "");

    assert_true(pid > 1);
    free(text);
    return pid;
}

static void whatever_a_pod_forks_is_gone_with_it(void **state)
{
    struct fixture *f = *state;
    char script[512];

    /* a session of its own, and a second one below that, with the environment wiped */
    (void)snprintf(script, sizeof(script),
                   "mkfifo %s/f; setsid sh -c 'echo $$; env -i setsid sleep 1000 & echo > %s/f; "
                   "exec sleep 1000' & read x < %s/f; exit 0",
                   f->root, f->root, f->root);
    run_shell(f, "hidden", script);
    assert_int_equal(find(f, "hidden")->containers[0].exit_code, 0);
    assert_int_equal(kill(pid_in_log(f, "hidden"), 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void output_of_a_background_child_is_not_waited_for(void **state)
{
    struct fixture *f = *state;

    /* holds the pipe open; would keep the log open for ever */
    run_shell(f, "background", "setsid sleep 1000 & echo done");
    assert_log(f, "background", &log_all, "done\n");
}

static void init_containers_run_first_and_in_order(void **state)
{
    struct fixture *f = *state;
    char file[160], first[512], second[512], last[512];
    const char *a[] = {"/bin/sh", "-c", first, NULL};
    const char *b[] = {"/bin/sh", "-c", second, NULL};
    const char *c[] = {"/bin/sh", "-c", last, NULL};
    struct container_start list[] = {
        {.name = "a", .init = true, .argv = a, .env = fixture_env, .cwd = "/"},
        {.name = "b", .init = true, .argv = b, .env = fixture_env, .cwd = "/"},
        {.name = "main", .argv = c, .env = fixture_env, .cwd = "/"},
    };

    (void)snprintf(file, sizeof(file), "%s/order", f->root);
    (void)snprintf(first, sizeof(first), "echo a >> %s", file);
    (void)snprintf(second, sizeof(second), "echo b >> %s", file);
    (void)snprintf(last, sizeof(last), "cat %s", file);
    start_containers(f, "init", list, 3);
    wait_dead(f, "init");
    assert_log(f, "init", &log_all, "a\nb\n");
    assert_int_equal(find(f, "init")->containers[2].exit_code, 0);
}

static void a_failed_init_container_ends_the_pod(void **state)
{
    struct fixture *f = *state;
    const char *bad[] = {"/bin/sh", "-c", "exit 4", NULL};
    const char *good[] = {"true", NULL};
    struct container_start list[] = {
        {.name = "a", .init = true, .argv = bad, .env = fixture_env, .cwd = "/"},
        {.name = "b", .init = true, .argv = good, .env = fixture_env, .cwd = "/"},
        {.name = "main", .argv = good, .env = fixture_env, .cwd = "/"},
    };
    const struct pod_run *run;

    start_containers(f, "init", list, 3);
    wait_dead(f, "init");
    run = find(f, "init");
    assert_int_equal(run->containers[0].exit_code, 4);
    assert_int_equal(run->containers[1].phase, CONTAINER_WAITING);
    assert_int_equal(run->containers[2].phase, CONTAINER_WAITING);
}

static void containers_end_each_for_itself(void **state)
{
    struct fixture *f = *state;
    const char *quick[] = {"/bin/sh", "-c", "setsid sleep 1000 & exit 5", NULL};
    const char *slow[] = {"sleep", "1000", NULL};
    struct container_start list[] = {
        {.name = "quick", .argv = quick, .env = fixture_env, .cwd = "/"},
        {.name = "slow", .argv = slow, .env = fixture_env, .cwd = "/"},
    };

    start_containers(f, "two", list, 2);
    while (!find(f, "two")->known || find(f, "two")->containers[0].phase != CONTAINER_TERMINATED)
        loop_run_once(f->loop);
    assert_int_equal(find(f, "two")->containers[0].exit_code, 5);
    assert_int_equal(find(f, "two")->containers[1].phase, CONTAINER_RUNNING);
    assert_true(find(f, "two")->alive);
    assert_int_equal(f->rt->ops->stop(f->rt, "two", 5, NULL), 0);
    wait_dead(f, "two");
    assert_int_equal(find(f, "two")->containers[1].exit_code, 143);
}

/* Until the container's log ends with text. */
static void wait_log(struct fixture *f, const char *uid, const char *text)
{
    struct stream *log = open_log(f, uid, "main", &log_follow);
    struct buf read = BUF_INIT(100000);

    drain_log(f, log, text, &read);
    buf_release(&read);
    log->ops->close(log);
}

static int run_supervisor(struct fixture *f, const char *uid)
{
    char dir[256];
    int status;
    pid_t pid;

    (void)snprintf(dir, sizeof(dir), "%s/%s", f->pods, uid);
    pid = fork();
    if (pid == 0) {
        (void)execl(f->program, f->program, SUPERVISOR_COMMAND, dir, (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_second_start_is_refused(void **state)
{
    struct fixture *f = *state;

    start_shell(f, "once", "echo started; sleep 1000");
    wait_log(f, "once", "started\n");
    assert_int_equal(run_supervisor(f, "once"), 3); /* the lock is held */
    assert_int_equal(f->rt->ops->stop(f->rt, "once", 0, NULL), 0);
    wait_dead(f, "once");
    assert_int_equal(run_supervisor(f, "once"), 3); /* the marker is there */
    assert_log(f, "once", &log_all, "started\n");
}

/* Until another worker has reported in, whichever process was killed. */
static void wait_other_worker(struct fixture *f, const char *uid, pid_t old)
{
    for (;;) {
        pid_t pids[GROUP];

        group_pids(f, uid, pids);
        if (pids[WORKER] != old)
            return;
        loop_run_once(f->loop);
    }
}

/* Kills by the bits of which, 1 for the worker, each of the two replaced before the next kill. The
 * program neither notices nor loses a line, and its exit code is known. */
static void kill_in_sequence(struct fixture *f, unsigned kills, unsigned which)
{
    char uid[32], script[512], fifo[128], expected[128] = "up\n";
    char *text;
    FILE *go;

    (void)snprintf(uid, sizeof(uid), "pod%u-%u", kills, which);
    (void)snprintf(fifo, sizeof(fifo), "%s/go-%s", f->root, uid);
    (void)snprintf(script, sizeof(script),
                   "mkfifo %s; echo up; i=0; while read x; do i=$((i+1)); echo $i; echo e$i >&2; "
                   "done < %s; printf end; exit 5",
                   fifo, fifo);
    start_shell(f, uid, script);
    wait_log(f, uid, "up\n");
    go = fopen(fifo, "we");
    assert_non_null(go);
    for (unsigned k = 0; k < kills; k++) {
        pid_t pids[GROUP];

        group_pids(f, uid, pids);
        assert_int_equal(kill(pids[which >> k & 1 ? WORKER : KEEPER], SIGKILL), 0);
        (void)fputs("next\n", go);
        (void)fflush(go);
        wait_other_worker(f, uid, pids[WORKER]);
        (void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
                       "%u\ne%u\n", k + 1, k + 1);
    }
    (void)fclose(go);
    wait_dead(f, uid);
    if (find(f, uid)->containers[0].exit_code != 5)
        fail_msg("%u kills, %#x: exit code %d, %s", kills, which,
                 find(f, uid)->containers[0].exit_code, find(f, uid)->containers[0].reason);
    (void)snprintf(script, sizeof(script), "e%u", kills);
    assert_string_equal(find(f, uid)->containers[0].message, script);
    text = read_log(f, uid, &log_all);
    for (unsigned k = 1; k <= kills; k++) {
        (void)snprintf(script, sizeof(script), "\n%u\n", k);
        assert_non_null(strstr(text, script));
    }
    assert_int_equal(strlen(text), strlen(expected) + strlen("end\n"));
    free(text);
}

static void no_sequence_of_kills_loses_anything(void **state)
{
    for (unsigned kills = 1; kills <= 4; kills++)
        for (unsigned which = 0; which < 1u << kills; which++) {
            fixture_watch();
            kill_in_sequence(*state, kills, which);
        }
}

/* Before Linux 6.15 the exit code of a process reaped by another is unknown. */
static void nor_does_any_on_an_old_kernel(void **state)
{
    (void)setenv(ORPHAN_ENV_OLD_KERNEL, "1", 1);
    no_sequence_of_kills_loses_anything(state);
    (void)unsetenv(ORPHAN_ENV_OLD_KERNEL);
}

static void a_group_killed_whole_leaves_no_program(void **state)
{
    struct fixture *f = *state;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const struct container_state *c;
    struct pollfd ends[2];
    pid_t pids[GROUP];

    start_shell(f, "lost", "setsid sleep 1000 & echo $!; exec sleep 1000");
    wait_log(f, "lost", "\n"); /* the grandchild has said its pid: it is there */
    wait_running(f, "lost");   /* and we know of it */
    group_pids(f, "lost", pids);
    ends[0] = (struct pollfd){.fd = pidfd_open((pid_t)find(f, "lost")->containers[0].pid, 0),
                              .events = POLLIN};
    ends[1] = (struct pollfd){.fd = pidfd_open(pid_in_log(f, "lost"), 0), .events = POLLIN};
    kill_group(pids);
    wait_dead(f, "lost");
    for (size_t i = 0; i < ELEMS(ends); i++) { /* they were killed, and end in their own time */
        assert_true(ends[i].fd >= 0);
        assert_int_equal(poll(&ends[i], 1, WATCHDOG_SECONDS * 1000), 1);
        assert_int_equal(close(ends[i].fd), 0);
    }
    c = &find(f, "lost")->containers[0];
    assert_int_equal(c->exit_code, 137);
    assert_string_equal(c->reason, "SupervisorLost");
    assert_true(stored_state(f, "lost", &a).final);
    arena_release(&a);
}

/* A pod that was started by hand, so that its container can have a group that holds up whoever
 * enters it. */
static void start_in_group(struct fixture *f, const char *uid, const char *folder)
{
    const char *argv[] = {"sleep", "1000", NULL}, *groups[] = {folder, NULL};
    struct container_start c = {
        .name = "main", .argv = argv, .env = fixture_env, .cwd = "/", .cgroups = groups};
    struct pod_start p = {.ns = "default",
                          .name = "pod",
                          .uid = uid,
                          .containers = &c,
                          .containers_len = 1,
                          .grace_seconds = 30};
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct buf text = BUF_INIT(100000);
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", f->pods, uid);
    assert_int_equal(mkdir(path, 0700), 0);
    fd = pod_dir_fd(f, uid);
    json_write(&text, pod_start_to_json(&a, &p));
    assert_int_equal(pod_file_write(fd, POD_FILE_RUN, text.data, text.len, POD_NOT_SYNCED), 0);
    (void)close(fd);
    buf_release(&text);
    arena_release(&a);
    assert_int_equal(run_supervisor(f, uid), 0);
    f->rt->ops->free(f->rt);
    fixture_attach(f);
}

static void note_child(void *arg, pid_t pid)
{
    if (pid != getpid())
        *(pid_t *)arg = pid;
}

/* The only one it has, beside the tests. Nothing tells of it but a look. */
static pid_t wait_child(pid_t parent)
{
    pid_t child = 0;

    while (child == 0) {
        proc_each_child(parent, note_child, &child);
        (void)poll(NULL, 0, 1);
    }
    return child;
}

static void wait_asleep(pid_t pid)
{
    char path[64], state = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (state != 'S') {
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        (void)fclose(file);
        (void)poll(NULL, 0, 1);
    }
}

/* Its worker is killed before the program has a process group: the next one tells it to end while
 * that is still so. */
static void who_has_no_process_group_yet_is_told_to_end(void **state)
{
    struct fixture *f = *state;
    char folder[128], tasks[160];
    pid_t worker;

    (void)snprintf(folder, sizeof(folder), "%s/group", f->root);
    (void)snprintf(tasks, sizeof(tasks), "%s/tasks", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkfifo(tasks, 0600), 0); /* it is never read */
    start_in_group(f, "early", folder);
    worker = wait_child(wait_child(getppid())); /* the keeper's parent reaps for us */
    wait_asleep(wait_child(worker)); /* killed before the start is claimed, it is made again */
    assert_int_equal(kill(worker, SIGKILL), 0);
    wait_running(f, "early"); /* as the next worker says */
    assert_int_equal(f->rt->ops->stop(f->rt, "early", 1000, NULL), 0);
    wait_dead(f, "early");
    assert_int_equal(find(f, "early")->containers[0].exit_code, 143);
}

static int score_of(pid_t pid)
{
    char path[64], text[16] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    (void)fclose(file);
    return atoi(text);
}

/* Not even root, in many containers. */
static bool may_lower_score(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open("/proc/self/oom_score_adj", O_WRONLY);

        _exit(fd >= 0 && write(fd, "-1000", 5) == 5 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

static void the_kernel_spares_supervisors_and_not_programs(void **state)
{
    struct fixture *f = *state;
    pid_t pids[GROUP];

    start_shell(f, "score", "cat /proc/self/oom_score_adj; sleep 1000");
    wait_log(f, "score", "\n");
    wait_running(f, "score");
    assert_int_equal(score_of((pid_t)find(f, "score")->containers[0].pid), score_of(getpid()));
    group_pids(f, "score", pids);
    for (size_t i = 0; i < GROUP; i++)
        assert_int_equal(score_of(pids[i]), may_lower_score() ? -1000 : score_of(getpid()));
}

static void the_exit_record_is_in_the_folder(void **state)
{
    struct fixture *f = *state;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record s;

    run_shell(f, "rec", "exit 9");
    s = stored_state(f, "rec", &a);
    assert_true(s.final);
    assert_int_equal(s.run.containers[0].exit_code, 9);
    assert_string_equal(s.run.ns, "default");
    assert_string_equal(s.run.uid, "rec");
    arena_release(&a);
}

static void names_are_the_pods_own(void **state)
{
    struct fixture *f = *state;
    char hosts[128];
    const char *argv[] = {"sh", "-c",
                          "getent ahostsv4 train-worker-0 && cat /proc/sys/kernel/hostname", NULL};
    struct container_start c = {.name = "main", .argv = argv, .env = fixture_env, .cwd = "/"};
    struct pod_start p = {.ns = "default",
                          .name = "pod",
                          .uid = "hosts",
                          .containers = &c,
                          .containers_len = 1,
                          .hosts_path = hosts};
    FILE *file;
    char *text;

    if (!f->rt->ops->has_mounts(f->rt))
        skip();
    (void)snprintf(hosts, sizeof(hosts), "%s/hosts", f->root);
    file = fopen(hosts, "we");
    assert_non_null(file);
    (void)fputs("127.0.0.1 localhost\n127.0.0.7 train-worker-0\n", file);
    (void)fclose(file);
    assert_int_equal(f->rt->ops->start(f->rt, &p, NULL), 0);
    wait_dead(f, "hosts");
    assert_int_equal(find(f, "hosts")->containers[0].exit_code, 0);
    text = read_log(f, "hosts", &log_all);
    assert_non_null(strstr(text, "127.0.0.7"));
    assert_non_null(strstr(text, "\npod\n"));
    free(text);
    assert_int_not_equal(system("getent ahostsv4 train-worker-0 > /dev/null"), 0);
}

/* A user without rights maps himself in a user namespace; where the machine forbids that, the probe
 * must say so rather than the pod fail. */
static void the_probe_is_right_for_plain_users(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    pid = fork();
    if (pid == 0) {
        auto_err err = ERR_INIT;
        bool promised, kept;

        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        promised = mounts_probe();
        kept = mounts_enter(&(struct pod_start){.name = "pod", .hosts_path = "/etc/hosts"}, &err) ==
               0;
        _exit(promised == kept ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_start_record_that_is_broken_is_told(void **state)
{
    struct fixture *f = *state;
    char path[256];
    FILE *file;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);

    (void)snprintf(path, sizeof(path), "%s/broken", f->pods);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/broken/run.json", f->pods);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("{", file);
    (void)fclose(file);
    assert_int_equal(run_supervisor(f, "broken"), 0);
    /* the lock marks its end: held until the state is written */
    {
        int fd = pod_dir_fd(f, "broken"), lock = open("/dev/null", O_RDONLY);
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

        (void)close(lock);
        lock = openat(fd, POD_FILE_LOCK, O_RDWR);
        assert_int_equal(fcntl(lock, F_OFD_SETLKW, &l), 0);
        (void)close(lock);
        (void)close(fd);
    }
    assert_true(stored_state(f, "broken", &a).final);
    arena_release(&a);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(exit_codes_are_kept),
        T(an_early_end_is_told_at_once),
        T(signals_become_128_and_more),
        T(a_failure_leaves_its_last_words),
        T(a_kill_says_what_the_kernel_says),
        T(environment_and_folder_are_the_containers),
        T(a_missing_command_says_its_name),
        T(a_missing_folder_says_its_name),
        T(term_ends_a_polite_program),
        T(kill_follows_after_the_grace),
        T(a_shorter_grace_counts),
        T(whatever_a_pod_forks_is_gone_with_it),
        T(output_of_a_background_child_is_not_waited_for),
        T(init_containers_run_first_and_in_order),
        T(a_failed_init_container_ends_the_pod),
        T(containers_end_each_for_itself),
        T(a_second_start_is_refused),
        T(no_sequence_of_kills_loses_anything),
        T(nor_does_any_on_an_old_kernel),
        T(a_group_killed_whole_leaves_no_program),
        T(who_has_no_process_group_yet_is_told_to_end),
        T(the_kernel_spares_supervisors_and_not_programs),
        T(the_exit_record_is_in_the_folder),
        T(names_are_the_pods_own),
        T(the_probe_is_right_for_plain_users),
        T(a_start_record_that_is_broken_is_told),
    };
    int ret;

    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests_name("supervisor", tests, NULL, NULL);
}
