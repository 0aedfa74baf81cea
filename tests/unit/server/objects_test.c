/* objects_test.c - create, get, list, update, patch, delete: what is stored and what is refused. */
#include "fixture.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"

#define CONFIG_MAP(name, value)                                                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"labels\":{\"app\":\"" value "\"}},\"data\":{\"k\":\"" value "\"}}"
#define POD(name)                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define JOB(name)                                                                                  \
    "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\","           \
    "\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"replicaSpecs\":[{\"type\":\"worker\","       \
    "\"replicas\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":"      \
    "\"i\",\"command\":[\"true\"]}]}}}]}}"

static void creates_and_reads_back(void **state)
{
    struct fixture *f = *state;
    struct answer made = expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    struct answer got = expect(f, "GET", CONFIG_MAPS "/a", NULL, 200);

    assert_string_equal(made.body, got.body); /* the very bytes */
    assert_int_equal(strlen(object_uid(got.object)), 36);
    assert_string_equal(object_namespace(got.object), "default");
    assert_string_equal(json_string(json_at(got.object, "metadata", "creationTimestamp"), ""),
                        "2025-11-15T08:00:00Z");
    assert_true(atoll(object_resource_version(got.object)) > 0);
    assert_says(expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 409), "AlreadyExists",
                "configmaps \"a\" already exists");
    assert_says(expect(f, "GET", CONFIG_MAPS "/b", NULL, 404), "NotFound",
                "configmaps \"b\" not found");
}

static void drops_what_only_the_server_says(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(
        f, "POST", JOBS "?dryRun=All",
        "{\"metadata\":{\"name\":\"j\",\"uid\":\"mine\",\"generation\":7,\"selfLink\":\"x\","
        "\"managedFields\":[{}],\"deletionTimestamp\":null,\"creationTimestamp\":null},"
        "\"spec\":{\"replicaSpecs\":[{\"type\":\"worker\",\"replicas\":1,\"template\":{\"spec\":"
        "{\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\"}]}}}]},"
        "\"status\":{\"phase\":\"Succeeded\"}}",
        201);
    const struct json *meta = json_get(a.object, "metadata");

    assert_int_equal(strlen(object_uid(a.object)), 36);
    assert_int_equal(json_get_int(meta, "generation", 0), 1);
    assert_null(json_get(meta, "selfLink"));
    assert_null(json_get(meta, "managedFields"));
    assert_string_not_equal(json_string(json_at(a.object, "status", "phase"), ""), "Succeeded");
    expect(f, "GET", JOBS "/j", NULL, 404); /* a dry run */
}

static void makes_names(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}",
                             201);

    assert_int_equal(strlen(object_name(a.object)), 7);
    assert_int_equal(strncmp(object_name(a.object), "g-", 2), 0);
}

static void refuses_bad_creations(void **state)
{
    static const struct {
        const char *path, *body;
        int code;
        const char *reason, *says;
    } cases[] = {
        {CONFIG_MAPS, "{", 400, "BadRequest", "line 1"},
        {CONFIG_MAPS, "{\"metadata\":{}}", 422, "Invalid", "name or generateName is required"},
        {CONFIG_MAPS, "{\"metadata\":{\"name\":\"B_\"}}", 422, "Invalid", "metadata.name"},
        {CONFIG_MAPS, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"other\"}}", 400, "BadRequest",
         "the namespace of the provided object does not match"},
        {CONFIG_MAPS, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"5\"}}", 400,
         "BadRequest", "resourceVersion should not be set"},
        {CONFIG_MAPS "?fieldValidation=Strict", "{\"metadata\":{\"name\":\"x\"},\"bogus\":1}", 400,
         "BadRequest", "unknown field \"bogus\""},
        {CONFIG_MAPS "?dryRun=Some", "{\"metadata\":{\"name\":\"x\"}}", 422, "Invalid", "dryRun"},
        {CONFIG_MAPS,
         "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"1\"},\"binaryData\":{\"a\":\"AA==\"}}",
         422, "Invalid", "data[a]: Invalid value: \"1\": duplicate of key present in binaryData"},
        {CONFIG_MAPS "?fieldManager=%01", "{\"metadata\":{\"name\":\"x\"}}", 422, "Invalid",
         "fieldManager"},
        {CONFIG_MAPS, "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}", 400, "BadRequest",
         "cannot be handled as a ConfigMap"},
        {CONFIG_MAPS, "{\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"x\"}}", 400, "BadRequest",
         "does not match the expected API version (v1)"},
        {CONFIG_MAPS "?fieldValidation=Strict",
         "{\"metadata\":{\"name\":\"x\"},\"data\":{},\"data\":{}}", 400, "BadRequest",
         "strict decoding error: line 1: duplicate key \"data\""},
        {"/api/v1/namespaces/nons/configmaps", "{\"metadata\":{\"name\":\"x\"}}", 404, "NotFound",
         "namespaces \"nons\" not found"},
        {"/api/v1/configmaps", "{\"metadata\":{\"name\":\"x\"}}", 405, "MethodNotAllowed",
         "does not allow this method"},
        {"/api/v1/namespaces/default/nothings", "{}", 404, "NotFound", "could not find"},
        {"/api/v1/namespaces/default/nodes", "{}", 404, "NotFound", "could not find"},
        {"/api/v1/namespaces/default/configmaps%2Fx", "{}", 404, "NotFound", "could not find"},
    };
    struct fixture *f = *state;
    int64_t before = store_revision(f->store);

    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_says(expect(f, "POST", cases[i].path, cases[i].body, cases[i].code), cases[i].reason,
                    cases[i].says);
    assert_int_equal(store_revision(f->store), before);
    assert_string_equal(json_string(json_at(expect(f, "POST", "/api/v1/namespaces/nons/configmaps",
                                                   "{\"metadata\":{\"name\":\"x\"}}", 404)
                                                .object,
                                            "details", "kind"),
                                    ""),
                        "namespaces");
}

