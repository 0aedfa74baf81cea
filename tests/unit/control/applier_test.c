/* applier_test.c - what control/applier.h makes of plans, and of a world that is not as planned. */
#include "control/applier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/fake_api.h"
#include "core/pod_state.h"

struct fixture {
    struct fake_clock clock;
    struct fake_api api;
    struct event_recorder *events;
    struct applier *applier;
    struct arena arena;
    struct plan plan;
    unsigned done;
    enum apply_outcome outcome;
    char why[256];
    int64_t pods_written;
    char refused[64]; /* part of the path of calls that fail with refusal */
    int refusal;
};

static int refuse(void *arg, const char *method, const char *path)
{
    struct fixture *f = arg;

    (void)method;
    return *f->refused && strstr(path, f->refused) ? f->refusal : 0;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_clock_init(&f->clock);
    fake_api_init(&f->api, &f->clock);
    f->api.refuse = refuse;
    f->api.refuse_arg = f;
    f->events = event_recorder_new(&f->api.transport, &f->clock.clock, "test");
    f->applier = applier_new(&f->api.transport, &f->clock.clock, f->events);
    arena_init(&f->arena, FAKE_LIMIT);
    plan_init(&f->plan, &f->arena);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    arena_release(&f->arena);
    applier_free(f->applier);
    event_recorder_free(f->events);
    transport_free(&f->api.transport);
    assert_null(f->clock.timers);
    free(f);
    return 0;
}

static void on_done(void *arg, const struct apply_result *result)
{
    struct fixture *f = arg;

    f->done++;
    f->outcome = result->outcome;
    assert_true((result->outcome == APPLY_DONE) == (result->err == NULL));
    (void)snprintf(f->why, sizeof(f->why), "%s", result->err ? result->err->text : "");
    for (size_t i = 0; i < result->written_len; i++)
        if (result->written[i].kind == &kind_pod)
            f->pods_written = result->written[i].revision;
}

/* Gives the plan away; its memory goes at once, as a reconcile's does. */
static void apply(struct fixture *f)
{
    f->done = 0;
    assert_int_equal(apply_plan(f->applier, &f->plan, on_done, f), 0);
    assert_int_equal(f->done, 0); /* never from inside */
    arena_release(&f->arena);
    plan_init(&f->plan, &f->arena);
    fake_clock_settle(&f->clock);
}

static struct json *pod(struct fixture *f, const char *name, const char *owner_uid)
{
    const char *text = arena_printf(
        &f->arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\","
        "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"J\",\"name\":\"j\",\"uid\":\"%s\","
        "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
        name, owner_uid);
    struct json *v = json_parse(&f->arena, text, strlen(text), NULL);

    assert_non_null(v);
    return v;
}

static const struct json *stored(struct fixture *f, const char *name)
{
    return fake_api_get(&f->api, &f->arena, &kind_pod, "d", name);
}

static void creates_and_tells_the_revision(void **state)
{
    struct fixture *f = *state;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    plan_create(&f->plan, &kind_pod, pod(f, "b", "o"));
    apply(f);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_int_equal(fake_api_count(&f->api, &kind_pod), 2);
    assert_int_equal(f->pods_written, f->api.revision);
}

static void stages_wait_for_each_other(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 100;
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    plan_create(&f->plan, &kind_pod, pod(f, "b", "o"));
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "c", "o"));
    apply(f);
    assert_int_equal(f->api.calls_made, 2);
    fake_clock_advance(&f->clock, 99);
    assert_int_equal(f->api.calls_made, 2);
    fake_clock_advance(&f->clock, 1);
    assert_int_equal(f->api.calls_made, 3);
    assert_int_equal(f->done, 0);
    fake_clock_advance(&f->clock, 100);
    assert_int_equal(f->done, 1);
}

static void calls_under_way_are_bounded(void **state)
{
    struct fixture *f = *state;
    char name[16];

    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        plan_create(&f->plan, &kind_pod, pod(f, name, "o"));
    }
    f->api.latency_ms = 1;
    apply(f);
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_int_equal(fake_api_count(&f->api, &kind_pod), 200);
    assert_int_equal(f->api.most_in_flight, 64);
}

static void child_that_exists_already_is_done(void **state)
{
    struct fixture *f = *state;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "b", "o"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_int_equal(fake_api_count(&f->api, &kind_pod), 2);
}

