/* mpi_test.c - an MPIJob's life, told through the world of world.h. */
#include "core/mpi.h"

#include "core/schedule.h"
#include "world.h"

#define UID "cffea855-5ce2-496a-8956-f6e76fe2f565"
#define WORKER                                                                                     \
    "'template':{'metadata':{'labels':{'team':'a'}},'spec':{'containers':[{"                       \
    "'name':'worker','image':'horovod','workingDir':'/data','env':[{'name':'A',"                   \
    "'value':'1'}],'volumeMounts':[{'name':'d','mountPath':'/data'}],'resources':{"                \
    "'limits':{'cpu':'4','nvidia.com/gpu':'1'}}},{'name':'aside','image':'i'}],"                   \
    "'initContainers':[{'name':'i','image':'i'}],'volumes':[{'name':'d','emptyDir':"               \
    "{}}],'nodeSelector':{'k':'v'}}}"
#define CONFIG                                                                                     \
    "'mpiConfig':{'script':['./pi','$(N)'],'home':'/opt/mpi','extraArgs':['-N','2'],"              \
    "'mca':{'btl':'^openib'}}"

static void submit(struct world *w, int workers, const char *more)
{
    world_init(w);
    world_submit_text(
        w, arena_printf(&w->arena,
                        "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob',"
                        "'metadata':{'name':'mnist','namespace':'ns','generation':1,'uid':'" UID
                        "'},'spec':{" CONFIG ",'replicaSpecs':[{'type':'worker','replicas':%d,"
                        "'restartPolicy':{'policy':'OnFailure'}," WORKER "}]%s%s}}",
                        workers, *more ? "," : "", more));
}

static void start(struct world *w, int workers, const char *more)
{
    submit(w, workers, more);
    world_settle(w);
    world_all_run(w);
    world_settle(w);
}

static const char launcher[] = "mnist-40c14-launcher";

static const struct json *launcher_pod(struct world *w)
{
    return world_get(w, WORLD_PODS, launcher);
}

static const char *message(struct world *w)
{
    return json_get_string(world_status(w), "message", "");
}

static const char *compact(struct world *w, const struct json *v)
{
    struct buf out = BUF_INIT(1 << 20);
    const char *text;

    json_write(&out, v);
    text = arena_strdup(&w->arena, out.data ? out.data : "");
    buf_release(&out);
    return text;
}

/* --- creation --------------------------------------------------------------------------------- */

static void workers_come_first_and_the_launcher_with_them(void **state)
{
    const struct json *tasks;
    struct plan plan;
    struct world w;
    size_t pods = 0;

    (void)state;
    submit(&w, 3, "");
    world_plan(&w, &plan);
    for (const struct plan_step *s = plan.first; s; s = s->next)
        if (s->op == PLAN_CREATE && s->kind == &kind_pod) {
            assert_int_equal(strcmp(s->name, launcher) == 0, pods == 3);
            if (pods == 3) /* its stage begins when theirs has succeeded */
                assert_true(s->stage > plan.first->stage + 1);
            pods++;
        }
    assert_int_equal(pods, 4);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 4);
    assert_int_equal(world_now(&w, WORLD_SERVICES)->len, 0);
    assert_int_equal(world_now(&w, WORLD_LEASES)->len, 0);
    assert_int_equal(world_now(&w, WORLD_OTHERS)->len, 3);
    assert_null(json_get(world_status(&w), "masterPort"));
    tasks = json_get(world_status(&w), "tasks");
    assert_string_equal(json_get_string(json_index(tasks, 0), "type", ""), "launcher");
    assert_int_equal(json_len(json_get(json_index(tasks, 0), "replicas")), 1);
    assert_string_equal(json_get_string(json_index(tasks, 1), "type", ""), "worker");
    assert_int_equal(json_len(json_get(json_index(tasks, 1), "replicas")), 3);
    assert_int_equal(
        json_int(json_at(world_now(&w, WORLD_GROUPS)->items[0], "spec", "minMember"), 0), 4);
    assert_string_equal(world_event_text(&w, "Created"), "A MPIJob has been created: mnist");
    world_release(&w);
}

