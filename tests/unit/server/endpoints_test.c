/* endpoints_test.c - what is made of Services and pods: Endpoints, and what budgets allow. */
#include "fixture.h"

#define PODS "/api/v1/namespaces/default/pods"
#define SERVICES "/api/v1/namespaces/default/services"
#define ENDPOINTS "/api/v1/namespaces/default/endpoints"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define OLD_BUDGETS "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

static void make_pod(struct fixture *f, const char *name, const char *ready, const char *phase)
{
    const char *path = arena_printf(&f->arena, PODS "/%s/status", name);

    (void)ask(f, "POST", "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}");
    expect(f, "POST", PODS,
           arena_printf(&f->arena,
                        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{"
                        "\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                        "\"ports\":[{\"name\":\"http\",\"containerPort\":8080}]}]}}",
                        name),
           201);
    expect(f, "PATCH", path,
           arena_printf(&f->arena,
                        "{\"status\":{\"phase\":\"%s\",\"podIP\":\"127.0.0.1\",\"conditions\":[{"
                        "\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                        phase, ready),
           200);
}

static void make_service(struct fixture *f)
{
    expect(f, "POST", SERVICES,
           "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"selector\":{\"app\":\"x\"},\"ports\":[{"
           "\"port\":80,\"targetPort\":\"http\"}]}}",
           201);
}

static void ready_pods_are_behind_their_service(void **state)
{
    struct fixture *f = *state;
    const struct json *subset;
    struct answer a;

    make_service(f);
    a = expect(f, "GET", ENDPOINTS "/s", NULL, 200);
    assert_null(json_get(a.object, "subsets"));
    make_pod(f, "a", "True", "Running");
    make_pod(f, "b", "False", "Running");
    make_pod(f, "over", "False", "Succeeded");
    a = expect(f, "GET", ENDPOINTS "/s", NULL, 200);
    subset = json_index(json_get(a.object, "subsets"), 0);
    assert_int_equal(json_len(json_get(subset, "addresses")), 1);
    assert_int_equal(json_len(json_get(subset, "notReadyAddresses")), 1);
    assert_string_equal(
        json_string(json_at(json_index(json_get(subset, "addresses"), 0), "targetRef", "name"), ""),
        "a");
    assert_int_equal(json_get_int(json_index(json_get(subset, "ports"), 0), "port", 0), 8080);
}

static void slices_are_found_by_the_name_of_their_service(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_service(f);
    make_pod(f, "a", "True", "Running");
    make_pod(f, "b", "False", "Running");
    a = expect(f, "GET", SLICES "?labelSelector=kubernetes.io/service-name%3Ds", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    assert_int_equal(json_len(json_get(json_index(json_get(a.object, "items"), 0), "endpoints")),
                     2);
    a = expect(f, "GET", SLICES "?labelSelector=kubernetes.io/service-name%3Dother", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 0);
}

static void services_that_select_nothing_have_no_endpoints(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", SERVICES,
           "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}", 201);
    assert_says(expect(f, "GET", ENDPOINTS "/s", NULL, 404), "NotFound",
                "endpoints \"s\" not found");
    expect(f, "POST", ENDPOINTS, "{\"metadata\":{\"name\":\"s\"}}", 405);
}

static void endpoints_are_printed_like_the_real_ones(void **state)
{
    struct fixture *f = *state;
    const struct json *row;
    struct answer a;

    make_service(f);
    for (int i = 0; i < 4; i++)
        make_pod(f, arena_printf(&f->arena, "p%d", i), "True", "Running");
    ask_with(f, &a, "GET", ENDPOINTS, NULL, TABLE, NULL);
    a = wait_for(f, &a);
    row = json_index(json_get(a.object, "rows"), 0);
    assert_string_equal(json_string(json_index(json_get(row, "cells"), 1), ""),
                        "127.0.0.1:8080,127.0.0.1:8080,127.0.0.1:8080 + 1 more...");
}

/* --- watching ---------------------------------------------------------------------------- */

#define PAUSE_MS 50

static size_t addresses_of(const struct json *event)
{
    const struct json *subset = json_index(json_get(json_get(event, "object"), "subsets"), 0);

    return json_len(json_get(subset, "addresses"));
}

static int64_t version_of(const struct json *event)
{
    return atoll(object_resource_version(json_get(event, "object")));
}

static void endpoints_can_be_watched(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;
    int64_t version;

    make_service(f);
    make_pod(f, "a", "True", "Running");
    reader_open(f, &r, ENDPOINTS "?watch=true");
    assert_event(e = reader_next(&r), "ADDED", "s");
    assert_int_equal(addresses_of(e), 1);
    version = version_of(e);
    expect(f, "PATCH", PODS "/a", "{\"metadata\":{\"annotations\":{\"b\":\"c\"}}}", 200);
    fake_clock_advance(&f->clock, PAUSE_MS); /* no event: nothing has changed for us */
    make_pod(f, "b", "True", "Running");
    fake_clock_advance(&f->clock, PAUSE_MS);
    assert_event(e = reader_next(&r), "MODIFIED", "s");
    assert_int_equal(addresses_of(e), 2);
    assert_true(version_of(e) > version);
    version = version_of(e);
    expect(f, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL, 200);
    fake_clock_advance(&f->clock, PAUSE_MS);
    assert_event(e = reader_next(&r), "MODIFIED", "s");
    assert_int_equal(addresses_of(e), 1);
    assert_true(version_of(e) > version);
    expect(f, "DELETE", SERVICES "/s", NULL, 200);
    fake_clock_advance(&f->clock, PAUSE_MS);
    assert_event(e = reader_next(&r), "DELETED", "s");
    assert_int_equal(addresses_of(e), 1); /* as it last was */
    assert_int_equal(version_of(e), store_revision(f->store));
    reader_close(&r);
}

static void a_watch_of_endpoints_goes_on_from_a_revision(void **state)
{
    struct fixture *f = *state;
    struct reader old, now, other;
    const struct json *e;
    char path[160], path_now[160];

    make_service(f);
    make_pod(f, "a", "True", "Running");
    (void)snprintf(path, sizeof(path), SLICES "?watch=true&resourceVersion=%" PRId64,
                   store_revision(f->store));
    make_pod(f, "b", "True", "Running");
    (void)snprintf(path_now, sizeof(path_now), SLICES "?watch=true&resourceVersion=%" PRId64,
                   store_revision(f->store));
    reader_open(f, &now, path_now);
    reader_open(f, &old, path);
    reader_open(f, &other, "/apis/discovery.k8s.io/v1/namespaces/other/endpointslices?watch=true");
    e = reader_next(&old); /* what happened since */
    assert_string_equal(json_get_string(e, "type", ""), "MODIFIED");
    assert_int_equal(json_len(json_at(e, "object", "endpoints")), 2);
    make_pod(f, "c", "False", "Running");
    fake_clock_advance(&f->clock, PAUSE_MS);
    e = reader_next(&old);
    assert_int_equal(json_len(json_at(e, "object", "endpoints")), 3);
    e = reader_next(&now);
    assert_string_equal(json_get_string(e, "type", ""), "MODIFIED");
    assert_int_equal(json_len(json_at(e, "object", "endpoints")), 3);
    assert_int_equal(other.in.len, 0);
    reader_close(&old);
    reader_close(&now);
    reader_close(&other);
}

static void a_watch_of_endpoints_selects_and_ends_its_beginning(void **state)
{
    struct fixture *f = *state;
    struct reader r, named;
    const struct json *e;

    make_service(f);
    reader_open(f, &r,
                SLICES "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
                       "&resourceVersionMatch=NotOlderThan"
                       "&labelSelector=kubernetes.io/service-name%3Dnone");
    reader_open(f, &named, ENDPOINTS "?watch=true&fieldSelector=metadata.name%3Ds");
    assert_event(reader_next(&named), "ADDED", "s");
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "BOOKMARK");
    assert_int_equal(version_of(e), store_revision(f->store));
    expect(f, "POST", SERVICES,
           "{\"metadata\":{\"name\":\"none\"},\"spec\":{\"selector\":{\"app\":\"y\"},\"ports\":[{"
           "\"port\":80}]}}",
           201);
    fake_clock_advance(&f->clock, PAUSE_MS);
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "ADDED");
    expect(f, "DELETE", SERVICES "/s", NULL, 200);
    fake_clock_advance(&f->clock, PAUSE_MS);
    assert_event(reader_next(&named), "DELETED", "s");
    reader_close(&r);
    reader_close(&named);
}

