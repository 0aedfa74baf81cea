/* spdy_test.c - the SPDY engine against frames made by hand: whole, cut anywhere, and broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/spdy.h"

/* --- the client's side ----------------------------------------------------------------- */

struct fixture {
    struct spdy *spdy;
    struct buf said; /* what the engine told, as text */
    struct buf out;  /* what it sent */
    z_stream deflate, inflate;
    bool end_in_opened;
};

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    struct fixture *f = arg;

    buf_addf(&f->said, "open %u", stream);
    for (size_t i = 0; i < count; i++)
        buf_addf(&f->said, " %s=%s", headers[i].name, headers[i].value);
    buf_addc(&f->said, '\n');
    if (f->end_in_opened)
        spdy_end(f->spdy, stream);
}

static void on_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct fixture *f = arg;

    buf_addf(&f->said, "data %u %.*s\n", stream, (int)len, data);
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    struct fixture *f = arg;

    buf_addf(&f->said, "%s %u\n", how == SPDY_RESET ? "reset" : "end", stream);
}

static void on_output(void *arg, const void *head, size_t head_len, const void *data, size_t len)
{
    struct fixture *f = arg;

    buf_add(&f->out, head, head_len);
    buf_add(&f->out, data, len);
}

static const struct spdy_handler handler = {
    .opened = on_opened, .data = on_data, .ended = on_ended, .output = on_output};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    buf_init(&f->said, 64u << 20);
    buf_init(&f->out, 64u << 20);
    f->spdy = spdy_new(&handler, f);
    assert_non_null(f->spdy);
    assert_int_equal(deflateInit(&f->deflate, 9), Z_OK);
    assert_int_equal(inflateInit(&f->inflate), Z_OK);
    assert_int_equal(deflateSetDictionary(&f->deflate, spdy_dictionary(), SPDY_DICTIONARY_BYTES),
                     Z_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    spdy_free(f->spdy);
    (void)deflateEnd(&f->deflate);
    (void)inflateEnd(&f->inflate);
    buf_release(&f->said);
    buf_release(&f->out);
    free(f);
    return 0;
}

static void add32(struct buf *b, uint32_t v)
{
    unsigned char bytes[] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                             (unsigned char)(v >> 8), (unsigned char)v};

    buf_add(b, bytes, 4);
}

static void add_string(struct buf *b, const char *text)
{
    add32(b, (uint32_t)strlen(text));
    buf_adds(b, text);
}

static void add_control(struct buf *b, unsigned type, unsigned flags, const struct buf *body)
{
    add32(b, 0x80030000u | type);
    add32(b, flags << 24 | (uint32_t)body->len);
    buf_add(b, body->data ? body->data : "", body->len);
}

static void add_data(struct buf *b, uint32_t stream, unsigned flags, const char *text)
{
    add32(b, stream);
    add32(b, flags << 24 | (uint32_t)strlen(text));
    buf_adds(b, text);
}

/* Compresses plain with the connection's context and appends it. */
static void add_block(struct fixture *f, struct buf *b, const struct buf *plain)
{
    unsigned char out[4096];

    f->deflate.next_in = (unsigned char *)plain->data;
    f->deflate.avail_in = (unsigned)plain->len;
    do {
        f->deflate.next_out = out;
        f->deflate.avail_out = sizeof(out);
        assert_int_not_equal(deflate(&f->deflate, Z_SYNC_FLUSH), Z_STREAM_ERROR);
        buf_add(b, out, sizeof(out) - f->deflate.avail_out);
    } while (f->deflate.avail_out == 0);
}

static void add_syn_of(struct fixture *f, struct buf *b, uint32_t stream, unsigned flags,
                       const struct buf *plain)
{
    struct buf body = BUF_INIT(1u << 20);

    add32(&body, stream);
    add32(&body, 0);
    buf_add(&body, "\0", 2);
    add_block(f, &body, plain);
    add_control(b, 1, flags, &body);
    buf_release(&body);
}

