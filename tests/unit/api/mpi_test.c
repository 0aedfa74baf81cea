/* mpi_test.c - MPIJob: its three layouts, what is refused and by which name, what may change. */
#include "fixture.h"

#include "api/mpi_rules.h"
#include "api/patch.h"

#define KIND (&kind_mpi_job)

#define HEAD                                                                                       \
    "apiVersion: batch.tensorstack.dev/v1beta1\n"                                                  \
    "kind: MPIJob\n"                                                                               \
    "metadata:\n"                                                                                  \
    "  name: pi\n"                                                                                 \
    "spec:\n"

#define TEMPLATE(name)                                                                             \
    "    template:\n"                                                                              \
    "      spec:\n"                                                                                \
    "        containers:\n"                                                                        \
    "        - name: " name "\n"                                                                   \
    "          image: horovod\n"

/* The layout of 2023, quirks included: the sources have runPolicy twice. */
#define LAYOUT_2023                                                                                \
    HEAD "  worker:\n"                                                                             \
         "    replicas: 4\n"                                                                       \
         "    extraMPIArgs: [-N, \"1\", --enable-recovery, --max-restarts, \"100\",\n"             \
         "      --allow-run-as-root ]\n"                                                           \
         "    cmd: [python, train.py]\n" TEMPLATE(                                                 \
             "mpi-worker") "  runPolicy:\n"                                                        \
                           "    cleanUpWorkers: false\n"                                           \
                           "  mca:\n"                                                              \
                           "    btl: ^openib\n"                                                    \
                           "    pml: ob1\n"                                                        \
                           "  mpiHome: /usr/local\n"                                               \
                           "  ssh: {sshAuthMountPath: /root/.ssh, sshdPath: /usr/sbin/sshd}\n"     \
                           "  runPolicy:\n"                                                        \
                           "    cleanUpWorkers: true\n"

#define LAYOUT_OLDEST                                                                              \
    HEAD                                                                                           \
        "  worker:\n"                                                                              \
        "    replicas: 4\n"                                                                        \
        "    processesPerWorker: 1\n"                                                              \
        "    processRecovery: {enable: true, limit: 100}\n"                                        \
        "    extraMPIArgs: [--allow-run-as-root]\n"                                                \
        "    cmd: [python, train.py]\n" TEMPLATE("mpi-worker") "  runPolicy:\n"                    \
                                                               "    cleanUpWorkers: true\n"        \
                                                               "  mca: {btl: ^openib, pml: ob1}\n" \
                                                               "  mpiHome: /usr/local\n"

#define LAYOUT_2025                                                                                \
    HEAD "  mpiConfig:\n"                                                                          \
         "    mca: {btl: ^openib, pml: ob1}\n"                                                     \
         "    home: /usr/local\n"                                                                  \
         "    extraArgs: [-N, \"1\", --enable-recovery, --max-restarts, \"100\",\n"                \
         "      --allow-run-as-root]\n"                                                            \
         "    script: [python, train.py]\n"                                                        \
         "  replicaSpecs:\n"                                                                       \
         "  - type: worker\n"                                                                      \
         "    replicas: 4\n" TEMPLATE("mpi-worker") "  runPolicy: {cleanUpWorkers: true}\n"

#define WRITTEN                                                                                    \
    "{\"mca\":{\"btl\":\"^openib\",\"pml\":\"ob1\"},\"home\":\"/usr/local\",\"extraArgs\":"        \
    "[\"-N\",\"1\",\"--enable-recovery\",\"--max-restarts\",\"100\",\"--allow-run-as-root\"],"     \
    "\"script\":[\"python\",\"train.py\"],\"implementation\":\"openmpi\"}"

static void three_layouts_are_read_and_one_is_written(void **state)
{
    const struct json *newest = admitted(KIND, LAYOUT_2025);
    const char *const older[] = {LAYOUT_2023, LAYOUT_OLDEST};

    (void)state;
    assert_json(json_at(newest, "spec", "mpiConfig"), WRITTEN);
    for (size_t i = 0; i < ELEMS(older); i++) {
        struct json *job = admitted(KIND, older[i]);

        assert_json(json_at(job, "spec", "mpiConfig"), WRITTEN);
        json_remove(json_get_mut(job, "spec"), "ssh");
        assert_true(json_equal(json_get(job, "spec"), json_get(newest, "spec")));
    }
}

