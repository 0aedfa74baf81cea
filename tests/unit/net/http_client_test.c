/* http_client_test.c - the client against a small server of sockets on the same loop. */
#include "net/http_client.h"

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
#include "net/curl_library.h"

#define CONNECTIONS_LIMIT 64
#define CALLS_AT_ONCE 32 /* of the client */

/* --- the server: answers by path --- */

struct connection {
    struct server *server;
    int fd;
    struct loop_fd *watch;
    struct buf in;
};

struct server {
    struct loop *loop;
    int fd, port;
    struct loop_fd *watch;
    struct connection connections[CONNECTIONS_LIMIT];
    unsigned accepted, hung_up;
    char last_request[8192];
    int stream_fd; /* of the last request for /stream */
    unsigned busy; /* requests for /busy to be refused */
};

static void say(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void hang_up(struct connection *c)
{
    loop_fd_stop(c->watch);
    close(c->fd);
    buf_release(&c->in);
    c->fd = -1;
    c->server->hung_up++;
}

static void answer(struct connection *c)
{
    const char *request = c->server->last_request;
    char path[64] = "";

    assert_int_equal(sscanf(request, "%*s %63s", path), 1);
    if (strcmp(path, "/stream") == 0) {
        c->server->stream_fd = c->fd;
        say(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    } else if (strcmp(path, "/refused") == 0) {
        say(c->fd, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    } else if (strcmp(path, "/busy") == 0 && c->server->busy > 0) {
        c->server->busy--;
        say(c->fd, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n"
                   "Content-Length: 4\r\n\r\nbusy");
    } else if (strcmp(path, "/later") == 0) {
        say(c->fd, "HTTP/1.1 503 No\r\nRetry-After: 3600\r\nContent-Length: 5\r\n\r\nlater");
    } else if (strcmp(path, "/cut") == 0) {
        say(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        hang_up(c);
    } else if (strcmp(path, "/never") != 0) {
        say(c->fd, "HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\nanswer");
    }
}

static bool is_whole(const struct buf *in)
{
    const char *end = in->data ? strstr(in->data, "\r\n\r\n") : NULL;
    const char *length = in->data ? strstr(in->data, "Content-Length: ") : NULL;
    size_t body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;

    return end && in->len - (size_t)(end + 4 - in->data) >= body;
}

static void on_bytes(void *arg, unsigned events)
{
    struct connection *c = arg;
    char text[4096];
    ssize_t n = read(c->fd, text, sizeof(text));

    (void)events;
    if (n <= 0) {
        hang_up(c);
        return;
    }
    buf_add(&c->in, text, (size_t)n);
    if (!is_whole(&c->in))
        return;
    (void)snprintf(c->server->last_request, sizeof(c->server->last_request), "%s", c->in.data);
    buf_clear(&c->in);
    answer(c);
}

static void on_connect(void *arg, unsigned events)
{
    struct server *s = arg;
    struct connection *c = &s->connections[s->accepted];

    (void)events;
    assert_true(s->accepted < CONNECTIONS_LIMIT);
    c->server = s;
    buf_init(&c->in, 1024 * 1024);
    c->fd = accept(s->fd, NULL, NULL);
    assert_true(c->fd >= 0);
    c->watch = loop_fd_watch(s->loop, c->fd, LOOP_READABLE, on_bytes, c);
    assert_non_null(c->watch);
    s->accepted++;
}

static void server_start(struct server *s, struct loop *l)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    *s = (struct server){.loop = l, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    for (size_t i = 0; i < CONNECTIONS_LIMIT; i++)
        s->connections[i].fd = -1;
    assert_int_equal(bind(s->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->fd, 16), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &len), 0);
    s->port = ntohs(address.sin_port);
    s->watch = loop_fd_watch(l, s->fd, LOOP_READABLE, on_connect, s);
    assert_non_null(s->watch);
}

static void server_stop(struct server *s)
{
    for (size_t i = 0; i < CONNECTIONS_LIMIT; i++)
        if (s->connections[i].fd >= 0)
            hang_up(&s->connections[i]);
    loop_fd_stop(s->watch);
    close(s->fd);
}

/* --- the client's side --- */

struct fixture {
    struct loop *loop;
    struct server server;
    struct http_client *client;
};

struct outcome {
    struct fixture *fixture;
    struct http_exchange *exchange;
    unsigned ended, pieces;
    int status;
    char error[256], body[256], streamed[256];
    bool cancel_on_data, pause_on_data, with_head;
    char head[512];
    struct outcome *start_next; /* from inside on_data */
};

static void start(struct outcome *o, struct fixture *f, const char *method, const char *path,
                  const char *body, bool stream);

static void on_end(void *arg, const struct http_result *result)
{
    struct outcome *o = arg;

    o->ended++;
    o->status = result->status;
    (void)snprintf(o->error, sizeof(o->error), "%s", result->error);
    (void)snprintf(o->body, sizeof(o->body), "%.*s", (int)result->body_len, result->body);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct outcome *o = arg;
    size_t have = strlen(o->streamed);

    o->pieces++;
    (void)snprintf(o->streamed + have, sizeof(o->streamed) - have, "%.*s", (int)len, data);
    if (o->start_next)
        start(o->start_next, o->fixture, "GET", "/plain", NULL, false);
    o->start_next = NULL;
    if (o->pause_on_data)
        http_exchange_pause(o->exchange, true);
    if (o->cancel_on_data)
        http_exchange_cancel(o->exchange);
}

static void on_header(void *arg, const char *line, size_t len)
{
    struct outcome *o = arg;
    size_t have = strlen(o->head);

    (void)snprintf(o->head + have, sizeof(o->head) - have, "%.*s", (int)len, line);
}

static void start_timed(struct outcome *o, struct fixture *f, const char *method, const char *path,
                        const char *body, bool stream, int64_t timeout_ms)
{
    static const char *const headers[] = {"Authorization: Bearer t0ken", "Accept: a/b", NULL};
    char url[128];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", f->server.port, path);
    o->fixture = f;
    o->exchange = http_client_start(
        f->client,
        &(struct http_request){.method = method,
                               .url = url,
                               .headers = headers,
                               .body = body,
                               .body_len = body ? strlen(body) : 0,
                               .timeout_ms = timeout_ms,
                               .busy_patience_ms = 2000,
                               .body_limit_bytes = 128},
        &(struct http_handler){.on_data = stream ? on_data : NULL,
                               .on_header = o->with_head ? on_header : NULL,
                               .on_end = on_end,
                               .arg = o});
    assert_non_null(o->exchange);
    assert_int_equal(o->ended, 0); /* never from inside */
}

static void start(struct outcome *o, struct fixture *f, const char *method, const char *path,
                  const char *body, bool stream)
{
    start_timed(o, f, method, path, body, stream, stream ? 0 : 10000);
}

static void wait_end(struct outcome *o)
{
    while (!o->ended)
        loop_run_once(o->fixture->loop);
    assert_int_equal(o->ended, 1);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->loop = loop_new(NULL);
    assert_non_null(f->loop);
    server_start(&f->server, f->loop);
    f->client = http_client_new(f->loop, &(struct reach){0}, NULL);
    assert_non_null(f->client);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    http_client_free(f->client);
    server_stop(&f->server);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void call_is_sent_and_answered(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};

    start(&o, f, "POST", "/plain?x=1", "{\"a\":1}", false);
    wait_end(&o);
    assert_int_equal(o.status, 201);
    assert_string_equal(o.body, "answer");
    assert_memory_equal(f->server.last_request, "POST /plain?x=1 HTTP/1.1\r\n", 26);
    assert_non_null(strstr(f->server.last_request, "Authorization: Bearer t0ken\r\n"));
    assert_non_null(strstr(f->server.last_request, "\r\n\r\n{\"a\":1}"));
    assert_null(strstr(f->server.last_request, "Expect:"));
}

static void connection_is_kept(void **state)
{
    struct fixture *f = *state;
    static const char *const methods[] = {"GET", "PUT", "PATCH", "DELETE", "DELETE"};

    for (size_t i = 0; i < ELEMS(methods); i++) {
        struct outcome o = {0};

        start(&o, f, methods[i], "/plain", i == 0 || i == 4 ? NULL : "{}", false);
        wait_end(&o);
        assert_int_equal(o.status, 201);
        assert_memory_equal(f->server.last_request, methods[i], strlen(methods[i]));
    }
    assert_int_equal(f->server.accepted, 1);
}

static void burst_waits_for_few_connections_that_are_kept(void **state)
{
    struct fixture *f = *state;
    struct outcome o[200] = {0};

    for (int round = 0; round < 2; round++) {
        memset(o, 0, sizeof(o));
        for (size_t i = 0; i < ELEMS(o); i++)
            start(&o[i], f, "POST", "/plain", "{}", false);
        for (size_t i = 0; i < ELEMS(o); i++) {
            wait_end(&o[i]);
            assert_int_equal(o[i].status, 201);
        }
        assert_in_range(f->server.accepted, 1, CALLS_AT_ONCE);
        assert_int_equal(f->server.hung_up, 0);
    }
}

static void stream_and_cancelling_need_not_wait(void **state)
{
    struct fixture *f = *state;
    struct outcome never[CALLS_AT_ONCE] = {0}, dropped = {0}, call = {0}, stream = {0};

    for (size_t i = 0; i < ELEMS(never); i++)
        start(&never[i], f, "GET", "/never", NULL, false);
    start(&dropped, f, "GET", "/plain", NULL, false);
    start(&call, f, "GET", "/plain", NULL, false);
    start(&stream, f, "GET", "/stream", NULL, true);
    while (!stream.pieces)
        loop_run_once(f->loop);
    assert_int_equal(call.ended, 0);
    http_exchange_cancel(dropped.exchange);
    http_exchange_cancel(never[5].exchange);
    wait_end(&call);
    assert_int_equal(call.status, 201);
    assert_int_equal(dropped.ended, 0);
    http_exchange_cancel(stream.exchange);
}

static void many_calls_at_once(void **state)
{
    struct fixture *f = *state;
    struct outcome o[8] = {0};

    for (size_t i = 0; i < ELEMS(o); i++)
        start(&o[i], f, "GET", "/plain", NULL, false);
    for (size_t i = 0; i < ELEMS(o); i++) {
        wait_end(&o[i]);
        assert_int_equal(o[i].status, 201);
    }
}

static void busy_server_is_asked_again_when_it_says(void **state)
{
    struct fixture *f = *state;
    struct outcome call = {0}, stream = {0};

    f->server.busy = 2;
    start(&call, f, "POST", "/busy", "{\"a\":1}", false);
    wait_end(&call);
    assert_int_equal(call.status, 201);
    assert_string_equal(call.body, "answer");
    assert_non_null(strstr(f->server.last_request, "\r\n\r\n{\"a\":1}"));
    f->server.busy = 1;
    start(&stream, f, "GET", "/busy", NULL, true);
    wait_end(&stream);
    assert_string_equal(stream.streamed, "answer");
}

static void busy_server_is_not_asked_for_ever(void **state)
{
    struct fixture *f = *state;
    struct outcome often = {0}, late = {0};

    f->server.busy = 10;
    start(&often, f, "GET", "/busy", NULL, false);
    wait_end(&often);
    assert_int_equal(often.status, 429);
    assert_string_equal(often.body, "busy");
    assert_int_equal(f->server.busy, 7);
    start(&late, f, "GET", "/later", NULL, false);
    wait_end(&late);
    assert_int_equal(late.status, 503);
}

static void calls_delayed_by_a_busy_server_delay_no_others(void **state)
{
    struct fixture *f = *state;
    struct outcome held[CALLS_AT_ONCE] = {0}, call = {0};

    f->server.busy = 3 * CALLS_AT_ONCE;
    for (size_t i = 0; i < ELEMS(held); i++)
        start(&held[i], f, "GET", "/busy", NULL, false);
    start(&call, f, "GET", "/plain", NULL, false);
    wait_end(&call);
    assert_int_equal(call.status, 201);
    for (size_t i = 0; i < ELEMS(held); i++)
        assert_int_equal(held[i].ended, 0);
    http_exchange_cancel(held[0].exchange); /* the others go with the client */
}

static void stream_is_given_piece_by_piece(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};

    start(&o, f, "GET", "/stream", NULL, true);
    while (o.pieces < 1)
        loop_run_once(f->loop);
    assert_string_equal(o.streamed, "hello");
    say(f->server.stream_fd, "6\r\n world\r\n");
    while (o.pieces < 2)
        loop_run_once(f->loop);
    assert_string_equal(o.streamed, "hello world");
    assert_int_equal(o.ended, 0);
    say(f->server.stream_fd, "0\r\n\r\n");
    wait_end(&o);
    assert_int_equal(o.status, 200);
    assert_string_equal(o.body, "");
}

static void refused_stream_has_a_body(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};

    start(&o, f, "GET", "/refused", NULL, true);
    wait_end(&o);
    assert_int_equal(o.status, 403);
    assert_string_equal(o.body, "no");
    assert_int_equal(o.pieces, 0);
}

static void broken_answer_is_no_answer(void **state)
{
    struct fixture *f = *state;
    struct outcome call = {0}, stream = {0};

    start(&call, f, "GET", "/cut", NULL, false);
    wait_end(&call);
    assert_int_equal(call.status, 0);
    assert_true(call.error[0] != '\0');
    start(&stream, f, "GET", "/cut", NULL, true);
    wait_end(&stream);
    assert_int_equal(stream.status, 0);
    assert_string_equal(stream.streamed, "half");
}

static void nobody_listens(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};

    f->server.port = 1; /* reserved; nothing is there */
    start(&o, f, "GET", "/plain", NULL, false);
    wait_end(&o);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.error, "127.0.0.1"));
}

