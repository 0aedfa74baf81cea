/*
 * httpd.c - see httpd.h.
 *
 * Connections are accepted here, and their first byte tells whether they are TLS. For those, what
 * is read here is one end of a socket pair (net/tls.h).
 *
 * A connection does one thing at a time: read the head, read the body, wait for the handler, send
 * the answer; what the client sends beyond its request stays in the kernel or in the connection's
 * buffer until then. An answer made inside the handler is sent when the handler returns, any other
 * at once. But nothing that calls out (streams, the next request, an upgrade) is called from inside
 * an answer: that waits for the loop's next turn (the due list).
 *
 * A connection's struct lives from accept to close and is reused by all its requests, with its
 * memory. It outlives the connection only while a handler still owes an answer (httpd_free).
 *
 * Connections are cheap for a client to open and keep, but not for us: when most slots are taken,
 * those idle longest are closed for new ones. The memory of all bodies together is limited too.
 *
 * A pulled body stays in the kernel but for one buffer: what the handler does not read is not
 * received.
 *
 * After the last answer we wait for the client to close and drop what it still sends: closing with
 * unread data could lose the answer on its way.
 */
#include "net/httpd.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/list.h"
#include "loop/descriptors.h"
#include "net/http_head.h"
#include "net/listen.h"
#include "net/peer_user.h"

#define HEAD_ROOM_BYTES HTTP_HEAD_LIMIT_BYTES /* read at once while waiting for a head ... */
#define BODY_ROOM_BYTES (64u * 1024u)         /* ... or a body */
#define PIECE_BYTES (16u * 1024u)             /* of a stream */
#define OUT_LIMIT_BYTES (256u * 1024u)        /* an answer's head, or a piece */
#define DRAIN_LIMIT_BYTES                                                                          \
    (16u * 1024u * 1024u)             /* read and dropped so that the client can read a            \
                                       * 413 */
#define KEPT_BODY_BYTES (16u * 1024u) /* memory a connection keeps between requests */
#define STEPS_PER_TURN 16
#define PIECES_PER_TURN 4
#define ACCEPTS_PER_TURN 64
#define SWEEP_MS 5000
#define CROWDED(limit)                                                                             \
    ((limit) - (limit) / 8) /* above this, idle connections are closed for new                     \
                             * ones */
#define DESCRIPTORS_WANTED 24576u
#define NOT_WATCHED UINT_MAX /* after an error the loop no longer watches */

enum conn_state {
    CONN_ARRIVED,   /* nothing received yet */
    CONN_IDLE,      /* between requests, or receiving a head */
    CONN_READING,   /* head complete, receiving the body */
    CONN_HANDLING,  /* the handler owes an answer */
    CONN_SENDING,   /* sending the answer */
    CONN_LINGERING, /* last answer sent: until the client closes */
};

struct conn {
    struct httpd_request request; /* first: the handler's view */
    struct httpd *httpd;
    struct conn *prev, *next;
    struct conn *older, *newer; /* idle connections, see struct httpd */
    struct conn *next_due;
    int fd; /* -1: closed, but an answer is still owed */
    struct loop_fd *watch;
    unsigned events;
    bool tls;
    struct tls_peer *peer; /* for TLS with client certificates, or NULL */
    enum conn_state state;
    bool due, out_of_memory;
    bool in_handler;      /* the handler is on the stack */
    bool last;            /* no request after this one */
    bool queued, leaving; /* in the idle list; asked to close, and no longer in it */
    int64_t since_ms;     /* in this state, or since the last byte sent; for slow-client limits */
    size_t held_bytes;    /* of the body, as counted in struct httpd */
    size_t dropped_bytes; /* of a body that is too large, or after the last answer */
    struct buf in;        /* received ... */
    size_t in_at;         /* ... and consumed up to here */
    struct http_head_scan scan;
    struct http_head head;
    struct http_chunks chunks;
    uint64_t left; /* of an unchunked body */
    struct stream pulled;
    struct buf body_bytes;
    /* The answer: out, then body, then the stream. */
    struct buf out;
    size_t out_at;
    struct blob *body;
    size_t body_at;
    struct stream *stream;
    void (*gone)(void *arg); /* httpd_on_gone */
    void *gone_arg;
    httpd_upgrade_fn *upgraded; /* still to be called */
    void *upgraded_arg;
};

struct httpd {
    struct loop *loop;
    void (*handle)(void *arg, struct httpd_request *r);
    bool (*admits)(void *arg, struct httpd_request *r);
    void *arg;
    struct tls *tls; /* NULL: plain HTTP only */
    bool tls_only;
    int listen_fd;
    struct loop_fd *arrivals;
    bool full; /* nothing is accepted until one closes */
    struct loop_wake *again;
    struct conn *due, *working; /* have work: on the next turn, on this one */
    struct clock_timer *sweep_timer;
    struct blob *no_memory; /* prepared in advance, so that there is always an answer */
    struct conn *conns;
    struct conn *oldest_idle, *newest_idle;
    size_t conn_count, conn_limit;
    size_t held_bytes, held_limit_bytes; /* of all bodies being received or handled */
    unsigned port;
    int64_t header_limit_ms, body_limit_ms;
    time_t date_s;
    char date[40];
};

