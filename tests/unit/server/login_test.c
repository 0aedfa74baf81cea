/* login_test.c - browsers sign in: how long a code and a session are good, and for whom. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "fixture.h"

#define TOKEN "s3cret"
#define HOUR_MS ((int64_t)3600 * 1000)
#define HOST "Host: 127.0.0.1:7447\r\n"

static int set_up(void **state)
{
    return fixture_set_up_listening(state, TOKEN);
}

/* The code of the answer; all of it in *ret, in the fixture's arena. */
static int http(struct fixture *f, const char *line, const char *headers, const char *body,
                const char **ret)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)server_port(f->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *request = arena_printf(
        &f->arena, "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s", line,
        strlen(body), headers, body);
    struct buf in = BUF_INIT(1u << 20);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[4096];
    ssize_t n;

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) != 0) {
        if (n > 0)
            buf_add(&in, bytes, (size_t)n);
        else
            loop_run_once(f->loop);
    }
    close(fd);
    *ret = arena_strdup(&f->arena, in.data);
    buf_release(&in);
    return atoi(*ret + strlen("HTTP/1.1 "));
}

/* The key of the answer; NULL without one. */
static const char *key_of(struct fixture *f, const char *answer)
{
    const char *key = strstr(answer, SESSION_KEY_PREFIX);

    assert_null(strstr(answer, "Set-Cookie"));
    return key ? arena_strndup(&f->arena, key, strcspn(key, "\"")) : NULL;
}

static const char *sign_in(struct fixture *f)
{
    const char *answer;

    assert_int_equal(http(f, "POST /console/v1/login", HOST, "{\"token\":\"" TOKEN "\"}", &answer),
                     201);
    assert_null(strstr(answer, TOKEN));
    return key_of(f, answer);
}

static int ask_with_key(struct fixture *f, const char *line, const char *key, const char *more)
{
    const char *answer;

    return http(f, line,
                arena_printf(&f->arena, "%sAuthorization: Bearer %s\r\n%s",
                             strstr(more, "Host: ") ? "" : HOST, key, more),
                "", &answer);
}

static void a_session_is_good_for_a_day_after_its_use(void **state)
{
    struct fixture *f = *state;
    const char *key = sign_in(f);

    for (int day = 0; day < 7; day++) {
        assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 200);
        fake_clock_advance(&f->clock, 24 * HOUR_MS - 1000);
    }
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 200);
    fake_clock_advance(&f->clock, 8000); /* a week since it began */
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 401);
    key = sign_in(f);
    fake_clock_advance(&f->clock, 24 * HOUR_MS);
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 401);
}

static void sign_out_ends_it(void **state)
{
    struct fixture *f = *state;
    const char *key = sign_in(f), *other = sign_in(f);

    assert_int_equal(ask_with_key(f, "POST /console/v1/logout", key, ""), 204);
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 401);
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", other, ""), 200);
}

static void pages_elsewhere_get_nowhere_with_it(void **state)
{
    struct fixture *f = *state;
    const char *key = sign_in(f);

    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, "Origin: http://127.0.0.1:1\r\n"),
                     403);
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, "Host: evil.example\r\n"), 403);
}

static int sign_in_by_code(struct fixture *f, const char *code, const char **ret_key)
{
    const char *answer;
    int status = http(f, "POST /console/v1/login", HOST,
                      arena_printf(&f->arena, "{\"code\":\"%s\"}", code), &answer);

    *ret_key = key_of(f, answer);
    return status;
}

static void a_code_is_good_once_and_for_ten_minutes(void **state)
{
    struct fixture *f = *state;
    char code[SERVER_LOGIN_CODE_SIZE], late[SERVER_LOGIN_CODE_SIZE];
    const char *key;

    server_login_code(f->server, code);
    server_login_code(f->server, late);
    assert_int_equal(sign_in_by_code(f, code, &key), 201);
    assert_int_equal(ask_with_key(f, "GET /api/v1/pods", key, ""), 200);
    assert_int_equal(sign_in_by_code(f, code, &key), 401);
    assert_null(key);
    fake_clock_advance(&f->clock, 10 * 60 * 1000);
    assert_int_equal(sign_in_by_code(f, late, &key), 401);
    assert_null(key);
}

static void a_wrong_token_signs_nobody_in(void **state)
{
    static const char *const bodies[] = {
        "", "{}", "{\"token\":\"\"}", "{\"token\":\"s3cre\"}", "[]", "{\"token\":5}"};
    struct fixture *f = *state;
    const char *answer;

    for (size_t i = 0; i < ELEMS(bodies); i++) {
        assert_int_equal(http(f, "POST /console/v1/login", HOST, bodies[i], &answer), 401);
        assert_null(key_of(f, answer));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_good_for_a_day_after_its_use),
        TEST(sign_out_ends_it),
        TEST(pages_elsewhere_get_nowhere_with_it),
        TEST(a_code_is_good_once_and_for_ten_minutes),
        TEST(a_wrong_token_signs_nobody_in),
    };

    return cmocka_run_group_tests_name("server/login", tests, NULL, NULL);
}
