/* object_test.c - decoding, defaults and validation by the tables; metadata; names. */
#include "fixture.h"

static const char config_map[] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

static void bodies_as_clients_send_them_are_tolerated(void **state)
{
    const struct json *pod = admitted(
        &kind_pod, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                   "\"creationTimestamp\":null,\"labels\":null,\"namespace\":\"default\"},"
                   "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                   "}}],\"nodeName\":\"\"},\"status\":{}}");

    (void)state;
    assert_null(json_at(pod, "metadata", "creationTimestamp"));
    assert_null(json_at(pod, "metadata", "labels"));
    assert_string_equal(warnings, "");
}

static void apiversion_and_kind_may_be_left_out_but_not_differ(void **state)
{
    const struct json *v = admitted(&kind_config_map, "{\"metadata\":{\"name\":\"a\"}}");
    auto_err err = ERR_INIT;

    (void)state;
    assert_json(v, "{\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}");
    assert_int_equal(admit(&kind_pod, parse(config_map), NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(causes_of(&err), "2 kind: Invalid value: \"ConfigMap\": must be Pod\n");
}

static void unknown_fields_are_dropped_and_said(void **state)
{
    const char *text =
        "{\"metadata\":{\"name\":\"a\",\"colour\":1},\"bogus\":{\"x\":null},\"data\":{}}";
    struct json *v = parse(text);
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_config_map, v, NULL, FIELD_VALIDATION_WARN, &err), 0);
    assert_string_equal(warnings, "unknown field \"metadata.colour\"\nunknown field \"bogus\"\n");
    assert_null(json_get(v, "bogus"));
    assert_json(json_get(v, "metadata"), "{\"name\":\"a\"}");

    warnings[0] = '\0';
    v = parse(text);
    assert_int_equal(admit(&kind_config_map, v, NULL, FIELD_VALIDATION_IGNORE, &err), 0);
    assert_string_equal(warnings, "");
    assert_null(json_get(v, "bogus"));

    assert_int_equal(admit(&kind_config_map, parse(text), NULL, FIELD_VALIDATION_STRICT, &err),
                     err_errno(ERR_BAD_REQUEST));
    assert_int_equal(err.reason, ERR_BAD_REQUEST);
    assert_string_equal(
        err.text, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict "
                  "decoding error: unknown field \"metadata.colour\", unknown field \"bogus\"");
}

static void unknown_fields_of_jobs_are_kept_and_said(void **state)
{
    struct json *v = parse(
        "{\"metadata\":{\"name\":\"a\",\"colour\":1},\"spec\":{\"novel\":{\"x\":null},"
        "\"replicaSpecs\":[{\"type\":\"worker\",\"template\":{\"spec\":{"
        "\"containers\":[{\"name\":\"c\"}]}}}]}}");
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_pytorch_training_job, v, NULL, FIELD_VALIDATION_WARN, &err), 0);
    assert_non_null(
        strstr(warnings, "unknown field \"metadata.colour\"\nunknown field \"spec.novel\"\n"));
    assert_json(json_at(v, "spec", "novel"), "{\"x\":null}");
    assert_json(json_at(v, "metadata", "colour"), "1");
}

