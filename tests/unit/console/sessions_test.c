/* sessions_test.c - who is signed in, until when, and codes that are good once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "console/sessions.h"
#include "fake_clock.h"

struct fixture {
    struct fake_clock clock;
    struct sessions sessions;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fake_clock_init(&f->clock);
    sessions_init(&f->sessions, &f->clock.clock);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sessions_release(&f->sessions);
    fake_clock_release(&f->clock);
    free(f);
    return 0;
}

static void each_has_its_own_token_and_end(void **state)
{
    struct fixture *f = *state;
    const struct session_entry *a = session_begin(&f->sessions, "token-a", "anna"), *b;
    char name[SESSION_NAME_SIZE];

    assert_non_null(a);
    (void)snprintf(name, sizeof(name), "%s", a->name);
    fake_clock_advance(&f->clock, 1000);
    b = session_begin(&f->sessions, "token-b", "bert");
    assert_string_not_equal(name, b->name);
    assert_null(strstr(b->name, "token"));
    assert_string_equal(session_find(&f->sessions, name)->token, "token-a");
    assert_string_equal(session_find(&f->sessions, b->name)->user, "bert");
    assert_null(session_find(&f->sessions, ""));
    assert_null(session_find(&f->sessions, "made-up"));
    name[5] ^= 1;
    assert_null(session_find(&f->sessions, name));
    name[5] ^= 1;
    fake_clock_advance(&f->clock, SESSION_MS - 1000);
    assert_null(session_find(&f->sessions, name));
    assert_non_null(session_find(&f->sessions, b->name));
    session_end(&f->sessions, b->name);
    assert_null(session_find(&f->sessions, b->name));
    session_end(&f->sessions, "");
}

static void the_one_that_ends_first_makes_room(void **state)
{
    struct fixture *f = *state;
    char first[SESSION_NAME_SIZE], second[SESSION_NAME_SIZE];

    for (size_t i = 0; i <= SESSIONS_LIMIT; i++) {
        const struct session_entry *e = session_begin(&f->sessions, "t", "u");

        assert_non_null(e);
        if (i < 2)
            (void)snprintf(i ? second : first, sizeof(first), "%s", e->name);
        fake_clock_advance(&f->clock, 1);
    }
    assert_null(session_find(&f->sessions, first));
    assert_non_null(session_find(&f->sessions, second));
}

static void codes_are_good_once_and_not_for_long(void **state)
{
    struct fixture *f = *state;
    char code[SESSION_NAME_SIZE], other[SESSION_NAME_SIZE];
    char *token;

    assert_true(session_code_make(&f->sessions, "token-a", code));
    assert_true(session_code_make(&f->sessions, "token-b", other));
    assert_null(session_code_take(&f->sessions, ""));
    assert_null(session_code_take(&f->sessions, "made-up"));
    token = session_code_take(&f->sessions, code);
    assert_string_equal(token, "token-a");
    free(token);
    assert_null(session_code_take(&f->sessions, code));
    fake_clock_advance(&f->clock, SESSION_CODE_MS);
    assert_null(session_code_take(&f->sessions, other));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_has_its_own_token_and_end),
        TEST(the_one_that_ends_first_makes_room),
        TEST(codes_are_good_once_and_not_for_long),
    };

    return cmocka_run_group_tests_name("console/sessions", tests, NULL, NULL);
}
