/* machine_access_test.c - whose pods are whose, where root runs them. */
#include "fixture.h"
#include "server/caller.h"
#include "server/namespace_user.h"

#define PODS "/api/v1/namespaces/%s/pods"
#define JOBS "/apis/batch.tensorstack.dev/v1beta1/namespaces/a/pytorchtrainingjobs"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/"
#define SPEC "\"spec\":{\"containers\":[{\"name\":\"c\",\"command\":[\"true\"]}]%s}"
#define JOB(name)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"runMode\":{\"pause\":{\"enabled\":true}},"  \
    "\"replicaSpecs\":[{\"type\":\"worker\",\"replicas\":1,\"template\":{\"spec\":{"               \
    "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"]}]}}}]}}"

static const char *const groups[] = {"system:authenticated", NULL};
static const struct caller guest = {.kind = CALLER_IMPERSONATED,
                                    .user = "guest",
                                    .uid = "",
                                    .groups = groups,
                                    .ns = "",
                                    .name = ""};

static int open_again(struct fixture *f, bool root_pods)
{
    static const char role[] = "{\"metadata\":{\"name\":\"all\"},\"rules\":[{\"verbs\":[\"*\"],"
                               "\"resources\":[\"*\"],\"apiGroups\":[\"*\"]}]}";
    static const char binding[] = "{\"metadata\":{\"name\":\"all\"},\"roleRef\":{\"kind\":"
                                  "\"ClusterRole\",\"name\":\"all\"},\"subjects\":[{\"kind\":"
                                  "\"User\",\"name\":\"guest\"}]}";

    fixture_close(f);
    f->root_pods = root_pods;
    fixture_open(f);
    for (const char *ns = "abc"; *ns; ns++)
        (void)expect(f, "POST", "/api/v1/namespaces",
                     arena_printf(&f->arena, "{\"metadata\":{\"name\":\"%c\"}}", *ns), 201);
    (void)expect(f, "POST", RBAC "clusterroles", role, 201);
    (void)expect(f, "POST", RBAC "clusterrolebindings", binding, 201);
    return 0;
}

static int set_up(void **state)
{
    return fixture_set_up(state) < 0 ? -1 : open_again(*state, true);
}

static int set_up_ordinary(void **state)
{
    return fixture_set_up(state) < 0 ? -1 : open_again(*state, false);
}

/* The same as who. */
static struct answer expect_as(struct fixture *f, const struct caller *who, const char *method,
                               const char *path, const char *body, int code)
{
    struct transport *owners = f->transport;
    struct answer a;

    f->transport = server_local_transport(f->server, who);
    assert_non_null(f->transport);
    a = expect(f, method, path, body, code);
    transport_free(f->transport);
    f->transport = owners;
    return a;
}

static const char *pods(struct fixture *f, const char *ns)
{
    return arena_printf(&f->arena, PODS, ns);
}

static const char *pod(struct fixture *f, const char *name, const char *more)
{
    return arena_printf(&f->arena, "{\"metadata\":{\"name\":\"%s\"}," SPEC "}", name, more);
}

static int64_t user_of(struct answer a)
{
    return json_int(json_at(a.object, "spec", "securityContext", "runAsUser"), -1);
}

static bool is_marked(struct answer a)
{
    return object_annotation(a.object, ANNOTATION_RUN_AS) != NULL;
}

/* A pod that a controller makes of owner. */
static struct answer made_of(struct fixture *f, const struct json *owner, const char *name)
{
    const char *body = arena_printf(
        &f->arena,
        "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":"
        "\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]}," SPEC "}",
        name, json_get_string(owner, "apiVersion", ""), json_get_string(owner, "kind", ""),
        object_name(owner), object_uid(owner), "");

    return expect_as(f, &caller_component, "POST", pods(f, "a"), body, 201);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void each_namespace_has_a_user_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct transport *owners = f->transport;
    struct answer a, b;
    int64_t first;

