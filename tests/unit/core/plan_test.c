/* plan_test.c - building plans, and ports. */
#include "world.h"

static void stages_open_only_after_a_step(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *pod = parse(&a, "{'metadata':{'name':'p','namespace':'n','uid':'u'}}");
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    assert_true(plan_is_empty(&plan));
    plan_next_stage(&plan);
    plan_create(&plan, &kind_pod, pod);
    plan_next_stage(&plan);
    plan_next_stage(&plan);
    plan_delete(&plan, &kind_pod, pod, 30);
    assert_int_equal(plan.first->stage, 0);
    assert_int_equal(plan.last->stage, 1);
    assert_string_equal(plan.last->uid, "u");
    assert_string_equal(plan.last->ns, "n");
    assert_int_equal(plan.last->grace_seconds, 30);
    assert_false(plan_is_empty(&plan));
    arena_release(&a);
}

static void the_earliest_wake_wins(void **state)
{
    struct plan plan;

    (void)state;
    plan_init(&plan, NULL);
    plan_wake_at(&plan, 0);
    assert_int_equal(plan.wake_at_ms, 0);
    plan_wake_at(&plan, 50);
    plan_wake_at(&plan, 70);
    plan_wake_at(&plan, 0);
    plan_wake_at(&plan, 20);
    assert_int_equal(plan.wake_at_ms, 20);
}

static void patches_know_their_subresource(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *pod = parse(&a, "{'metadata':{'name':'p','namespace':'n','uid':'u'}}");
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    plan_patch(&plan, &kind_pod, pod, parse(&a, "{'status':{}}"));
    assert_string_equal(plan.last->subresource, "status");
    assert_string_equal(plan.last->uid, "u");
    plan_patch(&plan, &kind_pod, pod, parse(&a, "{'spec':{}}"));
    assert_null(plan.last->subresource);
    arena_release(&a);
}

static void events_name_what_they_are_about(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *node = parse(&a, "{'metadata':{'name':'x','uid':'u'}}");
    const struct json *pod = parse(&a, "{'metadata':{'name':'p','namespace':'n','uid':'v',"
                                       "'resourceVersion':'7'}}");
    const struct json *about;
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    plan_event(&plan, &kind_pod, pod, "Normal", "Why", "because %d", 7);
    about = json_get(plan.last->object, "involvedObject");
    assert_string_equal(json_get_string(about, "kind", ""), "Pod");
    assert_string_equal(json_get_string(about, "apiVersion", ""), "v1");
    assert_string_equal(json_get_string(about, "namespace", ""), "n");
    assert_string_equal(json_get_string(about, "uid", ""), "v");
    assert_string_equal(json_get_string(plan.last->object, "message", ""), "because 7");
    assert_string_equal(object_namespace(plan.last->object), "n");
    assert_string_equal(plan.last->name, "");
    plan_event(&plan, &kind_node, node, "Warning", "Why", "%s", "x");
    assert_string_equal(object_namespace(plan.last->object), "default");
    assert_null(json_get(json_get(plan.last->object, "involvedObject"), "namespace"));
    arena_release(&a);
}

static void without_memory_steps_are_left_out(void **state)
{
    struct arena build = ARENA_INIT(1 << 16), a = ARENA_INIT(0);
    const struct json *pod = parse(&build, "{'metadata':{'name':'p'}}");
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    plan_create(&plan, &kind_pod, pod);
    plan_delete(&plan, &kind_pod, pod, -1);
    plan_update_status(&plan, &kind_pod, pod);
    plan_patch(&plan, &kind_pod, pod, pod);
    plan_evict(&plan, pod);
    plan_release(&plan, pod);
    plan_bind(&plan, pod, pod);
    plan_event(&plan, &kind_pod, pod, "Normal", "x", "y");
    assert_true(plan_is_empty(&plan));
    assert_true(arena_failed(&a));
    arena_release(&build);
}

static void evictions_and_releases_leave_other_finalizers(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *pod = parse(&a, "{'metadata':{'name':'p','uid':'u','resourceVersion':'7',"
                                       "'finalizers':['a.b/c']},'spec':{"
                                       "'terminationGracePeriodSeconds':0}}");
    const struct json *held = parse(&a, "{'metadata':{'name':'p','uid':'u','resourceVersion':'8',"
                                        "'finalizers':['a.b/c','" FINALIZER_TRACKING "']}}");
    struct plan plan;

    (void)state;
    plan_init(&plan, &a);
    plan_evict(&plan, pod);
    assert_int_equal(plan.last->op, PLAN_EVICT);
    assert_int_equal(plan.last->grace_seconds, 1);
    assert_true(json_equal(plan.last->object,
                           parse(&a, "{'metadata':{'finalizers':['a.b/c','" FINALIZER_TRACKING
                                     "'],'resourceVersion':'7'}}")));
    plan_evict(&plan, held);
    assert_int_equal(plan.last->grace_seconds, -1);
    assert_int_equal(json_len(json_at(plan.last->object, "metadata", "finalizers")), 2);
    plan_release(&plan, held);
    assert_int_equal(plan.last->op, PLAN_PATCH);
    assert_true(
        json_equal(plan.last->object,
                   parse(&a, "{'metadata':{'finalizers':['a.b/c'],'resourceVersion':'8'}}")));
    arena_release(&a);
}

/* --- ports ------------------------------------------------------------------------------------ */

