/* writes_test.c - patches, server-side apply, protobuf bodies and reviews, through the server. */
#include "fixture.h"

#include <inttypes.h>

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define JSON "application/json"
#define JSON_PATCH "application/json-patch+json"
#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"
#define APPLY_PATCH "application/apply-patch+yaml"
#define PROTOBUF "application/vnd.kubernetes.protobuf"

static struct answer send_as(struct fixture *f, const char *method, const char *path,
                             const char *type, const char *body, int code)
{
    struct answer a;

    ask_with(f, &a, method, path, type, JSON, body);
    a = wait_for(f, &a);
    if (a.status != code)
        fail_msg("%s %s: %d %s", method, path, a.status, a.body);
    return a;
}

static const char *version_of(struct answer a)
{
    return object_resource_version(a.object);
}

static void make_config_map(struct fixture *f)
{
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"x\"}}", 201);
}

static void make_pod(struct fixture *f)
{
    expect(f, "POST", PODS,
           "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
           "\"i:1\"},{\"name\":\"b\",\"image\":\"j:1\"}]}}",
           201);
}

static const char *image_of(struct answer a, size_t i)
{
    return json_get_string(json_index(json_at(a.object, "spec", "containers"), i), "image", "");
}

static void json_patches(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_config_map(f);
    a = send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH,
                "[{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"y\"},"
                "{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"x\"}]",
                200);
    assert_string_equal(json_string(json_at(a.object, "data", "b"), ""), "y");
    a = send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH,
                "[{\"op\":\"remove\",\"path\":\"/data/a\"},"
                "{\"op\":\"test\",\"path\":\"/data/b\",\"value\":\"x\"}]",
                422);
    assert_says(a, "Invalid", "JSON patch operation 1 (test \"/data/b\"): the test failed");
    a = expect(f, "GET", CONFIG_MAPS "/c", NULL, 200);
    assert_string_equal(json_string(json_at(a.object, "data", "a"), ""), "x");
    send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH, "{\"data\":null}", 400);
    send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH, "[{\"op\":", 400);
    /* the result is an object like any other */
    send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH,
            "[{\"op\":\"replace\",\"path\":\"\",\"value\":5}]", 400);
    send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH,
            "[{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":5}]", 422);
    send_as(f, "PATCH", CONFIG_MAPS "/c", JSON_PATCH,
            "[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"d\"}]", 400);
    a = send_as(f, "PATCH", CONFIG_MAPS "/c?fieldValidation=Strict", JSON_PATCH,
                "[{\"op\":\"add\",\"path\":\"/bogus\",\"value\":1}]", 400);
    assert_says(a, "BadRequest", "unknown field \"bogus\"");
}

static void strategic_patches(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_pod(f);
    a = send_as(f, "PATCH", PODS "/p?fieldValidation=Strict", STRATEGIC_PATCH,
                "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
                "\"containers\":[{\"name\":\"b\",\"image\":\"j:2\"}]}}",
                200);
    assert_string_equal(image_of(a, 0), "i:1");
    assert_string_equal(image_of(a, 1), "j:2");
    a = send_as(f, "PATCH", PODS "/p?fieldValidation=Strict", STRATEGIC_PATCH, "{\"bogus\":{}}",
                400);
    assert_says(a, "BadRequest", "unknown field \"bogus\"");
    a = send_as(f, "PATCH", PODS "/p", STRATEGIC_PATCH, "{\"spec\":{\"containers\":[{}]}}", 400);
    assert_says(a, "BadRequest", "spec.containers[0]: the element has no name");
}

static void patches_that_change_nothing(void **state)
{
    static const struct {
        const char *type, *body;
    } cases[] = {
        {JSON_PATCH, "[]"},
        {JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":\"x\"}]"},
        {MERGE_PATCH, "{\"data\":{\"a\":\"x\"}}"},
        {STRATEGIC_PATCH, "{\"data\":{\"a\":\"x\",\"gone\":null}}"},
    };
    struct fixture *f = *state;
    const char *version;

    make_config_map(f);
    version = version_of(expect(f, "GET", CONFIG_MAPS "/c", NULL, 200));
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_string_equal(
            version_of(send_as(f, "PATCH", CONFIG_MAPS "/c", cases[i].type, cases[i].body, 200)),
            version);
}

