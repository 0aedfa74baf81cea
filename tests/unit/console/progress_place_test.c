/*
 * progress_place_test.c - of several machines the one with a job's first replica writes the job's
 * progress, and takes its last word also when the pod is gone. What is written is in
 * progress_test.c; a whole daemon's is in tests/e2e.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "console/progress.h"
#include "script_transport.h"

#define TURNS_LIMIT 2000

struct fixture {
    struct loop *loop;
    struct script_transport api;
    struct progress *progress;
    const char *here; /* the UID of the pod that is on this machine */
    bool known;
};

static enum progress_place place_of(void *arg, const char *ns, const char *pod, const char *uid)
{
    const struct fixture *f = arg;

    assert_string_equal(ns, "ns");
    assert_string_equal(pod, "first");
    if (!f->known)
        return PROGRESS_UNKNOWN;
    return strcmp(uid, f->here) == 0 ? PROGRESS_HERE : PROGRESS_ELSEWHERE;
}

static struct script_call *next_call(struct fixture *f)
{
    for (int i = 0; i < TURNS_LIMIT && !f->api.calls; i++)
        loop_run_once(f->loop);
    assert_non_null(f->api.calls);
    return f->api.calls;
}

static void expect_call(struct fixture *f, const char *method, const char *path)
{
    const struct script_call *c = next_call(f);

    assert_string_equal(c->method, method);
    if (!strstr(c->path, path))
        fail_msg("%s instead of %s", c->path, path);
}

static struct api_stream *find_stream(struct fixture *f, const char *path)
{
    for (struct api_stream *s = f->api.streams; s; s = s->next)
        if (strstr(s->path, path))
            return s;
    return NULL;
}

/* A job whose first replica is the pod with that UID. */
static const char *job(const char *name, const char *phase, const char *pod_uid)
{
    static char text[1024];
    static unsigned revision = 1; /* events must be newer than what was said before */

    (void)snprintf(text, sizeof(text),
                   "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":"
                   "\"PyTorchTrainingJob\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
                   "\"uid\":\"uid-of-%s\",\"resourceVersion\":\"%u\"},\"status\":{\"phase\":\"%s\","
                   "\"tasks\":[{\"replicas\":[{\"name\":\"first\",\"uid\":\"%s\"}]}]}}",
                   name, name, ++revision, phase, pod_uid);
    return text;
}

static void send_event(struct fixture *f, const char *object)
{
    struct api_stream *watch = NULL;
    char text[2048];
    int len = snprintf(text, sizeof(text), "{\"type\":\"MODIFIED\",\"object\":%s}\n", object);

    for (int i = 0; i < TURNS_LIMIT && !watch; i++) {
        watch = find_stream(f, "pytorchtrainingjobs?watch");
        if (!watch)
            loop_run_once(f->loop);
    }
    assert_non_null(watch);
    watch->handler.on_data(watch->handler.arg, text, (size_t)len);
}

/* The end of a log that is asked for. */
static void say(struct fixture *f, const char *text)
{
    struct api_stream *s = find_stream(f, "/pods/first/log");
    struct api_stream_handler h;

    assert_non_null(s);
    h = s->handler;
    h.on_data(h.arg, text, strlen(text));
    script_unlink(&f->api, s);
    h.on_end(h.arg, &(struct api_reply){.status = 200, .body = ""});
}

static bool is_log_asked(struct fixture *f)
{
    return find_stream(f, "/pods/first/log");
}

/* Both kinds are listed: no MPIJobs, and these jobs that run. */
static void answer_lists(struct fixture *f, const char *first, const char *second)
{
    char text[4096], items[3072];

    (void)snprintf(items, sizeof(items), "%s", job(first, "Running", first));
    if (second)
        (void)snprintf(items + strlen(items), sizeof(items) - strlen(items), ",%s",
                       job(second, "Running", second));
    for (int i = 0; i < 2; i++) {
        const bool ours = strstr(next_call(f)->path, "pytorchtrainingjobs");

        (void)snprintf(text, sizeof(text),
                       "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}",
                       ours ? items : "");
        script_answer(&f->api, 200, text);
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    auto_err err = ERR_INIT;

    *f = (struct fixture){.here = "home", .known = true};
    f->loop = loop_new(&err);
    assert_non_null(f->loop);
    script_transport_init(&f->api);
    f->progress = progress_new(&(struct progress_options){.loop = f->loop,
                                                          .transport = &f->api.transport,
                                                          .place_of = place_of,
                                                          .arg = f,
                                                          .look_ms = 2});
    assert_non_null(f->progress);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    progress_free(f->progress);
    transport_free(&f->api.transport);
    loop_free(f->loop);
    return 0;
}

static void expect_write(struct fixture *f, const char *what)
{
    expect_call(f, "PATCH", "/pytorchtrainingjobs/home/status");
    if (!strstr(f->api.calls->body, what))
        fail_msg("%s without %s", f->api.calls->body, what);
    script_answer(&f->api, 200, job("home", "Running", f->here));
}

static void look_and_write(struct fixture *f)
{
    expect_call(f, "GET", "/pytorchtrainingjobs/home");
    script_answer(&f->api, 200, job("home", "Running", f->here));
    say(f, "step 5/20 loss 0.5\n");
    expect_write(f, "\"fraction\":0.25");
}

/* Were it looked at, it would be first: it is first in the list. */
static void only_the_machine_of_the_first_replica_looks(void **state)
{
    struct fixture *f = *state;

    answer_lists(f, "away", "home");
    look_and_write(f);
    expect_call(f, "GET", "/pytorchtrainingjobs/home");
}

static void a_job_that_moves_is_left_and_found_again(void **state)
{
    struct fixture *f = *state;

    answer_lists(f, "home", NULL);
    look_and_write(f);
    expect_call(f, "GET", "/pytorchtrainingjobs/home");
    script_answer(&f->api, 200, job("home", "Running", "next-attempt-elsewhere"));
    assert_false(is_log_asked(f));
    send_event(f, job("home", "Running", "next-attempt-elsewhere"));
    assert_null(f->api.calls);
    f->here = "third-attempt";
    send_event(f, job("home", "Running", "third-attempt"));
    look_and_write(f);
}

static void nothing_is_written_before_the_pods_are_known(void **state)
{
    struct fixture *f = *state;

    f->known = false;
    answer_lists(f, "home", NULL);
    for (int i = 0; i < 2; i++) {
        expect_call(f, "GET", "/pytorchtrainingjobs/home");
        script_answer(&f->api, 200, job("home", "Running", "home"));
        assert_false(is_log_asked(f));
    }
    f->known = true;
    look_and_write(f);
}

static void the_last_word_is_taken_when_the_pod_is_gone(void **state)
{
    struct fixture *f = *state;

    answer_lists(f, "home", NULL);
    look_and_write(f);
    expect_call(f, "GET", "/pytorchtrainingjobs/home");
    script_answer(&f->api, 200, job("home", "Running", "home"));
    say(f, "");
    f->here = "nothing";
    send_event(f, job("home", "Succeeded", "home"));
    expect_call(f, "GET", "/pytorchtrainingjobs/home");
    script_answer(&f->api, 200, job("home", "Succeeded", "home"));
    say(f, "step 19/20\n");
    expect_write(f, "\"fraction\":1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_machine_of_the_first_replica_looks, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_moves_is_left_and_found_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_written_before_the_pods_are_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_last_word_is_taken_when_the_pod_is_gone, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
