/* patch_strategic_test.c - lists merged by key, and the directives. */
#include "fixture.h"

#include "api/patch.h"
#include "api/schema.h"

static struct json *json_of(const char *text)
{
    auto_err err = ERR_INIT;
    struct json *v = yaml_parse(&arena, text, strlen(text), NULL, NULL, &err);

    if (!v)
        fail_msg("%s: %s", text, err.text);
    return json_first_mut(v);
}

static const char *patched_kind(const struct kind *k, const char *target, const char *patch)
{
    auto_err err = ERR_INIT;
    struct json *t = json_of(target), *p = json_of(patch);
    const char *target_before = as_json(t), *patch_before = as_json(p);
    struct json *result = patch_strategic(&arena, k, t, p, &err);

    assert_false(arena_failed(&arena));
    assert_json(t, target_before);
    assert_json(p, patch_before);
    if (result)
        return as_json(result);
    return arena_printf(&arena, "%s: %s", err_reason_name(err.reason), err.text);
}

/* Of the spec of a pod. */
static const char *patched(const char *target, const char *patch)
{
    const char *t = arena_printf(&arena, "{spec: %s}", target);
    const char *p = arena_printf(&arena, "{spec: %s}", patch);
    char *result = arena_strdup(&arena, patched_kind(&kind_pod, t, p));

    if (strncmp(result, "{\"spec\":", 8) != 0)
        return result;
    result[strlen(result) - 1] = '\0';
    return result + 8;
}

struct sample {
    const char *target, *patch, *result;
};

static void check(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(patched(samples[i].target, samples[i].patch),
                            as_json(json_of(samples[i].result)));
}

static void lists_with_a_key_are_merged(void **state)
{
    static const struct sample samples[] = {
        {"{containers: [{name: a, image: x, tty: true}, {name: b, image: y}]}",
         "{containers: [{name: b, image: z}]}",
         "{containers: [{name: a, image: x, tty: true}, {name: b, image: z}]}"},
        {"{containers: [{name: a, image: x}]}", "{containers: [{name: c, image: z}]}",
         "{containers: [{name: a, image: x}, {name: c, image: z}]}"},
        {"{containers: [{name: a, image: x}]}", "{containers: [{name: a, image: null}]}",
         "{containers: [{name: a}]}"},
        {"{containers: [{name: a, env: [{name: E, value: '1'}, {name: F, value: '2'}]}]}",
         "{containers: [{name: a, env: [{name: F, value: '3'}, {name: G, value: '4'}]}]}",
         "{containers: [{name: a, env: [{name: E, value: '1'}, {name: F, value: '3'}, "
         "{name: G, value: '4'}]}]}"},
        {"{containers: [{name: a, ports: [{containerPort: 80}]}]}",
         "{containers: [{name: a, ports: [{containerPort: 80, name: web}, {containerPort: 81}]}]}",
         "{containers: [{name: a, ports: [{containerPort: 80, name: web}, {containerPort: 81}]}]}"},
        {"{containers: [{name: a, volumeMounts: [{name: v, mountPath: /x}]}]}",
         "{containers: [{name: a, volumeMounts: [{name: w, mountPath: /x}]}]}",
         "{containers: [{name: a, volumeMounts: [{name: w, mountPath: /x}]}]}"},
        {"{}", "{containers: [{name: a}]}", "{containers: [{name: a}]}"},
        {"{volumes: [{name: v, emptyDir: {}}]}",
         "{volumes: [{name: v, emptyDir: {medium: Memory}}]}",
         "{volumes: [{name: v, emptyDir: {medium: Memory}}]}"},
        {"{initContainers: [{name: i, image: a}]}", "{initContainers: [{name: i, image: b}]}",
         "{initContainers: [{name: i, image: b}]}"},
    };

    (void)state;
    check(samples, ELEMS(samples));
}