#define A_MAP "apiVersion: v1\nkind: ConfigMap\n"
#define A_SERVICE "apiVersion: v1\nkind: Service\n"
#define APPLY CONFIG_MAPS "/applied?fieldManager=one"

static void apply_creates_and_changes(void **state)
{
    struct fixture *f = *state;
    const char *version;
    struct answer a;

    a = send_as(f, "PATCH", APPLY "&dryRun=All", APPLY_PATCH, A_MAP "data: {a: x}", 201);
    expect(f, "GET", CONFIG_MAPS "/applied", NULL, 404);
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH,
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {a: x, b: z}\n",
                201);
    assert_string_equal(object_name(a.object), "applied");
    assert_string_equal(object_namespace(a.object), "default");
    version = version_of(a);
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {a: x, b: z}", 200);
    assert_string_equal(version_of(a), version);
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {a: q}", 200);
    assert_string_not_equal(version_of(a), version);
    assert_null(json_at(a.object, "data", "b"));
    assert_int_equal(json_len(json_at(a.object, "metadata", "managedFields")), 1);
    /* other writes keep who set what */
    a = send_as(f, "PATCH", CONFIG_MAPS "/applied", MERGE_PATCH,
                "{\"metadata\":{\"managedFields\":null}}", 200);
    assert_int_equal(json_len(json_at(a.object, "metadata", "managedFields")), 1);
}

static void apply_conflicts(void **state)
{
    struct fixture *f = *state;
    const struct json *cause;
    struct answer a;

    send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {a: x}", 201);
    a = send_as(f, "PATCH", CONFIG_MAPS "/applied?fieldManager=two", APPLY_PATCH,
                A_MAP "data: {a: q}", 409);
    assert_says(a, "Conflict", "Apply failed with 1 conflict: conflict with \"one\": .data.a");
    cause = json_first(json_at(a.object, "details", "causes"));
    assert_string_equal(json_get_string(cause, "reason", ""), "FieldManagerConflict");
    assert_string_equal(json_get_string(cause, "field", ""), ".data.a");
    assert_string_equal(json_get_string(cause, "message", ""), "conflict with \"one\"");
    a = send_as(f, "PATCH", CONFIG_MAPS "/applied?fieldManager=two&force=true", APPLY_PATCH,
                A_MAP "data: {a: q}", 200);
    assert_string_equal(json_string(json_at(a.object, "data", "a"), ""), "q");
    assert_int_equal(json_len(json_at(a.object, "metadata", "managedFields")), 1);
}

static void an_update_takes_fields_over(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {a: x, b: z}", 201);
    a = send_as(f, "PATCH", CONFIG_MAPS "/applied?fieldManager=editor", MERGE_PATCH,
                "{\"data\":{\"a\":\"edited\"}}", 200);
    assert_int_equal(json_len(json_at(a.object, "metadata", "managedFields")), 2);
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {a: x, b: z}", 409);
    assert_says(a, "Conflict", "conflict with \"editor\" using v1: .data.a");
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "data: {b: z}",
                200); /* a is not one's any more */
    assert_string_equal(json_string(json_at(a.object, "data", "a"), ""), "edited");
    a = send_as(f, "PATCH", APPLY "&force=true", APPLY_PATCH, A_MAP "data: {a: x, b: z}", 200);
    assert_string_equal(json_string(json_at(a.object, "data", "a"), ""), "x");
    assert_int_equal(json_len(json_at(a.object, "metadata", "managedFields")), 1);
}

static struct answer see(struct fixture *f, const char *path)
{
    return send_as(f, "GET", path, NULL, NULL, 200);
}

static const char *managers_of(struct answer a)
{
    struct buf text = BUF_INIT(1 << 16);
    char *copy;

    json_each (e, json_at(a.object, "metadata", "managedFields"))
        buf_addf(&text, "%s%s %s %s", text.len ? ", " : "", json_get_string(e, "manager", ""),
                 json_get_string(e, "operation", ""), json_get_string(e, "subresource", ""));
    copy = arena_strdup(&a.fixture->arena, text.data ? text.data : "");
    buf_release(&text);
    return copy;
}

