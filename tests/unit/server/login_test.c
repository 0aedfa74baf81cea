/* login_test.c - browsers sign in: how long a code and a cookie are good, whose they are, and what
 * a cookie is not enough for. */
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

/* "Cookie: name=value\r\n" of the answer's Set-Cookie; NULL without one. */
static const char *cookie_of(struct fixture *f, const char *answer)
{
    const char *set = strstr(answer, "Set-Cookie: ");

    return set ? arena_printf(&f->arena, "Cookie: other=1; %.*s\r\n",
                              (int)strcspn(set + strlen("Set-Cookie: "), ";"),
                              set + strlen("Set-Cookie: "))
               : NULL;
}

static const char *sign_in(struct fixture *f)
{
    const char *answer;

    assert_int_equal(http(f, "POST /console/v1/login", HOST, "{\"token\":\"" TOKEN "\"}", &answer),
                     204);
    assert_null(strstr(answer, TOKEN));
    assert_non_null(strstr(answer, "Set-Cookie: muster_session_7447=o."));
    assert_non_null(strstr(answer, "HttpOnly; SameSite=Strict"));
    return cookie_of(f, answer);
}

static int ask_with_cookie(struct fixture *f, const char *line, const char *host,
                           const char *cookie, const char *more)
{
    const char *answer;

    return http(f, line, arena_printf(&f->arena, "%s%s%s", host, cookie, more), "", &answer);
}

static void a_cookie_is_good_for_a_week(void **state)
{
    struct fixture *f = *state;
    const char *cookie = sign_in(f);

    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie, ""), 200);
    fake_clock_advance(&f->clock, 7 * 24 * HOUR_MS - 1000);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie, ""), 200);
    fake_clock_advance(&f->clock, 2000);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie, ""), 401);
}

static void a_cookie_that_was_changed_is_worth_nothing(void **state)
{
    struct fixture *f = *state;
    const char *cookie = sign_in(f);
    char *forged = arena_strdup(&f->arena, cookie);
    char *digit = strstr(forged, "=o.") + 3;

    *digit = (char)(*digit + 1); /* a longer life */
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, forged, ""), 401);
    for (const char *const *v = (const char *const[]){"o.", "o.99999999999999", "o..", "t.", "t.x",
                                                      "", "o.99999999999999.", NULL};
         *v; v++)
        assert_int_equal(
            ask_with_cookie(f, "GET /api/v1/pods", HOST,
                            arena_printf(&f->arena, "Cookie: muster_session_7447=%s\r\n", *v), ""),
            401);
}

static void a_cookie_is_of_one_port(void **state)
{
    struct fixture *f = *state;
    const char *cookie = sign_in(f);

    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", "Host: 127.0.0.1:7448\r\n", cookie, ""),
                     401);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", "Host: [::1]\r\n", cookie, ""), 401);
}

static void what_a_cookie_is_not_enough_for(void **state)
{
    static const char header[] = "X-Muster-Console: 1\r\n";
    struct fixture *f = *state;
    const char *cookie = sign_in(f);

    assert_int_equal(ask_with_cookie(f, "DELETE /api/v1/pods", HOST, cookie, ""), 403);
    assert_int_equal(ask_with_cookie(f, "POST /console/v1/code", HOST, cookie, ""), 403);
    assert_int_equal(ask_with_cookie(f, "POST /console/v1/code", HOST, cookie, header), 201);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie, "Upgrade: websocket\r\n"),
                     403);
    assert_int_equal(
        ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie, "Origin: http://127.0.0.1:1\r\n"),
        403);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", "Host: evil.example\r\n", cookie, ""),
                     403);
}

static void a_code_is_good_once_and_for_ten_minutes(void **state)
{
    struct fixture *f = *state;
    char code[SERVER_LOGIN_CODE_SIZE], late[SERVER_LOGIN_CODE_SIZE];
    const char *answer;

    server_login_code(f->server, code);
    server_login_code(f->server, late);
    assert_int_equal(
        http(f, arena_printf(&f->arena, "GET /login?code=%s", code), HOST, "", &answer), 303);
    assert_int_equal(ask_with_cookie(f, "GET /api/v1/pods", HOST, cookie_of(f, answer), ""), 200);
    assert_int_equal(
        http(f, arena_printf(&f->arena, "GET /login?code=%s", code), HOST, "", &answer), 303);
    assert_null(cookie_of(f, answer));
    fake_clock_advance(&f->clock, 10 * 60 * 1000);
    assert_int_equal(
        http(f, arena_printf(&f->arena, "GET /login?code=%s", late), HOST, "", &answer), 303);
    assert_null(cookie_of(f, answer));
}

static void a_wrong_token_signs_nobody_in(void **state)
{
    static const char *const bodies[] = {
        "", "{}", "{\"token\":\"\"}", "{\"token\":\"s3cre\"}", "[]", "{\"token\":5}"};
    struct fixture *f = *state;
    const char *answer;

    for (size_t i = 0; i < ELEMS(bodies); i++) {
        assert_int_equal(http(f, "POST /console/v1/login", HOST, bodies[i], &answer), 401);
        assert_null(cookie_of(f, answer));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cookie_is_good_for_a_week),
        TEST(a_cookie_that_was_changed_is_worth_nothing),
        TEST(a_cookie_is_of_one_port),
        TEST(what_a_cookie_is_not_enough_for),
        TEST(a_code_is_good_once_and_for_ten_minutes),
        TEST(a_wrong_token_signs_nobody_in),
    };

    return cmocka_run_group_tests_name("server/login", tests, NULL, NULL);
}
