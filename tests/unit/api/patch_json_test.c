/* patch_json_test.c - RFC 6902: its appendix' examples as facts, and what is refused. */
#include "fixture.h"

#include "api/patch.h"
#include "base/json_keys.h"

/* What comes out, or the error's text after "reason: ". */
static const char *patched(const char *target, const char *operations)
{
    auto_err err = ERR_INIT;
    struct json *t = json_parse(&arena, target, strlen(target), NULL);
    struct json *o = json_parse(&arena, operations, strlen(operations), NULL);
    struct json *result = patch_json(&arena, t, o, &err);

    assert_false(arena_failed(&arena));
    assert_json(t, target); /* stays as it is */
    if (result) {
        assert_false(err_is_set(&err));
        return as_json(result);
    }
    return arena_printf(&arena, "%s: %s", err_reason_name(err.reason), err.text);
}

static void the_appendix_examples(void **state)
{
    static const struct {
        const char *target, *operations, *result;
    } cases[] = {
        /* A.1 to A.16, without those about equality of texts that JSON does not tell apart */
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
         "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
         "{\"foo\":\"bar\"}"},
        {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
         "{\"foo\":[\"bar\",\"baz\"]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}",
         "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
         "{\"baz\":\"boo\",\"foo\":\"bar\"}"},
        {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
         "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
         "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}"},
        {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
         "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
         "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}"},
        {"{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
         "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
         "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
         "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}"},
        {"{\"foo\":\"bar\"}",
         "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
         "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
         "{\"/\":9,\"~1\":10}"},
        {"{\"foo\":[\"bar\"]}",
         "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
         "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}"},
        /* ours */
        {"{\"a\":{\"b/c\":1,\"m~n\":2}}",
         "[{\"op\":\"replace\",\"path\":\"/a/b~1c\",\"value\":3},"
         "{\"op\":\"remove\",\"path\":\"/a/m~0n\"}]",
         "{\"a\":{\"b/c\":3}}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":{\"b\":2}}]", "{\"b\":2}"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", "[]"},
        {"{\"\":{\"\":1}}", "[{\"op\":\"replace\",\"path\":\"//\",\"value\":2}]",
         "{\"\":{\"\":2}}"},
        {"{\"a\":[1,2]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":9}]", "{\"a\":[1,9]}"},
        {"{\"a\":[1,2]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":3}]", "{\"a\":[1,2,3]}"},
        {"{\"a\":[1]}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/0\"}]", "{\"a\":[[1],1]}"},
        {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}"},
        {"{\"a\":{\"x\":1,\"y\":[2]}}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[2],\"x\":1}}]",
         "{\"a\":{\"x\":1,\"y\":[2]}}"},
        {"{\"a\":[1,2]}",
         "[{\"op\":\"remove\",\"path\":\"/a/1\"},{\"op\":\"add\",\"path\":\"/a/-\",\"value\":3}]",
         "{\"a\":[1,3]}"},
        {"{\"a\":1}", "[]", "{\"a\":1}"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_string_equal(patched(cases[i].target, cases[i].operations), cases[i].result);
}

static void what_does_not_fit_names_operation_and_path(void **state)
{
    static const struct {
        const char *target, *operations, *says;
    } cases[] = {
        {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]",
         "Invalid: JSON patch operation 0 (test \"/baz\"): the test failed"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]",
         "Invalid: JSON patch operation 0 (test \"/~01\"): the test failed"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]",
         "Invalid: JSON patch operation 0 (add \"/baz/bat\"): the path does not exist"},
        {"{\"a\":[]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":1}]",
         "Invalid: JSON patch operation 0 (add \"/a/1\"): the list has fewer"},
        {"{\"a\":[1]}", "[{\"op\":\"remove\",\"path\":\"/a/-\"}]",
         "Invalid: JSON patch operation 0 (remove \"/a/-\"): the path does not exist"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/01\",\"value\":1}]",
         "Invalid: JSON patch operation 0 (add \"/a/01\"): an element of a list"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]",
         "Invalid: JSON patch operation 0 (add \"/a/b\"): the path leads through"},
        {"{\"a\":1}",
         "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"remove\",\"path\":\"/c\"}]",
         "Invalid: JSON patch operation 1 (remove \"/c\"): the path does not exist"},
        {"{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
         "Invalid: JSON patch operation 0 (move \"/a/b\"): a value cannot be moved into itself"},
        {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/b\"}]",
         "Invalid: JSON patch operation 0 (copy \"/b\"): the path does not exist"},
        {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]",
         "Invalid: JSON patch operation 0 (remove \"\"): the whole object"},
        {"{}", "{\"op\":\"add\"}", "BadRequest: a JSON patch must be a list"},
        {"{}", "[{\"op\":\"frob\",\"path\":\"/a\"}]",
         "BadRequest: JSON patch operation 0 (frob \"/a\"): op must be one of"},
        {"{}", "[{\"path\":\"/a\"}]", "BadRequest: JSON patch operation 0 (? \"/a\"): op must be"},
        {"{}", "[5]", "BadRequest: JSON patch operation 0 (? \"\"): op must be"},
        {"{}", "[{\"op\":\"add\",\"value\":1}]",
         "BadRequest: JSON patch operation 0 (add \"\"): path must be a string"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\"}]",
         "BadRequest: JSON patch operation 0 (add \"/a\"): value is missing"},
        {"{}", "[{\"op\":\"copy\",\"path\":\"/a\"}]",
         "BadRequest: JSON patch operation 0 (copy \"/a\"): from must be a string"},
        {"{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]",
         "BadRequest: JSON patch operation 0 (add \"a\"): a path starts with /"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a~2\",\"value\":1}]",
         "BadRequest: JSON patch operation 0 (add \"/a~2\"): in a path, ~ is followed"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a~\",\"value\":1}]",
         "BadRequest: JSON patch operation 0 (add \"/a~\"): in a path, ~ is followed"},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\\u0000b\",\"value\":1}]", "BadRequest: "},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        const char *got = patched(cases[i].target, cases[i].operations);

        if (strncmp(got, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("\"%s\" is not \"%s\"", got, cases[i].says);
    }
}

