/* status_test.c - every combination of what pods can be, and what the job says then. */
#include "world.h"

enum pod_is { IS_MISSING, IS_PENDING, IS_RUNNING, IS_SUCCEEDED, IS_FAILED, IS_UNKNOWN, IS_COUNT };

static const char *const phase_of[] = {
    [IS_MISSING] = "",        [IS_PENDING] = "Pending",
    [IS_RUNNING] = "Running", [IS_SUCCEEDED] = "Succeeded",
    [IS_FAILED] = "Failed",   [IS_UNKNOWN] = "Unknown",
};

static void bring_about(struct world *w, int index, enum pod_is what)
{
    const char *name = world_name(w, "worker", index);
    const struct json *old = world_get(w, WORLD_PODS, name);
    struct json *pod;

    switch (what) {
    case IS_MISSING:
        world_change(w, WORLD_PODS, old, NULL);
        return;
    case IS_SUCCEEDED:
    case IS_FAILED:
        world_pod_exits(w, name, what == IS_FAILED);
        return;
    case IS_PENDING:
        return;
    case IS_RUNNING:
    case IS_UNKNOWN:
    case IS_COUNT:
        break;
    }
    pod = world_edit(w, old);
    json_set_string(&w->arena, json_make_object(&w->arena, pod, "status"), "phase", phase_of[what]);
    world_change(w, WORLD_PODS, old, pod);
}

static const char *wanted_phase(enum pod_is master, enum pod_is worker, enum pod_is other)
{
    if (master == IS_SUCCEEDED || master == IS_FAILED)
        return phase_of[master];
    if (master == IS_RUNNING || worker == IS_RUNNING || other == IS_RUNNING)
        return "Running";
    if (master == IS_UNKNOWN || worker == IS_UNKNOWN || other == IS_UNKNOWN)
        return "Unknown";
    return "Pending";
}

static void check(struct world *w, enum pod_is master, enum pod_is worker, enum pod_is other)
{
    const char *phase = wanted_phase(master, worker, other);
    bool good = master == IS_SUCCEEDED, bad = master == IS_FAILED, over = good || bad;
    bool runs = strcmp(phase, "Running") == 0;
    bool failure = bad || worker == IS_FAILED || other == IS_FAILED;
    bool all_made = master != IS_MISSING && worker != IS_MISSING && other != IS_MISSING;

    assert_string_equal(world_phase(w), phase);
    assert_string_equal(world_condition(w, "Running", "status"), runs ? "True" : "False");
    assert_string_equal(world_condition(w, "ReplicaFailure", "status"), failure ? "True" : "False");
    assert_string_equal(world_condition(w, "Completed", "status"), over   ? "True"
                                                                   : runs ? "False"
                                                                          : "absent");
    assert_string_equal(world_condition(w, "Failed", "status"), bad    ? "True"
                                                                : good ? "False"
                                                                       : "absent");
    assert_string_equal(world_condition(w, "Initialized", "status"),
                        all_made || over ? "True" : "absent");
    assert_int_equal(json_get(world_status(w), "completionTime") != NULL, over);
    assert_int_equal(json_get(world_status(w), "startTime") != NULL, over || runs);
}

static void every_combination_of_three(void **state)
{
    (void)state;
    for (int m = 0; m < IS_COUNT; m++)
        for (int a = 0; a < IS_COUNT; a++)
            for (int b = 0; b < IS_COUNT; b++) {
                struct plan plan;
                struct world w;
                const struct json *old;
                struct json *job;

                world_init(&w);
                world_submit(&w, 3, "Never", "");
                world_settle(&w);
                bring_about(&w, 0, (enum pod_is)m);
                bring_about(&w, 1, (enum pod_is)a);
                bring_about(&w, 2, (enum pod_is)b);
                /* as if seen for the first time, after the port was leased */
                old = world_job(&w);
                job = world_edit(&w, old);
                json_set(&w.arena, json_get_mut(job, "status"), "tasks", json_new_array(&w.arena));
                json_remove(json_get_mut(job, "status"), "conditions");
                world_change(&w, WORLD_JOBS, old, job);
                world_plan(&w, &plan);
                world_apply(&w, &plan, 1);
                check(&w, (enum pod_is)m, (enum pod_is)a, (enum pod_is)b);
                world_settle(&w);
                world_release(&w);
            }
}