    a = expect_as(f, &guest, "POST", arena_printf(&f->arena, PODS "?dryRun=All", "a"),
                  pod(f, "p", ""), 201);
    first = user_of(a);
    assert_in_range(first, NAMESPACE_USER_FIRST, 2147483647);
    assert_null(object_annotation(expect(f, "GET", "/api/v1/namespaces/a", NULL, 200).object,
                                  ANNOTATION_UID));
    /* Both before either is on disk. */
    f->transport = server_local_transport(f->server, &guest);
    ask_with(f, &a, "POST", pods(f, "b"), "application/json", NULL, pod(f, "p", ""));
    ask_with(f, &b, "POST", pods(f, "a"), "application/json", NULL, pod(f, "p", ""));
    (void)wait_for(f, &a);
    (void)wait_for(f, &b);
    transport_free(f->transport);
    f->transport = owners;
    assert_int_equal(user_of(a), first);
    assert_int_equal(user_of(b), first + 1);
    a = expect_as(f, &guest, "POST", pods(f, "b"), pod(f, "q", ""), 201);
    assert_int_equal(user_of(a), first);
    a = expect(f, "POST", pods(f, "a"), pod(f, "owners", ""), 201);
    assert_int_equal(user_of(a), -1);
    assert_false(is_marked(a));
}

static void an_ordinary_users_daemon_asks_for_nothing(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    a = expect_as(f, &guest, "POST", pods(f, "a"),
                  pod(f, "p", ",\"securityContext\":{\"runAsUser\":0}"), 201);
    assert_int_equal(user_of(a), 0);
    assert_false(is_marked(a));
    assert_false(is_marked(expect_as(f, &guest, "POST", JOBS, JOB("j"), 201)));
}

static void what_a_guest_wrote_is_marked_and_so_are_its_pods(void **state)
{
    struct fixture *f = *state;
    struct answer job = expect_as(f, &guest, "POST", JOBS, JOB("mine"), 201);
    int64_t user = strtoll(object_annotation(job.object, ANNOTATION_RUN_AS), NULL, 10);

    assert_in_range(user, NAMESPACE_USER_FIRST, 2147483647);
    assert_null(json_at(json_first(json_at(job.object, "spec", "replicaSpecs")), "template", "spec",
                        "securityContext"));
    assert_int_equal(user_of(made_of(f, job.object, "p")), user);
    /* A job's pods are one user, whatever becomes of the namespace's. */
    (void)expect(f, "PATCH", "/api/v1/namespaces/a",
                 "{\"metadata\":{\"annotations\":{\"muster.dev/uid\":\"123456\"}}}", 200);
    assert_int_equal(user_of(made_of(f, job.object, "again")), user);
    job = expect(f, "POST", JOBS, JOB("owners"), 201);
    assert_false(is_marked(job));
    assert_int_equal(user_of(made_of(f, job.object, "q")), -1);
}

static void words_are_who_wrote_them_and_figures_are_not(void **state)
{
    static const char resume[] = "{\"spec\":{\"runMode\":{\"pause\":{\"enabled\":false}}}}";
    static const char folder[] = "{\"metadata\":{\"annotations\":{\"muster.dev/folder\":\"/\"}}}";
    static const char removed[] = "{\"metadata\":{\"annotations\":{\"muster.dev/run-as\":null}}}";
    struct fixture *f = *state;

    (void)expect(f, "POST", JOBS, JOB("j"), 201);
    assert_false(is_marked(expect_as(f, &guest, "PATCH", JOBS "/j", resume, 200)));
    assert_true(is_marked(expect_as(f, &guest, "PATCH", JOBS "/j", folder, 200)));
    assert_true(is_marked(expect_as(f, &guest, "PATCH", JOBS "/j", removed, 200)));
    assert_true(is_marked(expect(f, "PATCH", JOBS "/j", resume, 200)));
    assert_false(is_marked(expect(f, "PATCH", JOBS "/j", removed, 200)));
}

