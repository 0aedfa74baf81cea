/* scheduler_test.c - binding pods from pictures that may be old. */
#include <stdio.h>
#include <string.h>

#include "control/world.h"
#include "core/schedule.h"

static void add_pod(struct world *w, const char *name, const char *extra)
{
    const char *body = arena_printf(
        &w->arena,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
        name, extra);

    assert_int_equal(fake_api_do(&w->api, "POST", "/api/v1/namespaces/d/pods", body), 201);
}

static const char *node_of(struct world *w, const char *name)
{
    return json_string(
        json_at(fake_api_get(&w->api, &w->arena, &kind_pod, "d", name), "spec", "nodeName"), "");
}

static size_t bound(struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < fake_api_count(&w->api, &kind_pod); i++)
        n += *json_string(json_at(world_pod(w, i), "spec", "nodeName"), "") != '\0';
    return n;
}

static void pods_are_bound(void **state)
{
    struct world *w = *state;
    unsigned writes;

    world_add_node(w, "n1", 4);
    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "a", "");
    add_pod(w, "b", "\"schedulerName\":\"default-scheduler\",");
    add_pod(w, "c", "\"schedulerName\":\"t9k-scheduler\",");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "a"), "n1");
    assert_int_equal(bound(w), 3);
    writes = w->api.writes;
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(w->api.writes, writes);
}

static void other_schedulers_pods_are_theirs(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 2);
    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "theirs", "\"schedulerName\":\"volcano\",");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "theirs"), "");
    assert_null(object_condition(fake_api_get(&w->api, &w->arena, &kind_pod, "d", "theirs"),
                                 "PodScheduled"));
    /* Once placed it takes room. */
    assert_int_equal(fake_api_do(&w->api, "PATCH", "/api/v1/namespaces/d/pods/theirs",
                                 "{\"spec\":{\"nodeName\":\"n1\"}}"),
                     200);
    add_pod(w, "a", "");
    add_pod(w, "b", "");
    fake_clock_settle(&w->clock);
    assert_int_equal(bound(w), 2);
}

static void default_schedulers_pods_are_its_own_on_a_cluster(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 2);
    world_start_on(w, CONTROL_SCHEDULER, true);
    add_pod(w, "theirs", "\"schedulerName\":\"default-scheduler\",");
    add_pod(w, "ours", "\"schedulerName\":\"t9k-scheduler\",");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "theirs"), "");
    assert_string_equal(node_of(w, "ours"), "n1");
    assert_null(object_condition(fake_api_get(&w->api, &w->arena, &kind_pod, "d", "theirs"),
                                 "PodScheduled"));
}

/* A cluster taints a node it does not hear of; the toleration every pod is given there is for what
 * evicts, not for what is new. */
static void not_ready_taint_keeps_pods_away(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 2);
    assert_int_equal(fake_api_do(&w->api, "PATCH", "/api/v1/nodes/n1",
                                 "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/not-ready\","
                                 "\"effect\":\"NoSchedule\"}]}}"),
                     200);
    world_start_on(w, CONTROL_SCHEDULER, true);
    add_pod(w, "a",
            "\"schedulerName\":\"t9k-scheduler\",\"tolerations\":[{\"key\":"
            "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
            "\"tolerationSeconds\":300}],");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "a"), "");
    assert_int_equal(
        fake_api_do(&w->api, "PATCH", "/api/v1/nodes/n1", "{\"spec\":{\"taints\":[]}}"), 200);
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "a"), "n1");
}

static void one_look_for_many_changes(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    for (int i = 0; i < 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "p%02d", i);
        add_pod(w, name, "");
    }
    fake_clock_settle(&w->clock);
    assert_int_equal(bound(w), 1);
    assert_int_equal(w->binds, 1);
}

static void add_group(struct world *w, const char *name, int members)
{
    const char *body = arena_printf(
        &w->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"minMember\":%d,\"members\":%d}}",
        name, members, members);

    assert_int_equal(fake_api_do(&w->api, "POST",
                                 "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/d/podgroups",
                                 body),
                     201);
}

