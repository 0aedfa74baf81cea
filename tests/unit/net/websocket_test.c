/* websocket_test.c - WebSocket frames made by hand: whole, fragmented, cut anywhere, and broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/websocket.h"

struct fixture {
    struct websocket ws;
    struct buf said;
};

static void on_part(void *arg, bool first, const char *data, size_t len)
{
    struct fixture *f = arg;

    if (first)
        buf_adds(&f->said, "|");
    buf_add(&f->said, data, len);
}

static void on_control(void *arg, enum websocket_opcode opcode, const char *data, size_t len)
{
    struct fixture *f = arg;

    buf_addf(&f->said, "<%d:%.*s>", (int)opcode, (int)len, data);
}

static const struct websocket_handler handler = {.part = on_part, .control = on_control};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    buf_init(&f->said, 1u << 24);
    websocket_init(&f->ws, &handler, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    buf_release(&f->said);
    free(f);
    return 0;
}

/* A client's frame; first: FIN and opcode. */
static void add_frame(struct buf *b, unsigned first, const char *data, size_t len)
{
    static const unsigned char mask[] = {0x12, 0x34, 0x56, 0x78};
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];
    size_t n = websocket_head(head, WEBSOCKET_BINARY, len);

    head[0] = (unsigned char)first;
    head[1] |= 0x80;
    buf_add(b, head, n);
    buf_add(b, mask, 4);
    for (size_t i = 0; i < len; i++)
        buf_addc(b, (char)((unsigned char)data[i] ^ mask[i % 4]));
}

static void adds(struct buf *b, unsigned first, const char *text)
{
    add_frame(b, first, text, strlen(text));
}

static void messages_and_controls(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    adds(&in, 0x82, "one");
    adds(&in, 0x02, "tw");
    adds(&in, 0x89, "ping"); /* in the middle of a message */
    adds(&in, 0x00, "");
    adds(&in, 0x80, "o");
    adds(&in, 0x81, "");
    adds(&in, 0x8a, "");
    adds(&in, 0x88, "\x03\xe8");
    assert_int_equal(websocket_feed(&f->ws, in.data, in.len), 0);
    assert_string_equal(f->said.data, "|one|tw<9:ping>o|<10:><8:\x03\xe8>");
    buf_release(&in);
}

static void any_cut_of_the_bytes_is_the_same(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);
    char long_text[301];

    memset(long_text, 'x', 300);
    long_text[300] = '\0';
    adds(&in, 0x82, long_text);
    adds(&in, 0x89, "p");
    adds(&in, 0x82, "y");
    for (size_t i = 0; i < in.len; i++)
        assert_int_equal(websocket_feed(&f->ws, in.data + i, 1), 0);
    assert_int_equal(f->said.len, 1 + 300 + 5 + 2);
    assert_memory_equal(f->said.data + 301, "<9:p>|y", 7);
    buf_release(&in);
}

static void long_frames_pass(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 24);
    size_t len = 200000;
    char *data = malloc(len);

    assert_non_null(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 7);
    add_frame(&in, 0x82, data, len);
    assert_int_equal(websocket_feed(&f->ws, in.data, in.len), 0);
    assert_int_equal(f->said.len, len + 1);
    assert_memory_equal(f->said.data + 1, data, len);
    free(data);
    buf_release(&in);
}

static void heads_have_three_lengths(void **state)
{
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];

    (void)state;
    assert_int_equal(websocket_head(head, WEBSOCKET_BINARY, 125), 2);
    assert_memory_equal(head, "\x82\x7d", 2);
    assert_int_equal(websocket_head(head, WEBSOCKET_PONG, 126), 4);
    assert_memory_equal(head, "\x8a\x7e\x00\x7e", 4);
    assert_int_equal(websocket_head(head, WEBSOCKET_BINARY, 65536), 10);
    assert_memory_equal(head, "\x82\x7f\0\0\0\0\0\1\0\0", 10);
}

static void broken_frames_are_errors(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\x82\x01x", 3},                                         /* not masked, and short */
        {"\x82\x01\0\0\0\0", 6},                                  /* not masked */
        {"\xc2\x81\0\0\0\0a", 7},                                 /* a reserved bit */
        {"\x83\x81\0\0\0\0a", 7},                                 /* an opcode that is not */
        {"\x8b\x80\0\0\0\0", 6},                                  /* ... of a control frame */
        {"\x80\x81\0\0\0\0a", 7},                                 /* goes on with no message */
        {"\x09\x80\0\0\0\0", 6},                                  /* a ping in pieces */
        {"\x89\xfe\0\x7e\0\0\0\0", 8},                            /* a ping that is too long */
        {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14}, /* a length of 2^64 - 1 */
    };
    struct buf in = BUF_INIT(1024);
    void *own;

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct fixture *f;
        char bytes[32];

        assert_int_equal(set_up(&own), 0);
        f = own;
        memcpy(bytes, cases[i].bytes, cases[i].len);
        assert_int_equal(websocket_feed(&f->ws, bytes, cases[i].len), -EPROTO);
        assert_int_equal(tear_down(&own), 0);
    }
    assert_int_equal(set_up(&own), 0);
    adds(&in, 0x02, "begun");
    adds(&in, 0x82, "another before its end");
    assert_int_equal(websocket_feed(&((struct fixture *)own)->ws, in.data, in.len), -EPROTO);
    assert_int_equal(tear_down(&own), 0);
    buf_release(&in);
}

/* A server's frames are not masked; a client that gets one that is, or the other way round, stops.
 */
static void a_client_reads_what_a_server_sends(void **state)
{
    static const unsigned char mask[WEBSOCKET_MASK_BYTES] = {1, 2, 3, 4};
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];
    char bytes[] = "\x02\x03one\x89\x02hi\x80\x04 two\x82\x01x", masked[] = "\x82\x81\0\0\0\0a";
    struct fixture *f = *state;

    websocket_init_client(&f->ws, &handler, f);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++)
        assert_int_equal(websocket_feed(&f->ws, bytes + i, 1), 0);
    assert_string_equal(f->said.data, "|one<9:hi> two|x");
    assert_int_equal(websocket_feed(&f->ws, masked, sizeof(masked) - 1), -EPROTO);
    assert_int_equal(websocket_head_masked(head, WEBSOCKET_BINARY, 300, mask), 8);
    assert_memory_equal(head, "\x82\xfe\x01\x2c\x01\x02\x03\x04", 8);
}

static void keys_are_answered(void **state)
{
    char accept[WEBSOCKET_ACCEPT_SIZE];

    (void)state;
    websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept); /* RFC 6455, 1.3 */
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_and_controls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_cut_of_the_bytes_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_frames_pass, set_up, tear_down),
        cmocka_unit_test(heads_have_three_lengths),
        cmocka_unit_test(broken_frames_are_errors),
        cmocka_unit_test_setup_teardown(a_client_reads_what_a_server_sends, set_up, tear_down),
        cmocka_unit_test(keys_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
