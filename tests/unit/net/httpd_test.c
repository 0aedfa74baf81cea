/* httpd_test.c - the HTTP server over real sockets: answers now and later, streams, limits,
 * vanished clients, stopping. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/httpd.h"

/* --- a client driven by the same loop -------------------------------------------------- */

struct client {
    int fd;
    struct loop_fd *watch;
    struct buf in;
    bool closed;
};

struct pipe_stream {
    struct stream base;
    struct buf data;
    bool end;
    bool *closed;
};

struct fixture {
    struct loop *loop;
    struct httpd *httpd;
    struct httpd_request *held; /* the handler kept it for later */
    struct pipe_stream *stream;
    bool stream_closed;
    int handled;
    int upgraded; /* how often */
    int socket;   /* of the connection that was upgraded; -1 when it was not */
    char early[64];
};

static void client_reads(void *arg, unsigned events)
{
    struct client *c = arg;
    char bytes[4096];
    ssize_t n;

    (void)events;
    while ((n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_add(&c->in, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        c->closed = true;
        loop_fd_stop(c->watch);
        c->watch = NULL;
    }
}

static void client_open(struct fixture *f, struct client *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)httpd_port(f->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    *c = (struct client){.in = BUF_INIT(64u << 20)};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    c->watch = loop_fd_watch(f->loop, c->fd, LOOP_READABLE, client_reads, c);
    assert_non_null(c->watch);
}

static void client_close(struct client *c)
{
    loop_fd_stop(c->watch);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    buf_release(&c->in);
}

static void client_send(struct client *c, const char *text)
{
    assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void client_wait(struct fixture *f, struct client *c, const char *text)
{
    while (!c->in.data || !strstr(c->in.data, text)) {
        if (c->closed)
            fail_msg("closed without \"%s\": %s", text, c->in.data ? c->in.data : "");
        loop_run_once(f->loop);
    }
}

/* --- what is served -------------------------------------------------------------------- */

static ssize_t pipe_read(struct stream *s, char *out, size_t cap)
{
    struct pipe_stream *p = container_of(s, struct pipe_stream, base);
    size_t n = min_size(cap, p->data.len);

    if (n == 0)
        return p->end ? STREAM_END : 0;
    memcpy(out, p->data.data, n);
    buf_consume(&p->data, n);
    return (ssize_t)n;
}

static void pipe_close(struct stream *s)
{
    struct pipe_stream *p = container_of(s, struct pipe_stream, base);

    *p->closed = true;
    buf_release(&p->data);
    free(p);
}

static const struct stream_ops pipe_ops = {.read = pipe_read, .close = pipe_close};

static void open_pipe(struct fixture *f, struct httpd_request *r)
{
    f->stream = calloc(1, sizeof(*f->stream));
    assert_non_null(f->stream);
    f->stream->base.ops = &pipe_ops;
    buf_init(&f->stream->data, 64u << 20);
    f->stream->closed = &f->stream_closed;
    httpd_stream(r, 200, "application/json", &f->stream->base);
}

static void echo(struct httpd_request *r)
{
    struct buf b = BUF_INIT(8u << 20);
    struct blob *blob;
    const char *x = httpd_header(r, "x-test");
    struct httpd_header headers[] = {{"Warning", "299 - \"careful\""}};

    buf_addf(&b, "%s %s ?%s x=%s %zu:", r->method, r->path, r->query, x ? x : "-", r->body_len);
    buf_add(&b, r->body, r->body_len);
    blob = blob_from_buf(&b);
    buf_release(&b);
    httpd_reply(r, 201, "text/plain", headers, 1, blob);
    blob_unref(blob);
}

static void upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct fixture *f = arg;

    f->upgraded++;
    f->socket = fd;
    (void)snprintf(f->early, sizeof(f->early), "%.*s", (int)early_len, early);
}

static void upgrade(struct fixture *f, struct httpd_request *r)
{
    struct httpd_header headers[] = {{"Upgrade", "test"},
                                     {"X-Offers", httpd_header_joined(r, "x-offer")}};

    httpd_upgrade(r, headers, ELEMS(headers), upgraded, f);
}

static void handle(void *arg, struct httpd_request *r)
{
    struct fixture *f = arg;

    f->handled++;
    if (r->too_large)
        httpd_reply(r, 413, NULL, NULL, 0, NULL);
    else if (strcmp(r->path, "/later") == 0)
        f->held = r;
    else if (strcmp(r->path, "/stream") == 0)
        open_pipe(f, r);
    else if (strcmp(r->path, "/upgrade") == 0)
        upgrade(f, r);
    else
        echo(r);
}

static void start_with(struct fixture *f, struct httpd_options o)
{
    auto_err err = ERR_INIT;

    *f = (struct fixture){.loop = loop_new(&err)};
    assert_non_null(f->loop);
    o.loop = f->loop;
    o.address = "127.0.0.1:0";
    o.handle = handle;
    o.arg = f;
    f->httpd = httpd_new(&o, &err);
    assert_non_null(f->httpd);
    assert_true(httpd_port(f->httpd) > 0);
}

static void start(struct fixture *f)
{
    start_with(f, (struct httpd_options){0});
}

static void stop(struct fixture *f)
{
    httpd_free(f->httpd);
    loop_free(f->loop);
}

/* --- tests ----------------------------------------------------------------------------- */

static void answers_get_and_post_on_one_connection(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /a%2Fb?x=%20y HTTP/1.1\r\nHost: h\r\nX-Test: 7\r\n\r\n");
    client_wait(&f, &c, "GET /a%2Fb ?x=%20y x=7 0:");
    assert_non_null(strstr(c.in.data, "HTTP/1.1 201 Created"));
    assert_non_null(strstr(c.in.data, "Warning: 299 - \"careful\""));
    buf_clear(&c.in);
    client_send(&c, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    client_wait(&f, &c, "POST /p ? x=- 5:hello");
    assert_false(c.closed);
    assert_int_equal(httpd_connection_count(f.httpd), 1);
    client_close(&c);
    stop(&f);
}

static void answers_later(void **state)
{
    struct fixture f;
    struct client c;
    struct blob *b = blob_new("later", 5);

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    while (!f.held)
        loop_run_once(f.loop);
    assert_int_equal(c.in.len, 0);
    httpd_reply(f.held, 200, "text/plain", NULL, 0, b);
    blob_unref(b);
    client_wait(&f, &c, "\r\n\r\nlater");
    client_close(&c);
    stop(&f);
}

static void answers_pipelined_requests_in_order(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "GET /2");
    assert_true(strstr(c.in.data, "GET /1") < strstr(c.in.data, "GET /2"));
    client_close(&c);
    stop(&f);
}

/* More than is done on one turn of the loop. */
static void answers_many_pipelined_requests(void **state)
{
    enum { MANY = 300 };
    static const char request[] = "GET /n HTTP/1.1\r\nHost: h\r\n\r\n";
    struct buf all = BUF_INIT(1u << 20);
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    for (int i = 0; i < MANY; i++)
        buf_adds(&all, request);
    buf_adds(&all, "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    buf_adds(&all, request); /* behind the last there is none */
    client_send(&c, all.data);
    while (!c.closed)
        loop_run_once(f.loop);
    assert_int_equal(f.handled, MANY + 1);
    assert_non_null(strstr(c.in.data, "GET /last"));
    buf_release(&all);
    client_close(&c);
    stop(&f);
}

/* The body is sent when the server says that it may be. */
static void says_that_a_body_may_come(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c,
                "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client_wait(&f, &c, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(f.handled, 0);
    client_send(&c, "hello");
    client_wait(&f, &c, "5:hello");
    client_close(&c);
    stop(&f);
}

/* A HEAD has the length of what a GET would have, and no body: the next answer follows at once. */
static void a_head_has_no_body(void **state)
{
    struct fixture f;
    struct client c;
    const char *end;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n"
                    "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "GET /b");
    assert_null(strstr(c.in.data, "HEAD /a"));
    assert_non_null(strstr(c.in.data, "Content-Length: 16\r\n"));
    end = strstr(c.in.data, "\r\n\r\n");
    assert_memory_equal(end + 4, "HTTP/1.1 200", 12);
    assert_true(f.stream_closed);
    client_close(&c);
    stop(&f);
}

/* What the client still sends does not cost it the answer. */
static void the_last_answer_arrives(void **state)
{
    static char more[512 * 1024];
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /x HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n");
    (void)!send(c.fd, more, sizeof(more), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (!c.closed)
        loop_run_once(f.loop);
    assert_non_null(strstr(c.in.data, "HTTP/1.1 400 "));
    assert_non_null(strstr(c.in.data, "the header Host occurs twice"));
    client_close(&c);
    while (httpd_connection_count(f.httpd) > 0)
        loop_run_once(f.loop);
    assert_int_equal(f.handled, 0);
    stop(&f);
}

static void streams_headers_first_then_what_comes(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "\r\n\r\n"); /* nothing in the stream yet */
    assert_non_null(strstr(c.in.data, "Transfer-Encoding: chunked"));
    buf_adds(&f.stream->data, "{one}\n");
    stream_ready(&f.stream->base);
    client_wait(&f, &c, "{one}\n");
    buf_adds(&f.stream->data, "{two}\n");
    stream_ready(&f.stream->base);
    client_wait(&f, &c, "{two}\n");
    f.stream->end = true;
    stream_ready(&f.stream->base);
    client_wait(&f, &c, "\r\n0\r\n\r\n");
    while (!f.stream_closed)
        loop_run_once(f.loop);
    buf_clear(&c.in);
    client_send(&c, "GET /again HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "GET /again");
    client_close(&c);
    stop(&f);
}

static void streams_a_lot(void **state)
{
    enum { TOTAL = 4 * 1024 * 1024 };
    struct fixture f;
    struct client c;
    char *room;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c,
                "GET /stream HTTP/1.0\r\nHost: h\r\n\r\n"); /* 1.0: not chunked, easy to count */
    client_wait(&f, &c, "\r\n\r\n");
    buf_clear(&c.in);
    room = buf_reserve(&f.stream->data, TOTAL);
    assert_non_null(room);
    memset(room, 'x', TOTAL);
    f.stream->data.len = TOTAL;
    f.stream->end = true;
    stream_ready(&f.stream->base);
    while (!c.closed)
        loop_run_once(f.loop);
    assert_int_equal(c.in.len, TOTAL);
    client_close(&c);
    stop(&f);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Who reads nothing for a while gets the rest without another word from the stream. */
static void streams_a_lot_to_who_reads_late(void **state)
{
    enum { TOTAL = 32 * 1024 * 1024 };
    struct fixture f;
    struct client c;
    char *room;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /stream HTTP/1.0\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "\r\n\r\n");
    buf_clear(&c.in);
    loop_fd_stop(c.watch);
    room = buf_reserve(&f.stream->data, TOTAL);
    assert_non_null(room);
    memset(room, 'x', TOTAL);
    f.stream->data.len = TOTAL;
    f.stream->end = true;
    stream_ready(&f.stream->base);
    for (size_t left = 0; left != f.stream->data.len;) { /* until the kernel takes no more */
        left = f.stream->data.len;
        for (int i = 0; i < 20; i++) {
            stream_ready(&f.stream->base);
            (void)clock_start(loop_clock(f.loop), 1, nothing, NULL);
            loop_run_once(f.loop);
        }
    }
    assert_true(f.stream->data.len > 0);
    c.watch = loop_fd_watch(f.loop, c.fd, LOOP_READABLE, client_reads, &c);
    while (!c.closed)
        loop_run_once(f.loop);
    assert_int_equal(c.in.len, TOTAL);
    client_close(&c);
    stop(&f);
}

static void closes_an_idle_stream_when_the_client_goes(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "\r\n\r\n");
    client_close(&c);
    while (!f.stream_closed || httpd_connection_count(f.httpd) > 0)
        loop_run_once(f.loop);
    stop(&f);
}

static void closes_what_clients_left_together_with_their_request(void **state)
{
    static const char *const sent[] = {
        "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /half HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc",
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(sent); i++) {
        struct fixture f;
        struct client c;
        int64_t since;

        /* the header's limit is how often it looks */
        start_with(&f, (struct httpd_options){.header_timeout_s = i == 0 ? 0 : 1});
        since = loop_monotonic_ms(f.loop);
        client_open(&f, &c);
        client_send(&c, sent[i]);
        client_close(&c);
        while (f.handled == 0 && httpd_connection_count(f.httpd) == 0) /* it has come */
            loop_run_once(f.loop);
        while (httpd_connection_count(f.httpd) > 0)
            loop_run_once(f.loop);
        assert_true(loop_monotonic_ms(f.loop) - since < 30000); /* not by a time-out */
        assert_int_equal(f.stream_closed, i == 0);
        stop(&f);
    }
}

static void marks_a_body_over_the_limit(void **state)
{
    struct fixture f;
    struct client c;
    char *body = calloc(1, HTTPD_BODY_LIMIT_BYTES + 2);
    size_t sent = 0, len = HTTPD_BODY_LIMIT_BYTES + 1;

    (void)state;
    memset(body, 'b', len);
    start(&f);
    client_open(&f, &c);
    client_send(&c, "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n300001\r\n");
    while (sent < len) {
        ssize_t n = send(c.fd, body + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            sent += (size_t)n;
        else
            loop_run_once(f.loop);
    }
    client_send(&c, "\r\n0\r\n\r\n");
    client_wait(&f, &c, "HTTP/1.1 413");
    client_close(&c);
    client_open(&f, &c); /* announced: refused without reading it */
    client_send(&c, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n");
    client_wait(&f, &c, "HTTP/1.1 413");
    client_close(&c);
    free(body);
    stop(&f);
}

static void refuses_nonsense_and_goes_on(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "\x16\x03\x01nonsense\r\n\r\n");
    while (!c.closed)
        loop_run_once(f.loop);
    client_close(&c);
    client_open(&f, &c);
    client_send(&c, "GET /x HTTP/1.1\r\nbad header without colon\r\n\r\n");
    while (!c.closed)
        loop_run_once(f.loop);
    client_close(&c);
    client_open(&f, &c);
    client_send(&c, "GET /fine HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &c, "GET /fine");
    client_close(&c);
    stop(&f);
}

static void hangs_up_on_slow_headers_and_bodies(void **state)
{
    struct fixture f;
    struct client header, body;

    (void)state;
    start_with(&f, (struct httpd_options){.header_timeout_s = 1, .body_timeout_s = 1});
    client_open(&f, &header);
    client_open(&f, &body);
    client_send(&header, "GET /slow HTTP/1.1\r\nHo");
    client_send(&body, "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    while (!header.closed || !body.closed)
        loop_run_once(f.loop);
    assert_int_equal(f.handled, 0);
    client_close(&header);
    client_close(&body);
    stop(&f);
}

/* A handshake is a header that does not come. */
static void closes_a_slow_handshake(void **state)
{
    static const char *const names[] = {"localhost", NULL};
    struct tls_options tls = {.authority = {.key = "", .certificate = ""}, .names = names};
    struct buf key = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    struct buf certificate = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct fixture f;
    struct client silent, half, plain;

    (void)state;
    assert_int_equal(authority_make(NULL, time(NULL), &key, &certificate, &err), 0);
    tls.authority = (struct key_pair){.key = key.data, .certificate = certificate.data};
    start_with(&f, (struct httpd_options){.header_timeout_s = 1, .tls = &tls});
    client_open(&f, &silent);
    client_open(&f, &half);
    client_open(&f, &plain);
    client_send(&half, "\x16\x03\x01\x02");
    client_send(&plain, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &plain, "GET /a");
    while (!silent.closed || !half.closed)
        loop_run_once(f.loop);
    assert_int_equal(f.handled, 1);
    client_close(&silent);
    client_close(&half);
    client_close(&plain);
    stop(&f);
    buf_release(&key);
    buf_release(&certificate);
}

static int count_closed(const struct client *c, int len)
{
    int closed = 0;

    for (int i = 0; i < len; i++)
        closed += c[i].closed;
    return closed;
}

/* Idle, or with half a header: who came first goes first, and requests are answered meanwhile. */
static void the_idle_make_room(void **state)
{
    enum { LIMIT = 32, MANY = 100 };
    static struct client c[MANY];
    struct fixture f;
    struct client busy, fresh;

    (void)state;
    start_with(&f, (struct httpd_options){.connection_limit = LIMIT});
    client_open(&f, &busy);
    client_send(&busy, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &busy, "\r\n\r\n");
    for (int i = 0; i < MANY; i++) {
        client_open(&f, &c[i]);
        if (i % 2)
            client_send(&c[i], "GET /half HTTP/1.1\r\nHo");
    }
    client_open(&f, &fresh);
    client_send(&fresh, "GET /fresh HTTP/1.1\r\nHost: h\r\n\r\n");
    client_wait(&f, &fresh, "GET /fresh");
    assert_true(httpd_connection_count(f.httpd) <= LIMIT);
    while (!c[0].closed || count_closed(c, MANY) < MANY - LIMIT)
        loop_run_once(f.loop);
    for (int i = 0; i < MANY; i++)
        client_close(&c[i]);
    assert_false(busy.closed);
    client_close(&busy);
    client_close(&fresh);
    stop(&f);
}

static void send_part_of_a_body(struct client *c, size_t len)
{
    char *part = malloc(len);

    assert_non_null(part);
    memset(part, 'x', len);
    client_send(c, "POST /part HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n");
    assert_int_equal(send(c->fd, part, len, MSG_NOSIGNAL), len);
    free(part);
}

/* Senders that stall hold memory; all together only so much, and the others get through. */
static void stalled_bodies_make_room(void **state)
{
    enum { MANY = 20, PART = 50000 };
    static struct client c[MANY];
    struct fixture f;
    struct client fresh;

    (void)state;
    start_with(&f, (struct httpd_options){.bodies_limit_bytes = 4 * PART});
    for (int i = 0; i < MANY; i++) {
        client_open(&f, &c[i]);
        send_part_of_a_body(&c[i], PART);
    }
    client_open(&f, &fresh);
    client_send(&fresh, "POST /fresh HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    client_wait(&f, &fresh, "hello");
    while (count_closed(c, MANY) < MANY - 4)
        loop_run_once(f.loop);
    for (int i = 0; i < MANY; i++)
        client_close(&c[i]);
    client_close(&fresh);
    stop(&f);
}

static void gives_up_on_an_endless_body(void **state)
{
    static char chunk[7 + 65536 + 2];
    size_t at = 0, sent = 0;
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "POST /endless HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "10000\r\n", 7);
    memcpy(chunk + 7 + 65536, "\r\n", 2);
    while (!c.closed) {
        ssize_t n = send(c.fd, chunk + at, sizeof(chunk) - at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            break;
        sent += n > 0 ? (size_t)n : 0;
        at = sent % sizeof(chunk);
        assert_true(sent < 64u << 20);
        loop_run_once(f.loop);
    }
    assert_true(sent > HTTPD_BODY_LIMIT_BYTES);
    assert_int_equal(f.handled, 0);
    client_close(&c);
    stop(&f);
}

static void stops_with_requests_and_streams_open(void **state)
{
    struct fixture f;
    struct client later, stream, half;

    (void)state;
    start(&f);
    client_open(&f, &later);
    client_open(&f, &stream);
    client_open(&f, &half);
    client_send(&later, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send(&stream, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send(&half, "POST /half HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    client_wait(&f, &stream, "\r\n\r\n");
    while (!f.held || httpd_connection_count(f.httpd) < 3)
        loop_run_once(f.loop);
    httpd_free(f.httpd);
    assert_true(f.stream_closed);
    assert_string_equal(f.held->path, "/later"); /* still the handler's */
    httpd_reply(f.held, 200, "text/plain", NULL, 0, NULL);
    client_close(&later);
    client_close(&stream);
    client_close(&half);
    loop_free(f.loop);
}

static void serves_many_connections(void **state)
{
    enum { MANY = 300 };
    static struct client c[MANY];
    struct fixture f;

    (void)state;
    start(&f);
    for (int i = 0; i < MANY; i++) {
        client_open(&f, &c[i]);
        client_send(&c[i], "GET /many HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    for (int i = 0; i < MANY; i++)
        client_wait(&f, &c[i], "GET /many");
    assert_int_equal(httpd_connection_count(f.httpd), MANY);
    for (int i = 0; i < MANY; i++)
        client_close(&c[i]);
    while (httpd_connection_count(f.httpd) > 0)
        loop_run_once(f.loop);
    stop(&f);
}

static void listens_only_where_it_may(void **state)
{
    static const struct {
        const char *address, *says;
    } cases[] = {
        {"0.0.0.0:0", "only this machine may connect"},
        {"192.0.2.1:80", "only this machine may connect"},
        {"[::]:0", "only this machine may connect"},
        {"localhost", "not an address"},
        {"example.com:80", "not an address"},
        {"127.0.0.1:99999", "not an address"},
        {"127.0.0.1:", "not an address"},
    };
    auto_err setup = ERR_INIT;
    struct loop *loop = loop_new(&setup);

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        auto_err err = ERR_INIT;
        struct httpd_options o = {.loop = loop, .address = cases[i].address, .handle = handle};

        assert_null(httpd_new(&o, &err));
        assert_non_null(strstr(err.text, cases[i].says));
        assert_non_null(err.hint);
    }
    loop_free(loop);
}

#define UPGRADE                                                                                    \
    "POST /upgrade HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: test\r\n"                \
    "X-Offer: one\r\nX-Offer: two\r\nContent-Length: 0\r\n\r\n"

/* The socket outlives the library's connection, and the library itself. */
static void hands_over_a_connection(void **state)
{
    struct fixture f;
    struct client c;
    struct pollfd readable;
    char bytes[16];

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, UPGRADE "early");
    client_wait(&f, &c, "\r\n\r\n");
    assert_non_null(strstr(c.in.data, "HTTP/1.1 101 "));
    assert_non_null(strstr(c.in.data, "Upgrade: test\r\n"));
    assert_non_null(strstr(c.in.data, "X-Offers: one, two\r\n"));
    assert_non_null(strstr(c.in.data, "Connection: Upgrade\r\n"));
    while (f.upgraded == 0 || httpd_connection_count(f.httpd) > 0)
        loop_run_once(f.loop);
    assert_true(f.socket >= 0);
    assert_string_equal(f.early, "early");
    assert_false(c.closed);
    httpd_free(f.httpd);
    assert_int_equal(f.upgraded, 1);
    assert_int_equal(send(f.socket, "theirs", 6, MSG_NOSIGNAL), 6);
    client_wait(&f, &c, "theirs");
    client_send(&c, "ours");
    readable = (struct pollfd){.fd = f.socket, .events = POLLIN};
    assert_int_equal(poll(&readable, 1, -1), 1); /* the loopback takes its time, too */
    assert_int_equal(recv(f.socket, bytes, sizeof(bytes), 0), 4);
    close(f.socket);
    while (!c.closed)
        loop_run_once(f.loop);
    client_close(&c);
    loop_free(f.loop);
}

static void says_when_there_was_nothing_to_hand_over(void **state)
{
    struct fixture f;
    struct client c;

    (void)state;
    start(&f);
    client_open(&f, &c);
    client_send(&c, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    while (!f.held)
        loop_run_once(f.loop);
    httpd_free(f.httpd);
    httpd_upgrade(f.held, NULL, 0, upgraded, &f);
    assert_int_equal(f.upgraded, 1);
    assert_int_equal(f.socket, -1);
    client_close(&c);
    loop_free(f.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_get_and_post_on_one_connection),
        cmocka_unit_test(answers_later),
        cmocka_unit_test(answers_pipelined_requests_in_order),
        cmocka_unit_test(answers_many_pipelined_requests),
        cmocka_unit_test(says_that_a_body_may_come),
        cmocka_unit_test(a_head_has_no_body),
        cmocka_unit_test(the_last_answer_arrives),
        cmocka_unit_test(streams_headers_first_then_what_comes),
        cmocka_unit_test(streams_a_lot),
        cmocka_unit_test(streams_a_lot_to_who_reads_late),
        cmocka_unit_test(closes_an_idle_stream_when_the_client_goes),
        cmocka_unit_test(marks_a_body_over_the_limit),
        cmocka_unit_test(closes_a_slow_handshake),
        cmocka_unit_test(refuses_nonsense_and_goes_on),
        cmocka_unit_test(closes_what_clients_left_together_with_their_request),
        cmocka_unit_test(hangs_up_on_slow_headers_and_bodies),
        cmocka_unit_test(the_idle_make_room),
        cmocka_unit_test(stalled_bodies_make_room),
        cmocka_unit_test(gives_up_on_an_endless_body),
        cmocka_unit_test(stops_with_requests_and_streams_open),
        cmocka_unit_test(serves_many_connections),
        cmocka_unit_test(listens_only_where_it_may),
        cmocka_unit_test(hands_over_a_connection),
        cmocka_unit_test(says_when_there_was_nothing_to_hand_over),
    };

    return cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
}