static void refuses_names_with_slashes(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    expect(f, "GET", "/api/v1/namespaces/x%2F..%2Fdefault/configmaps/a", NULL, 404);
    expect(f, "GET", "/api/v1/namespaces/default/configmaps/..%2Fa", NULL, 404);
    expect(f, "GET", "/api/v1/namespaces/default/configmaps/a%00", NULL, 404);
    expect(f, "GET", "/api/v1/namespaces/default/configmaps/%61", NULL, 200);
}

static void lists_with_selectors(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "x"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("b", "y"), 201);
    expect(f, "POST", "/api/v1/namespaces/kube-system/configmaps", CONFIG_MAP("a", "x"), 201);
    a = expect(f, "GET", CONFIG_MAPS, NULL, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "ConfigMapList");
    assert_int_equal(json_len(json_get(a.object, "items")), 2);
    assert_int_equal(atoll(object_resource_version(a.object)), store_revision(f->store));
    a = expect(f, "GET", "/api/v1/configmaps", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 3);
    a = expect(f, "GET", "/api/v1/configmaps?labelSelector=app%3Dx", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 2);
    a = expect(f, "GET", CONFIG_MAPS "?fieldSelector=metadata.name%3Db", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    assert_string_equal(object_name(json_first(json_get(a.object, "items"))), "b");
    a = expect(f, "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Da", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 2);
    a = expect(f, "GET", CONFIG_MAPS "?fieldSelector=metadata.name%3Dzz", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 0);
    assert_says(expect(f, "GET", CONFIG_MAPS "?fieldSelector=spec.x%3D1", NULL, 400), "BadRequest",
                "field label not supported: spec.x");
    expect(f, "GET", CONFIG_MAPS "?labelSelector=a%20b%20c", NULL, 400);
    expect(f, "GET", CONFIG_MAPS "?resourceVersion=abc", NULL, 400);
}

static void pages_show_one_moment(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    char path[512];

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("c", "1"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("d", "1"), 201);
    a = expect(f, "GET", CONFIG_MAPS "?limit=1", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("b", "late"), 201);
    expect(f, "DELETE", CONFIG_MAPS "/c", NULL, 200);
    expect(f, "PATCH", CONFIG_MAPS "/d", "{\"data\":{\"k\":\"late\"}}", 200);
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?limit=5&continue=%s",
                   json_string(json_at(a.object, "metadata", "continue"), ""));
    {
        struct answer rest = expect(f, "GET", path, NULL, 200);
        const struct json *items = json_get(rest.object, "items");

        assert_int_equal(json_len(items), 2);
        assert_string_equal(object_name(json_index(items, 0)), "c");
        assert_string_equal(object_name(json_index(items, 1)), "d");
        assert_string_equal(json_string(json_at(json_index(items, 1), "data", "k"), ""), "1");
        assert_string_equal(object_resource_version(rest.object),
                            object_resource_version(a.object));
        assert_null(json_at(rest.object, "metadata", "continue"));
    }
    expect(f, "GET", CONFIG_MAPS "?continue=nonsense", NULL, 400);
}

static void tells_a_page_that_is_too_old(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    char path[512];

    fixture_close(f);
    f->options.window_events = 2;
    fixture_open(f);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("b", "1"), 201);
    a = expect(f, "GET", CONFIG_MAPS "?limit=1", NULL, 200);
    for (int i = 0; i < 4; i++)
        expect(f, "PATCH", CONFIG_MAPS "/a", i % 2 ? "{\"data\":{}}" : "{\"data\":{\"n\":\"1\"}}",
               200);
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?continue=%s",
                   json_string(json_at(a.object, "metadata", "continue"), ""));
    expect(f, "PATCH", CONFIG_MAPS "/a", "{\"data\":{\"k\":\"3\"}}", 200);
    expect(f, "PATCH", CONFIG_MAPS "/a", "{\"data\":{\"k\":\"4\"}}", 200);
    assert_string_equal(reason_of(expect(f, "GET", path, NULL, 410)), "Expired");
}