static void every_wrong_type_is_one_cause_with_its_line(void **state)
{
    auto_err err = ERR_INIT;
    const char *text = "apiVersion: v1\n"
                       "kind: Pod\n"
                       "metadata:\n"
                       "  name: p\n"
                       "  labels:\n"
                       "    a: 1\n"
                       "  creationTimestamp: yesterday\n"
                       "spec:\n"
                       "  terminationGracePeriodSeconds: \"5\"\n"
                       "  hostNetwork: \"true\"\n"
                       "  priority: 3000000000\n"
                       "  nodeSelector: [x]\n"
                       "  containers:\n"
                       "  - name: c\n"
                       "    command: python\n"
                       "    args: [1, yes]\n"
                       "    resources:\n"
                       "      limits: {cpu: lots, memory: 1.5, x: true}\n"
                       "    env: {a: b}\n";

    (void)state;
    assert_int_equal(admit(&kind_pod, parse(text), NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(
        causes_of(&err),
        "6 metadata.labels[a]: Invalid value: 1: must be a string: put it in quotes\n"
        "7 metadata.creationTimestamp: Invalid value: \"yesterday\": must be a time like "
        "2026-01-31T15:04:05Z\n"
        "9 spec.terminationGracePeriodSeconds: Invalid value: \"5\": must be an integer, without "
        "quotes\n"
        "10 spec.hostNetwork: Invalid value: \"true\": must be true or false, without quotes\n"
        "11 spec.priority: Invalid value: 3000000000: must be an integer of 32 bits\n"
        "12 spec.nodeSelector: Invalid value: [\"x\"]: must be a map\n"
        "15 spec.containers[0].command: Invalid value: \"python\": must be a list, like [a, "
        "b]\n"
        "16 spec.containers[0].args[0]: Invalid value: 1: must be a string: put it in quotes\n"
        "16 spec.containers[0].args[1]: Invalid value: true: must be a string: put it in quotes "
        "(YAML reads yes, no, on and off as true and false)\n"
        "18 spec.containers[0].resources.limits[cpu]: Invalid value: \"lots\": must be a quantity "
        "like 500m, 2 or 4Gi\n"
        "18 spec.containers[0].resources.limits[x]: Invalid value: true: must be a quantity like "
        "500m, 2 or 4Gi\n"
        "19 spec.containers[0].env: Invalid value: {\"a\":\"b\"}: must be a list: each item "
        "begins with \"- \"\n");
    assert_string_equal(err.causes->type, "FieldValueTypeInvalid");
    assert_ptr_equal(strstr(err.text, "Pod \"p\" is invalid: [metadata.labels[a]: Invalid"),
                     err.text);
}

static void one_problem_is_said_without_brackets(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_config_map, parse("{}"), NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(err.text, "ConfigMap \"\" is invalid: metadata.name: Required value: name "
                                  "or generateName is required");
    assert_string_equal(err.causes->type, "FieldValueRequired");
    assert_string_equal(err.causes->field, "metadata.name");
}

static void a_null_error_only_loses_the_words(void **state)
{
    (void)state;
    assert_int_equal(admit(&kind_config_map, parse("{}"), NULL, FIELD_VALIDATION_WARN, NULL),
                     err_errno(ERR_INVALID));
    assert_int_equal(
        admit(&kind_config_map, parse("{\"data\":3}"), NULL, FIELD_VALIDATION_WARN, NULL),
        err_errno(ERR_INVALID));
}

static void something_that_is_no_object_is_refused(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_pod, parse("[1]"), NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_BAD_REQUEST));
}

