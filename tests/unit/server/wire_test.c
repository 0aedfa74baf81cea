/*
 * wire_test.c - codes, reasons and messages as clients know them: one row per case, each asked of a
 * server that holds one job, one pod and one config map.
 */
#include "fixture.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define APPLY "application/apply-patch+yaml"

#define JOB(meta)                                                                                  \
    "{\"metadata\":{" meta "},\"spec\":{\"replicaSpecs\":[{\"type\":\"worker\",\"template\":{"     \
    "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}]}}"

static const struct {
    const char *method, *path, *type, *accept, *body;
    int code;
    const char *reason, *message;
} cases[] = {
    {"POST", JOBS, JSON, NULL, JOB("\"name\":\"j\""), 409, "AlreadyExists",
     "pytorchtrainingjobs.batch.tensorstack.dev \"j\" already exists"},
    {"PUT", JOBS "/j", JSON, NULL, JOB("\"name\":\"j\",\"resourceVersion\":\"1\""), 409, "Conflict",
     "Operation cannot be fulfilled on pytorchtrainingjobs.batch.tensorstack.dev \"j\": the object "
     "has been modified; please apply your changes to the latest version and try again"},
    {"PATCH", JOBS "/j", MERGE, NULL, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, "Conflict",
     "the object has been modified"},
    {"PUT", JOBS "/j", JSON, NULL, JOB("\"name\":\"j\""), 422, "Invalid",
     "metadata.resourceVersion: Invalid value: 0: must be specified for an update"},
    {"PUT", JOBS "/no", JSON, NULL, JOB("\"name\":\"no\",\"resourceVersion\":\"1\""), 404,
     "NotFound", "pytorchtrainingjobs.batch.tensorstack.dev \"no\" not found"},
    {"PUT", JOBS "/j", JSON, NULL, JOB("\"name\":\"zz\""), 400, "BadRequest",
     "the name of the object (zz) does not match the name on the URL (j)"},
    {"POST", JOBS, JSON, NULL, JOB("\"name\":\"k\",\"namespace\":\"other\""), 400, "BadRequest",
     "the namespace of the provided object does not match the namespace sent on the request"},
    {"POST", "/api/v1/namespaces/nons/configmaps", JSON, NULL, "{\"metadata\":{\"name\":\"x\"}}",
     404, "NotFound", "namespaces \"nons\" not found"},
    {"POST", JOBS, JSON, NULL, JOB(""), 422, "Invalid",
     "metadata.name: Required value: name or generateName is required"},
    {"POST", JOBS, JSON, NULL, JOB("\"name\":\"A_b\""), 422, "Invalid",
     "metadata.name: Invalid value: \"A_b\""},
    {"POST", JOBS, JSON, NULL, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"k\"}}", 422, "Invalid",
     "kind: Invalid value: \"Pod\": must be PyTorchTrainingJob"},
    {"POST", JOBS, JSON, NULL, "{\"metadata\":", 400, "BadRequest", "JSON, line 1"},
    {"POST", JOBS, "text/plain", NULL, "{}", 415, "UnsupportedMediaType",
     "the body of the request was in an unknown format - accepted media types include: "
     "application/json, application/yaml, application/vnd.kubernetes.protobuf"},
    {"POST", JOBS, MERGE, NULL, JOB("\"name\":\"k\""), 415, "UnsupportedMediaType",
     "accepted media types include: application/json, application/yaml"},
    {"POST", JOBS, APPLY, NULL, JOB("\"name\":\"k\""), 415, "UnsupportedMediaType", ""},
    {"PUT", JOBS "/j", JSON_PATCH, NULL, "[]", 415, "UnsupportedMediaType", ""},
    {"PATCH", JOBS "/j", STRATEGIC, NULL, "{}", 415, "UnsupportedMediaType",
     "accepted media types include: application/json-patch+json, application/merge-patch+json, "
     "application/apply-patch+yaml"},
    {"PATCH", JOBS "/j", JSON_PATCH, NULL, "[{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"x\"}]",
     422, "Invalid", "test"},
    {"PATCH", JOBS "/j", APPLY, NULL, "{}", 422, "Invalid", "fieldManager: Required value"},
    {"GET", JOBS, NULL, "image/png", NULL, 406, "NotAcceptable", ""},
    {"GET", PODS "?fieldSelector=spec.x%3Dy", NULL, NULL, NULL, 400, "BadRequest",
     "field label not supported: spec.x"},
    {"GET", PODS "?labelSelector=a+in", NULL, NULL, NULL, 400, "BadRequest", ""},
    {"GET", PODS "?limit=x", NULL, NULL, NULL, 400, "BadRequest", "limit"},
    {"GET", PODS "?resourceVersion=x", NULL, NULL, NULL, 400, "BadRequest", "resourceVersion"},
    {"GET", PODS "?continue=x", NULL, NULL, NULL, 400, "BadRequest", "continue key is not valid"},
    {"DELETE", CONFIG_MAPS "/c", JSON, NULL, "{\"preconditions\":{\"uid\":\"u\"}}", 409, "Conflict",
     "Precondition failed: UID in precondition: u"},
    {"PATCH", CONFIG_MAPS "/held", MERGE, NULL,
     "{\"metadata\":{\"finalizers\":[\"a.b/c\",\"d.e/f\"]}}", 422, "Invalid",
     "no new finalizers can be added if the object is being deleted"},
    {"DELETE", "/api/v1/namespaces/default", NULL, NULL, NULL, 403, "Forbidden",
     "this namespace may not be deleted"},
    {"POST", CONFIG_MAPS "?dryRun=Some", JSON, NULL, "{}", 422, "Invalid", "dryRun"},
    {"POST", CONFIG_MAPS "?fieldValidation=Odd", JSON, NULL, "{}", 422, "Invalid",
     "fieldValidation"},
    {"PATCH", CONFIG_MAPS "/c?force=true", MERGE, NULL, "{}", 422, "Invalid", "force: Forbidden"},
    {"PUT", CONFIG_MAPS "/c", JSON, NULL, "{}", 400, "BadRequest", "name must be provided"},
    {"DELETE", CONFIG_MAPS "/c", JSON, NULL, "{\"kind\":\"Pod\"}", 400, "BadRequest",
     "DeleteOptions, not Pod"},
    {"POST", PODS "/p/eviction", JSON, NULL, "{\"metadata\":{\"name\":\"q\"}}", 400, "BadRequest",
     "name in URL does not match name in Eviction object"},
    {"GET", PODS "?watch=1&sendInitialEvents=true", NULL, NULL, NULL, 422, "Invalid",
     "sendInitialEvents requires setting resourceVersionMatch"},
    {"POST", CONFIG_MAPS "/c", JSON, NULL, "{}", 405, "MethodNotAllowed", ""},
    {"GET", "/api/v1/nothings", NULL, NULL, NULL, 404, "NotFound",
     "the server could not find the requested resource"},
    {"GET", "/apis/apps/v1/controllerrevisions", NULL, NULL, NULL, 404, "NotFound", ""},
    {"POST", PODS "/p/binding", JSON, NULL, "{\"target\":{}}", 422, "Invalid", "target.name"},
    {"PATCH", PODS "/p", MERGE, NULL, "{\"spec\":{\"containers\":[{\"name\":\"x\"}]}}", 422,
     "Invalid", "spec: Forbidden: pod updates may not change fields other than"},
    {"GET", PODS "/p/log?container=zz", NULL, NULL, NULL, 400, "BadRequest",
     "container zz is not valid for pod p"},
};