static void waits_for_a_revision_to_come(void **state)
{
    struct fixture *f = *state;
    struct answer a, late;
    char path[256];

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?resourceVersion=%" PRId64,
                   store_revision(f->store) + 1);
    ask_with(f, &a, "GET", path, NULL, NULL, NULL);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("b", "1"), 201);
    a = wait_for(f, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 2);
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?resourceVersion=%" PRId64,
                   store_revision(f->store) + 99);
    ask_with(f, &late, "GET", path, NULL, NULL, NULL);
    expect(f, "GET", "/version", NULL, 200); /* behind it in the queue: it waits now */
    assert_false(late.came);
    fake_clock_advance(&f->clock, 3000);
    late = wait_for(f, &late);
    assert_int_equal(late.status, 504);
    assert_string_equal(reason_of(late), "Timeout");
    assert_non_null(strstr(late.body, "ResourceVersionTooLarge"));
    assert_int_equal(json_int(json_at(late.object, "details", "retryAfterSeconds"), 0), 1);
}

static void shows_tables(void **state)
{
    static const char table_accept[] =
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
        "g=meta.k8s.io,application/json";
    struct fixture *f = *state;
    struct answer a;
    const struct json *row;

    expect(f, "POST", PODS, POD("p"), 201);
    ask_with(f, &a, "GET", PODS "?limit=500", NULL, table_accept, NULL);
    a = wait_for(f, &a);
    assert_int_equal(a.status, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "Table");
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "meta.k8s.io/v1");
    assert_true(json_len(json_get(a.object, "columnDefinitions")) >= 5);
    row = json_first(json_get(a.object, "rows"));
    assert_string_equal(json_string(json_first(json_get(row, "cells")), ""), "p");
    assert_string_equal(json_get_string(json_get(row, "object"), "kind", ""),
                        "PartialObjectMetadata");
    assert_true(atoll(object_resource_version(a.object)) > 0);
    ask_with(f, &a, "GET", PODS "/p?includeObject=Object", NULL, table_accept, NULL);
    a = wait_for(f, &a);
    assert_int_equal(json_len(json_get(a.object, "rows")), 1);
    assert_string_equal(
        json_string(json_at(json_first(json_get(a.object, "rows")), "object", "kind"), ""), "Pod");
    ask_with(f, &a, "GET", PODS, NULL,
             "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", NULL);
    a = wait_for(f, &a);
    assert_string_equal(json_get_string(a.object, "kind", ""), "PartialObjectMetadataList");
    assert_null(json_get(json_first(json_get(a.object, "items")), "spec"));
}

static void updates_with_the_right_version(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201), b;
    char body[512];

    (void)snprintf(body, sizeof(body),
                   "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"%s\"},"
                   "\"data\":{\"k\":\"2\"}}",
                   object_resource_version(a.object));
    b = expect(f, "PUT", CONFIG_MAPS "/a", body, 200);
    assert_string_equal(object_uid(a.object), object_uid(b.object));
    assert_string_equal(json_string(json_at(b.object, "data", "k"), ""), "2");
    assert_null(json_at(b.object, "metadata", "labels"));
    assert_says(expect(f, "PUT", CONFIG_MAPS "/a", body, 409), "Conflict",
                "Operation cannot be fulfilled on configmaps \"a\": the object has been modified");
    expect(f, "PUT", CONFIG_MAPS "/a", "{\"metadata\":{\"name\":\"a\"}}", 200); /* built in */
    assert_says(expect(f, "PUT", CONFIG_MAPS "/a", CONFIG_MAP("zz", "1"), 400), "BadRequest",
                "the name of the object (zz) does not match the name on the URL (a)");
    expect(f, "PUT", CONFIG_MAPS "/absent", CONFIG_MAP("absent", "1"), 404);
    expect(f, "POST", JOBS, JOB("j"), 201);
    assert_says(expect(f, "PUT", JOBS "/j", JOB("j"), 422), "Invalid",
                "metadata.resourceVersion: Invalid value: 0: must be specified for an update");
}

static void writes_nothing_when_nothing_changes(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    int64_t before = store_revision(f->store);
    struct answer first, second;

    assert_string_equal(expect(f, "PUT", CONFIG_MAPS "/a", a.body, 200).body, a.body);
    assert_string_equal(expect(f, "PATCH", CONFIG_MAPS "/a", "{}", 200).body, a.body);
    assert_int_equal(store_revision(f->store), before);
    /* the second repeats the first while that is still on its way to the disk */
    ask_with(f, &first, "PATCH", CONFIG_MAPS "/a", "application/merge-patch+json", NULL,
             "{\"data\":{\"k\":\"2\"}}");
    ask_with(f, &second, "PATCH", CONFIG_MAPS "/a", "application/merge-patch+json", NULL,
             "{\"data\":{\"k\":\"2\"}}");
    first = wait_for(f, &first);
    second = wait_for(f, &second);
    assert_string_equal(first.body, second.body);
    assert_int_equal(store_revision(f->store), before + 1);
}

