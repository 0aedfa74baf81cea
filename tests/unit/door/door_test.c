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

/* Here every answer is there at once. */
struct answer {
    struct stream *stream;
    struct node_session *session;
    char *samples;
    bool found;
    char text[256]; /* of the error; "" without one */
};

static void note(struct answer *a, const struct err *err)
{
    (void)snprintf(a->text, sizeof(a->text), "%s", err ? err->text : "");
}

static void on_log(void *arg, struct stream *stream, const struct err *err)
{
    struct answer *a = arg;

    assert_int_equal(stream == NULL, err != NULL);
    a->stream = stream;
    note(a, err);
}

static void on_session(void *arg, struct node_session *session, const struct err *err)
{
    struct answer *a = arg;

    assert_int_equal(session == NULL, err != NULL);
    a->session = session;
    note(a, err);
}

static void on_samples(void *arg, const char *samples, bool found, const struct err *err)
{
    struct answer *a = arg;

    assert_null(err);
    a->samples = strdup(samples);
    a->found = found;
}

static struct answer open_door_log(struct node *n, const struct node_pod *pod,
                                   const struct node_log_options *o)
{
    struct answer a = {0};

    n->ops->open_log(n, pod, "main", o, on_log, &a);
    return a;
}

static struct answer exec(struct node *n, const struct node_pod *pod, const struct node_command *c)
{
    struct answer a = {0};

    n->ops->exec(n, pod, c, NULL, on_session, &a);
    return a;
}

static struct answer attach(struct node *n, const struct node_pod *pod,
                            const struct node_command *c)
{
    struct answer a = {0};

    n->ops->attach(n, pod, c, NULL, on_session, &a);
    return a;
}