static void what_is_controlled_by_what_is_gone_is_a_guests(void **state)
{
    struct fixture *f = *state;
    struct json *board = json_new_object(&f->arena), *meta;

    json_set_string(&f->arena, board, "apiVersion", "tensorstack.dev/v1beta1");
    json_set_string(&f->arena, board, "kind", "TensorBoard");
    meta = json_make_object(&f->arena, board, "metadata");
    json_set_string(&f->arena, meta, "name", "gone");
    json_set_string(&f->arena, meta, "uid", "1-2-3");
    assert_true(is_marked(made_of(f, board, "p")));
}

static void installed_kinds_hand_it_on(void **state)
{
    static const char crd[] =
        "{\"metadata\":{\"name\":\"things.x.org\"},\"spec\":{\"group\":\"x.org\",\"scope\":"
        "\"Namespaced\",\"names\":{\"plural\":\"things\",\"kind\":\"Thing\"},\"versions\":[{"
        "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";
    static const char thing[] = "{\"apiVersion\":\"x.org/v1\",\"kind\":\"Thing\",\"metadata\":{"
                                "\"name\":\"t\"},\"spec\":{\"text\":\"a\"}}";
    struct fixture *f = *state;
    struct answer a;

    (void)expect(f, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd, 201);
    a = expect(f, "POST", "/apis/x.org/v1/namespaces/a/things", thing, 201);
    assert_false(is_marked(a));
    assert_int_equal(user_of(made_of(f, a.object, "p")), -1);
    a = expect_as(f, &guest, "PATCH", "/apis/x.org/v1/namespaces/a/things/t",
                  "{\"spec\":{\"text\":\"b\"}}", 200);
    assert_true(is_marked(a));
    assert_int_equal(user_of(made_of(f, a.object, "q")),
                     strtoll(object_annotation(a.object, ANNOTATION_RUN_AS), NULL, 10));
}

static void what_is_said_in_musters_name_is_refused(void **state)
{
    static const char forged[] =
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"muster.dev/run-as\":\"5\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}";
    struct fixture *f = *state;

    assert_says(expect(f, "POST", pods(f, "a"), forged, 422), "Invalid", "leave it out");
    assert_says(expect_as(f, &guest, "PATCH", "/api/v1/namespaces/a",
                          "{\"metadata\":{\"annotations\":{\"muster.dev/uid\":\"5\"}}}", 403),
                "Forbidden", "named \"anyuser\", which the annotation muster.dev/uid needs");
    (void)expect(f, "PATCH", "/api/v1/namespaces/a",
                 "{\"metadata\":{\"annotations\":{\"muster.dev/uid\":\"123456\"}}}", 200);
    assert_int_equal(user_of(expect_as(f, &guest, "POST", pods(f, "a"), pod(f, "p", ""), 201)),
                     123456);
    assert_says(expect_as(f, &guest, "POST", pods(f, "a"),
                          pod(f, "q", ",\"securityContext\":{\"runAsUser\":0}"), 403),
                "Forbidden",
                "named \"anyuser\", which spec.securityContext.runAsUser: 0 needs; leave it out: "
                "pods run as the namespace's own user, 123456,");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_namespace_has_a_user_of_its_own),
        cmocka_unit_test_setup_teardown(an_ordinary_users_daemon_asks_for_nothing, set_up_ordinary,
                                        fixture_tear_down),
        TEST(what_a_guest_wrote_is_marked_and_so_are_its_pods),
        TEST(words_are_who_wrote_them_and_figures_are_not),
        TEST(what_is_controlled_by_what_is_gone_is_a_guests),
        TEST(installed_kinds_hand_it_on),
        TEST(what_is_said_in_musters_name_is_refused),
    };

    return cmocka_run_group_tests_name("server/machine_access", tests, NULL, NULL);
}
