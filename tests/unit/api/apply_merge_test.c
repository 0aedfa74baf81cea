/* apply_merge_test.c - server-side apply: what is merged, what goes, who is in the way. */
#include "fixture.h"

#include "api/apply_merge.h"

static struct json *json_of(const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = yaml_parse(&arena, text, strlen(text), NULL, NULL, &err);

    if (!v)
        fail_msg("%s: %s", text, err.text);
    return json_first_mut(v);
}

struct world {
    struct json *object; /* as stored */
    const char *error;   /* of the last apply, "" when it went well */
    const char *causes;
};

static void apply_as(struct world *w, const struct kind *k, const char *manager, bool force,
                     const char *config)
{
    const struct apply how = {.kind = k,
                              .operation = "Apply",
                              .manager = manager,
                              .subresource = "",
                              .force = force,
                              .now_ms = 1000};
    auto_err err = ERR_INIT;
    struct json *next = NULL, *managed = NULL;

    w->error = w->causes = "";
    if (apply_merge(&arena, &how, w->object, json_of(config), &next, &managed, &err) < 0) {
        w->error = arena_printf(&arena, "%s: %s", err_reason_name(err.reason), err.text);
        w->causes = causes_of(&err);
        return;
    }
    json_set(&arena, json_make_object(&arena, next, "metadata"), "managedFields", managed);
    w->object = next;
}

static const char *without_managers(const struct world *w)
{
    struct json *copy = json_clone(&arena, w->object);

    json_remove(json_get_mut(copy, "metadata"), "managedFields");
    return as_json(copy);
}

#define assert_object(w, text) assert_string_equal(without_managers(w), as_json(json_of(text)))

static void fields_are_written_as_the_real_server_does(void **state)
{
    (void)state;
    assert_json(
        apply_fields(&arena, &kind_pod,
                     json_of("{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: x}, "
                             "finalizers: [a/b]}, spec: {containers: [{name: c, command: [x], "
                             "resources: {}}], tolerations: [{key: k}]}}")),
        "{\"f:metadata\":{\"f:labels\":{\"f:app\":{}},\"f:finalizers\":{\"v:\\\"a/b\\\"\":{}}},"
        "\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{},"
        "\"f:command\":{},\"f:resources\":{}}},\"f:tolerations\":{}}}");
    assert_json(apply_fields(&arena, &kind_config_map, json_of("{metadata: {name: x}}")), "{}");
}

static void creates_changes_and_removes(void **state)
{
    struct world w = {.object = NULL};
    const struct json *entry;

    (void)state;
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}, data: {a: x, b: z}}");
    assert_object(&w, "{metadata: {name: c}, data: {a: x, b: z}}");
    entry = json_first(json_at(w.object, "metadata", "managedFields"));
    assert_json(entry, "{\"manager\":\"kubectl\",\"operation\":\"Apply\",\"apiVersion\":\"v1\","
                       "\"time\":\"1970-01-01T00:00:01Z\",\"fieldsType\":\"FieldsV1\","
                       "\"fieldsV1\":{\"f:data\":{\"f:a\":{},\"f:b\":{}}}}");
    /* another manager's key stays, what is no longer wanted is removed */
    json_set_string(&arena, json_get_mut(w.object, "data"), "other", "kept");
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}, data: {a: q}}");
    assert_object(&w, "{metadata: {name: c}, data: {a: q, other: kept}}");
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}}");
    assert_object(&w, "{metadata: {name: c}, data: {other: kept}}");
}

static void the_last_key_takes_its_map_along(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_config_map, "m", false,
             "{metadata: {name: c, labels: {a: x}}, data: {a: x}}");
    apply_as(&w, &kind_config_map, "m", false, "{metadata: {name: c}, data: {}}");
    assert_object(&w, "{metadata: {name: c}, data: {}}");
}

static void doing_it_twice_changes_nothing(void **state)
{
    static const char config[] = "{metadata: {name: p, labels: {a: b}}, spec: {containers: "
                                 "[{name: c, image: i, env: [{name: E, value: v}]}]}}";
    struct world w = {.object = NULL};
    const char *before;

    (void)state;
    apply_as(&w, &kind_pod, "m", false, config);
    before = as_json(w.object);
    apply_as(&w, &kind_pod, "m", false, config);
    assert_json(w.object, before);
}

static void elements_of_keyed_lists_come_and_go(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_pod, "m", false,
             "{spec: {containers: [{name: a, image: x, tty: true}, {name: b, image: y}]}}");
    /* a default, set by the server */
    json_set_string(&arena,
                    json_first_mut(json_get_mut(json_get_mut(w.object, "spec"), "containers")),
                    "imagePullPolicy", "Always");
    apply_as(&w, &kind_pod, "m", false, "{spec: {containers: [{name: a, image: z}]}}");
    assert_object(&w, "{spec: {containers: [{name: a, image: z, imagePullPolicy: Always}]}, "
                      "metadata: {}}");
}

static void elements_that_cannot_be_told_apart_are_one_field(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_service, "m", false,
             "{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}}");
    assert_object(&w, "{spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}, "
                      "metadata: {}}");
    apply_as(&w, &kind_service, "m", false,
             "{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: SCTP}]}}");
    assert_object(&w, "{spec: {ports: [{port: 53, protocol: UDP}, {port: 53, protocol: SCTP}]}, "
                      "metadata: {}}");
}