static void add_member(struct world *w, const char *group, const char *name)
{
    const char *body = arena_printf(
        &w->arena,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"" LABEL_GROUP_NAME "\":\"%s\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
        name, group);

    assert_int_equal(fake_api_do(&w->api, "POST", "/api/v1/namespaces/d/pods", body), 201);
}

/* The room of a pod that is gone and comes again, kept also by a scheduler that was not there. */
static void a_replaced_member_finds_its_room(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 2);
    add_group(w, "j", 2);
    world_start(w, CONTROL_SCHEDULER);
    add_member(w, "j", "j-0");
    add_member(w, "j", "j-1");
    fake_clock_settle(&w->clock);
    assert_int_equal(bound(w), 2);
    add_pod(w, "b", "");
    fake_clock_settle(&w->clock);
    fake_api_pod_gone(&w->api, "d", "j-1");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "b"), "");
    world_restart(w, CONTROL_SCHEDULER);
    fake_clock_advance(&w->clock, 10000);
    assert_string_equal(node_of(w, "b"), "");
    add_member(w, "j", "j-1");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "j-1"), "n1");
    assert_string_equal(node_of(w, "b"), "");
}

static void room_comes_back_when_pods_end_or_go(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "a", "");
    fake_clock_settle(&w->clock);
    add_pod(w, "b", "");
    add_pod(w, "c", "");
    fake_clock_settle(&w->clock);
    assert_int_equal(bound(w), 1);
    fake_api_pod_phase(&w->api, "d", "a", "Succeeded", 0);
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "b"), "n1");
    assert_string_equal(node_of(w, "c"), "");
    fake_api_pod_gone(&w->api, "d", "b");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "c"), "n1");
}

static void waiting_pod_says_why_and_starts_when_there_is_room(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "a", "");
    fake_clock_settle(&w->clock);
    add_pod(w, "b", "");
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "b"), "");
    assert_string_equal(
        json_get_string(
            object_condition(fake_api_get(&w->api, &w->arena, &kind_pod, "d", "b"), "PodScheduled"),
            "reason", ""),
        "Unschedulable");
    fake_api_pod_phase(&w->api, "d", "a", "Succeeded", 0);
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "b"), "n1");
}

static void no_room_is_given_twice_from_an_old_picture(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "b", "");
    while (bound(w) == 0)
        assert_true(fake_clock_turn(&w->clock));
    w->api.held_kind = &kind_pod; /* nobody hears that b is bound */
    add_pod(w, "a", "");
    fake_clock_settle(&w->clock);
    world_add_node(w, "n2", 1); /* a reason to look */
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(bound(w), 1);
    assert_int_equal(w->binds, 1);
    fake_api_release_watches(&w->api);
    fake_clock_advance(&w->clock, 60000);
    assert_string_equal(node_of(w, "b"), "n1");
    assert_string_equal(node_of(w, "a"), "n2");
    assert_int_equal(w->binds, 2);
}

static void pod_that_was_replaced_meanwhile_is_not_bound_blindly(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    w->api.latency_ms = 50;
    add_pod(w, "a", "");
    fake_clock_settle(&w->clock); /* the binding is under way */
    fake_api_pod_gone(&w->api, "d", "a");
    add_pod(w, "a", "");
    fake_clock_advance(&w->clock, 50);
    assert_string_equal(node_of(w, "a"), "");
    fake_clock_advance(&w->clock, 2000);
    assert_string_equal(node_of(w, "a"), "n1"); /* looked at again, as it is now */
}

static void failed_binding_is_tried_again(void **state)
{
    struct world *w = *state;

    world_add_node(w, "n1", 1);
    world_start(w, CONTROL_SCHEDULER);
    strcpy(w->refused, "POST /pods/a/binding");
    w->refusal = 500;
    add_pod(w, "a", "");
    fake_clock_advance(&w->clock, 3000);
    assert_in_range(w->binds, 1, 5);
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 60000);
    assert_string_equal(node_of(w, "a"), "n1");
}