static void the_launcher_is_made_of_the_worker(void **state)
{
    const struct json *spec;
    struct world w;

    (void)state;
    submit(&w, 2, "");
    world_settle(&w);
    spec = json_get(launcher_pod(&w), "spec");
    assert_string_equal(
        compact(&w, spec),
        "{\"volumes\":[{\"name\":\"d\",\"emptyDir\":{}}],\"nodeSelector\":{\"k\":\"v\"},"
        "\"containers\":[{\"name\":\"launcher\",\"image\":\"horovod\",\"workingDir\":\"/data\","
        "\"env\":[{\"name\":\"A\",\"value\":\"1\"}],\"volumeMounts\":[{\"name\":\"d\","
        "\"mountPath\":\"/data\"}],\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
        "\"100Mi\"},\"limits\":{\"cpu\":\"200m\",\"memory\":\"200Mi\"}},\"command\":["
        "\"$(MUSTER_EXE)\",\"mpi-launch\"],\"args\":[\"--namespace=ns\",\"--slots=2\","
        "\"--implementation=openmpi\",\"--timeout=300\",\"--home=/opt/mpi\","
        "\"--mca=btl=^openib\",\"--extra=-N\",\"--extra=2\","
        "\"--worker=mnist-40c14-worker-0\",\"--worker=mnist-40c14-worker-1\",\"--\",\"./pi\","
        "\"$(N)\"]}],\"serviceAccountName\":\"mnist-40c14-launcher\",\"restartPolicy\":"
        "\"Never\"}");
    assert_string_equal(object_label(launcher_pod(&w), LABEL_REPLICA_TYPE), "launcher");
    assert_string_equal(object_label(launcher_pod(&w), LABEL_JOB_ROLE), "master");
    assert_string_equal(object_label(launcher_pod(&w), "mpi-job"), "mnist");
    assert_null(object_label(launcher_pod(&w), "team"));
    world_release(&w);
}

static void workers_wait_unless_they_have_a_command(void **state)
{
    const struct json *containers;
    struct world w;

    (void)state;
    submit(&w, 1, "");
    world_settle(&w);
    containers = json_at(world_pod(&w, "worker", 0), "spec", "containers");
    assert_string_equal(compact(&w, json_get(json_index(containers, 0), "command")),
                        "[\"$(MUSTER_EXE)\",\"mpi-worker\"]");
    assert_null(json_get(json_index(containers, 1), "command"));
    assert_string_equal(object_label(world_pod(&w, "worker", 0), "team"), "a");
    assert_non_null(json_at(world_pod(&w, "worker", 0), "spec", "initContainers"));
    world_release(&w);
    world_init(&w);
    world_submit_text(&w,
                      "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata':{"
                      "'name':'mnist','namespace':'ns','uid':'" UID "'},'spec':{'mpiConfig':{"
                      "'script':['a']},'replicaSpecs':[{'type':'worker','template':{'spec':{"
                      "'containers':[{'name':'w','command':['sshd','-D']}]}}}]}}");
    world_settle(&w);
    assert_string_equal(
        compact(&w, json_at(json_first(json_at(world_pod(&w, "worker", 0), "spec", "containers")),
                            "command")),
        "[\"sshd\",\"-D\"]");
    world_release(&w);
}

