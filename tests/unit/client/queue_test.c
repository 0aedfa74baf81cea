/* queue_test.c - the promises of client/queue.h, with a clock stepped by hand. */
#include "client/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake_clock.h"

struct fixture {
    struct fake_clock clock;
    struct queue *queue;
    char seen[64][16]; /* keys in the order their work began */
    int64_t seen_ms[64];
    unsigned seen_len;
    bool finish_at_once;
    enum queue_result result;
};

static void work(void *arg, const char *key)
{
    struct fixture *f = arg;

    assert_true(f->seen_len < 64);
    (void)snprintf(f->seen[f->seen_len], sizeof(f->seen[0]), "%s", key);
    f->seen_ms[f->seen_len++] = f->clock.now_ms;
    if (f->finish_at_once)
        queue_done(f->queue, key, f->result);
}

static void set_up(struct fixture *f, unsigned max_in_work)
{
    *f = (struct fixture){.finish_at_once = true, .result = QUEUE_OK};
    fake_clock_init(&f->clock);
    f->queue = queue_new(&f->clock.clock, max_in_work, work, f);
    assert_non_null(f->queue);
}

static void tear_down(struct fixture *f)
{
    queue_free(f->queue);
    assert_null(f->clock.timers);
}

static void key_added_twice_is_worked_on_once(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 4);
    queue_add(f.queue, "a");
    queue_add(f.queue, "b");
    queue_add(f.queue, "a");
    assert_int_equal(f.seen_len, 0); /* never from inside queue_add */
    assert_int_equal(queue_len(f.queue), 2);
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 2);
    assert_string_equal(f.seen[0], "a");
    assert_string_equal(f.seen[1], "b");
    assert_int_equal(queue_len(f.queue), 0);
    tear_down(&f);
}

static void key_added_in_work_comes_again_afterwards(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 4);
    f.finish_at_once = false;
    queue_add(f.queue, "a");
    fake_clock_settle(&f.clock);
    queue_add(f.queue, "a");
    queue_add(f.queue, "a");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 1); /* in work at most once */
    queue_done(f.queue, "a", QUEUE_OK);
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 2);
    queue_done(f.queue, "a", QUEUE_OK);
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 2);
    assert_int_equal(queue_len(f.queue), 0);
    tear_down(&f);
}

static void no_more_than_the_limit_are_in_work(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 2);
    f.finish_at_once = false;
    queue_add(f.queue, "a");
    queue_add(f.queue, "b");
    queue_add(f.queue, "c");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 2);
    queue_done(f.queue, "b", QUEUE_OK);
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 3);
    assert_string_equal(f.seen[2], "c");
    tear_down(&f);
}

static void backoff_doubles_up_to_a_minute_and_success_resets_it(void **state)
{
    struct fixture f;
    int64_t gap = 5;

    (void)state;
    set_up(&f, 1);
    f.result = QUEUE_RETRY;
    queue_add(f.queue, "a");
    fake_clock_advance(&f.clock, 10 * 60 * 1000);
    assert_true(f.seen_len > 20);
    for (unsigned i = 1; i < f.seen_len; i++) {
        assert_int_equal(f.seen_ms[i] - f.seen_ms[i - 1], gap);
        gap = min_i64(gap * 2, 60000);
    }
    assert_int_equal(gap, 60000);

    f.result = QUEUE_OK;
    f.seen_len = 0;
    fake_clock_advance(&f.clock, 60000);
    assert_int_equal(f.seen_len, 1);
    assert_int_equal(queue_len(f.queue), 0);
    f.result = QUEUE_RETRY;
    f.seen_len = 0;
    queue_add(f.queue, "a");
    fake_clock_advance(&f.clock, 5);
    assert_int_equal(f.seen_len, 2);
    assert_int_equal(f.seen_ms[1] - f.seen_ms[0], 5);
    tear_down(&f);
}

