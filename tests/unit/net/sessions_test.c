/* sessions_test.c - who is signed in, until when, what is kept of it, and codes that are good once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_clock.h"
#include "net/sessions.h"

#define LIFETIME_MS ((int64_t)7 * SESSION_IDLE_MS)

struct fixture {
    struct fake_clock clock;
    struct sessions sessions;
    char path[64];
    uint64_t ended; /* the last that did */
    unsigned ended_count;
};

static void on_ended(void *arg, uint64_t id)
{
    struct fixture *f = arg;

    f->ended = id;
    f->ended_count++;
}

static void open_sessions(struct fixture *f)
{
    assert_int_equal(
        sessions_init(&f->sessions, &(struct sessions_options){.clock = &f->clock.clock,
                                                               .lifetime_ms = LIFETIME_MS,
                                                               .path = f->path,
                                                               .ended = on_ended,
                                                               .arg = f}),
        0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int fd;

    assert_non_null(f);
    (void)snprintf(f->path, sizeof(f->path), "/tmp/muster-sessions-XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    (void)close(fd);
    fake_clock_init(&f->clock);
    open_sessions(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sessions_release(&f->sessions);
    fake_clock_release(&f->clock);
    (void)remove(f->path);
    free(f);
    return 0;
}

/* Its key, in static memory of its own. */
static const char *begin(struct fixture *f, const char *token, const char *user)
{
    static char keys[4][SESSION_KEY_SIZE];
    static unsigned n;
    char *key = keys[n++ % 4];

    assert_int_equal(session_begin(&f->sessions, token, user, key), 0);
    return key;
}

static void each_has_its_own_token(void **state)
{
    struct fixture *f = *state;
    const char *a = begin(f, "token-a", "anna"), *b = begin(f, "token-b", "bert");
    char wrong[SESSION_KEY_SIZE];

    assert_string_not_equal(a, b);
    assert_null(strstr(b, "token"));
    assert_true(session_is_key(a));
    assert_false(session_is_key("token-a"));
    assert_string_equal(session_find(&f->sessions, a)->token, "token-a");
    assert_string_equal(session_find(&f->sessions, b)->user, "bert");
    assert_null(session_find(&f->sessions, ""));
    assert_null(session_find(&f->sessions, SESSION_KEY_PREFIX));
    (void)snprintf(wrong, sizeof(wrong), "%s", a);
    wrong[strlen(wrong) - 1] ^= 1;
    assert_null(session_find(&f->sessions, wrong));
}

static void one_that_ended_is_told_and_gone(void **state)
{
    struct fixture *f = *state;
    const char *a = begin(f, "", "anna"), *b = begin(f, "", "bert");
    uint64_t id = session_find(&f->sessions, a)->id;

    session_end(&f->sessions, id);
    assert_true(f->ended == id);
    assert_null(session_find(&f->sessions, a));
    assert_non_null(session_find(&f->sessions, b));
    session_end(&f->sessions, id);
    session_end(&f->sessions, 0);
    assert_int_equal(f->ended_count, 1);
}

static void one_that_is_not_used_ends_after_a_day(void **state)
{
    struct fixture *f = *state;
    const char *a = begin(f, "", "anna");

    fake_clock_advance(&f->clock, SESSION_IDLE_MS - 1);
    assert_non_null(session_find(&f->sessions, a));
    fake_clock_advance(&f->clock, SESSION_IDLE_MS - 1);
    assert_int_equal(f->ended_count, 0);
    fake_clock_advance(&f->clock, 1);
    assert_null(session_find(&f->sessions, a));
    assert_int_equal(f->ended_count, 1); /* without a request: what is open must end */
}

static void one_that_is_used_ends_after_its_lifetime(void **state)
{
    struct fixture *f = *state;
    const char *a = begin(f, "", "anna");

    for (int64_t t = 0; t < LIFETIME_MS - SESSION_IDLE_MS / 2; t += SESSION_IDLE_MS / 2) {
        assert_non_null(session_find(&f->sessions, a));
        fake_clock_advance(&f->clock, SESSION_IDLE_MS / 2);
    }
    assert_non_null(session_find(&f->sessions, a));
    fake_clock_advance(&f->clock, SESSION_IDLE_MS / 2);
    assert_null(session_find(&f->sessions, a));
    assert_int_equal(f->ended_count, 1);
}

static void the_next_process_knows_them(void **state)
{
    struct fixture *f = *state;
    const char *a = begin(f, "token-a", "anna"), *b = begin(f, "", "bert");
    char text[4096] = "";
    FILE *file;

    session_end(&f->sessions, session_find(&f->sessions, b)->id);
    sessions_release(&f->sessions);
    file = fopen(f->path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    assert_null(strstr(text, a + strlen(SESSION_KEY_PREFIX)));
    open_sessions(f);
    assert_string_equal(session_find(&f->sessions, a)->token, "token-a");
    assert_null(session_find(&f->sessions, b));
    fake_clock_advance(&f->clock, SESSION_IDLE_MS);
    assert_null(session_find(&f->sessions, a));
}

static void a_file_that_is_none_signs_nobody_in(void **state)
{
    static const char *const texts[] = {"", "{", "[{}]", "[{\"hash\":\"00\"}]", "[1,null]"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(texts); i++) {
        FILE *file;

        sessions_release(&f->sessions);
        file = fopen(f->path, "we");
        assert_non_null(file);
        (void)fputs(texts[i], file);
        (void)fclose(file);
        open_sessions(f);
        assert_null(session_find(&f->sessions, ""));
        assert_true(f->sessions.entries[0].id == 0);
    }
}

static void who_has_too_many_loses_his_own(void **state)
{
    struct fixture *f = *state;
    char first[SESSION_KEY_SIZE], second[SESSION_KEY_SIZE], owner[SESSION_KEY_SIZE],
        other[SESSION_KEY_SIZE];

    (void)snprintf(owner, sizeof(owner), "%s", begin(f, "", "owner"));
    (void)snprintf(other, sizeof(other), "%s", begin(f, "t2", "other"));
    for (size_t i = 0; i < SESSIONS_LIMIT / 8; i++) {
        const char *key = begin(f, "t", "u");

        if (i < 2)
            (void)snprintf(i ? second : first, sizeof(first), "%s", key);
        fake_clock_advance(&f->clock, 1);
    }
    assert_non_null(session_find(&f->sessions, first));
    assert_int_equal(f->ended_count, 0);
    (void)begin(f, "t", "u");
    assert_non_null(session_find(&f->sessions, first));
    assert_null(session_find(&f->sessions, second));
    assert_int_equal(f->ended_count, 1);
    for (size_t i = 0; i <= SESSIONS_LIMIT; i++)
        (void)begin(f, "t", "u");
    assert_non_null(session_find(&f->sessions, owner));
    assert_non_null(session_find(&f->sessions, other));
}

static void all_accounts_together_leave_room_for_the_owner(void **state)
{
    struct fixture *f = *state;
    char key[SESSION_KEY_SIZE], user[32];
    const char *owner;

    for (unsigned i = 0; i < SESSIONS_LIMIT - SESSIONS_LIMIT / 4; i++) {
        (void)snprintf(user, sizeof(user), "user-%u", i);
        assert_int_equal(session_begin(&f->sessions, "t", user, key), 0);
    }
    assert_int_equal(session_begin(&f->sessions, "t", "one-more", key), -EBUSY);
    assert_int_equal(session_begin(&f->sessions, "t", "user-0", key), 0); /* his own makes room */
    owner = begin(f, "", "owner");
    for (size_t i = 0; i < SESSIONS_LIMIT; i++) {
        fake_clock_advance(&f->clock, 1);
        assert_non_null(session_find(&f->sessions, owner));
        fake_clock_advance(&f->clock, 1);
        assert_int_equal(session_begin(&f->sessions, "", "owner", key), 0);
    }
    assert_non_null(session_find(&f->sessions, owner));
}

static void unknown_tokens_have_separate_shares(void **state)
{
    struct fixture *f = *state;
    char first[SESSION_KEY_SIZE], key[SESSION_KEY_SIZE];

    assert_int_equal(session_begin(&f->sessions, "t0", SESSION_USER_UNKNOWN, first), 0);
    for (size_t i = 0; i <= SESSIONS_LIMIT / 8; i++)
        assert_int_equal(session_begin(&f->sessions, "t1", SESSION_USER_UNKNOWN, key), 0);
    assert_int_equal(f->ended_count, 1);
    assert_non_null(session_find(&f->sessions, first));
}

static void tokens_an_earlier_version_wrote_down_go(void **state)
{
    struct fixture *f = *state;
    char text[4096] = "", hash[2 * SHA256_BYTES + 1];
    FILE *file = fopen(f->path, "we");

    assert_non_null(file);
    memset(hash, 'a', sizeof(hash) - 1);
    hash[sizeof(hash) - 1] = '\0';
    (void)fprintf(file, "[{\"hash\":\"%s\",\"token\":\"s3cret\",\"user\":\"u\"}]", hash);
    (void)fclose(file);
    sessions_release(&f->sessions);
    open_sessions(f);
    assert_true(f->sessions.entries[0].id == 0);
    file = fopen(f->path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    assert_null(strstr(text, "s3cret"));
}

static void so_many_codes_and_none_is_pushed_out(void **state)
{
    struct fixture *f = *state;
    char first[SESSION_CODE_SIZE], code[SESSION_CODE_SIZE];
    char *token;

    assert_int_equal(session_code_make(&f->sessions, "t", first), 0);
    for (size_t i = 1; i < SESSION_CODES; i++)
        assert_int_equal(session_code_make(&f->sessions, "t", code), 0);
    assert_int_equal(session_code_make(&f->sessions, "t", code), -EBUSY);
    token = session_code_take(&f->sessions, first);
    assert_non_null(token);
    free(token);
    assert_int_equal(session_code_make(&f->sessions, "t", code), 0);
    fake_clock_advance(&f->clock, SESSION_CODE_MS);
    assert_int_equal(session_code_make(&f->sessions, "t", code), 0);
}

static void codes_are_good_once_and_not_for_long(void **state)
{
    struct fixture *f = *state;
    char code[SESSION_CODE_SIZE], other[SESSION_CODE_SIZE];
    char *token;

    assert_int_equal(session_code_make(&f->sessions, "token-a", code), 0);
    assert_int_equal(session_code_make(&f->sessions, "token-b", other), 0);
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
        TEST(each_has_its_own_token),
        TEST(one_that_ended_is_told_and_gone),
        TEST(one_that_is_not_used_ends_after_a_day),
        TEST(one_that_is_used_ends_after_its_lifetime),
        TEST(the_next_process_knows_them),
        TEST(a_file_that_is_none_signs_nobody_in),
        TEST(who_has_too_many_loses_his_own),
        TEST(all_accounts_together_leave_room_for_the_owner),
        TEST(unknown_tokens_have_separate_shares),
        TEST(tokens_an_earlier_version_wrote_down_go),
        TEST(so_many_codes_and_none_is_pushed_out),
        TEST(codes_are_good_once_and_not_for_long),
    };

    return cmocka_run_group_tests_name("net/sessions", tests, NULL, NULL);
}
