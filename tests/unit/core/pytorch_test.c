/* pytorch_test.c - a PyTorchTrainingJob's life, told through the world of world.h. */
#include "world.h"

/* A job of n replicas that has been made and runs. */
static void start(struct world *w, int replicas, const char *policy, const char *more)
{
    world_init(w);
    world_submit(w, replicas, policy, more);
    world_settle(w);
    world_all_run(w);
    world_settle(w);
}

static const char *env_value(const struct json *pod, const char *name)
{
    json_each (var, json_get(json_first(json_at(pod, "spec", "containers")), "env"))
        if (json_string_is(json_get(var, "name"), name))
            return json_get_string(var, "value", "");
    return "absent";
}

/* --- creation --------------------------------------------------------------------------------- */

static int64_t group_int(struct world *w, const char *member)
{
    const struct json *group = world_get(w, WORLD_GROUPS, job_child_name(&w->arena, world_job(w)));

    assert_non_null(group);
    return json_int(json_at(group, "spec", member), -1);
}

static void four_replicas_make_four_pods(void **state)
{
    struct world w;
    char rank[16];

    (void)state;
    world_init(&w);
    world_submit(&w, 4, "OnFailure", "");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 4);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 1);
    for (int i = 0; i < 4; i++) {
        const struct json *pod = world_pod(&w, "worker", i);

        (void)snprintf(rank, sizeof(rank), "%d", i);
        assert_string_equal(env_value(pod, "RANK"), rank);
        assert_string_equal(env_value(pod, "WORLD_SIZE"), "4");
        assert_string_equal(env_value(pod, "MASTER_ADDR"), world_name(&w, "worker", 0));
        assert_string_equal(env_value(pod, "MASTER_PORT"),
                            env_value(world_pod(&w, "worker", 0), "MASTER_PORT"));
        assert_string_equal(env_value(pod, "PYTHONUNBUFFERED"), "1");
        assert_true(object_is_controlled_by(pod, object_uid(world_job(&w))));
    }
    assert_string_equal(world_phase(&w), "Pending");
    assert_string_equal(world_condition(&w, "Initialized", "status"), "True");
    assert_string_equal(world_condition(&w, "Initialized", "reason"), "-");
    assert_string_equal(world_condition(&w, "Initialized", "message"),
                        "The job has been initialized successfully.");
    assert_int_equal(world_events(&w, "Created"), 1);
    assert_string_equal(world_event_text(&w, "Created"),
                        "A PyTorchTrainingJob has been created: mnist");
    assert_int_equal(world_events(&w, "NewReplica"), 4);
    assert_string_equal(world_event_text(&w, "NewReplica"),
                        "Create the replica[mnist-40c14-worker-3] for the first time.");
    assert_int_equal(world_events(&w, "Start"), 1);
    assert_int_equal(json_get_int(world_status(&w), "observedGeneration", 0), 1);
    world_release(&w);
}

static void nothing_is_made_before_the_port_is_ours(void **state)
{
    struct plan plan;
    struct world w;
    int64_t port;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    world_plan(&w, &plan);
    world_apply(&w, &plan, 1); /* the status; the lease is lost on the way */
    port = json_get_int(world_status(&w), "masterPort", 0);
    assert_true(port >= PORT_FIRST && port < PORT_FIRST + PORT_COUNT);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    /* another job was faster */
    world_add(&w, WORLD_LEASES, port_lease_new(&w.arena, NULL, port, "ns", "other", "other-uid"));
    world_plan(&w, &plan);
    world_apply(&w, &plan, -1);
    assert_int_equal(world_pods(&w), 0);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_int_not_equal(json_get_int(world_status(&w), "masterPort", 0), port);
    assert_int_equal(strtoll(env_value(world_pod(&w, "worker", 1), "MASTER_PORT"), NULL, 10),
                     json_get_int(world_status(&w), "masterPort", 0));
    world_release(&w);
}

static void on_a_cluster_the_port_is_constant(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 1, "Never", "");
    world_settle(&w);
    assert_string_equal(env_value(world_pod(&w, "worker", 0), "MASTER_PORT"), "29500");
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_release(&w);
}

/* What is read is as good as what is written: a job that is not as the cache has it makes no pods.
 */
static void on_a_cluster_the_first_pods_come_behind_a_read(void **state)
{
    struct plan plan, old;
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 2, "Never", "");
    world_plan(&w, &plan);
    world_plan(&w, &old);
    assert_int_equal(plan.first->op, PLAN_CHECK);
    for (const struct plan_step *s = plan.first->next; s; s = s->next)
        assert_true(s->op == PLAN_CREATE && s->kind == &kind_pod && s->stage > 0);
    world_apply(&w, &plan, -1);
    assert_int_equal(world_pods(&w), 2);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Pending");
    assert_int_equal(world_events(&w, "Created"), 1);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_apply(&w, &old, -1);
    assert_int_equal(world_pods(&w), 1);
    world_release(&w);
}

/* Killed after the first pod: the others are made behind a write, as everywhere. */
static void on_a_cluster_half_a_beginning_is_written_down(void **state)
{
    struct plan plan;
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 2, "Never", "");
    world_plan(&w, &plan);
    world_apply(&w, &plan, 2);
    assert_int_equal(world_pods(&w), 1);
    world_plan(&w, &plan);
    assert_int_equal(plan.first->op, PLAN_UPDATE_STATUS);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    world_release(&w);
}

/* A pod has no address before it has its node, and a job may wait long for one. */
static void on_a_cluster_names_come_with_the_first_node(void **state)
{
    const struct json *pod;
    struct json *placed;
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 3, "Never", "");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 3);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 0);
    pod = world_pod(&w, "worker", 1);
    placed = world_edit(&w, pod);
    json_set_string(&w.arena, json_make_object(&w.arena, placed, "spec"), "nodeName", "n1");
    world_change(&w, WORLD_PODS, pod, placed);
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 3);
    world_release(&w);
}

static void all_ports_taken_is_said(void **state)
{
    struct plan plan;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    {
        struct world_state all = {.len = PORT_COUNT};

        all.items = arena_alloc(&w.arena, PORT_COUNT * sizeof(*all.items));
        for (int i = 0; i < PORT_COUNT; i++)
            all.items[i] = port_lease_new(&w.arena, NULL, PORT_FIRST + i, "ns", "other", "other");
        world_push(&w, WORLD_LEASES, all);
    }
    world_plan(&w, &plan);
    world_apply(&w, &plan, -1);
    world_plan(&w, &plan);
    assert_true(plan_is_empty(&plan));
    assert_true(plan.wake_at_ms > w.now_ms);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "NoPortFree");
    assert_int_equal(world_events(&w, "NoPortFree"), 1);
    world_release(&w);
}

static void a_foreign_pod_is_reported_and_left_alone(void **state)
{
    const struct json *foreign;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "");
    foreign = world_add(&w, WORLD_PODS,
                        parse(&w.arena, "{'metadata':{'name':'mnist-40c14-worker-1',"
                                        "'namespace':'ns'},'status':{'phase':'Running'}}"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    assert_ptr_equal(world_pod(&w, "worker", 1), foreign);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "NameClash");
    assert_non_null(
        strstr(json_get_string(world_status(&w), "message", ""), "\"mnist-40c14-worker-1\""));
    assert_int_equal(world_events(&w, "NameClash"), 1);
    assert_true(w.wake_at_ms > w.now_ms);
    world_remove(&w, WORLD_PODS, "mnist-40c14-worker-1");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_int_equal(world_events(&w, "NameClash"), 1);
    world_release(&w);
}

static void a_foreign_service_is_a_clash_too(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    world_add(&w, WORLD_SERVICES, parse(&w.arena, "{'metadata':{'name':'mnist-40c14-worker-0'}}"));
    world_add(&w, WORLD_SERVICES, parse(&w.arena, "{'metadata':{'name':'unrelated'}}"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 0);
    assert_non_null(strstr(json_get_string(world_status(&w), "message", ""), "a service"));
    world_release(&w);
}

static void a_job_of_the_same_name_adopts_nothing(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    {
        const struct json *old = world_job(&w);
        struct json *job = world_edit(&w, old);

        json_set_string(&w.arena, json_make_object(&w.arena, job, "metadata"), "uid", "another");
        json_remove(job, "status");
        world_change(&w, WORLD_JOBS, old, job);
    }
    world_settle(&w);
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(w.deleted, 0);
    for (int i = 0; i < 2; i++)
        assert_true(object_is_controlled_by(world_pod(&w, "worker", i), "another"));
    world_release(&w);
}

static void a_job_without_replicas_says_so(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 0, "Never", "");
    world_settle(&w);
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "NoReplicas");
    assert_string_equal(world_phase(&w), "Pending");
    world_release(&w);
}

/* --- running and ending ----------------------------------------------------------------------- */

static void running_is_said_with_the_known_words(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(world_condition(&w, "Running", "status"), "True");
    assert_string_equal(world_condition(&w, "Running", "reason"), "-");
    assert_string_equal(world_condition(&w, "Running", "message"),
                        "All pods are running normally or have completed successfully.");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "False");
    assert_string_equal(world_condition(&w, "Completed", "reason"), "NotFinished");
    assert_string_equal(world_condition(&w, "Completed", "message"), "The job is still running.");
    assert_string_equal(world_condition(&w, "Failed", "status"), "absent");
    assert_null(json_get(world_status(&w), "reason"));
    assert_null(json_get(world_status(&w), "message"));
    assert_int_equal(object_time(world_status(&w), "startTime"), w.now_ms);
    assert_int_equal(world_events(&w, "Running"), 1);
    assert_string_equal(world_event_text(&w, "Running"),
                        "The job began running at 2027-01-15 08:00:00.00 UTC");
    world_release(&w);
}

