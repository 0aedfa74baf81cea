/*
 * app_proxy_test.c - the proxy on a cluster, where a TensorBoard's own pod says where it
 * is; and what becomes of requests when the proxy goes away. The rest is in
 * tests/e2e/tensorboard_test.py, with a whole daemon.
 */
#include "console/app_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "script_transport.h"

#define TURNS_LIMIT 2000

struct fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct script_transport api;
    struct app_proxy *proxy;
    bool may;
    int listener; /* stands for the pod */
    unsigned port;
    int client;
    struct loop_fd *client_watch, *listener_watch; /* so that the loop wakes */
};

static struct fixture *current;

static bool caller_may(const struct mount_request *r, const char *verb, const char *group,
                       const char *plural, const char *ns, const char *name)
{
    (void)r;
    assert_string_equal(verb, "get");
    assert_string_equal(group, "tensorstack.dev");
    assert_string_equal(plural, "tensorboards");
    assert_string_equal(ns, "ns");
    assert_string_equal(name, "b");
    return current->may;
}

static void handle(void *arg, struct httpd_request *http)
{
    struct fixture *f = arg;
    struct mount_request *r = arena_alloc(&http->arena, sizeof(*r));

    assert_non_null(r);
    *r = (struct mount_request){.http = http, .may = caller_may, .user = ""};
    app_proxy_handle(f->proxy, r);
}

static void woken(void *arg, unsigned events)
{
    (void)arg, (void)events;
}

static int listen_somewhere(unsigned *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static int connect_client(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    auto_err err = ERR_INIT;
    struct httpd_options o = {.address = "127.0.0.1:0", .handle = handle, .arg = f};

    *f = (struct fixture){.may = true};
    f->loop = loop_new(&err);
    assert_non_null(f->loop);
    o.loop = f->loop;
    f->httpd = httpd_new(&o, &err);
    assert_non_null(f->httpd);
    script_transport_init(&f->api);
    f->proxy = app_proxy_new(f->loop, &f->api.transport, NULL, &(struct idle_times){0});
    assert_non_null(f->proxy);
    f->listener = listen_somewhere(&f->port);
    f->listener_watch = loop_fd_watch(f->loop, f->listener, LOOP_READABLE, woken, f);
    f->client = connect_client(httpd_port(f->httpd));
    f->client_watch = loop_fd_watch(f->loop, f->client, LOOP_READABLE, woken, f);
    assert_non_null(f->client_watch);
    *state = current = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    app_proxy_free(f->proxy);
    loop_fd_stop(f->client_watch);
    loop_fd_stop(f->listener_watch);
    httpd_free(f->httpd);
    transport_free(&f->api.transport);
    loop_free(f->loop);
    (void)close(f->client);
    (void)close(f->listener);
    return 0;
}

/* The call the proxy makes next; of this method and with this in its path. */
static void expect_call(struct fixture *f, const char *method, const char *path)
{
    for (int i = 0; i < TURNS_LIMIT && !f->api.calls; i++)
        loop_run_once(f->loop);
    assert_non_null(f->api.calls);
    assert_string_equal(f->api.calls->method, method);
    if (!strstr(f->api.calls->path, path))
        fail_msg("%s instead of %s", f->api.calls->path, path);
}

static void answer(struct fixture *f, const char *fmt, ...) printf_like(2, 3);

static void answer(struct fixture *f, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    script_answer(&f->api, 200, text);
}

/* Until the text has come; buffer holds what came so far. */
static void read_until(struct fixture *f, int fd, char *buffer, size_t size, const char *text)
{
    size_t len = strlen(buffer);

    for (int i = 0; i < TURNS_LIMIT; i++) {
        ssize_t n = recv(fd, buffer + len, size - len - 1, MSG_DONTWAIT);

        if (n > 0)
            len += (size_t)n;
        buffer[len] = '\0';
        if (strstr(buffer, text))
            return;
        assert_int_not_equal(n, 0);
        loop_run_once(f->loop);
    }
    fail_msg("waited in vain for %s in %s", text, buffer);
}

static void read_to_the_end(struct fixture *f, char *buffer, size_t size)
{
    size_t len = strlen(buffer);

    for (int i = 0; i < TURNS_LIMIT; i++) {
        ssize_t n = recv(f->client, buffer + len, size - len - 1, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN))
            return;
        if (n > 0)
            len += (size_t)n;
        buffer[len] = '\0';
        loop_run_once(f->loop);
    }
    fail_msg("the connection stays open after %s", buffer);
}

static int accept_pod(struct fixture *f)
{
    for (int i = 0; i < TURNS_LIMIT; i++) {
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            return fd;
        loop_run_once(f->loop);
    }
    fail_msg("nobody connects");
    return -1;
}

static void ask(struct fixture *f, const char *path)
{
    char text[512];
    int len = snprintf(text, sizeof(text),
                       "GET %s HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n"
                       "Authorization: Bearer secret\r\n\r\n",
                       path);

    assert_int_equal(send(f->client, text, (size_t)len, MSG_NOSIGNAL), len);
}

