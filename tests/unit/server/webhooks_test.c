/*
 * webhooks_test.c - which writes webhooks are asked about, and what follows when they do not
 * answer. The webhook is a port at which nobody answers: what matches is refused. Answers are in
 * webhook_answer_test.c and tests/api/webhook_test.py.
 */
#include "fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define GROUP "/apis/admissionregistration.k8s.io/v1"
#define VALIDATING GROUP "/validatingwebhookconfigurations"
#define MUTATING GROUP "/mutatingwebhookconfigurations"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define MAP "{\"metadata\":{\"name\":\"m\",\"labels\":{\"team\":\"red\"}}}"
#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

/* A port that is bound, and listened on or not. */
static unsigned bind_port(int *ret_fd, bool listens)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(to);

    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(*ret_fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&to, &len), 0);
    if (listens)
        assert_int_equal(listen(*ret_fd, 4), 0);
    return ntohs(to.sin_port);
}

/* Until the webhook at this port, which never says a word, is called. */
static int wait_called(struct fixture *f, int fd)
{
    int peer;

    while ((peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
        loop_run_once(f->loop);
    return peer;
}

static void configure(struct fixture *f, const char *path, unsigned port, const char *rule,
                      const char *more)
{
    char text[2048];

    (void)snprintf(
        text, sizeof(text),
        "{\"metadata\":{\"name\":\"w\"},\"webhooks\":[{\"name\":\"a.b.c\",\"clientConfig\""
        ":{\"url\":\"https://127.0.0.1:%u/\"},\"sideEffects\":\"None\","
        "\"admissionReviewVersions\":[\"v1\"],\"rules\":[%s]%s}]}",
        port, rule, more);
    expect(f, "POST", path, text, 201);
}

#define RULE(operations, groups, versions, resources, more)                                        \
    "{\"operations\":[" operations "],\"apiGroups\":[" groups "],\"apiVersions\":[" versions       \
    "],\"resources\":[" resources "]" more "}"
#define ALL RULE("\"*\"", "\"*\"", "\"*\"", "\"*/*\"", "")

static void what_matches_is_asked_about(void **state)
{
    static const struct {
        const char *rule, *more;
        bool asks;
    } all[] = {
        {ALL, "", true},
        {RULE("\"CREATE\"", "\"\"", "\"v1\"", "\"configmaps\"", ""), "", true},
        {RULE("\"UPDATE\"", "\"\"", "\"v1\"", "\"configmaps\"", ""), "", false},
        {RULE("\"CREATE\"", "\"apps\"", "\"v1\"", "\"configmaps\"", ""), "", false},
        {RULE("\"CREATE\"", "\"\"", "\"v2\"", "\"configmaps\"", ""), "", false},
        {RULE("\"CREATE\"", "\"\"", "\"*\"", "\"configmaps/status\"", ""), "", false},
        {RULE("\"CREATE\"", "\"\"", "\"*\"", "\"*\"", ",\"scope\":\"Cluster\""), "", false},
        {RULE("\"CREATE\"", "\"\"", "\"*\"", "\"*\"", ",\"scope\":\"Namespaced\""), "", true},
        {ALL, ",\"objectSelector\":{\"matchLabels\":{\"team\":\"red\"}}", true},
        {ALL, ",\"objectSelector\":{\"matchLabels\":{\"team\":\"blue\"}}", false},
        {ALL, ",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"x\"}}",
         false},
        {ALL,
         ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.metadata.name == 'm'\"}]",
         true},
        {ALL, ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"request.name == 'n'\"}]",
         false},
        {ALL, ",\"failurePolicy\":\"Ignore\"", false},
        {ALL,
         ",\"failurePolicy\":\"Ignore\",\"matchConditions\":[{\"name\":\"c\",\"expression\":"
         "\"object.data.a == 'b'\"}]",
         false},
    };
    static const char *const paths[] = {VALIDATING, MUTATING};
    struct fixture *f = *state;
    unsigned port;
    int fd;

    port = bind_port(&fd, false);
    for (size_t i = 0; i < ELEMS(all); i++)
        for (size_t k = 0; k < ELEMS(paths); k++) {
            struct answer a;
            char path[128];

            configure(f, paths[k], port, all[i].rule, all[i].more);
            a = ask(f, "POST", MAPS "?dryRun=All", MAP);
            if (a.status != (all[i].asks ? 500 : 201))
                fail_msg("%zu: %d %s", i, a.status, a.body);
            if (all[i].asks)
                assert_says(a, "InternalError",
                            "Internal error occurred: failed calling webhook \"a.b.c\": failed to "
                            "call webhook: Post \"https://127.0.0.1:");
            (void)snprintf(path, sizeof(path), "%s/w", paths[k]);
            expect(f, "DELETE", path, NULL, 200); /* it is not asked about itself */
        }
    expect(f, "POST", MAPS, MAP, 201);
    close(fd);
}

/* An expression that fails may mean either. */
static void a_condition_that_fails_refuses(void **state)
{
    struct fixture *f = *state;

    configure(f, VALIDATING, 1, ALL,
              ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.data.a == 'b'\"}]");
    assert_says(expect(f, "POST", MAPS, MAP, 403), "Forbidden",
                "configmaps \"m\" is forbidden: webhook \"a.b.c\": ");
}

static void parts_of_objects_are_resources(void **state)
{
    struct fixture *f = *state;
    unsigned port;
    int fd;

    port = bind_port(&fd, false);
    expect(f, "POST", PODS, POD, 201);
    expect(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}", 201);
    configure(f, VALIDATING, port, RULE("\"*\"", "\"\"", "\"v1\"", "\"pods/*\"", ""), "");
    expect(f, "PATCH", PODS "/p/status", "{\"status\":{\"phase\":\"Running\"}}", 500);
    expect(f, "POST", PODS "/p/binding", "{\"target\":{\"name\":\"n\"}}", 201);
    expect(f, "POST", PODS "/p/eviction",
           "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":{\"gracePeriodSeconds\":0}}", 201);
    close(fd);
}

static void deletions_are_asked_about(void **state)
{
    static const char *const paths[] = {VALIDATING, MUTATING};
    struct fixture *f = *state;
    unsigned port;
    int fd;

    port = bind_port(&fd, false);
    expect(f, "POST", MAPS, MAP, 201);
    for (size_t i = 0; i < ELEMS(paths); i++) {
        char path[128];

        configure(f, paths[i], port, RULE("\"DELETE\"", "\"\"", "\"v1\"", "\"configmaps\"", ""),
                  "");
        expect(f, "DELETE", MAPS "/m", NULL, 500);
        expect(f, "DELETE", MAPS, NULL, 500);
        (void)snprintf(path, sizeof(path), "%s/w", paths[i]);
        expect(f, "DELETE", path, NULL, 200);
    }
    expect(f, "DELETE", MAPS, NULL, 200);
    close(fd);
}

static void nobody_is_waited_for_longer_than_was_said(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    unsigned port;
    int fd, peer;

    port = bind_port(&fd, true);
    configure(f, VALIDATING, port, ALL, ",\"timeoutSeconds\":3");
    ask_with(f, &a, "POST", MAPS, "application/json", NULL, MAP);
    peer = wait_called(f, fd);
    fake_clock_advance(&f->clock, 2900);
    assert_false(a.came);
    fake_clock_advance(&f->clock, 200);
    wait_for(f, &a);
    assert_int_equal(a.status, 500);
    assert_says(a, "InternalError", "context deadline exceeded");
    close(peer);
    close(fd);
}

static void a_server_that_stops_answers(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    unsigned port;
    int fd, peer;

    port = bind_port(&fd, true);
    configure(f, MUTATING, port, ALL, "");
    ask_with(f, &a, "POST", MAPS, "application/json", NULL, MAP);
    peer = wait_called(f, fd);
    assert_false(a.came);
    fixture_close(f); /* leaks nothing */
    close(peer);
    close(fd);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_matches_is_asked_about),
        test(a_condition_that_fails_refuses),
        test(parts_of_objects_are_resources),
        test(deletions_are_asked_about),
        test(nobody_is_waited_for_longer_than_was_said),
        test(a_server_that_stops_answers),
    };

    return cmocka_run_group_tests_name("server/webhooks", tests, NULL, NULL);
}