static void the_target_stays_as_it_is(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target = parse("{\"a\":{\"b\":[1,2]}}");
    struct json *operations = parse("[{\"op\":\"remove\",\"path\":\"/a/b/0\"},"
                                    "{\"op\":\"test\",\"path\":\"/a\",\"value\":0}]");

    (void)state;
    assert_null(patch_json(&arena, target, operations, &err));
    assert_json(target, "{\"a\":{\"b\":[1,2]}}");
}

/* Copies into copies: without a bound 200 of them would be as deep as a recursion can go. */
static void nesting_is_bounded(void **state)
{
    struct buf text = BUF_INIT(1u << 20);
    const char *got;

    (void)state;
    buf_adds(&text, "[{\"op\":\"add\",\"path\":\"/x\",\"value\":{}}");
    for (int i = 0; i < 200; i++)
        buf_adds(&text, ",{\"op\":\"add\",\"path\":\"/y\",\"value\":{}},"
                        "{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/y/x\"},"
                        "{\"op\":\"move\",\"from\":\"/y\",\"path\":\"/x\"}");
    buf_adds(&text, "]");
    assert_false(text.failed);
    got = patched("{}", text.data);
    assert_non_null(strstr(got, "nested too deeply"));
    buf_release(&text);
}

static void too_many_operations_are_refused(void **state)
{
    struct json *operations = json_new_array(&arena);
    auto_err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i <= PATCH_JSON_OPERATIONS_LIMIT; i++)
        json_append(operations, json_new_null(&arena));
    assert_null(patch_json(&arena, parse("{}"), operations, &err));
    assert_int_equal(err.reason, ERR_TOO_LARGE);
}

/* Each copies what holds all copies before it. */
static void copies_do_not_grow_without_end(void **state)
{
    auto_err err = ERR_INIT;
    char text[4096] = "[";
    size_t n = 1;

    (void)state;
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "%s{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/x%d\"}",
                              i ? "," : "", i);
    (void)snprintf(text + n, sizeof(text) - n, "]");
    assert_null(patch_json(&arena, parse("{\"a\":{\"b\":1}}"), parse(text), &err));
    assert_int_equal(err.reason, ERR_TOO_LARGE);
    assert_false(arena_failed(&arena));
}

