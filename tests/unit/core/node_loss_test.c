/* node_loss_test.c - what is planned for a node that does not report, and for its pods. */
#include "core/node_loss.h"
#include "world.h"

#define NODE(status)                                                                               \
    "{'metadata':{'name':'n1','uid':'u','resourceVersion':'7'},'status':{'conditions':["           \
    "{'type':'DiskPressure','status':'False'},{'type':'Ready','status':'" status                   \
    "','lastHeartbeatTime':'2026-01-01T00:00:00Z'}]}}"

static void a_node_is_marked_before_anything_follows(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *pod = parse(&a, "{'metadata':{'name':'p'},'spec':{'nodeName':'n1'}}");
    const struct json *ready = NULL;
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    node_loss_plan(parse(&a, NODE("True")), &pod, 1, NODE_LOST_AFTER_MS, WORLD_START_MS, &plan);
    assert_int_equal(plan.first->op, PLAN_PATCH);
    assert_ptr_equal(plan.first->kind, &kind_node);
    assert_string_equal(plan.first->subresource, "status");
    /* a sign of life that comes in between makes it another version */
    assert_string_equal(json_string(json_at(plan.first->object, "metadata", "resourceVersion"), ""),
                        "7");
    assert_int_equal(json_len(json_at(plan.first->object, "status", "conditions")), 2);
    json_each (c, json_at(plan.first->object, "status", "conditions"))
        if (json_string_is(json_get(c, "type"), "Ready"))
            ready = c;
    assert_string_equal(json_get_string(ready, "status", ""), "Unknown");
    assert_string_equal(json_get_string(ready, "lastHeartbeatTime", ""), "2026-01-01T00:00:00Z");
    assert_int_equal(plan.first->next->op, PLAN_EVENT);
    assert_null(plan.first->next->next);
    arena_release(&a);
}

static void a_node_that_never_reported_is_marked_too(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *node = parse(&a, "{'metadata':{'name':'n1'}}");
    struct plan plan;

    (void)state;
    assert_string_equal(node_heartbeat(node), "");
    assert_false(node_is_silent(node));
    plan_init(&plan, &a);
    node_loss_plan(node, NULL, 0, NODE_LOST_AFTER_MS, WORLD_START_MS, &plan);
    assert_int_equal(plan.first->op, PLAN_PATCH);
    arena_release(&a);
}

static void only_its_own_unfinished_pods_are_given_up(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *pods[] = {
        parse(&a, "{'metadata':{'name':'runs','resourceVersion':'3'},'spec':{'nodeName':'n1'},"
                  "'status':{'phase':'Running'}}"),
        parse(&a, "{'metadata':{'name':'done'},'spec':{'nodeName':'n1'},"
                  "'status':{'phase':'Succeeded'}}"),
        parse(&a, "{'metadata':{'name':'elsewhere'},'spec':{'nodeName':'n2'},"
                  "'status':{'phase':'Running'}}"),
        parse(&a, "{'metadata':{'name':'waits'},'spec':{}}"),
        parse(&a, "{'metadata':{'name':'going','uid':'g','deletionTimestamp':"
                  "'2026-01-01T00:00:00Z'},'spec':{'nodeName':'n1'}}"),
    };
    const struct plan_step *first, *second;
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    node_loss_plan(parse(&a, NODE("Unknown")), pods, ELEMS(pods), NODE_LOST_AFTER_MS,
                   WORLD_START_MS, &plan);
    first = plan.first;
    second = first->next;
    assert_string_equal(first->name, "runs");
    assert_string_equal(json_string(json_at(first->object, "status", "phase"), ""), "Failed");
    assert_string_equal(json_string(json_at(first->object, "status", "reason"), ""), "NodeLost");
    assert_string_equal(json_string(json_at(first->object, "metadata", "resourceVersion"), ""),
                        "3");
    assert_int_equal(second->op, PLAN_DELETE);
    assert_string_equal(second->uid, "g");
    assert_int_equal(second->grace_seconds, 0);
    assert_null(second->next);
    arena_release(&a);
}

static void out_of_memory_is_not_a_crash(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *nodes[] = {parse(&a, NODE("True")), parse(&a, NODE("Unknown"))};
    const struct json *pod = parse(&a, "{'metadata':{'name':'p'},'spec':{'nodeName':'n1'}}");
    bool failed[] = {true, true};

    (void)state;
    for (size_t limit = 0; limit < 65536; limit += 64)
        for (size_t i = 0; i < ELEMS(nodes); i++) {
            struct arena small = ARENA_INIT(limit);
            struct plan plan;

            plan_init(&plan, &small);
            node_loss_plan(nodes[i], &pod, 1, NODE_LOST_AFTER_MS, WORLD_START_MS, &plan);
            failed[i] = arena_failed(&small);
            arena_release(&small);
        }
    assert_false(failed[0] || failed[1]);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_marked_before_anything_follows),
        cmocka_unit_test(a_node_that_never_reported_is_marked_too),
        cmocka_unit_test(only_its_own_unfinished_pods_are_given_up),
        cmocka_unit_test(out_of_memory_is_not_a_crash),
    };

    return cmocka_run_group_tests_name("core node loss", tests, NULL, NULL);
}