static void counts_generations(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", JOBS, JOB("j"), 201);

#define GENERATION(a) json_int(json_at((a).object, "metadata", "generation"), 0)
    assert_int_equal(GENERATION(a), 1);
    a = expect(f, "PATCH", JOBS "/j", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
    assert_int_equal(GENERATION(a), 1);
    a = expect(f, "PATCH", JOBS "/j/status", "{\"status\":{\"phase\":\"Running\"}}", 200);
    assert_int_equal(GENERATION(a), 1);
    a = expect(f, "PATCH", JOBS "/j", "{\"spec\":{\"runPolicy\":{\"backoffLimit\":5}}}", 200);
    assert_int_equal(GENERATION(a), 2);
    a = expect(f, "PATCH", JOBS "/j", "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}", 200);
    a = expect(f, "DELETE", JOBS "/j", NULL, 200);
    assert_int_equal(GENERATION(a), 3);
}

static void keeps_status_apart(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(f, "POST", JOBS, JOB("j"), 201);
    a = expect(f, "PATCH", JOBS "/j", "{\"status\":{\"phase\":\"Running\"}}", 200);
    assert_string_not_equal(json_string(json_at(a.object, "status", "phase"), ""), "Running");
    a = expect(f, "PATCH", JOBS "/j/status",
               "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"spec\":{\"runPolicy\":{\"backoffLimit\":"
               "9}},\"status\":{\"phase\":\"Running\"}}",
               200);
    assert_string_equal(json_string(json_at(a.object, "status", "phase"), ""), "Running");
    assert_null(object_label(a.object, "x"));
    assert_int_not_equal(json_int(json_at(a.object, "spec", "runPolicy", "backoffLimit"), 0), 9);
    expect(f, "GET", JOBS "/j/status", NULL, 200);
    expect(f, "GET", CONFIG_MAPS "/a/status", NULL, 404);
}

static void takes_patches(void **state)
{
    static const struct {
        const char *path, *type, *body;
        int code;
    } cases[] = {
        {CONFIG_MAPS "/a", "application/merge-patch+json", "{\"data\":{\"k\":null}}", 200},
        {CONFIG_MAPS "/a", "application/strategic-merge-patch+json", "{\"data\":{\"n\":\"1\"}}",
         200},
        {CONFIG_MAPS "/a", "application/strategic-merge-patch+json", "{\"$patch\":\"smash\"}", 400},
        {CONFIG_MAPS "/a", "application/json-patch+json", "[]", 200},
        {CONFIG_MAPS "/a", "application/json-patch+json", "{}", 400},
        {CONFIG_MAPS "/a", "application/apply-patch+yaml", "{}", 422}, /* no manager */
        {CONFIG_MAPS "/a", "text/plain", "{}", 415},
        {CONFIG_MAPS "/a", "application/merge-patch+json", "[1]", 400},
        {CONFIG_MAPS "/a", "application/merge-patch+json",
         "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409},
        {CONFIG_MAPS "/a", "application/merge-patch+json", "{\"metadata\":{\"name\":\"b\"}}", 400},
        {CONFIG_MAPS "/a?fieldValidation=Strict", "application/merge-patch+json", "{\"bogus\":1}",
         400},
        {CONFIG_MAPS "/zz", "application/merge-patch+json", "{}", 404},
        {JOBS "/j", "application/strategic-merge-patch+json", "{}", 415},
    };
    struct fixture *f = *state;

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201);
    expect(f, "POST", JOBS, JOB("j"), 201);
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct answer a;

        ask_with(f, &a, "PATCH", cases[i].path, cases[i].type, NULL, cases[i].body);
        a = wait_for(f, &a);
        if (a.status != cases[i].code)
            fail_msg("case %zu: %d %s", i, a.status, a.body);
    }
}

static void deletes(void **state)
{
    struct fixture *f = *state;
    struct answer made = expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201), a;

    assert_says(
        expect(f, "DELETE", CONFIG_MAPS "/a", "{\"preconditions\":{\"uid\":\"another\"}}", 409),
        "Conflict", "Precondition failed: UID in precondition: another");
    expect(f, "DELETE", CONFIG_MAPS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409);
    expect(f, "DELETE", CONFIG_MAPS "/a", "{\"propagationPolicy\":\"Sideways\"}", 422);
    expect(f, "DELETE", CONFIG_MAPS "/a", "{\"gracePeriodSeconds\":-1}", 400);
    a = expect(f, "DELETE", CONFIG_MAPS "/a", "{\"dryRun\":[\"All\"]}", 200);
    expect(f, "GET", CONFIG_MAPS "/a", NULL, 200);
    a = expect(f, "DELETE", CONFIG_MAPS "/a", "{\"propagationPolicy\":\"Background\"}", 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "Status");
    assert_string_equal(json_get_string(a.object, "status", ""), "Success");
    assert_string_equal(json_string(json_at(a.object, "details", "uid"), ""),
                        object_uid(made.object));
    expect(f, "GET", CONFIG_MAPS "/a", NULL, 404);
    expect(f, "DELETE", CONFIG_MAPS "/a", NULL, 404);
}

static void finalizers_hold_the_object(void **state)
{
    struct fixture *f = *state;
    struct answer a, b;

    expect(f, "POST", CONFIG_MAPS,
           "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"]},\"data\":{}}", 201);
    a = expect(f, "DELETE", CONFIG_MAPS "/a", NULL, 200);
    assert_true(object_is_deleting(a.object));
    assert_int_equal(json_int(json_at(a.object, "metadata", "deletionGracePeriodSeconds"), -1), 0);
    b = expect(f, "DELETE", CONFIG_MAPS "/a", NULL, 200);
    assert_string_equal(a.body, b.body);
    assert_says(expect(f, "PATCH", CONFIG_MAPS "/a",
                       "{\"metadata\":{\"finalizers\":[\"x.y/z\",\"new.one/z\"]}}", 422),
                "Invalid", "no new finalizers can be added if the object is being deleted");
    expect(f, "PATCH", CONFIG_MAPS "/a", "{\"metadata\":{\"finalizers\":null}}", 200);
    expect(f, "GET", CONFIG_MAPS "/a", NULL, 404);
}