static void answer_board(struct fixture *f)
{
    expect_call(f, "GET", "/apis/tensorstack.dev/v1beta1/namespaces/ns/tensorboards/b");
    answer(f, "{'metadata':{'name':'b','namespace':'ns','uid':'u'},'spec':{},"
              "'status':{'phase':'Running'}}");
    expect_call(f, "PATCH", "/tensorboards/b"); /* it was looked at */
    assert_non_null(strstr(f->api.calls->body, "muster.dev/last-used"));
    answer(f, "{}");
    expect_call(f, "GET", "/api/v1/namespaces/ns/pods/b-tb");
}

static void answer_pod(struct fixture *f, const char *owner, const char *address)
{
    answer(f,
           "{'metadata':{'name':'b-tb','ownerReferences':[{'uid':'%s','controller':true}]},"
           "'spec':{'containers':[{'name':'tensorboard','ports':[{'containerPort':%u}]}]},'status':"
           "{'podIP':'%s'}}",
           owner, f->port, address);
}

/* As far as the pod's having the request. */
static int reach_pod(struct fixture *f)
{
    char got[2048] = "";
    int pod;

    ask(f, "/tensorboard/ns/b/data?x=1");
    answer_board(f);
    answer_pod(f, "u", "127.0.0.1");
    pod = accept_pod(f);
    read_until(f, pod, got, sizeof(got), "\r\n\r\n");
    assert_ptr_equal(strstr(got, "GET /tensorboard/ns/b/data?x=1 HTTP/1.1\r\n"), got);
    assert_null(strstr(got, "secret"));
    assert_null(strstr(got, "Cookie"));
    return pod;
}

static void its_own_pod_is_asked(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 5\r\n"
                               "\r\nhello";
    struct fixture *f = *state;
    char got[4096] = "";
    int pod = reach_pod(f);

    assert_int_equal(send(pod, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    read_until(f, f->client, got, sizeof(got), "hello");
    assert_non_null(strstr(got, "Content-Type: text/x\r\n"));
    assert_non_null(strstr(got, "default-src 'self' "));
    (void)close(pod);
}

static void another_ones_pod_is_not(void **state)
{
    struct fixture *f = *state;
    char got[4096] = "";

    ask(f, "/tensorboard/ns/b/");
    answer_board(f);
    answer_pod(f, "other", "127.0.0.1");
    read_until(f, f->client, got, sizeof(got), "its pod does not exist yet");
    assert_ptr_equal(strstr(got, "HTTP/1.1 503 "), got);
    assert_int_equal(accept4(f->listener, NULL, NULL, SOCK_CLOEXEC), -1);
}

static void an_address_that_is_a_name_is_not_looked_up(void **state)
{
    struct fixture *f = *state;
    char got[4096] = "";

    ask(f, "/tensorboard/ns/b/");
    answer_board(f);
    answer_pod(f, "u", "localhost");
    read_until(f, f->client, got, sizeof(got), "its address is not known yet");
}

static void who_may_not_get_it_is_refused_without_asking(void **state)
{
    struct fixture *f = *state;
    char got[4096] = "";

    f->may = false;
    ask(f, "/tensorboard/ns/b/");
    read_until(f, f->client, got, sizeof(got), "may not get it");
    assert_ptr_equal(strstr(got, "HTTP/1.1 403 "), got);
    assert_int_equal(f->api.calls_made, 0);
}

static void requests_are_answered_when_it_goes(void **state)
{
    struct fixture *f = *state;
    char got[4096] = "";
    int pod = reach_pod(f);

    app_proxy_free(f->proxy);
    f->proxy = NULL;
    read_until(f, f->client, got, sizeof(got), "the server is stopping");
    (void)close(pod);
}

static void an_answer_under_way_is_cut_off_when_it_goes(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello";
    struct fixture *f = *state;
    char got[4096] = "";
    int pod = reach_pod(f);

    assert_int_equal(send(pod, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    read_until(f, f->client, got, sizeof(got), "hello");
    app_proxy_free(f->proxy);
    f->proxy = NULL;
    read_to_the_end(f, got, sizeof(got));
    assert_null(strstr(got, "\r\n0\r\n")); /* no end that looks like one */
    (void)close(pod);
}

static void a_client_that_goes_ends_the_connection_to_the_pod(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\n\r\nhello";
    struct fixture *f = *state;
    char got[4096] = "", byte;
    int pod = reach_pod(f);
    ssize_t n = -1;

    assert_int_equal(send(pod, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    read_until(f, f->client, got, sizeof(got), "hello");
    loop_fd_stop(f->client_watch);
    f->client_watch = NULL;
    (void)shutdown(f->client, SHUT_RDWR);
    for (int i = 0; i < TURNS_LIMIT && n != 0; i++) {
        n = recv(pod, &byte, 1, MSG_DONTWAIT);
        if (n != 0)
            loop_run_once(f->loop);
    }
    assert_int_equal(n, 0);
    (void)close(pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_own_pod_is_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_ones_pod_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_is_a_name_is_not_looked_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_may_not_get_it_is_refused_without_asking, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(requests_are_answered_when_it_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_under_way_is_cut_off_when_it_goes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_goes_ends_the_connection_to_the_pod, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("console app_proxy", tests, NULL, NULL);
}
