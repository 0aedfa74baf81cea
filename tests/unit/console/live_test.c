/* live_test.c - a tab's WebSocket over a real server, the API being a script: what is asked of it
 * when, and tabs, hubs and answers that end in the wrong order. */
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
#include "console/live.h"
#include "script_transport.h"

#define MINE 7u /* the session */
#define MAPS "/api/v1/configmaps"

struct fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct live_hub *hub;
    struct script_transport api;
    bool no_transport; /* as without a session */
    bool free_hub;     /* right after it has got the request */
    bool sign_out;     /* ... or this */
    int fd;
    struct buf in; /* what the tab has got */
    char message[4096];
};

static struct transport *the_script(const struct mount_request *r);

static void handle(void *arg, struct httpd_request *http)
{
    struct fixture *f = arg;
    struct mount_request r = {.http = http, .transport = the_script, .session = MINE, .user = ""};

    live_handle(f->hub, &r);
    if (f->sign_out)
        live_sign_out(f->hub, MINE);
    if (f->free_hub) {
        live_hub_free(f->hub);
        f->hub = NULL;
    }
}

static struct fixture *current; /* a mount_request has no place for it */

static struct transport *the_script(const struct mount_request *r)
{
    (void)r;
    return current->no_transport ? NULL : &current->api.transport;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    auto_err err = ERR_INIT;

    assert_non_null(f);
    f->loop = loop_new(NULL);
    f->httpd = httpd_new(
        &(struct httpd_options){
            .loop = f->loop, .address = "127.0.0.1:0", .handle = handle, .arg = f},
        &err);
    assert_non_null(f->httpd);
    f->hub = live_hub_new(f->loop);
    assert_non_null(f->hub);
    script_transport_init(&f->api);
    buf_init(&f->in, 64u << 20);
    f->fd = -1;
    current = f;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    live_hub_free(f->hub);
    httpd_free(f->httpd);
    script_free(&f->api.transport);
    if (f->fd >= 0)
        close(f->fd);
    loop_free(f->loop);
    buf_release(&f->in);
    free(f);
    return 0;
}

static void begin_tab(struct fixture *f)
{
    static const char request[] =
        "GET /console/v1/stream HTTP/1.1\r\nHost: x:1\r\nConnection: Upgrade\r\nUpgrade: "
        "websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)httpd_port(f->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(f->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(f->fd, request, strlen(request), 0), (ssize_t)strlen(request));
}

/* False: the server has closed. */
static bool receive(struct fixture *f)
{
    static char bytes[65536];
    ssize_t n = recv(f->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0)
        buf_add(&f->in, bytes, (size_t)n);
    else if (n < 0)
        loop_run_once(f->loop);
    return n != 0;
}

