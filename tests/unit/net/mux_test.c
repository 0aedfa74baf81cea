/* mux_test.c - upgraded connections over a socket pair: what arrives, what is sent, pauses, ends,
 * and users that free the connection from inside its calls. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/mux.h"

struct fixture {
    struct loop *loop;
    struct mux *mux;
    int peer;
    struct buf said;
    bool closed;
    const char *free_on; /* the event that frees the mux */
    bool take_all;       /* on data: all that waits for the peer */
    unsigned drained;
};

static void say(struct fixture *f, const char *event)
{
    buf_addf(&f->said, "%s\n", event);
    if (f->free_on && strncmp(event, f->free_on, strlen(f->free_on)) == 0) {
        mux_free(f->mux);
        f->mux = NULL;
    }
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    char text[64];

    (void)headers;
    (void)snprintf(text, sizeof(text), "open %u %zu", stream, count);
    say(arg, text);
}

static void take_all(struct fixture *f)
{
    static char bytes[65536];

    while (recv(f->peer, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
}

static void on_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "data %u %.*s", stream, (int)min_size(len, 64), data);
    if (((struct fixture *)arg)->take_all)
        take_all(arg);
    say(arg, text);
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    char text[64];

    (void)how;
    (void)snprintf(text, sizeof(text), "end %u", stream);
    say(arg, text);
}

static void on_drained(void *arg)
{
    ((struct fixture *)arg)->drained++;
}

static void on_closed(void *arg)
{
    struct fixture *f = arg;

    f->closed = true;
    say(f, "closed");
}

static const struct mux_handler handler = {.opened = on_opened,
                                           .data = on_data,
                                           .ended = on_ended,
                                           .drained = on_drained,
                                           .closed = on_closed};

static void open_mux(struct fixture *f, enum mux_kind kind, const char *early, size_t len)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    f->peer = ends[0];
    f->mux = mux_new(f->loop, ends[1], early, len, kind, &handler, f);
    assert_non_null(f->mux);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->loop = loop_new(NULL);
    assert_non_null(f->loop);
    f->peer = -1;
    buf_init(&f->said, 1u << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mux_free(f->mux);
    if (f->peer >= 0)
        close(f->peer);
    loop_free(f->loop);
    buf_release(&f->said);
    free(f);
    return 0;
}

/* A masked client frame with a mask of zeros: the payload stands there as it is. */
static size_t frame(char *out, unsigned first, const char *data, size_t len)
{
    out[0] = (char)first;
    out[1] = (char)(0x80 | len);
    memset(out + 2, 0, 4);
    memcpy(out + 6, data, len);
    return 6 + len;
}

static void send_frame(struct fixture *f, unsigned first, const char *data, size_t len)
{
    char bytes[256];
    size_t n = frame(bytes, first, data, len);

    assert_int_equal(send(f->peer, bytes, n, 0), n);
}

static void run_until(struct fixture *f, const char *said)
{
    while (!f->said.data || !strstr(f->said.data, said))
        loop_run_once(f->loop);
}

static void receive(struct fixture *f, char *out, size_t len)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = recv(f->peer, out + got, len - got, MSG_DONTWAIT);

        if (n > 0)
            got += (size_t)n;
        else
            loop_run_once(f->loop);
    }
}

static void channels_both_ways(void **state)
{
    struct fixture *f = *state;
    char early[64], bytes[64];
    size_t n = frame(early, 0x82, "\0early", 6);

    open_mux(f, MUX_CHANNELS, early, n);
    run_until(f, "data 0 early");
    send_frame(f, 0x02, "\0fir", 4); /* one message, two frames */
    send_frame(f, 0x80, "st", 2);
    send_frame(f, 0x82, "\4{}", 3);
    send_frame(f, 0x82, "\xff\0", 2);
    send_frame(f, 0x82, "\xff\x07", 2); /* a channel that cannot end */
    send_frame(f, 0x89, "hi", 2);
    run_until(f, "end 0");
    assert_string_equal(f->said.data, "data 0 early\ndata 0 fir\ndata 0 st\ndata 4 {}\nend 0\n");
    receive(f, bytes, 4);
    assert_memory_equal(bytes, "\x8a\x02hi", 4);
    mux_send(f->mux, 1, "out", 3);
    mux_finish(f->mux);
    receive(f, bytes, 10);
    assert_memory_equal(bytes, "\x82\x04\1out\x88\x02\x03\xe8", 10);
    while (recv(f->peer, bytes, 1, MSG_DONTWAIT) != 0) /* our half is closed */
        loop_run_once(f->loop);
    send_frame(f, 0x82, "\0late", 5);
    assert_false(f->closed);
    close(f->peer);
    f->peer = -1;
    run_until(f, "closed");
    assert_null(strstr(f->said.data, "late"));
}

static void spdy_inside_websocket(void **state)
{
    static const char ping[] = "\x80\x03\0\6\0\0\0\4\0\0\0\1";
    struct fixture *f = *state;
    char bytes[64];

    open_mux(f, MUX_TUNNEL_SPDY, "", 0);
    send_frame(f, 0x82, ping, 5); /* messages are cut anyhow */
    send_frame(f, 0x82, ping + 5, 7);
    receive(f, bytes, 14);
    assert_memory_equal(bytes, "\x82\x0c", 2);
    assert_memory_equal(bytes + 2, ping, 12);
}

