/* apply_merge_test.c - server-side apply: what is merged, what goes, who is in the way. */
#include "fixture.h"

#include "api/apply_merge.h"
#include "api/managed.h"

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
                              .api_version = "v1",
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
    /* somebody else's own key stays, what is no longer wanted goes */
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
    /* now the first is the one in the way of nobody, and the second owns it */
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

/* --- other writes --------------------------------------------------------------------------- */

static const char *track(const struct kind *k, const char *manager, const char *before,
                         struct json *old, struct json *next)
{
    const struct apply how = {.kind = k,
                              .operation = "Update",
                              .api_version = "v1",
                              .manager = manager,
                              .subresource = "",
                              .now_ms = 1000};

    return apply_track_update(&arena, &how, before, old, next);
}

static const char *list_of(const char *text)
{
    return as_json(managed_unpack(&arena, text, strlen(text)));
}

static void a_text_is_the_list_and_back(void **state)
{
    static const char *const lists[] = {
        "[]",
        "[{manager: a, operation: Apply, apiVersion: v1, time: '2020-01-01T00:00:00Z', fieldsType: "
        "FieldsV1, fieldsV1: {'f:data': {'.': {}, 'f:x': {}}}}]",
        "[{manager: \"odd; | % 'name' \\\" \\\\\", operation: Update, apiVersion: a.b/v1, "
        "fieldsType: FieldsV1, fieldsV1: {'f:(),;|%''\"\\': {}, 'f:.': {}, 'f:!x': {}, 'f:=': "
        "{}, 'f:#': {}, 'f:': {}, 'i:3': {}, 'v:\"a,b\"': {}, 'v:5': {}, "
        "'k:{\"name\":\"c''(\"}': {'.': {}, 'f:\u00e9\u4e2d': {'f:z': {}}}}, subresource: "
        "status}, {manager: '', operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: "
        "{}}]"};

    (void)state;
    for (size_t i = 0; i < ELEMS(lists); i++) {
        struct json *list = json_of(lists[i]);
        const char *text = managed_pack(&arena, list);
        struct buf shown = BUF_INIT(1 << 20);

        assert_non_null(text);
        assert_null(strpbrk(text, "\"\\\n"));
        assert_string_equal(list_of(text), as_json(list));
        managed_write(&shown, text, strlen(text));
        assert_string_equal(shown.data, as_json(list));
        buf_release(&shown);
    }
}

static void lists_that_are_none_are_not_taken(void **state)
{
    static const char *const bad[] = {
        "[5]",
        "[{manager: a}]",
        "[{manager: a, operation: Delete, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {}}]",
        "[{manager: a, operation: Apply, fieldsType: FieldsV1, fieldsV1: {}}]",
        "[{manager: a, operation: Apply, apiVersion: v1, fieldsType: FieldsV2, fieldsV1: {}}]",
        "[{manager: a, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {x: {}}}]",
        "[{manager: a, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {'f:x': "
        "1}}]",
        "[{manager: a, operation: Apply, apiVersion: v1, time: soon, fieldsType: FieldsV1, "
        "fieldsV1: {}}]"};
    /* texts that are none do no harm either */
    static const char *const texts[] = {"|",
                                        ";;;;;",
                                        "a;A;;v1;1;x(",
                                        "a;A;;v1;1;)",
                                        "a;A;;v1;1;x)",
                                        "a;A;;v1;1;%Z1",
                                        "a;A;;v1;1;x(,)",
                                        "a;A;;v1;x;%4",
                                        "a;A;;v1;1;x(y)z",
                                        "a;A;;v1;1;x,"};

    (void)state;
    for (size_t i = 0; i < ELEMS(bad); i++)
        if (managed_pack(&arena, json_of(bad[i])))
            fail_msg("%s", bad[i]);
    for (size_t i = 0; i < ELEMS(texts); i++) {
        struct buf shown = BUF_INIT(1 << 20);

        (void)list_of(texts[i]);
        managed_write(&shown, texts[i], strlen(texts[i]));
        if (!json_parse(&arena, shown.data, shown.len, NULL))
            fail_msg("%s: %s", texts[i], shown.data);
        buf_release(&shown);
    }
}