static void the_master_decides_success(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "Never", "");
    w.now_ms += 5000;
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_int_equal(object_time(world_status(&w), "completionTime"), w.now_ms);
    assert_string_equal(world_condition(&w, "Running", "status"), "False");
    assert_string_equal(world_condition(&w, "Failed", "status"), "False");
    assert_string_equal(world_condition(&w, "Completed", "status"), "True");
    assert_string_equal(world_condition(&w, "Completed", "reason"), "Succeeded");
    assert_string_equal(world_condition(&w, "Completed", "message"),
                        "The job has finished successfully.");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "False");
    assert_int_equal(world_events(&w, "Succeeded"), 1);
    /* Unfinished is the default: the master's pod stays, the others have ten seconds and go */
    assert_int_equal(world_pods(&w), 3);
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "succeeded"), 0), 1);
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "deleted"), 0), 2);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    world_release(&w);
}

static void after_success_replicas_have_ten_seconds_to_end_by_themselves(void **state)
{
    static const char *const policies[] = {"Unfinished", "All"};
    struct world w;

    (void)state;
    for (size_t i = 0; i < ELEMS(policies); i++) {
        bool all = i == 1;
        char more[100];

        (void)snprintf(more, sizeof(more), "'runPolicy':{'cleanUpPolicy':'%s'}", policies[i]);
        start(&w, 3, "Never", more);
        world_pod_exits(&w, world_name(&w, "worker", 0), 0);
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Succeeded");
        assert_int_equal(w.deleted, all); /* the master, with its clean-up */
        assert_int_equal(w.wake_at_ms, w.now_ms + 10000);
        w.now_ms += 200;
        world_pod_exits(&w, world_name(&w, "worker", 1), 0);
        world_settle(&w);
        assert_int_equal(w.deleted, all ? 2 : 0);
        w.now_ms += 9799;
        world_settle(&w);
        assert_int_equal(w.deleted, all ? 2 : 0);
        w.now_ms += 1;
        world_settle(&w);
        assert_int_equal(w.deleted, all ? 3 : 1); /* the one that did not end */
        assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "succeeded"), 0), 2);
        assert_string_equal(world_phase(&w), "Succeeded");
        world_release(&w);
    }
}

static void after_failure_none_is_waited_for(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_int_equal(w.deleted, 2);
    world_release(&w);
}

/* A clock that is set back by hours must not keep pods for hours. */
static void a_clock_set_back_keeps_no_replica_of_a_success(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_int_equal(w.deleted, 0);
    w.now_ms -= INT64_C(3600) * 1000;
    world_settle(&w);
    assert_int_equal(w.deleted, 1);
    world_release(&w);
}

static void the_master_decides_failure(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 0), 137);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    for (int i = 0; i < 2; i++) {
        const char *type = i ? "Completed" : "Failed";

        assert_string_equal(world_condition(&w, type, "status"), "True");
        assert_string_equal(world_condition(&w, type, "reason"), "Failed");
        assert_string_equal(
            world_condition(&w, type, "message"),
            "PyTorchTrainingJob mnist has failed: mnist-40c14-worker-0 failed with exit code 137 "
            "(killed, SIGKILL: likely out of memory); restartPolicy Never does not restart it");
    }
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "True");
    assert_string_equal(world_condition(&w, "Running", "status"), "False");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "MasterFailed");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        world_condition(&w, "Failed", "message"));
    assert_int_equal(world_events(&w, "Failed"), 1);
    assert_int_equal(world_events(&w, "ReplicaFailed"), 1);
    world_release(&w);
}

/* The program's last words are in every place that tells of a failure. */
static void failures_are_told_with_the_last_words(void **state)
{
    static const char *const failed = "mnist-40c14-worker-0 failed with exit code 1: RuntimeError: "
                                      "CUDA error: out of memory";
    static const char *const types[] = {"Completed", "Failed", "ReplicaFailure", "Running"};
    const char *sentence;
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1,
                           "RuntimeError: CUDA error: out of memory");
    world_settle(&w);
    sentence = arena_printf(
        &w.arena,
        "PyTorchTrainingJob mnist has failed: %s; restartPolicy Never does not restart it", failed);
    assert_string_equal(json_get_string(world_status(&w), "message", ""), sentence);
    for (size_t i = 0; i < ELEMS(types); i++) {
        assert_string_equal(world_condition(&w, types[i], "message"), sentence);
        assert_string_equal(world_condition(&w, types[i], "reason"), "Failed");
    }
    assert_string_equal(world_event_text(&w, "ReplicaFailed"), failed);
    assert_string_equal(world_event_text(&w, "Failed"), sentence);
    world_release(&w);
}

static void workers_failures_do_not_end_the_job(void **state)
{
    struct world w;

    (void)state;
    start(&w, 4, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 2), 1);
    world_pod_exits(&w, world_name(&w, "worker", 3), 139);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "True");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "message"),
                        "mnist-40c14-worker-2 failed with exit code 1 (the program ended with an "
                        "error); 1 more failed");
    assert_string_equal(world_condition(&w, "Running", "message"), "2 of 4 pods are running.");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "ReplicaFailed");
    assert_int_equal(world_events(&w, "ReplicaFailed"), 2);
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(world_backoff(&w), 0);
    /* and success is still the master's to decide */
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "True");
    world_release(&w);
}

#define PEER_WORDS "RuntimeError: [gloo/pair.cc:598] Connection closed by peer [127.0.0.1]:475"

/* Who lost its connection fails first, and says nothing of the reason; who has it is a moment
 * later.
 */
static void a_victim_waits_for_the_one_who_failed(void **state)
{
    const struct json *failure;
    struct world w;

    (void)state;
    start(&w, 3, "Never", "");
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1, PEER_WORDS);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(w.wake_at_ms, w.now_ms + 10000);
    w.now_ms += 3000;
    world_pod_fails_saying(&w, world_name(&w, "worker", 1), 1, "ValueError: bad data");
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "PyTorchTrainingJob mnist has failed: mnist-40c14-worker-1 failed with "
                        "exit code 1: ValueError: bad data, and with it mnist-40c14-worker-0; "
                        "restartPolicy Never does not restart it");
    failure = json_get(world_status(&w), "failure");
    assert_string_equal(json_get_string(failure, "replica", ""), "mnist-40c14-worker-1");
    assert_int_equal(json_get_int(failure, "exitCode", -1), 1);
    assert_string_equal(json_get_string(failure, "message", ""), "ValueError: bad data");
    assert_string_equal(json_get_string(failure, "follower", ""), "mnist-40c14-worker-0");
    assert_string_equal(json_get_string(failure, "restartPolicy", ""), "Never");
    assert_int_equal(w.deleted, 1); /* worker 2: none is waited for any more */
    world_release(&w);
}

static void a_cause_that_does_not_come_is_not_waited_for_long(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1, PEER_WORDS);
    world_settle(&w);
    w.now_ms += 9999;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    w.now_ms += 1;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "PyTorchTrainingJob mnist has failed: mnist-40c14-worker-0 failed with "
                        "exit code 1: " PEER_WORDS "; restartPolicy Never does not restart it");
    world_release(&w);
    /* no replica is left to say more */
    start(&w, 2, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 1), 0);
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1, PEER_WORDS);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    world_release(&w);
}

/* A restart of the whole group stops the one who knows; one of the victim alone does not. */
static void a_restart_of_all_waits_for_the_cause_too(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'restartScope':'Job'}");
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1, PEER_WORDS);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 0);
    world_pod_fails_saying(&w, world_name(&w, "worker", 1), 1, "ValueError: bad data");
    {
        struct plan plan;

        world_plan(&w, &plan);
        world_apply(&w, &plan, -1);
    }
    assert_int_equal(world_backoff(&w), 1);
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "mnist-40c14-worker-1 failed with exit code 1: ValueError: bad data, and "
                        "with it mnist-40c14-worker-0; restart 1 of 3 follows at once");
    world_release(&w);
    start(&w, 2, "OnFailure", "");
    world_pod_fails_saying(&w, world_name(&w, "worker", 0), 1, PEER_WORDS);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 1);
    world_release(&w);
}

static void the_end_is_final(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'cleanUpPolicy':'None'}");
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 0));
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_int_equal(world_pods(&w), 1);
    assert_int_equal(world_backoff(&w), 0);
    /* what became of the replicas is still told truly */
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "succeeded"), 0), 1);
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "failed"), 0), 1);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "failed"), 0), 1);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    world_release(&w);
}

/* --- restarts --------------------------------------------------------------------------------- */