static void a_repeated_run_policy_is_warned_about_and_the_last_counts(void **state)
{
    const struct json *job = admitted(KIND, LAYOUT_2023);

    (void)state;
    assert_non_null(strstr(warnings, "duplicate key \"runPolicy\", the last one wins"));
    assert_json(json_at(job, "spec", "runPolicy"), "{\"cleanUpWorkers\":true}");
}

static void an_empty_template_is_a_launcher(void **state)
{
    const struct json *job = admitted(
        KIND,
        HEAD "  mpiConfig: {script: [./pi]}\n"
             "  replicaSpecs:\n"
             "  - {type: launcher, restartPolicy: {policy: OnFailure, limit: 2}, template: {}}\n"
             "  - type: worker\n"
             "    restartPolicy: {}\n" TEMPLATE("worker"));

    (void)state;
    assert_string_equal(warnings, "");
    assert_json(json_index(json_at(job, "spec", "replicaSpecs"), 0),
                "{\"type\":\"launcher\",\"restartPolicy\":{\"policy\":\"OnFailure\",\"limit\":2},"
                "\"template\":{}}");
}

static void a_workers_command_is_not_used_in_the_older_layout(void **state)
{
    const struct json *job = admitted(KIND, HEAD "  worker:\n    cmd: [./pi]\n" TEMPLATE(
                                                "mpi-worker") "          command: [x]\n");
    const struct json *entry = mpi_replica_spec(json_get(job, "spec"), "worker");

    (void)state;
    assert_json(json_at(entry, "template", "spec", "containers"),
                "[{\"name\":\"mpi-worker\",\"image\":\"horovod\"}]");
    assert_non_null(strstr(warnings, "spec.worker.template: command and args"));
}

/* --- what is refused -------------------------------------------------------------------------- */