#define ENTRY(name, fields)                                                                        \
    "{\"manager\":\"" name                                                                         \
    "\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"1970-01-01T00:00:01Z\","         \
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" fields "}"

static void a_new_object_is_its_makers(void **state)
{
    struct json *pod = json_of("{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u, labels: "
                               "{app: x}}, spec: {containers: [{name: c, env: [{name: A, value: "
                               "b}]}], restartPolicy: Never}, status: {phase: Pending}}");

    (void)state;
    assert_string_equal(
        list_of(track(&kind_pod, "kubectl-run", "", NULL, pod)),
        "[" ENTRY("kubectl-run",
                  "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},\"f:spec\":{"
                  "\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{},"
                  "\"f:env\":{\".\":{},\"k:{\\\"name\\\":\\\"A\\\"}\":{\".\":{},\"f:name\":{},"
                  "\"f:value\":{}}}}},\"f:restartPolicy\":{}}}") "]");
}

static void what_changes_changes_hands(void **state)
{
    struct json *old = json_of("{metadata: {name: c}, data: {a: x, b: y, c: z}}");
    struct json *next = json_of("{metadata: {name: c, labels: {l: m}}, data: {a: q, b: y, d: w}}");
    const char *first = track(&kind_config_map, "one", "", NULL, old), *second;

    (void)state;
    assert_string_equal(track(&kind_config_map, "two", first, old, old), first);
    second = track(&kind_config_map, "two", first, old, next);
    assert_string_equal(list_of(second),
                        "[" ENTRY("one", "{\"f:data\":{\".\":{},\"f:b\":{}}}") "," ENTRY(
                            "two",
                            "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}},\"f:data\":{"
                            "\"f:a\":{},\"f:d\":{}}}") "]");
    /* what is gone is nobody's */
    assert_string_equal(
        list_of(track(&kind_config_map, "three", second, next, json_of("{metadata: {name: c}}"))),
        "[]");
}

static void of_many_writers_the_oldest_become_one(void **state)
{
    struct json *object = json_of("{metadata: {name: c}, data: {k0: x}}");
    const char *text = track(&kind_config_map, "w0", "", NULL, object);
    size_t ancient = 0;

    (void)state;
    for (int i = 1; i < 15; i++) {
        struct json *next = json_clone(&arena, object);

        json_set_string(&arena, json_get_mut(next, "data"), arena_printf(&arena, "k%d", i), "x");
        text = track(&kind_config_map, arena_printf(&arena, "w%d", i), text, object, next);
        object = next;
    }
    json_each (e, managed_unpack(&arena, text, strlen(text)))
        if (json_string_is(json_get(e, "manager"), "ancient-changes"))
            ancient = json_len(json_at(e, "fieldsV1", "f:data"));
    assert_int_equal(json_len(managed_unpack(&arena, text, strlen(text))), 10);
    assert_int_equal(ancient, 7); /* six keys, and the map itself */
}

/* --- installed kinds ------------------------------------------------------------------------ */

static const struct kind *kind_with(const char *properties)
{
    struct kind *k = arena_alloc(&arena, sizeof(*k));

    *k = (struct kind){KIND_NAMES("x.org", "v1", "Thing", "things", "thing"), .custom = true,
                       .schema = json_of(arena_printf(
                           &arena,
                           "{type: object, properties: {spec: {type: object, properties: "
                           "{%s}}}}",
                           properties))};
    return k;
}

