/* nodes_test.c - a node that falls silent is given up, and only then; its pods come up elsewhere.
 */
#include <stdio.h>
#include <string.h>

#include "control/world.h"
#include "core/node_loss.h"

#define MINUTE_MS 60000

static void report(struct world *w, const char *name)
{
    char stamp[TIME_TEXT_SIZE];
    const char *path = arena_printf(&w->arena, "/api/v1/nodes/%s/status", name);
    const char *body = arena_printf(
        &w->arena,
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
        "\"lastHeartbeatTime\":\"%s\"}]}}",
        time_format(w->clock.now_ms, stamp));

    assert_int_equal(fake_api_do(&w->api, "PATCH", path, body), 200);
}

/* Lets minutes pass, in which one node reports. */
static void pass(struct world *w, int minutes, const char *alive)
{
    for (int i = 0; i < minutes; i++) {
        fake_clock_advance(&w->clock, MINUTE_MS);
        if (alive)
            report(w, alive);
    }
    fake_clock_settle(&w->clock);
}

static const char *ready(struct world *w, const char *name)
{
    return json_get_string(
        object_condition(fake_api_get(&w->api, &w->arena, &kind_node, "", name), "Ready"), "status",
        "");
}

static const char *node_of(struct world *w, size_t n)
{
    return json_string(json_at(world_pod(w, n), "spec", "nodeName"), "");
}

static void start(struct world *w)
{
    world_start(w, CONTROL_ALL | CONTROL_NODES);
    world_add_node(w, "n1", 2);
    report(w, "n1");
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    world_pod_phase(w, 0, "Running", 0);
    world_pod_phase(w, 1, "Running", 0);
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(world_phase(w, "j"), "Running");
}

static void pods_of_a_lost_node_are_replaced_elsewhere_for_free(void **state)
{
    struct world *w = *state;

    start(w);
    world_add_node(w, "n2", 2);
    pass(w, 4, "n2");
    assert_string_equal(ready(w, "n1"), "True");
    assert_string_equal(node_of(w, 0), "n1");
    pass(w, 2, "n2");
    assert_string_equal(ready(w, "n1"), "Unknown");
    assert_string_equal(ready(w, "n2"), "True");
    assert_int_equal(fake_api_count(&w->api, &kind_pod), 2);
    assert_string_equal(node_of(w, 0), "n2");
    assert_string_equal(node_of(w, 1), "n2");
    assert_int_equal(json_int(json_at(world_job(w, "j"), "status", "backoffCount"), -1), 0);
}

static void a_node_that_reports_is_left_alone(void **state)
{
    struct world *w = *state;
    unsigned posts;

    start(w);
    posts = w->pod_posts;
    pass(w, 30, "n1");
    assert_string_equal(ready(w, "n1"), "True");
    assert_int_equal(w->pod_posts, posts);
}

static void renew(struct world *w, const char *name)
{
    char stamp[TIME_TEXT_SIZE];
    const char *path = "/apis/coordination.k8s.io/v1/namespaces/" NODE_LEASES "/leases";
    const char *body = arena_printf(
        &w->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"renewTime\":\"%s\"}}", name,
        time_format_micro(w->clock.now_ms, stamp));

    if (fake_api_do(&w->api, "PATCH", arena_printf(&w->arena, "%s/%s", path, name), body) == 404)
        assert_int_equal(fake_api_do(&w->api, "POST", path, body), 201);
    fake_clock_settle(&w->clock);
}

/* It has stopped answering, as a kubelet can: nothing new is placed there, and its pods have until
 * it is lost. */