static void policy_and_exit_code_decide_replacement(void **state)
{
    static const struct {
        const char *policy;
        int code;
        bool replaced;
    } table[] = {
        {"Always", 0, true},      {"Always", 1, true},      {"OnFailure", 1, true},
        {"OnFailure", 0, false},  {"Never", 1, false},      {"Never", 0, false},
        {"ExitCode", 1, false},   {"ExitCode", 0, false},   {"ExitCode", 130, true},
        {"ExitCode", 137, true},  {"ExitCode", 138, true},  {"ExitCode", 143, true},
        {"ExitCode", 139, false}, {"ExitCode", 134, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++)
        for (int who = 0; who < 2; who++) {
            const char *name, *uid;
            struct world w;

            start(&w, 2, table[i].policy, "");
            name = world_name(&w, "worker", who);
            uid = object_uid(world_get(&w, WORLD_PODS, name));
            world_pod_exits(&w, name, table[i].code);
            world_settle(&w);
            assert_int_equal(strcmp(object_uid(world_get(&w, WORLD_PODS, name)), uid) != 0,
                             table[i].replaced);
            assert_int_equal(world_backoff(&w), table[i].replaced);
            assert_int_equal(world_events(&w, "Restart"), table[i].replaced);
            if (who == 0 && !table[i].replaced)
                assert_string_equal(world_phase(&w), table[i].code ? "Failed" : "Succeeded");
            else
                assert_string_equal(world_phase(&w), "Running");
            world_release(&w);
        }
}

static void a_replacement_keeps_name_and_rank(void **state)
{
    const struct json *task;
    struct world w;

    (void)state;
    start(&w, 4, "OnFailure", "");
    world_pod_exits(&w, world_name(&w, "worker", 2), 137);
    world_settle(&w);
    assert_string_equal(env_value(world_pod(&w, "worker", 2), "RANK"), "2");
    assert_string_equal(json_string(json_at(world_pod(&w, "worker", 2), "status", "phase"), ""),
                        "Pending");
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(w.created, 5);
    assert_int_equal(w.deleted, 1);
    assert_int_equal(world_backoff(&w), 1);
    task = json_first(json_get(world_status(&w), "tasks"));
    assert_int_equal(json_get_int(task, "restartCount", 0), 1);
    assert_string_equal(world_event_text(&w, "Restart"),
                        "Replace the replica[mnist-40c14-worker-2]: 1 of 3 restarts are used.");
    world_release(&w);
}

static void four_failures_share_a_budget_of_three(void **state)
{
    struct world w;

    (void)state;
    start(&w, 4, "OnFailure", "'runPolicy':{'backoffLimit':3}");
    for (int i = 3; i >= 0; i--) {
        world_pod_exits(&w, world_name(&w, "worker", i), 1);
        world_settle(&w);
    }
    assert_int_equal(world_backoff(&w), 3);
    assert_int_equal(w.created, 7);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "BackoffLimitExceeded");
    assert_non_null(strstr(world_condition(&w, "Failed", "message"),
                           "failed with exit code 1 (the program ended with an error); the "
                           "restart budget is spent (3 of 3)"));
    world_release(&w);
}

static void four_failures_at_once_charge_three(void **state)
{
    struct world w;

    (void)state;
    start(&w, 4, "OnFailure", "");
    for (int i = 0; i < 4; i++)
        world_pod_exits(&w, world_name(&w, "worker", i), 1);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 3);
    assert_int_equal(w.created, 7);
    assert_string_equal(world_phase(&w), "Pending");
    world_release(&w);
}

static void without_budget_the_first_failure_is_the_last(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Always", "'runPolicy':{'backoffLimit':0}");
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_int_equal(world_backoff(&w), 0);
    world_release(&w);
}

static void always_on_the_master_ends_with_its_last_exit(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Always", "'runPolicy':{'backoffLimit':2}");
    for (int i = 0; i < 3; i++) {
        world_pod_exits_after(&w, world_name(&w, "worker", 0), 0, RESTART_RESET_MS);
        world_settle(&w);
        world_all_run(&w);
        world_settle(&w);
    }
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_int_equal(world_backoff(&w), 2);
    assert_int_equal(w.created, 3);
    world_release(&w);
}

static void replacements_wait_longer_each_time(void **state)
{
    static const int64_t delays_ms[] = {0, 1000, 2000, 4000};
    const char *name;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'backoffLimit':9}");
    name = world_name(&w, "worker", 1);
    for (size_t i = 0; i < ELEMS(delays_ms); i++) {
        world_pod_exits(&w, name, 1);
        world_settle(&w);
        if (delays_ms[i]) {
            /* it can be looked at until then */
            assert_true(pod_is_finished(world_get(&w, WORLD_PODS, name)));
            assert_int_equal(w.wake_at_ms, w.now_ms + delays_ms[i]);
            assert_string_equal(json_get_string(world_status(&w), "reason", ""), "Restarting");
            assert_int_equal(json_int(json_at(world_status(&w), "failure", "restartSeconds"), 0),
                             delays_ms[i] / 1000);
            w.now_ms += delays_ms[i] - 1;
            world_settle(&w);
            assert_true(pod_is_finished(world_get(&w, WORLD_PODS, name)));
            w.now_ms += 1;
            world_settle(&w);
        }
        assert_false(pod_is_finished(world_get(&w, WORLD_PODS, name)));
        world_pod_runs(&w, name);
        world_settle(&w);
        assert_null(json_get(world_status(&w), "failure"));
    }
    assert_int_equal(world_backoff(&w), 4);
    /* a long run forgives */
    world_pod_exits_after(&w, name, 1, RESTART_RESET_MS);
    world_settle(&w);
    assert_false(pod_is_finished(world_get(&w, WORLD_PODS, name)));
    world_release(&w);
}

static void a_missing_pod_waits_for_its_turn_too(void **state)
{
    const char *name;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'backoffLimit':9}");
    name = world_name(&w, "worker", 1);
    world_pod_exits(&w, name, 1);
    world_settle(&w);
    world_pod_exits(&w, name, 1);
    world_settle(&w);
    world_remove(&w, WORLD_PODS, name); /* deleted by a user meanwhile */
    world_settle(&w);
    assert_null(world_get(&w, WORLD_PODS, name));
    assert_int_equal(w.wake_at_ms, w.now_ms + 1000);
    /* a clock set back does not make it wait for ever */
    w.now_ms -= 3600000;
    world_settle(&w);
    assert_non_null(world_get(&w, WORLD_PODS, name));
    world_release(&w);
}

static void job_scope_replaces_all_for_the_price_of_one(void **state)
{
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 4, "OnFailure", "'runPolicy':{'restartScope':'Job'}");
    world_pod_exits(&w, world_name(&w, "worker", 2), 137);
    world_pod_exits(&w, world_name(&w, "worker", 3), 137);
    world_settle(&w);
    /* three are asked to stop; none is created until they are gone */
    assert_int_equal(world_pods(&w), 2);
    assert_int_equal(w.created, 4);
    world_plan(&w, &plan);
    assert_true(plan_is_empty(&plan));
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(w.created, 8);
    assert_int_equal(world_backoff(&w), 1);
    assert_int_equal(world_events(&w, "Restart"), 1);
    assert_int_equal(
        json_get_int(json_first(json_get(world_status(&w), "tasks")), "restartCount", 0), 4);
    assert_string_equal(world_phase(&w), "Pending");
    assert_int_equal(group_int(&w, "minMember"), 4);
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_events(&w, "Running"), 1);
    world_release(&w);
}

static void job_scope_waits_before_the_second_round(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'restartScope':'Job'}");
    for (int i = 0; i < 2; i++) {
        world_pod_exits(&w, world_name(&w, "worker", 1), 1);
        world_settle(&w);
        world_stop_deleted(&w);
        world_settle(&w);
    }
    assert_int_equal(world_pods(&w), 0); /* stopped at once, started later */
    assert_int_equal(w.wake_at_ms, w.now_ms + 1000);
    w.now_ms += 1000;
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    world_release(&w);
}

static void job_scope_renews_what_had_succeeded(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "OnFailure", "'runPolicy':{'restartScope':'Job'}");
    world_pod_exits(&w, world_name(&w, "worker", 1), 0);
    world_settle(&w);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    world_pod_exits(&w, world_name(&w, "worker", 2), 1);
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 3);
    world_release(&w);
}

static void a_pod_deleted_by_hand_is_replaced_for_free(void **state)
{
    const struct json *pod;
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    pod = world_pod(&w, "worker", 1);
    world_delete(&w, WORLD_PODS, pod);
    world_settle(&w);
    /* it is on its way out and may fail doing so: neither counts */
    world_pod_exits(&w, world_name(&w, "worker", 1), 143);
    world_settle(&w);
    assert_int_equal(w.created, 2);
    world_stop_deleted(&w);
    world_settle(&w);
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    assert_int_equal(w.created, 3);
    assert_string_equal(world_event_text(&w, "NewReplica"),
                        "Create the replica[mnist-40c14-worker-1] again: its last pod is gone.");
    assert_string_equal(env_value(world_pod(&w, "worker", 1), "RANK"), "1");
    assert_int_equal(world_backoff(&w), 0);
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "False");
    world_release(&w);
}

/* Who deleted it may still be about to look whether it is gone, and would take its successor for
 * it. */
static void the_name_of_a_pod_deleted_by_hand_rests(void **state)
{
    struct world w;
    int64_t gone;

    (void)state;
    start(&w, 2, "Never", "");
    world_mark_deleted(&w, "worker", 1);
    world_settle(&w);
    w.now_ms += 5000; /* it takes its time to stop */
    world_stop_deleted(&w);
    gone = w.now_ms;
    world_settle(&w);
    assert_int_equal(w.wake_at_ms, gone + 2000);
    w.now_ms = gone + 1999;
    world_settle(&w);
    assert_int_equal(w.created, 2);
    w.now_ms = gone + 2000;
    world_settle(&w);
    assert_int_equal(w.created, 3);
    world_release(&w);
}

static void a_clock_that_was_set_back_lets_no_name_rest_for_long(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    assert_int_equal(w.created, 2);
    w.now_ms -= 3600 * 1000;
    world_settle(&w);
    assert_int_equal(w.created, 3);
    world_release(&w);
}

