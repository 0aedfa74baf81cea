/* err_test.c - errors: the first counts, context is added, causes are kept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void the_first_error_counts(void **state)
{
    auto_err e = ERR_INIT;

    (void)state;
    assert_false(err_is_set(&e));
    assert_int_equal(err_set(&e, ERR_NOT_FOUND, "no %s", "pod"), -ENOENT);
    assert_int_equal(err_set(&e, ERR_CONFLICT, "later"), -EAGAIN);
    assert_string_equal(e.text, "no pod");
    assert_int_equal(e.reason, ERR_NOT_FOUND);
    err_context(&e, "job %d", 3);
    assert_string_equal(e.text, "job 3: no pod");
    err_hint(&e, "create it");
    assert_string_equal(e.hint, "create it");
}

static void a_null_error_is_fine_everywhere(void **state)
{
    auto_err from = ERR_INIT;

    (void)state;
    assert_int_equal(err_set(NULL, ERR_INVALID, "x"), -EINVAL);
    err_hint(NULL, "x");
    err_cause(NULL, "t", "f", 1, "x");
    err_context(NULL, "x");
    assert_false(err_is_set(NULL));
    err_set(&from, ERR_INVALID, "x");
    err_move(NULL, &from);
    assert_false(err_is_set(&from));
}

static void causes_keep_their_order(void **state)
{
    auto_err e = ERR_INIT;

    (void)state;
    err_cause(&e, "FieldValueInvalid", "spec.a", 3, "bad %d", 1);
    err_cause(&e, "FieldValueRequired", "spec.b", 0, "missing");
    assert_int_equal(e.reason, ERR_INVALID);
    assert_string_equal(e.causes->field, "spec.a");
    assert_string_equal(e.causes->text, "bad 1");
    assert_int_equal(e.causes->line, 3);
    assert_string_equal(e.causes->next->type, "FieldValueRequired");
    assert_null(e.causes->next->next);
}

static void an_error_moves(void **state)
{
    auto_err from = ERR_INIT;
    auto_err to = ERR_INIT;

    (void)state;
    err_set(&to, ERR_TIMEOUT, "old");
    err_set(&from, ERR_NOT_FOUND, "new");
    err_move(&to, &from);
    assert_string_equal(to.text, "new");
    assert_int_equal(to.reason, ERR_NOT_FOUND);
    assert_false(err_is_set(&from));
    assert_null(from.text);
}

static void too_many_words_leave_a_shorter_error_never_none(void **state)
{
    auto_err e = ERR_INIT;
    char *text = malloc(ERR_LIMIT_BYTES + 10);

    (void)state;
    memset(text, 'x', ERR_LIMIT_BYTES + 9);
    text[ERR_LIMIT_BYTES + 9] = '\0';
    assert_int_equal(err_set(&e, ERR_TOO_LARGE, "%s", text), -EFBIG);
    assert_true(err_is_set(&e));
    assert_string_equal(e.text, "out of memory");
    err_context(&e, "reading");
    err_cause(&e, "t", "f", 1, "x");
    assert_true(err_is_set(&e));
    free(text);
}

static void reasons_have_names_and_codes(void **state)
{
    (void)state;
    for (int r = ERR_BAD_REQUEST; r < ERR_REASON_COUNT; r++) {
        enum err_reason reason = (enum err_reason)r;

        assert_true(*err_reason_name(reason));
        assert_int_equal(err_reason_from_name(err_reason_name(reason)), reason);
        assert_in_range(err_http_code(reason), 400, 599);
        assert_true(err_errno(reason) < 0);
    }
    assert_int_equal(err_reason_from_name("Odd"), ERR_INTERNAL);
    assert_int_equal(err_http_code(ERR_INVALID), 422);
    assert_int_equal(err_http_code(ERR_EXPIRED), 410);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_counts),
        cmocka_unit_test(a_null_error_is_fine_everywhere),
        cmocka_unit_test(causes_keep_their_order),
        cmocka_unit_test(an_error_moves),
        cmocka_unit_test(too_many_words_leave_a_shorter_error_never_none),
        cmocka_unit_test(reasons_have_names_and_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
