/* http_answer_test.c - answers in every division into pieces, and those that are none. */
#include "net/http_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct outcome {
    int fed, ended;
    struct http_answer answer;
    struct buf body;
};

/* In pieces of so many bytes, then the connection's end. */
static void take(struct outcome *o, const char *text, size_t len, size_t piece, bool without_body)
{
    *o = (struct outcome){.fed = 0};
    buf_init(&o->body, 1u << 20);
    http_answer_init(&o->answer, without_body);
    for (size_t at = 0; at < len && o->fed == 0; at += piece)
        o->fed = http_answer_feed(&o->answer, text + at, min_size(piece, len - at), &o->body);
    o->ended = o->fed == 0 ? http_answer_end(&o->answer) : -1;
}

static void drop(struct outcome *o)
{
    http_answer_release(&o->answer);
    buf_release(&o->body);
}

static void assert_body(const struct outcome *o, const char *text)
{
    assert_int_equal(o->fed, 0);
    assert_int_equal(o->ended, 0);
    assert_int_equal(o->body.len, strlen(text));
    assert_memory_equal(o->body.data ? o->body.data : "", text, strlen(text));
}

static void bodies_come_whole_however_they_are_cut(void **state)
{
    static const struct {
        const char *text, *body;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello", "hello"},
        {"HTTP/1.0 200 OK\r\nX: y\r\n\r\nto the end", "to the end"},
        {"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5\r\nhello\r\n6;a=b\r\n world"
         "\r\n0\r\n\r\n",
         "hello world"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\nX: y\r\n\r\n1\r\nx\r\n0\r\nT: 1\r\n"
         "U: 2\r\n\r\n",
         "x"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: z\r\n\r\n"
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nok",
         "ok"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\nX:y \t\r\n\r\n", ""},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nX: y\r\n\r\n", ""},
        {"HTTP/1.1 204 No\r\nX: y\r\n\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            struct outcome o;

            take(&o, cases[i].text, strlen(cases[i].text), piece, false);
            assert_body(&o, cases[i].body);
            assert_string_equal(http_answer_field(&o.answer, "x"), "y");
            assert_null(http_answer_field(&o.answer, "Link"));
            drop(&o);
        }
}

static void a_head_request_has_no_body(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    struct outcome o;

    (void)state;
    take(&o, text, strlen(text), 7, true);
    assert_body(&o, "");
    assert_int_equal(o.answer.status, 200);
    drop(&o);
}

static void what_is_ambiguous_is_no_answer(void **state)
{
    static const char *const texts[] = {
        "SSH-2.0-x\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 99 OK\r\n\r\n",
        "HTTP/1.1 999 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: 1\n\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello",
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++)
        for (size_t piece = 1; piece < 40; piece += 13) {
            struct outcome o;

            take(&o, texts[i], strlen(texts[i]), piece, false);
            if (o.fed == 0)
                fail_msg("taken for an answer: %s", texts[i]);
            drop(&o);
        }
}

static void a_missing_end_is_noticed(void **state)
{
    static const char *const texts[] = {
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(texts); i++) {
        struct outcome o;

        take(&o, texts[i], strlen(texts[i]), 1024, false);
        assert_int_equal(o.fed, 0);
        assert_true(o.ended < 0);
        drop(&o);
    }
}

static void there_are_limits(void **state)
{
    struct buf text = BUF_INIT(1u << 20);
    struct outcome o;
    struct buf small = BUF_INIT(4);
    struct http_answer a;
    static const char zero[] = "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n";

    (void)state;
    buf_adds(&text, "HTTP/1.1 200 OK\r\nX: ");
    while (text.len < HTTP_ANSWER_HEAD_LIMIT_BYTES)
        buf_adds(&text, "long ");
    take(&o, text.data, text.len, 1000, false);
    assert_true(o.fed < 0);
    drop(&o);
    buf_clear(&text);
    buf_adds(&text, "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i <= HTTP_ANSWER_FIELDS_LIMIT; i++)
        buf_addf(&text, "X%u: y\r\n", i);
    buf_adds(&text, "\r\n");
    take(&o, text.data, text.len, 1000, false);
    assert_true(o.fed < 0);
    drop(&o);
    buf_clear(&text);
    buf_adds(&text, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
    for (unsigned i = 0; i < 5000; i++)
        buf_adds(&text, "T");
    take(&o, text.data, text.len, 1000, false);
    assert_true(o.fed < 0);
    drop(&o);
    buf_release(&text);
    take(&o, zero, sizeof(zero) - 1, 100, false);
    assert_true(o.fed < 0);
    drop(&o);
    /* A body that does not fit. */
    http_answer_init(&a, false);
    assert_true(http_answer_feed(&a, "HTTP/1.1 200 OK\r\n\r\ntoo long", 27, &small) < 0);
    http_answer_release(&a);
    buf_release(&small);
}

static void interim_answers_end(void **state)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct buf out = BUF_INIT(16);
    struct http_answer a;
    unsigned taken = 0;

    (void)state;
    http_answer_init(&a, false);
    while (taken < 1000 && http_answer_feed(&a, interim, strlen(interim), &out) == 0)
        taken++;
    assert_int_equal(taken, HTTP_ANSWER_INTERIM_LIMIT);
    http_answer_release(&a);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_whole_however_they_are_cut),
        cmocka_unit_test(a_head_request_has_no_body),
        cmocka_unit_test(what_is_ambiguous_is_no_answer),
        cmocka_unit_test(a_missing_end_is_noticed),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(interim_answers_end),
    };

    return cmocka_run_group_tests_name("console http_answer", tests, NULL, NULL);
}
