/* pytorch_test.c - PyTorchTrainingJob: the manifests of its tutorial, the refused ones, what may
 * change. */
#include "fixture.h"

#include "api/pytorch_rules.h"

/* One job; %s goes to the end of spec, indented by two. */
#define JOB(rest)                                                                                  \
    "apiVersion: batch.tensorstack.dev/v1beta1\n"                                                  \
    "kind: PyTorchTrainingJob\n"                                                                   \
    "metadata:\n"                                                                                  \
    "  name: pytorch-example\n"                                                                    \
    "spec:\n"                                                                                      \
    "  replicaSpecs:\n"                                                                            \
    "  - replicas: 4\n"                                                                            \
    "    restartPolicy: OnFailure\n"                                                               \
    "    template:\n"                                                                              \
    "      spec:\n"                                                                                \
    "        containers:\n"                                                                        \
    "        - command:\n"                                                                         \
    "          - python\n"                                                                         \
    "          - dist_mnist.py\n"                                                                  \
    "          image: pytorch/pytorch:2.0.0-cuda11.7-cudnn8-devel\n"                               \
    "          name: pytorch\n"                                                                    \
    "    type: worker\n" rest

#define KIND (&kind_pytorch_training_job)

static void the_tutorials_first_job_is_accepted_and_defaulted(void **state)
{
    const struct json *job = admitted(KIND, JOB(""));

    (void)state;
    assert_ptr_equal(kind_of_object(job), KIND);
    assert_string_equal(warnings, "");
    assert_json(
        json_at(job, "spec", "runPolicy"),
        "{\"backoffLimit\":3,\"cleanUpPolicy\":\"Unfinished\",\"restartScope\":\"Replica\"}");
    assert_json(
        json_index(json_at(job, "spec", "replicaSpecs"), 0),
        "{\"replicas\":4,\"restartPolicy\":\"OnFailure\",\"template\":{\"spec\":{"
        "\"containers\":[{\"command\":[\"python\",\"dist_mnist.py\"],\"image\":\"pytorch/"
        "pytorch:2.0.0-cuda11.7-cudnn8-devel\",\"name\":\"pytorch\"}]}},\"type\":\"worker\"}");
    assert_null(json_get(job, "status"));
}

static void the_tutorials_other_snippets_are_accepted(void **state)
{
    static const char *const jobs[] = {
        JOB("  torchrunConfig:\n    enable: true\n    minNodes: 1\n    maxRestarts: 10\n"
            "    procPerNode: \"1\"\n    rdzvBackend: c10d\n    extraOptions: []\n"),
        JOB("  scheduler:\n    t9kScheduler:\n      queue: default\n      priority: 50\n"),
        JOB("  tensorboardSpec:\n    image: t9kpublic/tensorboard:2.11.0\n"
            "    trainingLogFilesets:\n    - t9k://pvc/torch-tensorboard-pvc/log\n"),
        JOB("  runMode:\n    debug:\n      enable: true\n      replicaSpecs:\n"
            "        - type: worker\n          skipInitContainer: true\n"
            "          command: [\"/usr/bin/sshd\"]\n"),
        JOB("  runMode:\n    debug:\n      enable: true\n"),
        JOB("  tensorboardSpec:\n    resources: {limits: {cpu: 1, memory: 1Gi}}\n"
            "    logDir:\n      pvc:\n      - name: mnist\n        subpath: [\"./log\"]\n"),
        JOB("  elastic: {enabled: true, minReplicas: 1, maxReplicas: 8, expectedReplicas: 4}\n"
            "  torchrunConfig: {enabled: true, procPerNode: gpu}\n"),
        JOB("  runPolicy: {restartScope: Job, restartableExitCodes: [1, 139], backoffLimit: 20,\n"
            "    ttlSecondsAfterFinished: 0, activeDeadlineSeconds: 60, cleanUpPolicy: All}\n"),
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(jobs); i++) {
        auto_err err = ERR_INIT;

        if (admit(KIND, parse(jobs[i]), NULL, FIELD_VALIDATION_STRICT, &err) < 0)
            fail_msg("job %zu: %s", i, err.text);
    }
    assert_string_equal(warnings, "");
}