static void a_node_that_does_not_renew_its_lease_gets_nothing_new(void **state)
{
    struct world *w = *state;
    unsigned posts;

    start(w);
    for (int i = 0; i < 20; i++) {
        renew(w, "n1");
        fake_clock_advance(&w->clock, 10000);
    }
    assert_string_equal(ready(w, "n1"), "True");
    fake_clock_advance(&w->clock, NODE_SILENT_AFTER_MS - 11000);
    assert_string_equal(ready(w, "n1"), "True");
    posts = w->pod_posts;
    fake_clock_advance(&w->clock, 2000);
    assert_string_equal(ready(w, "n1"), "Unknown");
    world_add_job(w, "k", 1, "Never");
    pass(w, 1, NULL);
    assert_string_equal(node_of(w, 2), "");
    assert_string_equal(json_string(json_at(world_job(w, "k"), "status", "message"), ""),
                        "waiting for a node: none is ready");
    assert_string_equal(node_of(w, 0), "n1"); /* it may come back */
    assert_int_equal(w->pod_posts, posts + 1);
    renew(w, "n1");
    report(w, "n1");
    assert_string_equal(ready(w, "n1"), "True");
    for (int i = 0; i < 60; i++) {
        renew(w, "n1");
        fake_clock_advance(&w->clock, 10000);
    }
    assert_string_equal(ready(w, "n1"), "True");
    assert_string_equal(node_of(w, 0), "n1");
    pass(w, 6, NULL);
    assert_string_equal(node_of(w, 0), ""); /* lost, and replaced */
}

/* Our own absence, or a clock that was set, is not the node's silence. */
static void silence_is_measured_from_when_we_listen(void **state)
{
    struct world *w = *state;

    start(w);
    pass(w, 4, NULL);
    w->clock.now_ms += INT64_C(3600000); /* the clock is set; timers are not */
    for (struct clock_timer *t = w->clock.timers; t; t = t->next)
        t->due_ms += 3600000;
    world_restart(w, CONTROL_ALL | CONTROL_NODES);
    pass(w, 4, NULL);
    assert_string_equal(ready(w, "n1"), "True");
    pass(w, 2, NULL);
    assert_string_equal(ready(w, "n1"), "Unknown");
}

static void a_pod_that_should_stop_does_not_hang_on_a_lost_node(void **state)
{
    struct world *w = *state;
    const char *name;

    start(w);
    name = object_name(world_pod(w, 1));
    assert_int_equal(fake_api_do(&w->api, "DELETE",
                                 arena_printf(&w->arena, "/api/v1/namespaces/d/pods/%s", name),
                                 "{\"gracePeriodSeconds\":30}"),
                     200);
    assert_true(object_is_deleting(world_pod(w, 1)));
    world_add_node(w, "n2", 2);
    pass(w, 7, "n2");
    assert_false(object_is_deleting(world_pod(w, 1)));
    assert_string_equal(node_of(w, 1), "n2");
}

static void a_node_that_comes_back_takes_pods_again(void **state)
{
    struct world *w = *state;

    start(w);
    pass(w, 7, NULL);
    assert_string_equal(ready(w, "n1"), "Unknown");
    assert_string_equal(node_of(w, 0), ""); /* replaced, and waits: there is no node */
    assert_non_null(strstr(json_string(json_at(world_job(w, "j"), "status", "message"), ""),
                           "waiting for a node"));
    report(w, "n1");
    pass(w, 1, "n1");
    assert_string_equal(node_of(w, 0), "n1");
    pass(w, 10, "n1");
    assert_string_equal(ready(w, "n1"), "True");
}

static void pods_of_a_deleted_node_are_replaced_too(void **state)
{
    struct world *w = *state;

    start(w);
    world_add_node(w, "n2", 2);
    assert_int_equal(fake_api_do(&w->api, "DELETE", "/api/v1/nodes/n1", NULL), 200);
    fake_clock_advance(&w->clock, NODE_ABSENT_AFTER_MS - 1000);
    assert_string_equal(node_of(w, 0), "n1"); /* it may come back */
    pass(w, 1, "n2");
    assert_string_equal(node_of(w, 0), "n2");
    assert_string_equal(node_of(w, 1), "n2");
}

/* Bound by hand, or by a client that remembers the node. */
static void bind_to_nowhere(struct world *w, size_t n)
{
    const char *path = arena_printf(&w->arena, "/api/v1/namespaces/d/pods/%s",
                                    object_name(world_pod(w, n)));

    assert_int_equal(fake_api_do(&w->api, "PATCH", path, "{\"spec\":{\"nodeName\":\"nowhere\"}}"),
                     200);
}

static void delete_pod(struct world *w, const char *name)
{
    assert_int_equal(fake_api_do(&w->api, "DELETE",
                                 arena_printf(&w->arena, "/api/v1/namespaces/d/pods/%s", name),
                                 "{\"gracePeriodSeconds\":30}"),
                     200);
}

