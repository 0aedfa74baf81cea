/* secret_test.c - comparing secrets. That it takes the same time for every wrong text is not
 * measured here: see secret.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/secret.h"

static void only_the_whole_text_is_equal(void **state)
{
    static const char *const wrong[] = {"",     "a",    "abc",      "abcde",
                                        "abce", "xbcd", "abcdabcd", "ABCD"};

    (void)state;
    assert_true(secret_equal("abcd", "abcd"));
    assert_true(secret_equal("\xff\x01", "\xff\x01"));
    for (size_t i = 0; i < ELEMS(wrong); i++)
        assert_false(secret_equal("abcd", wrong[i]));
}

static void no_secret_equals_nothing(void **state)
{
    (void)state;
    assert_false(secret_equal("", ""));
    assert_false(secret_equal("", "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_whole_text_is_equal),
        cmocka_unit_test(no_secret_equals_nothing),
    };

    return cmocka_run_group_tests_name("base/secret", tests, NULL, NULL);
}