/* By the API where pods share a network, as ports would be shared, too. */
static void programs_are_started_by_ssh_where_it_is_asked_for(void **state)
{
    static const char ssh[] = "'ssh':{'sshdPath':'/opt/sshd','sshAuthMountPath':'/keys'}";
    static const char mounted[] = "{\"name\":\"mpi-ssh\",\"mountPath\":\"/keys\"}";
    const struct json *worker, *role = NULL, *secret = NULL;
    struct world w;

    (void)state;
    submit(&w, 1, ssh);
    world_settle(&w);
    assert_int_equal(world_now(&w, WORLD_OTHERS)->len, 3);
    assert_null(strstr(compact(&w, launcher_pod(&w)), "ssh"));
    world_release(&w);
    submit(&w, 1, ssh);
    w.shared_network = false;
    world_settle(&w);
    worker = json_first(json_at(world_pod(&w, "worker", 0), "spec", "containers"));
    assert_string_equal(json_string(json_index(json_get(worker, "command"), 0), ""), "/bin/sh");
    assert_string_equal(json_string(json_index(json_get(worker, "command"), 5), ""), "/opt/sshd");
    assert_non_null(strstr(compact(&w, worker), mounted));
    assert_non_null(strstr(compact(&w, launcher_pod(&w)), mounted));
    assert_non_null(strstr(compact(&w, launcher_pod(&w)), "\"--ssh=/keys\""));
    assert_non_null(strstr(compact(&w, launcher_pod(&w)), "\"secretName\":\"mnist-40c14-ssh\""));
    for (size_t i = 0; i < world_now(&w, WORLD_OTHERS)->len; i++) {
        const struct json *o = world_now(&w, WORLD_OTHERS)->items[i];

        if (json_string_is(json_get(o, "kind"), "Secret"))
            secret = o;
        if (json_string_is(json_get(o, "kind"), "Role"))
            role = o;
    }
    assert_string_equal(object_name(secret), "mnist-40c14-ssh");
    assert_true(json_string_is(json_get(secret, "type"), MPI_SECRET_TYPE));
    assert_int_equal(json_len(json_get(role, "rules")), 1);
    world_release(&w);
}

static void a_launcher_of_ones_own_is_filled_up(void **state)
{
    const struct json *c;
    struct world w;

    (void)state;
    world_init(&w);
    world_submit_text(
        &w, "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata':{'name':"
            "'mnist','namespace':'ns','uid':'" UID "'},'spec':{" CONFIG ",'replicaSpecs':[{'type':"
            "'launcher','template':{'metadata':{'labels':{'team':'b'}},'spec':{"
            "'serviceAccountName':'own','containers':[{'name':'aside'},{'name':'launcher',"
            "'command':['x'],'resources':{'limits':{'cpu':'1'}}}]}}},{'type':'worker',"
            "'template':{'spec':{'runtimeClassName':'image','containers':[{'name':'worker',"
            "'image':'horovod','workingDir':'/data'}]}}}]}}");
    world_settle(&w);
    assert_string_equal(json_string(json_at(launcher_pod(&w), "spec", "runtimeClassName"), "none"),
                        "image");
    c = json_index(json_at(launcher_pod(&w), "spec", "containers"), 1);
    assert_string_equal(json_get_string(c, "image", ""), "horovod");
    assert_string_equal(json_get_string(c, "workingDir", ""), "/data");
    assert_string_equal(compact(&w, json_get(c, "resources")), "{\"limits\":{\"cpu\":\"1\"}}");
    assert_string_equal(compact(&w, json_get(c, "command")), "[\"$(MUSTER_EXE)\",\"mpi-launch\"]");
    assert_null(json_get(c, "volumeMounts"));
    assert_string_equal(object_label(launcher_pod(&w), "team"), "b");
    assert_string_equal(json_string(json_at(launcher_pod(&w), "spec", "serviceAccountName"), ""),
                        "own");
    assert_int_equal(world_now(&w, WORLD_OTHERS)->len, 2); /* no account of ours */
    world_release(&w);
}

static void a_launchers_only_container_needs_no_name(void **state)
{
    static const char *const launchers[][2] = {
        {"{'name':'l'}", "l"},
        {"{'name':'aside','command':['sleep']}", "launcher"},
        {"{'name':'a'},{'name':'b'}", "launcher"},
    };
    static const size_t place[] = {0, 1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const struct json *c;
        struct world w;
        char text[1000];

        world_init(&w);
        (void)snprintf(
            text, sizeof(text),
            "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata':{'name':"
            "'mnist','namespace':'ns','uid':'" UID "'},'spec':{" CONFIG ",'replicaSpecs':[{'type':"
            "'launcher','template':{'spec':{'containers':[%s]}}},{'type':'worker'," WORKER "}]}}",
            launchers[i][0]);
        world_submit_text(&w, text);
        world_settle(&w);
        c = json_index(json_at(launcher_pod(&w), "spec", "containers"), place[i]);
        assert_string_equal(json_get_string(c, "name", ""), launchers[i][1]);
        assert_string_equal(compact(&w, json_get(c, "command")),
                            "[\"$(MUSTER_EXE)\",\"mpi-launch\"]");
        world_release(&w);
    }
}