static void tasks_tell_of_every_replica(void **state)
{
    const struct json *task, *replica, *container;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    world_settle(&w);
    world_all_run(&w);
    world_pod_exits(&w, world_name(&w, "worker", 1), 139);
    world_settle(&w);
    task = json_first(json_get(world_status(&w), "tasks"));
    assert_string_equal(json_get_string(task, "type", ""), "worker");
    assert_null(json_get(task, "restartCount"));
    replica = json_index(json_get(task, "replicas"), 1);
    assert_string_equal(json_get_string(replica, "name", ""), "mnist-40c14-worker-1");
    assert_string_equal(json_get_string(replica, "uid", ""),
                        object_uid(world_pod(&w, "worker", 1)));
    assert_string_equal(json_get_string(replica, "phase", ""), "Failed");
    container = json_first(json_get(replica, "containers"));
    assert_string_equal(json_get_string(container, "name", ""), "pytorch");
    assert_string_equal(json_get_string(container, "state", ""), "Terminated");
    assert_int_equal(json_get_int(container, "exitCode", 0), 139);
    container = json_first(json_get(json_index(json_get(task, "replicas"), 0), "containers"));
    assert_string_equal(json_get_string(container, "state", ""), "Running");
    assert_null(json_get(container, "exitCode"));
    world_release(&w);
}

static void containers_wait_or_are_unknown(void **state)
{
    const struct json *old, *containers;
    struct json *pod;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    world_settle(&w);
    old = world_pod(&w, "worker", 0);
    pod = world_edit(&w, old);
    json_set(&w.arena, pod, "status",
             parse(&w.arena, "{'phase':'Pending','containerStatuses':[{'name':'a','state':{"
                             "'waiting':{'reason':'ErrImagePull','message':'no image'}}},"
                             "{'name':'b'}]}"));
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    containers = json_get(
        json_first(json_get(json_first(json_get(world_status(&w), "tasks")), "replicas")),
        "containers");
    assert_string_equal(json_get_string(json_index(containers, 0), "state", ""), "Waiting");
    assert_string_equal(json_get_string(json_index(containers, 1), "state", ""), "Unknown");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "ErrImagePull");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "mnist-40c14-worker-0 is waiting: no image");
    world_release(&w);
}

static void the_schedulers_sentence_is_passed_on(void **state)
{
    const struct json *old;
    struct json *pod, *group;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "0 of 2 pods are running");
    old = world_pod(&w, "worker", 1);
    pod = world_edit(&w, old);
    json_set(&w.arena, pod, "status",
             parse(&w.arena, "{'phase':'Pending','conditions':[{'type':'PodScheduled',"
                             "'status':'False','reason':'Unschedulable','message':'too big'}]}"));
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "Unschedulable");
    assert_string_equal(json_get_string(world_status(&w), "message", ""), "too big");
    assert_string_equal(world_condition(&w, "Running", "message"), "too big");
    old = world_now(&w, WORLD_GROUPS)->items[0];
    group = world_edit(&w, old);
    json_set_string(&w.arena, json_make_object(&w.arena, group, "status"), "reason",
                    "QuotaExceeded");
    json_set_int(&w.arena, json_make_object(&w.arena, group, "status"), "place", 3);
    world_change(&w, WORLD_GROUPS, old, group);
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "QuotaExceeded");
    assert_string_equal(json_get_string(world_status(&w), "message", ""), "too big");
    assert_int_equal(json_get_int(world_status(&w), "place", 0), 3);
    old = world_now(&w, WORLD_GROUPS)->items[0];
    group = world_edit(&w, old);
    json_remove(json_make_object(&w.arena, group, "status"), "place");
    world_change(&w, WORLD_GROUPS, old, group);
    world_settle(&w);
    assert_null(json_get(world_status(&w), "place"));
    world_release(&w);
}

/* Looks as often as the plans ask for it, which never ends while pods are refused. */
static void look(struct world *w, int times)
{
    struct plan plan;

    while (times-- > 0) {
        world_plan(w, &plan);
        world_apply(w, &plan, -1);
    }
}

static void a_refusal_is_told_once_with_the_apis_words(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    w.refusal = "pods \"mnist-40c14-worker-0\" is forbidden: exceeded quota: q, requested: cpu=1, "
                "used: cpu=4, limited: cpu=4";
    look(&w, 5);
    assert_int_equal(world_pods(&w), 0);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "Refused");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "2 of 2 pods are refused: exceeded quota: q, requested: cpu=1, used: "
                        "cpu=4, limited: cpu=4");
    assert_string_equal(world_condition(&w, "Running", "message"),
                        json_get_string(world_status(&w), "message", ""));
    assert_int_equal(world_events(&w, "Refused"), 1);
    w.refused_until_ms = w.now_ms + 10000; /* no event reports when it is allowed */
    look(&w, 1);
    assert_int_equal(w.wake_at_ms, w.refused_until_ms);
    w.refused_until_ms = 0;
    /* another pod was asked for first this time: no news */
    w.refusal = "pods \"mnist-40c14-worker-1\" is forbidden: exceeded quota: q, requested: cpu=1, "
                "used: cpu=4, limited: cpu=4";
    look(&w, 2);
    assert_int_equal(world_events(&w, "Refused"), 1);
    w.refusal = "admission webhook \"no\" denied the request: never";
    look(&w, 2);
    assert_int_equal(world_events(&w, "Refused"), 2);
    assert_string_equal(world_event_text(&w, "Refused"),
                        "2 of 2 pods are refused: admission webhook \"no\" denied the request: "
                        "never");
    w.refusal = NULL;
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "Starting");
    world_release(&w);
}