static void lists_without_a_key_are_replaced(void **state)
{
    static const struct sample samples[] = {
        {"{tolerations: [{key: a}, {key: b}]}", "{tolerations: [{key: c}]}",
         "{tolerations: [{key: c}]}"},
        {"{containers: [{name: a, command: [x, y], args: [z]}]}",
         "{containers: [{name: a, command: [q]}]}",
         "{containers: [{name: a, command: [q], args: [z]}]}"},
        {"{affinity: {x: [1, 2], y: {z: 1}}}", "{affinity: {x: [3], y: {w: 2}}}",
         "{affinity: {x: [3], y: {z: 1, w: 2}}}"},
        {"{nodeSelector: {a: b}}", "{nodeSelector: {a: null, c: d}}", "{nodeSelector: {c: d}}"},
        {"{hostname: a, subdomain: b}", "{hostname: null, subdomain: c}", "{subdomain: c}"},
    };

    (void)state;
    check(samples, ELEMS(samples));
}

static void directives(void **state)
{
    static const struct sample samples[] = {
        /* $patch: delete of an element */
        {"{containers: [{name: a}, {name: b}, {name: c}]}",
         "{containers: [{name: b, $patch: delete}, {name: c, image: x}]}",
         "{containers: [{name: a}, {name: c, image: x}]}"},
        {"{containers: [{name: a}]}", "{containers: [{name: z, $patch: delete}]}",
         "{containers: [{name: a}]}"},
        /* $patch: replace in a list, in an object, merge, delete of an object */
        {"{containers: [{name: a}, {name: b}]}", "{containers: [{$patch: replace}, {name: c}]}",
         "{containers: [{name: c}]}"},
        {"{securityContext: {runAsUser: 1}}", "{securityContext: {$patch: replace, runAsGroup: 2}}",
         "{securityContext: {runAsGroup: 2}}"},
        {"{securityContext: {runAsUser: 1}}", "{securityContext: {$patch: delete}}",
         "{securityContext: {}}"},
        {"{securityContext: {runAsUser: 1}}", "{securityContext: {$patch: merge, runAsGroup: 2}}",
         "{securityContext: {runAsUser: 1, runAsGroup: 2}}"},
        {"{containers: [{name: a, image: x}]}",
         "{containers: [{name: a, $patch: merge, tty: true}]}",
         "{containers: [{name: a, image: x, tty: true}]}"},
        {"{}", "{containers: [{name: a, $patch: merge}]}", "{containers: [{name: a}]}"},
        /* $retainKeys: what a union held before goes */
        {"{volumes: [{name: v, emptyDir: {}}]}",
         "{volumes: [{name: v, $retainKeys: [name, hostPath], hostPath: {path: /x}}]}",
         "{volumes: [{name: v, hostPath: {path: /x}}]}"},
        {"{volumes: []}", "{volumes: [{name: v, $retainKeys: [name, emptyDir], emptyDir: {}}]}",
         "{volumes: [{name: v, emptyDir: {}}]}"},
        /* $setElementOrder, with and without changes */
        {"{containers: [{name: a}, {name: b}, {name: c}]}",
         "{$setElementOrder/containers: [{name: c}, {name: a}, {name: b}]}",
         "{containers: [{name: c}, {name: a}, {name: b}]}"},
        {"{containers: [{name: a}, {name: b}]}",
         "{$setElementOrder/containers: [{name: new}, {name: a}, {name: b}], "
         "containers: [{name: new, image: x}, {name: a, image: y}]}",
         "{containers: [{name: new, image: x}, {name: a, image: y}, {name: b}]}"},
        /* one only the server has stays where it is */
        {"{containers: [{name: a}, {name: injected}, {name: b}]}",
         "{$setElementOrder/containers: [{name: a}, {name: b}], containers: [{name: b, image: x}]}",
         "{containers: [{name: a}, {name: injected}, {name: b, image: x}]}"},
        {"{$odd: 1}", "{$odd: 2}", "{$odd: 2}"},
    };

    (void)state;
    check(samples, ELEMS(samples));
}

