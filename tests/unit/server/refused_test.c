/* refused_test.c - kinds without a controller here: always empty, and none can be created. */
#include "fixture.h"

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define SENTENCE                                                                                   \
    "this server runs pods and training jobs and has no controller for deployments.apps"

/* What `kubectl apply --prune` lists without being told what to. */
static const char *const pruned[] = {
    "/api/v1/replicationcontrollers",    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",         "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/daemonsets",          "/apis/networking.k8s.io/v1/ingresses",
    "/apis/extensions/v1beta1/ingresses"};

static void they_can_be_listed(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(pruned); i++) {
        struct answer a = expect(f, "GET", pruned[i], NULL, 200);

        assert_true(json_is(json_get(a.object, "items"), JSON_ARRAY));
        assert_int_equal(json_len(json_get(a.object, "items")), 0);
    }
    expect(f, "GET", DEPLOYMENTS "/x", NULL, 404);
    expect(f, "DELETE", DEPLOYMENTS "/x", NULL, 404);
}

static void none_can_be_made(void **state)
{
    static const struct {
        const char *method, *path, *type;
    } cases[] = {
        {"POST", DEPLOYMENTS, "application/json"},
        {"POST", DEPLOYMENTS, "application/vnd.kubernetes.protobuf"},
        {"PUT", DEPLOYMENTS "/x", "application/json"},
        {"PATCH", DEPLOYMENTS "/x?fieldManager=me", "application/apply-patch+yaml"},
    };
    struct fixture *f = *state;
    struct answer a;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        ask_with(
            f, &a, cases[i].method, cases[i].path, cases[i].type, NULL,
            "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\"}}");
        a = wait_for(f, &a);
        assert_int_equal(a.status, 405);
        assert_says(a, "MethodNotAllowed", SENTENCE);
    }
    a = expect(f, "GET", DEPLOYMENTS, NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 0);
}

static bool has_verb(const struct json *resources, const char *name, const char *verb)
{
    json_each (r, resources)
        if (json_string_is(json_get(r, "name"), name))
            json_each (v, json_get(r, "verbs"))
                if (json_string_is(v, verb))
                    return true;
    return false;
}

static void discovery_does_not_promise_them(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "GET", "/apis/apps/v1", NULL, 200);
    const struct json *resources = json_get(a.object, "resources");

    assert_true(has_verb(resources, "deployments", "list"));
    assert_true(has_verb(resources, "deployments", "watch"));
    assert_false(has_verb(resources, "deployments", "create"));
    assert_false(has_verb(resources, "deployments", "patch"));
    json_each (r, resources)
        assert_null(json_get(r, "categories")); /* `kubectl get all` need not ask */
}

static void objects_say_no_such_kind(void **state)
{
    struct fixture *f = *state;
    struct json *object = json_new_object(&f->arena);

    json_set_string(&f->arena, object, "apiVersion", "apps/v1");
    json_set_string(&f->arena, object, "kind", "Deployment");
    assert_null(kind_of_object(object));
    assert_non_null(kind_by_plural("apps", "v1", "deployments"));
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        test(they_can_be_listed),
        test(none_can_be_made),
        test(discovery_does_not_promise_them),
        test(objects_say_no_such_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