static void others_go_on_beside(struct world *w, const char *refused, int status, int64_t within_ms)
{
    world_add_node(w, "n1", 20);
    world_start(w, CONTROL_SCHEDULER);
    strcpy(w->refused, refused);
    w->refusal = status;
    add_group(w, "g", 1);
    add_member(w, "g", "g-0");
    for (int i = 0; i < 10; i++) {
        char name[16];

        fake_clock_advance(&w->clock, 10000);
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_pod(w, name, "");
        fake_clock_advance(&w->clock, within_ms);
        assert_string_equal(node_of(w, name), "n1");
    }
    assert_string_equal(node_of(w, "g-0"), "");
    w->refused[0] = '\0';
    fake_clock_advance(&w->clock, 61000);
    assert_string_equal(node_of(w, "g-0"), "n1");
}

static void a_group_that_is_refused_holds_up_nobody(void **state)
{
    others_go_on_beside(*state, "PUT /podgroups/g/status", 409, 300);
}

static void nor_does_one_the_api_will_not_have(void **state)
{
    others_go_on_beside(*state, "PUT /podgroups/g/status", 403, 300);
}

static void nor_does_one_whose_pod_cannot_be_bound(void **state)
{
    others_go_on_beside(*state, "POST /pods/g-0/binding", 409, 300);
}

static void nor_for_long_one_of_which_nobody_knows(void **state)
{
    others_go_on_beside(*state, "PUT /podgroups/g/status", 500, 1500);
}

static void nodes_that_come_later_are_used(void **state)
{
    struct world *w = *state;

    world_start(w, CONTROL_SCHEDULER);
    add_pod(w, "a", "");
    fake_clock_advance(&w->clock, 1000);
    assert_string_equal(node_of(w, "a"), "");
    world_add_node(w, "n1", 1);
    fake_clock_settle(&w->clock);
    assert_string_equal(node_of(w, "a"), "n1");
}

/* The first binding is done, and the answer says that it failed; the watch is silent about it. */
static int bind_and_fail(void *arg, const char *method, const char *path)
{
    struct world *w = arg;
    unsigned before = w->binds;

    (void)world_watch_calls(w, method, path);
    if (before || w->binds == 0)
        return 0;
    w->api.held_kind = &kind_pod;
    assert_int_equal(fake_api_do(&w->api, "POST", path, "{\"target\":{\"name\":\"n1\"}}"), 201);
    return 503;
}

static void binding_of_unknown_outcome_is_looked_up_before_the_next(void **state)
{
    struct world *w = *state;

    w->api.refuse = bind_and_fail;
    world_start(w, CONTROL_JOBS | CONTROL_SCHEDULER);
    world_add_node(w, "n1", 2);
    world_add_job(w, "j", 1, "Never");
    fake_clock_advance(&w->clock, 60000);
    assert_int_equal(w->binds, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(binding_of_unknown_outcome_is_looked_up_before_the_next),
        WORLD_TEST(pods_are_bound),
        WORLD_TEST(other_schedulers_pods_are_theirs),
        WORLD_TEST(default_schedulers_pods_are_its_own_on_a_cluster),
        WORLD_TEST(not_ready_taint_keeps_pods_away),
        WORLD_TEST(one_look_for_many_changes),
        WORLD_TEST(a_replaced_member_finds_its_room),
        WORLD_TEST(room_comes_back_when_pods_end_or_go),
        WORLD_TEST(waiting_pod_says_why_and_starts_when_there_is_room),
        WORLD_TEST(no_room_is_given_twice_from_an_old_picture),
        WORLD_TEST(pod_that_was_replaced_meanwhile_is_not_bound_blindly),
        WORLD_TEST(failed_binding_is_tried_again),
        WORLD_TEST(a_group_that_is_refused_holds_up_nobody),
        WORLD_TEST(nor_does_one_the_api_will_not_have),
        WORLD_TEST(nor_does_one_whose_pod_cannot_be_bound),
        WORLD_TEST(nor_for_long_one_of_which_nobody_knows),
        WORLD_TEST(nodes_that_come_later_are_used),
    };

    return cmocka_run_group_tests_name("control/scheduler", tests, NULL, NULL);
}