/* Deleting what has failed already does not undo its failure. */
static void a_failure_before_the_deletion_still_counts(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "");
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    w.now_ms += 2000;
    world_mark_deleted(&w, "worker", 1);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 1);
    assert_int_equal(w.created, 2); /* the name is still taken */
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(w.created, 3);
    assert_int_equal(world_backoff(&w), 1);
    world_release(&w);

    start(&w, 2, "Never", "");
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    w.now_ms += 2000;
    world_mark_deleted(&w, "worker", 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    world_release(&w);
}

static void a_finished_worker_deleted_by_hand_stays_finished(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "OnFailure", "");
    world_pod_exits(&w, world_name(&w, "worker", 1), 0);
    world_settle(&w);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    assert_null(world_pod(&w, "worker", 1));
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "succeeded"), 0), 1);
    assert_string_equal(world_condition(&w, "Running", "message"),
                        "All pods are running normally or have completed successfully.");
    /* a replacement of another need not wait for it */
    world_pod_exits(&w, world_name(&w, "worker", 2), 1);
    world_settle(&w);
    assert_int_equal(group_int(&w, "minMember"), 2);
    world_release(&w);
}

static void evict(struct world *w, int index, int grace)
{
    const struct json *old;
    struct json *pod, *metadata;

    if (!object_is_deleting(world_pod(w, "worker", index)))
        world_mark_deleted(w, "worker", index);
    old = world_pod(w, "worker", index);
    pod = world_edit(w, old);
    metadata = json_make_object(&w->arena, pod, "metadata");
    json_set(&w->arena, metadata, "finalizers", parse(&w->arena, "['" FINALIZER_TRACKING "']"));
    json_set_int(&w->arena, metadata, "deletionGracePeriodSeconds", grace);
    world_change(w, WORLD_PODS, old, pod);
}

static void end_with(struct world *w, int index, int code)
{
    const struct json *old;
    struct json *pod, *c;

    if (!object_is_deleting(world_pod(w, "worker", index)))
        world_mark_deleted(w, "worker", index);
    world_pod_exits(w, world_name(w, "worker", index), code);
    old = world_pod(w, "worker", index);
    pod = world_edit(w, old);
    c = json_append(
        json_make_array(&w->arena, json_make_object(&w->arena, pod, "status"), "conditions"),
        json_new_object(&w->arena));
    json_set_string(&w->arena, c, "type", POD_ENDED_BY_ITSELF);
    json_set_string(&w->arena, c, "status", "True");
    world_change(w, WORLD_PODS, old, pod);
}

static void end_by_itself(struct world *w, int index)
{
    end_with(w, index, 0);
}

/* It is charged, and its pod stays until that is written. */
static void a_failure_by_itself_during_an_eviction_is_charged_once(void **state)
{
    struct world w;
    struct plan plan;

    (void)state;
    start(&w, 1, "OnFailure", "");
    evict(&w, 0, 30);
    end_with(&w, 0, 1);
    evict(&w, 0, 0);
    world_plan(&w, &plan);
    world_apply(&w, &plan, 0); /* killed before it has written */
    assert_non_null(world_pod(&w, "worker", 0));
    world_plan(&w, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        assert_int_not_equal(s->op, PLAN_PATCH);
    world_apply(&w, &plan, 1); /* killed behind the status */
    assert_int_equal(world_backoff(&w), 1);
    assert_non_null(world_pod(&w, "worker", 0));
    world_settle(&w);
    assert_int_equal(w.created, 2);
    assert_int_equal(world_backoff(&w), 1);
    world_release(&w);
}

/* It may follow from the end of another that had been told; whether one had shows at their ends. */
static void a_failure_counts_when_no_other_was_told(void **state)
{
    struct world w;

    (void)state;
    for (int told = 0; told < 2; told++) {
        start(&w, 2, "OnFailure", "");
        evict(&w, 0, 30);
        evict(&w, 1, 30);
        end_with(&w, 1, 1);
        evict(&w, 1, 0);
        world_settle(&w);
        assert_int_equal(world_backoff(&w), 0);
        assert_non_null(world_pod(&w, "worker", 1)); /* held */
        if (told)
            world_pod_exits(&w, world_name(&w, "worker", 0), 143);
        else
            end_with(&w, 0, 1);
        evict(&w, 0, 0);
        world_settle(&w);
        assert_int_equal(world_backoff(&w), told ? 0 : 2);
        w.now_ms += 10000;
        world_settle(&w);
        assert_int_equal(w.created, 4);
        world_release(&w);
    }
}

static void who_is_told_and_evicted_is_let_go(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "OnFailure", "");
    evict(&w, 0, 30);
    world_settle(&w);
    assert_non_null(world_pod(&w, "worker", 0));
    world_pod_exits(&w, world_name(&w, "worker", 0), 143);
    evict(&w, 0, 0);
    w.now_ms += 3000;
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 0);
    w.now_ms += 3000;
    world_settle(&w);
    assert_int_equal(w.created, 2);
    world_release(&w);
}

/* They were preempted when they had just ended: nothing is run again. */
static void who_ends_by_itself_while_it_is_deleted_has_ended(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    end_by_itself(&w, 1);
    world_settle(&w);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    w.now_ms += 10000;
    world_settle(&w);
    assert_int_equal(w.created, 2);
    end_by_itself(&w, 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_release(&w);
}

static void a_pod_lost_with_its_node_is_replaced_for_free(void **state)
{
    const struct json *old;
    struct json *pod;
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    old = world_pod(&w, "worker", 0);
    pod = world_edit(&w, old);
    json_set(&w.arena, pod, "status", parse(&w.arena, "{'phase':'Failed','reason':'NodeLost'}"));
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    assert_int_equal(w.created, 3);
    assert_int_equal(world_backoff(&w), 0);
    assert_string_equal(world_phase(&w), "Running");
    world_release(&w);
}

/* What the agent says of a pod that its machine came back without. */
static void a_pod_its_machine_came_back_without_is_replaced_for_free(void **state)
{
    const struct json *old;
    struct json *pod;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "");
    old = world_pod(&w, "worker", 1);
    pod = world_edit(&w, old);
    json_set(&w.arena, pod, "status",
             parse(&w.arena, "{'phase':'Failed','reason':'ContainerStatusUnknown',"
                             "'containerStatuses':[{'name':'python','state':{'terminated':"
                             "{'exitCode':137,'reason':'ContainerStatusUnknown'}}}]}"));
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    assert_int_equal(w.created, 3);
    assert_int_equal(world_backoff(&w), 0);
    world_release(&w);
}

/* --- deadline, clean-up, TTL ------------------------------------------------------------------ */

static void a_silent_node_is_said(void **state)
{
    const struct json *old;
    struct json *pod;
    struct world w;

    (void)state;
    start(&w, 1, "Never", "");
    old = world_pod(&w, "worker", 0);
    pod = world_edit(&w, old);
    json_set_string(&w.arena, json_make_object(&w.arena, pod, "status"), "phase", "Unknown");
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Unknown");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "NodeLost");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "the state of mnist-40c14-worker-0 is unknown: its node does not answer");
    world_release(&w);
}

static void the_deadline_is_never_early(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "OnFailure", "'runPolicy':{'activeDeadlineSeconds':2}");
    world_settle(&w);
    w.now_ms += 60000; /* waiting in the queue does not count */
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Pending");
    w.now_ms += 500;
    world_all_run(&w);
    world_settle(&w);
    assert_int_equal(w.wake_at_ms, w.now_ms - 500 + 2999);
    w.now_ms += 2000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(world_condition(&w, "Failed", "reason"), "DeadlineExceeded");
    assert_string_equal(world_condition(&w, "Completed", "reason"), "Failed");
    assert_string_equal(world_condition(&w, "ReplicaFailure", "status"), "False");
    assert_string_equal(json_get_string(world_status(&w), "message", ""),
                        "PyTorchTrainingJob mnist has failed: it ran longer than "
                        "activeDeadlineSeconds (2 s)");
    assert_int_equal(world_events(&w, "DeadlineExceeded"), 1);
    world_release(&w);
}

static void success_beats_the_deadline(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Never", "'runPolicy':{'activeDeadlineSeconds':2}");
    w.now_ms += 60000;
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_release(&w);
}

/* Four workers: the master (0), one running (1), one failed (2), one pending (3). */
static void end_somehow(struct world *w, const char *policy, const char *ending)
{
    char more[200];

    (void)snprintf(more, sizeof(more), "'runPolicy':{'cleanUpPolicy':'%s','backoffLimit':%d%s}",
                   policy, strcmp(ending, "budget") == 0 ? 0 : 3,
                   strcmp(ending, "deadline") == 0 ? ",'activeDeadlineSeconds':5" : "");
    world_init(w);
    world_submit(w, 4, strcmp(ending, "budget") == 0 ? "OnFailure" : "Never", more);
    world_settle(w);
    for (int i = 0; i < 3; i++)
        world_pod_runs(w, world_name(w, "worker", i));
    world_pod_exits(w, world_name(w, "worker", 2), 1);
    world_settle(w);
    if (strcmp(ending, "deadline") == 0)
        w->now_ms += 6000;
    else
        world_pod_exits(w, world_name(w, "worker", 0), strcmp(ending, "success") == 0 ? 0 : 1);
    world_settle(w);
    if (strcmp(ending, "success") == 0) /* they do not end by themselves */
        w->now_ms += 10000;
    world_settle(w);
    world_stop_deleted(w);
    world_settle(w);
}