static void what_is_wrong_is_named_as_it_was_written(void **state)
{
    static const struct {
        const char *text, *cause;
    } table[] = {
        {HEAD "  worker:\n    replicas: 0\n    cmd: [a]\n" TEMPLATE("w"),
         "spec.worker.replicas: Invalid value: 0: must be"},
        {HEAD "  worker:\n    replicas: 2\n" TEMPLATE("w"),
         "spec.worker.cmd: Required value: the MPI program and its arguments"},
        {HEAD "  worker:\n    cmd: [a]\n", "spec.worker.template: Required value"},
        {HEAD "  worker:\n    cmd: [a]\n    template: {}\n",
         "spec.worker.template.spec: Required value"},
        {HEAD "  worker:\n    cmd: [a]\n    processesPerWorker: 0\n" TEMPLATE("w"),
         "spec.worker.processesPerWorker: Invalid value: 0"},
        {HEAD "  worker:\n    cmd: [a]\n    extraMPIArgs: [-N, 1]\n" TEMPLATE("w"),
         "spec.worker.extraMPIArgs[1]: Invalid value"},
        {HEAD "  worker:\n    cmd: [a]\n" TEMPLATE(
             "w") "  replicaSpecs:\n  - type: worker\n" TEMPLATE("w"),
         "spec.worker: Forbidden: is the older way to say spec.replicaSpecs"},
        {HEAD "  mpiHome: /a\n  mpiConfig: {home: /b, script: [a]}\n"
              "  replicaSpecs:\n  - type: worker\n" TEMPLATE("w"),
         "spec.mpiHome: Forbidden: is the older way to say spec.mpiConfig.home"},
        {HEAD "  mpiConfig: {script: [a]}\n", "spec.replicaSpecs: Required value: a job needs"},
        {HEAD "  replicaSpecs:\n  - type: worker\n" TEMPLATE("w"),
         "spec.mpiConfig.script: Required value: the MPI program"},
        {HEAD "  mpiConfig: {script: [a]}\n  replicaSpecs:\n  - {type: worker, template: {}}\n",
         "spec.replicaSpecs[0].template.spec: Required value: the workers' pods need"},
        {HEAD "  mpiConfig: {script: [a]}\n  replicaSpecs:\n  - {type: ps, template: {}}\n",
         "spec.replicaSpecs[0].type: Unsupported value: \"ps\""},
        {HEAD "  mpiConfig: {script: [a]}\n  replicaSpecs:\n"
              "  - {type: launcher, replicas: 2}\n  - type: worker\n" TEMPLATE("w"),
         "spec.replicaSpecs[0].replicas: Invalid value: 2: a job has one launcher"},
        {HEAD "  mpiConfig: {script: [a]}\n  replicaSpecs:\n  - type: worker\n" TEMPLATE(
             "a") "        - {name: b, image: i}\n",
         "spec.replicaSpecs[0].template.spec.containers[0].name: Invalid value: \"a\": of several"},
        {HEAD "  mpiConfig: {script: [a], implementation: lam}\n  replicaSpecs:\n"
              "  - type: worker\n" TEMPLATE("w"),
         "spec.mpiConfig.implementation: Unsupported value: \"lam\""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        auto_err err = ERR_INIT;

        if (admit(KIND, parse(table[i].text), NULL, FIELD_VALIDATION_WARN, &err) == 0)
            fail_msg("accepted: %s", table[i].text);
        if (!strstr(causes_of(&err), table[i].cause))
            fail_msg("%s\nwanted: %s\ngot: %s", table[i].text, table[i].cause, causes_of(&err));
    }
}

static void names_leave_room_for_the_pods(void **state)
{
    static const char long_name[] = "a123456789012345678901234567890123456789012345678";
    struct json *job = parse(LAYOUT_2025);
    auto_err err = ERR_INIT;

    (void)state;
    json_set_string(&arena, json_get_mut(job, "metadata"), "name", long_name);
    assert_true(admit(KIND, job, NULL, FIELD_VALIDATION_WARN, &err) < 0);
    assert_non_null(strstr(causes_of(&err), "must be no more than 48 characters, it has 49"));
}

static void debugging_needs_no_program(void **state)
{
    (void)state;
    (void)admitted(KIND, HEAD "  runMode: {debug: {enabled: true}}\n  replicaSpecs:\n"
                              "  - type: worker\n" TEMPLATE("worker"));
    (void)admitted(KIND, HEAD "  runMode: {debug: {enabled: true}}\n  worker:\n"
                              "    replicas: 2\n" TEMPLATE("mpi-worker"));
}

/* --- changes ---------------------------------------------------------------------------------- */

static struct json *stored(const char *text)
{
    struct json *job = admitted(KIND, text);

    json_set_string(&arena, json_get_mut(job, "metadata"), "uid", "u");
    return job;
}

/* As the server does it. */
static struct json *patched(const struct json *old, const char *patch, struct err *err)
{
    struct json *next = patch_merge(&arena, old, parse(patch));

    return admit(KIND, next, old, FIELD_VALIDATION_IGNORE, err) < 0 ? NULL : next;
}

/* kubectl does not find the older members in what is stored and sends them again. */
static void applying_an_older_layout_again_changes_nothing(void **state)
{
    static const char *const layouts[] = {LAYOUT_2023, LAYOUT_OLDEST};

    (void)state;
    for (size_t i = 0; i < ELEMS(layouts); i++) {
        const struct json *old = stored(layouts[i]);
        struct json *patch = json_new_object(&arena), *next;
        auto_err err = ERR_INIT;

        json_set(&arena, patch, "spec", json_clone(&arena, json_get(parse(layouts[i]), "spec")));
        next = patched(old, as_json(patch), &err);
        assert_non_null(next);
        assert_true(json_equal(next, old));
    }
}

static void a_patch_in_the_older_layout_changes_what_it_says(void **state)
{
    const struct json *old = stored(LAYOUT_2023);
    auto_err err = ERR_INIT, refused = ERR_INIT;
    struct json *next;

    (void)state;
    next = patched(old, "{\"spec\":{\"runPolicy\":{\"cleanUpWorkers\":false}}}", &err);
    assert_json(json_at(next, "spec", "runPolicy"), "{\"cleanUpWorkers\":false}");
    assert_true(json_equal(json_at(next, "spec", "mpiConfig"), json_at(old, "spec", "mpiConfig")));
    assert_null(patched(old, "{\"spec\":{\"worker\":{\"replicas\":5}}}", &refused));
    assert_non_null(strstr(causes_of(&refused),
                           "spec.replicaSpecs[0].replicas: Invalid value: 5: field is immutable"));
    assert_null(strstr(causes_of(&refused), "mpiConfig"));
}

/* What the file no longer says is gone, as it would be in the newer layout. */
static void a_whole_worker_replaces_the_older_layout(void **state)
{
    struct json *job = stored(LAYOUT_2023);
    struct json *next = patch_merge(
        &arena, job,
        parse("{\"spec\":{\"worker\":{\"replicas\":4,\"cmd\":[\"./pi\"],\"template\":{\"spec\":{"
              "\"containers\":[{\"name\":\"mpi-worker\",\"image\":\"horovod\"}]}}}}}"));
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(object_decode(&arena, KIND, next, FIELD_VALIDATION_IGNORE, NULL, NULL, &err),
                     0);
    assert_json(json_at(next, "spec", "mpiConfig"),
                "{\"script\":[\"./pi\"],\"implementation\":\"openmpi\"}");
    assert_null(json_at(next, "spec", "worker"));
}

static void a_reader_sees_one_layout_whatever_is_stored(void **state)
{
    const struct json *spec = json_get(parse(LAYOUT_2023), "spec");
    const struct json *unified = mpi_unified_spec(&arena, spec);

    (void)state;
    assert_int_equal(mpi_workers(unified), 4);
    assert_non_null(json_get(spec, "worker"));
    assert_null(json_get(unified, "worker"));
    assert_ptr_equal(mpi_unified_spec(&arena, unified), unified);
}

/* --- slots ------------------------------------------------------------------------------------ */

static void slots_are_what_mpirun_is_asked_for(void **state)
{
    static const struct {
        const char *config;
        int64_t slots;
    } table[] = {
        {"{}", 1},
        {"{\"extraArgs\":[\"-N\",\"3\"]}", 3},
        {"{\"extraArgs\":[\"--bind-to\",\"none\",\"-npernode\",\"2\"]}", 2},
        {"{\"extraArgs\":[\"-ppn\",\"8\"]}", 8},
        {"{\"extraArgs\":[\"--map-by\",\"ppr:2:node\"]}", 2},
        {"{\"extraArgs\":[\"--map-by\",\"ppr:2:socket\"]}", 1},
        {"{\"extraArgs\":[\"-np\",\"15\"]}", 4},
        {"{\"extraArgs\":[\"-np\",\"4\",\"-N\",\"2\"]}", 2},
        {"{\"extraArgs\":[\"-N\",\"many\"]}", 1},
        {"{\"extraArgs\":[\"-N\"]}", 1},
        {"{\"extraArgs\":[\"-N\",\"3\"],\"slotsPerWorker\":6}", 6},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(table); i++) {
        struct json *spec = parse("{\"replicaSpecs\":[{\"type\":\"worker\",\"replicas\":4}]}");

        json_set(&arena, spec, "mpiConfig", parse(table[i].config));
        assert_int_equal(mpi_slots(spec), table[i].slots);
    }
}

static void warnings_name_what_has_no_effect(void **state)
{
    struct json *job = admitted(
        KIND, HEAD "  mpiConfig: {script: [a]}\n"
                   "  runMode: {debug: {enabled: false, replicaSpecs: [{type: node}]}}\n"
                   "  replicaSpecs:\n"
                   "  - type: launcher\n"
                   "    template: {spec: {containers: [{name: launcher, command: [x]}]}}\n"
                   "  - type: worker\n" TEMPLATE("worker") "        restartPolicy: Always\n");

    (void)state;
    mpi_warn(job, note_warning, NULL);
    assert_non_null(strstr(warnings, "no replica type is named \"node\""));
    assert_non_null(strstr(warnings, "command and args of the launcher are not used"));
    assert_non_null(strstr(warnings, "restartPolicy: \"Always\" is not used"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(three_layouts_are_read_and_one_is_written, reset),
        cmocka_unit_test_teardown(a_repeated_run_policy_is_warned_about_and_the_last_counts, reset),
        cmocka_unit_test_teardown(an_empty_template_is_a_launcher, reset),
        cmocka_unit_test_teardown(a_workers_command_is_not_used_in_the_older_layout, reset),
        cmocka_unit_test_teardown(what_is_wrong_is_named_as_it_was_written, reset),
        cmocka_unit_test_teardown(names_leave_room_for_the_pods, reset),
        cmocka_unit_test_teardown(debugging_needs_no_program, reset),
        cmocka_unit_test_teardown(applying_an_older_layout_again_changes_nothing, reset),
        cmocka_unit_test_teardown(a_patch_in_the_older_layout_changes_what_it_says, reset),
        cmocka_unit_test_teardown(a_whole_worker_replaces_the_older_layout, reset),
        cmocka_unit_test_teardown(a_reader_sees_one_layout_whatever_is_stored, reset),
        cmocka_unit_test_teardown(slots_are_what_mpirun_is_asked_for, reset),
        cmocka_unit_test_teardown(warnings_name_what_has_no_effect, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