static void the_launcher_may_reach_this_jobs_workers_only(void **state)
{
    const struct json *account = NULL, *role = NULL, *binding = NULL;
    struct world w;

    (void)state;
    submit(&w, 2, "");
    world_settle(&w);
    for (size_t i = 0; i < world_now(&w, WORLD_OTHERS)->len; i++) {
        const struct json *o = world_now(&w, WORLD_OTHERS)->items[i];

        assert_true(object_is_controlled_by(o, UID));
        assert_string_equal(object_name(o), launcher);
        account = kind_of_object(o) == &kind_service_account ? o : account;
        role = kind_of_object(o) == &kind_role ? o : role;
        binding = kind_of_object(o) == &kind_role_binding ? o : binding;
    }
    assert_non_null(account);
    assert_string_equal(
        compact(&w, json_get(role, "rules")),
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\",\"watch\"],"
        "\"resourceNames\":[\"mnist-40c14-worker-0\",\"mnist-40c14-worker-1\"]},{\"apiGroups\":"
        "[\"\"],\"resources\":[\"pods/exec\"],\"verbs\":[\"create\",\"get\"],\"resourceNames\":"
        "[\"mnist-40c14-worker-0\",\"mnist-40c14-worker-1\"]}]");
    assert_string_equal(compact(&w, json_get(binding, "roleRef")),
                        "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":"
                        "\"mnist-40c14-launcher\"}");
    assert_string_equal(compact(&w, json_get(binding, "subjects")),
                        "[{\"kind\":\"ServiceAccount\",\"name\":\"mnist-40c14-launcher\","
                        "\"namespace\":\"ns\"}]");
    world_release(&w);
}

static void an_older_layout_that_is_stored_is_understood(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.shared_network = false; /* a cluster's own API server keeps what it is given */
    world_submit_text(&w, "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata'"
                          ":{'name':'mnist','namespace':'ns','uid':'" UID "'},'spec':{'worker':{"
                          "'replicas':2,'cmd':['./pi'],'template':{'spec':{'containers':[{'name':"
                          "'mpi-worker'}]}}},'mpiHome':'/usr'}}");
    world_settle(&w);
    assert_int_equal(world_pods(&w), 3);
    assert_non_null(json_at(world_job(&w), "spec", "worker"));
    world_release(&w);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void the_launchers_end_is_the_jobs(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "");
    assert_string_equal(world_phase(&w), "Running");
    world_pod_exits(&w, launcher, 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1); /* the workers would have waited for ever */
    assert_non_null(launcher_pod(&w));
    world_release(&w);

    start(&w, 2, "");
    world_pod_fails_saying(&w, launcher, 1, "mpirun was unable to find the executable ./pi");
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(
        message(&w),
        "MPIJob mnist has failed: mnist-40c14-launcher failed with exit code 1: mpirun was unable "
        "to find the executable ./pi; no restart is allowed (backoffLimit 0)");
    world_release(&w);
}

static void a_worker_that_dies_is_named_as_the_cause(void **state)
{
    struct world w;

    (void)state;
    for (int launcher_too = 0; launcher_too < 2; launcher_too++) {
        start(&w, 3, "");
        world_pod_exits(&w, world_name(&w, "worker", 1), 137);
        if (launcher_too)
            world_pod_exits(&w, launcher, 1);
        world_settle(&w);
        assert_string_equal(world_phase(&w), "Failed");
        assert_non_null(strstr(message(&w), "mnist-40c14-worker-1 failed with exit code 137"));
        assert_null(strstr(message(&w), "launcher failed"));
        world_stop_deleted(&w);
        world_settle(&w);
        for (size_t i = 0; i < world_pods(&w); i++)
            assert_true(pod_is_finished(world_now(&w, WORLD_PODS)->items[i]));
        world_release(&w);
    }
}