static void open_tab(struct fixture *f)
{
    const char *end;

    begin_tab(f);
    while (!f->in.data || !(end = strstr(f->in.data, "\r\n\r\n")))
        assert_true(receive(f));
    assert_memory_equal(f->in.data, "HTTP/1.1 101", 12);
    assert_non_null(strstr(f->in.data, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    buf_consume(&f->in, (size_t)(end + 4 - f->in.data));
}

static void say(struct fixture *f, const char *text)
{
    char frame[512] = "\x81";
    size_t len = strlen(text), n = 2;

    frame[1] = (char)(0x80 | (len < 126 ? len : 126));
    if (len >= 126) {
        frame[n++] = (char)(len >> 8);
        frame[n++] = (char)len;
    }
    memcpy(frame + n + 4, text, len); /* masked with zeros */
    assert_int_equal(send(f->fd, frame, n + 4 + len, 0), (ssize_t)(n + 4 + len));
}

/* The next message; fails when the server closes. */
static const char *hear(struct fixture *f)
{
    for (;;) {
        const unsigned char *d = (const unsigned char *)f->in.data;
        size_t len = f->in.len >= 2 ? d[1] : 0, head = 2;

        if (len == 126 && f->in.len >= 4) {
            len = (size_t)d[2] << 8 | d[3];
            head = 4;
        }
        if (f->in.len >= 2 && f->in.len >= head + len && (d[1] < 126 || head == 4)) {
            assert_true(len < sizeof(f->message));
            (void)snprintf(f->message, sizeof(f->message), "%.*s", (int)len, f->in.data + head);
            buf_consume(&f->in, head + len);
            return f->message;
        }
        assert_true(receive(f));
    }
}

/* What was said has been taken, and nothing else was answered. */
static void settle(struct fixture *f)
{
    say(f, "{\"op\":\"ping\"}");
    assert_string_equal(hear(f), "{\"t\":\"pong\"}");
}

/* --- lists and changes ------------------------------------------------------------------ */

static void lists_pages_then_watches(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\",\"query\":\"labelSelector=a\"}");
    settle(f);
    assert_string_equal(f->api.calls->path, MAPS "?labelSelector=a&limit=200");
    script_answer(&f->api, 200,
                  "{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"next\"},\"items\":[1]}");
    assert_string_equal(hear(f),
                        "{\"id\":1,\"t\":\"list\",\"first\":true,\"part\":true,\"items\":[1]}");
    assert_string_equal(f->api.calls->path, MAPS "?labelSelector=a&limit=200&continue=next");
    script_answer(&f->api, 410, "{}"); /* it took too long */
    assert_string_equal(f->api.calls->path, MAPS "?labelSelector=a&limit=200");
    script_answer(&f->api, 200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[2,3]}");
    assert_string_equal(
        hear(f), "{\"id\":1,\"t\":\"list\",\"first\":true,\"items\":[2,3],\"cursor\":\"7\"}");
    assert_string_equal(f->api.streams->path, MAPS "?labelSelector=a&watch=true&"
                                                   "allowWatchBookmarks=true&resourceVersion=7");
    script_send(&f->api, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVer");
    script_send(&f->api, "sion\":\"8\"}}}\n{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
                         "{\"resourceVersion\":\"9\"}}}\n");
    assert_string_equal(hear(f), "{\"id\":1,\"t\":\"event\",\"cursor\":\"8\",\"type\":\"ADDED\","
                                 "\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}");
    script_end(&f->api, 200, ""); /* watches end; it goes on where the bookmark was */
    assert_non_null(strstr(f->api.streams->path, "resourceVersion=9"));
    script_send(&f->api, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
    script_end(&f->api, 200, "");
    assert_non_null(strstr(f->api.calls->path, "limit=200"));
    say(f, "{\"id\":1,\"op\":\"stop\"}");
    settle(f);
    script_answer(&f->api, 200, "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}");
    assert_null(f->api.streams); /* no longer wanted */
    settle(f);
}

static void large_pages_are_asked_for_again_in_smaller_ones(void **state)
{
    struct fixture *f = *state;
    const size_t len = 3u << 20;
    char *large = malloc(len + 128);

    assert_non_null(large);
    (void)snprintf(large, len, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[\"");
    memset(large + strlen(large), 'x', len - strlen(large));
    strcpy(large + len, "\"]}");
    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\"}");
    settle(f);
    script_answer(&f->api, 200, large);
    assert_string_equal(f->api.calls->path, MAPS "?limit=25");
    script_answer(&f->api, 200, large);
    assert_string_equal(f->api.calls->path, MAPS "?limit=3");
    script_answer(&f->api, 200, large);
    assert_string_equal(f->api.calls->path, MAPS "?limit=1");
    script_answer(&f->api, 200, large); /* one that is as large goes as it is */
    while (f->in.len < len)
        assert_true(receive(f));
    assert_null(f->api.calls);
    assert_non_null(f->api.streams);
    free(large);
}

static void so_many_pages_at_once(void **state)
{
    struct fixture *f = *state;
    char text[128];

    open_tab(f);
    for (int i = 1; i <= 9; i++) {
        (void)snprintf(text, sizeof(text), "{\"id\":%d,\"op\":\"watch\",\"path\":\"" MAPS "\"}", i);
        say(f, text);
    }
    settle(f);
    assert_int_equal(f->api.calls_made, 4);
    script_answer(&f->api, 403, "{\"reason\":\"Forbidden\",\"message\":\"no\"}");
    assert_string_equal(hear(f), "{\"id\":1,\"t\":\"error\",\"code\":403,\"reason\":\"Forbidden\","
                                 "\"message\":\"no\"}");
    assert_int_equal(f->api.calls_made, 5); /* it waits; another has its turn */
    for (int i = 0; i < 8; i++)
        script_answer(&f->api, 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
    assert_int_equal(f->api.calls_made, 9);
    assert_int_equal(f->api.streams_opened, 8);
}

static void what_is_no_list_is_not_asked_for_in_a_circle(void **state)
{
    static const char *const bodies[] = {"nonsense", "{}", "{\"items\":[]}",
                                         "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
                                         "{\"metadata\":{\"resourceVersion\":\"1\"}}"};
    struct fixture *f = *state;
    char text[128];

    open_tab(f);
    for (size_t i = 0; i < ELEMS(bodies); i++) {
        (void)snprintf(text, sizeof(text), "{\"id\":%zu,\"op\":\"watch\",\"path\":\"" MAPS "\"}",
                       i + 1);
        say(f, text);
        settle(f);
        script_answer(&f->api, 200, bodies[i]);
        assert_non_null(strstr(hear(f), "\"code\":500"));
        assert_null(f->api.calls);
    }
    /* nor a watch that ends at once, again and again */
    say(f, "{\"id\":9,\"op\":\"watch\",\"path\":\"" MAPS "\",\"from\":\"3\"}");
    settle(f);
    script_end(&f->api, 200, "");
    assert_null(f->api.streams);
    assert_null(f->api.calls);
}

static void a_server_out_of_reach_is_asked_again_where_it_was(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\",\"from\":\"3\"}");
    settle(f);
    script_end(&f->api, 0, "cannot reach it");
    assert_non_null(strstr(hear(f), "\"code\":0"));
    while (!f->api.streams)
        loop_run_once(f->loop);
    assert_non_null(strstr(f->api.streams->path, "resourceVersion=3"));
}

/* --- logs ------------------------------------------------------------------------------- */

#define LOG "/api/v1/namespaces/d/pods/p/log?follow=true"

static void logs_are_sent_by_credit(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":2,\"op\":\"logs\",\"path\":\"" LOG "\",\"credit\":5}");
    settle(f);
    assert_string_equal(f->api.streams->path, LOG);
    script_send(&f->api, "ab");
    assert_string_equal(hear(f), "{\"id\":2,\"t\":\"lines\",\"bytes\":2,\"text\":\"ab\"}");
    assert_false(f->api.streams->paused);
    script_send(&f->api, "cd\xe6\x97\xa5"
                         "e"); /* a character of 3 does not fit into 1 */
    assert_string_equal(hear(f), "{\"id\":2,\"t\":\"lines\",\"bytes\":2,\"text\":\"cd\"}");
    assert_true(f->api.streams->paused);
    script_send(&f->api, "was on its way");
    settle(f);
    say(f, "{\"id\":2,\"op\":\"credit\",\"bytes\":4}");
    assert_string_equal(hear(f), "{\"id\":2,\"t\":\"lines\",\"bytes\":5,\"text\":\"日ew\"}");
    assert_true(f->api.streams->paused);
    script_end(&f->api, 200, "");
    settle(f); /* not over for the tab */
    say(f, "{\"id\":2,\"op\":\"credit\",\"bytes\":999999999999}");
    assert_string_equal(hear(f),
                        "{\"id\":2,\"t\":\"lines\",\"bytes\":13,\"text\":\"as on its way\"}");
    assert_string_equal(hear(f), "{\"id\":2,\"t\":\"end\"}");
    say(f, "{\"id\":2,\"op\":\"credit\",\"bytes\":5}");
    settle(f);
}

static void a_character_cut_in_two_comes_whole(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":2,\"op\":\"logs\",\"path\":\"" LOG "\",\"credit\":100}");
    settle(f);
    script_send(&f->api, "\xe6\x97");
    settle(f);
    script_send(&f->api, "\xa5\xff\xf0\x9f");
    assert_string_equal(hear(f),
                        "{\"id\":2,\"t\":\"lines\",\"bytes\":4,\"text\":\"日\xef\xbf\xbd\"}");
    script_end(&f->api, 200, ""); /* what is not whole at the end never will be */
    assert_string_equal(
        hear(f), "{\"id\":2,\"t\":\"lines\",\"bytes\":2,\"text\":\"\xef\xbf\xbd\xef\xbf\xbd\"}");
    assert_string_equal(hear(f), "{\"id\":2,\"t\":\"end\"}");
}

static void a_tab_that_does_not_read_makes_them_wait(void **state)
{
    static char line[32769];
    struct fixture *f = *state;
    size_t sent = 0;

    memset(line, 'x', sizeof(line) - 1);
    open_tab(f);
    say(f, "{\"id\":2,\"op\":\"logs\",\"path\":\"" LOG "\",\"credit\":60000000}");
    settle(f);
    while (!f->api.streams->paused) {
        script_send(&f->api, line);
        sent += sizeof(line) - 1;
        if (sent % (1u << 20) == 0)
            loop_run_once(f->loop);
        assert_true(sent < 50u << 20);
    }
    while (f->api.streams->paused)
        assert_true(receive(f));
}

/* --- ends ------------------------------------------------------------------------------- */

static void a_tab_closes_while_a_page_is_on_its_way(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\"}");
    say(f, "{\"id\":2,\"op\":\"logs\",\"path\":\"" LOG "\",\"credit\":5}");
    say(f, "{\"id\":3,\"op\":\"watch\",\"path\":\"" MAPS "\",\"from\":\"3\"}");
    settle(f);
    assert_int_equal(f->api.calls_made, 1);
    assert_int_equal(f->api.streams_opened, 2);
    close(f->fd);
    f->fd = -1;
    while (f->api.calls || f->api.streams) /* dropped with the tab */
        loop_run_once(f->loop);
    assert_int_equal(f->api.streams_closed, 2);
}