static void call_without_answer_times_out(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};

    start_timed(&o, f, "GET", "/never", NULL, false, 50);
    wait_end(&o);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.error, "timed out"));
}

static void answer_over_the_ceiling_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {0};
    char url[64];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/plain", f->server.port);
    o.fixture = f;
    o.exchange = http_client_start(
        f->client, &(struct http_request){.method = "GET", .url = url, .body_limit_bytes = 3},
        &(struct http_handler){.on_end = on_end, .arg = &o});
    assert_non_null(o.exchange);
    wait_end(&o);
    assert_int_equal(o.status, 0);
    assert_string_equal(o.error, "the answer is too large");
}

static void cancelled_exchange_is_silent(void **state)
{
    struct fixture *f = *state;
    struct outcome early = {0}, waiting = {0}, other = {0};

    start(&early, f, "GET", "/never", NULL, false);
    http_exchange_cancel(early.exchange);
    start(&waiting, f, "GET", "/stream", NULL, true);
    while (!waiting.pieces)
        loop_run_once(f->loop);
    http_exchange_cancel(waiting.exchange);
    start(&other, f, "GET", "/plain", NULL, false);
    wait_end(&other);
    while (f->server.hung_up == 0) /* the stream's connection is given up */
        loop_run_once(f->loop);
    assert_int_equal(early.ended + waiting.ended, 0);
}

