/* pod_test.c - pods and services out of templates: labels, environment, torchrun, debug. */
#include "core/replica_pod.h"
#include "world.h"

/* The first pod a job with this spec makes, of the given type and index. */
static const struct json *pod_of(struct world *w, const char *spec, const char *type, int index)
{
    struct json *job;

    world_init(w);
    job = parse(&w->arena, "{'metadata':{'name':'mnist','namespace':'ns',"
                           "'uid':'cffea855-5ce2-496a-8956-f6e76fe2f565'}}");
    json_set(&w->arena, job, "spec", parse(&w->arena, spec));
    world_add(w, WORLD_JOBS, job);
    world_settle(w);
    return world_pod(w, type, index);
}

static const struct json *container_of_pod(const struct json *pod, size_t index)
{
    return json_index(json_at(pod, "spec", "containers"), index);
}

static const char *written(struct world *w, const struct json *v)
{
    struct buf b = BUF_INIT(1 << 16);
    char *text;

    json_write(&b, v);
    text = arena_strdup(&w->arena, b.data ? b.data : "");
    buf_release(&b);
    return text;
}

static const char *env_value(const struct json *container, const char *name)
{
    const char *found = "absent";
    int count = 0;

    json_each (var, json_get(container, "env"))
        if (json_string_is(json_get(var, "name"), name)) {
            found = json_get_string(var, "value", "");
            count++;
        }
    assert_true(count <= 1);
    return found;
}

#define PS_JOB                                                                                     \
    "{'replicaSpecs':[{'type':'ps','replicas':1,'template':{'metadata':{'labels':{'team':'a'},"    \
    "'annotations':{'note':'b'}},'spec':{'containers':[{'name':'c'}]}}},"                          \
    "{'type':'worker','replicas':4,'template':{'spec':{'containers':[{'name':'c'}]}}}]}"

static void ranks_follow_the_order_of_the_specs(void **state)
{
    struct world w;
    const struct json *ps = pod_of(&w, PS_JOB, "ps", 0);
    const struct json *worker = world_pod(&w, "worker", 3);

    (void)state;
    assert_string_equal(env_value(container_of_pod(ps, 0), "RANK"), "0");
    assert_string_equal(env_value(container_of_pod(worker, 0), "RANK"), "4");
    assert_string_equal(env_value(container_of_pod(worker, 0), "WORLD_SIZE"), "5");
    assert_string_equal(env_value(container_of_pod(worker, 0), "MASTER_ADDR"), object_name(ps));
    assert_string_equal(object_label(ps, LABEL_JOB_ROLE), "master");
    assert_null(object_label(worker, LABEL_JOB_ROLE));
    world_release(&w);
}

static void labels_and_annotations_are_added(void **state)
{
    struct world w;
    const struct json *ps = pod_of(&w, PS_JOB, "ps", 0);
    const struct json *worker = world_pod(&w, "worker", 2);
    const struct json *owner = object_controller(ps);

    (void)state;
    assert_string_equal(object_label(ps, "team"), "a");
    assert_string_equal(object_annotation(ps, "note"), "b");
    assert_string_equal(object_label(worker, LABEL_OWNER_NAME), "mnist");
    assert_string_equal(object_label(worker, LABEL_OWNER_KIND), "PyTorchTrainingJob");
    assert_string_equal(object_label(worker, LABEL_REPLICA_TYPE), "worker");
    assert_string_equal(object_label(worker, LABEL_REPLICA_INDEX), "2");
    assert_string_equal(object_annotation(worker, ANNOTATION_ATTEMPT), "0");
    assert_string_equal(json_get_string(owner, "apiVersion", ""), "batch.tensorstack.dev/v1beta1");
    assert_string_equal(json_get_string(owner, "kind", ""), "PyTorchTrainingJob");
    assert_true(json_get_bool(owner, "blockOwnerDeletion", false));
    assert_string_equal(json_string(json_at(ps, "spec", "restartPolicy"), ""), "Never");
    world_release(&w);
}