static void add_syn(struct fixture *f, struct buf *b, uint32_t stream, unsigned flags,
                    const char *type)
{
    struct buf plain = BUF_INIT(1u << 20);

    add32(&plain, 2);
    add_string(&plain, "streamtype");
    add_string(&plain, type);
    add_string(&plain, "port");
    add_string(&plain, "80");
    add_syn_of(f, b, stream, flags, &plain);
    buf_release(&plain);
}

static void expect(const struct buf *b, const char *text)
{
    assert_string_equal(b->data ? b->data : "", text);
}

/* --- tests ----------------------------------------------------------------------------- */

static void the_dictionary_is_the_one(void **state)
{
    (void)state;
    assert_int_equal(adler32(adler32(0, NULL, 0), spdy_dictionary(), SPDY_DICTIONARY_BYTES),
                     0xe3c6a7c2);
}

static void streams_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    add_syn(f, &in, 1, 0, "error");
    add_syn(f, &in, 3, 0, "stdin");
    add_data(&in, 3, 0, "hello");
    add_data(&in, 3, 0, "");
    add_data(&in, 3, 1, "");
    add_data(&in, 1, 1, "last");
    add_data(&in, 1, 0, "after its end");
    add_data(&in, 9, 0, "of no stream");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    expect(&f->said, "open 1 streamtype=error port=80\nopen 3 streamtype=stdin port=80\n"
                     "data 3 hello\nend 3\ndata 1 last\nend 1\n");
    buf_release(&in);
}

static void any_cut_of_the_bytes_is_the_same(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    add_syn(f, &in, 1, 0, "data");
    add_data(&in, 1, 1, "");
    add_syn(f, &in, 3, 1, "error");
    for (size_t i = 0; i < in.len; i++)
        assert_int_equal(spdy_feed(f->spdy, in.data + i, 1), 0);
    expect(&f->said, "open 1 streamtype=data port=80\nend 1\n"
                     "open 3 streamtype=error port=80\nend 3\n");
    buf_release(&in);
}

/* Header blocks of ours share one compression context as well. */
static void every_stream_is_accepted(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);
    const char *at;
    const unsigned char *p;

    for (uint32_t id = 1; id <= 5; id += 2)
        add_syn(f, &in, id, 0, "data");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    at = f->out.data;
    for (uint32_t id = 1; id <= 5; id += 2) {
        unsigned char plain[64];
        unsigned len;
        int rc;

        p = (const unsigned char *)at;
        assert_memory_equal(p, "\x80\x03\x00\x02\x00", 5);
        len = (unsigned)p[5] << 16 | (unsigned)p[6] << 8 | p[7];
        assert_int_equal(p[11], id);
        f->inflate.next_in = (unsigned char *)(uintptr_t)(at + 12);
        f->inflate.avail_in = len - 4;
        f->inflate.next_out = plain;
        f->inflate.avail_out = sizeof(plain);
        rc = inflate(&f->inflate, Z_SYNC_FLUSH);
        if (rc == Z_NEED_DICT) {
            assert_int_equal(
                inflateSetDictionary(&f->inflate, spdy_dictionary(), SPDY_DICTIONARY_BYTES), Z_OK);
            rc = inflate(&f->inflate, Z_SYNC_FLUSH);
        }
        assert_int_equal(rc, Z_OK);
        assert_int_equal(sizeof(plain) - f->inflate.avail_out, 4);
        assert_memory_equal(plain, "\0\0\0\0", 4);
        at += 8 + len;
    }
    assert_ptr_equal(at, f->out.data + f->out.len);
    buf_release(&in);
}

static void what_is_sent_has_its_frame(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    add_syn(f, &in, 1, 0, "stdout");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    buf_clear(&f->out);
    spdy_send(f->spdy, 1, "abc", 3);
    spdy_send(f->spdy, 7, "no such stream", 14);
    spdy_send(f->spdy, 1, "", 0);
    spdy_end(f->spdy, 1);
    spdy_end(f->spdy, 1);
    spdy_send(f->spdy, 1, "after the end", 13);
    assert_int_equal(f->out.len, 19);
    assert_memory_equal(f->out.data, "\0\0\0\1\0\0\0\3abc\0\0\0\1\1\0\0\0", 19);
    buf_release(&in);
}