static void thousands_of_problems_stay_one_bounded_error(void **state)
{
    struct json *v = parse("{\"metadata\":{\"name\":\"a\"}}");
    struct json *data = json_make_object(&arena, v, "data");
    auto_err err = ERR_INIT;
    char key[32];

    (void)state;
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        json_append(data, json_new_int(&arena, i))->key = arena_strdup(&arena, key);
        data->u.list.last->key_len = (uint32_t)strlen(key);
    }
    assert_int_equal(admit(&kind_config_map, v, NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_true(err.arena.used_bytes <= ERR_LIMIT_BYTES);
    assert_non_null(strstr(err.text, "data[k0]: Invalid value: 0"));
}

static void long_values_are_quoted_short(void **state)
{
    char text[3000];
    auto_err err = ERR_INIT;
    struct json *v;

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    v = parse("{\"metadata\":{}}");
    json_set_string(&arena, json_get_mut(v, "metadata"), "name", text);
    assert_int_equal(admit(&kind_config_map, v, NULL, FIELD_VALIDATION_WARN, &err),
                     err_errno(ERR_INVALID));
    assert_true(strlen(err.causes->text) < 200);
    assert_non_null(strstr(err.causes->text, "...\": must be no more than 253 characters"));
}

static void numbers_for_quantities_become_strings(void **state)
{
    const struct json *pod = admitted(
        &kind_pod, "metadata: {name: p}\nspec:\n  containers:\n  - name: c\n    resources:\n      "
                   "limits: {cpu: 4, memory: 1.5e9, nvidia.com/gpu: \"2\"}\n");

    (void)state;
    assert_json(json_at(json_index(json_at(pod, "spec", "containers"), 0), "resources", "limits"),
                "{\"cpu\":\"4\",\"memory\":\"1.5e9\",\"nvidia.com/gpu\":\"2\"}");
}

/* --- metadata ------------------------------------------------------------------------------- */

static void metadata_rules(void **state)
{
    static const struct {
        const char *metadata, *causes;
    } cases[] = {
        {"{name: a.b-c}", ""},
        {"{generateName: a-}", ""},
        {"{name: A}", "1 metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"},
        {"{name: -a}", "1 metadata.name: Invalid value: \"-a\": a lowercase RFC 1123"},
        {"{name: a..b}", "1 metadata.name: Invalid value: \"a..b\": a lowercase RFC 1123"},
        {"{name: \"a\\0b\"}",
         "1 metadata.name: Invalid value: \"a\\u0000b\": may not contain a NUL"},
        {"{name: a/b}", "1 metadata.name: Invalid value"},
        {"{generateName: _}", "1 metadata.generateName: Invalid value"},
        {"{name: a, namespace: A}", "1 metadata.namespace: Invalid value: \"A\": a lowercase RFC"},
        {"{name: a, labels: {a b: c}}",
         "1 metadata.labels: Invalid value: \"a b\": name part must"},
        {"{name: a, labels: {a: b c}}",
         "1 metadata.labels[a]: Invalid value: \"b c\": a valid label"},
        {"{name: a, labels: {x.y/z: \"\"}}", ""},
        {"{name: a, labels: {X/z: a}}", "1 metadata.labels: Invalid value: \"X/z\": prefix part"},
        {"{name: a, labels: {/z: a}}", "1 metadata.labels: Invalid value: \"/z\": prefix part must "
                                       "be non-empty"},
        {"{name: a, annotations: {X.com/z: \"any text at all\"}}", ""},
        {"{name: a, annotations: {a b: c}}", "1 metadata.annotations: Invalid value: \"a b\""},
        {"{name: a, finalizers: [example.com/x]}", ""},
        {"{name: a, finalizers: [\"a b\"]}", "1 metadata.finalizers[0]: Invalid value"},
        {"{name: a, ownerReferences: [{kind: Pod}]}",
         "1 metadata.ownerReferences[0].apiVersion: Required value\n"
         "1 metadata.ownerReferences[0].name: Required value\n"
         "1 metadata.ownerReferences[0].uid: Required value"},
        {"{name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: "
         "true}, {apiVersion: v1, kind: Pod, name: q, uid: w, controller: true}]}",
         "1 metadata.ownerReferences: Invalid value"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        char text[512];

        (void)snprintf(text, sizeof(text), "metadata: %s", cases[i].metadata);
        (void)admit(&kind_config_map, parse(text), NULL, FIELD_VALIDATION_STRICT, &err);
        if (strncmp(causes_of(&err), cases[i].causes, strlen(cases[i].causes)) != 0 ||
            (!*cases[i].causes && err_is_set(&err)))
            fail_msg("%s: %s%s", cases[i].metadata, causes_of(&err), err.text);
    }
}

/* They are repeated in events, conditions and errors, which go to terminals. */
static void names_of_resources_and_others_have_no_control_characters(void **state)
{
#define EVIL "x.y/\\e[2J\\a\\u009b2J\\u202eevil"
#define LIMITS "resources: {limits: {\"" EVIL "\": 1}}"
#define CONTAINERS "containers: [{name: a, image: x, " LIMITS "}]"
    static const struct {
        const struct kind *kind;
        const char *rest, *field;
    } cases[] = {
        {&kind_pod, "spec: {" CONTAINERS "}", "spec.containers[0].resources.limits"},
        {&kind_pod,
         "spec: {containers: [{name: a, image: x}], initContainers: [{name: b, image: x, "
         "resources: {requests: {\"" EVIL "\": 1}}}]}",
         "spec.initContainers[0].resources.requests"},
        {&kind_pod, "spec: {containers: [{name: a, image: x}], priorityClassName: \"" EVIL "\"}",
         "spec.priorityClassName"},
        {&kind_pod, "spec: {containers: [{name: a, image: \"" EVIL "\"}]}",
         "spec.containers[0].image"},
        {&kind_pod,
         "spec: {containers: [{name: a, image: x, env: [{name: A, valueFrom: "
         "{configMapKeyRef: {name: \"" EVIL "\", key: k}}}]}]}",
         "spec.containers[0].env[0].valueFrom.configMapKeyRef.name"},
        {&kind_pytorch_training_job,
         "spec: {replicaSpecs: [{type: worker, replicas: 1, template: {spec: {" CONTAINERS "}}}]}",
         "spec.replicaSpecs[0].template.spec.containers[0].resources.limits"},
        {&kind_job, "spec: {template: {spec: {restartPolicy: Never, " CONTAINERS "}}}",
         "spec.template.spec.containers[0].resources.limits"},
        {&kind_notebook, "spec: {template: {spec: {" CONTAINERS "}}}",
         "spec.template.spec.containers[0].resources.limits"},
        {&kind_resource_quota, "spec: {hard: {\"" EVIL "\": 1}}", "spec.hard"},
        {&kind_limit_range, "spec: {limits: [{type: Container, max: {\"" EVIL "\": 1}}]}",
         "spec.limits[0].max"},
        {&kind_queue, "spec: {quota: {requests: {\"" EVIL "\": 1}}}", "spec.quota.requests"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const char *text = arena_printf(&arena, "metadata: {name: p}\n%s", cases[i].rest);
        const char *wanted = arena_printf(&arena, " %s: Invalid value: ", cases[i].field);
        auto_err err = ERR_INIT;

        (void)admit(cases[i].kind, parse(text), NULL, FIELD_VALIDATION_IGNORE, &err);
        if (!strstr(causes_of(&err), wanted) ||
            !strstr(causes_of(&err), "must not contain control characters"))
            fail_msg("%s: %s", cases[i].field, causes_of(&err));
        if (strpbrk(err.text, "\x1b\a") || strstr(err.text, "\xc2\x9b") ||
            strstr(err.text, "\xe2\x80\xae"))
            fail_msg("%s: the error repeats them", cases[i].field);
    }
}

static void annotations_have_a_size_limit(void **state)
{
    struct json *v = parse("metadata: {name: a, annotations: {}}");
    char *big = malloc(300 * 1024);
    auto_err err = ERR_INIT;

    (void)state;
    memset(big, 'x', 300 * 1024 - 1);
    big[300 * 1024 - 1] = '\0';
    json_set_string(&arena, json_get_mut(json_get_mut(v, "metadata"), "annotations"), "k", big);
    free(big);
    assert_int_equal(admit(&kind_config_map, v, NULL, FIELD_VALIDATION_STRICT, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(err.causes->type, "FieldValueForbidden");
}

static void updates_keep_names_and_refuse_new_finalizers_while_deleting(void **state)
{
    const struct json *old = parse("metadata: {name: a, uid: u, deletionTimestamp: "
                                   "\"2026-01-01T00:00:00Z\", finalizers: [x.y/a]}");
    auto_err err = ERR_INIT;

    (void)state;
    assert_int_equal(admit(&kind_config_map,
                           parse("metadata: {name: b, uid: w, finalizers: "
                                 "[x.y/a, x.y/b]}"),
                           old, FIELD_VALIDATION_STRICT, &err),
                     err_errno(ERR_INVALID));
    assert_string_equal(
        causes_of(&err),
        "1 metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        "deleted, found new finalizers []string{\"x.y/b\"}\n"
        "1 metadata.name: Invalid value: \"b\": field is immutable\n"
        "1 metadata.uid: Invalid value: \"w\": field is immutable\n");
}

static void names_labels_and_their_limits(void **state)
{
    char long_text[300];

    (void)state;
    memset(long_text, 'a', sizeof(long_text));
    long_text[63] = '\0';
    assert_null(dns_label_problem(long_text));
    assert_null(dns_1035_label_problem(long_text));
    assert_null(label_value_problem(long_text));
    assert_null(label_key_problem(long_text));
    long_text[63] = 'a';
    long_text[64] = '\0';
    assert_non_null(dns_label_problem(long_text));
    assert_non_null(dns_1035_label_problem(long_text));
    assert_non_null(label_value_problem(long_text));
    assert_non_null(label_key_problem(long_text));
    assert_null(dns_name_problem(long_text));
    long_text[64] = 'a';
    long_text[253] = '\0';
    assert_null(dns_name_problem(long_text));
    long_text[253] = 'a';
    long_text[254] = '\0';
    assert_non_null(dns_name_problem(long_text));
    assert_null(dns_label_problem("0a"));
    assert_non_null(dns_1035_label_problem("0a"));
    assert_non_null(dns_label_problem(""));
    assert_non_null(dns_label_problem("a.b"));
    assert_non_null(dns_label_problem("a-"));
    assert_null(label_value_problem(""));
    assert_null(label_value_problem("A_b.c-1"));
    assert_non_null(label_value_problem("-a"));
    assert_non_null(label_key_problem("a/b/c"));
    assert_non_null(label_key_problem("a/"));
    assert_null(label_key_problem("example.com/Name_1"));
}

/* --- parsing bodies ------------------------------------------------------------------------- */

static void bodies_are_read_by_content_type(void **state)
{
    static const struct {
        const char *type, *text;
        enum err_reason reason;
    } cases[] = {
        {"application/json", "{\"a\":1}", ERR_NONE},
        {"application/json; charset=utf-8", "{\"a\":1}", ERR_NONE},
        {"Application/JSON", "{\"a\":1}", ERR_NONE},
        {"application/json", "a: 1", ERR_BAD_REQUEST},
        {"application/yaml", "a: 1", ERR_NONE},
        {"application/apply-patch+yaml", "{\"a\":1}", ERR_UNSUPPORTED_MEDIA},
        {"application/merge-patch+json", "{\"a\":1}", ERR_UNSUPPORTED_MEDIA},
        {"application/yaml", "a: 1\n---\nb: 2\n", ERR_BAD_REQUEST},
        {"application/yaml", "", ERR_BAD_REQUEST},
        {NULL, "  \n{\"a\":1}", ERR_NONE},
        {NULL, "{a: 1}", ERR_NONE},
        {NULL, "{\"a\":1,}x", ERR_BAD_REQUEST},
        {NULL, "a: 1", ERR_NONE},
        {"", "a: 1", ERR_NONE},
        {"text/html", "{\"a\":1}", ERR_UNSUPPORTED_MEDIA},
        {"application/vnd.kubernetes.protobuf", "k8s", ERR_BAD_REQUEST},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct json *v = object_parse(&arena, &kind_config_map, cases[i].type, cases[i].text,
                                      strlen(cases[i].text), NULL, NULL, &err);

        if (err.reason != cases[i].reason || !v != (cases[i].reason != ERR_NONE))
            fail_msg("case %zu: %s", i, err.text ? err.text : "no error");
        if (v)
            assert_json(v, "{\"a\":1}");
    }
}

static void duplicate_keys_are_warned_about(void **state)
{
    (void)state;
    (void)parse("a: 1\nb: 2\na: 3\n");
    (void)parse("{\"x\":1,\n\"x\":2}");
    assert_string_equal(warnings, "line 3: duplicate key \"a\", the last one wins\n"
                                  "line 2: duplicate key \"x\", the last one wins\n");
}

static void readers_answer_for_what_is_absent(void **state)
{
    const struct json *v = parse(
        "metadata: {name: a, ownerReferences: [{uid: x}, {uid: z, "
        "controller: true}], labels: {k: v}, creationTimestamp: "
        "\"1970-01-01T00:00:02Z\"}\nstatus: {conditions: [{type: A, status: "
        "\"True\"}]}");

    (void)state;
    assert_string_equal(object_name(NULL), "");
    assert_string_equal(object_namespace(v), "");
    assert_string_equal(object_uid(v), "");
    assert_string_equal(object_label(v, "k"), "v");
    assert_null(object_label(v, "x"));
    assert_null(object_annotation(v, "x"));
    assert_false(object_is_deleting(v));
    assert_int_equal(object_created_ms(v), 2000);
    assert_int_equal(object_created_ms(NULL), 0);
    assert_true(object_is_controlled_by(v, "z"));
    assert_false(object_is_controlled_by(v, "x"));
    assert_non_null(object_condition(v, "A"));
    assert_null(object_condition(v, "B"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bodies_as_clients_send_them_are_tolerated, reset),
        cmocka_unit_test_setup(apiversion_and_kind_may_be_left_out_but_not_differ, reset),
        cmocka_unit_test_setup(unknown_fields_are_dropped_and_said, reset),
        cmocka_unit_test_setup(unknown_fields_of_jobs_are_kept_and_said, reset),
        cmocka_unit_test_setup(every_wrong_type_is_one_cause_with_its_line, reset),
        cmocka_unit_test_setup(one_problem_is_said_without_brackets, reset),
        cmocka_unit_test_setup(a_null_error_only_loses_the_words, reset),
        cmocka_unit_test_setup(something_that_is_no_object_is_refused, reset),
        cmocka_unit_test_setup(thousands_of_problems_stay_one_bounded_error, reset),
        cmocka_unit_test_setup(long_values_are_quoted_short, reset),
        cmocka_unit_test_setup(numbers_for_quantities_become_strings, reset),
        cmocka_unit_test_setup(metadata_rules, reset),
        cmocka_unit_test_setup(names_of_resources_and_others_have_no_control_characters, reset),
        cmocka_unit_test_setup(annotations_have_a_size_limit, reset),
        cmocka_unit_test_setup(updates_keep_names_and_refuse_new_finalizers_while_deleting, reset),
        cmocka_unit_test_setup(names_labels_and_their_limits, reset),
        cmocka_unit_test_setup(bodies_are_read_by_content_type, reset),
        cmocka_unit_test_setup(duplicate_keys_are_warned_about, reset),
        cmocka_unit_test_setup(readers_answer_for_what_is_absent, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
