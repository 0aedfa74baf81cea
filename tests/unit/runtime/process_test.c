/* process_test.c - the daemon's side: it may be killed at any point and finds everything again. */
#include "pod_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "runtime/proc.h"

/* A daemon in a process of its own, which starts one pod; says when, and is then killed. */
static void start_in_killed_daemon(struct fixture *f, const char *uid, const char *script,
                                   bool wait_for_it)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct fixture own = *f;

        own.loop = loop_new(NULL);
        fixture_attach(&own);
        start_shell(&own, uid, script);
        if (wait_for_it)
            wait_running(&own, uid);
        (void)kill(getpid(), SIGKILL);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0);
    (void)close(ready[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void restart(struct fixture *f)
{
    f->rt->ops->free(f->rt);
    fixture_attach(f);
}

static void a_killed_daemon_stops_nothing(void **state)
{
    struct fixture *f = *state;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    struct pod_record before;
    char fifo[160], script[256];
    FILE *file;

    (void)snprintf(fifo, sizeof(fifo), "%s/f", f->root);
    (void)snprintf(script, sizeof(script),
                   "trap 'exit 6' TERM; echo > %s; while :; do sleep 1000 & wait; done", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    start_in_killed_daemon(f, "p", script, true);
    file = fopen(fifo, "re"); /* it has set its trap */
    assert_non_null(file);
    assert_int_equal(fgetc(file), '\n');
    (void)fclose(file);
    before = stored_state(f, "p", &a);
    restart(f);
    assert_non_null(find(f, "p"));
    assert_true(find(f, "p")->alive);
    assert_string_equal(find(f, "p")->ns, "default");
    assert_string_equal(find(f, "p")->name, "pod");
    assert_int_equal(find(f, "p")->containers[0].phase, CONTAINER_RUNNING);
    assert_int_equal(find(f, "p")->containers[0].pid, before.run.containers[0].pid);
    assert_int_equal(f->rt->ops->stop(f->rt, "p", 30, NULL), 0);
    wait_dead(f, "p");
    assert_int_equal(find(f, "p")->containers[0].exit_code, 6);
    arena_release(&a);
}

static size_t open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    assert_int_equal(closedir(d), 0);
    return n;
}

/* Finished pods stay until they are deleted; there may be many. */
static void dead_pods_hold_no_descriptors(void **state)
{
    struct fixture *f = *state;
    char uid[24], path[256];
    size_t before;

    run_shell(f, "first", "true");
    before = open_descriptors();
    for (int i = 0; i < 5; i++) {
        (void)snprintf(uid, sizeof(uid), "dead-%d", i);
        run_shell(f, uid, "exit 3");
    }
    assert_int_equal(open_descriptors(), before);
    restart(f);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(find(f, "dead-4")->containers[0].exit_code, 3);
    assert_int_equal(f->rt->ops->remove(f->rt, "dead-4", NULL), 0);
    assert_null(find(f, "dead-4"));
    (void)snprintf(path, sizeof(path), "rm -rf %s/dead-3", f->pods);
    assert_int_equal(system(path), 0);
    assert_int_equal(f->rt->ops->remove(f->rt, "dead-3", NULL), 0);
    assert_null(find(f, "dead-3"));
    assert_int_equal(open_descriptors(), before);
}

static void count_held(void *arg, const struct pod_run *run)
{
    (void)run;
    ++*(size_t *)arg;
}

static void count_uid(void *arg, const char *uid)
{
    assert_memory_equal(uid, "dead-", strlen("dead-"));
    ++*(size_t *)arg;
}

static size_t held(struct fixture *f)
{
    size_t n = 0;

    f->rt->ops->each(f->rt, count_held, &n);
    return n;
}

static void a_pod_is_held_from_when_it_is_asked_for(void **state)
{
    struct fixture *f = *state;
    size_t uids = 0;

    run_shell(f, "dead-1", "exit 3");
    run_shell(f, "dead-2", "exit 4");
    assert_int_equal(held(f), 2);
    restart(f);
    assert_int_equal(held(f), 0);
    f->rt->ops->each_uid(f->rt, count_uid, &uids);
    assert_int_equal(uids, 2);
    assert_int_equal(find(f, "dead-2")->containers[0].exit_code, 4);
    assert_int_equal(held(f), 1);
    f->rt->ops->rest(f->rt, "dead-2");
    f->rt->ops->rest(f->rt, "dead-2");
    assert_int_equal(held(f), 0);
    assert_int_equal(find(f, "dead-2")->containers[0].exit_code, 4);
    start_shell(f, "dead-3", "sleep 1000");
    f->rt->ops->rest(f->rt, "dead-3"); /* not while it lives */
    assert_int_equal(held(f), 2);
}

static void an_unobserved_end_is_known(void **state)
{
    struct fixture *f = *state;
    char fifo[160], script[256];
    FILE *file;

    (void)snprintf(fifo, sizeof(fifo), "%s/f", f->root);
    (void)snprintf(script, sizeof(script), "read x < %s; exit 11", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    start_in_killed_daemon(f, "p", script, true);
    file = fopen(fifo, "we"); /* lets it end */
    assert_non_null(file);
    (void)fputs("go\n", file);
    (void)fclose(file);
    restart(f);
    wait_dead(f, "p");
    assert_int_equal(find(f, "p")->containers[0].exit_code, 11);
    restart(f);
    assert_false(find(f, "p")->alive);
    assert_int_equal(find(f, "p")->containers[0].exit_code, 11);
}

static void no_log_line_is_lost_or_doubled(void **state)
{
    enum { LINES = 20000 };
    struct fixture *f = *state;
    struct buf expected = BUF_INIT(1024 * 1024);

    start_in_killed_daemon(f, "p", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done",
                           true);
    for (int i = 1; i <= LINES; i++)
        buf_addf(&expected, "line %d\n", i);
    restart(f);
    assert_log(f, "p", &log_follow, expected.data);
    buf_release(&expected);
}

/* Killed at the moment of starting: once the daemon is back and asks again, exactly one has run. */
static void no_replica_runs_twice(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 20; i++) {
        char uid[16], script[256], path[200];
        struct stat st;

        (void)snprintf(uid, sizeof(uid), "p%d", i);
        (void)snprintf(path, sizeof(path), "%s/ran%d", f->root, i);
        (void)snprintf(script, sizeof(script), "echo >> %s", path);
        start_in_killed_daemon(f, uid, script, false);
        restart(f);
        if (!find(f, uid))
            start_shell(f, uid, script);
        wait_dead(f, uid);
        assert_string_equal(find(f, uid)->containers[0].message, "");
        assert_int_equal(find(f, uid)->containers[0].exit_code, 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 1);
    }
}

static void a_start_that_was_cut_short_is_forgotten(void **state)
{
    struct fixture *f = *state;
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/half", f->pods);
    assert_int_equal(mkdir(path, 0700), 0);
    restart(f);
    assert_null(find(f, "half"));
    assert_int_equal(access(path, F_OK), -1);
}

static void a_pod_is_started_once(void **state)
{
    struct fixture *f = *state;
    const char *argv[] = {"true", NULL};
    struct container_start c = {.name = "main", .argv = argv, .env = fixture_env, .cwd = "/"};
    struct pod_start p = {
        .ns = "d", .name = "p", .uid = "p", .containers = &c, .containers_len = 1};

    assert_int_equal(f->rt->ops->start(f->rt, &p, NULL), 0);
    assert_int_equal(f->rt->ops->start(f->rt, &p, NULL), -EEXIST);
    wait_dead(f, "p");
    assert_int_equal(f->rt->ops->start(f->rt, &p, NULL), -EEXIST);
}

static void a_pod_stopped_while_it_starts_does_not_run(void **state)
{
    struct fixture *f = *state;

    start_shell(f, "p", "sleep 1000");
    assert_int_equal(f->rt->ops->stop(f->rt, "p", 1000, NULL), 0);
    wait_dead(f, "p"); /* before it ran, or by TERM just after */
    assert_true(find(f, "p")->containers[0].phase == CONTAINER_WAITING ||
                find(f, "p")->containers[0].exit_code == 143);
}

static void a_removed_pod_leaves_its_logs(void **state)
{
    struct fixture *f = *state;
    char path[256];

    start_shell(f, "p", "echo kept; sleep 1000");
    wait_running(f, "p");
    assert_int_equal(f->rt->ops->remove(f->rt, "p", NULL), -EBUSY);
    assert_int_equal(f->rt->ops->stop(f->rt, "p", 0, NULL), 0);
    wait_dead(f, "p");
    assert_int_equal(f->rt->ops->remove(f->rt, "p", NULL), 0);
    assert_null(find(f, "p"));
    (void)snprintf(path, sizeof(path), "%s/p", f->pods);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof(path), "%s/default/pod/p/main.0.0.log", f->logs);
    assert_int_equal(access(path, F_OK), 0);
    (void)snprintf(path, sizeof(path), "%s/default/pod/p/run.json", f->logs);
    assert_int_equal(access(path, F_OK), -1); /* it may hold secrets */
}

/* How often this thread has read; -1: the kernel does not say. */
static long reads_so_far(void)
{
    FILE *file = fopen("/proc/thread-self/io", "re");
    char line[128];
    long reads = -1;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "syscr: ", 7) == 0)
            reads = strtol(line + 7, NULL, 10);
    if (file)
        (void)fclose(file);
    return reads;
}