static void a_worker_that_leaves_early_is_a_failure(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "");
    world_pod_exits(&w, world_name(&w, "worker", 0), 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(message(&w),
                        "MPIJob mnist has failed: mnist-40c14-worker-0 ended with exit code 0 "
                        "while mnist-40c14-launcher still needed it; no restart is allowed "
                        "(backoffLimit 0)");
    world_release(&w);
}

static void never_is_never(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit_text(&w, "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata'"
                          ":{'name':'mnist','namespace':'ns','uid':'" UID "'},'spec':{" CONFIG
                          ",'runPolicy':{'backoffLimit':5},'replicaSpecs':[{'type':'worker',"
                          "'restartPolicy':{'policy':'Never'}," WORKER "}]}}");
    world_settle(&w);
    world_all_run(&w);
    world_pod_exits(&w, world_name(&w, "worker", 0), 1);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "ReplicaFailed");
    assert_non_null(strstr(message(&w), "restartPolicy Never does not restart it"));
    world_release(&w);
}

/* A worker that ends after the launcher changes nothing. */
static void success_wins(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "");
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    world_pod_exits(&w, launcher, 0);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Succeeded");
    world_release(&w);
}

static void clean_up_of_workers(void **state)
{
    static const struct {
        const char *policy;
        size_t left;
    } table[] = {
        {"'runPolicy':{'cleanUpWorkers':true}", 1},
        {"'runPolicy':{'cleanUpWorkers':false}", 3},
        {"'runPolicy':{'cleanUpWorkers':false,'cleanUpPolicy':'Unfinished'}", 1},
        {"'runPolicy':{'cleanUpPolicy':'All'}", 0},
        {"'runPolicy':{'cleanUpPolicy':'None'}", 3},
        {"'runPolicy':{'cleanUpPolicy':'None','cleanUpWorkers':true}", 1},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        start(&w, 2, table[i].policy);
        world_pod_exits(&w, launcher, 0);
        world_settle(&w);
        world_stop_deleted(&w);
        world_settle(&w);
        assert_int_equal(world_pods(&w), table[i].left);
        world_release(&w);
    }
}

static void the_deadline_holds(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "'runPolicy':{'activeDeadlineSeconds':60}");
    w.now_ms += 62000;
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_string_equal(json_get_string(world_status(&w), "reason", ""), "DeadlineExceeded");
    world_release(&w);
}

/* --- restarts --------------------------------------------------------------------------------- */

static void restart_all(struct world *w)
{
    world_settle(w);
    world_stop_deleted(w);
    world_settle(w);
    world_all_run(w);
    world_settle(w);
}

static void an_attempt_is_of_all_and_costs_one(void **state)
{
    const char *uid;
    struct world w;

    (void)state;
    start(&w, 2, "'runPolicy':{'backoffLimit':1}");
    uid = object_uid(world_pod(&w, "worker", 0));
    world_pod_exits(&w, world_name(&w, "worker", 1), 137);
    world_pod_exits(&w, launcher, 1);
    restart_all(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_backoff(&w), 1);
    assert_int_equal(world_pods(&w), 3);
    assert_string_not_equal(object_uid(world_pod(&w, "worker", 0)), uid);
    world_pod_exits(&w, launcher, 1);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    assert_non_null(strstr(message(&w), "the restart budget is spent (1 of 1)"));
    world_release(&w);
}

static void replica_scope_keeps_the_living(void **state)
{
    const char *uid;
    struct world w;

    (void)state;
    start(&w, 3, "'runPolicy':{'backoffLimit':2,'restartScope':'Replica'}");
    uid = object_uid(world_pod(&w, "worker", 0));
    world_pod_exits(&w, world_name(&w, "worker", 1), 1);
    world_pod_exits(&w, world_name(&w, "worker", 2), 1);
    world_settle(&w);
    assert_int_equal(world_backoff(&w), 1); /* one attempt, whichever replica ended */
    assert_true(object_is_deleting(launcher_pod(&w)));
    restart_all(&w);
    assert_int_equal(world_pods(&w), 4);
    assert_string_equal(object_uid(world_pod(&w, "worker", 0)), uid);
    world_pod_exits(&w, launcher, 1);
    restart_all(&w);
    w.now_ms += 2000;
    restart_all(&w);
    assert_int_equal(world_backoff(&w), 2);
    assert_string_equal(object_uid(world_pod(&w, "worker", 0)), uid);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_pods(&w), 4);
    world_release(&w);
}