static void clean_up_by_policy_and_ending(void **state)
{
    static const char *const endings[] = {"success", "failure", "budget", "deadline"};
    static const struct {
        const char *policy;
        bool master, running, failed, pending; /* what stays when the master has finished */
    } table[] = {
        {"None", true, true, true, false},
        {"All", false, false, false, false},
        {"Unfinished", true, false, true, false},
    };

    (void)state;
    for (size_t p = 0; p < ELEMS(table); p++)
        for (size_t e = 0; e < ELEMS(endings); e++) {
            bool deadline = strcmp(endings[e], "deadline") == 0;
            bool none = strcmp(table[p].policy, "None") == 0;
            struct world w;

            end_somehow(&w, table[p].policy, endings[e]);
            assert_string_equal(world_phase(&w), e == 0 ? "Succeeded" : "Failed");
            /* at the deadline the master is one of those that run */
            assert_int_equal(world_pod(&w, "worker", 0) != NULL,
                             deadline ? table[p].running : table[p].master);
            assert_int_equal(world_pod(&w, "worker", 1) != NULL, table[p].running);
            assert_int_equal(world_pod(&w, "worker", 2) != NULL, table[p].failed);
            assert_int_equal(world_pod(&w, "worker", 3) != NULL, table[p].pending);
            /* port and names are released once no pod can use them */
            assert_int_equal(world_now(&w, WORLD_LEASES)->len, none);
            assert_int_equal(world_now(&w, WORLD_SERVICES)->len, none ? 4 : 0);
            world_release(&w);
        }
}

/* A replacement that never got a place goes at once, also where all others stay. */
static void what_never_began_goes_with_the_end(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'cleanUpPolicy':'None'}");
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    world_settle(&w);
    assert_non_null(world_pod(&w, "worker", 1));
    assert_string_equal(
        json_string(json_at(world_pod(&w, "worker", 1), "status", "phase"), "Pending"), "Pending");
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_stop_deleted(&w);
    world_settle(&w);
    assert_null(world_pod(&w, "worker", 1));
    assert_non_null(world_pod(&w, "worker", 0));
    /* nothing is left that a group could speak of */
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 0);
    world_release(&w);
}

/* Foreign pods and services under our names are not cleaned up. */
static void clean_up_leaves_what_is_not_ours(void **state)
{
    const char *name;
    struct world w;

    (void)state;
    start(&w, 2, "Never", "'runPolicy':{'cleanUpPolicy':'All'}");
    name = world_name(&w, "worker", 1);
    world_remove(&w, WORLD_PODS, name);
    world_remove(&w, WORLD_SERVICES, name);
    world_add(&w, WORLD_PODS,
              parse(&w.arena, arena_printf(&w.arena, "{'metadata':{'name':'%s'}}", name)));
    world_add(&w, WORLD_SERVICES,
              parse(&w.arena, arena_printf(&w.arena, "{'metadata':{'name':'%s'}}", name)));
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_int_equal(world_pods(&w), 1);
    assert_non_null(world_get(&w, WORLD_PODS, name));
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 1);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    world_release(&w);
}

static void the_job_goes_when_its_time_is_up(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Never", "'runPolicy':{'ttlSecondsAfterFinished':3}");
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    assert_int_equal(w.wake_at_ms, w.now_ms + 3999);
    w.now_ms += 3998;
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_JOBS)->len, 1);
    w.now_ms += 1;
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_JOBS)->len, 0);
    world_release(&w);
}

static void delete_at(struct world *w, enum world_set set, int64_t at_ms)
{
    const struct json *old = world_now(w, set)->items[0];
    struct json *changed = world_edit(w, old);
    struct json *meta = json_make_object(&w->arena, changed, "metadata");
    char text[TIME_TEXT_SIZE];

    if (at_ms)
        json_set_string(&w->arena, json_make_object(&w->arena, meta, "annotations"),
                        ANNOTATION_DELETE_AT, time_format(at_ms, text));
    else
        json_remove(meta, "annotations");
    world_change(w, set, old, changed);
}

static void a_job_is_deleted_at_the_time_it_says(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Never", "");
    delete_at(&w, WORLD_JOBS, w.now_ms + 10000);
    world_settle(&w);
    assert_int_equal(w.wake_at_ms, w.now_ms + 10000);
    assert_int_equal(world_pods(&w), 1);
    w.now_ms += 9999;
    delete_at(&w, WORLD_JOBS, 0); /* undone */
    w.now_ms += 1;
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_JOBS)->len, 1);
    delete_at(&w, WORLD_JOBS, w.now_ms);
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_JOBS)->len, 0);
    world_release(&w);
}

/* The undo has come, the cache does not know: the deletion must fail, not the undo. */
static void a_deletion_that_was_undone_unseen_fails(void **state)
{
    struct world w;
    struct plan plan;

    (void)state;
    start(&w, 1, "Never", "");
    delete_at(&w, WORLD_JOBS, w.now_ms);
    world_plan(&w, &plan);
    assert_int_equal(plan.first->op, PLAN_DELETE);
    assert_ptr_equal(plan.first, plan.last);
    assert_string_equal(plan.first->version,
                        object_resource_version(world_now(&w, WORLD_JOBS)->items[0]));
    world_release(&w);
}

/* --- pause ------------------------------------------------------------------------------------ */

#define PAUSE(on) "{'pause':{'enabled':" on ",'resumeSpecs':[{'type':'worker','args':['r.py']}]}}"

static void what_ran_before_a_pause_is_remembered(void **state)
{
    const struct json *run;
    struct world w;

    (void)state;
    start(&w, 1, "Never", "");
    w.now_ms += 30000;
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    run = json_first(json_get(world_status(&w), "interruptions"));
    assert_string_equal(json_get_string(run, "reason", ""), "Paused");
    assert_int_equal(object_time(run, "stopTime") - object_time(run, "startTime"), 30000);
    assert_null(json_get(run, "resumeTime"));
    w.now_ms += 60000;
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    run = json_first(json_get(world_status(&w), "interruptions"));
    assert_int_equal(object_time(run, "resumeTime") - object_time(run, "stopTime"), 60000);
    assert_int_equal(json_get_int(world_status(&w), "ranSeconds", 0), 30);
    for (int i = 0; i < 20; i++) {
        world_edit_spec(&w, "runMode", PAUSE("true"));
        world_settle(&w);
        world_edit_spec(&w, "runMode", PAUSE("false"));
        world_settle(&w);
    }
    assert_int_equal(json_len(json_get(world_status(&w), "interruptions")), 16);
    world_release(&w);
}

static void created_paused_makes_nothing(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "Never", "'runMode':" PAUSE("true"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 0);
    assert_string_equal(world_phase(&w), "Paused");
    assert_string_equal(world_condition(&w, "Paused", "status"), "True");
    assert_null(json_get(world_status(&w), "startTime"));
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_string_equal(world_phase(&w), "Resuming");
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(world_condition(&w, "Paused", "status"), "False");
    world_release(&w);
}

static void pause_stops_and_resume_starts_again(void **state)
{
    const struct json *container;
    int64_t started;
    struct world w;

    (void)state;
    start(&w, 3, "OnFailure", "'runMode':" PAUSE("false"));
    world_pod_exits(&w, world_name(&w, "worker", 2), 0);
    world_settle(&w);
    started = object_time(world_status(&w), "startTime");
    w.now_ms += 10000;
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    assert_string_equal(world_condition(&w, "Running", "status"), "False");
    assert_string_equal(world_condition(&w, "Completed", "message"), "The job is paused.");
    assert_null(json_get(world_status(&w), "startTime"));
    /* a master stopped by the pause ends neither well nor badly */
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_pod_exits(&w, world_name(&w, "worker", 1), 143);
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 0);
    assert_string_equal(world_phase(&w), "Paused");
    assert_int_equal(json_int(json_at(world_status(&w), "aggregate", "running"), -1), 0);
    assert_int_equal(world_backoff(&w), 0);
    /* resume: everybody is back, also who had finished */
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 3);
    container = json_first(json_at(world_pod(&w, "worker", 0), "spec", "containers"));
    assert_string_equal(json_string(json_first(json_get(container, "args")), ""), "r.py");
    assert_string_equal(json_string(json_first(json_get(container, "command")), ""), "python");
    world_all_run(&w);
    world_settle(&w);
    assert_true(object_time(world_status(&w), "startTime") > started);
    assert_int_equal(world_events(&w, "Paused"), 1);
    assert_int_equal(world_events(&w, "Resuming"), 1);
    assert_int_equal(world_events(&w, "Running"), 2);
    world_release(&w);
}

static void resume_waits_for_the_old_pods_to_go(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runMode':" PAUSE("false"));
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 0));
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    world_release(&w);
}

static void the_deadline_stops_while_paused(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Never", "'runPolicy':{'activeDeadlineSeconds':10},'runMode':" PAUSE("false"));
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    w.now_ms += 60000;
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    w.now_ms += 11000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    world_release(&w);
}

static void set_group_condition(struct world *w, const char *type, const char *message)
{
    const struct json *group = world_now(w, WORLD_GROUPS)->items[0];
    struct json *o = world_edit(w, group), *list, *c;

    list = json_make_array(&w->arena, json_make_object(&w->arena, o, "status"), "conditions");
    c = json_append(list, json_new_object(&w->arena));
    json_set_string(&w->arena, c, "type", type);
    json_set_string(&w->arena, c, "status", "True");
    json_set_string(&w->arena, c, "message", message);
    world_change(w, WORLD_GROUPS, group, o);
}