static void start_nowhere(struct world *w)
{
    world_start(w, CONTROL_ALL | CONTROL_NODES);
    world_add_job(w, "j", 2, "Never");
    fake_clock_advance(&w->clock, 1000);
    bind_to_nowhere(w, 0);
    bind_to_nowhere(w, 1);
    fake_clock_advance(&w->clock, 1000);
}

static void a_pod_that_should_stop_does_not_hang_on_a_node_that_is_not_there(void **state)
{
    struct world *w = *state;
    const char *uid;

    start_nowhere(w);
    uid = arena_strdup(&w->arena, object_uid(world_pod(w, 1)));
    delete_pod(w, object_name(world_pod(w, 1)));
    fake_clock_advance(&w->clock, NODE_ABSENT_AFTER_MS - 2000);
    assert_true(object_is_deleting(world_pod(w, 1)));
    fake_clock_advance(&w->clock, 2000);
    fake_clock_advance(&w->clock, 2000);                       /* its name rests a while */
    assert_string_not_equal(object_uid(world_pod(w, 1)), uid); /* made anew */
}

static void pods_of_a_node_that_was_never_there_are_given_up(void **state)
{
    struct world *w = *state;

    start_nowhere(w);
    world_restart(w, CONTROL_ALL | CONTROL_NODES);
    fake_clock_advance(&w->clock, NODE_ABSENT_AFTER_MS - 2000);
    assert_string_equal(node_of(w, 0), "nowhere");
    pass(w, 1, NULL);
    assert_string_equal(node_of(w, 0), "");
    assert_string_equal(node_of(w, 1), "");
}

/* Its agent has the pods, and says itself when they have stopped. */
static void a_node_that_comes_in_time_keeps_its_pods(void **state)
{
    struct world *w = *state;

    start_nowhere(w);
    delete_pod(w, object_name(world_pod(w, 1)));
    fake_clock_advance(&w->clock, 20000);
    world_add_node(w, "nowhere", 2);
    report(w, "nowhere");
    pass(w, 3, "nowhere");
    assert_true(object_is_deleting(world_pod(w, 1)));
    assert_string_equal(node_of(w, 0), "nowhere");
}

/* A watch can be silent for minutes without being broken. */
static void a_node_we_did_not_hear_of_keeps_its_pods(void **state)
{
    struct world *w = *state;

    start_nowhere(w);
    w->api.held_kind = &kind_node;
    world_add_node(w, "nowhere", 2);
    report(w, "nowhere");
    delete_pod(w, object_name(world_pod(w, 1)));
    fake_clock_advance(&w->clock, NODE_ABSENT_AFTER_MS);
    fake_clock_advance(&w->clock, NODE_ABSENT_AFTER_MS);
    assert_true(object_is_deleting(world_pod(w, 1)));
    assert_string_equal(node_of(w, 0), "nowhere");
}

static void a_node_whose_leases_do_not_arrive_is_ready(void **state)
{
    struct world *w = *state;

    start(w);
    renew(w, "n1");
    w->api.held_kind = &kind_lease;
    for (int i = 0; i < 12; i++) {
        fake_clock_advance(&w->clock, 10000);
        renew(w, "n1");
    }
    assert_string_equal(ready(w, "n1"), "True");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(pods_of_a_lost_node_are_replaced_elsewhere_for_free),
        WORLD_TEST(a_node_that_reports_is_left_alone),
        WORLD_TEST(a_node_that_does_not_renew_its_lease_gets_nothing_new),
        WORLD_TEST(silence_is_measured_from_when_we_listen),
        WORLD_TEST(a_pod_that_should_stop_does_not_hang_on_a_lost_node),
        WORLD_TEST(a_node_that_comes_back_takes_pods_again),
        WORLD_TEST(pods_of_a_deleted_node_are_replaced_too),
        WORLD_TEST(a_pod_that_should_stop_does_not_hang_on_a_node_that_is_not_there),
        WORLD_TEST(pods_of_a_node_that_was_never_there_are_given_up),
        WORLD_TEST(a_node_that_comes_in_time_keeps_its_pods),
        WORLD_TEST(a_node_we_did_not_hear_of_keeps_its_pods),
        WORLD_TEST(a_node_whose_leases_do_not_arrive_is_ready),
    };

    return cmocka_run_group_tests_name("control nodes", tests, NULL, NULL);
}
