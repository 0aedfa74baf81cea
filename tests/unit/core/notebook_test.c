/* notebook_test.c - Notebooks, as far as a running one does not show: ssh where there is none, and
 * its two ports. */
#include "core/app.h"
#include "world.h"

#define NOTEBOOK(status)                                                                           \
    "{'metadata':{'name':'nb','namespace':'ns','uid':'u-1','resourceVersion':'1'},"                \
    "'spec':{'ssh':{'enabled':true,'authorized_keys':['k']},'template':{'spec':{'containers':"     \
    "[{'name':'notebook','resources':{'limits':{'cpu':'1','nvidia.com/gpu':'1'}}}]}}}" status "}"

struct look {
    struct arena arena;
    struct plan plan;
};

static void look(struct look *l, const char *notebook, bool shared_network,
                 const struct json *const *leases, size_t leases_len)
{
    struct job_snapshot s = {.shared_network = shared_network,
                             .leases = leases,
                             .leases_len = leases_len,
                             .now_ms = INT64_C(1800000000000)};

    s.job = parse(&l->arena, notebook);
    plan_init(&l->plan, &l->arena);
    app_reconcile(&app_kind_notebook, &s, &l->plan);
}

static const struct json *step_of(const struct look *l, enum plan_op op, const struct kind *k)
{
    for (const struct plan_step *s = l->plan.first; s; s = s->next)
        if (s->op == op && (s->kind == k || op == PLAN_EVENT))
            return s->object;
    return NULL;
}

static void on_a_cluster_it_is_said_that_there_is_no_ssh(void **state)
{
    struct look l = {.arena = ARENA_INIT(1 << 20)};
    const struct json *notebook, *pod;

    (void)state;
    look(&l, NOTEBOOK(""), false, NULL, 0);
    notebook = step_of(&l, PLAN_UPDATE_STATUS, &kind_notebook);
    assert_string_equal(json_get_string(object_condition(notebook, "SshReady"), "reason", ""),
                        "NotHere");
    assert_null(json_at(notebook, "status", "ssh"));
    assert_string_equal(json_get_string(step_of(&l, PLAN_EVENT, NULL), "reason", ""),
                        "SshNotReady");
    pod = step_of(&l, PLAN_CREATE, &kind_pod);
    assert_non_null(pod);
    assert_null(json_at(pod, "spec", "initContainers"));
    arena_release(&l.arena);
}

static void it_has_two_ports_one_after_the_other(void **state)
{
    struct look l = {.arena = ARENA_INIT(8 << 20)};
    const struct json *leases[] = {port_lease_new(&l.arena, NULL, 20001, "ns", "nb", "u-1"),
                                   port_lease_new(&l.arena, NULL, 20002, "ns", "nb", "u-1")};
    const struct json *found, *setup;

    (void)state;
    look(&l, NOTEBOOK(",'status':{'port':20001}"), true, NULL, 0);
    assert_string_equal(object_name(step_of(&l, PLAN_CREATE, &kind_lease)), "master-port-20001");
    assert_null(step_of(&l, PLAN_CREATE, &kind_pod));
    look(&l, NOTEBOOK(",'status':{'port':20001}"), true, leases, 1);
    found = step_of(&l, PLAN_UPDATE_STATUS, &kind_notebook);
    assert_int_not_equal(json_int(json_at(found, "status", "ssh", "port"), 20001), 20001);
    assert_null(step_of(&l, PLAN_CREATE, &kind_pod));
    look(&l, NOTEBOOK(",'status':{'port':20001,'ssh':{'port':20002}}"), true, leases, 2);
    found = step_of(&l, PLAN_CREATE, &kind_pod);
    assert_non_null(found);
    assert_non_null(step_of(&l, PLAN_CREATE, &kind_secret));
    /* It needs no GPU, and adds nothing to the pod's processors and memory. */
    setup = json_get(json_first(json_at(found, "spec", "initContainers")), "resources");
    assert_string_equal(json_string(json_at(setup, "limits", "cpu"), ""), "1");
    assert_null(json_at(setup, "limits", "nvidia.com/gpu"));
    arena_release(&l.arena);
}

/* Also when its PodGroup is gone. */
static void one_that_ran_too_long_says_so(void **state)
{
    static const char *const why = "It is suspended: it ran too long; setting spec.suspend to "
                                   "false starts it again.";
    struct look l = {.arena = ARENA_INIT(1 << 20)};
    const struct json *group = parse(
        &l.arena, "{'metadata':{'name':'nb-x'},'status':{'conditions':[{'type':"
                  "'MaxDurationExceeded','status':'True','message':'it ran too long'}]}}");
    struct json *notebook = parse(&l.arena, NOTEBOOK(""));
    const struct json *status;

    (void)state;
    json_set_bool(&l.arena, json_make_object(&l.arena, notebook, "spec"), "suspend", true);
    for (int gone = 0; gone < 2; gone++) {
        struct job_snapshot s = {
            .job = notebook, .group = gone ? NULL : group, .now_ms = INT64_C(1800000000000)};

        plan_init(&l.plan, &l.arena);
        app_reconcile(&app_kind_notebook, &s, &l.plan);
        status = json_get(step_of(&l, PLAN_UPDATE_STATUS, &kind_notebook), "status");
        status = status ? status : json_get(notebook, "status"); /* nothing changed */
        assert_string_equal(json_get_string(status, "reason", ""), "MaxDurationExceeded");
        assert_string_equal(json_get_string(status, "message", ""), why);
        json_set(&l.arena, notebook, "status", json_clone(&l.arena, status));
    }
    arena_release(&l.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_a_cluster_it_is_said_that_there_is_no_ssh),
        cmocka_unit_test(it_has_two_ports_one_after_the_other),
        cmocka_unit_test(one_that_ran_too_long_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
