/* sweeps_test.c - of a sweep so many jobs run at once, and the others follow in turn. */
#include <stdio.h>
#include <string.h>

#include "control/world.h"

static void add_job(struct world *w, int n, int parallel)
{
    const char *body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\","
        "\"metadata\":{\"name\":\"s-%d\",\"labels\":{\"muster.dev/sweep\":\"s\"}%s},"
        "\"spec\":{%s\"replicaSpecs\":[{\"type\":\"worker\",\"replicas\":1,\"restartPolicy\":"
        "\"Never\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"python\",\"image\":\"x\","
        "\"command\":[\"true\"]}]}}}]}}",
        n,
        parallel ? arena_printf(&w->arena,
                                ",\"annotations\":{\"muster.dev/sweep-parallel\":\"%d\"}", parallel)
                 : "",
        parallel ? "\"runMode\":{\"pause\":{\"enabled\":true}}," : "");

    assert_int_equal(fake_api_do(&w->api, "POST", JOBS_PATH, body), 201);
}

/* Ten jobs, of which two may run at once. */
static void start(struct world *w)
{
    for (int i = 1; i <= 10; i++)
        add_job(w, i, i > 2 ? 2 : 0);
    world_start(w, CONTROL_ALL);
    fake_clock_advance(&w->clock, 1000);
}

static const char *job_name(struct world *w, int n)
{
    return arena_printf(&w->arena, "s-%d", n);
}

static bool is_waiting(struct world *w, int n)
{
    return json_bool(json_at(world_job(w, job_name(w, n)), "spec", "runMode", "pause", "enabled"),
                     false);
}

static int count_waiting(struct world *w)
{
    int waiting = 0;

    for (int i = 1; i <= 10; i++)
        if (world_job(w, job_name(w, i)))
            waiting += is_waiting(w, i);
    return waiting;
}

static void set_phase(struct world *w, int n, const char *phase)
{
    const char *path = arena_printf(&w->arena, JOBS_PATH "/s-%d/status", n);
    const char *body = arena_printf(&w->arena, "{\"status\":{\"phase\":\"%s\"}}", phase);

    assert_int_equal(fake_api_do(&w->api, "PATCH", path, body), 200);
    fake_clock_settle(&w->clock);
}

static void one_follows_another(void **state)
{
    struct world *w = *state;

    start(w);
    assert_int_equal(count_waiting(w), 8);
    set_phase(w, 1, "Succeeded");
    assert_int_equal(count_waiting(w), 7);
    assert_false(is_waiting(w, 3));
    assert_null(object_annotation(world_job(w, "s-3"), ANNOTATION_SWEEP_TURN));
    set_phase(w, 2, "Failed");
    assert_false(is_waiting(w, 4)); /* and not s-10 */
    assert_int_equal(count_waiting(w), 6);
}

static void a_job_that_is_deleted_or_stopped_makes_room(void **state)
{
    struct world *w = *state;

    start(w);
    assert_int_equal(fake_api_do(&w->api, "DELETE", JOBS_PATH "/s-1", NULL), 200);
    fake_clock_settle(&w->clock);
    assert_int_equal(count_waiting(w), 7);
    assert_int_equal(fake_api_do(&w->api, "PATCH", JOBS_PATH "/s-2",
                                 "{\"spec\":{\"runMode\":{\"pause\":{\"enabled\":true}}}}"),
                     200);
    fake_clock_settle(&w->clock);
    assert_false(is_waiting(w, 4));
    assert_true(is_waiting(w, 5));
    assert_true(is_waiting(w, 2)); /* who was stopped is not resumed */
}

static void a_restart_resumes_no_more_than_before(void **state)
{
    struct world *w = *state;

    start(w);
    set_phase(w, 1, "Succeeded");
    world_restart(w, CONTROL_ALL);
    fake_clock_advance(&w->clock, 1000);
    assert_int_equal(count_waiting(w), 7);
    set_phase(w, 2, "Succeeded");
    assert_int_equal(count_waiting(w), 6);
}

static void a_refused_resume_is_tried_again(void **state)
{
    struct world *w = *state;

    start(w);
    (void)snprintf(w->refused, sizeof(w->refused), "PATCH pytorchtrainingjobs/s-3");
    w->refusal = 500;
    set_phase(w, 1, "Succeeded");
    assert_int_equal(count_waiting(w), 8);
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 60000);
    assert_false(is_waiting(w, 3));
    assert_int_equal(count_waiting(w), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(one_follows_another),
        WORLD_TEST(a_job_that_is_deleted_or_stopped_makes_room),
        WORLD_TEST(a_restart_resumes_no_more_than_before),
        WORLD_TEST(a_refused_resume_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