static void conn_ready(void *arg, unsigned events);

/* --- slow clients ---------------------------------------------------------------------- */

static void leave_idle(struct conn *c)
{
    if (!c->queued)
        return;
    *(c->older ? &c->older->newer : &c->httpd->oldest_idle) = c->newer;
    *(c->newer ? &c->newer->older : &c->httpd->newest_idle) = c->older;
    c->older = c->newer = NULL;
    c->queued = false;
}

static void join_idle(struct conn *c)
{
    struct httpd *h = c->httpd;

    if (c->leaving)
        return;
    c->older = h->newest_idle;
    *(c->older ? &c->older->newer : &h->oldest_idle) = c;
    h->newest_idle = c;
    c->queued = true;
}

/* Shuts the socket down; the resulting end or write error then closes it. */
static void send_away(struct conn *c)
{
    leave_idle(c);
    c->leaving = true;
    (void)shutdown(c->fd, SHUT_RDWR);
}

void httpd_end_session(struct httpd *h, uint64_t session, const struct httpd_request *but)
{
    for (struct conn *c = h->conns; c; c = c->next)
        if (c->request.session == session && &c->request != but)
            send_away(c);
}

/* One is closed per new connection: never the newest, which is the new one itself. */
static void make_room(struct httpd *h)
{
    if (h->conn_count > CROWDED(h->conn_limit) && h->oldest_idle != h->newest_idle)
        send_away(h->oldest_idle);
}

static bool is_idle(enum conn_state state)
{
    return state == CONN_IDLE || state == CONN_ARRIVED || state == CONN_LINGERING;
}

static void set_state(struct conn *c, enum conn_state state)
{
    leave_idle(c);
    if (is_idle(state))
        join_idle(c);
    c->state = state;
    c->since_ms = loop_monotonic_ms(c->httpd->loop);
}

static int64_t limit_of(const struct conn *c)
{
    const struct httpd *h = c->httpd;

    switch (c->state) {
    case CONN_ARRIVED:
        return h->header_limit_ms;
    case CONN_IDLE:
        return c->in.len > 0 || c->tls ? h->header_limit_ms
                                       : min_i64(h->header_limit_ms, HTTPD_IDLE_TIMEOUT_S * 1000);
    case CONN_READING:
        return h->body_limit_ms;
    case CONN_SENDING: /* an idle stream is exempt */
        return c->events & LOOP_WRITABLE ? HTTPD_IDLE_TIMEOUT_S * 1000 : INT64_MAX;
    case CONN_LINGERING:
        return TLS_CLOSING_MS;
    case CONN_HANDLING:
        return INT64_MAX;
    }
    unreachable();
}

static void sweep(void *arg);

static void sweep_later(struct httpd *h)
{
    h->sweep_timer = clock_start(loop_clock(h->loop), min_i64(SWEEP_MS, h->header_limit_ms), sweep,
                                 h);
}

static void accept_again(struct httpd *h)
{
    if (h->full && h->arrivals)
        h->full = loop_fd_change(h->arrivals, LOOP_READABLE) < 0;
}

static void sweep(void *arg)
{
    struct httpd *h = arg;
    int64_t now = loop_monotonic_ms(h->loop);

    h->sweep_timer = NULL;
    accept_again(h);
    for (struct conn *c = h->conns; c; c = c->next)
        if (now - c->since_ms > limit_of(c))
            send_away(c);
    if (h->conns)
        sweep_later(h);
}

/* --- connections ----------------------------------------------------------------------- */

static struct conn *conn_new(struct httpd *h, int fd)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->httpd = h;
    c->fd = fd;
    arena_init(&c->request.arena, HTTPD_REQUEST_MEMORY_BYTES);
    buf_init(&c->in, 2 * (HEAD_ROOM_BYTES + BODY_ROOM_BYTES));
    buf_init(&c->body_bytes, HTTPD_BODY_LIMIT_BYTES);
    buf_init(&c->out, OUT_LIMIT_BYTES);
    list_push(&h->conns, c);
    h->conn_count++;
    set_state(c, CONN_ARRIVED);
    make_room(h);
    if (!h->sweep_timer)
        sweep_later(h);
    return c;
}

static void release_body(struct conn *c)
{
    c->httpd->held_bytes -= c->held_bytes;
    c->held_bytes = 0;
}

/* Of those that hold memory, the one whose body has been arriving longest. */
static struct conn *slowest_sender(const struct httpd *h, const struct conn *but)
{
    struct conn *found = NULL;

    for (struct conn *c = h->conns; c; c = c->next)
        if (c != but && c->state == CONN_READING && c->held_bytes &&
            (!found || c->since_ms < found->since_ms))
            found = c;
    return found;
}

/* Accounts for a body's memory. When all together would exceed the limit the slowest is closed: a
 * stalling sender must not keep the others out. */
