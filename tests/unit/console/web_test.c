/* web_test.c - which requests are for pages, and what is answered to them; with or without the
 * console's files linked in. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "console/assets.h"
#include "console/web.h"

static void pages_and_what_is_not_one(void **state)
{
    static const char html[] = "text/html,application/xhtml+xml,*/*;q=0.8";
    static const struct {
        const char *method, *path, *accept;
        bool page;
    } cases[] = {
        {"GET", "/", html, true},
        {"HEAD", "/jobs", html, true},
        {"GET", "/jobs/default/MPIJob/api/logs", html, true},
        {"GET", "/apiary", html, true},
        {"GET", "/assets/main.1.js", NULL, true},
        {"GET", "/assets/../token", "*/*", true},
        {"POST", "/assets/main.1.js", html, false},
        {"POST", "/jobs", html, false},
        {"GET", "/jobs", NULL, false},
        {"GET", "/", "application/json", false},
        {"GET", "/api", html, false},
        {"GET", "/api/v1/pods", html, false},
        {"GET", "/apis/batch/v1", html, false},
        {"GET", "/console/v1/stream", html, false},
        {"GET", "/board/x", html, false},
        {"GET", "/tensorboard/a/b/", html, true},
        {"GET", "/version", html, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        if (web_wants(cases[i].method, cases[i].path, cases[i].accept) != cases[i].page)
            fail_msg("%s %s", cases[i].method, cases[i].path);
}

/* --- over a real server ----------------------------------------------------------------- */

struct fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct buf answer;
};

static void handle(void *arg, struct httpd_request *http)
{
    struct mount_request r = {.http = http};

    web_handle(arg, &r);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->loop = loop_new(NULL);
    f->httpd = httpd_new(
        &(struct httpd_options){.loop = f->loop, .address = "127.0.0.1:0", .handle = handle}, NULL);
    assert_non_null(f->httpd);
    buf_init(&f->answer, 16u << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    httpd_free(f->httpd);
    loop_free(f->loop);
    buf_release(&f->answer);
    free(f);
    return 0;
}

static const char *ask(struct fixture *f, const char *line, const char *headers)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)httpd_port(f->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[4096];
    ssize_t n;

    buf_clear(&f->answer);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    n = snprintf(bytes, sizeof(bytes), "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
                 line, headers);
    assert_int_equal(send(fd, bytes, (size_t)n, 0), n);
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) != 0) {
        if (n > 0)
            buf_add(&f->answer, bytes, (size_t)n);
        else
            loop_run_once(f->loop);
    }
    close(fd);
    return f->answer.data;
}

static void every_page_has_a_policy_and_a_nonce_of_its_own(void **state)
{
    struct fixture *f = *state;
    char first[64] = "", second[64] = "";
    const char *answer = ask(f, "GET /jobs", "");

    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    assert_non_null(
        strstr(answer, "Content-Security-Policy: default-src 'none'; script-src 'self'"));
    assert_non_null(strstr(answer, "frame-ancestors 'none'"));
    assert_null(strstr(answer, "unsafe-"));
    assert_null(strstr(answer, "{{NONCE}}"));
    assert_non_null(strstr(answer, "Cache-Control: no-cache"));
    assert_int_equal(sscanf(strstr(answer, "'nonce-"), "'nonce-%63[^']", first), 1);
    answer = ask(f, "GET /jobs", "");
    assert_int_equal(sscanf(strstr(answer, "'nonce-"), "'nonce-%63[^']", second), 1);
    assert_string_not_equal(first, second);
    assert_int_equal(strstr(answer, "CONSOLE=0") != NULL, console_assets_len == 0);
    answer = ask(f, "HEAD /jobs", "");
    assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
}

static void files_are_found_by_their_whole_name(void **state)
{
    struct fixture *f = *state;

    assert_memory_equal(ask(f, "GET /assets/", ""), "HTTP/1.1 404", 12);
    assert_memory_equal(ask(f, "GET /assets/none.js", ""), "HTTP/1.1 404", 12);
    assert_memory_equal(ask(f, "GET /assets/../index.html", ""), "HTTP/1.1 404", 12);
    for (size_t i = 0; i < console_assets_len; i++) {
        const struct asset *a = &console_assets[i];
        char line[256], headers[256];

        if (strncmp(a->path, "/assets/", 8) != 0)
            continue;
        if (i > 0)
            assert_true(strcmp(console_assets[i - 1].path, a->path) < 0);
        (void)snprintf(line, sizeof(line), "GET %s", a->path);
        (void)snprintf(headers, sizeof(headers), "If-None-Match: %s\r\n", a->etag);
        assert_memory_equal(ask(f, line, headers), "HTTP/1.1 304", 12);
        assert_memory_equal(ask(f, line, ""), "HTTP/1.1 200", 12);
        assert_null(strstr(f->answer.data, "Content-Encoding"));
        if (a->br) {
            (void)ask(f, line, "Accept-Encoding: gzip;q=0.5, br\r\n");
            assert_non_null(strstr(f->answer.data, "Content-Encoding: br"));
            (void)ask(f, line, "Accept-Encoding: brotli, br;q=0, gzip\r\n");
            assert_non_null(strstr(f->answer.data, "Content-Encoding: gzip"));
        }
    }
}

static void the_hash_says_whether_they_are_there(void **state)
{
    (void)state;
    assert_int_equal(*web_hash() != '\0', console_assets_len > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_and_what_is_not_one),
        TEST(every_page_has_a_policy_and_a_nonce_of_its_own),
        TEST(files_are_found_by_their_whole_name),
        cmocka_unit_test(the_hash_says_whether_they_are_there),
    };

    return cmocka_run_group_tests_name("console/web", tests, NULL, NULL);
}