/* What a pod without supervisors left is looked for among all processes: not by the loop. */
static void leftovers_are_looked_for_by_another_thread(void **state)
{
    enum { OTHERS = 300 };
    struct fixture *f = *state;
    pid_t others[OTHERS], pids[GROUP];
    long most = 0;

    start_shell(f, "lost", "exec sleep 1000");
    wait_running(f, "lost");
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = fork();
        if (others[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)pause();
            _exit(0);
        }
        assert_true(others[i] > 0);
    }
    group_pids(f, "lost", pids);
    kill_group(pids);
    while (find(f, "lost")->alive) { /* how many turns it takes is the machine's affair */
        long before = reads_so_far();

        loop_run_once(f->loop);
        most = max_i64(most, reads_so_far() - before);
    }
    assert_true(most < OTHERS);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_int_equal(kill(others[i], SIGKILL), 0);
        assert_int_equal(waitpid(others[i], NULL, 0), others[i]);
    }
    assert_string_equal(find(f, "lost")->containers[0].reason, "SupervisorLost");
}

static void note_turn(void *arg)
{
    *(bool *)arg = true;
}

static void turn(struct fixture *f)
{
    bool turned = false;

    assert_non_null(clock_start(loop_clock(f->loop), 1, note_turn, &turned));
    while (!turned)
        loop_run_once(f->loop);
}