static bool hold_body(struct conn *c, size_t bytes)
{
    struct httpd *h = c->httpd;

    while (bytes > h->held_limit_bytes - h->held_bytes) {
        struct conn *victim = slowest_sender(h, c);

        if (!victim)
            return false;
        send_away(victim);
        release_body(victim);
        buf_release(&victim->body_bytes);
        victim->out_of_memory = true;
    }
    h->held_bytes += bytes;
    c->held_bytes += bytes;
    return true;
}

static void be_due(struct conn *c)
{
    struct httpd *h = c->httpd;

    if (c->due)
        return;
    if (!h->due)
        loop_wake_send(h->again);
    c->due = true;
    c->next_due = h->due;
    h->due = c;
}

static void drop_answer(struct conn *c)
{
    httpd_upgrade_fn *fn = c->upgraded;
    struct stream *s = c->stream;

    c->upgraded = NULL;
    c->stream = NULL;
    buf_release(&c->out);
    c->out_at = c->body_at = 0;
    blob_unref(c->body);
    c->body = NULL;
    if (fn)
        fn(c->upgraded_arg, -1, "", 0);
    if (s) {
        s->on_ready = NULL;
        s->ops->close(s);
    }
}

static void conn_free(struct conn *c)
{
    arena_release(&c->request.arena);
    buf_release(&c->in);
    buf_release(&c->body_bytes);
    tls_peer_unref(c->peer);
    free(c);
}

static bool take_out(struct conn **at, const struct conn *c)
{
    while (*at && *at != c)
        at = &(*at)->next_due;
    if (!*at)
        return false;
    *at = c->next_due;
    return true;
}

static void conn_unlink(struct conn *c)
{
    struct httpd *h = c->httpd;

    leave_idle(c);
    release_body(c);
    list_remove(&h->conns, c);
    if (c->due && !take_out(&h->due, c))
        (void)take_out(&h->working, c);
    h->conn_count--;
    accept_again(h);
    loop_fd_stop(c->watch);
    c->watch = NULL;
}

/* If a handler still owes an answer the struct stays until then. */
static void conn_close(struct conn *c)
{
    conn_unlink(c);
    drop_answer(c);
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    if (c->state != CONN_HANDLING)
        conn_free(c);
}

/* Waits for one of these events. Must be the last thing done to a connection, which may be
 * freed. */
static void wait_for(struct conn *c, unsigned events)
{
    bool fine = true;

    if (!c->watch) {
        c->watch = loop_fd_watch(c->httpd->loop, c->fd, events, conn_ready, c);
        fine = c->watch != NULL;
    } else if (events != c->events) {
        fine = loop_fd_change(c->watch, events) == 0;
    }
    c->events = events;
    if (!fine)
        conn_close(c);
}

/* --- answers --------------------------------------------------------------------------- */

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < ELEMS(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Other";
}