static void enable_is_read_and_enabled_is_written(void **state)
{
    const struct json *job = admitted(
        KIND, JOB("  torchrunConfig: {enable: true}\n  runMode: {debug: {enable: false, enabled: "
                  "false}, pause: {enable: null}}\n"));

    (void)state;
    assert_json(json_at(job, "spec", "torchrunConfig"),
                "{\"enabled\":true,\"rdzvBackend\":\"c10d\"}");
    assert_json(json_at(job, "spec", "runMode"),
                "{\"debug\":{\"enabled\":false},\"pause\":{\"enabled\":false}}");
}

static void both_spellings_with_different_values_are_refused(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(KIND,
                           parse(JOB("  torchrunConfig:\n    enabled: false\n    enable: true\n")),
                           NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(causes_of(&err),
                        "20 spec.torchrunConfig.enable: Invalid value: true: differs from enabled, "
                        "of which it is the older spelling: set only one of them\n");
}

static void a_patch_in_the_old_spelling_can_be_renamed_before_it_is_merged(void **state)
{
    struct json *patch = parse(
        "{\"spec\":{\"runMode\":{\"pause\":{\"enable\":true}},"
        "\"torchrunConfig\":{\"enable\":null},\"tensorboardSpec\":{\"logDir\":{"
        "\"pvc\":[{\"subpath\":[\"a\"]}]}}},\"enable\":1}");

    (void)state;
    object_rename_aliases(KIND, patch);
    assert_json(patch, "{\"spec\":{\"runMode\":{\"pause\":{\"enabled\":true}},\"torchrunConfig\":{"
                       "\"enabled\":null},\"tensorboardSpec\":{\"logDir\":{\"pvc\":[{\"subPath\":["
                       "\"a\"]}]}}},\"enable\":1}");
}

static void the_template_is_kept_whole(void **state)
{
    const char *text =
        "metadata: {name: j}\nspec:\n  replicaSpecs:\n  - type: node\n    template:\n"
        "      metadata: {annotations: {a: b}, novelty: 1}\n"
        "      spec:\n        newField: {x: [1]}\n        containers:\n"
        "        - name: c\n          fancy: true\n          resources: {limits: {cpu: 4}}\n"
        "          livenessProbe: {exec: {command: [x]}, later: 1}\n"
        "        volumes: [{name: v, novel: {}}]\n";
    struct json *job = parse(text);
    auto_err err = ERR_INIT;
    auto_err strict = ERR_INIT;

    (void)state;
    assert_int_equal(admit(KIND, job, NULL, FIELD_VALIDATION_IGNORE, &err), 0);
    assert_json(
        json_get(json_index(json_at(job, "spec", "replicaSpecs"), 0), "template"),
        "{\"metadata\":{\"annotations\":{\"a\":\"b\"},\"novelty\":1},\"spec\":{\"newField\":{"
        "\"x\":[1]},\"containers\":[{\"name\":\"c\",\"fancy\":true,\"resources\":{\"limits\":{"
        "\"cpu\":4}},\"livenessProbe\":{\"exec\":{\"command\":[\"x\"]},\"later\":1}}],"
        "\"volumes\":[{\"name\":\"v\",\"novel\":{}}]}}");
    assert_true(admit(KIND, parse(text), NULL, FIELD_VALIDATION_STRICT, &strict) < 0);
    assert_non_null(
        strstr(strict.text, "unknown field \"spec.replicaSpecs[0].template.spec.newField\""));
}

static void bad_manifests_get_one_error_that_names_field_and_line(void **state)
{
    static const struct {
        const char *text, *causes;
    } cases[] = {
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n    restartPolicy: "
         "Sometimes\n    template: {spec: {containers: [{name: c}]}}\n",
         "6 spec.replicaSpecs[0].restartPolicy: Unsupported value: \"Sometimes\": supported "
         "values: "
         "\"Never\", \"OnFailure\", \"Always\", \"ExitCode\"\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n    replicas: -1\n    "
         "template: {spec: {containers: [{name: c}]}}\n",
         "6 spec.replicaSpecs[0].replicas: Invalid value: -1: must be between 0 and 1024, "
         "inclusive\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n",
         "5 spec.replicaSpecs[0].template: Required value\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n    template: {}\n",
         "6 spec.replicaSpecs[0].template.spec: Required value\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n    template:\n      "
         "spec: "
         "{containers: []}\n",
         "7 spec.replicaSpecs[0].template.spec.containers: Required value: must have at least one "
         "element\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - type: worker\n    template:\n      "
         "spec:\n"
         "        containers:\n        - image: x\n",
         "9 spec.replicaSpecs[0].template.spec.containers[0].name: Required value\n"},
        {"metadata:\n  name: j\nspec: {}\n", "3 spec.replicaSpecs: Required value\n"},
        {"metadata:\n  name: j\n", "1 spec: Required value\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs: []\n",
         "4 spec.replicaSpecs: Required value: must have at least one element\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - template: {spec: {containers: [{name: "
         "c}]}}\n",
         "5 spec.replicaSpecs[0].type: Required value\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - {type: Worker, template: {spec: "
         "{containers: [{name: c}]}}}\n",
         "5 spec.replicaSpecs[0].type: Invalid value: \"Worker\": a lowercase RFC 1123 label must"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - {type: w, template: {spec: "
         "{containers: "
         "[{name: c}]}}}\n  - {type: w, template: {spec: {containers: [{name: c}]}}}\n",
         "6 spec.replicaSpecs[1].type: Duplicate value: \"w\"\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - {type: w, replicas: 0, template: "
         "{spec: "
         "{containers: [{name: c}]}}}\n",
         "4 spec.replicaSpecs: Required value: a job needs at least one replica\n"},
        {"metadata:\n  name: j\nspec:\n  replicaSpecs:\n  - {type: w, replicas: 1000, template: "
         "{spec: {containers: [{name: c}]}}}\n  - {type: p, replicas: 1000, template: {spec: "
         "{containers: [{name: c}]}}}\n",
         "4 spec.replicaSpecs: Invalid value: 2000: a job may have at most 1024 replicas, all "
         "types together\n"},
        {JOB("  torchrunConfig:\n    procPerNode: 4\n"),
         "19 spec.torchrunConfig.procPerNode: Invalid value: 4: must be a string: put it in "
         "quotes\n"},
        {JOB("  torchrunConfig:\n    procPerNode: many\n"),
         "19 spec.torchrunConfig.procPerNode: Invalid value: \"many\": must be a number of "
         "processes "
         "(\"1\" to \"9999\") or \"gpu\"\n"},
        {JOB("  torchrunConfig:\n    minNodes: 5\n"),
         "19 spec.torchrunConfig.minNodes: Invalid value: 5: must be no more than the job's "
         "replicas, which are 4\n"},
        /* what has the wrong type does not hide what has a wrong value */
        {JOB("  torchrunConfig:\n    procPerNode: 4\n    rdzvBackend: zk\n"),
         "19 spec.torchrunConfig.procPerNode: Invalid value: 4: must be a string: put it in "
         "quotes\n"
         "20 spec.torchrunConfig.rdzvBackend: Unsupported value: \"zk\": supported values: "
         "\"c10d\", \"etcd\", \"etcd-v2\"\n"},
        {JOB("  torchrunConfig:\n    rdzvBackend: zk\n"),
         "19 spec.torchrunConfig.rdzvBackend: Unsupported value: \"zk\": supported values: "
         "\"c10d\", "
         "\"etcd\", \"etcd-v2\"\n"},
        {JOB("  runPolicy:\n    backoffLimit: -1\n"),
         "19 spec.runPolicy.backoffLimit: Invalid value: -1: must be greater than or equal to 0\n"},
        {JOB("  runPolicy:\n    activeDeadlineSeconds: 0\n"),
         "19 spec.runPolicy.activeDeadlineSeconds: Invalid value: 0: must be greater than or equal "
         "to 1\n"},
        {JOB("  runPolicy:\n    cleanUpPolicy: Some\n"),
         "19 spec.runPolicy.cleanUpPolicy: Unsupported value: \"Some\": supported values: "
         "\"None\", "
         "\"All\", \"Unfinished\"\n"},
        {JOB("  runPolicy:\n    restartableExitCodes: [1, 256]\n"),
         "19 spec.runPolicy.restartableExitCodes[1]: Invalid value: 256: must be between 1 and "
         "255, "
         "inclusive\n"},
        {JOB("  elastic:\n    enabled: true\n"),
         "18 spec.elastic.minReplicas: Required value: required for elastic training\n"
         "18 spec.elastic.maxReplicas: Required value: required for elastic training\n"},
        {JOB("  elastic:\n    enabled: true\n    minReplicas: 3\n    maxReplicas: 2\n"),
         "21 spec.elastic.maxReplicas: Invalid value: 2: must be greater than or equal to "
         "minReplicas, which is 3\n"},
        {JOB("  elastic:\n    enabled: true\n    minReplicas: 1\n    maxReplicas: 2\n    "
             "expectedReplicas: 3\n"),
         "22 spec.elastic.expectedReplicas: Invalid value: 3: must be between minReplicas and "
         "maxReplicas, 1 and 2\n"},
        {JOB("  scheduler:\n    t9kScheduler: {priority: 101}\n"),
         "19 spec.scheduler.t9kScheduler.priority: Invalid value: 101: must be between 0 and 100, "
         "inclusive\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;

        assert_int_equal(admit(KIND, parse(cases[i].text), NULL, FIELD_VALIDATION_STRICT, &err),
                         err_errno(ERR_INVALID));
        if (strncmp(causes_of(&err), cases[i].causes, strlen(cases[i].causes)) != 0 ||
            (strchr(cases[i].causes, '\n') && strcmp(causes_of(&err), cases[i].causes) != 0))
            fail_msg("case %zu: %s", i, causes_of(&err));
    }
}

static int admit_named(const char *name, const char *type, int replicas, int elastic_max,
                       struct err *err)
{
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "metadata:\n  name: %s\nspec:\n  replicaSpecs:\n  - type: %s\n    replicas: %d\n"
                   "    template: {spec: {containers: [{name: c}]}}\n"
                   "  elastic: {enabled: %s, minReplicas: 1, maxReplicas: %d}\n",
                   name, type, replicas, elastic_max ? "true" : "false",
                   elastic_max ? elastic_max : 1);
    return admit(KIND, parse(text), NULL, FIELD_VALIDATION_STRICT, err);
}

/* <job>-<hash5>-<type>-<index> may have 63 characters: 63 - 1 - 5 - 1 - 6 - 1 - 1 = 48. */
static void set_note(struct json *job, size_t len)
{
    char *note = arena_alloc(&arena, len + 1);

    memset(note, 'x', len);
    note[len] = '\0';
    json_set_string(
        &arena, json_make_object(&arena, json_make_object(&arena, job, "metadata"), "annotations"),
        ANNOTATION_NOTE, note);
}

static void a_note_has_a_limit(void **state)
{
    struct json *job = parse(JOB("")), *old;
    auto_err err = ERR_INIT;

    (void)state;
    set_note(job, NOTE_LIMIT_BYTES);
    assert_int_equal(admit(KIND, job, NULL, FIELD_VALIDATION_STRICT, &err), 0);
    set_note(job, NOTE_LIMIT_BYTES + 1);
    old = json_clone(&arena, job);
    assert_true(admit(KIND, job, NULL, FIELD_VALIDATION_STRICT, &err) < 0);
    assert_string_equal(err.causes->field, "metadata.annotations[muster.dev/note]");
    /* what is there does not stand in the way of other changes */
    err_release(&err);
    assert_int_equal(admit(KIND, job, old, FIELD_VALIDATION_STRICT, &err), 0);
}

static void a_template_says_nothing_in_musters_name(void **state)
{
    static const char *const names[] = {"muster.dev/gpus", "muster.dev/processes",
                                        "scheduler.tensorstack.dev/min-member"};

    (void)state;
    for (size_t i = 0; i < ELEMS(names); i++) {
        struct json *job = parse(JOB(""));
        struct json *template = json_get_mut(
            json_first_mut(json_get_mut(json_get_mut(job, "spec"), "replicaSpecs")), "template");
        auto_err err = ERR_INIT;

        json_set_string(
            &arena,
            json_make_object(&arena, json_make_object(&arena, template, "metadata"), "annotations"),
            names[i], "1");
        assert_true(admit(KIND, job, NULL, FIELD_VALIDATION_STRICT, &err) < 0);
        assert_string_equal(err.causes->field,
                            arena_printf(&arena,
                                         "spec.replicaSpecs[0].template.metadata.annotations[%s]",
                                         names[i]));
    }
}

static void a_name_that_would_make_pod_names_too_long_is_refused(void **state)
{
    char name[80];
    auto_err err = ERR_INIT;
    auto_err nine = ERR_INIT;
    auto_err elastic = ERR_INIT;

    (void)state;
    memset(name, 'a', sizeof(name));
    name[48] = '\0';
    assert_int_equal(admit_named(name, "worker", 10, 0, &nine), 0);
    assert_true(admit_named(name, "worker", 11, 0, &err) < 0);
    assert_string_equal(causes_of(&err),
                        "2 metadata.name: Invalid value: "
                        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": must be "
                        "no more than 47 characters, it has 48: pods and services are named "
                        "NAME-HASH-worker-INDEX, "
                        "which may have 63\n");
    assert_non_null(strstr(err.text, "PyTorchTrainingJob.batch.tensorstack.dev \"aaa"));
    assert_true(admit_named(name, "worker", 2, 101, &elastic) < 0);
    assert_non_null(strstr(elastic.text, "must be no more than 46 characters"));
}

static void names_that_no_service_could_have_are_refused(void **state)
{
    auto_err dots = ERR_INIT;
    auto_err digit = ERR_INIT;

    (void)state;
    assert_true(admit_named("a.b", "w", 1, 0, &dots) < 0);
    assert_non_null(strstr(dots.text, "metadata.name: Invalid value: \"a.b\": services are named "
                                      "after the job: a DNS-1035 label"));
    assert_true(admit_named("1a", "w", 1, 0, &digit) < 0);
}

/* --- updates -------------------------------------------------------------------------------- */

static void what_may_change_after_creation(void **state)
{
    static const struct {
        const char *from, *to, *causes;
    } cases[] = {
        {"  runPolicy: {backoffLimit: 1}\n", "  runPolicy: {backoffLimit: 5, cleanUpPolicy: All}\n",
         ""},
        {"", "  runMode: {pause: {enabled: true}}\n", ""},
        {"  runMode: {pause: {enabled: true}}\n", "  runMode: {pause: {enabled: false}}\n", ""},
        {"  runMode: {pause: {enabled: true, resumeSpecs: [{type: worker, args: [a]}]}}\n",
         "  runMode: {pause: {enabled: true, resumeSpecs: [{type: worker, args: [b]}]}}\n",
         "spec.runMode.pause.resumeSpecs: "},
        {"  runMode: {pause: {enabled: true}}\n",
         "  runMode: {pause: {enabled: true, resumeSpecs: [{type: worker}]}}\n",
         "spec.runMode.pause.resumeSpecs: "},
        {"  runMode: {pause: {resumeSpecs: [{type: worker}]}}\n", "",
         "spec.runMode.pause.resumeSpecs: "},
        {"  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4, expectedReplicas: 2}\n",
         "  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4, expectedReplicas: 3}\n", ""},
        {"  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4}\n",
         "  elastic: {enabled: true, minReplicas: 2, maxReplicas: 4}\n",
         "spec.elastic.minReplicas: "},
        {"  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4}\n",
         "  elastic: {enabled: true, minReplicas: 1, maxReplicas: 5}\n",
         "spec.elastic.maxReplicas: "},
        {"  torchrunConfig: {enabled: true}\n", "  torchrunConfig: {enabled: false}\n",
         "spec.torchrunConfig: "},
        {"  torchrunConfig: {enable: true}\n", "  torchrunConfig: {enabled: true}\n", ""},
        {"", "  tensorboardSpec: {image: x}\n", ""},
        {"", "  elastic: {expectedReplicas: 3}\n", "spec.elastic.expectedReplicas: "},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        char from[2048], to[2048];
        auto_err err = ERR_INIT;
        const struct json *old;

        (void)snprintf(from, sizeof(from), "%s%s", JOB(""), cases[i].from);
        (void)snprintf(to, sizeof(to), "%s%s", JOB(""), cases[i].to);
        old = admitted(KIND, from);
        (void)admit(KIND, parse(to), old, FIELD_VALIDATION_STRICT, &err);
        if (!*cases[i].causes ? err_is_set(&err)
                              : !err.causes || !strstr(causes_of(&err), cases[i].causes))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

static void replica_specs_may_not_change(void **state)
{
#define TWO(a, b)                                                                                  \
    "metadata: {name: j}\nspec:\n  replicaSpecs:\n"                                                \
    "  - {type: ps, template: {spec: {containers: [{name: c}]}}}\n"                                \
    "  - {type: " a ", replicas: " b ", template: {spec: {containers: [{name: c}]}}}\n"
    static const struct {
        const char *to, *text;
    } cases[] = {
        {TWO("w", "2"), NULL},
        {TWO("x", "2"), "spec.replicaSpecs[1].type: Invalid value: \"x\": field is immutable"},
        {TWO("w", "3"),
         "spec.replicaSpecs[1].replicas: Invalid value: 3: field is immutable unless"},
        {"metadata: {name: j}\nspec:\n  replicaSpecs:\n  - {type: ps, template: {spec: "
         "{containers: "
         "[{name: c}]}}}\n",
         "spec.replicaSpecs: Forbidden: replica types may not be added or removed"},
        {"metadata: {name: j}\nspec:\n  replicaSpecs:\n  - {type: ps, template: {spec: "
         "{containers: "
         "[{name: c, image: z}]}}}\n  - {type: w, replicas: 2, restartPolicy: Always, template: "
         "{spec: {containers: [{name: c}]}}}\n",
         "spec.replicaSpecs[1].restartPolicy: Invalid value: \"Always\": field is immutable"},
    };
    const struct json *old = admitted(KIND, TWO("w", "2"));

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;

        (void)admit(KIND, parse(cases[i].to), old, FIELD_VALIDATION_STRICT, &err);
        if (cases[i].text ? !err.text || !strstr(err.text, cases[i].text) : err_is_set(&err))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
#undef TWO
}

/* What one version stored with its default, or as a string, is what the file says. */
static void a_default_and_another_spelling_are_no_change(void **state)
{
#define ONE(more, limits)                                                                          \
    "metadata: {name: j}\nspec:\n  runMode: {pause: {resumeSpecs: [{type: w" more "}]}}\n"         \
    "  replicaSpecs:\n  - {type: w, template: {spec: {containers: [{name: c, resources: "          \
    "{limits: " limits "}}]}}}\n"
    static const char *const same[] = {
        ONE("", "{cpu: 1, memory: 1000000}"),
        ONE("", "{cpu: 1000m, memory: 1e6}"),
        ONE(", skipInitContainer: false", "{cpu: \"1\", memory: 1M}"),
    };
    const struct json *plain = admitted(KIND, same[0]);
    struct json *filled = object_whole(&arena, KIND, plain);
    auto_err changed = ERR_INIT;

    (void)state;
    assert_json(json_index(json_at(plain, "spec", "replicaSpecs"), 0),
                "{\"type\":\"w\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
                "\"resources\":{\"limits\":{\"cpu\":1,\"memory\":1000000}}}]}}}");
    assert_string_equal(json_get_string(json_index(json_at(filled, "spec", "replicaSpecs"), 0),
                                        "restartPolicy", ""),
                        "Never");
    for (size_t i = 0; i < ELEMS(same); i++) {
        auto_err err = ERR_INIT;

        (void)admit(KIND, parse(same[i]), plain, FIELD_VALIDATION_STRICT, &err);
        (void)admit(KIND, parse(same[i]), filled, FIELD_VALIDATION_STRICT, &err);
        if (err_is_set(&err))
            fail_msg("case %zu: %s", i, err.text);
    }
    (void)admit(KIND, parse(ONE("", "{cpu: 1, memory: 1Mi}")), plain, FIELD_VALIDATION_STRICT,
                &changed);
    assert_non_null(strstr(changed.text, "spec.replicaSpecs[0].template: Invalid value"));
#undef ONE
}

/* A plain job's ranks and WORLD_SIZE are fixed: asking for elastic without torchrun changes
 * nothing. */
static void replicas_change_only_under_torchrun(void **state)
{
#define SCALED(n, torchrun)                                                                        \
    "metadata: {name: j}\nspec:\n  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4}\n"     \
    "  torchrunConfig: {enabled: " torchrun "}\n  replicaSpecs:\n"                                 \
    "  - {type: w, replicas: " n ", template: {spec: {containers: [{name: c}]}}}\n"
    auto_err err = ERR_INIT;
    const struct json *old = admitted(KIND, SCALED("2", "true"));

    (void)state;
    (void)admit(KIND, parse(SCALED("3", "true")), old, FIELD_VALIDATION_STRICT, &err);
    assert_false(err_is_set(&err));
    old = admitted(KIND, SCALED("2", "false"));
    (void)admit(KIND, parse(SCALED("3", "false")), old, FIELD_VALIDATION_STRICT, &err);
    assert_non_null(strstr(err.text, "spec.replicaSpecs[0].replicas: Invalid value: 3: field is "
                                     "immutable unless spec.elastic.enabled and"));
#undef SCALED
}

/* --- warnings, columns ---------------------------------------------------------------------- */

static const char *warned(const char *text)
{
    warnings[0] = '\0';
    KIND->warn(admitted(KIND, text), note_warning, NULL);
    return warnings;
}

static void warnings_name_what_has_no_effect(void **state)
{
    (void)state;
    assert_string_equal(warned(JOB("")), "");
    assert_string_equal(
        warned(JOB("  runMode: {debug: {enabled: true, replicaSpecs: [{type: node}]}, pause: "
                   "{resumeSpecs: [{type: worker}, {type: x}]}}\n")),
        "spec.runMode.debug.replicaSpecs[0].type: no replica type is named \"node\", the entry has "
        "no "
        "effect\n"
        "spec.runMode.pause.resumeSpecs[1].type: no replica type is named \"x\", the entry has no "
        "effect\n");
    assert_string_equal(
        warned(JOB("  elastic: {enabled: true, minReplicas: 1, maxReplicas: 4}\n")),
        "spec.elastic.enabled: has no effect without spec.torchrunConfig.enabled\n");
    assert_string_equal(
        warned(
            "metadata: {name: j}\nspec:\n  replicaSpecs:\n  - type: w\n    template:\n      spec:\n"
            "        restartPolicy: Always\n        schedulerName: s\n        nodeName: n1\n       "
            " "
            "containers:\n        - {name: a, env: [{name: "
            "RANK, value: \"9\"}]}\n        - {name: python, env: [{name: WORLD_SIZE, value: "
            "\"9\"}, {name: X, value: z}]}\n"),
        "spec.replicaSpecs[0].template.spec.restartPolicy: \"Always\" is not used, "
        "spec.replicaSpecs[0].restartPolicy decides (Never)\n"
        "spec.replicaSpecs[0].template.spec.schedulerName: \"s\" is not asked, nodeName says where "
        "it "
        "runs\n"
        "spec.replicaSpecs[0].template: WORLD_SIZE is set by hand and not by the job, the replicas "
        "may not find each other\n");
    assert_string_equal(
        warned(JOB("  torchrunConfig: {enabled: false, procPerNode: \"2\", extraOptions: [-x]}\n"
                   "  runPolicy: {restartableExitCodes: [3], restartScope: Job}\n")),
        "spec.torchrunConfig.procPerNode: has no effect without spec.torchrunConfig.enabled\n"
        "spec.torchrunConfig.extraOptions: has no effect without spec.torchrunConfig.enabled\n"
        "spec.runPolicy.restartableExitCodes: has no effect, no replica's restartPolicy is "
        "ExitCode\n");
    assert_string_equal(
        warned("metadata: {name: j}\nspec:\n  runPolicy: {restartScope: Job}\n  replicaSpecs:\n  - "
               "type: w\n    template: {spec: {containers: [{name: a}]}}\n"),
        "spec.runPolicy.restartScope: has no effect, every replica's restartPolicy is Never\n");
    assert_string_equal(
        warned("metadata: {name: j}\nspec:\n  runPolicy: {restartableExitCodes: [3], restartScope: "
               "Job}\n  replicaSpecs:\n  - type: w\n    scalingWeight: 2\n    restartPolicy: "
               "ExitCode\n    template: {spec: {containers: [{name: a}]}}\n"),
        "spec.replicaSpecs[0].scalingWeight: has no effect without spec.elastic.enabled\n");
}

static void a_scheduler_beside_a_node_is_warned_about(void **state)
{
    (void)state;
    warnings[0] = '\0';
    kind_pod.warn(admitted(&kind_pod, "metadata: {name: p}\nspec: {nodeName: n1, schedulerName: s, "
                                      "containers: [{name: a}]}\n"),
                  note_warning, NULL);
    assert_string_equal(warnings,
                        "spec.schedulerName: \"s\" is not asked, nodeName says where it runs\n");
}

static void torchrun_without_args_is_warned_about(void **state)
{
    (void)state;
    assert_string_equal(
        warned(JOB("  torchrunConfig: {enable: true}\n")),
        "spec.replicaSpecs[0].template: torchrun does not use the command of container "
        "\"pytorch\", and it has no args: put the script and its arguments there\n");
    assert_string_equal(
        warned(JOB("  torchrunConfig: {enable: true}\n  runMode: {debug: {enable: true}}\n")), "");
    assert_string_equal(
        warned("metadata: {name: j}\nspec:\n  torchrunConfig: {enabled: true}\n  replicaSpecs:\n"
               "  - type: w\n    template:\n      spec:\n        containers:\n"
               "        - {name: a}\n        - {name: python, args: [x.py]}\n"),
        "");
}

static void total_replicas_follow_elastic(void **state)
{
#define ELASTIC "  elastic: {enabled: true, minReplicas: 1, maxReplicas: 8, expectedReplicas: 6}\n"
    (void)state;
    assert_int_equal(pytorch_total_replicas(admitted(KIND, JOB(""))), 4);
    assert_int_equal(pytorch_total_replicas(admitted(KIND, JOB(ELASTIC))), 4);
    assert_int_equal(
        pytorch_total_replicas(admitted(KIND, JOB(ELASTIC "  torchrunConfig: {enabled: true}\n"))),
        6);
#undef ELASTIC
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_tutorials_first_job_is_accepted_and_defaulted, reset),
        cmocka_unit_test_setup(the_tutorials_other_snippets_are_accepted, reset),
        cmocka_unit_test_setup(enable_is_read_and_enabled_is_written, reset),
        cmocka_unit_test_setup(both_spellings_with_different_values_are_refused, reset),
        cmocka_unit_test_setup(a_patch_in_the_old_spelling_can_be_renamed_before_it_is_merged,
                               reset),
        cmocka_unit_test_setup(the_template_is_kept_whole, reset),
        cmocka_unit_test_setup(bad_manifests_get_one_error_that_names_field_and_line, reset),
        cmocka_unit_test_setup(a_note_has_a_limit, reset),
        cmocka_unit_test_setup(a_template_says_nothing_in_musters_name, reset),
        cmocka_unit_test_setup(a_name_that_would_make_pod_names_too_long_is_refused, reset),
        cmocka_unit_test_setup(names_that_no_service_could_have_are_refused, reset),
        cmocka_unit_test_setup(what_may_change_after_creation, reset),
        cmocka_unit_test_setup(replica_specs_may_not_change, reset),
        cmocka_unit_test_setup(a_default_and_another_spelling_are_no_change, reset),
        cmocka_unit_test_setup(replicas_change_only_under_torchrun, reset),
        cmocka_unit_test_setup(warnings_name_what_has_no_effect, reset),
        cmocka_unit_test_setup(a_scheduler_beside_a_node_is_warned_about, reset),
        cmocka_unit_test_setup(torchrun_without_args_is_warned_about, reset),
        cmocka_unit_test_setup(total_replicas_follow_elastic, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