static void lists_of_installed_kinds_are_what_their_schema_says(void **state)
{
    const struct kind *k = kind_with(
        "map: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b, c], "
        "items: {type: object, properties: {a: {type: string}, b: {type: integer, default: 7}}}}, "
        "set: {type: array, x-kubernetes-list-type: set, items: {type: string}}, "
        "plain: {type: array, items: {type: object}}, "
        "whole: {type: object, x-kubernetes-map-type: atomic}");
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, k, "one", false,
             "{spec: {map: [{a: x, c: true, v: 1}], set: [p], plain: [{a: x}], whole: {m: 1}}}");
    apply_as(&w, k, "two", false, "{spec: {map: [{a: x, b: 8, v: 2}], set: [q]}}");
    assert_string_equal(w.error, "");
    assert_object(&w, "{spec: {map: [{a: x, c: true, v: 1, b: 7}, {a: x, b: 8, v: 2}], set: [p, "
                      "q], plain: [{a: x}], whole: {m: 1}}, metadata: {}}");
    apply_as(&w, k, "two", false, "{spec: {map: [{a: x, c: true, v: 3}]}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 1 conflict: conflict with \"one\": "
                                 ".spec.map[a=\"x\",b=7,c=true].v");
    apply_as(&w, k, "two", false, "{spec: {plain: [{a: y}], whole: {n: 1}}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 2 conflicts: conflicts with "
                                 "\"one\":\n- .spec.plain\n- .spec.whole");
    apply_as(&w, k, "two", true, "{spec: {plain: [{b: y}], whole: {n: 1}}}");
    assert_object(&w, "{spec: {map: [{a: x, c: true, v: 1, b: 7}], set: [p], plain: [{b: y}], "
                      "whole: {n: 1}}, metadata: {}}");
}

static void an_object_from_before_has_an_owner_nobody_knows(void **state)
{
    struct world w = {.object = json_of("{metadata: {name: c}, data: {a: x}}")};

    (void)state;
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}, data: {a: y}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 1 conflict: conflict with "
                                 "\"before-first-apply\" using v1: .data.a");
}

static void kubectl_is_not_in_its_own_way(void **state)
{
    struct world w = {
        .object = json_of("{metadata: {name: c, annotations: "
                          "{kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"a\":"
                          "\"x\",\"b\":\"x\"}}'}, managedFields: 'kubectl-client-side-apply;U;;"
                          "v1;1;data(a,b)'}, data: {a: x, b: edited}}")};

    (void)state;
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}, data: {a: z, b: w}}");
    assert_string_equal(w.error, "Conflict: Apply failed with 2 conflicts: conflicts with "
                                 "\"kubectl-client-side-apply\" using v1:\n- .data.a\n- .data.b");
    apply_as(&w, &kind_config_map, "kubectl", false, "{metadata: {name: c}, data: {a: z}}");
    assert_string_equal(w.error, "");
    assert_string_equal(json_string(json_at(w.object, "data", "a"), ""), "z");
}

static void the_record_of_the_client_stays_true(void **state)
{
    struct world w = {
        .object = json_of("{metadata: {name: c, annotations: "
                          "{kubectl.kubernetes.io/last-applied-configuration: old}}, data: {}}")};

    (void)state;
    apply_as(&w, &kind_config_map, "other", true, "{metadata: {name: c}, data: {a: w}}");
    assert_string_equal(
        object_annotation(w.object, "kubectl.kubernetes.io/last-applied-configuration"), "old");
    apply_as(&w, &kind_config_map, "kubectl", true, "{metadata: {name: c}, data: {a: w}}");
    assert_string_equal(
        object_annotation(w.object, "kubectl.kubernetes.io/last-applied-configuration"),
        "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"w\"}}\n");
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
        cmocka_unit_test_setup(a_text_is_the_list_and_back, reset),
        cmocka_unit_test_setup(lists_that_are_none_are_not_taken, reset),
        cmocka_unit_test_setup(a_new_object_is_its_makers, reset),
        cmocka_unit_test_setup(what_changes_changes_hands, reset),
        cmocka_unit_test_setup(of_many_writers_the_oldest_become_one, reset),
        cmocka_unit_test_setup(lists_of_installed_kinds_are_what_their_schema_says, reset),
        cmocka_unit_test_setup(an_object_from_before_has_an_owner_nobody_knows, reset),
        cmocka_unit_test_setup(kubectl_is_not_in_its_own_way, reset),
        cmocka_unit_test_setup(the_record_of_the_client_stays_true, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
