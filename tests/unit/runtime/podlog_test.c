/* podlog_test.c - the log's way from a program's pipe to a reader. */
#include "pod_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/timefmt.h"
#include "runtime/cri.h"

/* A log as the supervisor would have left it. */
static void write_log(struct fixture *f, const char *uid, const char *text)
{
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", f->pods, uid);
    assert_int_equal(mkdir(path, 0700), 0);
    fd = pod_dir_fd(f, uid);
    assert_int_equal(pod_mark_started(fd), 0);
    assert_int_equal(pod_file_write(fd, "main.0.0.log", text, strlen(text), POD_NOT_SYNCED), 0);
    (void)close(fd);
}

#define STAMP(sec) "2026-11-15T08:00:" sec ".123456789Z "

static const char small_log[] =
    STAMP("01") "stdout F one\n" STAMP("02") "stderr F two\n" STAMP("03") "stdout P th\n" STAMP(
        "03") "stderr F between\n" STAMP("04") "stdout F ree\n" STAMP("0"
                                                                      "5") "stdout F \n";

static void lines_are_joined_and_stamped(void **state)
{
    struct fixture *f = *state;
    struct node_log_options stamped = log_all;

    write_log(f, "p", small_log);
    assert_log(f, "p", &log_all, "one\ntwo\nbetween\nthree\n\n");
    stamped.timestamps = true;
    assert_log(f, "p", &stamped,
               STAMP("01") "one\n" STAMP("02") "two\n" STAMP("03") "between\n" STAMP(
                   "03") "three\n" STAMP("05") "\n");
}

static void tail_counts_lines(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = log_all;

    write_log(f, "p", small_log);
    o.tail_lines = 0;
    assert_log(f, "p", &o, "");
    o.tail_lines = 1;
    assert_log(f, "p", &o, "\n");
    o.tail_lines = 4;
    assert_log(f, "p", &o, "two\nbetween\nthree\n\n");
    o.tail_lines = 5;
    assert_log(f, "p", &o, "one\ntwo\nbetween\nthree\n\n");
    o.tail_lines = 500;
    assert_log(f, "p", &o, "one\ntwo\nbetween\nthree\n\n");
}

static void tail_works_across_blocks(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = log_all;
    struct buf text = BUF_INIT(16u * 1024 * 1024), expected = BUF_INIT(16u * 1024 * 1024);

    for (int i = 0; i < 30000; i++) {
        buf_addf(&text, STAMP("01") "stdout F line %d\n", i);
        if (i >= 30000 - 12345)
            buf_addf(&expected, "line %d\n", i);
    }
    write_log(f, "p", text.data);
    o.tail_lines = 12345;
    assert_log(f, "p", &o, expected.data);
    buf_release(&text);
    buf_release(&expected);
}

static void since_and_limit_cut(void **state)
{
    struct fixture *f = *state;
    struct node_log_options o = log_all;

    write_log(f, "p", small_log);
    assert_int_equal(time_parse("2026-11-15T08:00:04Z", &o.since_ms), 0);
    assert_log(f, "p", &o, "ree\n\n");
    o.since_ms = 0;
    o.limit_bytes = 6;
    assert_log(f, "p", &o, "one\ntw");
}

static void what_is_not_a_log_is_skipped(void **state)
{
    struct fixture *f = *state;

    write_log(f, "p", "garbage\n" STAMP("01") "stdout F one\n\n" STAMP("01") "stdfoo F x\n");
    assert_log(f, "p", &log_all, "one\n");
}

static void a_line_without_end_gets_one(void **state)
{
    struct fixture *f = *state;

    run_shell(f, "p", "echo a; printf b");
    assert_log(f, "p", &log_all, "a\nb\n");
}

static void both_streams_are_there(void **state)
{
    struct fixture *f = *state;
    char *text;

    run_shell(f, "p", "echo out; echo err >&2");
    text = read_log(f, "p", &log_all);
    assert_true(strcmp(text, "out\nerr\n") == 0 || strcmp(text, "err\nout\n") == 0);
    free(text);
}

