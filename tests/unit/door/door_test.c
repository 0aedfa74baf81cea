/* The node's door: what it answers about pods it runs or kept, and that a UID alone opens nothing.
 */
#include "door/door.h"

#include <errno.h>

#include "runtime/pod_fixture.h"
#include "runtime/usage_file.h"

static const struct node_pod right = {"default", "pod", "uid-1"};
/* Each has something of another: the right that was asked for is to the namespace and the name. */
static const struct node_pod wrong[] = {
    {"other", "pod", "uid-1"},   {"default", "other", "uid-1"},
    {"default", "pod", "uid-2"}, {"default", "pod", "../pods/uid-1"},
    {"..", "logs", "default"},   {"default", "..", "default"},
};

static char *log_text(struct fixture *f, struct stream *s)
{
    struct buf text = BUF_INIT(65536);
    size_t len;

    drain_log(f, s, NULL, &text);
    s->ops->close(s);
    buf_adds(&text, "");
    return buf_take(&text, &len);
}

static void assert_says(struct fixture *f, struct node *n, const struct node_pod *pod,
                        const char *expected)
{
    struct stream *s = NULL;
    char *text;

    assert_int_equal(n->ops->open_log(n, pod, "main", &log_all, &s, NULL), 0);
    text = log_text(f, s);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_no_log(struct node *n, const struct node_pod *pod)
{
    struct stream *s = NULL;

    assert_int_not_equal(n->ops->open_log(n, pod, "main", &log_all, &s, NULL), 0);
    assert_null(s);
}

static void add_sample(const char *folder, const char *uid)
{
    struct usage_file file;
    struct usage_sample sample;
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s/" POD_FILE_SAMPLES, folder, uid);
    usage_sample_clear(&sample, 1000 * USAGE_STEP_MS);
    sample.v[USAGE_CPU] = 2;
    assert_int_equal(usage_file_open(&file, path), 0);
    assert_int_equal(usage_file_add(&file, &sample, USAGE_STEP_MS, NULL, 0), 0);
    usage_file_close(&file);
}

static bool has_samples(struct node *n, const struct node_pod *pod)
{
    struct node_samples_query q = {0};
    struct buf b = BUF_INIT(65536);
    bool found = n->ops->samples(n, pod, &q, &b);

    assert_false(b.failed);
    assert_int_equal(strstr(b.data, "\"time\":[]") == NULL, found);
    assert_non_null(strstr(b.data, "\"columns\":{\"cpu\""));
    buf_release(&b);
    return found;
}

static void on_dialled(void *arg, int fd)
{
    *(int *)arg = fd;
}

static int dial(struct fixture *f, struct node *n, const struct node_pod *pod)
{
    int fd = INT_MIN;

    assert_non_null(n->ops->dial(n, pod, 1, on_dialled, &fd));
    while (fd == INT_MIN)
        loop_run_once(f->loop);
    return fd;
}

static void test_a_pod_that_runs(void **state)
{
    struct fixture *f = *state;
    static const char *const argv[] = {"true", NULL};
    struct node_command exec = {
        .container = "main", .argv = argv, .wanted = {[NODE_STDOUT] = true}};
    struct node_command attach = {.container = "main", .wanted = {[NODE_STDOUT] = true}};
    struct node *n = door_new(f->loop, f->pods, NULL, NULL);
    struct node_session *s = NULL;
    struct usage_latest latest;
    auto_err err = ERR_INIT;

    assert_non_null(n);
    start_shell(f, "uid-1", "echo one; exec sleep 1000");
    wait_running(f, "uid-1");
    add_sample(f->pods, "uid-1");
    for (size_t i = 0; i < ELEMS(wrong); i++) {
        assert_no_log(n, &wrong[i]);
        assert_int_not_equal(n->ops->exec(n, &wrong[i], &exec, &s, NULL), 0);
        assert_int_not_equal(n->ops->attach(n, &wrong[i], &attach, &s, NULL), 0);
        assert_false(has_samples(n, &wrong[i]));
        assert_int_equal(n->ops->latest(n, &wrong[i], &latest), -ENOENT);
        assert_int_equal(dial(f, n, &wrong[i]), -ENOENT);
    }
    assert_null(s);
    assert_int_equal(n->ops->exec(n, &right, &exec, &s, NULL), 0);
    s->ops->free(s);
    assert_int_equal(n->ops->attach(n, &right, &attach, &s, NULL), 0);
    s->ops->free(s);
    assert_true(has_samples(n, &right));
    assert_int_equal(n->ops->latest(n, &right, &latest), 0);
    assert_true(latest.sample.v[USAGE_CPU] == 2);
    assert_int_equal(dial(f, n, &right), -ECONNREFUSED);
    attach.wanted[NODE_STDIN] = true;
    assert_int_not_equal(n->ops->attach(n, &right, &attach, &s, &err), 0);
    assert_non_null(strstr(err.text, "has no standard input to attach to"));
    door_free(n);
}

static void test_a_pod_that_is_gone(void **state)
{
    struct fixture *f = *state;
    static const struct node_pod next = {"default", "pod", "uid-next"};
    struct node *n = door_new(f->loop, f->pods, NULL, NULL);
    struct stream *s = NULL;
    auto_err err = ERR_INIT;
    char *text;

    assert_non_null(n);
    (void)run_shell(f, "uid-1", "echo one");
    add_sample(f->pods, "uid-1");
    assert_says(f, n, &right, "one\n");
    assert_true(n->ops->keeps(n, &right));
    assert_int_equal(f->rt->ops->remove(f->rt, "uid-1", NULL), 0);
    assert_says(f, n, &right, "one\n");
    assert_true(n->ops->keeps(n, &right));
    assert_true(has_samples(n, &right));
    for (size_t i = 0; i < ELEMS(wrong); i++) {
        assert_no_log(n, &wrong[i]);
        assert_false(has_samples(n, &wrong[i]));
        assert_false(n->ops->keeps(n, &wrong[i]));
    }
    assert_int_equal(
        n->ops->open_earlier_log(n, &next, NODE_ANY_ATTEMPT, "main", &log_follow, &s, NULL), 0);
    text = log_text(f, s);
    assert_string_equal(text, "one\n");
    free(text);
    assert_int_not_equal(
        n->ops->open_earlier_log(n, &right, NODE_ANY_ATTEMPT, "main", &log_all, &s, NULL), 0);
    assert_int_not_equal(n->ops->open_earlier_log(n, &next, 7, "main", &log_all, &s, &err), 0);
    assert_string_equal(err.text, "attempt 7 of pod \"pod\" left no log");
    door_free(n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_pod_that_runs, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_pod_that_is_gone, fixture_setup, fixture_teardown),
    };
    int rc;

    if (fixture_main(argc, argv, &rc))
        return rc;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