static void pings_are_echoed(void **state)
{
    struct fixture *f = *state;
    static const char in[] = "\x80\x03\0\6\0\0\0\4\0\0\0\5"  /* the client's */
                             "\x80\x03\0\6\0\0\0\4\0\0\0\6"; /* an answer to one of ours */

    assert_int_equal(spdy_feed(f->spdy, in, sizeof(in) - 1), 0);
    assert_int_equal(f->out.len, 12);
    assert_memory_equal(f->out.data, in, 12);
}

static void resets_are_told_once(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20), body = BUF_INIT(64);

    add32(&body, 1);
    add32(&body, 5);
    add_syn(f, &in, 1, 0, "data");
    add_data(&in, 1, 1, "");
    add_control(&in, 3, 0, &body);
    add_control(&in, 3, 0, &body);
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    expect(&f->said, "open 1 streamtype=data port=80\nend 1\nreset 1\n");
    buf_clear(&f->out);
    spdy_send(f->spdy, 1, "x", 1);
    assert_int_equal(f->out.len, 0);
    buf_release(&in);
    buf_release(&body);
}

static void a_stream_may_be_ended_as_it_opens(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    f->end_in_opened = true;
    add_syn(f, &in, 1, 1, "data");
    add_syn(f, &in, 3, 1, "data");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    expect(&f->said, "open 1 streamtype=data port=80\nend 1\nopen 3 streamtype=data port=80\n"
                     "end 3\n");
    buf_release(&in);
}

/* Even, taken and too many: RST_STREAM, and the rest goes on. */
static void streams_that_cannot_be_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf in = BUF_INIT(1u << 20);

    add_syn(f, &in, 2, 0, "data");
    add_syn(f, &in, 1, 0, "data");
    add_syn(f, &in, 1, 0, "data");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    expect(&f->said, "open 1 streamtype=data port=80\n");
    assert_memory_equal(f->out.data, "\x80\x03\0\3\0\0\0\x08\0\0\0\2\0\0\0\1", 16);
    assert_memory_equal(f->out.data + f->out.len - 16, "\x80\x03\0\3\0\0\0\x08\0\0\0\1\0\0\0\1",
                        16);
    for (uint32_t i = 1; i < SPDY_STREAM_LIMIT; i++) {
        buf_clear(&in);
        add_syn(f, &in, 2 * i + 1, 0, "data");
        assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    }
    buf_clear(&in);
    buf_clear(&f->said);
    add_syn(f, &in, 9999, 0, "data");
    assert_int_equal(spdy_feed(f->spdy, in.data, in.len), 0);
    expect(&f->said, "");
    assert_memory_equal(f->out.data + f->out.len - 4, "\0\0\0\3", 4);
    buf_release(&in);
}

static void other_frames_change_nothing(void **state)
{
    struct fixture *f = *state;
    static const char in[] = "\x80\x03\0\4\0\0\0\4\0\0\0\0"             /* SETTINGS */
                             "\x80\x03\0\7\0\0\0\x08\0\0\0\0\0\0\0\0"   /* GOAWAY */
                             "\x80\x03\0\x09\0\0\0\x08\0\0\0\1\0\0\0\1" /* WINDOW_UPDATE */
                             "\x80\x03\x7f\xff\0\0\0\0";                /* nothing we know */

    assert_int_equal(spdy_feed(f->spdy, in, sizeof(in) - 1), 0);
    assert_int_equal(f->out.len, 0);
    expect(&f->said, "");
}

