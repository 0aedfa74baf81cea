/* events_test.c - what is said once, counted up, said anew and forgotten. */
#include "control/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/fake_api.h"

struct fixture {
    struct fake_clock clock;
    struct fake_api api;
    struct event_recorder *recorder;
    struct arena arena;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_clock_init(&f->clock);
    fake_api_init(&f->api, &f->clock);
    arena_init(&f->arena, FAKE_LIMIT);
    f->recorder = event_recorder_new(&f->api.transport, &f->clock.clock, "muster");
    assert_non_null(f->recorder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    event_recorder_free(f->recorder);
    transport_free(&f->api.transport);
    assert_null(f->clock.timers);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static void say(struct fixture *f, const char *name, const char *message)
{
    const char *text = arena_printf(
        &f->arena,
        "{\"metadata\":{\"namespace\":\"d\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"%s\","
        "\"namespace\":\"d\",\"uid\":\"u-%s\"},\"type\":\"Normal\",\"reason\":\"R\","
        "\"message\":\"%s\"}",
        name, name, message);

    event_record(f->recorder, json_parse(&f->arena, text, strlen(text), NULL));
}

/* The only event there is. */
static const struct json *the_event(struct fixture *f)
{
    const char *text;

    assert_int_equal(fake_api_count(&f->api, &kind_event), 1);
    text = map_first(&f->api.objects)->value;
    return json_parse(&f->arena, text, strlen(text), NULL);
}

static void first_time_makes_an_event(void **state)
{
    struct fixture *f = *state;
    const struct json *e;
    char now[TIME_TEXT_SIZE];

    say(f, "a", "hello");
    assert_int_equal(f->api.writes, 0);
    fake_clock_settle(&f->clock);
    e = the_event(f);
    time_format(f->clock.now_ms, now);
    assert_memory_equal(object_name(e), "a.", 2);
    assert_string_equal(object_namespace(e), "d");
    assert_string_equal(json_get_string(e, "message", ""), "hello");
    assert_string_equal(json_get_string(e, "firstTimestamp", ""), now);
    assert_string_equal(json_get_string(e, "lastTimestamp", ""), now);
    assert_int_equal(json_get_int(e, "count", 0), 1);
    assert_string_equal(json_string(json_at(e, "source", "component"), ""), "muster");
}

static void same_thing_again_is_counted(void **state)
{
    struct fixture *f = *state;
    char now[TIME_TEXT_SIZE];

    say(f, "a", "hello");
    fake_clock_advance(&f->clock, 59 * 60 * 1000);
    say(f, "a", "hello");
    fake_clock_settle(&f->clock);
    time_format(f->clock.now_ms, now);
    assert_int_equal(json_get_int(the_event(f), "count", 0), 2);
    assert_string_equal(json_get_string(the_event(f), "lastTimestamp", ""), now);
}

static void said_while_it_is_written_is_counted_too(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 10;
    for (int i = 0; i < 5; i++)
        say(f, "a", "hello");
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(json_get_int(the_event(f), "count", 0), 5);
    assert_int_equal(f->api.calls_made, 2); /* one to make it, one to count up */
}

static void another_message_or_object_is_another_event(void **state)
{
    struct fixture *f = *state;

    say(f, "a", "hello");
    say(f, "a", "goodbye");
    say(f, "b", "hello");
    fake_clock_settle(&f->clock);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 3);
}

static void after_an_hour_it_is_said_anew(void **state)
{
    struct fixture *f = *state;

    say(f, "a", "hello");
    fake_clock_advance(&f->clock, 60 * 60 * 1000);
    say(f, "a", "hello");
    fake_clock_settle(&f->clock);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 2);
}

static void event_that_was_deleted_is_made_again(void **state)
{
    struct fixture *f = *state;
    char *path;

    say(f, "a", "hello");
    fake_clock_settle(&f->clock);
    path = arena_printf(&f->arena, "/api/v1/namespaces/d/events/%s", object_name(the_event(f)));
    assert_int_equal(fake_api_do(&f->api, "DELETE", path, NULL), 200);
    say(f, "a", "hello");
    fake_clock_settle(&f->clock);
    assert_int_equal(json_get_int(the_event(f), "count", 0), 2);
}

static int refuse_all(void *arg, const char *method, const char *path)
{
    (void)arg;
    (void)method;
    (void)path;
    return 503;
}

static void refused_events_are_dropped_without_retry(void **state)
{
    struct fixture *f = *state;

    f->api.refuse = refuse_all;
    say(f, "a", "hello");
    fake_clock_advance(&f->clock, 60 * 1000);
    assert_int_equal(f->api.calls_made, 1);
    f->api.refuse = NULL;
    say(f, "a", "hello");
    fake_clock_settle(&f->clock);
    assert_int_equal(json_get_int(the_event(f), "count", 0), 1);
}

static void memory_of_what_was_said_is_bounded(void **state)
{
    struct fixture *f = *state;
    char message[32];

    for (int i = 0; i < 17000; i++) {
        (void)snprintf(message, sizeof(message), "m%d", i);
        say(f, "a", message);
        fake_clock_settle(&f->clock);
    }
    assert_int_equal(fake_api_count(&f->api, &kind_event), 17000);
    say(f, "a", "m16999"); /* still known */
    say(f, "a", "m0");     /* forgotten */
    fake_clock_settle(&f->clock);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 17001);
}

/* A thousand jobs at once say six thousand things; what is done for them goes first. */
static void many_wait_for_a_few(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 10;
    for (int i = 0; i < 200; i++)
        say(f, arena_printf(&f->arena, "p%d", i), "m");
    assert_in_range(f->api.in_flight, 1, 16);
    say(f, "p199", "m"); /* waits still: one write tells both */
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 200);
    assert_int_equal(f->api.calls_made, 200);
    assert_in_range(f->api.most_in_flight, 1, 16);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void held_back_they_come_late_and_one_at_a_time(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 10;
    event_recorder_hold(f->recorder, true);
    for (int i = 0; i < 40; i++)
        say(f, arena_printf(&f->arena, "p%d", i), "m");
    fake_clock_advance(&f->clock, 4000);
    event_recorder_hold(f->recorder, true);
    assert_int_equal(f->api.in_flight, 0);
    fake_clock_advance(&f->clock, 1000);
    event_recorder_hold(f->recorder, true);
    assert_int_equal(f->api.in_flight, 1);
    fake_clock_advance(&f->clock, 25);
    assert_int_equal(f->api.in_flight, 1);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 2);
    event_recorder_hold(f->recorder, false);
    assert_int_equal(f->api.in_flight, 16);
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_time_makes_an_event),
        TEST(many_wait_for_a_few),
        TEST(same_thing_again_is_counted),
        TEST(said_while_it_is_written_is_counted_too),
        TEST(another_message_or_object_is_another_event),
        TEST(after_an_hour_it_is_said_anew),
        TEST(event_that_was_deleted_is_made_again),
        TEST(refused_events_are_dropped_without_retry),
        TEST(memory_of_what_was_said_is_bounded),
        TEST(held_back_they_come_late_and_one_at_a_time),
    };

    return cmocka_run_group_tests_name("control/events", tests, NULL, NULL);
}