static void the_limit_of_a_type_is_a_budget_too(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_submit_text(&w, "{'apiVersion':'batch.tensorstack.dev/v1beta1','kind':'MPIJob','metadata'"
                          ":{'name':'mnist','namespace':'ns','uid':'" UID "'},'spec':{" CONFIG
                          ",'replicaSpecs':[{'type':'launcher','restartPolicy':{'limit':1},"
                          "'template':{}},{'type':'worker'," WORKER "}]}}");
    world_settle(&w);
    world_all_run(&w);
    world_pod_exits(&w, launcher, 3);
    restart_all(&w);
    assert_int_equal(world_backoff(&w), 1);
    assert_string_equal(world_phase(&w), "Running");
    world_pod_exits(&w, launcher, 3);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Failed");
    world_release(&w);
}

static void a_worker_deleted_by_hand_takes_the_launcher_along_for_free(void **state)
{
    const char *uid, *kept;
    struct world w;

    (void)state;
    start(&w, 2, "");
    uid = object_uid(launcher_pod(&w));
    kept = object_uid(world_pod(&w, "worker", 0));
    world_mark_deleted(&w, "worker", 1);
    world_settle(&w);
    assert_true(object_is_deleting(launcher_pod(&w)));
    world_stop_deleted(&w);
    world_settle(&w);
    assert_int_equal(world_pods(&w), 1);
    w.now_ms = w.wake_at_ms;
    restart_all(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_backoff(&w), 0);
    assert_int_equal(world_pods(&w), 3);
    assert_string_not_equal(object_uid(launcher_pod(&w)), uid);
    assert_string_equal(object_uid(world_pod(&w, "worker", 0)), kept);
    world_release(&w);
}

/* --- modes ------------------------------------------------------------------------------------ */

static void debugging_sleeps(void **state)
{
    struct world w;

    (void)state;
    submit(&w, 1,
           "'runMode':{'debug':{'enabled':true,'replicaSpecs':[{'type':'worker',"
           "'command':['/usr/sbin/sshd','-D']}]}}");
    world_settle(&w);
    assert_string_equal(
        compact(&w,
                json_get(json_first(json_at(launcher_pod(&w), "spec", "containers")), "command")),
        "[\"sleep\",\"inf\"]");
    assert_string_equal(
        compact(&w, json_get(json_first(json_at(world_pod(&w, "worker", 0), "spec", "containers")),
                             "command")),
        "[\"/usr/sbin/sshd\",\"-D\"]");
    world_release(&w);
}

static void a_pause_stops_all_and_resumes_with_another_program(void **state)
{
    const char *args;
    struct world w;

    (void)state;
    start(&w, 2,
          "'runMode':{'pause':{'enabled':false,'resumeSpecs':[{'type':'launcher',"
          "'command':['./pi'],'args':['--resume']}]}}");
    world_edit_spec(&w, "runMode",
                    "{'pause':{'enabled':true,'resumeSpecs':[{'type':'launcher','command':['./pi'],"
                    "'args':['--resume']}]}}");
    world_settle(&w);
    world_stop_deleted(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Paused");
    assert_int_equal(world_pods(&w), 0);
    world_edit_spec(&w, "runMode",
                    "{'pause':{'enabled':false,'resumeSpecs':[{'type':'launcher','command':"
                    "['./pi'],'args':['--resume']}]}}");
    world_settle(&w);
    world_all_run(&w);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_backoff(&w), 0);
    args = compact(&w,
                   json_get(json_first(json_at(launcher_pod(&w), "spec", "containers")), "args"));
    assert_non_null(strstr(args, "\"--\",\"./pi\",\"--resume\"]"));
    world_release(&w);
}