static void news_during_failures_do_not_lengthen_the_wait(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 4);
    f.finish_at_once = false;
    queue_add(f.queue, "a");
    for (unsigned i = 0; i < 40; i++) {
        fake_clock_settle(&f.clock);
        queue_add(f.queue, "a");
        queue_done(f.queue, "a", QUEUE_RETRY);
    }
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 41);
    queue_done(f.queue, "a", QUEUE_RETRY);
    fake_clock_advance(&f.clock, 5);
    assert_int_equal(f.seen_len, 42);
    tear_down(&f);
}

static void backoff_is_each_keys_own(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 4);
    f.result = QUEUE_RETRY;
    queue_add(f.queue, "bad");
    fake_clock_advance(&f.clock, 1000);
    f.result = QUEUE_OK;
    f.seen_len = 0;
    queue_add(f.queue, "good");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 1);
    assert_string_equal(f.seen[0], "good");
    tear_down(&f);
}

static void earliest_of_several_delays_counts(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 1);
    queue_add_after(f.queue, "a", 500);
    queue_add_after(f.queue, "a", 100);
    queue_add_after(f.queue, "a", 900);
    fake_clock_advance(&f.clock, 99);
    assert_int_equal(f.seen_len, 0);
    fake_clock_advance(&f.clock, 1);
    assert_int_equal(f.seen_len, 1);
    fake_clock_advance(&f.clock, 10000);
    assert_int_equal(f.seen_len, 1);
    tear_down(&f);
}

static void added_now_is_earlier_than_any_delay(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 1);
    queue_add_after(f.queue, "a", 500);
    queue_add(f.queue, "a");
    fake_clock_settle(&f.clock);
    assert_int_equal(f.seen_len, 1);
    fake_clock_advance(&f.clock, 10000);
    assert_int_equal(f.seen_len, 1);
    tear_down(&f);
}

static void delay_asked_for_in_work_survives_done(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 1);
    f.finish_at_once = false;
    queue_add(f.queue, "a");
    fake_clock_settle(&f.clock);
    queue_add_after(f.queue, "a", 300);
    queue_done(f.queue, "a", QUEUE_OK);
    fake_clock_advance(&f.clock, 299);
    assert_int_equal(f.seen_len, 1);
    fake_clock_advance(&f.clock, 1);
    assert_int_equal(f.seen_len, 2);
    tear_down(&f);
}

static void readd_itself(void *arg, const char *key)
{
    struct fixture *f = arg;

    f->seen_len++;
    queue_add(f->queue, key);
    queue_done(f->queue, key, QUEUE_OK);
}

static void key_that_adds_itself_lets_a_turn_pass(void **state)
{
    struct fixture f = {0};

    (void)state;
    fake_clock_init(&f.clock);
    f.queue = queue_new(&f.clock.clock, 4, readd_itself, &f);
    queue_add(f.queue, "a");
    assert_true(fake_clock_turn(&f.clock));
    assert_int_equal(f.seen_len, 1);
    assert_true(fake_clock_turn(&f.clock));
    assert_int_equal(f.seen_len, 2);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_added_twice_is_worked_on_once),
        cmocka_unit_test(key_added_in_work_comes_again_afterwards),
        cmocka_unit_test(no_more_than_the_limit_are_in_work),
        cmocka_unit_test(backoff_doubles_up_to_a_minute_and_success_resets_it),
        cmocka_unit_test(news_during_failures_do_not_lengthen_the_wait),
        cmocka_unit_test(backoff_is_each_keys_own),
        cmocka_unit_test(earliest_of_several_delays_counts),
        cmocka_unit_test(added_now_is_earlier_than_any_delay),
        cmocka_unit_test(delay_asked_for_in_work_survives_done),
        cmocka_unit_test(key_that_adds_itself_lets_a_turn_pass),
    };

    return cmocka_run_group_tests_name("client/queue", tests, NULL, NULL);
}