static void two_managers(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_config_map, "one", false, "{metadata: {name: c}, data: {a: x, b: x}}");
    /* the same value is shared, another key is the other's own */
    apply_as(&w, &kind_config_map, "two", false, "{metadata: {name: c}, data: {a: x, c: z}}");
    assert_string_equal(w.error, "");
    apply_as(&w, &kind_config_map, "two", false, "{metadata: {name: c}, data: {a: q, c: z}}");
    assert_string_equal(w.error,
                        "Conflict: Apply failed with 1 conflict: conflict with \"one\": .data.a");
    assert_string_equal(w.causes, "0 .data.a: conflict with \"one\"\n");
    /* nothing happened; a field two want stays when one of them does not any more */
    assert_object(&w, "{metadata: {name: c}, data: {a: x, b: x, c: z}}");
    apply_as(&w, &kind_config_map, "one", false, "{metadata: {name: c}, data: {b: x}}");
    assert_object(&w, "{metadata: {name: c}, data: {a: x, b: x, c: z}}");
}

static void force_takes_over(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_pod, "one", false,
             "{spec: {hostname: h, containers: [{name: a, image: x}]}}");
    apply_as(&w, &kind_pod, "two", false,
             "{spec: {hostname: g, containers: [{name: a, image: y}]}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 2 conflicts: conflicts with \"one\":"
                                 "\n- .spec.hostname\n- .spec.containers[name=\"a\"].image");
    apply_as(&w, &kind_pod, "two", true,
             "{spec: {hostname: g, containers: [{name: a, image: y}]}}");
    assert_string_equal(w.error, "");
    assert_object(&w, "{spec: {hostname: g, containers: [{name: a, image: y}]}, metadata: {}}");
    /* now the first conflicts with no other, and the second owns it */
    apply_as(&w, &kind_pod, "one", false,
             "{spec: {hostname: h, containers: [{name: a, image: y}]}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 1 conflict: conflict with \"two\": "
                                 ".spec.hostname");
}

static void finalizers_are_added_and_taken_back(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_config_map, "m", false, "{metadata: {name: c, finalizers: [a/x, a/y]}}");
    json_append_string(&arena, json_get_mut(json_get_mut(w.object, "metadata"), "finalizers"),
                       "b/other");
    apply_as(&w, &kind_config_map, "m", false, "{metadata: {name: c, finalizers: [a/y]}}");
    assert_object(&w, "{metadata: {name: c, finalizers: [a/y, b/other]}}");
}

static void status_is_not_the_main_endpoints(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_pod, "m", false, "{spec: {hostname: h}, status: {phase: Running}}");
    assert_object(&w, "{spec: {hostname: h}, metadata: {}}");
    assert_null(json_at(json_first(json_at(w.object, "metadata", "managedFields")), "fieldsV1",
                        "f:status"));
}

/* Entries of managedFields are data like any other: odd ones may not hurt. */
static void strange_managers_do_no_harm(void **state)
{
    static const char *const odd[] = {
        "[1, null, {operation: Apply}]",
        "[{operation: Apply, manager: z, fieldsV1: {'k:': {}, 'v:{': {}, x: {}, 'f:data': 5}}]",
        "[{operation: Apply, manager: m, fieldsV1: {'f:data': {'k:{\"a\":1}': {}, 'i:0': {}}}}]",
        "[{operation: Apply, manager: m, fieldsV1: {'k:[1]': {}, '.': {'.': {}}, 'f:': {}}}]",
        "{a: b}",
        "[{operation: Apply, manager: z, fieldsV1: {'f:data': {'f:a': {'f:b': {}}}}}]"};

    (void)state;
    for (size_t i = 0; i < ELEMS(odd); i++) {
        struct world w = {.object = json_of("{metadata: {name: c}, data: {a: x}}")};

        json_set(&arena, json_get_mut(w.object, "metadata"), "managedFields", json_of(odd[i]));
        apply_as(&w, &kind_config_map, "m", false, "{metadata: {name: c}, data: {a: q}}");
        assert_string_equal(w.error, "");
        assert_string_equal(json_string(json_at(w.object, "data", "a"), ""), "q");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(fields_are_written_as_the_real_server_does, reset),
        cmocka_unit_test_setup(creates_changes_and_removes, reset),
        cmocka_unit_test_setup(the_last_key_takes_its_map_along, reset),
        cmocka_unit_test_setup(doing_it_twice_changes_nothing, reset),
        cmocka_unit_test_setup(elements_of_keyed_lists_come_and_go, reset),
        cmocka_unit_test_setup(elements_that_cannot_be_told_apart_are_one_field, reset),
        cmocka_unit_test_setup(two_managers, reset),
        cmocka_unit_test_setup(force_takes_over, reset),
        cmocka_unit_test_setup(finalizers_are_added_and_taken_back, reset),
        cmocka_unit_test_setup(status_is_not_the_main_endpoints, reset),
        cmocka_unit_test_setup(strange_managers_do_no_harm, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