static void assert_says(struct fixture *f, struct node *n, const struct node_pod *pod,
                        const char *expected)
{
    struct answer a = open_door_log(n, pod, &log_all);
    char *text;

    assert_non_null(a.stream);
    text = log_text(f, a.stream);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_no_log(struct node *n, const struct node_pod *pod)
{
    assert_null(open_door_log(n, pod, &log_all).stream);
}

static void add_one(const char *folder, const char *uid, const char *suffix, size_t column,
                    int64_t step, float value)
{
    struct usage_file file;
    struct usage_sample sample;
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/%s/" POD_FILE_SAMPLES "%s", folder, uid, suffix);
    usage_sample_clear(&sample, step * USAGE_STEP_MS);
    sample.v[column] = value;
    assert_int_equal(usage_file_open(&file, path), 0);
    assert_int_equal(usage_file_add(&file, &sample, USAGE_STEP_MS, NULL, 0), 0);
    usage_file_close(&file);
}

static void add_sample(const char *folder, const char *uid)
{
    add_one(folder, uid, "", USAGE_CPU, 1000, 2);
}

static bool has_samples(struct node *n, const struct node_pod *pod)
{
    struct node_samples_query q = {0};
    struct answer a = {0};

    n->ops->samples(n, pod, &q, on_samples, &a);
    assert_int_equal(strstr(a.samples, "\"time\":[]") == NULL, a.found);
    assert_non_null(strstr(a.samples, "\"columns\":{\"cpu\""));
    free(a.samples);
    return a.found;
}

static void on_dialled(void *arg, int fd, const char *token)
{
    (void)token;
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
    struct node_command command = {
        .container = "main", .argv = argv, .wanted = {[NODE_STDOUT] = true}};
    struct node_command watch = {.container = "main", .wanted = {[NODE_STDOUT] = true}};
    struct node *n = door_new(f->loop, f->pods, "here", NULL);
    struct answer a;
    struct usage_latest latest;

    assert_non_null(n);
    start_shell(f, "uid-1", "echo one; exec sleep 1000");
    wait_running(f, "uid-1");
    add_sample(f->pods, "uid-1");
    for (size_t i = 0; i < ELEMS(wrong); i++) {
        assert_no_log(n, &wrong[i]);
        assert_null(exec(n, &wrong[i], &command).session);
        assert_null(attach(n, &wrong[i], &watch).session);
        assert_false(has_samples(n, &wrong[i]));
        assert_int_equal(n->ops->latest(n, &wrong[i], &latest), -ENOENT);
        assert_int_equal(dial(f, n, &wrong[i]), -ENOENT);
    }
    a = exec(n, &right, &command);
    assert_non_null(a.session);
    a.session->ops->free(a.session);
    a = attach(n, &right, &watch);
    assert_non_null(a.session);
    a.session->ops->free(a.session);
    assert_true(has_samples(n, &right));
    assert_int_equal(n->ops->latest(n, &right, &latest), 0);
    assert_true(latest.sample.v[USAGE_CPU] == 2);
    assert_int_equal(dial(f, n, &right), -ECONNREFUSED);
    watch.wanted[NODE_STDIN] = true;
    a = attach(n, &right, &watch);
    assert_null(a.session);
    assert_non_null(strstr(a.text, "has no standard input to attach to"));
    door_free(n);
}

static void test_each_of_several_gpus(void **state)
{
    struct fixture *f = *state;
    struct node_samples_query q = {0};
    struct node *n = door_new(f->loop, f->pods, "here", NULL);
    struct answer a = {0};

    assert_non_null(n);
    start_shell(f, "uid-1", "exec sleep 1000");
    wait_running(f, "uid-1");
    add_one(f->pods, "uid-1", "", USAGE_GPU, 1000, 1.5f);
    add_one(f->pods, "uid-1", "", USAGE_GPU, 1001, 1.25f);
    add_one(f->pods, "uid-1", ".gpu3", USAGE_GPU, 1000, 1);
    add_one(f->pods, "uid-1", ".gpu12", USAGE_GPU, 1000, 0.5f);
    add_one(f->pods, "uid-1", ".gpu12", USAGE_GPU, 1001, 0.25f);
    n->ops->samples(n, &right, &q, on_samples, &a);
    assert_non_null(strstr(a.samples, "\"gpu\":{\"unit\":\"gpus\",\"values\":[1.5,1.25]}"));
    assert_non_null(strstr(a.samples, "\"gpu.3\":{\"unit\":\"gpus\",\"values\":[1,null]}"));
    assert_non_null(strstr(a.samples, "\"gpu.12\":{\"unit\":\"gpus\",\"values\":[0.5,0.25]}"));
    free(a.samples);
    door_free(n);
}

static void test_a_pod_that_is_gone(void **state)
{
    struct fixture *f = *state;
    static const struct node_pod next = {"default", "pod", "uid-next"};
    struct node_log_options seventh = log_all, previous = log_follow;
    struct node *n = door_new(f->loop, f->pods, "here", NULL);
    struct answer a;
    char *text;

    assert_non_null(n);
    (void)run_shell(f, "uid-1", "echo one");
    add_sample(f->pods, "uid-1");
    assert_says(f, n, &right, "one\n");
    assert_int_equal(f->rt->ops->remove(f->rt, "uid-1", NULL), 0);
    assert_says(f, n, &right, "one\n");
    assert_true(has_samples(n, &right));
    for (size_t i = 0; i < ELEMS(wrong); i++) {
        assert_no_log(n, &wrong[i]);
        assert_false(has_samples(n, &wrong[i]));
    }
    previous.previous = true; /* of the pod before it */
    a = open_door_log(n, &next, &previous);
    assert_non_null(a.stream);
    text = log_text(f, a.stream);
    assert_string_equal(text, "one\n");
    free(text);
    assert_null(open_door_log(n, &right, &previous).stream);
    seventh.attempt = 7;
    a = open_door_log(n, &next, &seventh);
    assert_null(a.stream);
    assert_string_equal(a.text, "attempt 7 of pod \"pod\" left no log");
    door_free(n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_pod_that_runs, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_each_of_several_gpus, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_pod_that_is_gone, fixture_setup, fixture_teardown),
    };
    int rc;

    if (fixture_main(argc, argv, &rc))
        return rc;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
