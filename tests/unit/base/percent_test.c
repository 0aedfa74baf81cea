/* percent_test.c - what is encoded comes back, and what is malformed does not come through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/percent.h"

static struct arena arena = ARENA_INIT(64u * 1024u);

static const char *decoded(const char *text)
{
    return percent_decode(&arena, text, strlen(text));
}

static const char *query_decoded(const char *text)
{
    return percent_decode_query(&arena, text, strlen(text));
}

static void only_unreserved_characters_stay(void **state)
{
    struct buf out = BUF_INIT(1024);

    (void)state;
    percent_encode(&out, "aZ09-._~ +/?&=%\xc3\xa9");
    assert_string_equal(out.data, "aZ09-._~%20%2B%2F%3F%26%3D%25%C3%A9");
    buf_release(&out);
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        const char text[] = {'<', (char)c, '>', '\0'};
        struct buf out = BUF_INIT(64);

        percent_encode(&out, text);
        assert_string_equal(decoded(out.data), text);
        assert_string_equal(query_decoded(out.data), text);
        buf_release(&out);
    }
}

static void a_plus_is_a_space_in_queries_only(void **state)
{
    (void)state;
    assert_string_equal(decoded("a+b%2Bc"), "a+b+c");
    assert_string_equal(query_decoded("a+b%2Bc"), "a b+c");
}

static void digits_of_both_cases(void **state)
{
    (void)state;
    assert_string_equal(decoded("%c3%A9%2f"), "\xc3\xa9/");
    assert_int_equal(hex_digit('9'), 9);
    assert_int_equal(hex_digit('f'), 15);
    assert_int_equal(hex_digit('A'), 10);
    assert_int_equal(hex_digit('g'), -1);
    assert_int_equal(hex_digit('\0'), -1);
}

static void malformed_text_is_refused(void **state)
{
    static const char *const bad[] = {"%", "a%", "%4", "%4g", "%g4", "%%41", "%00", "a%00b"};

    (void)state;
    for (size_t i = 0; i < ELEMS(bad); i++) {
        assert_null(decoded(bad[i]));
        assert_null(query_decoded(bad[i]));
    }
    assert_null(percent_decode(&arena, "%41", 2)); /* not beyond its length */
    assert_false(arena_failed(&arena));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_unreserved_characters_stay),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(a_plus_is_a_space_in_queries_only),
        cmocka_unit_test(digits_of_both_cases),
        cmocka_unit_test(malformed_text_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    arena_release(&arena);
    return failed;
}