static void sets_of_plain_values(void **state)
{
    static const struct sample samples[] = {
        {"{metadata: {finalizers: [a/x, a/y]}}", "{metadata: {finalizers: [a/z, a/x]}}",
         "{\"metadata\":{\"finalizers\":[\"a/y\",\"a/z\",\"a/x\"]}}"},
        {"{metadata: {finalizers: [a/x, a/y]}}",
         "{metadata: {$deleteFromPrimitiveList/finalizers: [a/x]}}",
         "{\"metadata\":{\"finalizers\":[\"a/y\"]}}"},
        {"{metadata: {finalizers: [a/x, a/y]}}",
         "{metadata: {$deleteFromPrimitiveList/finalizers: [a/x], finalizers: [a/z], "
         "$setElementOrder/finalizers: [a/z, a/y]}}",
         "{\"metadata\":{\"finalizers\":[\"a/z\",\"a/y\"]}}"},
        {"{metadata: {}}", "{metadata: {$deleteFromPrimitiveList/finalizers: [a/x]}}",
         "{\"metadata\":{}}"},
        {"{metadata: {ownerReferences: [{uid: u1, name: owner}]}}",
         "{metadata: {ownerReferences: [{uid: u1, controller: true}, {uid: u2, $patch: delete}]}}",
         "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"u1\",\"name\":\"owner\","
         "\"controller\":true}]}}"},
        {"{status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}]}}",
         "{status: {conditions: [{type: B, status: 'False'}]}}",
         "{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"True\"},{\"type\":\"B\","
         "\"status\":\"False\"}]}}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(samples); i++)
        assert_string_equal(patched_kind(&kind_pod, samples[i].target, samples[i].patch),
                            samples[i].result);
    assert_string_equal(patched_kind(&kind_service,
                                     "{spec: {ports: [{port: 80, targetPort: 1}, {port: 81}]}}",
                                     "{spec: {ports: [{port: 80, targetPort: 2}]}}"),
                        "{\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":2},{\"port\":81}]}}");
}

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *patch, *says;
    } cases[] = {
        {"{containers: [{image: x}]}",
         "BadRequest: strategic merge patch, spec.containers[0]: the element has no name"},
        {"{containers: [a]}", "spec.containers[0]: the element must be an object"},
        {"{containers: [[]]}", "spec.containers[0]: the element must be an object"},
        {"{$patch: smash}", "spec.$patch: must be merge, replace or delete"},
        {"{$setElementOrder/containers: 5}", "spec.$setElementOrder/containers: must be a list"},
        {"{volumes: [{name: v, $retainKeys: [name], emptyDir: {}}]}",
         "spec.volumes[0].emptyDir: is set, but not named in $retainKeys"},
        {"{securityContext: {$retainKeys: 1}}", "$retainKeys: must be a list of names"},
        {"{$deleteFromPrimitiveList/x: 1}", "must be a list of values"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const char *got = patched("{containers: [{name: a}]}", cases[i].patch);

        if (!strstr(got, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", got, cases[i].says);
    }
    assert_string_equal(
        patched_kind(&kind_pod, "{}", "[1]"),
        "BadRequest: strategic merge patch, the object: the patch must be an object");
}

static void members_are_what_is_left_without_directives(void **state)
{
    (void)state;
    assert_json(patch_strategic_members(
                    &arena, json_of("{$patch: merge, a: {$retainKeys: [b], b: 1}, "
                                    "l: [{$patch: replace}, {m: 1, $patch: merge}], "
                                    "$setElementOrder/l: [], $deleteFromPrimitiveList/q: [1]}")),
                "{\"a\":{\"b\":1},\"l\":[{\"m\":1}]}");
}

/* Clients make their patches by what is published: it must be what we merge by. */
static void merge_keys_are_published(void **state)
{
    const struct json *v3 = schema_openapi_v3(&arena, kinds, "", "v1");
    const struct json *spec = json_at(v3, "components", "schemas", "io.k8s.api.core.v1.PodSpec",
                                      "properties");
    const struct json *meta = json_at(v3, "components", "schemas", SCHEMA_META_NAME, "properties");
    struct buf v2 = BUF_INIT(8u << 20);

    (void)state;
    assert_string_equal(
        json_string(json_at(spec, "containers", "x-kubernetes-patch-merge-key"), ""), "name");
    assert_string_equal(json_string(json_at(spec, "containers", "x-kubernetes-patch-strategy"), ""),
                        "merge");
    assert_string_equal(json_string(json_at(spec, "volumes", "x-kubernetes-patch-strategy"), ""),
                        "merge,retainKeys");
    assert_null(json_at(spec, "tolerations", "x-kubernetes-patch-strategy"));
    assert_string_equal(json_string(json_at(meta, "finalizers", "x-kubernetes-patch-strategy"), ""),
                        "merge");
    schema_openapi_v2_encode(schema_openapi_v2(&arena, kinds), &v2);
    assert_false(v2.failed);
    assert_non_null(memmem(v2.data, v2.len, "x-kubernetes-patch-merge-key",
                           strlen("x-kubernetes-patch-merge-key")));
    buf_release(&v2);
}

static void strange_patches_do_no_harm(void **state)
{
    static const char *const words[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        "{",
                                        "}",
                                        "\"spec\":",
                                        "\"containers\":",
                                        "\"name\":\"a\"",
                                        "\"$patch\":\"delete\"",
                                        "\"$patch\":\"replace\"",
                                        "\"$setElementOrder/containers\":",
                                        "\"$retainKeys\":[\"name\"]",
                                        "\"$deleteFromPrimitiveList/containers\":",
                                        "null",
                                        "1"};
    const struct json *target = json_of("{spec: {containers: [{name: a}, {name: b}, 5, {}]}}");
    unsigned seed = 20261115, run = 0;

    (void)state;
    for (int i = 0; i < 40000; i++) {
        struct buf text = BUF_INIT(4096);
        struct arena own = ARENA_INIT(1u << 20);
        auto_err err = ERR_INIT;
        struct json *patch;

        buf_adds(&text, "{\"spec\":{");
        for (int n = rand_r(&seed) % 12; n > 0; n--)
            buf_adds(&text, words[(size_t)rand_r(&seed) % ELEMS(words)]);
        buf_adds(&text, "}}");
        patch = json_parse(&own, text.data, text.len, NULL);
        if (patch) {
            run++;
            if (!patch_strategic(&own, &kind_pod, target, patch, &err))
                assert_true(err_is_set(&err));
        }
        buf_release(&text);
        arena_release(&own);
    }
    assert_true(run > 50);
}

static void too_little_memory_gives_nothing(void **state)
{
    const struct json *target = json_of("{spec: {containers: [{name: a}]}}");
    const struct json *patch = json_of("{spec: {containers: [{name: a, image: x}, {name: b}]}}");

    (void)state;
    for (size_t limit = 0; limit < 8192; limit += 64) {
        struct arena small = ARENA_INIT(limit);
        auto_err err = ERR_INIT;

        if (!patch_strategic(&small, &kind_pod, target, patch, &err))
            assert_true(arena_failed(&small) || err_is_set(&err));
        arena_release(&small);
    }
}

/* {"data":{PREFIXkey-0:VALUE, ...}}, of a size with which quadratic work does not end in time. */
static struct json *many_members(const char *prefix, const char *value, int from, int to)
{
    struct buf text = BUF_INIT(16u << 20);
    struct json *v;

    buf_adds(&text, "{\"data\":{");
    for (int i = from; i < to; i++)
        buf_addf(&text, "%s\"%skey-%06d\":%s", i > from ? "," : "", prefix, i, value);
    buf_adds(&text, "}}");
    v = json_parse(&arena, text.data, text.len, NULL);
    buf_release(&text);
    assert_non_null(v);
    return v;
}

static void many_members_take_linear_time(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target, *nulls, *result, *data, *half;

    (void)state;
    arena.limit_bytes = 512u << 20; /* of many requests */
    target = many_members("", "\"\"", 0, 400000);
    nulls = many_members("", "null", 0, 400000);
    result = patch_strategic(&arena, &kind_config_map, target, nulls, &err);
    assert_int_equal(json_len(json_get(result, "data")), 0);
    assert_int_equal(json_len(json_get(patch_strategic_members(&arena, nulls), "data")), 400000);
    result = patch_strategic(&arena, &kind_config_map, target,
                             many_members("$deleteFromPrimitiveList/", "[]", 0, 100000), &err);
    assert_int_equal(json_len(json_get(result, "data")), 400000);

    /* nulls behind others, as a client may also create them */
    half = many_members("", "null", 200000, 400000);
    result = patch_merge(&arena, many_members("", "\"\"", 0, 200000), json_new_object(&arena));
    data = json_get_mut(result, "data");
    while (json_first(json_get(half, "data"))) {
        struct json *all = json_get_mut(half, "data"), *m = all->u.list.first;

        all->u.list.first = m->next;
        json_append(data, m);
    }
    assert_int_equal(
        object_decode(&arena, &kind_config_map, result, FIELD_VALIDATION_STRICT, NULL, NULL, &err),
        0);
    assert_int_equal(json_len(json_get(result, "data")), 200000);
}

static void retained_keys_of_many_members(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target, *patch, *keys, *result;

    (void)state;
    arena.limit_bytes = 512u << 20;
    target = many_members("", "\"\"", 0, 400000);
    patch = many_members("", "\"\"", 0, 0);
    keys = json_make_array(&arena, json_get_mut(patch, "data"), "$retainKeys");
    for (int i = 0; i < 200000; i++)
        json_append(keys, json_new_stringf(&arena, "key-%06d", 2 * i));
    result = patch_strategic(&arena, &kind_config_map, target, patch, &err);
    assert_int_equal(json_len(json_get(result, "data")), 200000);
}

/* Members dropped in the order of the object, then others in another: the table is built late. */
static void members_are_found_after_many_were_dropped(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target, *patch, *data, *result;

    (void)state;
    arena.limit_bytes = 512u << 20;
    target = many_members("", "\"\"", 0, 400000);
    patch = many_members("", "null", 0, 200000);
    data = json_get_mut(patch, "data");
    for (int i = 399999; i >= 399000; i--) {
        struct json *m = json_new_null(&arena);

        m->key = arena_printf(&arena, "key-%06d", i);
        m->key_len = (uint32_t)strlen(m->key);
        json_append(data, m);
    }
    result = patch_strategic(&arena, &kind_config_map, target, patch, &err);
    assert_int_equal(json_len(json_get(result, "data")), 199000);
}

static void merging_many_lists_is_bounded(void **state)
{
    auto_err err = ERR_INIT;
    struct json *pod = json_new_object(&arena), *containers;

    (void)state;
    containers = json_make_array(&arena, json_make_object(&arena, pod, "spec"), "containers");
    for (int i = 0; i < 4; i++) {
        struct json *c = json_append(containers, json_new_object(&arena));
        struct json *ports = json_make_array(&arena, c, "ports");

        json_set_stringf(&arena, c, "name", "c%d", i);
        for (int port = 1; port <= 7000; port++)
            json_set_int(&arena, json_append(ports, json_new_object(&arena)), "containerPort",
                         port);
    }
    assert_null(patch_strategic(&arena, &kind_pod, json_of("{}"), pod, &err));
    assert_string_equal(err.text, "strategic merge patch, spec.containers[2].ports: the list is "
                                  "too long to be merged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lists_with_a_key_are_merged, reset),
        cmocka_unit_test_setup(lists_without_a_key_are_replaced, reset),
        cmocka_unit_test_setup(directives, reset),
        cmocka_unit_test_setup(sets_of_plain_values, reset),
        cmocka_unit_test_setup(mistakes_are_told, reset),
        cmocka_unit_test_setup(members_are_what_is_left_without_directives, reset),
        cmocka_unit_test_setup(merge_keys_are_published, reset),
        cmocka_unit_test_setup(strange_patches_do_no_harm, reset),
        cmocka_unit_test_setup(too_little_memory_gives_nothing, reset),
        cmocka_unit_test_setup(many_members_take_linear_time, reset),
        cmocka_unit_test_setup(retained_keys_of_many_members, reset),
        cmocka_unit_test_setup(members_are_found_after_many_were_dropped, reset),
        cmocka_unit_test_setup(merging_many_lists_is_bounded, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
