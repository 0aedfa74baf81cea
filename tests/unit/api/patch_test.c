/* patch_test.c - RFC 7386, with its own examples. */
#include "fixture.h"

#include "api/patch.h"

static void the_rfcs_examples(void **state)
{
    static const struct {
        const char *target, *patch, *result;
    } cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{\"a\":5}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const struct json *target = parse(cases[i].target);
        const struct json *patch = json_parse(&arena, cases[i].patch, strlen(cases[i].patch), NULL);

        assert_json(patch_merge(&arena, target, patch), cases[i].result);
        assert_json(target, cases[i].target); /* inputs stay as they are */
        assert_json(patch, cases[i].patch);
    }
}

static void the_result_shares_nothing_with_its_inputs(void **state)
{
    struct json *target = parse("{\"a\":{\"b\":1}}"), *patch = parse("{\"c\":{\"d\":2}}");
    struct json *result = patch_merge(&arena, target, patch);

    (void)state;
    json_set_int(&arena, json_get_mut(target, "a"), "b", 9);
    json_set_int(&arena, json_get_mut(patch, "c"), "d", 9);
    assert_json(result, "{\"a\":{\"b\":1},\"c\":{\"d\":2}}");
}

static void too_little_memory_gives_nothing(void **state)
{
    const struct json *target = parse("{\"a\":{\"b\":[1,2,3]}}"),
                      *patch = parse("{\"c\":{\"d\":2}}");

    (void)state;
    for (size_t limit = 0; limit < 1024; limit += 16) {
        struct arena small = ARENA_INIT(limit);
        struct json *v = patch_merge(&small, target, patch);

        if (v)
            assert_json(v, "{\"a\":{\"b\":[1,2,3]},\"c\":{\"d\":2}}");
        else
            assert_true(arena_failed(&small));
        arena_release(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_rfcs_examples, reset),
        cmocka_unit_test_setup(the_result_shares_nothing_with_its_inputs, reset),
        cmocka_unit_test_setup(too_little_memory_gives_nothing, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
