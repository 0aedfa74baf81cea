/* queue_test.c - what queues and groups may say, and what is refused by field. */
#include "api/duration.h"

#include "fixture.h"

static void durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0},
                {"12h", 43200000},
                {"1d12h", 129600000},
                {"1y2w", 31536000000 + 1209600000},
                {"90m", 5400000},
                {"5ms", 5},
                {"1m5ms", 60005}};
    static const char *const bad[] = {"",    "1",    "h",   "12h1d",       "1h1h",
                                      "-1h", "1.5h", "1 h", "9999999999s", "1mss"};
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < ELEMS(good); i++) {
        assert_int_equal(duration_parse_ms(good[i].text, &ms), 0);
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < ELEMS(bad); i++)
        if (duration_parse_ms(bad[i], &ms) == 0)
            fail_msg("\"%s\" was read", bad[i]);
}

static void a_queue_has_defaults(void **state)
{
    const struct json *q = admitted(&kind_queue, "metadata: {name: q, namespace: t9k-system}");

    (void)state;
    assert_int_equal(json_int(json_at(q, "spec", "priority"), -1), 0);
    assert_false(json_bool(json_at(q, "spec", "closed"), true));
    assert_null(json_at(q, "spec", "preemptible"));
    q = admitted(&kind_pod_group, "metadata: {name: g, namespace: ns}");
    assert_string_equal(json_string(json_at(q, "spec", "queue"), ""), DEFAULT_QUEUE);
    assert_int_equal(json_int(json_at(q, "spec", "minMember"), -1), 1);
}

static void wrong_ones_are_refused_by_field(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *spec, *text;
    } cases[] = {
        {&kind_queue, "priority: 101", "spec.priority: Invalid value: 101"},
        {&kind_queue, "maxDuration: 2 days",
         "spec.maxDuration: Invalid value: \"2 days\": must be 0"},
        {&kind_queue, "quota: {requests: {cpu: many}}", "spec.quota.requests[cpu]"},
        {&kind_queue, "quota: {requests: {cpu: -1}}",
         "spec.quota.requests[cpu]: Invalid value: -1: must be greater than or equal to 0"},
        {&kind_queue, "quota: {requests: {nvidia.com/gpu: 1.5}}",
         "spec.quota.requests[nvidia.com/gpu]: Invalid value: 1.5: must be an integer"},
        {&kind_queue, "nodeSelector: {matchLabels: {a b: c}}",
         "spec.nodeSelector.matchLabels: Invalid value: \"a b\""},
        {&kind_queue, "namespaceSelector: {matchLabels: {a: b c}}",
         "spec.namespaceSelector.matchLabels"},
        {&kind_pod, "nodeName: Not A Node!, containers: [{name: c, image: i}]",
         "spec.nodeName: Invalid value: \"Not A Node!\""},
        {&kind_pod_group, "priority: -1", "spec.priority: Invalid value: -1"},
        {&kind_pod_group, "activeDeadlineSeconds: 0",
         "spec.activeDeadlineSeconds: Invalid value: 0: must be greater than or equal to 1"},
        {&kind_pod_group, "minMember: 2, roles: [{name: a, minMember: 3}]",
         "spec.minMember: Invalid value: 2: must be at least the sum of roles[].minMember"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        const char *text = arena_printf(&arena, "metadata: {name: b, namespace: ns}\nspec: {%s}\n",
                                        cases[i].spec);

        if (admit(cases[i].kind, parse(text), NULL, FIELD_VALIDATION_STRICT, &err) == 0 ||
            !strstr(err.text, cases[i].text))
            fail_msg("case %zu: %s", i, err.text ? err.text : "accepted");
    }
}

static void count_warning(void *arg, const char *text)
{
    assert_non_null(strstr(text, "spec.members: fewer than minMember"));
    (*(int *)arg)++;
}

static void a_group_of_too_few_is_warned_of(void **state)
{
    int count = 0;

    (void)state;
    kind_pod_group.warn(parse("spec: {minMember: 3, members: 3}"), count_warning, &count);
    kind_pod_group.warn(parse("spec: {minMember: 3}"), count_warning, &count);
    assert_int_equal(count, 0);
    kind_pod_group.warn(parse("spec: {minMember: 5, members: 3}"), count_warning, &count);
    assert_int_equal(count, 1);
}

static void a_group_stays_in_its_queue(void **state)
{
    const struct json *old = admitted(&kind_pod_group, "metadata: {name: g, namespace: ns}");
    struct json *new = parse("metadata: {name: g, namespace: ns}\nspec: {queue: other}");
    auto_err err = ERR_INIT;

    (void)state;
    assert_true(admit(&kind_pod_group, new, old, FIELD_VALIDATION_STRICT, &err) < 0);
    assert_non_null(strstr(err.text, "spec.queue: Forbidden: a group stays in its queue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(durations_are_read, reset),
        cmocka_unit_test_teardown(a_queue_has_defaults, reset),
        cmocka_unit_test_teardown(wrong_ones_are_refused_by_field, reset),
        cmocka_unit_test_teardown(a_group_of_too_few_is_warned_of, reset),
        cmocka_unit_test_teardown(a_group_stays_in_its_queue, reset),
    };

    return cmocka_run_group_tests_name("api queue", tests, NULL, NULL);
}