static void nothing_is_read_while_paused(void **state)
{
    struct fixture *f = *state;
    char bytes[16];

    open_mux(f, MUX_CHANNELS, "", 0);
    mux_pause(f->mux, MUX_PAUSED);
    send_frame(f, 0x82, "\0x", 2);
    mux_send(f->mux, 1, "y", 1); /* goes out all the same */
    receive(f, bytes, 4);
    assert_int_equal(f->said.len, 0);
    mux_pause(f->mux, MUX_READING);
    run_until(f, "data 0 x");
}

static void there_is_room_for_so_much(void **state)
{
    struct fixture *f = *state;
    static char piece[65536], bytes[65536];
    size_t sent = 0, got = 0;

    open_mux(f, MUX_CHANNELS, "", 0);
    while (mux_has_room(f->mux)) {
        mux_send(f->mux, 1, piece, sizeof(piece));
        sent += sizeof(piece);
    }
    assert_in_range(sent, MUX_ROOM_BYTES, MUX_ROOM_BYTES + sizeof(piece));
    while (got < sent) { /* and some heads */
        ssize_t n = recv(f->peer, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n > 0)
            got += (size_t)n;
        else
            loop_run_once(f->loop);
    }
    assert_true(mux_has_room(f->mux));
}

/* A read turn can free room too, which is reported as well. */
static void room_is_told_when_it_came_while_reading(void **state)
{
    static char piece[65536];
    struct fixture *f = *state;
    const int size = 4 << 20;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    if (setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
        (void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    f->peer = ends[0];
    while (send(ends[1], piece, 1024, MSG_DONTWAIT) > 0) /* nothing more goes in */
        ;
    f->mux = mux_new(f->loop, ends[1], "", 0, MUX_TEXT, &handler, f);
    assert_non_null(f->mux);
    while (mux_has_room(f->mux))
        mux_send(f->mux, 0, piece, sizeof(piece));
    f->take_all = true;
    send_frame(f, 0x81, "{}", 2);
    run_until(f, "data 0 {}");
    assert_true(mux_has_room(f->mux));
    assert_true(f->drained > 0);
}

static void texts_come_whole(void **state)
{
    struct fixture *f = *state;
    char bytes[64];

    open_mux(f, MUX_TEXT, "", 0);
    send_frame(f, 0x01, "one ", 4);
    send_frame(f, 0x00, "mes", 3);
    send_frame(f, 0x89, "hi", 2); /* in between */
    send_frame(f, 0x80, "sage", 4);
    send_frame(f, 0x81, "", 0);
    send_frame(f, 0x81, "next", 4);
    run_until(f, "next");
    assert_string_equal(f->said.data, "data 0 one message\ndata 0 \ndata 0 next\n");
    mux_send(f->mux, 0, "{}", 2);
    receive(f, bytes, 8);
    assert_memory_equal(bytes, "\x8a\x02hi\x81\x02{}", 8);
}

static void a_text_that_is_too_long_ends_it(void **state)
{
    struct fixture *f = *state;

    open_mux(f, MUX_TEXT, "", 0);
    send_frame(f, 0x01, "begins", 6);
    for (size_t i = 0; i < MUX_TEXT_LIMIT_BYTES / 100 + 1 && !f->closed; i++) {
        char piece[100] = {0};

        send_frame(f, 0x00, piece, sizeof(piece));
        loop_run_once(f->loop);
    }
    run_until(f, "closed");
    assert_null(strstr(f->said.data, "data"));
}

/* One that never takes its answers is given up, whatever it makes us say. */
static void who_never_reads_is_given_up(void **state)
{
    struct fixture *f = *state;
    static char pings[64 * 131];
    char data[125] = {0};
    size_t len = 0, at = 0;

    for (int i = 0; i < 64; i++)
        len += frame(pings + len, 0x89, data, sizeof(data));
    open_mux(f, MUX_CHANNELS, "", 0);
    while (!f->closed) {
        ssize_t n = send(f->peer, pings + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        at = n > 0 ? (at + (size_t)n) % len : at;
        if (n < 0)
            loop_run_once(f->loop);
    }
}

static void broken_bytes_end_it(void **state)
{
    struct fixture *f = *state;

    open_mux(f, MUX_SPDY, "", 0);
    assert_int_equal(send(f->peer, "\x80\x09\0\1\0\0\0\0", 8, 0), 8);
    run_until(f, "closed");
    mux_free(f->mux);
    open_mux(f, MUX_CHANNELS, "", 0);
    buf_clear(&f->said);
    send_frame(f, 0xff, "", 0);
    run_until(f, "closed");
}

static void a_client_that_is_gone_is_noticed(void **state)
{
    struct fixture *f = *state;

    open_mux(f, MUX_SPDY, "", 0);
    mux_pause(f->mux, MUX_PAUSED); /* even so */
    close(f->peer);
    f->peer = -1;
    run_until(f, "closed");
}

static void it_may_be_freed_from_inside(void **state)
{
    static const char *const events[] = {"data 0 a", "end 0", "closed"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(events); i++) {
        f->free_on = events[i];
        buf_clear(&f->said);
        open_mux(f, MUX_CHANNELS, "", 0);
        send_frame(f, 0x82, "\0a", 2);
        send_frame(f, 0x82, "\xff\0", 2);
        if (i == 2)
            assert_int_equal(shutdown(f->peer, SHUT_RDWR), 0);
        run_until(f, events[i]);
        while (f->mux)
            loop_run_once(f->loop);
        close(f->peer);
        f->peer = -1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(channels_both_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(spdy_inside_websocket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_read_while_paused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_room_for_so_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(room_is_told_when_it_came_while_reading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_come_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_text_that_is_too_long_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_never_reads_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_bytes_end_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_is_gone_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_may_be_freed_from_inside, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
