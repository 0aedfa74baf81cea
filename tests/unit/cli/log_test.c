/* log_test.c - a log over several connections, and what is said about a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/jobphase.h"
#include "cli/logcursor.h"

#define T1 "2026-11-15T08:00:00.000000001Z"
#define T2 "2026-11-15T08:00:00.000000002Z"
#define T3 "2026-11-15T08:00:01.5Z"

static struct buf seen = BUF_INIT(1u << 20);

static void take(void *arg, const char *stamp, const char *line, size_t len)
{
    (void)arg, (void)stamp;
    buf_add(&seen, line, len);
    buf_addc(&seen, '|');
}

static void feed(struct logcursor *c, const char *text)
{
    logcursor_feed(c, text, strlen(text), take, NULL);
}

static int clear(void **state)
{
    (void)state;
    buf_clear(&seen);
    return 0;
}

static int free_seen(void **state)
{
    (void)state;
    buf_release(&seen);
    return 0;
}

static void lines_may_be_cut_anywhere(void **state)
{
    static const char text[] = T1 " one\n" T2 " two words\n" T3 " \n" T3 " three\n";

    (void)state;
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        struct logcursor c;

        buf_clear(&seen);
        logcursor_init(&c);
        logcursor_reopen(&c);
        logcursor_feed(&c, text, cut, take, NULL);
        logcursor_feed(&c, text + cut, sizeof(text) - 1 - cut, take, NULL);
        assert_string_equal(seen.data, "one|two words||three|");
        logcursor_release(&c);
    }
}

/* The server's answer after a break begins with all lines of the last stamp's millisecond, or
 * earlier ones. */
static void nothing_is_doubled_after_a_break(void **state)
{
    struct logcursor c;

    (void)state;
    logcursor_init(&c);
    logcursor_reopen(&c);
    feed(&c, T1 " a\n" T2 " b\n" T2 " c\n" T2 " half of a li");
    logcursor_reopen(&c);
    feed(&c, T1 " a\n" T2 " b\n" T2 " c\n" T2 " half of a line\n" T3 " d\n");
    assert_string_equal(seen.data, "a|b|c|half of a line|d|");
    logcursor_release(&c);
}

static void a_break_before_anything_new(void **state)
{
    struct logcursor c;

    (void)state;
    logcursor_init(&c);
    logcursor_reopen(&c);
    logcursor_reopen(&c);
    feed(&c, T1 " a\n");
    logcursor_reopen(&c);
    feed(&c, T1 " a\n");
    logcursor_reopen(&c);
    feed(&c, T1 " a\n" T1 " a\n");
    assert_string_equal(seen.data, "a|a|");
    logcursor_release(&c);
}

static void fractions_of_other_lengths_keep_their_order(void **state)
{
    struct logcursor c;

    (void)state;
    logcursor_init(&c);
    logcursor_reopen(&c);
    feed(&c, "2026-11-15T08:00:00.12Z b\n");
    logcursor_reopen(&c);
    feed(&c, "2026-11-15T08:00:00Z x\n2026-11-15T08:00:00.1Z a\n2026-11-15T08:00:00.12Z "
             "b\n2026-11-15T08:00:00.2Z c\n");
    assert_string_equal(seen.data, "b|c|");
    logcursor_release(&c);
}

static void the_last_line_needs_no_newline(void **state)
{
    struct logcursor c;

    (void)state;
    logcursor_init(&c);
    logcursor_reopen(&c);
    feed(&c, T1 " a\n" T2 " end");
    logcursor_finish(&c, take, NULL);
    assert_string_equal(seen.data, "a|end|");
    logcursor_release(&c);
}

/* --- what is said about a job --- */

static struct arena arena = ARENA_INIT(1u << 20);

static const struct json *job(const char *status)
{
    const char *text = arena_printf(
        &arena,
        "{\"spec\":{\"runPolicy\":{\"backoffLimit\":3},\"replicaSpecs\":"
        "[{\"type\":\"ps\"},{\"type\":\"worker\",\"replicas\":3}]},\"status\":%s}",
        status);

    return json_parse(&arena, text, strlen(text), NULL);
}

static void only_news_is_said(void **state)
{
    static const struct {
        const char *status, *said;
    } steps[] = {
        {"{}", NULL},
        {"{\"phase\":\"Pending\",\"message\":\"needs 8 CPU\"}", "waiting: needs 8 CPU"},
        {"{\"phase\":\"Pending\",\"message\":\"needs 8 CPU\"}", NULL},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":2}}", "running 2/4"},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":4}}", "running 4/4"},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":4}}", NULL},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":3},\"backoffCount\":1,\"message\":"
         "\"worker-1 was killed\"}",
         "restart 1 of 3: worker-1 was killed"},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":4},\"backoffCount\":1}", "running 4/4"},
        {"{\"phase\":\"Running\",\"aggregate\":{\"running\":2},\"backoffCount\":1}", NULL},
        {"{\"phase\":\"Succeeded\",\"backoffCount\":1}", NULL},
    };
    struct jobphase last = {0};

    (void)state;
    for (size_t i = 0; i < ELEMS(steps); i++) {
        const char *news = jobphase_news(&last, &arena, job(steps[i].status));

        if (steps[i].said)
            assert_string_equal(news, steps[i].said);
        else
            assert_null(news);
    }
    arena_release(&arena);
}

static void a_job_found_running_is_not_a_restart(void **state)
{
    struct jobphase last = {0};

    (void)state;
    assert_string_equal(
        jobphase_news(
            &last, &arena,
            job("{\"phase\":\"Running\",\"aggregate\":{\"running\":4},\"backoffCount\":2}")),
        "running 4/4");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_may_be_cut_anywhere, clear),
        cmocka_unit_test_setup(nothing_is_doubled_after_a_break, clear),
        cmocka_unit_test_setup(a_break_before_anything_new, clear),
        cmocka_unit_test_setup(fractions_of_other_lengths_keep_their_order, clear),
        cmocka_unit_test_setup(the_last_line_needs_no_newline, clear),
        cmocka_unit_test(only_news_is_said),
        cmocka_unit_test(a_job_found_running_is_not_a_restart),
    };

    return cmocka_run_group_tests_name("cli/log", tests, NULL, free_seen);
}