/* There are no descriptors when its record and its supervisor's end are looked at. */
static void an_end_that_cannot_be_read_is_read_later(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, none;
    pid_t pids[GROUP];

    start_shell(f, "p", "exec sleep 1000");
    wait_running(f, "p");
    group_pids(f, "p", pids);
    restart(f); /* without the look that follows a start */
    assert_true(find(f, "p")->alive);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(kill((pid_t)find(f, "p")->containers[0].pid, SIGUSR1), 0);
    for (size_t i = 0; i < GROUP; i++)
        while (kill(pids[i], 0) == 0)
            turn(f);
    for (int i = 0; i < 3; i++)
        turn(f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    wait_dead(f, "p");
    assert_int_equal(find(f, "p")->containers[0].exit_code, 128 + SIGUSR1);
}

/* Room for the next record is reserved before this one is visible, so filling the disk cannot
 * prevent it. */
static void room_for_the_next_record_is_taken_before_the_first_is_seen(void **state)
{
    char folder[] = "/tmp/muster-record-XXXXXX";
    alignas(struct inotify_event) char events[4096];
    struct pod_record record = {.run = {.ns = "default", .name = "p", .uid = "u"}};
    int dir_fd, watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    size_t written = 0;
    ssize_t len, at = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(inotify_add_watch(watch, folder, IN_CLOSE_WRITE | IN_MOVED_TO) >= 0);
    assert_int_equal(pod_record_write(dir_fd, &record, POD_NOT_SYNCED), 0);
    len = read(watch, events, sizeof(events));
    for (const struct inotify_event *e = (const void *)events; at < len;
         at += (ssize_t)(sizeof(*e) + e->len), e = (const void *)(events + at)) {
        if (strcmp(e->name, POD_FILE_STATE) == 0)
            break;
        written++;
    }
    assert_true(at < len);
    assert_int_equal(written, 2); /* the record, and room for another */
    assert_int_equal(unlinkat(dir_fd, POD_FILE_STATE, 0), 0);
    assert_int_equal(unlinkat(dir_fd, "." POD_FILE_STATE ".tmp", 0), 0);
    assert_int_equal(rmdir(folder), 0);
    (void)close(dir_fd);
    (void)close(watch);
}

static void a_program_that_cannot_supervise_is_told(void **state)
{
    struct fixture *f = *state;

    strcpy(f->program, "/bin/false");
    restart(f);
    start_shell(f, "p", "true");
    wait_dead(f, "p");
    assert_int_equal(find(f, "p")->containers[0].exit_code, 128);
    assert_string_equal(find(f, "p")->containers[0].reason, "StartError");
}

static void a_small_program_that_cannot_run_is_done_without(void **state)
{
    struct fixture *f = *state;
    struct process_options o = {.loop = f->loop,
                                .pod_root = f->pods,
                                .log_root = f->logs,
                                .program = f->program,
                                .small_program = "/proc/self/fd/nothing"};

    f->rt->ops->free(f->rt);
    assert_int_equal(process_runtime_new(&o, &f->rt, NULL), 0);
    start_shell(f, "p", "exit 3");
    wait_dead(f, "p");
    assert_int_equal(find(f, "p")->containers[0].exit_code, 3);
}

static void *outlive(void *fd)
{
    char byte;

    return read(*(int *)fd, &byte, 1) < 0 ? fd : NULL;
}

/* One that is dead; one that waits; one whose first thread has left the others at work. */
static void who_exits_is_told_apart(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        int hold[2];
        pid_t pid;

        assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            pthread_t thread;

            (void)close(hold[1]);
            if (kind == 2 && pthread_create(&thread, NULL, outlive, &hold[0]) == 0)
                (void)syscall(SYS_exit, 0);
            if (kind == 1)
                (void)outlive(&hold[0]);
            _exit(0);
        }
        if (kind == 0) {
            siginfo_t info;

            assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        }
        for (struct proc_stat s = {0}; kind == 2 && s.state != 'Z';)
            assert_int_equal(proc_stat_read(pid, &s), 0);
        assert_int_equal(proc_is_exiting(pid), kind == 0);
        (void)close(hold[1]);
        (void)close(hold[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    assert_false(proc_is_exiting(INT32_MAX));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(a_killed_daemon_stops_nothing),
        T(who_exits_is_told_apart),
        T(dead_pods_hold_no_descriptors),
        T(a_pod_is_held_from_when_it_is_asked_for),
        T(an_unobserved_end_is_known),
        T(no_log_line_is_lost_or_doubled),
        T(no_replica_runs_twice),
        T(a_start_that_was_cut_short_is_forgotten),
        T(a_pod_is_started_once),
        T(a_pod_stopped_while_it_starts_does_not_run),
        T(a_removed_pod_leaves_its_logs),
        T(leftovers_are_looked_for_by_another_thread),
        T(an_end_that_cannot_be_read_is_read_later),
        cmocka_unit_test(room_for_the_next_record_is_taken_before_the_first_is_seen),
        T(a_program_that_cannot_supervise_is_told),
        T(a_small_program_that_cannot_run_is_done_without),
    };
    int ret;

    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