static const char *date_now(struct httpd *h)
{
    time_t now = time(NULL);
    struct tm tm;

    if (now != h->date_s && gmtime_r(&now, &tm)) {
        (void)strftime(h->date, sizeof(h->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        h->date_s = now;
    }
    return h->date;
}

/* A value that would end the line, or that readers could interpret differently, fails the
 * answer. */
static void put_header(struct buf *out, const char *name, const char *value)
{
    for (const char *c = value; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            out->failed = true;
    if (!out->failed)
        buf_addf(out, "%s: %s\r\n", name, value);
}

static void put_head(struct conn *c, int status, const char *content_type,
                     const struct httpd_header *headers, size_t header_count)
{
    buf_addf(&c->out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, phrase_of(status),
             date_now(c->httpd));
    if (content_type)
        put_header(&c->out, "Content-Type", content_type);
    for (size_t i = 0; i < header_count; i++)
        put_header(&c->out, headers[i].name, headers[i].value);
}

static bool send_some(struct conn *c);

/* out has the complete head except for the final empty line. */
static void answer(struct conn *c)
{
    c->pulled.on_ready = NULL;
    c->last = c->last || (c->request.pulls_body && c->left > 0);
    buf_adds(&c->out, c->upgraded ? "Connection: Upgrade\r\n\r\n"
                      : c->last   ? "Connection: close\r\n\r\n"
                                  : "\r\n");
    if (c->out.failed) {
        c->last = true;
        drop_answer(c);
        c->body = blob_ref(c->httpd->no_memory);
    }
    set_state(c, CONN_SENDING);
    if (c->in_handler)
        return;
    if (c->stream || c->upgraded ||
        (send_some(c) && (c->in_at < c->in.len || c->events != LOOP_READABLE)))
        be_due(c);
}

static void answer_without_memory(struct conn *c)
{
    c->out.failed = true;
    answer(c);
}

static void put_body(struct conn *c, int status, struct blob *body)
{
    if (status != 204 && status != 304)
        buf_addf(&c->out, "Content-Length: %u\r\n", body ? body->len : 0);
    if (body && status != 204 && status != 304 &&
        (!c->head.method || strcmp(c->head.method, "HEAD") != 0))
        c->body = blob_ref(body);
}

static struct blob *status_of(const struct http_refusal *why)
{
    struct buf text = BUF_INIT(4096);
    struct blob *blob;

    buf_addf(&text,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
             "\"reason\":\"%s\",\"code\":%d,\"message\":",
             why->status == 413 ? "RequestEntityTooLarge" : "BadRequest", why->status);
    json_write_string(&text, why->text, strlen(why->text));
    buf_adds(&text, "}\n");
    blob = blob_from_buf(&text);
    buf_release(&text);
    return blob;
}

/* One answer; nothing after it is read as a request. */
static void refuse(struct conn *c, const struct http_refusal *why)
{
    struct blob *body = status_of(why);

    c->last = true;
    c->head = (struct http_head){.last = true};
    put_head(c, why->status, "application/json", NULL, 0);
    put_body(c, why->status, body);
    blob_unref(body);
    c->in_handler = true; /* the caller continues with it */
    answer(c);
    c->in_handler = false;
}

/* Resets it for the next request. */
static void end_request(struct conn *c)
{
    drop_answer(c);
    arena_reset(&c->request.arena);
    c->head = (struct http_head){.last = false};
    if (c->body_bytes.cap > KEPT_BODY_BYTES)
        buf_release(&c->body_bytes);
    else
        buf_clear(&c->body_bytes);
    release_body(c);
    c->dropped_bytes = 0;
    c->request.too_large = c->out_of_memory = c->request.pulls_body = false;
    c->request.pulled_len = 0;
    c->request.session = 0;
    c->gone = NULL;
    if (c->last)
        (void)shutdown(c->fd, SHUT_WR);
    set_state(c, c->last ? CONN_LINGERING : CONN_IDLE);
}

/* The 101 is sent: the socket gets a new owner. */
static void hand_over(struct conn *c)
{
    httpd_upgrade_fn *fn = c->upgraded;
    int fd = c->fd;

    c->upgraded = NULL;
    c->fd = -1;
    conn_unlink(c);
    fn(c->upgraded_arg, fd, c->in.len > c->in_at ? c->in.data + c->in_at : "",
       c->in.len - c->in_at);
    drop_answer(c);
    conn_free(c);
}

static size_t unsent(const struct conn *c)
{
    return c->out.len - c->out_at + (c->body ? c->body->len - c->body_at : 0);
}

/* False: the connection accepts no more for now. */
static bool flush(struct conn *c)
{
    while (unsent(c) > 0) {
        size_t head = c->out.len - c->out_at, sent;
        struct iovec parts[2] = {
            {.iov_base = c->out.data + c->out_at, .iov_len = head},
            {.iov_base = c->body ? c->body->data + c->body_at : NULL,
             .iov_len = c->body ? c->body->len - c->body_at : 0},
        };
        struct msghdr message = {.msg_iov = head ? parts : parts + 1, .msg_iovlen = head ? 2 : 1};
        ssize_t n = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        sent = (size_t)n;
        c->out_at += min_size(sent, head);
        c->body_at += sent > head ? sent - head : 0;
        c->since_ms = loop_monotonic_ms(c->httpd->loop);
    }
    buf_release(&c->out);
    c->out_at = 0;
    return true;
}

/* Appends data from the stream to out. False: nothing now. */
static bool take_piece(struct conn *c)
{
    enum { SIZE_LEN = 6 }; /* "3e80\r\n" */
    size_t before = c->head.old ? 0 : SIZE_LEN;
    char size[SIZE_LEN + 1];
    char *room = buf_reserve(&c->out, PIECE_BYTES + SIZE_LEN + 2);
    ssize_t n = room ? c->stream->ops->read(c->stream, room + before, PIECE_BYTES) : STREAM_BROKEN;

    if (n == 0)
        return false;
    if (n > 0) {
        (void)snprintf(size, sizeof(size), "%04x\r\n", (unsigned)n & 0xffffu);
        memcpy(room, size, before);
        c->out.len += before + (size_t)n;
        if (!c->head.old)
            buf_adds(&c->out, "\r\n");
        return true;
    }
    if (n == STREAM_END && !c->head.old)
        buf_adds(&c->out, "0\r\n\r\n");
    c->last = c->last || n == STREAM_BROKEN;
    c->stream->on_ready = NULL;
    c->stream->ops->close(c->stream);
    c->stream = NULL;
    return true;
}

/* True: the answer is sent, and there may be more to do. False: it waits, or the connection is
 * gone. */
static bool send_some(struct conn *c)
{
    for (int i = 0;; i++) {
        /* appended to the head, but not to unsent data */
        bool more = !c->stream || c->out_at > 0 || c->out.len >= PIECE_BYTES || take_piece(c);

        if (!flush(c)) {
            conn_close(c);
            return false;
        }
        if (unsent(c) > 0) {
            wait_for(c, LOOP_WRITABLE);
            return false;
        }
        if (!c->stream)
            break;
        if (!more) {
            wait_for(c, LOOP_HANGUP);
            return false;
        }
        if (i == PIECES_PER_TURN) {
            be_due(c);
            return false;
        }
    }
    if (c->upgraded) {
        hand_over(c);
        return false;
    }
    end_request(c);
    return true;
}

/* --- requests -------------------------------------------------------------------------- */

static void handle_request(struct conn *c)
{
    c->request.body = c->body_bytes.data ? c->body_bytes.data : "";
    c->request.body_len = c->body_bytes.len;
    if (c->request.too_large)
        c->request.body_len = 0;
    set_state(c, CONN_HANDLING);
    c->in_handler = true;
    if (c->out_of_memory)
        answer_without_memory(c);
    else
        c->httpd->handle(c->httpd->arg, &c->request);
    c->in_handler = false;
}

static bool admits_body(struct conn *c)
{
    struct httpd *h = c->httpd;

    c->request.body = "";
    c->request.body_len = c->head.chunked ? SIZE_MAX : c->head.length;
    return !h->admits || c->request.body_len == 0 || h->admits(h->arg, &c->request);
}

static void begin_body(struct conn *c)
{
    uint64_t n = c->left = c->head.length;
    bool asks;

    c->chunks = (struct http_chunks){.state = CHUNK_SIZE};
    set_state(c, CONN_READING);
    if (!admits_body(c)) {
        c->last = true;
        handle_request(c);
        return;
    }
    c->request.pulls_body = c->request.pulls_body && n > 0 && !c->head.chunked;
    if (c->request.pulls_body)
        c->request.pulled_len = n;
    else if (n > HTTPD_BODY_LIMIT_BYTES)
        c->request.too_large = true;
    else if (n > 0 && !buf_reserve(&c->body_bytes, min_size(n, KEPT_BODY_BYTES)))
        c->out_of_memory = true;
    asks = c->head.continues && c->in_at == c->in.len && (n > 0 || c->head.chunked);
    if (!c->request.pulls_body && (n > DRAIN_LIMIT_BYTES || (asks && c->request.too_large))) {
        c->last = true;
        handle_request(c);
        return;
    }
    if (asks) {
        static const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";

        (void)!send(c->fd, go, sizeof(go) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (c->request.pulls_body)
        handle_request(c);
}

/* False: more data is needed. */
static bool take_head(struct conn *c)
{
    const char *data = c->in.data ? c->in.data + c->in_at : "", *mark;
    struct http_refusal why = {0};
    ssize_t n = http_head_scan(&c->scan, data, c->in.len - c->in_at, &why);
    struct httpd_request *r = &c->request;
    int rc = n < 0 ? (int)n : 0;

    if (n == 0)
        return false;
    if (rc == 0)
        rc = http_head_parse(&c->head, &c->scan, &r->arena, data, (size_t)n, &why);
    c->scan = (struct http_head_scan){0};
    if (rc == 0) {
        c->in_at += (size_t)n;
        c->last = c->head.last;
        mark = strchrnul(c->head.target, '?');
        r->method = c->head.method;
        r->path = arena_strndup(&r->arena, c->head.target, (size_t)(mark - c->head.target));
        r->query = *mark ? mark + 1 : mark;
        rc = r->path ? 0 : -ENOMEM;
    }
    if (rc == 0)
        begin_body(c);
    else if (why.status)
        refuse(c, &why);
    else
        refuse(c, &(struct http_refusal){503, "out of memory"});
    return true;
}

/* False: far too much. */
static bool keep_body(struct conn *c, const char *data, size_t len)
{
    if (c->request.too_large || c->out_of_memory) {
        c->dropped_bytes += len;
        return c->dropped_bytes <= DRAIN_LIMIT_BYTES;
    }
    if (len > HTTPD_BODY_LIMIT_BYTES - c->body_bytes.len) {
        c->request.too_large = true;
    } else if (!hold_body(c, len)) {
        c->out_of_memory = true;
    } else {
        buf_add(&c->body_bytes, data, len);
        c->out_of_memory = c->body_bytes.failed;
    }
    return true;
}

/* How many of the received bytes were consumed. */
static ssize_t take_bytes(struct conn *c, const char **content, size_t *content_len)
{
    const char *data = c->in.data + c->in_at;
    size_t len = c->in.len - c->in_at;

    if (c->head.chunked)
        return http_chunks_feed(&c->chunks, data, len, content, content_len);
    *content = data;
    *content_len = min_size(len, c->left);
    c->left -= *content_len;
    return (ssize_t)*content_len;
}

static bool body_is_whole(const struct conn *c)
{
    return c->head.chunked ? c->chunks.state == CHUNKS_DONE : c->left == 0;
}

/* False: more data is needed. */
static bool take_body(struct conn *c)
{
    while (!body_is_whole(c) && c->in_at < c->in.len) {
        const char *content;
        size_t len;
        ssize_t n = take_bytes(c, &content, &len);

        if (n < 0 || !keep_body(c, content, len)) {
            refuse(c, n < 0 ? &(struct http_refusal){400, "the body is not in chunks"}
                            : &(struct http_refusal){413, "the body is too large"});
            return true;
        }
        c->in_at += (size_t)n;
    }
    if (!body_is_whole(c))
        return false;
    handle_request(c);
    return true;
}

static void trim_input(struct conn *c)
{
    if (c->in_at < c->in.len)
        return;
    buf_release(&c->in);
    c->in_at = 0;
}

/* --- pulled bodies ------------------------------------------------------------------------- */

static ssize_t read_pulled(struct stream *s, char *out, size_t cap)
{
    struct conn *c = container_of(s, struct conn, pulled);
    size_t n = min_size(min_size(cap, c->in.len - c->in_at), c->left);

    if (c->left == 0)
        return STREAM_END;
    if (c->fd < 0)
        return STREAM_BROKEN;
    if (n > 0)
        memcpy(out, c->in.data + c->in_at, n);
    c->in_at += n;
    c->left -= n;
    if (c->in_at == c->in.len && c->left > 0)
        be_due(c);
    return (ssize_t)n;
}

static const struct stream_ops pulled_ops = {.read = read_pulled};

struct stream *httpd_body(struct httpd_request *r)
{
    struct conn *c = (struct conn *)r;

    c->pulled.ops = &pulled_ops;
    return &c->pulled;
}

static bool wants_body(const struct conn *c)
{
    return c->request.pulls_body && c->left > 0 && c->in_at == c->in.len;
}

/* The connection may be gone afterwards. */
static void receive_pulled(struct conn *c)
{
    char *to;
    ssize_t n;

    trim_input(c);
    to = buf_reserve(&c->in, BODY_ROOM_BYTES);
    n = to ? recv(c->fd, to, BODY_ROOM_BYTES, MSG_DONTWAIT) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->in.len += (size_t)n;
    else
        conn_close(c);
    stream_ready(&c->pulled);
}

/* The handler's answer will be dropped; the connection is gone. */
static void leave(struct conn *c)
{
    void (*gone)(void *arg) = c->gone;

    c->gone = NULL;
    conn_close(c);
    gone(c->gone_arg);
}

/* Does whatever is possible now; the connection may be gone afterwards. */
static void go_on(struct conn *c)
{
    bool more = true;

    for (int i = 0; more && i < STEPS_PER_TURN; i++) {
        if (c->state == CONN_SENDING) {
            if (!send_some(c))
                return;
        } else if (c->state == CONN_HANDLING) {
            trim_input(c);
            if (wants_body(c))
                wait_for(c, LOOP_READABLE);
            else if (c->gone)
                wait_for(c, LOOP_HANGUP);
            return;
        } else if (c->state == CONN_LINGERING) {
            more = false;
            c->in_at = c->in.len;
        } else {
            more = c->state == CONN_IDLE ? take_head(c) : take_body(c);
        }
    }
    if (more) {
        be_due(c);
        return;
    }
    trim_input(c);
    wait_for(c, LOOP_READABLE);
}

static void go_on_due(void *arg)
{
    struct httpd *h = arg;
    struct conn *c;

    while ((c = h->due) != NULL) { /* first come, first served */
        h->due = c->next_due;
        c->next_due = h->working;
        h->working = c;
    }
    while ((c = h->working) != NULL) {
        h->working = c->next_due;
        c->due = false;
        go_on(c);
    }
}

static void receive(struct conn *c)
{
    size_t room = c->state == CONN_IDLE ? HEAD_ROOM_BYTES : BODY_ROOM_BYTES;
    char *to;
    ssize_t n;

    buf_consume(&c->in, c->in_at);
    c->in_at = 0;
    to = buf_reserve(&c->in, room);
    n = to ? recv(c->fd, to, room, MSG_DONTWAIT) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        n = 0;
    else if (n <= 0 ||
             (c->state == CONN_LINGERING && (c->dropped_bytes += (size_t)n) > DRAIN_LIMIT_BYTES)) {
        conn_close(c);
        return;
    }
    c->in.len += (size_t)n;
    go_on(c);
}

/* --- accepting -------------------------------------------------------------------------- */

/* Not over a loopback address. */
static bool is_from_outside(int fd)
{
    struct sockaddr_storage here;
    socklen_t len = sizeof(here);

    return getsockname(fd, (struct sockaddr *)&here, &len) < 0 || !listen_is_loopback(&here);
}

/* The connection itself goes to the TLS thread; we read one end of a socket pair. */
static bool put_tls_before(struct conn *c)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    loop_fd_stop(c->watch);
    c->watch = NULL;
    c->peer = tls_asks_clients(c->httpd->tls) ? tls_peer_new() : NULL;
    tls_serve(c->httpd->tls, c->fd, pair[1], c->peer);
    c->fd = pair[0];
    return true;
}

static void enter(struct conn *c, unsigned char first)
{
    struct httpd *h = c->httpd;
    int on = 1;

    c->tls = h->tls && first == TLS_FIRST_BYTE;
    set_state(c, CONN_IDLE);
    if (c->tls && !put_tls_before(c)) {
        conn_close(c);
        return;
    }
    if (!c->tls && h->tls && (h->tls_only || is_from_outside(c->fd))) {
        refuse(c, &(struct http_refusal){400, "this server speaks TLS: use https://"});
        go_on(c);
        return;
    }
    if (c->tls) {
        wait_for(c, LOOP_READABLE);
        return;
    }
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    receive(c);
}

static void look_at_first_byte(struct conn *c)
{
    unsigned char first;
    ssize_t n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n == 1)
        enter(c, first);
    else if (n < 0 && (errno == EAGAIN || errno == EINTR))
        wait_for(c, LOOP_READABLE);
    else
        conn_close(c);
}

static void conn_ready(void *arg, unsigned events)
{
    struct conn *c = arg;

    if (events & LOOP_HANGUP)
        c->events = NOT_WATCHED;
    switch (c->state) {
    case CONN_ARRIVED:
        look_at_first_byte(c);
        break;
    case CONN_IDLE:
    case CONN_READING:
    case CONN_LINGERING:
        receive(c);
        break;
    case CONN_HANDLING: /* one request after the other */
        if (wants_body(c))
            receive_pulled(c);
        else if (c->gone && events & LOOP_HANGUP)
            leave(c);
        else
            wait_for(c, c->gone ? LOOP_HANGUP : 0);
        break;
    case CONN_SENDING:
        if (c->stream && events & LOOP_HANGUP)
            conn_close(c);
        else
            go_on(c);
        break;
    }
}

/* Running out of descriptors also means full. A closing connection frees one, but with TLS only
 * once the thread has closed its end, which is not reported here, so another one has to close. */
static void accept_some(void *arg, unsigned events)
{
    struct httpd *h = arg;
    bool out_of_descriptors;
    int fd = 0;

    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && h->conn_count < h->conn_limit; i++) {
        struct conn *c;

        fd = accept4(h->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            break;
        c = conn_new(h, fd);
        if (c)
            look_at_first_byte(c);
        else
            (void)close(fd);
    }
    out_of_descriptors = fd < 0 && h->conns && (errno == EMFILE || errno == ENFILE);
    if (out_of_descriptors && h->oldest_idle)
        send_away(h->oldest_idle);
    h->full = out_of_descriptors || h->conn_count >= h->conn_limit;
    if (h->full)
        (void)loop_fd_change(h->arrivals, 0);
}

/* --- for the handler ------------------------------------------------------------------- */

const char *httpd_header(const struct httpd_request *r, const char *name)
{
    return http_head_field(&((const struct conn *)r)->head, name);
}

void httpd_each_header(const struct httpd_request *r, httpd_header_fn *fn, void *arg)
{
    const struct http_head *head = &((const struct conn *)r)->head;

    for (size_t i = 0; i < head->field_count; i++)
        fn(arg, head->fields[i].name, head->fields[i].value);
}

const struct tls_peer *httpd_peer(const struct httpd_request *r)
{
    return ((const struct conn *)r)->peer;
}

bool httpd_peer_user(const struct httpd_request *r, uid_t *ret)
{
    const struct conn *c = (const struct conn *)r;

    return !c->tls && c->fd >= 0 && peer_user(c->fd, ret);
}

void httpd_on_gone(struct httpd_request *r, void (*fn)(void *arg), void *arg)
{
    struct conn *c = (struct conn *)r;

    c->gone = fn;
    c->gone_arg = arg;
}

bool httpd_is_tls(const struct httpd_request *r)
{
    return ((const struct conn *)r)->tls;
}

const char *httpd_header_joined(struct httpd_request *r, const char *name)
{
    const struct http_head *head = &((const struct conn *)r)->head;
    struct buf text = BUF_INIT(HTTPD_HEADER_JOIN_LIMIT_BYTES);
    const char *joined = NULL;

    for (size_t i = 0; i < head->field_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            buf_addf(&text, "%s%s", text.len ? ", " : "", head->fields[i].value);
    if (!text.failed)
        joined = text.data ? arena_strdup(&r->arena, text.data) : "";
    buf_release(&text);
    return joined;
}

/* True when the client is gone; the request is then freed. */
static bool abandoned(struct conn *c)
{
    if (c->fd >= 0)
        return false;
    conn_free(c);
    return true;
}

void httpd_reply(struct httpd_request *r, int code, const char *content_type,
                 const struct httpd_header *headers, size_t header_count, struct blob *body)
{
    struct conn *c = (struct conn *)r;

    if (abandoned(c))
        return;
    put_head(c, code, content_type, headers, header_count);
    put_body(c, code, body);
    answer(c);
}

static void stream_has_data(void *arg)
{
    struct conn *c = arg;

    if (!(c->events & LOOP_WRITABLE)) /* otherwise it is asked anyway */
        be_due(c);
}

void httpd_stream(struct httpd_request *r, int code, const char *content_type,
                  struct stream *stream)
{
    httpd_stream_with(r, code, content_type, NULL, 0, stream);
}

void httpd_stream_with(struct httpd_request *r, int code, const char *content_type,
                       const struct httpd_header *headers, size_t header_count,
                       struct stream *stream)
{
    struct conn *c = (struct conn *)r;

    if (abandoned(c)) {
        stream->ops->close(stream);
        return;
    }
    put_head(c, code, content_type, headers, header_count);
    if (!c->head.old)
        buf_adds(&c->out, "Transfer-Encoding: chunked\r\n");
    if (strcmp(c->head.method, "HEAD") == 0) {
        stream->ops->close(stream);
    } else {
        stream->on_ready = stream_has_data;
        stream->on_ready_arg = c;
        c->stream = stream;
    }
    answer(c);
}

void httpd_upgrade(struct httpd_request *r, const struct httpd_header *headers, size_t header_count,
                   httpd_upgrade_fn *fn, void *arg)
{
    struct conn *c = (struct conn *)r;

    if (abandoned(c)) {
        fn(arg, -1, "", 0);
        return;
    }
    c->upgraded = fn;
    c->upgraded_arg = arg;
    put_head(c, 101, NULL, headers, header_count);
    answer(c);
}

/* --- start and end --------------------------------------------------------------------- */

/* Half of our descriptors: files, pods and streams need some as well. With TLS a connection takes
 * three. */
static size_t connection_limit(const struct httpd_options *o)
{
    struct rlimit limit;
    size_t n = o->connection_limit ? o->connection_limit : HTTPD_CONNECTION_LIMIT;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? n
                                                : min_size(n, limit.rlim_cur / (o->tls ? 5 : 2));
}

static int start(struct httpd *h, const struct tls_options *tls, struct err *err)
{
    static const char no_memory[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                                    "Connection: close\r\n\r\n";

    h->tls = tls ? tls_new(tls) : NULL;
    h->arrivals = loop_fd_watch(h->loop, h->listen_fd, LOOP_READABLE, accept_some, h);
    h->again = loop_wake_new(h->loop, go_on_due, h);
    h->no_memory = blob_new(no_memory, sizeof(no_memory) - 1);
    if (!h->arrivals || !h->again || !h->no_memory || (tls && !h->tls))
        return err_set(err, ERR_INTERNAL, "cannot start the HTTP server: out of memory");
    return 0;
}

static int64_t limit_ms(unsigned asked_s, unsigned ceiling_s)
{
    return (int64_t)(asked_s ? asked_s : ceiling_s) * 1000;
}

struct httpd *httpd_new(const struct httpd_options *options, struct err *err)
{
    struct httpd *h = calloc(1, sizeof(*h));

    if (!h) {
        (void)err_set(err, ERR_UNAVAILABLE, "out of memory");
        return NULL;
    }
    h->loop = options->loop;
    h->handle = options->handle;
    h->admits = options->admits;
    h->arg = options->arg;
    h->header_limit_ms = limit_ms(options->header_timeout_s, HTTPD_HEADER_TIMEOUT_S);
    h->body_limit_ms = limit_ms(options->body_timeout_s, HTTPD_BODY_TIMEOUT_S);
    h->held_limit_bytes = options->bodies_limit_bytes ? options->bodies_limit_bytes
                                                      : HTTPD_BODIES_LIMIT_BYTES;
    descriptors_raise(DESCRIPTORS_WANTED); /* the usual 1024 is less than we can serve */
    h->conn_limit = connection_limit(options);
    h->tls_only = options->tls_only;
    h->listen_fd = listen_open(options->address, !options->tls, &h->port, err);
    if (h->listen_fd < 0 || start(h, options->tls, err) < 0) {
        httpd_free(h);
        return NULL;
    }
    return h;
}

struct httpd *httpd_new_self_signed(const struct httpd_options *options, struct err *err)
{
    static const char *const names[] = {"localhost", NULL};
    struct buf key = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES),
               certificate = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    int64_t now_s = clock_now_ms(loop_clock(options->loop)) / 1000;
    struct httpd *h = NULL;

    if (authority_make(NULL, now_s, &key, &certificate, err) == 0) {
        const struct tls_options tls = {.authority = {key.data, certificate.data}, .names = names};
        struct httpd_options with_tls = *options;

        with_tls.tls = &tls;
        h = httpd_new(&with_tls, err);
    }
    buf_release(&key);
    buf_release(&certificate);
    return h;
}

void httpd_free(struct httpd *h)
{
    if (!h)
        return;
    loop_fd_stop(h->arrivals);
    h->arrivals = NULL;
    if (h->listen_fd >= 0)
        (void)close(h->listen_fd);
    for (struct conn *c = h->conns, *next; c; c = next) {
        next = c->next;
        conn_close(c);
    }
    tls_free(h->tls);
    clock_stop(loop_clock(h->loop), h->sweep_timer);
    loop_wake_free(h->again);
    blob_unref(h->no_memory);
    free(h);
}

unsigned httpd_port(const struct httpd *h)
{
    return h->port;
}

size_t httpd_connection_count(const struct httpd *h)
{
    return h->conn_count;
}