static void each_replica_has_a_headless_service(void **state)
{
    struct world w;
    const struct json *pod = pod_of(&w, PS_JOB, "worker", 1);
    const struct json *service = world_get(&w, WORLD_SERVICES, object_name(pod));
    const struct json *port = json_first(json_at(service, "spec", "ports"));

    (void)state;
    assert_string_equal(json_string(json_at(service, "spec", "clusterIP"), ""), "None");
    assert_int_equal(json_get_int(port, "port", 0),
                     json_get_int(world_status(&w), "masterPort", -1));
    json_each (wanted, json_at(service, "spec", "selector"))
        assert_string_equal(object_label(pod, wanted->key), wanted->u.text);
    assert_true(object_is_controlled_by(service, object_uid(world_job(&w))));
    /* created again when it is deleted */
    world_remove(&w, WORLD_SERVICES, object_name(pod));
    world_settle(&w);
    assert_non_null(world_get(&w, WORLD_SERVICES, object_name(pod)));
    world_release(&w);
}

static void the_users_own_variables_win_and_are_warned_about(void **state)
{
    struct world w;
    const struct json *pod = pod_of(
        &w,
        "{'replicaSpecs':[{'type':'worker','template':{'spec':{'restartPolicy':'Always',"
        "'containers':[{'name':'c','env':[{'name':'MASTER_PORT','value':'1'},"
        "{'name':'URL','value':'$(MASTER_ADDR)'}]}]}}}]}",
        "worker", 0);
    const struct json *c = container_of_pod(pod, 0);

    (void)state;
    assert_string_equal(env_value(c, "MASTER_PORT"), "1");
    assert_string_equal(env_value(c, "RANK"), "0");
    /* ours come first, so that $(MASTER_ADDR) of the user's can be expanded */
    assert_string_equal(json_get_string(json_first(json_get(c, "env")), "name", ""), "MASTER_ADDR");
    assert_int_equal(world_events(&w, "EnvOverridden"), 1);
    assert_int_equal(world_events(&w, "RestartPolicyIgnored"), 1);
    world_all_run(&w);
    world_settle(&w);
    assert_int_equal(world_events(&w, "EnvOverridden"), 1);
    assert_int_equal(world_events(&w, "RestartPolicyIgnored"), 1);
    assert_string_equal(json_string(json_at(pod, "spec", "restartPolicy"), ""), "Never");
    world_release(&w);
}

/* --- torchrun --------------------------------------------------------------------------------- */