/* It waits in the queue again, which does not use up its time. */
static void the_deadline_stops_while_preempted(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1, "Never", "'runPolicy':{'activeDeadlineSeconds':10}");
    assert_string_equal(world_phase(&w), "Running");
    set_group_condition(&w, "Preempted", "");
    world_delete(&w, WORLD_PODS, world_pod(&w, "worker", 0));
    world_stop_deleted(&w);
    world_settle(&w);
    w.now_ms += 60000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Pending");
    assert_int_equal(world_backoff(&w), 0);
    set_group_condition(&w, "GroupScheduled", "");
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    w.now_ms += 9000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    w.now_ms += 2000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    world_release(&w);
}

/* Also while its pods are on their way out. */
static void a_preempted_job_says_at_once_who_takes_its_room(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    set_group_condition(&w, "Preempted", "its room was taken by job \"x\"");
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(json_string(json_at(world_job(&w), "status", "reason"), ""), "Preempted");
    assert_string_equal(json_string(json_at(world_job(&w), "status", "message"), ""),
                        "its room was taken by job \"x\"; 2 of 2 pods are still stopping");
    for (int i = 0; i < 2; i++)
        world_delete(&w, WORLD_PODS, world_pod(&w, "worker", i));
    world_settle(&w);
    assert_string_equal(json_string(json_at(world_job(&w), "status", "message"), ""),
                        "its room was taken by job \"x\"; 2 of 2 pods are still stopping");
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(json_string(json_at(world_job(&w), "status", "message"), ""),
                        "its room was taken by job \"x\"");
    assert_int_equal(world_events(&w, "Preempted"), 1);
    assert_string_equal(world_event_text(&w, "Preempted"), "its room was taken by job \"x\"");
    world_release(&w);
}

/* Before its pods are there again. */
static void a_preempted_job_says_its_place_in_line(void **state)
{
    const struct json *group;
    struct json *o, *status;
    struct world w;

    (void)state;
    start(&w, 1, "Never", "");
    set_group_condition(&w, "Preempted", "its room was taken by job \"x\"");
    group = world_now(&w, WORLD_GROUPS)->items[0];
    o = world_edit(&w, group);
    status = json_make_object(&w.arena, o, "status");
    json_set_string(&w.arena, status, "reason", "Preempted");
    json_set_string(&w.arena, status, "message", "waiting again: number 2 in line");
    json_set_int(&w.arena, status, "place", 2);
    world_change(&w, WORLD_GROUPS, group, o);
    world_delete(&w, WORLD_PODS, world_pod(&w, "worker", 0));
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Pending");
    assert_string_equal(json_string(json_at(world_job(&w), "status", "reason"), ""), "Preempted");
    assert_string_equal(json_string(json_at(world_job(&w), "status", "message"), ""),
                        "waiting again: number 2 in line");
    assert_int_equal(json_int(json_at(world_job(&w), "status", "place"), 0), 2);
    assert_string_equal(world_event_text(&w, "Preempted"), "its room was taken by job \"x\"");
    world_release(&w);
}

static void the_reason_of_a_job_is_its_groups(void **state)
{
    const struct json *group, *pod;
    struct json *o, *status;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "");
    world_settle(&w);
    group = world_now(&w, WORLD_GROUPS)->items[0];
    o = world_edit(&w, group);
    status = json_make_object(&w.arena, o, "status");
    json_set_string(&w.arena, status, "reason", "QuotaForbids");
    json_set_string(&w.arena, status, "message", "can never fit: asks 3 CPU");
    world_change(&w, WORLD_GROUPS, group, o);
    pod = world_pod(&w, "worker", 0);
    o = world_edit(&w, pod);
    json_set(&w.arena, o, "status",
             parse(&w.arena, "{'phase':'Pending','conditions':[{'type':'PodScheduled','status':"
                             "'False','reason':'Unschedulable','message':'can never fit: asks 3 "
                             "CPU'}]}"));
    world_change(&w, WORLD_PODS, pod, o);
    world_settle(&w);
    status = json_get_mut(world_edit(&w, world_job(&w)), "status");
    assert_string_equal(json_get_string(status, "reason", ""), "QuotaForbids");
    assert_string_equal(json_get_string(status, "message", ""), "can never fit: asks 3 CPU");
    assert_string_equal(json_get_string(status, "queue", ""), DEFAULT_QUEUE);
    world_release(&w);
}

static void a_paused_job_does_not_follow_the_ports_of_others(void **state)
{
    struct plan plan;
    struct world w;
    int64_t port;

    (void)state;
    world_init(&w);
    world_submit(&w, 1, "Never", "'runMode':{'pause':{'enabled':true}}");
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    port = port_claim_for(&w.arena, NULL, 0, object_uid(world_job(&w)), 0).port;
    (void)world_add(&w, WORLD_LEASES,
                    port_lease_new(&w.arena, NULL, port, "ns", "other", "other-uid"));
    world_plan(&w, &plan);
    assert_true(plan_is_empty(&plan));
    world_release(&w);
}

/* --- elastic ---------------------------------------------------------------------------------- */

#define ELASTIC(n) "{'enabled':true,'minReplicas':1,'maxReplicas':4,'expectedReplicas':" n "}"

static void scaling_touches_no_survivor(void **state)
{
    const char *uid0, *uid1;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'torchrunConfig':{'enabled':true},'elastic':" ELASTIC("2"));
    assert_int_equal(group_int(&w, "minMember"), 1);
    uid0 = object_uid(world_pod(&w, "worker", 0));
    uid1 = object_uid(world_pod(&w, "worker", 1));
    world_edit_spec(&w, "elastic", ELASTIC("4"));
    world_settle(&w);
    assert_int_equal(world_pods(&w), 4);
    world_all_run(&w);
    world_settle(&w);
    world_edit_spec(&w, "elastic", ELASTIC("2"));
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_string_equal(object_uid(world_pod(&w, "worker", 0)), uid0);
    assert_string_equal(object_uid(world_pod(&w, "worker", 1)), uid1);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_backoff(&w), 0);
    world_release(&w);
}

/* A group that restarts as a whole meets none of its old members, not even one too many. */
static void job_scope_waits_for_surplus_pods_to_be_gone(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure",
          "'runPolicy':{'restartScope':'Job'},'torchrunConfig':{'enabled':true},'elastic':" ELASTIC(
              "2"));
    world_edit_spec(&w, "elastic", ELASTIC("1"));
    world_settle(&w); /* worker-1 is asked to stop */
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 1);
    assert_int_equal(w.created, 2);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(w.created, 3);
    world_release(&w);
}

/* Its status was forgotten with it; its pod of then must not pass for the new one. */
static void a_replica_taken_back_has_a_newer_attempt_than_its_old_pod(void **state)
{
    const char *old;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure",
          "'runPolicy':{'restartScope':'Job'},'torchrunConfig':{'enabled':true},'elastic':" ELASTIC(
              "2"));
    for (int i = 0; i < 2; i++) { /* two restarts: attempt 2 */
        world_pod_exits(&w, world_name(&w, "worker", 0), 1);
        world_settle(&w);
        world_stop_deleted(&w);
        w.now_ms += 10000;
        world_settle(&w);
        world_all_run(&w);
        world_settle(&w);
    }
    old = object_uid(world_pod(&w, "worker", 1));
    world_edit_spec(&w, "elastic", ELASTIC("1"));
    world_settle(&w); /* it is asked to stop, and takes a while */
    world_edit_spec(&w, "elastic", ELASTIC("2"));
    world_settle(&w);
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    w.now_ms += 10000;
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 3);
    /* the third round waits for it */
    assert_string_equal(object_uid(world_pod(&w, "worker", 1)), old);
    assert_null(world_pod(&w, "worker", 0));
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    world_release(&w);
}

static void shares_follow_the_weights(void **state)
{
    static const struct {
        const char *spec;
        int64_t counts[3];
    } table[] = {
        {"{'replicaSpecs':[{'replicas':2},{}]}", {2, 1}},
        {"{'replicaSpecs':[{'replicas':-5},{'replicas':99999999}]}", {0, REPLICAS_LIMIT}},
        {"{'replicaSpecs':[{'replicas':2}],'elastic':{'enabled':true,'expectedReplicas':5}}", {2}},
        {"{'torchrunConfig':{'enable':true},'elastic':{'enable':true,'minReplicas':1,"
         "'maxReplicas':3,'expectedReplicas':9},'replicaSpecs':[{}]}",
         {3}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true,'expectedReplicas':6},"
         "'replicaSpecs':[{'scalingWeight':1},{'scalingWeight':2}]}",
         {2, 4}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true,'expectedReplicas':5},"
         "'replicaSpecs':[{'scalingWeight':0},{'scalingWeight':1},{'scalingWeight':1}]}",
         {1, 2, 2}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true,'expectedReplicas':3},"
         "'replicaSpecs':[{'scalingWeight':0},{'scalingWeight':0}]}",
         {2, 1}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true,'expectedReplicas':5},"
         "'replicaSpecs':[{},{}]}",
         {3, 2}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true,'expectedReplicas':5},"
         "'replicaSpecs':[{'scalingWeight':0},{'scalingWeight':2},{'scalingWeight':1}]}",
         {1, 3, 1}},
        {"{'torchrunConfig':{'enabled':true},'elastic':{'enabled':true},'replicaSpecs':[]}", {0}},
    };
    struct arena a = ARENA_INIT(1 << 16);

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        int64_t counts[4] = {0};

        replica_counts(parse(&a, table[i].spec), counts);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(counts[k], table[i].counts[k]);
    }
    arena_release(&a);
}