static void name_held_by_another_is_looked_at_again(void **state)
{
    struct fixture *f = *state;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "someone-else"));
    apply(f);
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "b", "o"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_AGAIN);
    assert_string_equal(f->why,
                        "create Pod d/a: Pod a already exists and belongs to another object.");
    assert_null(stored(f, "b"));
    assert_true(object_is_controlled_by(stored(f, "a"), "someone-else"));
}

static void lease_is_ours_by_its_labels(void **state)
{
    static const char lease[] = "{\"metadata\":{\"name\":\"l\",\"namespace\":\"s\","
                                "\"labels\":{\"job\":\"%s\"}},\"spec\":{}}";
    struct fixture *f = *state;
    const char *labels[] = {"mine", "mine", "other"};
    const enum apply_outcome wanted[] = {APPLY_DONE, APPLY_DONE, APPLY_AGAIN};

    for (size_t i = 0; i < ELEMS(labels); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), lease, labels[i]);
        plan_create(&f->plan, &kind_lease, json_parse(&f->arena, text, strlen(text), NULL));
        apply(f);
        assert_int_equal(f->outcome, wanted[i]);
    }
}

static void deleting_what_is_gone_or_another_is_done(void **state)
{
    struct fixture *f = *state;
    struct json *old;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    plan_delete(&f->plan, &kind_pod, pod(f, "never-was", "o"), -1);
    old = pod(f, "a", "o");
    json_set_string(&f->arena, json_get_mut(old, "metadata"), "uid", "an-older-one");
    plan_delete(&f->plan, &kind_pod, old, -1);
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_non_null(stored(f, "a"));
    plan_delete(&f->plan, &kind_pod, stored(f, "a"), -1);
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_null(stored(f, "a"));
}

