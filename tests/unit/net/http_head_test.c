/* http_head_test.c - heads of requests in every division into two pieces, and those that are none.
 */
#include "net/http_head.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(t) t, sizeof(t) - 1

struct outcome {
    struct http_head head;
    struct http_refusal why;
    ssize_t len; /* 0: not whole; negative: refused */
};

/* First what is before the cut, then all. */
static struct outcome take(struct arena *a, const char *text, size_t len, size_t cut)
{
    struct http_head_scan scan = {0};
    struct outcome o = {.len = 0};
    char *exact = malloc(len); /* reading beyond is seen */

    assert_non_null(exact);
    memcpy(exact, text, len);
    o.len = http_head_scan(&scan, exact, cut, &o.why);
    if (o.len == 0)
        o.len = http_head_scan(&scan, exact, len, &o.why);
    if (o.len > 0 && http_head_parse(&o.head, &scan, a, exact, (size_t)o.len, &o.why) < 0)
        o.len = -1;
    free(exact);
    return o;
}

static void what_two_might_read_differently_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int status;
    } cases[] = {
        /* folded lines */
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Enc: chunked\r\n oding\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tContent-Length: 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\n Host: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\n \r\n\r\n"), 400},
        /* control characters */
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\0N\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\0evil\r\n\r\n"), 400},
        {TEXT("GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX: a\rContent-Length: 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX: \x7f\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX\x0b: a\r\n\r\n"), 400},
        /* line ends */
        {TEXT("GET / HTTP/1.1\nHost: h\n\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\n\n"), 400},
        {TEXT("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        /* names */
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\n: 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent\xc2\xadLength: 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nX[: 5\r\n\r\n"), 400},
        /* the first line */
        {TEXT("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET /  HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT(" GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1 \r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET /\tHTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET /\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1x\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET / http/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("G:T / HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET http:///h HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505},
        {TEXT("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), 505},
        /* Host */
        {TEXT("GET / HTTP/1.1\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.0\r\nHost: h\r\nHost: g\r\n\r\n"), 400},
        /* lengths */
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: "
              "chunked\r\n\r\n"),
         400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
              "chunked\r\n\r\n"),
         400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x5\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999999999999\r\n\r\n"), 413},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n"), 501},
        {TEXT("GET / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
        {TEXT("GET / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\n\r\n"), 417},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        for (size_t cut = 0; cut <= cases[i].len; cut++) {
            struct arena a = ARENA_INIT(1u << 20);
            struct outcome o = take(&a, cases[i].text, cases[i].len, cut);

            if (o.len >= 0)
                fail_msg("taken for a request: %s", cases[i].text);
            assert_int_equal(o.why.status, cases[i].status);
            assert_non_null(o.why.text);
            arena_release(&a);
        }
}

static void what_is_one_is_taken(void **state)
{
    static const struct {
        const char *text, *method, *target, *x;
        const char *host;
        uint64_t length;
        bool chunked, old, last, continues;
    } cases[] = {
        {"GET /a?b HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n", "GET", "/a?b", "y", .length = 0},
        {"POST / HTTP/1.1\r\nhOST:h\r\nx:\t y z \t\r\nContent-Length: 5 \r\n\r\n", "POST", "/",
         "y z", .length = 5},
        {"PUT / HTTP/1.1\r\nHost:\r\nX:\r\nTransfer-Encoding: Chunked \r\nExpect: 100-Continue"
         "\r\n\r\n",
         "PUT", "/", "", .chunked = true, .continues = true},
        {"GET / HTTP/1.0\r\nX: \xc3\xa4\r\nConnection: keep-alive\r\n\r\n", "GET", "/", "\xc3\xa4",
         .old = true, .last = true},
        {"M-SEARCH /% HTTP/1.1\r\nHost: h\r\nX: a\r\nX: b\r\nConnection: x-closed, Close , y"
         "\r\n\r\n",
         "M-SEARCH", "/%", "a", .last = true},
        {"GET / HTTP/1.1\r\nHost: h\r\nX: y\r\nConnection: closed, not-close\r\n\r\n", "GET", "/",
         "y", .last = false},
        /* as to a proxy: the header says nothing then */
        {"GET http://a:1/b?c HTTP/1.1\r\nX: y\r\nHost: h\r\n\r\n", "GET", "/b?c", "y",
         .host = "a:1"},
        {"GET HTTPS://a HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n", "GET", "/", "y", .host = "a"},
        {"GET http://a?http://b/ HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n", "GET", "/?http://b/", "y",
         .host = "a"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        for (size_t cut = 0, len = strlen(cases[i].text); cut <= len; cut++) {
            struct arena a = ARENA_INIT(1u << 20);
            struct outcome o = take(&a, cases[i].text, len, cut);

            if (o.len < 0)
                fail_msg("refused (%s): %s", o.why.text, cases[i].text);
            assert_int_equal(o.len, len);
            assert_string_equal(o.head.method, cases[i].method);
            assert_string_equal(o.head.target, cases[i].target);
            assert_string_equal(http_head_field(&o.head, "X"), cases[i].x);
            assert_null(http_head_field(&o.head, "Y"));
            if (cases[i].host)
                assert_string_equal(http_head_field(&o.head, "Host"), cases[i].host);
            assert_int_equal(o.head.length, cases[i].length);
            assert_int_equal(o.head.chunked, cases[i].chunked);
            assert_int_equal(o.head.old, cases[i].old);
            assert_int_equal(o.head.last, cases[i].last);
            assert_int_equal(o.head.continues, cases[i].continues);
            arena_release(&a);
        }
}

static void what_is_behind_it_is_not_its_own(void **state)
{
    static const char two[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n\n";
    struct arena a = ARENA_INIT(1u << 20);
    struct outcome o = take(&a, TEXT(two), 3);

    (void)state;
    assert_int_equal(o.len, 27);
    assert_int_equal(o.head.field_count, 1);
    arena_release(&a);
}

static void it_has_a_ceiling(void **state)
{
    struct arena a = ARENA_INIT(1u << 20);
    char *text = malloc(2 * HTTP_HEAD_LIMIT_BYTES);
    struct outcome o;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 2 * HTTP_HEAD_LIMIT_BYTES);
    o = take(&a, text, HTTP_HEAD_LIMIT_BYTES - 1, 5);
    assert_int_equal(o.len, 0);
    o = take(&a, text, 2 * HTTP_HEAD_LIMIT_BYTES, 5);
    assert_int_equal(o.why.status, 414);
    memcpy(text, "GET / HTTP/1.1\r\n", 16);
    o = take(&a, text, HTTP_HEAD_LIMIT_BYTES, 5);
    assert_int_equal(o.why.status, 431);
    free(text);
    arena_release(&a);
}

static ssize_t chunks(const char *text, size_t piece, char *out)
{
    struct http_chunks c = {.state = CHUNK_SIZE};
    size_t at = 0, len = strlen(text), out_len = 0;

    while (at < len && c.state != CHUNKS_DONE) {
        const char *content;
        size_t content_len;
        ssize_t n = http_chunks_feed(&c, text + at, min_size(piece, len - at), &content,
                                     &content_len);

        if (n < 0)
            return n;
        memcpy(out + out_len, content, content_len);
        out_len += content_len;
        at += (size_t)n;
    }
    out[out_len] = '\0';
    return c.state == CHUNKS_DONE ? (ssize_t)at : 0;
}

static void chunks_are_read_however_they_are_cut(void **state)
{
    static const struct {
        const char *text, *content; /* NULL: refused */
        size_t behind;
    } cases[] = {
        {"5\r\nhello\r\n0\r\n\r\nGET", "hello", 3},
        {"00A;x=\"y\"\r\n0123456789\r\n1\r\nx\r\n0;z\r\nT: 1\r\nU: 2\r\n\r\n", "0123456789x", 0},
        {"0\r\n\r\n", "", 0},
        {"5\nhello\r\n0\r\n\r\n", NULL, 0},
        {"5\r\nhello\n0\r\n\r\n", NULL, 0},
        {"5\r\nhelloX\r\n0\r\n\r\n", NULL, 0},
        {"5 \r\nhello\r\n0\r\n\r\n", NULL, 0},
        {" 5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {"0x5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {"+5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {"-5\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {";\r\n\r\n", NULL, 0},
        {"\r\n\r\n", NULL, 0},
        {"5;a\nb\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {"5;a\rb\r\nhello\r\n0\r\n\r\n", NULL, 0},
        {"0\r\n\n", NULL, 0},
        {"0\r\n\rX", NULL, 0},
        {"0\r\nT: 1\n\r\n", NULL, 0},
        {"0\r\n T: 1\r\n\r\n", NULL, 0},
        {"1000000000000000\r\n", NULL, 0},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        for (size_t piece = 1, len = strlen(cases[i].text); piece <= len; piece++) {
            ssize_t n = chunks(cases[i].text, piece, out);

            if (!cases[i].content && n >= 0)
                fail_msg("taken for chunks: %s", cases[i].text);
            if (!cases[i].content)
                continue;
            assert_int_equal(n, len - cases[i].behind);
            assert_string_equal(out, cases[i].content);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_might_read_differently_is_refused),
        cmocka_unit_test(what_is_one_is_taken),
        cmocka_unit_test(what_is_behind_it_is_not_its_own),
        cmocka_unit_test(it_has_a_ceiling),
        cmocka_unit_test(chunks_are_read_however_they_are_cut),
    };

    return cmocka_run_group_tests_name("http_head", tests, NULL, NULL);
}