static void a_scheduler_that_says_nothing_is_named(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit_text(&w, "{'metadata':{'name':'mnist','namespace':'ns','uid':'u','generation':1},"
                          "'spec':{'replicaSpecs':[{'type':'worker','replicas':2,'template':{'spec'"
                          ":{'schedulerName':'volcano','containers':[{'name':'pytorch'}]}}}]}}");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "Starting");
    assert_int_equal(w.wake_at_ms, w.now_ms + 10000); /* it may be taking them just now */
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "SchedulerSilent");
    assert_non_null(strstr(json_get_string(world_status(&w), "message", ""),
                           "-worker-0 is waiting for the scheduler \"volcano\", which has not "
                           "responded: does it exist? Without schedulerName the default "
                           "scheduler places it"));
    assert_int_equal(world_events(&w, "SchedulerSilent"), 1);
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "");
    world_release(&w);
}

static void foreign_parts_of_the_status_are_kept(void **state)
{
    const struct json *old;
    struct json *job;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    world_settle(&w);
    old = world_job(&w);
    job = world_edit(&w, old);
    json_set(&w.arena, json_get_mut(job, "status"), "tensorboard", parse(&w.arena, "{'a':1}"));
    json_append(json_make_array(&w.arena, json_get_mut(job, "status"), "conditions"),
                parse(&w.arena, "{'type':'Other','status':'True'}"));
    world_change(&w, WORLD_JOBS, old, job);
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(json_int(json_at(world_status(&w), "tensorboard", "a"), 0), 1);
    assert_string_equal(world_condition(&w, "Other", "status"), "True");
    world_release(&w);
}

static void transition_times_change_with_the_status_only(void **state)
{
    const char *time;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    world_settle(&w);
    world_all_run(&w);
    world_settle(&w);
    time = world_condition(&w, "Running", "lastTransitionTime");
    w.now_ms += 5000;
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    world_settle(&w);
    assert_string_equal(world_condition(&w, "Running", "message"), "1 of 2 pods are running.");
    assert_string_equal(world_condition(&w, "Running", "lastTransitionTime"), time);
    assert_string_not_equal(world_condition(&w, "ReplicaFailure", "lastTransitionTime"), time);
    world_release(&w);
}

/* --- the table of conditions in docs/semantics.md --------------------------------------------- */

static void is_new(struct world *w)
{
    struct plan plan;

    world_init(w);
    world_submit(w, 2, "Never", "'runPolicy':{'activeDeadlineSeconds':60}");
    world_plan(w, &plan); /* one look: the status and the lease, no pods yet */
    world_apply(w, &plan, -1);
}

static void is_made(struct world *w)
{
    is_new(w);
    world_settle(w);
}

static void is_running(struct world *w)
{
    is_made(w);
    world_all_run(w);
    world_settle(w);
}

static void has_lost_a_worker(struct world *w)
{
    is_running(w);
    world_pod_exits(w, world_name(w, "worker", 1), 1);
    world_settle(w);
}

static void is_paused(struct world *w)
{
    is_running(w);
    world_edit_spec(w, "runMode", "{'pause':{'enabled':true}}");
    world_settle(w);
    world_stop_deleted(w);
    world_settle(w);
}

static void is_resumed(struct world *w)
{
    is_paused(w);
    world_edit_spec(w, "runMode", "{'pause':{'enabled':false}}");
    world_settle(w);
    world_all_run(w);
    world_settle(w);
}

static void has_succeeded(struct world *w)
{
    is_running(w);
    world_pod_exits(w, world_name(w, "worker", 0), 0);
    world_settle(w);
}

static void has_failed(struct world *w)
{
    is_running(w);
    world_pod_exits(w, world_name(w, "worker", 0), 1);
    world_settle(w);
}

static void is_over_time(struct world *w)
{
    is_running(w);
    w->now_ms += 120000;
    world_settle(w);
}