static void torchrun_lines(void **state)
{
    static const struct {
        const char *config, *more, *args;
    } table[] = {
        {"{'enabled':true,'maxRestarts':3,'procPerNode':'4','rdzvBackend':'c10d',"
         "'extraOptions':['--log_dir','x']}",
         "",
         "['--nnodes','2','--nproc_per_node','4','--rdzv_id','mnist-40c14','--rdzv_backend',"
         "'c10d','--rdzv_endpoint','$(MASTER_ADDR):$(MASTER_PORT)','--max_restarts','3','--role',"
         "'node','--log_dir','x','-m','train']"},
        {"{'enable':true}", "",
         "['--nnodes','2','--rdzv_id','mnist-40c14','--rdzv_backend','c10d','--rdzv_endpoint',"
         "'$(MASTER_ADDR):$(MASTER_PORT)','--role','node','-m','train']"},
        {"{'enabled':true,'minNodes':1,'procPerNode':2}", "",
         "['--nnodes','1:2','--nproc_per_node','2','--rdzv_id','mnist-40c14','--rdzv_backend',"
         "'c10d','--rdzv_endpoint','$(MASTER_ADDR):$(MASTER_PORT)','--role','node','-m','train']"},
        {"{'enabled':true,'procPerNode':'gpu'}",
         ",'elastic':{'enabled':true,'minReplicas':2,'maxReplicas':5}",
         "['--nnodes','2:5','--nproc_per_node','8','--rdzv_id','mnist-40c14','--rdzv_backend',"
         "'c10d','--rdzv_endpoint','$(MASTER_ADDR):$(MASTER_PORT)','--role','node','-m','train']"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        const struct json *pod;
        struct world w;
        char spec[1024];

        (void)snprintf(spec, sizeof(spec),
                       "{'torchrunConfig':%s%s,'replicaSpecs':[{'type':'node','replicas':2,"
                       "'template':{'spec':{'containers':[{'name':'pytorch','command':['python'],"
                       "'args':['-m','train'],'resources':{'limits':{'nvidia.com/gpu':8}}}]}}}]}",
                       table[i].config, table[i].more);
        pod = pod_of(&w, spec, "node", 1);
        assert_string_equal(written(&w, json_get(container_of_pod(pod, 0), "command")),
                            "[\"torchrun\"]");
        assert_string_equal(written(&w, json_get(container_of_pod(pod, 0), "args")),
                            written(&w, parse(&w.arena, table[i].args)));
        world_release(&w);
    }
}

static void pods_say_how_many_processes_they_start(void **state)
{
    static const struct {
        const char *config, *limits, *wanted;
    } table[] = {
        {"{'enabled':true,'procPerNode':'4'}", "", "4"},
        {"{'enabled':true,'procPerNode':'gpu'}", ",'resources':{'limits':{'nvidia.com/gpu':8}}",
         "8"},
        {"{'enabled':true,'procPerNode':'4','extraOptions':['--nproc-per-node=3']}", "", "3"},
        {"{'enabled':true,'extraOptions':['--nproc_per_node','2']}", "", "2"},
        {"{'enabled':true,'procPerNode':'gpu'}", "", NULL},
        {"{'enabled':false,'procPerNode':'4'}", "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        struct world w;
        char spec[512];
        const char *said;

        (void)snprintf(spec, sizeof(spec),
                       "{'torchrunConfig':%s,'replicaSpecs':[{'type':'w','template':{'spec':"
                       "{'containers':[{'name':'c'%s}]}}}]}",
                       table[i].config, table[i].limits);
        said = object_annotation(pod_of(&w, spec, "w", 0), ANNOTATION_PROCESSES);
        assert_string_equal(said ? said : "", table[i].wanted ? table[i].wanted : "");
        world_release(&w);
    }
}

static void gpu_without_a_limit_is_left_to_torchrun(void **state)
{
    struct world w;
    const struct json *pod = pod_of(
        &w,
        "{'torchrunConfig':{'enabled':true,'procPerNode':'gpu'},'replicaSpecs':[{'type':"
        "'w','template':{'spec':{'containers':[{'name':'c'}]}}}]}",
        "w", 0);

    (void)state;
    assert_string_equal(json_string(json_index(json_get(container_of_pod(pod, 0), "args"), 3), ""),
                        "gpu");
    world_release(&w);
}

#define TWO_CONTAINERS(more)                                                                       \
    "{'replicaSpecs':[{'type':'w','template':{'spec':{'initContainers':[{'name':'i'}],"            \
    "'containers':[{'name':'side','command':['s']},{'name':'python','command':['p'],"              \
    "'args':['a']}]}}}]" more "}"

static void the_container_called_python_trains(void **state)
{
    struct world w;
    const struct json *pod = pod_of(&w, TWO_CONTAINERS(",'torchrunConfig':{'enabled':true}"), "w",
                                    0);

    (void)state;
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 0), "command")), "[\"s\"]");
    assert_null(json_get(container_of_pod(pod, 0), "env"));
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "command")),
                        "[\"torchrun\"]");
    assert_string_equal(env_value(container_of_pod(pod, 1), "RANK"), "0");
    world_release(&w);
}

static void without_torchrun_the_command_is_untouched(void **state)
{
    struct world w;
    const struct json *pod = pod_of(&w, TWO_CONTAINERS(",'torchrunConfig':{'enabled':false}"), "w",
                                    0);

    (void)state;
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "command")), "[\"p\"]");
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "args")), "[\"a\"]");
    world_release(&w);
}

