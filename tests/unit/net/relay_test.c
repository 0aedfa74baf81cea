/* relay_test.c - a body passed on to a reader slower than its source. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/relay.h"

struct source {
    struct relay relay;
    int pauses, resumes, closes, calls;
};

static void pause_source(struct relay *r, bool paused)
{
    struct source *s = container_of(r, struct source, relay);

    s->pauses += paused;
    s->resumes += !paused;
}

static void close_source(struct relay *r)
{
    container_of(r, struct source, relay)->closes++;
}

static void on_ready(void *arg)
{
    ((struct source *)arg)->calls++;
}

static void start(struct source *s)
{
    *s = (struct source){.pauses = 0};
    relay_init(&s->relay, 4, 8, pause_source, close_source);
    s->relay.stream.on_ready = on_ready;
    s->relay.stream.on_ready_arg = s;
}

static ssize_t take(struct source *s, size_t cap)
{
    char bytes[16];

    return s->relay.stream.ops->read(&s->relay.stream, bytes, cap);
}

static void source_waits_for_the_reader(void **state)
{
    struct source s;

    (void)state;
    start(&s);
    assert_int_equal(take(&s, 8), 0);
    assert_int_equal(relay_add(&s.relay, "abc", 3), 0);
    assert_int_equal(s.pauses, 0);
    assert_int_equal(relay_add(&s.relay, "de", 2), 0);
    assert_int_equal(relay_add(&s.relay, "f", 1), 0); /* was on its way */
    assert_int_equal(s.pauses, 1);
    assert_int_equal(s.calls, 3);
    assert_int_equal(take(&s, 2), 2);
    assert_int_equal(s.resumes, 0);
    assert_int_equal(take(&s, 8), 4);
    assert_int_equal(s.resumes, 1);
    relay_end(&s.relay, false);
    assert_int_equal(take(&s, 8), STREAM_END);
    s.relay.stream.ops->close(&s.relay.stream);
    assert_int_equal(s.closes, 1);
    buf_release(&s.relay.held);
}

static void too_much_is_a_broken_end_after_what_was_held(void **state)
{
    struct source s;

    (void)state;
    start(&s);
    assert_int_equal(relay_add(&s.relay, "abcdefg", 7), 0);
    assert_int_equal(relay_add(&s.relay, "hi", 2), -ENOBUFS);
    assert_int_equal(take(&s, 16), 7);
    assert_int_equal(s.resumes, 0); /* there is no source any more */
    assert_int_equal(take(&s, 16), STREAM_BROKEN);
    buf_release(&s.relay.held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_waits_for_the_reader),
        cmocka_unit_test(too_much_is_a_broken_end_after_what_was_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