/* --- robustness ------------------------------------------------------------------------------- */

struct seen_names {
    struct world *world;
    int count;
};

static void see_name(void *arg, const char *name)
{
    struct seen_names *s = arg;

    assert_string_equal(name, world_name(s->world, "worker", s->count++));
}

static void the_names_wanted_are_the_names_made(void **state)
{
    struct seen_names s = {0};
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 3, "Never", "");
    s.world = &w;
    job_kinds[0]->wanted_names(&w.arena, world_job(&w), see_name, &s);
    assert_int_equal(s.count, 3);
    world_release(&w);
}

static void an_old_cache_does_not_undo_what_is_recorded(void **state)
{
    size_t at[WORLD_SET_COUNT] = {0};
    struct job_snapshot s;
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 3, "Never", "");
    at[WORLD_PODS] = w.past_len[WORLD_PODS] - 1; /* all running */
    world_pod_exits(&w, world_name(&w, "worker", 1), 0);
    world_pod_exits(&w, world_name(&w, "worker", 2), 1);
    world_settle(&w);
    at[WORLD_JOBS] = w.past_len[WORLD_JOBS] - 1;
    at[WORLD_SERVICES] = w.past_len[WORLD_SERVICES] - 1;
    at[WORLD_GROUPS] = w.past_len[WORLD_GROUPS] - 1;
    at[WORLD_LEASES] = w.past_len[WORLD_LEASES] - 1;
    world_snapshot(&w, at, &s);
    plan_init(&plan, &w.arena);
    job_kinds[0]->reconcile(&s, &plan);
    assert_true(plan_is_empty(&plan));
    world_release(&w);
}

static void the_failure_of_a_predecessor_comes_too_late(void **state)
{
    size_t at[WORLD_SET_COUNT] = {0}, failed;
    struct job_snapshot s;
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "");
    /* it fails, but is deleted by hand before it is seen; its successor succeeds */
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    failed = w.past_len[WORLD_PODS] - 1;
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 1));
    world_settle(&w);
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    world_pod_exits(&w, world_name(&w, "worker", 1), 0);
    world_settle(&w);
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        at[i] = w.past_len[i] - 1;
    at[WORLD_PODS] = failed;
    world_snapshot(&w, at, &s);
    plan_init(&plan, &w.arena);
    job_kinds[0]->reconcile(&s, &plan);
    assert_true(plan_is_empty(&plan));
    world_release(&w);
}

static void an_old_pause_stops_no_resumed_pods(void **state)
{
    size_t at[WORLD_SET_COUNT], paused;
    struct job_snapshot s;
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runMode':" PAUSE("false"));
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    paused = w.past_len[WORLD_JOBS] - 1;
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    world_all_run(&w);
    for (int i = 0; i < WORLD_SET_COUNT; i++)
        at[i] = w.past_len[i] - 1;
    at[WORLD_JOBS] = paused;
    world_snapshot(&w, at, &s);
    plan_init(&plan, &w.arena);
    job_kinds[0]->reconcile(&s, &plan);
    for (const struct plan_step *step = plan.first; step; step = step->next)
        assert_int_not_equal(step->op, PLAN_DELETE);
    world_release(&w);
}

static void an_old_job_makes_no_pods(void **state)
{
    size_t at[WORLD_SET_COUNT] = {0};
    struct job_snapshot s;
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 2, "OnFailure", "'runPolicy':{'cleanUpPolicy':'All'}");
    at[WORLD_JOBS] = w.past_len[WORLD_JOBS] - 1;
    at[WORLD_SERVICES] = w.past_len[WORLD_SERVICES] - 1;
    at[WORLD_LEASES] = w.past_len[WORLD_LEASES] - 1;
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    w.now_ms = w.wake_at_ms; /* the other does not end by itself */
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 0);
    /* the job as it was when it ran, the pods as they are: all gone */
    at[WORLD_PODS] = w.past_len[WORLD_PODS] - 1;
    world_snapshot(&w, at, &s);
    plan_init(&plan, &w.arena);
    job_kinds[0]->reconcile(&s, &plan);
    assert_false(plan_is_empty(&plan));
    world_apply(&w, &plan, -1);
    assert_int_equal(world_pods(&w), 0);
    world_release(&w);
}

static void a_thousand_replicas_are_no_trouble(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 1000, "OnFailure", "");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1000);
    world_release(&w);
}

static void out_of_memory_is_not_a_crash(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "OnFailure", "'torchrunConfig':{'enabled':true}");
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    for (size_t limit = 0; limit < 200000; limit += limit < 4000 ? 64 : 1024) {
        struct arena a = ARENA_INIT(limit);
        size_t at[WORLD_SET_COUNT] = {0};
        struct job_snapshot s;
        struct plan plan;

        for (int i = 0; i < WORLD_SET_COUNT; i++)
            at[i] = w.past_len[i] - 1;
        at[WORLD_PODS] = limit % 128 ? 0 : at[WORLD_PODS];
        world_snapshot(&w, at, &s);
        plan_init(&plan, &a);
        job_kinds[0]->reconcile(&s, &plan);
        arena_release(&a);
    }
    world_release(&w);
}

/* --- its group ----------------------------------------------------------------------------------
 */

static void a_job_makes_one_group(void **state)
{
    const struct json *group;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 3, "OnFailure",
                 "'scheduler':{'t9kScheduler':{'queue':'q','priority':7}},"
                 "'runPolicy':{'activeDeadlineSeconds':60}");
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_GROUPS)->len, 1);
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_true(object_is_controlled_by(group, object_uid(world_job(&w))));
    assert_string_equal(json_string(json_at(group, "spec", "queue"), ""), "q");
    assert_int_equal(group_int(&w, "priority"), 7);
    assert_int_equal(group_int(&w, "minMember"), 3);
    assert_int_equal(group_int(&w, "activeDeadlineSeconds"), 60);
    assert_string_equal(object_label(world_pod(&w, "worker", 1), LABEL_GROUP_NAME),
                        object_name(group));
    assert_string_equal(object_label(world_pod(&w, "worker", 1), LABEL_GROUP_ROLE), "worker");
    assert_string_equal(
        json_string(json_at(world_pod(&w, "worker", 0), "spec", "schedulerName"), ""),
        "t9k-scheduler");
    world_release(&w);
}

static const char *first_pod_with(const char *template, const char *scheduler, struct world *w)
{
    world_init(w);
    world_submit_text(w, arena_printf(&w->arena,
                                      "{'metadata':{'name':'mnist','namespace':'ns','uid':'u',"
                                      "'generation':1},'spec':{'replicaSpecs':[{'type':'worker',"
                                      "'replicas':2,'template':{'spec':{'nodeName':'n1',%s%s"
                                      "'containers':[{'name':'pytorch'}]}}}]}}",
                                      template, scheduler));
    world_settle(w);
    return json_string(json_at(world_pod(w, "worker", 0), "spec", "nodeName"), "");
}

/* A pod with a nodeName would bypass the scheduler, and half a gang might start. */
static void a_node_in_the_template_is_what_the_scheduler_is_asked_for(void **state)
{
    static const struct {
        const char *template, *terms;
    } cases[] = {
        {"", "[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":["
             "\"n1\"]}]}]"},
        {"'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
         "'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Exists'}]},{}]}}},",
         "[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}],\"matchFields\":[{"
         "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]},{}]"},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct buf text = BUF_INIT(4096);

        assert_string_equal(first_pod_with(cases[i].template, "", &w), "");
        json_write(&text,
                   json_at(world_pod(&w, "worker", 0), "spec", "affinity", "nodeAffinity",
                           "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"));
        assert_string_equal(text.data, cases[i].terms);
        buf_release(&text);
        world_release(&w);
    }
    assert_string_equal(first_pod_with("", "'schedulerName':'volcano',", &w), "n1");
    world_release(&w);
}

static void a_group_wants_those_whose_part_is_not_done(void **state)
{
    struct world w;

    (void)state;
    start(&w, 3, "OnFailure", "'runMode':" PAUSE("false"));
    assert_int_equal(group_int(&w, "members"), 3);
    world_pod_exits(&w, world_name(&w, "worker", 1), 1); /* comes again */
    world_settle(&w);
    assert_int_equal(group_int(&w, "members"), 3);
    world_pod_exits(&w, world_name(&w, "worker", 2), 0);
    world_settle(&w);
    assert_int_equal(group_int(&w, "members"), 2);
    world_edit_spec(&w, "runMode", PAUSE("true"));
    world_settle(&w);
    assert_int_equal(group_int(&w, "members"), 0);
    assert_int_equal(group_int(&w, "minMember"), 3); /* what it starts with when resumed */
    world_stop_deleted(&w);
    world_edit_spec(&w, "runMode", PAUSE("false"));
    world_settle(&w);
    assert_int_equal(group_int(&w, "members"), 3);
    for (int i = 0; i < 3; i++)
        world_pod_exits(&w, world_name(&w, "worker", i), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    assert_int_equal(world_now(&w, WORLD_GROUPS)->len, 0);
    world_release(&w);
}

static void a_group_deleted_by_hand_is_created_again(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit(&w, 2, "OnFailure", "'scheduler':{'t9kScheduler':{'queue':'q','priority':7}}");
    world_settle(&w);
    for (int i = 0; i < 2; i++) { /* while its pods wait, and while they run */
        world_delete(&w, WORLD_GROUPS, world_now(&w, WORLD_GROUPS)->items[0]);
        world_settle(&w);
        assert_int_equal(world_now(&w, WORLD_GROUPS)->len, 1);
        assert_int_equal(group_int(&w, "members"), 2);
        assert_int_equal(group_int(&w, "priority"), 7);
        assert_int_equal(world_pods(&w), 2);
        world_all_run(&w);
        world_settle(&w);
    }
    world_release(&w);
}

static void set_group_deadline(struct world *w, int64_t seconds)
{
    const struct json *group = world_now(w, WORLD_GROUPS)->items[0];
    struct json *o = world_edit(w, group);

    json_set_int(&w->arena, json_make_object(&w->arena, o, "spec"), "activeDeadlineSeconds",
                 seconds);
    world_change(w, WORLD_GROUPS, group, o);
}

/* Who waits is told by it until when the job runs. */
static void the_deadline_of_a_group_is_its_jobs(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "'runPolicy':{'activeDeadlineSeconds':60}");
    world_edit_spec(&w, "runPolicy", "{'activeDeadlineSeconds':600}");
    world_settle(&w);
    assert_int_equal(group_int(&w, "activeDeadlineSeconds"), 600);
    set_group_deadline(&w, 1);
    world_settle(&w);
    assert_int_equal(group_int(&w, "activeDeadlineSeconds"), 600);
    world_edit_spec(&w, "runPolicy", "{}");
    world_settle(&w);
    assert_int_equal(group_int(&w, "activeDeadlineSeconds"), -1);
    set_group_deadline(&w, 1);
    world_settle(&w);
    assert_int_equal(group_int(&w, "activeDeadlineSeconds"), -1);
    world_release(&w);
}

static const char *pod_note(struct world *w, const char *annotation)
{
    const char *text = object_annotation(world_pod(w, "worker", 0), annotation);

    return text ? text : "none";
}

static void pods_carry_what_their_job_promises(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "Never", "'runPolicy':{'activeDeadlineSeconds':60}");
    assert_string_equal(pod_note(&w, ANNOTATION_GANG_SIZE), "2");
    assert_string_equal(pod_note(&w, ANNOTATION_DEADLINE), "60");
    world_release(&w);
    start(&w, 2, "Never", "'torchrunConfig':{'enabled':true},'elastic':" ELASTIC("2"));
    assert_string_equal(pod_note(&w, ANNOTATION_GANG_SIZE), "none");
    assert_string_equal(pod_note(&w, ANNOTATION_DEADLINE), "none");
    world_release(&w);
}