static void pods_get_their_grace(void **state)
{
    struct fixture *f = *state;
    struct answer a;

#define GRACE(a) json_int(json_at((a).object, "metadata", "deletionGracePeriodSeconds"), -1)
    expect(f, "POST", PODS, POD("unbound"), 201);
    a = expect(f, "DELETE", PODS "/unbound", NULL, 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "Pod");
    expect(f, "GET", PODS "/unbound", NULL, 404);

    expect(f, "POST", PODS, POD("p"), 201);
    expect(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n1\"}}", 201);
    expect(f, "PATCH", PODS "/p", "{\"spec\":{\"nodeName\":\"n1\"}}", 422); /* past the ledger */
    expect(f, "POST", PODS "/p/binding", "{\"target\":{\"name\":\"n1\"}}", 201);
    a = expect(f, "GET", PODS "/p", NULL, 200);
    assert_string_equal(json_get_string(object_condition(a.object, "PodScheduled"), "status", ""),
                        "True");
    expect(f, "PATCH", PODS "/p", "{\"spec\":{\"nodeName\":\"n2\"}}", 422);
    expect(f, "PATCH", PODS "/p", "{\"spec\":{\"hostname\":\"x\"}}", 422);
    a = expect(f, "DELETE", PODS "/p", NULL, 200);
    assert_int_equal(GRACE(a), 30);
    assert_string_equal(json_string(json_at(a.object, "metadata", "deletionTimestamp"), ""),
                        "2025-11-15T08:00:30Z");
    a = expect(f, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":60}", 200);
    assert_int_equal(GRACE(a), 30); /* only shorter */
    a = expect(f, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":5}", 200);
    assert_int_equal(GRACE(a), 5);
    assert_string_equal(json_string(json_at(a.object, "metadata", "deletionTimestamp"), ""),
                        "2025-11-15T08:00:05Z");
    a = expect(f, "PATCH", PODS "/p/status", "{\"status\":{\"phase\":\"Running\"}}", 200);
    expect(f, "GET", PODS "/p", NULL, 200); /* a write does not end it */
    expect(f, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":0}", 200);
    expect(f, "GET", PODS "/p", NULL, 404);

    expect(f, "POST", PODS, POD("held"), 201);
    expect(f, "POST", PODS "/held/binding", "{\"target\":{\"name\":\"n1\"}}", 201);
    expect(f, "PATCH", PODS "/held", "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}", 200);
    expect(f, "DELETE", PODS "/held", NULL, 200);
    fake_clock_advance(&f->clock, 9000); /* the node is done: when it was asked for stays known */
    a = expect(f, "DELETE", PODS "/held", "{\"gracePeriodSeconds\":0}", 200);
    assert_int_equal(GRACE(a), 0);
    assert_string_equal(json_string(json_at(a.object, "metadata", "deletionTimestamp"), ""),
                        "2025-11-15T08:00:00Z");
    expect(f, "PATCH", PODS "/held", "{\"metadata\":{\"finalizers\":null}}", 200);
    expect(f, "GET", PODS "/held", NULL, 404);

    expect(f, "POST", PODS, POD("done"), 201);
    expect(f, "POST", PODS "/done/binding", "{\"target\":{\"name\":\"n1\"}}", 201);
    expect(f, "PATCH", PODS "/done/status", "{\"status\":{\"phase\":\"Succeeded\"}}", 200);
    expect(f, "DELETE", PODS "/done", NULL, 200);
    expect(f, "GET", PODS "/done", NULL, 404);
}

static void binds_and_evicts_pods(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(f, "POST", PODS, POD("p"), 201);
    expect(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n1\"}}", 201);
    expect(f, "POST", PODS "/p/binding", "{\"target\":{\"kind\":\"Node\"}}", 422);
    a = expect(f, "POST", PODS "/p/binding", "{\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}",
               201);
    assert_string_equal(json_get_string(a.object, "status", ""), "Success");
    a = expect(f, "GET", PODS "/p", NULL, 200);
    assert_string_equal(json_string(json_at(a.object, "spec", "nodeName"), ""), "n1");
    assert_string_equal(json_get_string(object_condition(a.object, "PodScheduled"), "status", ""),
                        "True");
    assert_says(expect(f, "POST", PODS "/p/binding", "{\"target\":{\"name\":\"n2\"}}", 409),
                "Conflict", "already assigned to node \"n1\"");
    expect(f, "POST", PODS "/p/eviction", "{\"deleteOptions\":{\"gracePeriodSeconds\":0}}", 201);
    expect(f, "GET", PODS "/p", NULL, 404);
    expect(f, "POST", PODS "/p/eviction", "{}", 404);
}

static void deletes_collections(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "x"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("b", "x"), 201);
    expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("c", "y"), 201);
    expect(f, "DELETE", CONFIG_MAPS "?labelSelector=app%3Dx", NULL, 200);
    a = expect(f, "GET", CONFIG_MAPS, NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    expect(f, "DELETE", "/api/v1/configmaps", NULL, 405);
}