static void any_bytes_pass(void **state)
{
    struct fixture *f = *state;
    struct stream *s;
    struct buf text = BUF_INIT(100000);

    run_shell(f, "p", "printf '\\000\\377\\001\\r\\n\\n\\200'");
    s = open_log(f, "p", "main", &log_all);
    drain_log(f, s, NULL, &text);
    s->ops->close(s);
    assert_int_equal(text.len, 8);
    assert_memory_equal(text.data, "\0\377\001\r\n\n\200\n", 8);
    buf_release(&text);
}

static void a_line_of_a_megabyte_stays_one(void **state)
{
    struct fixture *f = *state;
    char *text;
    size_t expected = 1024 * 1024;

    run_shell(f, "p", "head -c 1048576 /dev/zero | tr '\\0' x; echo; echo end");
    text = read_log(f, "p", &log_all);
    assert_int_equal(strlen(text), expected + 1 + 4);
    assert_int_equal(strspn(text, "x"), expected);
    assert_string_equal(text + expected, "\nend\n");
    free(text);
}

static void following_sees_lines_as_they_come(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(100000);
    char fifo[160], script[256];
    struct stream *s;
    FILE *file;

    (void)snprintf(fifo, sizeof(fifo), "%s/f", f->root);
    (void)snprintf(script, sizeof(script), "echo one; read x < %s; echo $x", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    start_shell(f, "p", script);
    s = open_log(f, "p", "main", &log_follow); /* the folder is there, the log not yet */
    drain_log(f, s, "one\n", &text);
    file = fopen(fifo, "we");
    assert_non_null(file);
    (void)fputs("two\n", file);
    (void)fclose(file);
    drain_log(f, s, NULL, &text);
    assert_string_equal(text.data, "one\ntwo\n");
    s->ops->close(s);
    buf_release(&text);
}

static void following_ends_with_a_killed_group(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(100000);
    pid_t pids[GROUP];
    struct stream *s;

    start_shell(f, "p", "echo one; exec sleep 1000");
    wait_running(f, "p");
    s = open_log(f, "p", "main", &log_follow);
    drain_log(f, s, "one\n", &text);
    group_pids(f, "p", pids);
    kill_group(pids);
    drain_log(f, s, NULL, &text);
    assert_string_equal(text.data, "one\n");
    s->ops->close(s);
    buf_release(&text);
}

struct starting {
    int dir_fd, lock_fd, marked;
    atomic_bool looked_at, done;
};

static void *start_as_supervisors_do(void *arg)
{
    struct starting *s = arg;

    while (!s->looked_at)
        ;
    s->lock_fd = pod_lock_take(s->dir_fd);
    s->marked = pod_mark_started(s->dir_fd);
    s->done = true;
    return NULL;
}

/* A reader that follows from before the start must not combine the old lock with the new mark. */
static void following_does_not_end_with_the_start(void **state)
{
    enum { STARTS = 200 };
    struct fixture *f = *state;

    for (int i = 0; i < STARTS; i++) {
        struct starting s = {.lock_fd = -1};
        char uid[32], path[256], byte;
        struct stream *log;
        pthread_t thread;
        bool over = false;

        (void)snprintf(uid, sizeof(uid), "starting-%d", i);
        (void)snprintf(path, sizeof(path), "%s/%s", f->pods, uid);
        assert_int_equal(mkdir(path, 0700), 0);
        s.dir_fd = pod_dir_fd(f, uid);
        log = open_log(f, uid, "main", &log_follow);
        assert_int_equal(pthread_create(&thread, NULL, start_as_supervisors_do, &s), 0);
        s.looked_at = true;
        while (!s.done)
            over = over || log->ops->read(log, &byte, 1) != 0;
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(s.lock_fd >= 0 && s.marked == 0);
        assert_false(over);
        assert_int_equal(log->ops->read(log, &byte, 1), 0);
        log->ops->close(log);
        (void)close(s.lock_fd);
        (void)close(s.dir_fd);
    }
}

static void a_removed_pod_is_read_to_its_end(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(100000);
    struct stream *s;

    run_shell(f, "p", "echo one; echo two");
    s = open_log(f, "p", "main", &log_follow);
    assert_int_equal(f->rt->ops->remove(f->rt, "p", NULL), 0);
    drain_log(f, s, NULL, &text);
    assert_string_equal(text.data, "one\ntwo\n");
    s->ops->close(s);
    buf_release(&text);
}

static void a_bad_or_unknown_name_is_refused(void **state)
{
    struct fixture *f = *state;
    struct stream *s;

    assert_int_not_equal(podlog_open(f->loop, f->pods, "../x", "main", &log_all, &s, NULL), 0);
    assert_int_not_equal(podlog_open(f->loop, f->pods, "p", "../../x", &log_all, &s, NULL), 0);
    assert_int_equal(podlog_open(f->loop, f->pods, "none", "main", &log_all, &s, NULL), -ENOENT);
}

/* Lines 1 to LINES in files of some hundred bytes, of which the last few are kept. */
static void rotated_files_are_read_as_one(void **state)
{
    enum { LINES = 100, FILES = 5 };
    static struct cri_state states[2];
    struct fixture *f = *state;
    struct cri_limits limits = {.segment_bytes = 500, .segments = FILES};
    struct node_log_options tail = {
        .tail_lines = 30, .limit_bytes = -1, .attempt = NODE_ANY_ATTEMPT};
    struct buf expected = BUF_INIT(100000);
    char dir[256], name[CRI_NAME_SIZE], line[32], *all;
    struct cri_writer w;
    int fd;

    (void)snprintf(dir, sizeof(dir), "%s/p", f->pods);
    assert_int_equal(mkdir(dir, 0700), 0);
    fd = pod_dir_fd(f, "p");
    assert_int_equal(pod_mark_started(fd), 0);
    cri_writer_init(&w, fd, "main", 0, limits);
    for (int i = 0; i < LINES; i++) {
        int n = snprintf(line, sizeof(line), "line %d\n", i);

        /* the same step made twice, as by a worker that was killed in it, is made once */
        for (int k = 0; k < 2; k++)
            cri_writer_feed(&w, &states[i % 2], &states[!(i % 2)], CRI_STDOUT, line, (size_t)n, 1,
                            1);
        if (i >= LINES - 30)
            buf_adds(&expected, line);
    }
    cri_writer_release(&w);
    assert_int_equal(faccessat(fd, cri_segment_name(name, "main", 0, 0), F_OK, 0), -1);
    assert_log(f, "p", &tail, expected.data);
    all = read_log(f, "p", &log_all);
    assert_true(strlen(all) > expected.len);
    assert_string_equal(all + strlen(all) - expected.len, expected.data);
    free(all);
    buf_release(&expected);
    assert_int_equal(close(fd), 0);
}

static void a_full_disk_costs_only_the_log(void **state)
{
    static struct cri_state from, to;
    struct fixture *f = *state;
    struct cri_limits limits = {.segment_bytes = 0};
    int dir_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct cri_writer w;

    assert_true(dir_fd >= 0);
    assert_int_equal(symlinkat("/dev/full", dir_fd, "main.0.0.log"), 0);
    cri_writer_init(&w, dir_fd, "main", 0, limits);
    cri_writer_feed(&w, &from, &to, CRI_STDOUT, "a\n", 2, 0, 0);
    assert_int_equal(to.lost_bytes, 2);
    assert_int_equal(to.size, 0);
    cri_writer_release(&w);
    assert_int_equal(close(dir_fd), 0);
}

static void feed_line(struct cri_writer *w, struct cri_state states[4], size_t step,
                      const char *line)
{
    cri_writer_feed(w, &states[step], &states[step + 1], CRI_STDOUT, line, strlen(line), 0, 0);
}

static void lost_lines_are_told_where_they_are_missing(void **state)
{
    static struct cri_state states[5];
    struct fixture *f = *state;
    int fd, dir_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rlimit before, small;
    struct cri_writer w;
    char text[512] = "";

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    cri_writer_init(&w, dir_fd, "main", 0, (struct cri_limits){.segment_bytes = 0});
    feed_line(&w, states, 0, "a\nb\n"); /* 84 bytes */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    feed_line(&w, states, 1, "c\n");
    feed_line(&w, states, 2, "d\n");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    feed_line(&w, states, 3, "e\n");
    cri_writer_release(&w);
    fd = openat(dir_fd, "main.0.0.log", O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "stdout F b\n"));
    assert_non_null(
        strstr(text, "stderr F [muster: 4 bytes of this log could not be written here]\n"));
    assert_non_null(strstr(text, "here]\n1970-01-01T00:00:00.000000000Z stdout F e\n"));
    assert_null(strstr(text, " F c"));
    assert_int_equal(states[4].told_bytes, 4);
    close(fd);
    assert_int_equal(close(dir_fd), 0);
}