static void broken_frames_are_errors(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\x80\x02\0\1\0\0\0\0", 8},                            /* SPDY/2 */
        {"\x80\x03\0\1\0\xff\xff\xff", 8},                      /* a control frame of 16 MiB */
        {"\x80\x03\0\1\0\0\0\4\0\0\0\1", 12},                   /* SYN_STREAM that is cut short */
        {"\x80\x03\0\1\0\0\0\x0a\0\0\0\1\0\0\0\0\0\0", 18},     /* ... without a block */
        {"\x80\x03\0\1\0\0\0\x0e\0\0\0\1\0\0\0\0\0\0zzzz", 22}, /* ... with one that is not zlib */
        {"\x80\x03\0\3\0\0\0\4\0\0\0\1", 12},                   /* RST_STREAM */
        {"\x80\x03\0\6\0\0\0\0", 8},                            /* PING */
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct fixture *f;
        void *own;

        assert_int_equal(set_up(&own), 0);
        f = own;
        assert_int_equal(spdy_feed(f->spdy, cases[i].bytes, cases[i].len), -EPROTO);
        expect(&f->said, "");
        assert_int_equal(tear_down(&own), 0);
    }
}

/* Header blocks that inflate well and mean nothing, and one that inflates to far too much. */
static void broken_headers_are_errors(void **state)
{
    static const struct {
        const char *plain;
        size_t len;
    } cases[] = {
        {"\0\0\0", 3},
        {"\0\0\0\1", 4},
        {"\0\0\0\1\0\0\0\1", 8},
        {"\0\0\0\1\0\0\0\1a", 9},
        {"\0\0\0\1\0\0\0\1a\0\0\0\2b", 14},
        {"\0\0\0\1\xff\xff\xff\xff", 8},
        {"\xff\xff\xff\xff\0\0\0\1a\0\0\0\1b", 14},
        {"\0\0\0\1\0\0\0\2a\0\0\0\0\1b", 15}, /* NUL in a name */
        {"\0\0\0\1\0\0\0\1a\0\0\0\1bcc", 16}, /* more than was said */
        {NULL, 200000},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct buf in = BUF_INIT(1u << 20), plain = BUF_INIT(1u << 20);
        struct fixture *f;
        void *own;

        assert_int_equal(set_up(&own), 0);
        f = own;
        if (cases[i].plain)
            buf_add(&plain, cases[i].plain, cases[i].len);
        for (size_t k = 0; !cases[i].plain && k < cases[i].len; k++)
            buf_addc(&plain, '\0');
        add_syn_of(f, &in, 1, 0, &plain);
        assert_int_equal(spdy_feed(f->spdy, in.data, in.len), -EPROTO);
        expect(&f->said, "");
        buf_release(&in);
        buf_release(&plain);
        assert_int_equal(tear_down(&own), 0);
    }
}

/* Random damage: whatever comes of it, it is an answer or an error. */
static void damaged_bytes_do_no_harm(void **state)
{
    uint32_t seed = 12345;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct buf in = BUF_INIT(1u << 20);
        struct fixture *f;
        void *own;
        int rc;

        assert_int_equal(set_up(&own), 0);
        f = own;
        add_syn(f, &in, 1, 0, "data");
        add_data(&in, 1, 0, "some data");
        add_syn(f, &in, 3, 1, "error");
        add_data(&in, 1, 1, "");
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            in.data[(seed >> 8) % in.len] ^= (char)(1 << (seed >> 5 & 7));
        }
        rc = spdy_feed(f->spdy, in.data, in.len);
        assert_true(rc == 0 || rc == -EPROTO);
        buf_release(&in);
        assert_int_equal(tear_down(&own), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dictionary_is_the_one),
        cmocka_unit_test_setup_teardown(streams_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_cut_of_the_bytes_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_stream_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_sent_has_its_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pings_are_echoed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resets_are_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_may_be_ended_as_it_opens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams_that_cannot_be_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_frames_change_nothing, set_up, tear_down),
        cmocka_unit_test(broken_frames_are_errors),
        cmocka_unit_test(broken_headers_are_errors),
        cmocka_unit_test(damaged_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