static void conditions_are_those_of_the_table(void **state)
{
    static const char *const types[] = {"Initialized", "Running", "ReplicaFailure",
                                        "Completed",   "Failed",  "Paused"};
    static const struct {
        void (*come_to)(struct world *w);
        const char *phase, *conditions[ELEMS(types)]; /* status and reason */
    } table[] = {
        {is_new, "Pending", {"", "False Pending", "False -", "", "", ""}},
        {is_made, "Pending", {"True -", "False Pending", "False -", "", "", ""}},
        {is_running, "Running", {"True -", "True -", "False -", "False NotFinished", "", ""}},
        {has_lost_a_worker,
         "Running",
         {"True -", "True -", "True ReplicaFailed", "False NotFinished", "", ""}},
        {is_paused,
         "Paused",
         {"True -", "False Paused", "False -", "False NotFinished", "", "True Paused"}},
        {is_resumed,
         "Running",
         {"True -", "True -", "False -", "False NotFinished", "", "False Resumed"}},
        {has_succeeded,
         "Succeeded",
         {"True -", "False Succeeded", "False -", "True Succeeded", "False Succeeded", ""}},
        {has_failed,
         "Failed",
         {"True -", "False Failed", "True Failed", "True Failed", "True Failed", ""}},
        {is_over_time,
         "Failed",
         {"True -", "False DeadlineExceeded", "False -", "True Failed", "True DeadlineExceeded",
          ""}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        struct world w;

        table[i].come_to(&w);
        assert_string_equal(world_phase(&w), table[i].phase);
        for (size_t k = 0; k < ELEMS(types); k++) {
            const struct json *c = object_condition(world_job(&w), types[k]);
            const char *found = c ? arena_printf(&w.arena, "%s %s",
                                                 json_get_string(c, "status", ""),
                                                 json_get_string(c, "reason", ""))
                                  : "";

            if (strcmp(found, table[i].conditions[k]) != 0)
                fail_msg("row %zu: %s is \"%s\", not \"%s\"", i, types[k], found,
                         table[i].conditions[k]);
        }
        world_release(&w);
    }
}

/* Also for a finished job: a changed time to live is acknowledged. */
static void the_generation_is_observed_to_the_end(void **state)
{
    const struct json *old;
    struct json *job;
    struct world w;

    (void)state;
    has_succeeded(&w);
    old = world_job(&w);
    job = world_edit(&w, old);
    json_set_int(&w.arena, json_get_mut(job, "metadata"), "generation", 2);
    world_change(&w, WORLD_JOBS, old, job);
    world_settle(&w);
    assert_int_equal(json_get_int(world_status(&w), "observedGeneration", 0), 2);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_release(&w);
}

static void an_unrecognized_phase_is_unknown(void **state)
{
    const struct json *old;
    struct json *job;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    world_settle(&w);
    old = world_job(&w);
    job = world_edit(&w, old);
    json_set_string(&w.arena, json_get_mut(job, "status"), "phase", "Melted");
    world_change(&w, WORLD_JOBS, old, job);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Pending");
    world_release(&w);
}

/* Without them the pods run and do not find each other. */
static void refused_names_are_told_of_a_job_that_runs(void **state)
{
    struct world w;
    const char *names[2];

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 2, "Never", "");
    look(&w, 5);
    assert_int_equal(world_pods(&w), 2);
    w.refuses = &kind_service;
    w.refusal = "services \"mnist-40c14-worker-0\" is forbidden: exceeded quota: q, requested: "
                "services=1, used: services=0, limited: services=0";
    for (size_t i = 0; i < 2; i++)
        names[i] = object_name(world_now(&w, WORLD_PODS)->items[i]);
    for (size_t i = 0; i < 2; i++) {
        const struct json *old = world_get(&w, WORLD_PODS, names[i]);
        struct json *placed = world_edit(&w, old);

        json_set_string(&w.arena, json_make_object(&w.arena, placed, "spec"), "nodeName", "n1");
        world_change(&w, WORLD_PODS, old, placed);
        world_pod_runs(&w, names[i]);
    }
    look(&w, 5);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 0);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "a Service of the job is refused: exceeded quota: q, requested: "
                        "services=1, used: services=0, limited: services=0");
    w.refusal = NULL;
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 2);
    assert_string_equal(json_get_string(world_status(&w), "message", ""), "");
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_three),
        cmocka_unit_test(tasks_tell_of_every_replica),
        cmocka_unit_test(containers_wait_or_are_unknown),
        cmocka_unit_test(the_schedulers_sentence_is_passed_on),
        cmocka_unit_test(a_refusal_is_told_once_with_the_apis_words),
        cmocka_unit_test(refused_names_are_told_of_a_job_that_runs),
        cmocka_unit_test(a_scheduler_that_says_nothing_is_named),
        cmocka_unit_test(foreign_parts_of_the_status_are_kept),
        cmocka_unit_test(transition_times_change_with_the_status_only),
        cmocka_unit_test(conditions_are_those_of_the_table),
        cmocka_unit_test(the_generation_is_observed_to_the_end),
        cmocka_unit_test(an_unrecognized_phase_is_unknown),
    };

    return cmocka_run_group_tests_name("core status", tests, NULL, NULL);
}