static void who_is_not_ready_is_said(void **state)
{
    const struct json *old;
    struct json *pod;
    struct world w;

    (void)state;
    start(&w, 2, "");
    assert_string_equal(message(&w), "");
    old = world_pod(&w, "worker", 1);
    pod = world_edit(&w, old);
    json_set(&w.arena, json_make_object(&w.arena, pod, "status"), "conditions",
             parse(&w.arena, "[{'type':'Ready','status':'False'}]"));
    world_change(&w, WORLD_PODS, old, pod);
    world_settle(&w);
    assert_string_equal(world_phase(&w), "Running");
    assert_string_equal(message(&w),
                        "1 of 2 workers run and are not ready, mnist-40c14-worker-1 is the first");
    world_release(&w);
}

/* A cache that shows the launcher shows the workers it was made after: one that is missing went. */
static void a_worker_that_is_gone_is_replaced_before_the_launcher(void **state)
{
    struct plan plan;
    struct world w;

    (void)state;
    start(&w, 2, "");
    world_remove(&w, WORLD_PODS, world_name(&w, "worker", 0));
    world_plan(&w, &plan);
    world_apply(&w, &plan, -1);
    assert_true(object_is_deleting(launcher_pod(&w)));
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    assert_non_null(world_pod(&w, "worker", 0));
    world_stop_deleted(&w);
    world_settle(&w);
    w.now_ms = w.wake_at_ms;
    world_settle(&w);
    assert_false(object_is_deleting(launcher_pod(&w)));
    assert_int_equal(world_backoff(&w), 0);
    world_release(&w);
}

/* Its own failure came first: it is charged, the worker that was deleted is not. */
static void a_failure_and_a_deletion_at_once_cost_one(void **state)
{
    struct world w;

    (void)state;
    start(&w, 2, "'runPolicy':{'backoffLimit':3}");
    world_mark_deleted(&w, "worker", 1);
    world_pod_exits(&w, launcher, 1);
    restart_all(&w);
    assert_int_equal(world_backoff(&w), 1);
    assert_string_equal(world_phase(&w), "Running");
    assert_int_equal(world_pods(&w), 3);
    world_release(&w);
}

static void count_name(void *arg, const char *name)
{
    size_t *count = arg;

    *count += strncmp(name, "mnist-40c14-", 12) == 0;
}

static void the_names_wanted_are_the_names_made(void **state)
{
    size_t count = 0;
    struct world w;

    (void)state;
    submit(&w, 3, "");
    job_kind_mpi.wanted_names(&w.arena, world_job(&w), count_name, &count);
    assert_int_equal(count, 4);
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_come_first_and_the_launcher_with_them),
        cmocka_unit_test(the_launcher_is_made_of_the_worker),
        cmocka_unit_test(workers_wait_unless_they_have_a_command),
        cmocka_unit_test(programs_are_started_by_ssh_where_it_is_asked_for),
        cmocka_unit_test(a_launcher_of_ones_own_is_filled_up),
        cmocka_unit_test(a_launchers_only_container_needs_no_name),
        cmocka_unit_test(the_launcher_may_reach_this_jobs_workers_only),
        cmocka_unit_test(an_older_layout_that_is_stored_is_understood),
        cmocka_unit_test(the_launchers_end_is_the_jobs),
        cmocka_unit_test(a_worker_that_dies_is_named_as_the_cause),
        cmocka_unit_test(a_worker_that_leaves_early_is_a_failure),
        cmocka_unit_test(never_is_never),
        cmocka_unit_test(success_wins),
        cmocka_unit_test(clean_up_of_workers),
        cmocka_unit_test(the_deadline_holds),
        cmocka_unit_test(an_attempt_is_of_all_and_costs_one),
        cmocka_unit_test(replica_scope_keeps_the_living),
        cmocka_unit_test(the_limit_of_a_type_is_a_budget_too),
        cmocka_unit_test(a_worker_deleted_by_hand_takes_the_launcher_along_for_free),
        cmocka_unit_test(debugging_sleeps),
        cmocka_unit_test(a_pause_stops_all_and_resumes_with_another_program),
        cmocka_unit_test(the_names_wanted_are_the_names_made),
        cmocka_unit_test(who_is_not_ready_is_said),
        cmocka_unit_test(a_worker_that_is_gone_is_replaced_before_the_launcher),
        cmocka_unit_test(a_failure_and_a_deletion_at_once_cost_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