static void handler_may_cancel_itself_and_start_others(void **state)
{
    struct fixture *f = *state;
    struct outcome next = {0};
    struct outcome o = {.cancel_on_data = true, .start_next = &next};

    start(&o, f, "GET", "/stream", NULL, true);
    while (!o.pieces)
        loop_run_once(f->loop);
    wait_end(&next);
    assert_int_equal(next.status, 201);
    assert_int_equal(o.ended, 0);
    assert_int_equal(o.pieces, 1);
}

static void client_freed_with_exchanges_under_way(void **state)
{
    struct fixture *f = *state;
    struct outcome a = {0}, b = {0};

    start(&a, f, "GET", "/never", NULL, false);
    start(&b, f, "GET", "/stream", NULL, true);
    while (!b.pieces)
        loop_run_once(f->loop);
    http_client_free(f->client);
    f->client = NULL;
    assert_int_equal(a.ended + b.ended, 0);
}

/* Paused, the server has to wait: not even the end comes before what was kept. */
static void paused_stream_waits(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {.pause_on_data = true};
    struct outcome other = {0};

    start(&o, f, "GET", "/stream", NULL, true);
    while (o.pieces < 1)
        loop_run_once(f->loop);
    say(f->server.stream_fd, "5\r\nlater\r\n0\r\n\r\n");
    start(&other, f, "GET", "/plain", NULL, false);
    wait_end(&other); /* others go on */
    assert_int_equal(o.pieces, 1);
    assert_int_equal(o.ended, 0);
    o.pause_on_data = false;
    http_exchange_pause(o.exchange, false);
    assert_int_equal(o.pieces, 1); /* never from inside */
    wait_end(&o);
    assert_string_equal(o.streamed, "hellolater");
    assert_int_equal(o.status, 200);
}