static void survives_a_restart(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", CONFIG_MAPS, CONFIG_MAP("a", "1"), 201), b, ns;

    ns = expect(f, "GET", "/api/v1/namespaces/default", NULL, 200);
    fixture_close(f);
    fixture_open(f);
    b = expect(f, "GET", CONFIG_MAPS "/a", NULL, 200);
    assert_string_equal(a.body, b.body);
    assert_string_equal(ns.body, expect(f, "GET", "/api/v1/namespaces/default", NULL, 200).body);
}

static void stops_with_a_write_on_its_way(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    ask_with(f, &a, "POST", CONFIG_MAPS, "application/json", NULL, CONFIG_MAP("a", "1"));
    ask_with(f, &a, "GET", CONFIG_MAPS "?resourceVersion=99", NULL, NULL, NULL);
    loop_run_once(f->loop);
    fixture_close(f); /* nothing is called back, nothing leaks */
    assert_false(a.came);
}

static void make_pod_of(struct fixture *f, const char *name, const char *uid, int code)
{
    char body[600];

    (void)snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":"
        "\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\",\"name\":\"j\","
        "\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
        name, uid);
    expect(f, "POST", PODS, body, code);
}

/* The controller's cache may be a moment behind. */
static void makes_no_pod_of_a_job_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", JOBS, JOB("j"), 201);
    const char *first = strdup(object_uid(a.object)), *second;

    make_pod_of(f, "a", first, 201);
    expect(f, "DELETE", JOBS "/j", NULL, 200);
    make_pod_of(f, "b", first, 404);
    a = expect(f, "POST", JOBS, JOB("j"), 201);
    second = strdup(object_uid(a.object));
    make_pod_of(f, "b", first, 404); /* another of the same name */
    make_pod_of(f, "b", second, 201);
    expect(f, "PATCH", JOBS "/j", "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}", 200);
    expect(f, "DELETE", JOBS "/j", NULL, 200);
    make_pod_of(f, "c", second, 404); /* is being deleted */
    free((void *)(uintptr_t)first);
    free((void *)(uintptr_t)second);
}

#define test(fn) cmocka_unit_test_setup_teardown(fn, fixture_set_up, fixture_tear_down)

static void is_ready_when_what_every_cluster_has_is_there(void **state)
{
    struct fixture *f = *state;

    expect(f, "GET", "/readyz", NULL, 200);
    expect(f, "GET", "/api/v1/namespaces/default", NULL, 200);
    expect(f, "GET", "/api/v1/namespaces/muster-system/serviceaccounts/default", NULL, 200);
    expect(f, "GET", "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues/default",
           NULL, 200);
}

static void turn_the_loop(void *arg)
{
    (void)arg;
}

/* Not only when all of it is made, which ends with other kinds. */
static void is_ready_when_one_standard_object_is_made_again(void **state)
{
    struct fixture *f = *state;
    struct server_options o = {.clock = &f->clock.clock, .loop = f->loop, .store = f->store};
    auto_err err = ERR_INIT;
    struct answer a;

    expect(f, "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", NULL, 200);
    transport_free(f->transport);
    server_free(f->server);
    f->server = server_new(&o, &err);
    f->transport = server_local_transport(f->server, &caller_owner);
    ask_with(f, &a, "GET", "/readyz", NULL, NULL, NULL);
    while (store_revision(f->store) + 1 < store_next_revision(f->store))
        loop_run_once(f->loop);
    for (int turn = 0; turn < 10 && !a.came; turn++) {
        (void)clock_start(loop_clock(f->loop), 0, turn_the_loop, NULL);
        loop_run_once(f->loop);
    }
    assert_true(a.came);
    assert_int_equal(a.status, 200);
}

static void put_events(struct fixture *f, const char *ns, int from, int to)
{
    struct store_collection *events = store_collection(f->store, "/events");
    char key[64], text[256];

    for (int i = from; i < to; i++) {
        struct blob *value;
        int n = snprintf(text, sizeof(text),
                         "{\"metadata\":{\"name\":\"e%05d\",\"namespace\":\"%s\","
                         "\"creationTimestamp\":\"2025-11-15T08:00:00Z\"}}",
                         i, ns);

        snprintf(key, sizeof(key), "%s/e%05d", ns, i);
        value = blob_new(text, (size_t)n);
        assert_int_equal(store_put(events, key, value, NULL, NULL), 0);
        blob_unref(value);
    }
    while (store_revision(f->store) + 1 < store_next_revision(f->store))
        loop_run_once(f->loop);
}

static size_t count_events(struct fixture *f)
{
    while (store_revision(f->store) + 1 < store_next_revision(f->store))
        loop_run_once(f->loop);
    return store_count(store_collection(f->store, "/events"));
}

