/* http_transport_test.c - calls and streams over real sockets: what is sent, and what becomes of a
 * server that is not there. */
#include "client/http_transport.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A server for one connection that answers whatever comes with the same text. */
struct fixture {
    struct loop *loop;
    int listener, connection;
    struct loop_fd *listening, *connected;
    const char *answer;
    char request[4096], url[64];
    struct transport *transport;
    unsigned replies, ends;
    int status;
    char body[512], data[512];
};

static void on_request(void *arg, unsigned events)
{
    struct fixture *f = arg;
    ssize_t n = read(f->connection, f->request, sizeof(f->request) - 1);

    (void)events;
    assert_true(n > 0);
    f->request[n] = '\0';
    assert_int_equal(write(f->connection, f->answer, strlen(f->answer)),
                     (ssize_t)strlen(f->answer));
    loop_fd_stop(f->connected);
    f->connected = NULL;
    close(f->connection);
}

static void on_connect(void *arg, unsigned events)
{
    struct fixture *f = arg;

    (void)events;
    f->connection = accept(f->listener, NULL, NULL);
    assert_true(f->connection >= 0);
    f->connected = loop_fd_watch(f->loop, f->connection, LOOP_READABLE, on_request, f);
    assert_non_null(f->connected);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    assert_non_null(f);
    f->loop = loop_new(NULL);
    assert_non_null(f->loop);
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(f->listener, 4), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    f->listening = loop_fd_watch(f->loop, f->listener, LOOP_READABLE, on_connect, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    transport_free(f->transport);
    loop_fd_stop(f->listening);
    close(f->listener);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void connect_with(struct fixture *f, const struct client_config *config)
{
    f->transport = http_transport_new(f->loop, config, NULL);
    assert_non_null(f->transport);
}

static void on_reply(void *arg, const struct api_reply *reply)
{
    struct fixture *f = arg;

    f->replies++;
    f->status = reply->status;
    (void)snprintf(f->body, sizeof(f->body), "%.*s", (int)reply->body_len, reply->body);
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct fixture *f = arg;

    f->ends++;
    on_reply(arg, reply);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct fixture *f = arg;

    strncat(f->data, data, min_size(len, sizeof(f->data) - strlen(f->data) - 1));
}

static void wait_reply(struct fixture *f)
{
    assert_int_equal(f->replies, 0); /* never from inside */
    while (!f->replies)
        loop_run_once(f->loop);
}

static void call_says_who_we_are_and_what_we_send(void **state)
{
    struct fixture *f = *state;

    f->answer = "HTTP/1.1 422 Unprocessable\r\nContent-Length: 2\r\n\r\n{}";
    connect_with(f, &(struct client_config){.server = f->url, .token = "t0ken"});
    transport_call(f->transport,
                   &(struct api_call){.method = "PATCH",
                                      .path = "/api/v1/pods?a=b",
                                      .content_type = "application/merge-patch+json",
                                      .body = "[1]",
                                      .body_len = 3},
                   on_reply, f);
    wait_reply(f);
    assert_int_equal(f->status, 422);
    assert_string_equal(f->body, "{}");
    assert_memory_equal(f->request, "PATCH /api/v1/pods?a=b HTTP/1.1\r\n", 33);
    assert_non_null(strstr(f->request, "\r\nAuthorization: Bearer t0ken\r\n"));
    assert_non_null(strstr(f->request, "\r\nContent-Type: application/merge-patch+json\r\n"));
    assert_non_null(strstr(f->request, "\r\nAccept: application/json\r\n"));
    assert_non_null(strstr(f->request, "\r\n\r\n[1]"));
}

static void ask(struct fixture *f)
{
    f->replies = 0;
    f->answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    transport_call(f->transport, &(struct api_call){.method = "GET", .path = "/version"}, on_reply,
                   f);
    wait_reply(f);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A cluster puts a new token where the old one was. */
static void changed_token_file_is_read_again(void **state)
{
    struct fixture *f = *state;
    char folder[] = "/tmp/muster-token-XXXXXX", path[64], next[64];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/token", folder);
    (void)snprintf(next, sizeof(next), "%s/next", folder);
    write_text(path, "first\n");
    connect_with(f,
                 &(struct client_config){.server = f->url, .token = "first", .token_file = path});
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer first\r\n"));
    write_text(next, "second\n");
    assert_int_equal(rename(next, path), 0);
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer second\r\n"));
    assert_int_equal(unlink(path), 0);
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer second\r\n"));
    assert_int_equal(rmdir(folder), 0);
}

/* Each run gives the next token, the second an expired one. */
static void plugin_is_run_again_when_refused_or_expired(void **state)
{
    static const char script[] = "n=$(($(cat $COUNT) + 1)); echo $n >$COUNT; [ $n != 2 ] || "
                                 "t=',\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"'; echo "
                                 "'{\"apiVersion\":\"v\",\"kind\":\"ExecCredential\",\"status\":{"
                                 "\"token\":\"token-'$n'\"'$t'}}'";
    struct fixture *f = *state;
    char path[] = "/tmp/muster-plugin-XXXXXX", count[64];
    const char *const argv[] = {"sh", "-c", script, NULL}, *const env[] = {count, NULL};
    const struct exec_plugin plugin = {.api_version = "v", .argv = argv, .env = env, .info = "{}"};
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config config = {.server = f->url, .plugin = &plugin};

    assert_true(close(mkstemp(path)) == 0);
    write_text(path, "0");
    (void)snprintf(count, sizeof(count), "COUNT=%s", path);
    assert_int_equal(client_config_login(&a, &config, -1, NULL), 0);
    connect_with(f, &config);
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer token-1\r\n"));
    ask(f); /* kept */
    assert_non_null(strstr(f->request, "Authorization: Bearer token-1\r\n"));
    f->replies = 0;
    f->answer = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    transport_call(f->transport, &(struct api_call){.method = "GET", .path = "/"}, on_reply, f);
    wait_reply(f);
    assert_int_equal(f->status, 401);
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer token-2\r\n"));
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer token-3\r\n"));
    ask(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer token-3\r\n"));
    assert_int_equal(unlink(path), 0);
    arena_release(&a);
}

static void note(void *arg)
{
    *(bool *)arg = true;
}

/* Controllers answer their probes meanwhile, and can be stopped. */
static void the_loop_goes_on_while_the_plugin_runs(void **state)
{
    static const char script[] = "read line <$PIPE; echo '{\"apiVersion\":\"v\",\"kind\":"
                                 "\"ExecCredential\",\"status\":{\"token\":\"fresh\"}}'";
    /* Until the loop is freed. */
    static char pipe[80];
    static const char *const argv[] = {"sh", "-c", script, NULL}, *const env[] = {pipe, NULL};
    static const struct exec_plugin plugin = {
        .api_version = "v", .argv = argv, .env = env, .info = "{}"};
    struct fixture *f = *state;
    char folder[] = "/tmp/muster-plugin-XXXXXX", path[64];
    const struct client_config config = {
        .server = f->url, .plugin = &plugin, .token = "old", .expires_ms = 1};
    const struct api_call call = {.method = "GET", .path = "/"};
    bool turned = false;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/pipe", folder);
    (void)snprintf(pipe, sizeof(pipe), "PIPE=%s", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    f->replies = 0;
    f->answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    connect_with(f, &config);
    transport_call(f->transport, &call, on_reply, f);
    assert_int_equal(loop_defer(f->loop, note, &turned), 0);
    while (!turned)
        loop_run_once(f->loop);
    assert_int_equal(f->replies, 0);
    write_text(path, "go\n");
    wait_reply(f);
    assert_non_null(strstr(f->request, "Authorization: Bearer fresh\r\n"));
    transport_free(f->transport);
    connect_with(f, &config);
    transport_call(f->transport, &call, on_reply, f);
    transport_free(f->transport); /* the plugin is stopped, else the loop would wait for it */
    f->transport = NULL;
    assert_int_equal(unlink(path) + rmdir(folder), 0);
}

static void password_is_sent_without_a_token(void **state)
{
    struct fixture *f = *state;

    f->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    connect_with(f, &(struct client_config){.server = f->url, .username = "a", .password = "b"});
    transport_call(f->transport, &(struct api_call){.method = "GET", .path = "/"}, on_reply, f);
    wait_reply(f);
    assert_non_null(strstr(f->request, "\r\nAuthorization: Basic YTpi\r\n"));
}

static void stream_gives_data_then_its_end(void **state)
{
    struct fixture *f = *state;
    struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = f};

    f->answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    connect_with(f, &(struct client_config){.server = f->url});
    assert_non_null(transport_open(f->transport, "/watch", &handler));
    wait_reply(f);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->data, "abc");
    assert_int_equal(f->ends, 1);
}

static void broken_stream_is_not_a_good_end(void **state)
{
    struct fixture *f = *state;
    struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = f};

    f->answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
    connect_with(f, &(struct client_config){.server = f->url});
    assert_non_null(transport_open(f->transport, "/watch", &handler));
    wait_reply(f);
    assert_int_equal(f->status, 0);
    assert_string_equal(f->data, "ab");
}

static void server_that_is_not_there_is_a_sentence(void **state)
{
    struct fixture *f = *state;

    connect_with(f, &(struct client_config){.server = "http://127.0.0.1:1", .token = "s3cret"});
    transport_call(f->transport, &(struct api_call){.method = "GET", .path = "/"}, on_reply, f);
    wait_reply(f);
    assert_int_equal(f->status, 0);
    assert_memory_equal(f->body, "cannot reach http://127.0.0.1:1: ", 33);
    assert_null(strstr(f->body, "s3cret"));
}

static void closed_and_freed_without_a_word(void **state)
{
    struct fixture *f = *state;
    struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = f};
    struct api_stream *s;

    f->answer = "";
    connect_with(f, &(struct client_config){.server = f->url});
    s = transport_open(f->transport, "/watch", &handler);
    assert_non_null(s);
    transport_close(f->transport, s);
    transport_call(f->transport, &(struct api_call){.method = "GET", .path = "/"}, on_reply, f);
    assert_non_null(transport_open(f->transport, "/watch", &handler));
    transport_free(f->transport);
    f->transport = NULL;
    assert_int_equal(f->replies, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(changed_token_file_is_read_again),
        TEST(call_says_who_we_are_and_what_we_send),
        TEST(password_is_sent_without_a_token),
        TEST(stream_gives_data_then_its_end),
        TEST(broken_stream_is_not_a_good_end),
        TEST(server_that_is_not_there_is_a_sentence),
        TEST(closed_and_freed_without_a_word),
        TEST(plugin_is_run_again_when_refused_or_expired),
        TEST(the_loop_goes_on_while_the_plugin_runs),
    };

    return cmocka_run_group_tests_name("client/http_transport", tests, NULL, NULL);
}
