/* pod_resources_test.c - limits for the runtime, and resourceFieldRef as Kubernetes rounds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/pod_resources.h"

static const char pod_text[] =
    "{\"spec\":{\"initContainers\":[{\"name\":\"init\",\"resources\":{\"limits\":{\"memory\":"
    "\"1Gi\"}}}],\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"cpu\":\"1500m\","
    "\"memory\":\"64Mi\"},\"requests\":{\"cpu\":\"250m\"}}},{\"name\":\"free\"}]}}";

static const struct json *parse(struct arena *a, const char *text)
{
    const struct json *v = json_parse(a, text, strlen(text), NULL);

    assert_non_null(v);
    return v;
}

static void limits_and_requests(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    const struct json *pod = parse(&a, pod_text), *c = json_at(pod, "spec", "containers");
    struct container_limits l = pod_container_limits(json_first(c));

    (void)state;
    assert_int_equal(l.cpu_milli, 1500);
    assert_int_equal(l.cpu_request_milli, 250);
    assert_int_equal(l.memory_bytes, 64 << 20);
    l = pod_container_limits(json_first(json_at(pod, "spec", "initContainers")));
    assert_int_equal(l.cpu_milli, 0);
    assert_int_equal(l.cpu_request_milli, 0);
    assert_true(pod_has_limits(pod));
    assert_false(pod_has_limits(
        parse(&a, "{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"1\"}}}]}}")));
    arena_release(&a);
}

static const struct {
    const char *ref, *expected; /* NULL: refused */
} cases[] = {
    {"{\"resource\":\"limits.cpu\"}", "2"}, /* 1.5 rounded up */
    {"{\"resource\":\"limits.cpu\",\"divisor\":\"1m\"}", "1500"},
    {"{\"resource\":\"limits.cpu\",\"divisor\":\"0\"}", "2"},
    {"{\"resource\":\"requests.cpu\",\"divisor\":\"1m\"}", "250"},
    {"{\"resource\":\"requests.cpu\"}", "1"},
    {"{\"resource\":\"limits.memory\"}", "67108864"},
    {"{\"resource\":\"limits.memory\",\"divisor\":\"1Mi\"}", "64"},
    {"{\"resource\":\"limits.memory\",\"divisor\":\"1Gi\"}", "1"},
    {"{\"resource\":\"requests.memory\",\"divisor\":\"1Mi\"}", "64"}, /* the limit's */
    {"{\"resource\":\"limits.memory\",\"containerName\":\"init\",\"divisor\":\"1Mi\"}", "1024"},
    {"{\"resource\":\"limits.cpu\",\"containerName\":\"free\",\"divisor\":\"1m\"}", "7500"},
    {"{\"resource\":\"limits.memory\",\"containerName\":\"free\",\"divisor\":\"1Ki\"}", "1000"},
    {"{\"resource\":\"requests.cpu\",\"containerName\":\"free\"}", "0"},
    {"{\"resource\":\"limits.cpu\",\"containerName\":\"nobody\"}", NULL},
    {"{\"resource\":\"limits.gpu\"}", NULL},
};

static void references_are_rounded_up(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    const struct json *pod = parse(&a, pod_text);
    const struct json *main_container = json_first(json_at(pod, "spec", "containers"));
    const struct pod_allocatable node = {.cpu_milli = 7500, .memory_bytes = 1000 * 1024};

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const char *value = NULL;
        auto_err err = ERR_INIT;
        int rc = pod_resource_value(&a, pod, main_container, parse(&a, cases[i].ref), &node, &value,
                                    &err);

        assert_int_equal(rc == 0, cases[i].expected != NULL);
        if (cases[i].expected)
            assert_string_equal(value, cases[i].expected);
        else
            assert_non_null(strstr(err.text, "resourceFieldRef"));
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_requests),
        cmocka_unit_test(references_are_rounded_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