static void ports_are_kept_or_chosen(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    const struct json *leases[] = {
        port_lease_new(&a, NULL, 20000, "ns", "a", "uid-a"),
        port_lease_new(&a, NULL, 29999, "ns", "b", "uid-b"),
        parse(&a, "{'metadata':{'name':'other'}}"),
        parse(&a, "{'metadata':{'name':'master-port-80'}}"),
        parse(&a, "{'metadata':{'name':'master-port-29998'}}"),
    };
    struct port_claim mine = port_claim_for(&a, leases, 5, "uid-a", 20000);
    struct port_claim taken = port_claim_for(&a, leases, 5, "uid-a", 29999);
    struct port_claim fresh = port_claim_for(&a, leases, 5, "uid-c", 0);
    struct port_claim odd = port_claim_for(&a, leases, 5, "uid-c", 99999);

    (void)state;
    assert_true(mine.held);
    assert_ptr_equal(mine.lease, leases[0]);
    assert_int_equal(mine.port, 20000);
    assert_false(taken.held);
    assert_int_not_equal(taken.port, 29999);
    assert_false(fresh.held);
    assert_true(fresh.port >= PORT_FIRST && fresh.port < PORT_FIRST + PORT_COUNT);
    assert_int_equal(odd.port, fresh.port);
    assert_int_equal(port_claim_for(&a, leases, 5, "uid-c", 29998).port == 29998, false);
    assert_string_equal(object_name(leases[0]), "master-port-20000");
    assert_string_equal(json_string(json_at(leases[0], "spec", "holderIdentity"), ""), "ns/a");
    assert_string_equal(object_namespace(leases[0]), SYSTEM_NAMESPACE);
    arena_release(&a);
    arena_init(&a, 0);
    assert_int_equal(port_claim_for(&a, NULL, 0, "x", 123).port, 123);
}

static bool only_a(void *arg, const struct json *lease, const char *uid)
{
    (void)arg;
    (void)lease;
    return strcmp(uid, "uid-a") == 0;
}

static void ports_of_gone_jobs_are_released(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    struct json *going = port_lease_new(&a, NULL, 20002, "ns", "c", "uid-c");
    const struct json *leases[] = {
        port_lease_new(&a, NULL, 20000, "ns", "a", "uid-a"),
        port_lease_new(&a, NULL, 20001, "ns", "b", "uid-b"),
        going,
        parse(&a, "{'metadata':{'name':'leader','labels':{'batch.tensorstack.dev/job-uid':'x'}}}"),
        parse(&a, "{'metadata':{'name':'master-port-20003'}}"),
    };
    struct plan plan;

    (void)state;
    json_set_string(&a, json_get_mut(going, "metadata"), "deletionTimestamp",
                    "2026-01-01T00:00:00Z");
    plan_init(&plan, &a);
    job_release_ports(leases, ELEMS(leases), only_a, NULL, &plan);
    assert_non_null(plan.first);
    assert_ptr_equal(plan.first, plan.last);
    assert_int_equal(plan.first->op, PLAN_DELETE);
    assert_string_equal(plan.first->name, "master-port-20001");
    arena_release(&a);
}

/* Ten thousand leases are read only by jobs that have to choose a port. */
static void most_jobs_need_only_their_own_lease(void **state)
{
    struct arena a = ARENA_INIT(1 << 16);
    const struct json *fresh = parse(&a, "{'metadata':{'uid':'u'}}");
    const struct json *runs = parse(
        &a, "{'metadata':{'uid':'u'},'status':{'phase':'Running','masterPort':20007}}");
    const struct json *over = parse(&a, "{'metadata':{'uid':'u'},'status':{'phase':'Failed'}}");
    const struct json *done = parse(&a, "{'metadata':{'uid':'u'},'status':{'phase':'Succeeded'}}");
    const struct json *two = parse(&a, "{'metadata':{'uid':'u'},'spec':{'ssh':{'enabled':true}},"
                                       "'status':{'port':20007,'ssh':{'port':20008}}}");
    const struct json *const none[PORTS_OF_JOB] = {NULL};
    const struct json *const others[PORTS_OF_JOB] = {
        port_lease_new(&a, NULL, 20007, "ns", "b", "other")};
    const struct json *const own[PORTS_OF_JOB] = {port_lease_new(&a, NULL, 20007, "ns", "a", "u")};
    const struct json *const both[PORTS_OF_JOB] = {own[0],
                                                   port_lease_new(&a, NULL, 20008, "ns", "a", "u")};
    const char *names[PORTS_OF_JOB];

    (void)state;
    port_lease_names(&a, fresh, names);
    assert_null(names[0]);
    port_lease_names(&a, runs, names);
    assert_string_equal(names[0], "master-port-20007");
    assert_null(names[1]);
    assert_false(port_leases_suffice(fresh, none));
    assert_false(port_leases_suffice(runs, none));
    assert_false(port_leases_suffice(runs, others));
    assert_true(port_leases_suffice(runs, own));
    assert_true(port_leases_suffice(over, none) && port_leases_suffice(done, none));
    port_lease_names(&a, two, names);
    assert_string_equal(names[1], "master-port-20008");
    assert_false(port_leases_suffice(two, own));
    assert_true(port_leases_suffice(two, both));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_open_only_after_a_step),
        cmocka_unit_test(the_earliest_wake_wins),
        cmocka_unit_test(patches_know_their_subresource),
        cmocka_unit_test(events_name_what_they_are_about),
        cmocka_unit_test(without_memory_steps_are_left_out),
        cmocka_unit_test(evictions_and_releases_leave_other_finalizers),
        cmocka_unit_test(ports_are_kept_or_chosen),
        cmocka_unit_test(ports_of_gone_jobs_are_released),
        cmocka_unit_test(most_jobs_need_only_their_own_lease),
    };

    return cmocka_run_group_tests_name("core plan", tests, NULL, NULL);
}