/* One that has changed meanwhile, perhaps ended, stays as it is. */
static void who_is_evicted_is_tracked_before_it_is_deleted(void **state)
{
    struct fixture *f = *state;
    const struct json *seen;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    seen = stored(f, "a");
    fake_api_pod_phase(&f->api, "d", "a", "Succeeded", 0);
    plan_evict(&f->plan, seen);
    plan_evict(&f->plan, pod(f, "never-was", "o"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_false(object_is_deleting(stored(f, "a")));
    assert_null(json_at(stored(f, "a"), "metadata", "finalizers"));
    plan_evict(&f->plan, stored(f, "a"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_true(pod_is_held(stored(f, "a")));
    plan_release(&f->plan, stored(f, "a"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_null(stored(f, "a"));
}

static void status_conflict_drops_the_rest(void **state)
{
    struct fixture *f = *state;
    struct json *seen;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    seen = fake_api_get(&f->api, &f->arena, &kind_pod, "d", "a");
    json_set_string(&f->arena, json_make_object(&f->arena, seen, "status"), "phase", "Failed");
    fake_api_pod_phase(&f->api, "d", "a", "Running", 0); /* someone was faster */
    plan_update_status(&f->plan, &kind_pod, seen);
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "b", "o"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_AGAIN);
    assert_string_equal(json_string(json_at(stored(f, "a"), "status", "phase"), ""), "Running");
    assert_null(stored(f, "b"));
}

static void status_is_written_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct json *seen;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    seen = fake_api_get(&f->api, &f->arena, &kind_pod, "d", "a");
    json_set_string(&f->arena, json_make_object(&f->arena, seen, "status"), "phase", "Failed");
    json_set_string(&f->arena, json_make_object(&f->arena, seen, "spec"), "nodeName", "n");
    plan_update_status(&f->plan, &kind_pod, seen);
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_string_equal(json_string(json_at(stored(f, "a"), "status", "phase"), ""), "Failed");
    assert_null(json_at(stored(f, "a"), "spec", "nodeName"));
}

static void refused_step_fails_the_plan(void **state)
{
    struct fixture *f = *state;

    strcpy(f->refused, "/pods");
    f->refusal = 500;
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    plan_next_stage(&f->plan);
    plan_delete(&f->plan, &kind_service, pod(f, "x", "o"), -1);
    apply(f);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->outcome, APPLY_FAILED);
    assert_non_null(strstr(f->why, "create Pod d/a: "));
    assert_int_equal(f->api.calls_made, 1);
}

static void patch_is_for_that_uid_only(void **state)
{
    struct fixture *f = *state;
    struct json *patch, *target;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    patch = json_new_object(&f->arena);
    json_set_string(&f->arena, json_make_object(&f->arena, patch, "status"), "reason", "Because");
    target = pod(f, "a", "o");
    json_set_string(&f->arena, json_get_mut(target, "metadata"), "uid", "an-older-one");
    plan_patch(&f->plan, &kind_pod, target, patch);
    apply(f);
    assert_int_equal(f->outcome, APPLY_AGAIN);
    patch = json_new_object(&f->arena);
    json_set_string(&f->arena, json_make_object(&f->arena, patch, "status"), "reason", "Because");
    plan_patch(&f->plan, &kind_pod, stored(f, "a"), patch);
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_string_equal(json_string(json_at(stored(f, "a"), "status", "reason"), ""), "Because");
}

static void events_do_not_hold_up_or_fail_a_plan(void **state)
{
    struct fixture *f = *state;

    strcpy(f->refused, "/events");
    f->refusal = 500;
    plan_event(&f->plan, &kind_pod, pod(f, "a", "o"), "Normal", "Why", "because");
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    assert_int_equal(f->outcome, APPLY_DONE);
    assert_non_null(stored(f, "a"));
    assert_int_equal(fake_api_count(&f->api, &kind_event), 0);
}

static void freed_with_a_plan_under_way(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 100;
    plan_create(&f->plan, &kind_pod, pod(f, "a", "o"));
    apply(f);
    applier_free(f->applier);
    f->applier = NULL;
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(f->done, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A read stands for a write where what follows may be done but of what was looked at. */
static void what_has_changed_drops_the_rest(void **state)
{
    struct fixture *f = *state;
    const char *names[] = {"b", "c"};
    struct json *seen;

    plan_create(&f->plan, &kind_pod, pod(f, "a", "u"));
    apply(f);
    for (size_t i = 0; i < ELEMS(names); i++) {
        seen = json_clone(&f->arena, stored(f, "a"));
        if (i == 1)
            fake_api_pod_phase(&f->api, "d", "a", "Running", 0);
        plan_check(&f->plan, &kind_pod, seen);
        plan_next_stage(&f->plan);
        plan_create(&f->plan, &kind_pod, pod(f, names[i], "u"));
        apply(f);
        assert_int_equal(f->done, 1);
        assert_int_equal(f->outcome, i == 0 ? APPLY_DONE : APPLY_AGAIN);
        assert_true((stored(f, names[i]) != NULL) == (i == 0));
    }
}

static void what_is_done_goes_before_what_is_said(void **state)
{
    struct fixture *f = *state;

    f->api.latency_ms = 10;
    for (int i = 0; i < 20; i++)
        plan_event(&f->plan, &kind_pod, pod(f, "a", "u"), "Normal", "R", "word %d", i);
    plan_create(&f->plan, &kind_pod, pod(f, "a", "u"));
    plan_next_stage(&f->plan);
    plan_create(&f->plan, &kind_pod, pod(f, "b", "u"));
    apply(f);
    assert_int_equal(f->api.in_flight, 1); /* a pod */
    fake_clock_advance(&f->clock, 15);
    assert_int_equal(f->done, 0);
    assert_int_equal(f->api.in_flight, 1);
    fake_clock_advance(&f->clock, 10);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->api.in_flight, 16);
    fake_clock_advance(&f->clock, 1000);
    assert_int_equal(fake_api_count(&f->api, &kind_event), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(creates_and_tells_the_revision),
        TEST(stages_wait_for_each_other),
        TEST(calls_under_way_are_bounded),
        TEST(what_is_done_goes_before_what_is_said),
        TEST(child_that_exists_already_is_done),
        TEST(name_held_by_another_is_looked_at_again),
        TEST(lease_is_ours_by_its_labels),
        TEST(deleting_what_is_gone_or_another_is_done),
        TEST(who_is_evicted_is_tracked_before_it_is_deleted),
        TEST(status_conflict_drops_the_rest),
        TEST(status_is_written_and_nothing_else),
        TEST(refused_step_fails_the_plan),
        TEST(patch_is_for_that_uid_only),
        TEST(events_do_not_hold_up_or_fail_a_plan),
        TEST(freed_with_a_plan_under_way),
        TEST(what_has_changed_drops_the_rest),
    };

    return cmocka_run_group_tests_name("control/apply", tests, NULL, NULL);
}
