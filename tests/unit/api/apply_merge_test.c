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

static void track(const struct kind *k, const char *manager, const struct json *old,
                  struct json *next)
{
    const struct apply how = {
        .kind = k, .operation = "Update", .manager = manager, .subresource = "", .now_ms = 1000};

    managed_track(&arena, &how, old, next);
}

static const char *list_of(const struct kind *k, struct json *object)
{
    return as_json(managed_list(&arena, k, object));
}

/* As it comes out of the store again. */
static struct json *stored(struct json *object)
{
    struct buf text = BUF_INIT(1 << 20);
    struct json *again = json_clone(&arena, object);

    managed_store(&text, object);
    assert_false(text.failed);
    assert_null(text.data ? strpbrk(text.data, "\"\\\n") : NULL);
    managed_clear(again);
    again = json_of(as_json(again)); /* nothing of the old values */
    managed_load(&arena, again, text.data ? text.data : "", text.len);
    buf_release(&text);
    return again;
}

#define LIST_ENTRY(manager, fields)                                                                \
    "{manager: " manager                                                                           \
    ", operation: Update, apiVersion: v1, time: '2020-01-01T00:00:00Z', fieldsType: FieldsV1, "    \
    "fieldsV1: " fields "}"

static void a_list_is_stored_and_read_again(void **state)
{
    static const char pod[] =
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n, uid: u, labels: "
        "{'(),;|%\"\\': "
        "x, '': y, .: z}, finalizers: ['a,b'], resourceVersion: '5'}, spec: {containers: [{name: "
        "'c''(', image: i, args: [x, y], ports: [{containerPort: 80, protocol: TCP}]}, {name: d}], "
        "tolerations: [{key: k}]}, status: {phase: Running}}";
    static const char *const lists[] = {
        "[]", "[" LIST_ENTRY("a", "{'f:spec': {'f:tolerations': {}}}") "]",
        "[" LIST_ENTRY("\"odd; | % 'name' \\\" \\\\\"",
                       "{'f:metadata': {'f:labels': {'.': {}, 'f:(),;|%\"\\': {}, 'f:': "
                       "{}, 'f:.': "
                       "{}}, 'f:finalizers': {'v:\"a,b\"': {}}}, 'f:spec': "
                       "{'f:containers': "
                       "{'k:{\"name\":\"c''(\"}': {'.': {}, 'f:name': {}, 'f:args': {}, "
                       "'f:ports': "
                       "{'k:{\"containerPort\":80,\"protocol\":\"TCP\"}': {'.': "
                       "{}}}}}}}") ", "
                                   "{manager: '', operation: Apply, apiVersion: v1, "
                                   "fieldsType: FieldsV1, fieldsV1: "
                                   "{'f:spec': {'f:containers': {'k:{\"name\":\"d\"}': "
                                   "{'.': {}, 'f:name': {}}}}}}, "
                                   "{manager: k, operation: Update, apiVersion: v1, "
                                   "fieldsType: FieldsV1, fieldsV1: "
                                   "{'f:status': {'f:phase': {}}}, subresource: "
                                   "status}]"};

    (void)state;
    for (size_t i = 0; i < ELEMS(lists); i++) {
        struct json *object = json_of(pod);

        assert_true(managed_take(&arena, &kind_pod, object, json_of(lists[i])));
        assert_string_equal(list_of(&kind_pod, object), as_json(json_of(lists[i])));
        assert_string_equal(list_of(&kind_pod, stored(object)), as_json(json_of(lists[i])));
    }
}