static void the_oldest_of_too_many_events_go(void **state)
{
    struct fixture *f = *state;

    put_events(f, "other", 0, 10);
    put_events(f, "default", 0, 4200);
    put_events(f, "default", 0, 1); /* it happened again */
    fake_clock_advance(&f->clock, 60000);
    assert_int_equal(count_events(f), 10 + 4096);
    expect(f, "GET", "/api/v1/namespaces/default/events/e00000", NULL, 200);
    expect(f, "GET", "/api/v1/namespaces/default/events/e00104", NULL, 404);
    expect(f, "GET", "/api/v1/namespaces/default/events/e00105", NULL, 200);
    expect(f, "GET", "/api/v1/namespaces/other/events/e00000", NULL, 200);
    for (int i = 0; i < 4; i++) {
        char ns[16];

        snprintf(ns, sizeof(ns), "n%d", i);
        put_events(f, ns, 0, 4000);
    }
    for (int i = 0; i < 3; i++) { /* some at a time */
        fake_clock_advance(&f->clock, 5000);
        (void)count_events(f);
    }
    assert_int_equal(count_events(f), 16384);
    expect(f, "GET", "/api/v1/namespaces/other/events/e00000", NULL, 404);
}

/* What charts bring along is kept, with a word where nothing acts on it. */
static void classes_and_templates_are_kept(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", "/apis/storage.k8s.io/v1/storageclasses",
           "{\"metadata\":{\"name\":\"s\"},\"provisioner\":\"x.org/y\"}", 201);
    assert_says(expect(f, "PATCH", "/apis/storage.k8s.io/v1/storageclasses/s",
                       "{\"provisioner\":\"other\"}", 422),
                "Invalid", "provisioner: Invalid value: \"other\": field is immutable");
    expect(f, "POST", "/apis/node.k8s.io/v1/runtimeclasses",
           "{\"metadata\":{\"name\":\"r\"},\"handler\":\"runc\"}", 201);
    expect(f, "POST", "/apis/node.k8s.io/v1/runtimeclasses", "{\"metadata\":{\"name\":\"q\"}}",
           422);
    expect(f, "POST", "/api/v1/namespaces/default/podtemplates",
           "{\"metadata\":{\"name\":\"t\"},\"template\":{\"spec\":{\"containers\":[{\"name\":"
           "\"c\",\"image\":\"i\"}]}}}",
           201);
    expect(f, "POST", "/api/v1/namespaces/default/podtemplates",
           "{\"metadata\":{\"name\":\"u\"},\"template\":{\"spec\":{\"containers\":[{}]}}}", 422);
}

#define CLASSES "/apis/scheduling.k8s.io/v1/priorityclasses"

static void pods_get_the_priority_of_their_class(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    assert_says(expect(f, "POST", PODS,
                       "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityClassName\":\"high\","
                       "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                       403),
                "Forbidden", "no PriorityClass with name high was found");
    assert_says(expect(f, "POST", PODS,
                       "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityClassName\":"
                       "\"\\u001b[2J\\u202ehigh\","
                       "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                       403),
                "Forbidden", "no PriorityClass with name [2Jhigh was found");
    expect(f, "POST", CLASSES, "{\"metadata\":{\"name\":\"high\"},\"value\":1000}", 201);
    a = expect(f, "POST", PODS,
               "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityClassName\":\"high\","
               "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
               201);
    assert_int_equal(json_int(json_at(a.object, "spec", "priority"), -1), 1000);
    a = expect(f, "POST", PODS, POD("y"), 201);
    assert_null(json_at(a.object, "spec", "priority"));
    expect(f, "POST", CLASSES,
           "{\"metadata\":{\"name\":\"usual\"},\"value\":5,\"globalDefault\":true}", 201);
    a = expect(f, "POST", PODS, POD("z"), 201);
    assert_string_equal(json_string(json_at(a.object, "spec", "priorityClassName"), ""), "usual");
    assert_int_equal(json_int(json_at(a.object, "spec", "priority"), -1), 5);
    assert_says(expect(f, "POST", PODS,
                       "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"priority\":2000001000,"
                       "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                       403),
                "Forbidden", "the integer value of priority (2000001000) must not be provided");
    expect(f, "POST", PODS,
           "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"priority\":5,"
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
           201);
}

#define GATED(gates)                                                                               \
    "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"schedulingGates\":[" gates "],"                    \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static void a_gated_pod_says_so_until_its_gates_are_gone(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", PODS, GATED("{\"name\":\"a\"},{\"name\":\"b\"}"), 201);
    const struct json *c = object_condition(a.object, "PodScheduled");

    assert_string_equal(json_get_string(c, "status", ""), "False");
    assert_string_equal(json_get_string(c, "reason", ""), "SchedulingGated");
    assert_says(expect(f, "PUT", PODS "/g", GATED("{\"name\":\"x\"}"), 422), "Invalid",
                "only deletion is allowed, but found new scheduling gate 'x'");
    a = expect(f, "PUT", PODS "/g", GATED("{\"name\":\"b\"}"), 200);
    assert_non_null(object_condition(a.object, "PodScheduled"));
    a = expect(f, "PUT", PODS "/g", GATED(""), 200);
    assert_null(object_condition(a.object, "PodScheduled"));
}

#define RBAC "/apis/rbac.authorization.k8s.io/v1"

static void roles_every_cluster_has(void **state)
{
    static const char *const roles[] = {"cluster-admin", "admin", "edit", "view"};
    struct fixture *f = *state;
    struct answer a;

    for (size_t i = 0; i < ELEMS(roles); i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), RBAC "/clusterroles/%s", roles[i]);
        a = expect(f, "GET", path, NULL, 200);
        assert_true(json_len(json_get(a.object, "rules")) > 0);
    }
    a = expect(f, "GET", RBAC "/clusterroles/admin", NULL, 200);
    json_each (rule, json_get(a.object, "rules")) /* controllers write statuses */
        json_each (resource, json_get(rule, "resources"))
            assert_false(strstr(json_string(resource, ""), "/status") &&
                         json_has(json_get(rule, "verbs"), "patch"));
    a = expect(f, "GET", RBAC "/clusterroles/view", NULL, 200);
    json_each (rule, json_get(a.object, "rules")) { /* who may only look sees no secrets */
        assert_false(json_has(json_get(rule, "resources"), "secrets"));
        assert_false(json_has(json_get(rule, "verbs"), "create"));
    }
    a = expect(f, "GET", RBAC "/clusterrolebindings/cluster-admin", NULL, 200);
    assert_string_equal(json_get_string(json_first(json_get(a.object, "subjects")), "name", ""),
                        "system:masters");
    expect(f, "GET", "/api/v1/namespaces/kube-public", NULL, 200);
    expect(f, "GET", "/api/v1/namespaces/kube-node-lease", NULL, 200);
    /* what was changed stays so, and what was deleted is there again */
    expect(f, "PUT", RBAC "/clusterroles/view", "{\"metadata\":{\"name\":\"view\"}}", 200);
    expect(f, "DELETE", RBAC "/clusterroles/edit", NULL, 200);
    fixture_close(f);
    fixture_open(f);
    a = expect(f, "GET", RBAC "/clusterroles/view", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "rules")), 0);
    expect(f, "GET", RBAC "/clusterroles/edit", NULL, 200);
}