static void a_watch_of_endpoints_from_long_ago_is_told_so(void **state)
{
    struct fixture *f = *state;
    struct reader r;
    const struct json *e;

    fixture_close(f);
    f->options.window_events = 1;
    fixture_open(f);
    make_service(f);
    expect(f, "POST", SERVICES,
           "{\"metadata\":{\"name\":\"later\"},\"spec\":{\"ports\":[{\"port\":80}]}}", 201);
    expect(f, "GET", ENDPOINTS "/s", NULL, 200);
    reader_open(f, &r, ENDPOINTS "?watch=true&resourceVersion=1");
    e = reader_next(&r);
    assert_string_equal(json_get_string(e, "type", ""), "ERROR");
    assert_int_equal(json_int(json_at(e, "object", "code"), 0), 410);
    reader_close(&r);
}

/* More at once than is kept for those who do not read. */
static void a_watch_of_endpoints_that_reads_nothing_is_told_to_list_again(void **state)
{
    struct fixture *f = *state;
    struct reader r;

    reader_open(f, &r, ENDPOINTS "?watch=true");
    expect(f, "GET", ENDPOINTS, NULL, 200);
    for (int i = 0; i < 1025; i++)
        expect(f, "POST", SERVICES,
               arena_printf(&f->arena,
                            "{\"metadata\":{\"name\":\"s%d\"},\"spec\":{\"clusterIP\":\"None\","
                            "\"selector\":{\"app\":\"x\"},\"ports\":[{\"port\":80}]}}",
                            i),
               201);
    fake_clock_advance(&f->clock, PAUSE_MS);
    assert_string_equal(json_get_string(reader_next(&r), "type", ""), "ERROR");
    reader_close(&r);
}