static void owners_survive_changes_by_the_server(void **state)
{
    struct json *object = json_of("{metadata: {name: c, finalizers: [a, b]}, data: {x: y}}"), *m;

    (void)state;
    track(&kind_config_map, "one", NULL, object);
    m = json_get_mut(object, "metadata");
    json_set_string(&arena, m, "resourceVersion", "7");
    json_set_string(&arena, m, "deletionTimestamp", "2020-01-01T00:00:00Z");
    json_remove_item(json_get_mut(m, "finalizers"), json_first_mut(json_get_mut(m, "finalizers")));
    assert_string_equal(
        json_get_string(json_first(managed_list(&arena, &kind_config_map, stored(object))),
                        "manager", ""),
        "one");
    assert_json(
        json_get(json_first(managed_list(&arena, &kind_config_map, stored(object))), "fieldsV1"),
        "{\"f:metadata\":{\"f:finalizers\":{\".\":{},\"v:\\\"b\\\"\":{}}},\"f:data\":{\".\":"
        "{},\"f:x\":{}}}");
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
    static const char *const texts[] = {
        "|",      ";;;;;",   "a;A;1;(",     "a;A;1;____________0",
        "a;A;1;", "a;X;1;0", "a%Z1;A;1;01", "a;A;1;0zzzzzzzzz1",
        "a;A",    "a|b",     "a;A%00;1;01", "a;A;99999999999999999;01"};
    struct json *object = json_of("{metadata: {name: c}, data: {x: y}}");

    (void)state;
    for (size_t i = 0; i < ELEMS(bad); i++)
        if (managed_take(&arena, &kind_config_map, object, json_of(bad[i])))
            fail_msg("%s", bad[i]);
    for (size_t i = 0; i < ELEMS(texts); i++) {
        struct json *copy = json_clone(&arena, object);

        managed_load(&arena, copy, texts[i], strlen(texts[i]));
        if (!managed_list(&arena, &kind_config_map, copy))
            fail_msg("%s", texts[i]);
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
    track(&kind_pod, "kubectl-run", NULL, pod);
    assert_string_equal(
        list_of(&kind_pod, stored(pod)),
        "[" ENTRY("kubectl-run",
                  "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},\"f:spec\":{"
                  "\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{},"
                  "\"f:env\":{\".\":{},\"k:{\\\"name\\\":\\\"A\\\"}\":{\".\":{},\"f:name\":{},"
                  "\"f:value\":{}}}}},\"f:restartPolicy\":{}}}") "]");
}

static void what_changes_changes_hands(void **state)
{
    struct json *old = json_of("{metadata: {name: c}, data: {a: x, b: y, c: z}}");
    struct json *next = json_of("{metadata: {name: c, labels: {l: m}}, data: {d: w, a: q, b: y}}");
    struct json *same = json_clone(&arena, old), *last = json_of("{metadata: {name: c}}");

    (void)state;
    track(&kind_config_map, "one", NULL, old);
    track(&kind_config_map, "two", old, same);
    assert_string_equal(list_of(&kind_config_map, same), list_of(&kind_config_map, old));
    track(&kind_config_map, "two", old, next);
    assert_string_equal(list_of(&kind_config_map, stored(next)),
                        "[" ENTRY("one", "{\"f:data\":{\".\":{},\"f:b\":{}}}") "," ENTRY(
                            "two",
                            "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}},\"f:data\":{"
                            "\"f:d\":{},\"f:a\":{}}}") "]");
    /* what is gone is nobody's */
    track(&kind_config_map, "three", next, last);
    assert_string_equal(list_of(&kind_config_map, last), "[]");
}

static void of_many_writers_the_oldest_become_one(void **state)
{
    struct json *object = json_of("{metadata: {name: c}, data: {k0: x}}");
    const struct json *list;
    size_t ancient = 0;

    (void)state;
    track(&kind_config_map, "w0", NULL, object);
    for (int i = 1; i < 15; i++) {
        struct json *next = json_clone(&arena, object);

        json_set_string(&arena, json_get_mut(next, "data"), arena_printf(&arena, "k%d", i), "x");
        track(&kind_config_map, arena_printf(&arena, "w%d", i), object, next);
        object = stored(next);
    }
    list = managed_list(&arena, &kind_config_map, object);
    json_each (e, list)
        if (json_string_is(json_get(e, "manager"), "ancient-changes"))
            ancient = json_len(json_at(e, "fieldsV1", "f:data"));
    assert_int_equal(json_len(list), 10);
    assert_int_equal(ancient, 7); /* six keys, and the map itself */
}

static void so_many_appliers_and_no_more(void **state)
{
    struct world w = {.object = json_of("{metadata: {name: c}, data: {first: x}}")};

    (void)state;
    track(&kind_config_map, "u", NULL, w.object);
    for (int i = 1; i < 16; i++) {
        apply_as(&w, &kind_config_map, arena_printf(&arena, "m%d", i), false,
                 arena_printf(&arena, "{metadata: {name: c}, data: {k%d: x}}", i));
        assert_string_equal(w.error, "");
    }
    apply_as(&w, &kind_config_map, "m16", false, "{metadata: {name: c}, data: {k16: x}}");
    assert_string_equal(w.error, "BadRequest: an object can have at most 16 field managers");
    /* another writer finds no room, and takes fields over all the same */
    assert_true(managed_take(&arena, &kind_config_map, w.object,
                             json_at(w.object, "metadata", "managedFields")));
    {
        struct json *next = json_clone(&arena, w.object);

        json_set_string(&arena, json_get_mut(next, "data"), "k1", "changed");
        track(&kind_config_map, "v", w.object, next);
        assert_int_equal(json_len(managed_list(&arena, &kind_config_map, stored(next))), 15);
    }
}

/* A ConfigMap with so many keys, from the first or the last on. */
static const char *many_keys(int count, int value, bool reversed)
{
    struct buf text = BUF_INIT(1u << 20);
    const char *copy;

    buf_adds(&text, "{\"metadata\":{\"name\":\"c\"},\"data\":{");
    for (int i = 0; i < count; i++)
        buf_addf(&text, "%s\"key-%0240d\":\"%d\"", i ? "," : "", reversed ? count - 1 - i : i,
                 value);
    buf_adds(&text, "}}");
    copy = arena_strdup(&arena, text.data);
    buf_release(&text);
    return copy;
}

static size_t managers_of(const struct world *w)
{
    return json_len(json_at(w->object, "metadata", "managedFields"));
}

/* A manager that is not recorded would be one that nobody has to reckon with. */
static void a_manager_is_recorded_or_refused(void **state)
{
    struct world w = {.object = NULL};
    size_t recorded = 0;

    (void)state;
    arena.limit_bytes = 512u << 20; /* of many requests */
    for (int i = 0; i < 8; i++) {
        apply_as(&w, &kind_config_map, arena_printf(&arena, "m%d", i), false,
                 many_keys(3000, 1, i % 2));
        if (*w.error)
            break;
        recorded++;
        assert_int_equal(managers_of(&w), recorded);
        assert_true(managed_take(&arena, &kind_config_map, w.object,
                                 json_at(w.object, "metadata", "managedFields")));
        assert_int_equal(json_len(managed_list(&arena, &kind_config_map, w.object)), recorded);
    }
    assert_true(recorded >= 4);
    assert_string_equal(w.error,
                        "RequestEntityTooLarge: metadata.managedFields would have more "
                        "than 4 MiB: apply fewer fields, or under fewer names of managers");
}

static void many_keys_in_another_order_are_the_same(void **state)
{
    struct world w = {.object = NULL};
    const char *before;

    (void)state;
    apply_as(&w, &kind_config_map, "m", false, many_keys(100, 1, false));
    before = as_json(w.object);
    apply_as(&w, &kind_config_map, "m", false, many_keys(100, 1, true));
    assert_string_equal(as_json(w.object), before);
    apply_as(&w, &kind_config_map, "n", false, many_keys(100, 2, true));
    assert_non_null(strstr(w.error, "Apply failed with 100 conflicts"));
    apply_as(&w, &kind_config_map, "n", true, many_keys(99, 2, true));
    assert_string_equal(w.error, "");
    assert_int_equal(managers_of(&w), 2); /* m has the last one */
    apply_as(&w, &kind_config_map, "n", false, many_keys(50, 2, true));
    assert_int_equal(json_len(json_get(w.object, "data")), 51);
    apply_as(&w, &kind_config_map, "m", false, "{metadata: {name: c}}");
    assert_object(&w, many_keys(50, 2, false));
}

static const char *many_variables(int count, bool reversed)
{
    struct buf text = BUF_INIT(1u << 20);
    const char *copy;

    buf_adds(&text,
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[");
    for (int i = 0; i < count; i++)
        buf_addf(&text, "%s{\"name\":\"V%d\",\"value\":\"x\"}", i ? "," : "",
                 reversed ? count - 1 - i : i);
    buf_adds(&text, "]}]}}");
    copy = arena_strdup(&arena, text.data);
    buf_release(&text);
    return copy;
}

static void many_elements_in_another_order_are_the_same(void **state)
{
    struct world w = {.object = NULL};

    (void)state;
    apply_as(&w, &kind_pod, "m", false, many_variables(100, false));
    apply_as(&w, &kind_pod, "n", false, many_variables(60, true));
    assert_string_equal(w.error, "");
    apply_as(&w, &kind_pod, "m", false, many_variables(40, true));
    assert_string_equal(w.error, "");
    assert_int_equal(json_len(json_at(json_first(json_at(w.object, "spec", "containers")), "env")),
                     60);
    apply_as(&w, &kind_pod, "n", false, "{metadata: {name: p}, spec: {containers: [{name: c}]}}");
    assert_int_equal(json_len(json_at(json_first(json_at(w.object, "spec", "containers")), "env")),
                     40);
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
                          "\"x\",\"b\":\"x\"}}'}}, data: {a: x, b: edited}}")};

    (void)state;
    track(&kind_config_map, "kubectl-client-side-apply", NULL, w.object);
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
        cmocka_unit_test_setup(a_list_is_stored_and_read_again, reset),
        cmocka_unit_test_setup(owners_survive_changes_by_the_server, reset),
        cmocka_unit_test_setup(lists_that_are_none_are_not_taken, reset),
        cmocka_unit_test_setup(a_new_object_is_its_makers, reset),
        cmocka_unit_test_setup(what_changes_changes_hands, reset),
        cmocka_unit_test_setup(of_many_writers_the_oldest_become_one, reset),
        cmocka_unit_test_setup(so_many_appliers_and_no_more, reset),
        cmocka_unit_test_setup(a_manager_is_recorded_or_refused, reset),
        cmocka_unit_test_setup(many_keys_in_another_order_are_the_same, reset),
        cmocka_unit_test_setup(many_elements_in_another_order_are_the_same, reset),
        cmocka_unit_test_setup(lists_of_installed_kinds_are_what_their_schema_says, reset),
        cmocka_unit_test_setup(an_object_from_before_has_an_owner_nobody_knows, reset),
        cmocka_unit_test_setup(kubectl_is_not_in_its_own_way, reset),
        cmocka_unit_test_setup(the_record_of_the_client_stays_true, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