static void too_little_memory_gives_nothing(void **state)
{
    const struct json *target = parse("{\"a\":{\"b\":[1,2,3]}}");
    const struct json *operations = parse("[{\"op\":\"add\",\"path\":\"/a/c\",\"value\":{\"d\":1}},"
                                          "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/e\"}]");

    (void)state;
    for (size_t limit = 0; limit < 4096; limit += 16) {
        struct arena small = ARENA_INIT(limit);
        auto_err err = ERR_INIT;

        if (!patch_json(&small, target, operations, &err))
            assert_true(arena_failed(&small) || err_is_set(&err));
        arena_release(&small);
    }
}

/* Any JSON, however strange, gives a result or an error. */
static void strange_patches_do_no_harm(void **state)
{
    static const char *const words[] = {
        "{",        "}",          "[",        "]",        ":",          ",",
        "\"op\"",   "\"path\"",   "\"from\"", "1",        "null",       "\"value\"",
        "\"add\"",  "\"/a\"",     "\"/a/0\"", "\"move\"", "\"copy\"",   "\"\"",
        "\"test\"", "\"remove\"", "\"/a/-\"", "\"/\"",    "\"replace\""};
    const struct json *target = parse("{\"a\":[{\"b\":1},2],\"\":{}}");
    unsigned seed = 20261115, run = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct buf text = BUF_INIT(4096);
        struct arena own = ARENA_INIT(1u << 20);
        auto_err err = ERR_INIT;
        struct json *operations;

        buf_adds(&text, "[{\"op\":");
        for (int n = rand_r(&seed) % 14; n > 0; n--)
            buf_adds(&text, words[(size_t)rand_r(&seed) % ELEMS(words)]);
        buf_adds(&text, "}]");
        operations = json_parse(&own, text.data, text.len, NULL);
        if (operations) {
            run++;
            if (!patch_json(&own, target, operations, &err))
                assert_true(err_is_set(&err));
        }
        buf_release(&text);
        arena_release(&own);
    }
    assert_true(run > 50);
}

static void remove_fillers(struct json *v)
{
    struct json *next;

    for (struct json *m = json_first_mut(v); m; m = next) {
        next = m->next;
        if (m->key && strncmp(m->key, "filler-", 7) == 0)
            json_remove_item(v, m);
        else
            remove_fillers(m);
    }
}

static struct json *one_operation(const char *op, const char *path, const char *value)
{
    struct json *v = json_new_object(&arena);

    json_set_string(&arena, v, "op", op);
    json_set_string(&arena, v, "path", path);
    if (value)
        json_set_string(&arena, v, "value", value);
    return v;
}

static struct json *many_members(int count)
{
    struct buf text = BUF_INIT(16u << 20);
    struct json *v;

    buf_adds(&text, "{\"data\":{");
    for (int i = 0; i < count; i++)
        buf_addf(&text, "%s\"k%06d\":\"\"", i ? "," : "", i);
    buf_adds(&text, "},\"other\":{}}");
    v = json_parse(&arena, text.data, text.len, NULL);
    buf_release(&text);
    assert_non_null(v);
    return v;
}

/* So many that a search for each operation does not end in time. */
static void members_of_a_large_object_are_not_searched(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target, *operations = json_new_array(&arena), *result;

    (void)state;
    arena.limit_bytes = 512u << 20;
    target = many_members(1000000);
    for (int i = 0; i < 5000; i++) {
        const char *path = arena_printf(&arena, "/data/k%06d", 999999 - i);

        json_append(operations, one_operation(i % 2 ? "replace" : "remove", path, "new"));
        json_append(operations, i % 2 ? one_operation("test", path, "new")
                                      : one_operation("add", path, "again"));
    }
    result = patch_json(&arena, target, operations, &err);
    if (!result)
        fail_msg("%s", err.text);
    assert_int_equal(json_len(json_get(result, "data")), 1000000);
}

static void one_operation_needs_little_memory(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target, *operations = json_new_array(&arena);
    size_t before, copy;

    (void)state;
    target = many_members(100000);
    json_append(operations, one_operation("replace", "/data/k099999", "new"));
    before = arena.used_bytes;
    assert_non_null(json_clone(&arena, target));
    copy = arena.used_bytes - before;
    before = arena.used_bytes;
    assert_non_null(patch_json(&arena, target, operations, &err));
    assert_true(arena.used_bytes - before < copy + 4096);
}