/* --- debug ------------------------------------------------------------------------------------ */

static void debug_sleeps_by_default(void **state)
{
    struct world w;
    const struct json *pod = pod_of(
        &w,
        TWO_CONTAINERS(",'torchrunConfig':{'enabled':true},'runMode':{'debug':{'enable':"
                       "true,'replicaSpecs':[{'type':'other','command':['x']}]}}"),
        "w", 0);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(written(&w, json_get(container_of_pod(pod, i), "command")),
                            "[\"sleep\",\"inf\"]");
        assert_null(json_get(container_of_pod(pod, i), "args"));
    }
    assert_int_equal(json_len(json_at(pod, "spec", "initContainers")), 1);
    assert_string_equal(env_value(container_of_pod(pod, 1), "RANK"), "0");
    assert_int_equal(world_events(&w, "NoSuchReplicaType"), 1);
    world_release(&w);
}

static void debug_does_as_its_entry_says(void **state)
{
    struct world w;
    const struct json *pod = pod_of(
        &w,
        TWO_CONTAINERS(",'runMode':{'debug':{'enabled':true,'replicaSpecs':[{'type':'w',"
                       "'skipInitContainer':true,'command':['/usr/bin/sshd']}]}}"),
        "w", 0);

    (void)state;
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "command")),
                        "[\"/usr/bin/sshd\"]");
    assert_null(json_at(pod, "spec", "initContainers"));
    assert_int_equal(world_events(&w, "NoSuchReplicaType"), 0);
    world_release(&w);
}

static void resume_specs_wait_for_a_resume(void **state)
{
    struct world w;
    const struct json *pod = pod_of(
        &w,
        TWO_CONTAINERS(",'runMode':{'pause':{'enabled':false,'resumeSpecs':[{'type':'w',"
                       "'skipInitContainer':true,'command':['q'],'args':['b']}]}}"),
        "w", 0);

    (void)state;
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "command")), "[\"p\"]");
    world_edit_spec(&w, "runMode",
                    "{'pause':{'enabled':true,'resumeSpecs':[{'type':'w',"
                    "'skipInitContainer':true,'command':['q'],'args':['b']}]}}");
    world_settle(&w);
    world_stop_deleted(&w);
    world_edit_spec(&w, "runMode",
                    "{'pause':{'enabled':false,'resumeSpecs':[{'type':'w',"
                    "'skipInitContainer':true,'command':['q'],'args':['b']}]}}");
    world_settle(&w);
    pod = world_pod(&w, "w", 0);
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "command")), "[\"q\"]");
    assert_string_equal(written(&w, json_get(container_of_pod(pod, 1), "args")), "[\"b\"]");
    assert_null(json_at(pod, "spec", "initContainers"));
    world_release(&w);
}

static void a_template_without_containers_is_no_crash(void **state)
{
    struct world w;

    (void)state;
    assert_non_null(pod_of(&w, "{'replicaSpecs':[{'type':'w','template':{}}]}", "w", 0));
    world_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_follow_the_order_of_the_specs),
        cmocka_unit_test(labels_and_annotations_are_added),
        cmocka_unit_test(each_replica_has_a_headless_service),
        cmocka_unit_test(the_users_own_variables_win_and_are_warned_about),
        cmocka_unit_test(torchrun_lines),
        cmocka_unit_test(gpu_without_a_limit_is_left_to_torchrun),
        cmocka_unit_test(pods_say_how_many_processes_they_start),
        cmocka_unit_test(the_container_called_python_trains),
        cmocka_unit_test(without_torchrun_the_command_is_untouched),
        cmocka_unit_test(debug_sleeps_by_default),
        cmocka_unit_test(debug_does_as_its_entry_says),
        cmocka_unit_test(resume_specs_wait_for_a_resume),
        cmocka_unit_test(a_template_without_containers_is_no_crash),
    };

    return cmocka_run_group_tests_name("core pod", tests, NULL, NULL);
}