/* --- budgets ----------------------------------------------------------------------------- */

static void make_budget(struct fixture *f, const char *spec)
{
    expect(f, "POST", BUDGETS,
           arena_printf(&f->arena,
                        "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                        "\"app\":\"x\"}},%s}}",
                        spec),
           201);
}

static void a_budget_keeps_pods_from_eviction(void **state)
{
    static const struct {
        const char *spec;
        int first, second; /* codes, of three ready pods */
    } cases[] = {
        {"\"minAvailable\":3", 429, 429},         {"\"minAvailable\":2", 201, 429},
        {"\"minAvailable\":\"50%\"", 201, 429},   {"\"maxUnavailable\":0", 429, 429},
        {"\"maxUnavailable\":1", 201, 429},       {"\"maxUnavailable\":2", 201, 201},
        {"\"maxUnavailable\":\"10%\"", 201, 429},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        make_pod(f, "a", "True", "Running");
        make_pod(f, "b", "True", "Running");
        make_pod(f, "c", "True", "Running");
        make_budget(f, cases[i].spec);
        expect(f, "POST", PODS "/a/eviction", "{}", cases[i].first);
        expect(f, "POST", PODS "/b/eviction", "{}", cases[i].second);
        expect(f, "DELETE", BUDGETS "/b", NULL, 200);
        expect(f, "POST", PODS "/c/eviction", "{}", 201);
        expect(f, "DELETE", PODS "?gracePeriodSeconds=0", NULL, 200);
    }
}

static int64_t figure(const struct json *budget, const char *name)
{
    return json_int(json_at(budget, "status", name), -1);
}

static void assert_figures(const struct json *budget, int64_t expected, int64_t healthy,
                           int64_t desired, int64_t allowed)
{
    assert_int_equal(figure(budget, "expectedPods"), expected);
    assert_int_equal(figure(budget, "currentHealthy"), healthy);
    assert_int_equal(figure(budget, "desiredHealthy"), desired);
    assert_int_equal(figure(budget, "disruptionsAllowed"), allowed);
}