static void every_refusal_is_the_one_clients_know(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", JOBS, JOB("\"name\":\"j\""), 201);
    expect(f, "POST", PODS,
           "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}", 201);
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"c\"}}", 201);
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"a.b/c\"]}}",
           201);
    expect(f, "DELETE", CONFIG_MAPS "/held", NULL, 200);
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct answer a;

        ask_with(f, &a, cases[i].method, cases[i].path, cases[i].type, cases[i].accept,
                 cases[i].body);
        a = wait_for(f, &a);
        if (a.status != cases[i].code || strcmp(reason_of(a), cases[i].reason) != 0 ||
            !strstr(message_of(a), cases[i].message))
            fail_msg("%s %s: %d %s", cases[i].method, cases[i].path, a.status, a.body);
        assert_string_equal(json_get_string(a.object, "kind", ""), "Status");
        assert_int_equal(json_get_int(a.object, "code", 0), cases[i].code);
    }
}

static void details_name_what_it_is_about(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "GET", JOBS "/no", NULL, 404);

    assert_string_equal(json_string(json_at(a.object, "details", "kind"), ""),
                        "pytorchtrainingjobs");
    assert_string_equal(json_string(json_at(a.object, "details", "name"), ""), "no");
    assert_string_equal(json_string(json_at(a.object, "details", "group"), ""),
                        "batch.tensorstack.dev");
    a = expect(f, "POST", JOBS, JOB("\"name\":\"A_b\""), 422);
    assert_string_equal(json_string(json_at(a.object, "details", "kind"), ""),
                        "PyTorchTrainingJob");
    assert_string_equal(
        json_get_string(json_index(json_at(a.object, "details", "causes"), 0), "field", ""),
        "metadata.name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_refusal_is_the_one_clients_know, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(details_name_what_it_is_about, fixture_set_up,
                                        fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