static void a_name_of_a_megabyte_is_refused_as_a_name(void **state)
{
    struct fixture *f = *state;
    struct buf body = BUF_INIT(1u << 21);
    struct answer a;

    buf_adds(&body, "{\"metadata\":{\"name\":\"");
    for (size_t i = 0; i < 1000 * 1000; i++)
        buf_addc(&body, 'a');
    buf_adds(&body, "\"}}");
    a = expect(f, "POST", CONFIG_MAPS, body.data, 422);
    assert_says(a, "Invalid", "must be no more than 253 characters");
    buf_release(&body);
}

static void what_waits_to_be_told_is_bounded(void **state)
{
    static const char path[] = "/apis/muster.dev/v1beta1/namespaces/default/notifications";
    struct fixture *f = *state;
    struct buf body = BUF_INIT(4096);
    char one[256];

    expect(f, "POST", path, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"url\":\"http://a/b\"}}",
           201);
    for (size_t i = 0; i <= 20; i++)
        buf_addf(&body, "%s{\"id\":\"%zu\"}", i ? "," : "{\"status\":{\"pending\":[", i);
    buf_adds(&body, "]}}");
    (void)snprintf(one, sizeof(one), "%s/n/status", path);
    assert_says(expect(f, "PATCH", one, body.data, 422), "Invalid",
                "status.pending: Too many: 21: must have at most 20 items");
    buf_release(&body);
}

static void names_of_roles_are_free(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", RBAC "/clusterroles", "{\"metadata\":{\"name\":\"system:My_Role\"}}", 201);
    expect(f, "GET", RBAC "/clusterroles/system:My_Role", NULL, 200);
    expect(f, "GET", RBAC "/clusterroles/system%3AMy_Role", NULL, 200);
    assert_says(expect(f, "POST", RBAC "/clusterroles", "{\"metadata\":{\"name\":\"a/b\"}}", 422),
                "Invalid", "metadata.name: Invalid value: \"a/b\": may not contain '/' or '%'");
    expect(f, "POST", RBAC "/clusterroles", "{\"metadata\":{\"name\":\"..\"}}", 422);
    expect(f, "DELETE", RBAC "/clusterroles/system:My_Role", NULL, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(is_ready_when_what_every_cluster_has_is_there),
        test(is_ready_when_one_standard_object_is_made_again),
        test(classes_and_templates_are_kept),
        test(the_oldest_of_too_many_events_go),
        test(pods_get_the_priority_of_their_class),
        test(a_gated_pod_says_so_until_its_gates_are_gone),
        test(creates_and_reads_back),
        test(roles_every_cluster_has),
        test(what_waits_to_be_told_is_bounded),
        test(a_name_of_a_megabyte_is_refused_as_a_name),
        test(names_of_roles_are_free),
        test(drops_what_only_the_server_says),
        test(makes_names),
        test(refuses_bad_creations),
        test(refuses_names_with_slashes),
        test(lists_with_selectors),
        test(pages_show_one_moment),
        test(tells_a_page_that_is_too_old),
        test(waits_for_a_revision_to_come),
        test(shows_tables),
        test(updates_with_the_right_version),
        test(writes_nothing_when_nothing_changes),
        test(counts_generations),
        test(keeps_status_apart),
        test(takes_patches),
        test(deletes),
        test(makes_no_pod_of_a_job_that_is_gone),
        test(finalizers_hold_the_object),
        test(pods_get_their_grace),
        test(binds_and_evicts_pods),
        test(deletes_collections),
        test(survives_a_restart),
        test(stops_with_a_write_on_its_way),
    };

    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