static void a_budget_that_is_read_says_what_it_allows(void **state)
{
    struct fixture *f = *state;
    const struct json *row;
    struct answer a;

    make_budget(f, "\"minAvailable\":1");
    assert_figures(expect(f, "GET", BUDGETS "/b", NULL, 200).object, 0, 0, 1, 0);
    make_pod(f, "a", "True", "Running");
    make_pod(f, "b", "True", "Running");
    make_pod(f, "sick", "False", "Running");
    make_pod(f, "over", "False", "Succeeded");
    a = expect(f, "GET", BUDGETS, NULL, 200);
    assert_figures(json_index(json_get(a.object, "items"), 0), 3, 2, 1, 1);
    expect(f, "PATCH", BUDGETS "/b/status", "{\"status\":{\"disruptionsAllowed\":9}}", 200);
    ask_with(f, &a, "GET", BUDGETS, NULL, TABLE, NULL);
    a = wait_for(f, &a);
    row = json_index(json_get(a.object, "rows"), 0);
    assert_int_equal(json_int(json_index(json_get(row, "cells"), 3), -1), 1);
}

static void an_older_version_of_budgets_is_the_same_budgets(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_pod(f, "a", "True", "Running");
    expect(f, "POST", OLD_BUDGETS,
           "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"maxUnavailable\":1,\"selector\":{"
           "\"matchLabels\":{\"app\":\"x\"}}}}",
           201);
    a = expect(f, "GET", OLD_BUDGETS "/b", NULL, 200);
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "policy/v1beta1");
    assert_figures(a.object, 1, 1, 0, 1);
    a = expect(f, "GET", BUDGETS "/b", NULL, 200);
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "policy/v1");
    assert_figures(a.object, 1, 1, 0, 1);
    /* An empty selector means none there, and all here. */
    expect(f, "POST", OLD_BUDGETS,
           "{\"metadata\":{\"name\":\"none\"},\"spec\":{\"minAvailable\":1,\"selector\":{}}}", 201);
    assert_figures(expect(f, "GET", BUDGETS "/none", NULL, 200).object, 0, 0, 1, 0);
    expect(f, "POST", BUDGETS,
           "{\"metadata\":{\"name\":\"all\"},\"spec\":{\"minAvailable\":1,\"selector\":{}}}", 201);
    assert_figures(expect(f, "GET", BUDGETS "/all", NULL, 200).object, 1, 1, 1, 0);
}

static void pods_that_are_not_ready_leave_when_enough_are(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    make_pod(f, "a", "True", "Running");
    make_pod(f, "sick", "False", "Running");
    make_budget(f, "\"minAvailable\":2");
    a = expect(f, "POST", PODS "/sick/eviction", "{}", 429);
    assert_says(a, "TooManyRequests", "would violate the pod's disruption budget");
    assert_string_equal(
        json_get_string(json_index(json_at(a.object, "details", "causes"), 0), "message", ""),
        "The disruption budget b needs 2 healthy pods and has 1 currently");
    expect(f, "PATCH", BUDGETS "/b", "{\"spec\":{\"minAvailable\":1}}", 200);
    expect(f, "POST", PODS "/a/eviction", "{}", 429);
    expect(f, "POST", PODS "/sick/eviction", "{}", 201);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        test(ready_pods_are_behind_their_service),
        test(slices_are_found_by_the_name_of_their_service),
        test(services_that_select_nothing_have_no_endpoints),
        test(endpoints_are_printed_like_the_real_ones),
        test(endpoints_can_be_watched),
        test(a_watch_of_endpoints_goes_on_from_a_revision),
        test(a_watch_of_endpoints_selects_and_ends_its_beginning),
        test(a_watch_of_endpoints_from_long_ago_is_told_so),
        test(a_watch_of_endpoints_that_reads_nothing_is_told_to_list_again),
        test(a_budget_keeps_pods_from_eviction),
        test(a_budget_that_is_read_says_what_it_allows),
        test(an_older_version_of_budgets_is_the_same_budgets),
        test(pods_that_are_not_ready_leave_when_enough_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