static void steps_through_long_lists_are_bounded(void **state)
{
    auto_err err = ERR_INIT;
    struct json *target = json_new_object(&arena), *operations = json_new_array(&arena), *list;

    (void)state;
    list = json_make_array(&arena, target, "list");
    for (int i = 0; i < 100000; i++)
        json_append(list, json_new_null(&arena));
    for (int i = 0; i < 501; i++)
        json_append(operations, one_operation("replace", "/list/99999", "new"));
    assert_null(patch_json(&arena, target, operations, &err));
    assert_string_equal(err.text, "JSON patch operation 499 (replace \"/list/99999\"): the patch "
                                  "takes more than 50000000 steps through long lists: send fewer "
                                  "operations, or a merge patch");
    assert_int_equal(err.reason, ERR_TOO_LARGE);
}

/* What any sequence of operations gives is the same whether the object is large or not. */
static void large_objects_are_patched_like_small_ones(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "o"};
    static const char *const values[] = {"1", "{}", "{\"a\":{},\"b\":2}", "[3]"};
    unsigned seed = 20261117, applied = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct arena own = ARENA_INIT(8u << 20);
        struct json *small = json_new_object(&own), *large = json_new_object(&own);

        for (int i = 0; i < 3 * (int)JSON_KEYS_FROM; i++)
            json_set_int(&own, large, arena_printf(&own, "filler-%d", i), i);
        json_set(&own, large, "o", json_clone(&own, large));
        json_set(&own, small, "o", json_new_object(&own));
        for (int i = 0; i < 12; i++) {
            static const char *const ops[] = {"add", "remove", "replace", "move", "copy"};
            struct buf text = BUF_INIT(4096);
            auto_err one = ERR_INIT, other = ERR_INIT;
            struct json *operations, *after_small, *after_large;

            buf_adds(&text, "[");
            for (int n = rand_r(&seed) % 6 + 1; n > 0; n--) {
                buf_addf(&text, "{\"op\":\"%s\"", ops[(size_t)rand_r(&seed) % ELEMS(ops)]);
                for (int which = 0; which < 2; which++) {
                    buf_addf(&text, ",\"%s\":\"", which ? "from" : "path");
                    for (int depth = rand_r(&seed) % 2 + 1; depth > 0; depth--)
                        buf_addf(&text, "/%s", names[(size_t)rand_r(&seed) % ELEMS(names)]);
                    buf_adds(&text, "\"");
                }
                buf_addf(&text, ",\"value\":%s}%s", values[(size_t)rand_r(&seed) % ELEMS(values)],
                         n > 1 ? "," : "]");
            }
            operations = json_parse(&own, text.data, text.len, NULL);
            assert_non_null(operations);
            after_small = patch_json(&own, small, operations, &one);
            after_large = patch_json(&own, large, operations, &other);
            assert_false(arena_failed(&own));
            assert_string_equal(err_is_set(&one) ? one.text : "",
                                err_is_set(&other) ? other.text : "");
            buf_release(&text);
            if (!after_small)
                continue;
            applied++;
            small = after_small;
            large = after_large;
        }
        remove_fillers(large);
        assert_true(json_equal(small, large));
        arena_release(&own);
    }
    assert_true(applied > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_appendix_examples, reset),
        cmocka_unit_test_setup(what_does_not_fit_names_operation_and_path, reset),
        cmocka_unit_test_setup(the_target_stays_as_it_is, reset),
        cmocka_unit_test_setup(nesting_is_bounded, reset),
        cmocka_unit_test_setup(too_many_operations_are_refused, reset),
        cmocka_unit_test_setup(too_little_memory_gives_nothing, reset),
        cmocka_unit_test_setup(strange_patches_do_no_harm, reset),
        cmocka_unit_test_setup(copies_do_not_grow_without_end, reset),
        cmocka_unit_test_setup(members_of_a_large_object_are_not_searched, reset),
        cmocka_unit_test_setup(one_operation_needs_little_memory, reset),
        cmocka_unit_test_setup(steps_through_long_lists_are_bounded, reset),
        cmocka_unit_test_setup(large_objects_are_patched_like_small_ones, reset),
    };

    return cmocka_run_group_tests(tests, NULL, reset);
}