static void who_signs_out_ends_his_tabs(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\"}");
    settle(f);
    live_sign_out(f->hub, MINE + 1);
    settle(f);
    assert_non_null(f->api.calls);
    live_sign_out(f->hub, MINE);
    assert_null(f->api.calls);
    assert_string_equal(hear(f), "{\"t\":\"signedOut\"}");
    assert_int_equal(shutdown(f->fd, SHUT_WR), 0);
    while (receive(f))
        ;
}

static void signed_out_before_the_connection_came(void **state)
{
    struct fixture *f = *state;

    f->sign_out = true;
    begin_tab(f);
    while (receive(f))
        ;
}

static void hub_freed_with_tabs_open(void **state)
{
    struct fixture *f = *state;

    open_tab(f);
    say(f, "{\"id\":1,\"op\":\"watch\",\"path\":\"" MAPS "\"}");
    settle(f);
    live_hub_free(f->hub);
    f->hub = NULL;
    assert_null(f->api.calls);
    while (receive(f))
        ;
}

static void hub_freed_before_the_connection_came(void **state)
{
    struct fixture *f = *state;

    f->free_hub = true;
    begin_tab(f);
    while (receive(f)) /* the answer was on its way; the client is gone */
        ;
    assert_null(f->hub);
}

static void server_freed_before_the_connection_came(void **state)
{
    struct fixture *f = *state;

    f->free_hub = true;
    begin_tab(f);
    while (f->hub)
        loop_run_once(f->loop);
    httpd_free(f->httpd);
    f->httpd = NULL;
}

static void who_has_no_rights_gets_no_tab(void **state)
{
    struct fixture *f = *state;

    f->no_transport = true;
    begin_tab(f);
    while (f->in.len < 12)
        assert_true(receive(f));
    assert_memory_equal(f->in.data, "HTTP/1.1 503", 12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_pages_then_watches),
        TEST(large_pages_are_asked_for_again_in_smaller_ones),
        TEST(so_many_pages_at_once),
        TEST(what_is_no_list_is_not_asked_for_in_a_circle),
        TEST(a_server_out_of_reach_is_asked_again_where_it_was),
        TEST(logs_are_sent_by_credit),
        TEST(a_character_cut_in_two_comes_whole),
        TEST(a_tab_that_does_not_read_makes_them_wait),
        TEST(a_tab_closes_while_a_page_is_on_its_way),
        TEST(who_signs_out_ends_his_tabs),
        TEST(signed_out_before_the_connection_came),
        TEST(hub_freed_with_tabs_open),
        TEST(hub_freed_before_the_connection_came),
        TEST(server_freed_before_the_connection_came),
        TEST(who_has_no_rights_gets_no_tab),
    };

    return cmocka_run_group_tests_name("console/live", tests, NULL, NULL);
}