static void paused_stream_may_be_cancelled(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {.pause_on_data = true}, other = {0};

    start(&o, f, "GET", "/stream", NULL, true);
    while (o.pieces < 1)
        loop_run_once(f->loop);
    say(f->server.stream_fd, "5\r\nlater\r\n");
    start(&other, f, "GET", "/plain", NULL, false);
    wait_end(&other);
    http_exchange_pause(o.exchange, false); /* to be resumed, and then not */
    http_exchange_cancel(o.exchange);
    while (!f->server.hung_up)
        loop_run_once(f->loop);
    assert_int_equal(o.pieces, 1);
    assert_int_equal(o.ended, 0);
}

static void head_comes_before_the_body_whatever_the_status(void **state)
{
    struct fixture *f = *state;
    struct outcome o = {.with_head = true};

    start(&o, f, "GET", "/refused", NULL, true);
    wait_end(&o);
    assert_string_equal(o.head, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n");
    assert_string_equal(o.streamed, "no");
    assert_string_equal(o.body, "");
    assert_int_equal(o.status, 403);
}

static void missing_library_names_its_package(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    assert_null(curl_library_load_file("libcurl-none.so.4", &err));
    assert_non_null(strstr(err.text, "libcurl-none.so.4"));
    assert_non_null(strstr(err.hint, "libcurl3-gnutls"));
}

static void other_library_is_not_taken_for_it(void **state)
{
    auto_err err = ERR_INIT;

    (void)state;
    assert_null(curl_library_load_file("libm.so.6", &err));
    assert_non_null(strstr(err.text, "curl_"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(call_is_sent_and_answered),
        TEST(connection_is_kept),
        TEST(many_calls_at_once),
        TEST(burst_waits_for_few_connections_that_are_kept),
        TEST(stream_and_cancelling_need_not_wait),
        TEST(busy_server_is_asked_again_when_it_says),
        TEST(busy_server_is_not_asked_for_ever),
        TEST(calls_delayed_by_a_busy_server_delay_no_others),
        TEST(stream_is_given_piece_by_piece),
        TEST(refused_stream_has_a_body),
        TEST(broken_answer_is_no_answer),
        TEST(nobody_listens),
        TEST(call_without_answer_times_out),
        TEST(answer_over_the_ceiling_is_an_error),
        TEST(cancelled_exchange_is_silent),
        TEST(handler_may_cancel_itself_and_start_others),
        TEST(client_freed_with_exchanges_under_way),
        TEST(paused_stream_waits),
        TEST(paused_stream_may_be_cancelled),
        TEST(head_comes_before_the_body_whatever_the_status),
        cmocka_unit_test(missing_library_names_its_package),
        cmocka_unit_test(other_library_is_not_taken_for_it),
    };

    return cmocka_run_group_tests_name("net/http_client", tests, NULL, NULL);
}