static void a_group_made_anew_knows_when_its_job_started(void **state)
{
    const struct json *group;
    struct world w;

    (void)state;
    start(&w, 2, "Never", "");
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_null(object_annotation(group, ANNOTATION_STARTED));
    world_delete(&w, WORLD_GROUPS, group);
    world_settle(&w);
    group = world_now(&w, WORLD_GROUPS)->items[0];
    assert_string_equal(object_annotation(group, ANNOTATION_STARTED),
                        json_get_string(world_status(&w), "startTime", ""));
    world_release(&w);
}

/* A cluster whose own scheduler places the pods need not know groups. */
static void without_our_scheduler_there_is_no_group(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false;
    world_submit(&w, 2, "OnFailure", "");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 2);
    assert_int_equal(world_now(&w, WORLD_GROUPS)->len, 0);
    assert_null(object_label(world_pod(&w, "worker", 0), LABEL_GROUP_NAME));
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_replicas_make_four_pods),
        cmocka_unit_test(nothing_is_made_before_the_port_is_ours),
        cmocka_unit_test(on_a_cluster_the_port_is_constant),
        cmocka_unit_test(on_a_cluster_the_first_pods_come_behind_a_read),
        cmocka_unit_test(on_a_cluster_half_a_beginning_is_written_down),
        cmocka_unit_test(on_a_cluster_names_come_with_the_first_node),
        cmocka_unit_test(all_ports_taken_is_said),
        cmocka_unit_test(a_foreign_pod_is_reported_and_left_alone),
        cmocka_unit_test(a_foreign_service_is_a_clash_too),
        cmocka_unit_test(a_job_of_the_same_name_adopts_nothing),
        cmocka_unit_test(a_job_without_replicas_says_so),
        cmocka_unit_test(running_is_said_with_the_known_words),
        cmocka_unit_test(the_master_decides_success),
        cmocka_unit_test(after_success_replicas_have_ten_seconds_to_end_by_themselves),
        cmocka_unit_test(after_failure_none_is_waited_for),
        cmocka_unit_test(a_clock_set_back_keeps_no_replica_of_a_success),
        cmocka_unit_test(the_master_decides_failure),
        cmocka_unit_test(failures_are_told_with_the_last_words),
        cmocka_unit_test(workers_failures_do_not_end_the_job),
        cmocka_unit_test(a_victim_waits_for_the_one_who_failed),
        cmocka_unit_test(a_cause_that_does_not_come_is_not_waited_for_long),
        cmocka_unit_test(a_restart_of_all_waits_for_the_cause_too),
        cmocka_unit_test(the_end_is_final),
        cmocka_unit_test(policy_and_exit_code_decide_replacement),
        cmocka_unit_test(a_replacement_keeps_name_and_rank),
        cmocka_unit_test(four_failures_share_a_budget_of_three),
        cmocka_unit_test(four_failures_at_once_charge_three),
        cmocka_unit_test(without_budget_the_first_failure_is_the_last),
        cmocka_unit_test(always_on_the_master_ends_with_its_last_exit),
        cmocka_unit_test(replacements_wait_longer_each_time),
        cmocka_unit_test(a_missing_pod_waits_for_its_turn_too),
        cmocka_unit_test(job_scope_replaces_all_for_the_price_of_one),
        cmocka_unit_test(job_scope_waits_before_the_second_round),
        cmocka_unit_test(job_scope_renews_what_had_succeeded),
        cmocka_unit_test(a_pod_deleted_by_hand_is_replaced_for_free),
        cmocka_unit_test(the_name_of_a_pod_deleted_by_hand_rests),
        cmocka_unit_test(a_clock_that_was_set_back_lets_no_name_rest_for_long),
        cmocka_unit_test(a_failure_before_the_deletion_still_counts),
        cmocka_unit_test(a_finished_worker_deleted_by_hand_stays_finished),
        cmocka_unit_test(a_failure_by_itself_during_an_eviction_is_charged_once),
        cmocka_unit_test(a_failure_counts_when_no_other_was_told),
        cmocka_unit_test(who_is_told_and_evicted_is_let_go),
        cmocka_unit_test(who_ends_by_itself_while_it_is_deleted_has_ended),
        cmocka_unit_test(a_pod_lost_with_its_node_is_replaced_for_free),
        cmocka_unit_test(a_pod_its_machine_came_back_without_is_replaced_for_free),
        cmocka_unit_test(a_silent_node_is_said),
        cmocka_unit_test(the_deadline_is_never_early),
        cmocka_unit_test(success_beats_the_deadline),
        cmocka_unit_test(clean_up_by_policy_and_ending),
        cmocka_unit_test(what_never_began_goes_with_the_end),
        cmocka_unit_test(clean_up_leaves_what_is_not_ours),
        cmocka_unit_test(the_job_goes_when_its_time_is_up),
        cmocka_unit_test(a_job_is_deleted_at_the_time_it_says),
        cmocka_unit_test(a_deletion_that_was_undone_unseen_fails),
        cmocka_unit_test(what_ran_before_a_pause_is_remembered),
        cmocka_unit_test(created_paused_makes_nothing),
        cmocka_unit_test(pause_stops_and_resume_starts_again),
        cmocka_unit_test(resume_waits_for_the_old_pods_to_go),
        cmocka_unit_test(the_deadline_stops_while_paused),
        cmocka_unit_test(the_deadline_stops_while_preempted),
        cmocka_unit_test(a_preempted_job_says_at_once_who_takes_its_room),
        cmocka_unit_test(a_preempted_job_says_its_place_in_line),
        cmocka_unit_test(the_reason_of_a_job_is_its_groups),
        cmocka_unit_test(a_paused_job_does_not_follow_the_ports_of_others),
        cmocka_unit_test(scaling_touches_no_survivor),
        cmocka_unit_test(a_replica_taken_back_has_a_newer_attempt_than_its_old_pod),
        cmocka_unit_test(job_scope_waits_for_surplus_pods_to_be_gone),
        cmocka_unit_test(shares_follow_the_weights),
        cmocka_unit_test(the_names_wanted_are_the_names_made),
        cmocka_unit_test(an_old_cache_does_not_undo_what_is_recorded),
        cmocka_unit_test(the_failure_of_a_predecessor_comes_too_late),
        cmocka_unit_test(an_old_pause_stops_no_resumed_pods),
        cmocka_unit_test(an_old_job_makes_no_pods),
        cmocka_unit_test(a_job_makes_one_group),
        cmocka_unit_test(a_node_in_the_template_is_what_the_scheduler_is_asked_for),
        cmocka_unit_test(a_group_wants_those_whose_part_is_not_done),
        cmocka_unit_test(a_group_deleted_by_hand_is_created_again),
        cmocka_unit_test(the_deadline_of_a_group_is_its_jobs),
        cmocka_unit_test(pods_carry_what_their_job_promises),
        cmocka_unit_test(a_group_made_anew_knows_when_its_job_started),
        cmocka_unit_test(without_our_scheduler_there_is_no_group),
        cmocka_unit_test(a_thousand_replicas_are_no_trouble),
        cmocka_unit_test(out_of_memory_is_not_a_crash),
    };

    return cmocka_run_group_tests_name("core pytorch", tests, NULL, NULL);
}