#define TEN "0123456789"
#define FIRST_LINE TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "\n"

/* The mark takes the place of lines that it then counts, and of an earlier mark. */
static void a_mark_needs_no_room(void **state)
{
    static struct cri_state states[8];
    struct fixture *f = *state;
    int fd, dir_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rlimit before, small;
    struct cri_writer w;
    char text[2048] = "";
    ssize_t n;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    cri_writer_init(&w, dir_fd, "main", 0, (struct cri_limits){.segment_bytes = 0});
    feed_line(&w, states, 0, FIRST_LINE "second\nthird\nfourth\n");
    small = (struct rlimit){.rlim_cur = (rlim_t)states[1].size, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    feed_line(&w, states, 1, "lost\n");
    cri_writer_end(&w, &states[2], &states[3], 0, 0);
    assert_int_equal(states[3].told_bytes, 0);
    for (size_t i = 3; i < 7; i += 2) {
        assert_true(cri_writer_make_room(&w, &states[i], &states[i + 1]));
        cri_writer_end(&w, &states[i + 1], &states[i + 2], 0, 0);
        cri_writer_cut(&w, &states[i + 2]);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(states[4].size, CRI_HEADER_LEN + strlen(FIRST_LINE)); /* it stays at first */
    assert_int_equal(states[5].told_bytes, 25);
    cri_writer_release(&w);
    fd = openat(dir_fd, "main.0.0.log", O_RDONLY | O_CLOEXEC);
    n = read(fd, text, sizeof(text) - 1);
    assert_int_equal(n, states[7].size);
    assert_string_equal(text + CRI_HEADER_LEN,
                        "[muster: 126 bytes of this log could not be written here]\n");
    close(fd);
    assert_int_equal(close(dir_fd), 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(lines_are_joined_and_stamped),
        T(tail_counts_lines),
        T(tail_works_across_blocks),
        T(since_and_limit_cut),
        T(what_is_not_a_log_is_skipped),
        T(a_line_without_end_gets_one),
        T(both_streams_are_there),
        T(any_bytes_pass),
        T(a_line_of_a_megabyte_stays_one),
        T(following_sees_lines_as_they_come),
        T(following_ends_with_a_killed_group),
        T(following_does_not_end_with_the_start),
        T(a_removed_pod_is_read_to_its_end),
        T(a_bad_or_unknown_name_is_refused),
        T(rotated_files_are_read_as_one),
        T(a_full_disk_costs_only_the_log),
        T(lost_lines_are_told_where_they_are_missing),
        T(a_mark_needs_no_room),
    };
    int ret;

    if (fixture_main(argc, argv, &ret))
        return ret;
    return cmocka_run_group_tests_name("podlog", tests, NULL, NULL);
}