static void every_write_is_tracked_from_the_first(void **state)
{
    struct fixture *f = *state;
    struct answer a = send_as(f, "POST", CONFIG_MAPS "?fieldManager=maker", JSON,
                              "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"x\"}}", 201);

    assert_string_equal(managers_of(a), "maker Update ");
    assert_string_equal(managers_of(see(f, CONFIG_MAPS "/m")), "maker Update ");
    a = send_as(f, "PATCH", CONFIG_MAPS "/m?fieldManager=other", MERGE_PATCH,
                "{\"data\":{\"b\":\"y\"}}", 200);
    assert_string_equal(managers_of(a), "maker Update , other Update ");
    a = see(f, CONFIG_MAPS);
    a.object = (struct json *)json_first(json_get(a.object, "items"));
    assert_string_equal(managers_of(a), "maker Update , other Update ");
    /* as kubectl apply --server-side finds an object that others made */
    a = send_as(f, "PATCH", CONFIG_MAPS "/m?fieldManager=kubectl", APPLY_PATCH,
                "apiVersion: v1\nkind: ConfigMap\ndata: {a: q}", 409);
    assert_says(a, "Conflict",
                "Apply failed with 1 conflict: conflict with \"maker\" using v1: .data.a");
    /* a part of this program is not bothered */
    a = expect(f, "GET", CONFIG_MAPS "/m", NULL, 200);
    assert_null(json_at(a.object, "metadata", "managedFields"));
    assert_null(json_get(a.object, "~managed"));
    assert_string_equal(json_string(json_at(a.object, "data", "b"), ""), "y");
    /* and after a restart */
    fixture_close(f);
    fixture_open(f);
    assert_string_equal(managers_of(see(f, CONFIG_MAPS "/m")), "maker Update , other Update ");
}

static void a_status_has_managers_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_pod(f);
    a = send_as(f, "PATCH", PODS "/p/status?fieldManager=kubelet", MERGE_PATCH,
                "{\"status\":{\"phase\":\"Running\"}}", 200);
    assert_string_equal(managers_of(a), "muster Update , kubelet Update status");
}

static void clients_may_move_ownership(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_config_map(f);
    /* what kubectl does to go from one way of applying to the other */
    a = send_as(f, "PATCH", CONFIG_MAPS "/c?fieldManager=kubectl", JSON_PATCH,
                "[{\"op\":\"test\",\"path\":\"/metadata/managedFields/0/manager\",\"value\":"
                "\"muster\"},{\"op\":\"replace\",\"path\":\"/metadata/managedFields\",\"value\":"
                "[{\"manager\":\"kubectl\",\"operation\":\"Apply\",\"apiVersion\":\"v1\","
                "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:a\":{}}}}]}]",
                200);
    assert_string_equal(managers_of(a), "kubectl Apply ");
    a = send_as(f, "PATCH", CONFIG_MAPS "/c?fieldManager=kubectl", APPLY_PATCH,
                "apiVersion: v1\nkind: ConfigMap\ndata: {b: q}", 200);
    assert_null(json_at(a.object, "data", "a"));
    /* nonsense is not looked at, an empty list forgets */
    a = send_as(f, "PATCH", CONFIG_MAPS "/c", MERGE_PATCH,
                "{\"metadata\":{\"managedFields\":[{\"manager\":\"x\"}]}}", 200);
    assert_string_equal(managers_of(a), "kubectl Apply ");
    a = send_as(f, "PATCH", CONFIG_MAPS "/c", MERGE_PATCH, "{\"metadata\":{\"managedFields\":[]}}",
                200);
    assert_string_equal(managers_of(a), "");
}

static void a_list_stored_by_an_older_version_is_read(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    char text[512];
    int len = snprintf(
        text, sizeof(text),
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"old\","
        "\"namespace\":\"default\",\"uid\":\"u\",\"resourceVersion\":\"%" PRId64
        "\",\"managedFields\":[{\"manager\":\"kubectl\",\"operation\":\"Apply\","
        "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{"
        "\"f:a\":{}}}}]},\"data\":{\"a\":\"x\",\"b\":\"y\"}}",
        store_next_revision(f->store));
    struct blob *b = blob_new(text, (size_t)len);

    assert_int_equal(
        store_put(store_collection(f->store, "/configmaps"), "default/old", b, NULL, NULL), 0);
    blob_unref(b);
    a = send_as(f, "PATCH", CONFIG_MAPS "/old?fieldManager=other", MERGE_PATCH,
                "{\"data\":{\"b\":\"z\"}}", 200);
    assert_string_equal(managers_of(a), "kubectl Apply , other Update ");
    a = send_as(f, "PATCH", CONFIG_MAPS "/old?fieldManager=kubectl", APPLY_PATCH,
                "apiVersion: v1\nkind: ConfigMap\ndata: {}", 200);
    assert_null(json_at(a.object, "data", "a"));
}

