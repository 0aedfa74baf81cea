/* control_test.c - all controllers together, from a job's creation to its end. */
#include <string.h>

#include "control/world.h"

static void run_all_pods(struct world *w, const char *phase)
{
    for (size_t i = 0; i < fake_api_count(&w->api, &kind_pod); i++)
        world_pod_phase(w, i, phase, 0);
    fake_clock_advance(&w->clock, 1000);
}

static void job_is_placed_runs_and_is_cleaned_away(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 4);
    world_start(w, CONTROL_ALL);
    world_add_job(w, "j", 4, "Never");
    fake_clock_advance(&w->clock, 1000);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_string(json_at(world_pod(w, i), "spec", "nodeName"), ""), "n1");
    run_all_pods(w, "Running");
    assert_string_equal(world_phase(w, "j"), "Running");
    run_all_pods(w, "Succeeded");
    assert_string_equal(world_phase(w, "j"), "Succeeded");
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/j", NULL), 200);
    fake_clock_advance(&w->clock, 1000);
    while (fake_api_count(&w->api, &kind_pod) > 0) {
        assert_true(object_is_deleting(world_pod(w, 0)));
        fake_api_pod_gone(&w->api, "d", object_name(world_pod(w, 0)));
    }
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(fake_api_count(&w->api, &kind_service), 0);
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 0);
}

static void gangs_start_whole_or_not_at_all(void **state)
{
    struct world *w = *state;
    size_t placed = 0;

    world_add_node(w, "n1", 6);
    world_start(w, CONTROL_ALL);
    world_add_job(w, "a", 4, "Never");
    fake_clock_advance(&w->clock, 2000);
    world_add_job(w, "b", 4, "Never");
    fake_clock_advance(&w->clock, 2000);
    for (size_t i = 0; i < 8; i++)
        placed += *json_string(json_at(world_pod(w, i), "spec", "nodeName"), "") != '\0';
    assert_int_equal(placed, 4);
    assert_true(*json_string(json_at(world_job(w, "b"), "status", "message"), "") != '\0');
}

static void foreground_deletion_ends_with_the_job(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 4);
    world_start(w, CONTROL_ALL);
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    run_all_pods(w, "Running");
    assert_int_equal(
        fake_api_do(&w->api, "DELETE", JOBS_PATH "/j", "{\"propagationPolicy\":\"Foreground\"}"),
        200);
    fake_clock_advance(&w->clock, 5000);
    assert_non_null(world_job(w, "j"));
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 1); /* none is made anew */
    fake_api_pod_gone(&w->api, "d", object_name(world_pod(w, 0)));
    fake_clock_advance(&w->clock, 1000);
    assert_null(world_job(w, "j"));
    assert_int_equal(fake_api_count(&w->api, &kind_lease), 0);
}

static void recreated_job_does_not_adopt_old_pods(void **state)
{
    struct world *w = *state;
    const char *old_uid;

    world_add_node(w, "n1", 4);
    world_start(w, CONTROL_ALL);
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    run_all_pods(w, "Running");
    old_uid = object_uid(world_job(w, "j"));
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/j", NULL), 200);
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 5000);
    for (size_t i = 0; i < fake_api_count(&w->api, &kind_pod); i++)
        assert_true(object_is_controlled_by(world_pod(w, i), old_uid) ==
                    object_is_deleting(world_pod(w, i)));
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
}

static void expired_and_broken_watches_lose_nothing(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 8);
    world_start(w, CONTROL_ALL);
    world_add_job(w, "a", 1, "Never");
    fake_clock_advance(&w->clock, 1000);
    w->api.hold_watches = true;
    world_add_job(w, "b", 1, "Never");
    fake_api_compact(&w->api);
    fake_api_release_watches(&w->api);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    world_add_job(w, "c", 1, "Never");
    fake_api_end_watches(&w->api, 0);
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 3);
    fake_api_end_watches(&w->api, 200);
    world_add_job(w, "e", 1, "Never");
    fake_clock_advance(&w->clock, 10000);
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 4);
    run_all_pods(w, "Running");
    assert_string_equal(world_phase(w, "b"), "Running");
}

static void freed_at_any_moment(void **state)
{
    (void)state;
    for (int turns = 0; turns < 80; turns++) {
        struct world *w;
        void *fresh;

        world_set_up(&fresh);
        w = fresh;
        world_add_node(w, "n1", 4);
        world_add_job(w, "j", 2, "Never");
        w->control = control_new(&(struct control_options){.transport = &w->api.transport,
                                                           .clock = &w->clock.clock,
                                                           .parts = CONTROL_ALL,
                                                           .shared_network = true},
                                 NULL);
        for (int i = 0; i < turns && fake_clock_turn(&w->clock); i++)
            ;
        control_free(w->control);
        w->control = NULL;
        fake_clock_advance(&w->clock, 1000); /* answers to nobody */
        world_tear_down(&fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(job_is_placed_runs_and_is_cleaned_away),
        WORLD_TEST(gangs_start_whole_or_not_at_all),
        WORLD_TEST(foreground_deletion_ends_with_the_job),
        WORLD_TEST(recreated_job_does_not_adopt_old_pods),
        WORLD_TEST(expired_and_broken_watches_lose_nothing),
        cmocka_unit_test(freed_at_any_moment),
    };

    return cmocka_run_group_tests_name("control/control", tests, NULL, NULL);
}