/* The stored form cannot be written from outside. */
static void the_form_they_are_kept_in_cannot_be_forged(void **state)
{
    struct fixture *f = *state;
    struct answer a = send_as(f, "POST", CONFIG_MAPS "?fieldManager=m", JSON,
                              "{\"metadata\":{\"name\":\"m\",\"annotations\":{"
                              "\"x\":\",\\\"~managed\\\":[1,x]}\"}},\"data\":{\"a\":\"x\"},"
                              "\"~managed\":[1,\"forged;A;;0z\"]}",
                              201);

    assert_string_equal(managers_of(a), "m Update ");
    a = see(f, CONFIG_MAPS "/m");
    assert_string_equal(managers_of(a), "m Update ");
    assert_string_equal(object_annotation(a.object, "x"), ",\"~managed\":[1,x]}");
    assert_null(json_get(a.object, "~managed"));
}

static void two_ports_of_one_number_are_told_apart(void **state)
{
    static const char ports[] = A_SERVICE
        "metadata: {name: s}\nspec: {ports: [{name: t, port: 53}, {name: "
        "u, port: 53, protocol: UDP}]}";
    struct fixture *f = *state;
    const char *path = "/api/v1/namespaces/default/services/s?fieldManager=one";
    struct answer a = send_as(f, "PATCH", path, APPLY_PATCH, ports, 201);

    assert_int_equal(json_len(json_at(a.object, "spec", "ports")), 2);
    a = send_as(f, "PATCH", path, APPLY_PATCH, ports, 200);
    assert_int_equal(json_len(json_at(a.object, "spec", "ports")), 2);
    a = send_as(f, "PATCH", path, APPLY_PATCH,
                A_SERVICE "spec: {ports: [{name: u, port: 53, protocol: UDP}]}", 200);
    assert_int_equal(json_len(json_at(a.object, "spec", "ports")), 1);
}

static void apply_refuses(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    a = send_as(f, "PATCH", CONFIG_MAPS "/applied", APPLY_PATCH, "data: {}", 422);
    assert_says(a, "Invalid", "fieldManager: Required value");
    send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "metadata: {name: other}", 400);
    send_as(f, "PATCH", APPLY, APPLY_PATCH, "metadata: {managedFields: [{manager: x}]}", 400);
    send_as(f, "PATCH", APPLY, APPLY_PATCH, "apiVersion: v1\nkind: Secret", 400);
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, "data: {}", 400);
    assert_says(a, "BadRequest", "invalid object type: /, Kind=");
    a = send_as(f, "PATCH", APPLY, APPLY_PATCH, A_MAP "metadata: {uid: x}", 409);
    assert_says(a, "Conflict", "uid mismatch: the provided object specified uid x");
    send_as(f, "PATCH", APPLY, APPLY_PATCH, "[a", 400);
    send_as(f, "PATCH", APPLY, APPLY_PATCH, "- a", 400);
    send_as(f, "PATCH", APPLY "&fieldValidation=Strict", APPLY_PATCH, A_MAP "bogus: 1", 400);
    a = send_as(f, "PATCH", "/api/v1/namespaces/nowhere/configmaps/c?fieldManager=m", APPLY_PATCH,
                A_MAP "data: {}", 404);
    assert_says(a, "NotFound", "namespaces \"nowhere\" not found");
    send_as(f, "PATCH", PODS "/none/status?fieldManager=m", APPLY_PATCH,
            "apiVersion: v1\nkind: Pod\nstatus: {}", 404);
}

static void send_bytes(struct fixture *f, struct answer *a, const char *path, const char *body,
                       size_t len)
{
    struct api_call call = {
        .method = "POST", .path = path, .content_type = PROTOBUF, .body = body, .body_len = len};

    *a = (struct answer){.fixture = f};
    transport_call(f->transport, &call, answer_came, a);
    *a = wait_for(f, a);
}

#define BYTES(text) text, sizeof(text) - 1

static void protobuf_bodies(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    /* TypeMeta{v1, ConfigMap}, raw{metadata{name: pb}, data{k: v}} */
    send_bytes(f, &a, CONFIG_MAPS,
               BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                     "ConfigMap\x12\x10\x0a\x04\x0a\x02pb\x12\x08\x0a\x01k\x12\x03val"));
    assert_int_equal(a.status, 201);
    assert_string_equal(json_string(json_at(a.object, "data", "k"), ""), "val");
    assert_string_equal(object_name(a.object), "pb");
    send_bytes(f, &a, CONFIG_MAPS, BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09ReplicaSe\x12\x00"));
    assert_int_equal(a.status, 400);
    /* Our own kinds have no protobuf. */
    send_bytes(f, &a, "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs",
               BYTES("k8s\0"));
    assert_says(a, "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml");
    send_bytes(f, &a, CONFIG_MAPS, BYTES("k8s\0\xff\xff"));
    assert_int_equal(a.status, 400);
    send_bytes(f, &a, CONFIG_MAPS, BYTES(""));
    assert_int_equal(a.status, 400);
    /* of another kind than the path's */
    send_bytes(f, &a, PODS,
               BYTES("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                     "ConfigMap\x12\x00"));
    assert_int_equal(a.status, 400);
}

#define ACCESS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

static void reviews(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    a = expect(f, "POST", ACCESS,
               "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}", 201);
    assert_true(json_bool(json_at(a.object, "status", "allowed"), false));
    assert_string_equal(json_string(json_at(a.object, "spec", "resourceAttributes", "verb"), ""),
                        "get");
    assert_string_equal(json_get_string(a.object, "kind", ""), "SelfSubjectAccessReview");
    expect(f, "POST", ACCESS, "{\"spec\":{}}", 422);
    expect(f, "POST", ACCESS, "{\"kind\":\"Pod\"}", 400);
    expect(f, "POST", ACCESS, "[]", 400);
    expect(f, "GET", ACCESS, NULL, 405);
    expect(f, "GET", ACCESS "/x", NULL, 404);
    a = expect(f, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
               "{\"spec\":{\"namespace\":\"default\"}}", 201);
    assert_int_equal(json_len(json_at(a.object, "status", "resourceRules")), 1);
    a = expect(f, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", 201);
    assert_string_equal(json_string(json_at(a.object, "status", "userInfo", "username"), ""),
                        "muster:admin");
    a = expect(f, "GET", "/apis/authorization.k8s.io/v1", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "resources")), 3);
    json_each (r, json_get(a.object, "resources"))
        assert_true(json_string_is(json_first(json_get(r, "verbs")), "create") &&
                    json_len(json_get(r, "verbs")) == 1);
}

/* It is copied for checking, but not within the memory of the request. */
static void a_json_patch_needs_no_more_memory_than_a_merge_patch(void **state)
{
    struct fixture *f = *state;
    struct buf text = BUF_INIT(8u << 20);
    struct answer a;

    buf_adds(&text, "{\"metadata\":{\"name\":\"large\"},\"data\":{");
    for (int i = 0; i < 200000; i++)
        buf_addf(&text, "%s\"%06d\":\"\"", i ? "," : "", i);
    buf_adds(&text, "}}");
    send_as(f, "POST", CONFIG_MAPS, JSON, text.data, 201);
    send_as(f, "PATCH", CONFIG_MAPS "/large", MERGE_PATCH, "{\"data\":{\"199999\":\"a\"}}", 200);
    a = send_as(f, "PATCH", CONFIG_MAPS "/large", JSON_PATCH,
                "[{\"op\":\"replace\",\"path\":\"/data/199999\",\"value\":\"b\"}]", 200);
    assert_string_equal(json_string(json_at(a.object, "data", "199999"), ""), "b");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(json_patches, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(strategic_patches, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(patches_that_change_nothing, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(apply_creates_and_changes, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(apply_conflicts, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_update_takes_fields_over, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(every_write_is_tracked_from_the_first, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_status_has_managers_of_its_own, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(clients_may_move_ownership, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_form_they_are_kept_in_cannot_be_forged, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_list_stored_by_an_older_version_is_read, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(two_ports_of_one_number_are_told_apart, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(apply_refuses, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(protobuf_bodies, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(reviews, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_json_patch_needs_no_more_memory_than_a_merge_patch,
                                        fixture_set_up, fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
