/*
 * httpd.c - drives libmicrohttpd from the loop.
 *
 * Connections are accepted here: the library gets one when its first byte is there, which says
 * whether it is TLS. Then the library's is one end of a pair of sockets (net/tls.h) and it sees
 * only plain HTTP. MHD's own HTTPS was not chosen: an upgraded connection would stay in the
 * library, on the loop's thread.
 *
 * The library runs no thread of its own: its epoll descriptor is watched like any other, and
 * MHD_run does what is ready. A request that is not answered inside the handler is suspended (out
 * of the library's epoll set and time-outs) and resumed by its answer; a stream with nothing to say
 * is suspended the same way, and then its socket is watched here for the peer's hang-up, because
 * nobody else would notice it.
 *
 * A connection's struct lives from accept to close and is reused by all its requests, memory too.
 * It outlives the connection only while a handler still owes it an answer (httpd_free).
 *
 * Connections are cheap to open and a client that keeps them costs us, not itself: when most places
 * are taken, those that have been idle longest are closed for those that come. What all bodies
 * together hold in memory has a ceiling too, because a body arrives before we know whose it is.
 *
 * An upgraded connection leaves the library at once: a duplicate of its socket goes to the new
 * owner and the library closes its own. The library would panic if it were stopped with upgraded
 * connections open.
 */
#include "net/httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "loop/descriptors.h"
#include "net/listen.h"

#define CONNECTION_MEMORY_BYTES (16u * 1024u)   /* headers, and the pieces bodies travel in */
#define DRAIN_LIMIT_BYTES (16u * 1024u * 1024u) /* read and dropped so that a 413 can be read */
#define KEPT_BODY_BYTES (16u * 1024u)           /* of memory a connection keeps between requests */
#define RUNS_PER_TURN 4
#define ACCEPTS_PER_TURN 64
#define SWEEP_MS 5000
#define CROWDED(limit) ((limit) - (limit) / 8) /* from here on the idle make room */
#define DESCRIPTORS_WANTED 24576u

enum conn_state {
    CONN_ARRIVED,  /* nothing was sent yet: the library does not know it */
    CONN_IDLE,     /* between requests, or its header is arriving */
    CONN_READING,  /* header known, body arriving */
    CONN_HANDLING, /* the handler owes an answer */
    CONN_ANSWERED, /* answer made, not yet handed to the library */
    CONN_SENDING,
};

/* A stream as the body of an answer. Belongs to the library's response object. */
struct body {
    struct conn *conn; /* NULL once the request is over */
    struct stream *stream;
    struct loop_fd *hangup;
    bool ready, peer_gone;
};

struct conn {
    struct httpd_request request; /* first: what the handler holds */
    struct httpd *httpd;
    struct conn *prev, *next;
    struct conn *older, *newer; /* idle connections, see struct httpd */
    struct MHD_Connection *mhd; /* NULL: arrived; or closed, but an answer is still owed */
    int fd;                     /* while it has only arrived */
    struct loop_fd *first_byte; /* is waited for */
    bool tls;
    struct tls_peer *peer; /* of TLS that asks clients who they are; or NULL */
    enum conn_state state;
    bool suspended, out_of_memory;
    bool queued, leaving; /* among the idle; told to go, and no longer among them */
    int64_t since_ms;     /* of this state, for the slow-client limits */
    size_t held_bytes;    /* of body, as counted in struct httpd */
    size_t dropped_bytes; /* of a body that is too large */
    struct buf body_bytes;
    struct MHD_Response *response;
    unsigned code;
    struct body *body;          /* of the answer that is a stream */
    httpd_upgrade_fn *upgraded; /* still to be called */
    void *upgraded_arg;
};

struct httpd {
    struct loop *loop;
    void (*handle)(void *arg, struct httpd_request *r);
    void *arg;
    struct tls *tls; /* NULL: plain HTTP only */
    bool tls_only;
    struct MHD_Daemon *daemon;
    int listen_fd;
    struct loop_fd *arrivals;
    bool full;             /* no more are accepted until one goes */
    struct conn *entering; /* while the library is given it */
    struct loop_fd *watch;
    struct loop_wake *again;
    struct clock_timer *timer, *sweep_timer;
    struct MHD_Response *no_memory; /* made beforehand: there is always an answer */
    struct conn *conns;
    struct conn *oldest_idle, *newest_idle;
    size_t conn_count, conn_limit;
    size_t held_bytes, held_limit_bytes; /* of all bodies that arrive or are worked on */
    unsigned port;
    bool run_pending;
    int64_t header_limit_ms, body_limit_ms;
};

static void first_byte_came(void *arg, unsigned events);

/* --- running the library --------------------------------------------------------------- */

static void timer_fired(void *arg);

/* Resuming is not seen through the library's descriptor. Not a deferred call: httpd_free must be
 * able to take it back. */
static void run_soon(struct httpd *h)
{
    if (!h->run_pending)
        loop_wake_send(h->again);
    h->run_pending = true;
}

static void run(struct httpd *h)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    enum MHD_Result has_timeout = MHD_NO;

    h->run_pending = false;
    for (int i = 0; i < RUNS_PER_TURN; i++) {
        (void)MHD_run(h->daemon);
        has_timeout = MHD_get_timeout(h->daemon, &timeout_ms);
        if (has_timeout == MHD_NO || timeout_ms > 0)
            break;
    }
    if (has_timeout == MHD_NO)
        return;
    if (timeout_ms == 0)
        run_soon(h);
    else if (!h->timer) /* one that is set fires no later: all connections have the same limit */
        h->timer = clock_start(loop_clock(h->loop), (int64_t)min_size(timeout_ms, 60000),
                               timer_fired, h);
}

static void timer_fired(void *arg)
{
    struct httpd *h = arg;

    h->timer = NULL;
    run(h);
}

static void epoll_ready(void *arg, unsigned events)
{
    (void)events;
    run(arg);
}

static void run_again(void *arg)
{
    run(arg);
}

static void resume(struct conn *c)
{
    if (!c->suspended)
        return;
    c->suspended = false;
    MHD_resume_connection(c->mhd);
    run_soon(c->httpd);
}

static void suspend(struct conn *c)
{
    MHD_suspend_connection(c->mhd);
    c->suspended = true;
}

/* --- slow clients ---------------------------------------------------------------------- */

static int conn_fd(const struct conn *c)
{
    const union MHD_ConnectionInfo *info;

    if (c->state == CONN_ARRIVED)
        return c->fd;
    info = MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* The library does not see an end that comes together with less than a request. */
static bool peer_left(const struct conn *c)
{
    char byte;

    return recv(conn_fd(c), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* --- connections ----------------------------------------------------------------------- */

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

/* Who waits for its bytes reads the end and closes. */
static void send_away(struct conn *c)
{
    leave_idle(c);
    c->leaving = true;
    (void)shutdown(conn_fd(c), SHUT_RDWR);
}

void httpd_end_session(struct httpd *h, uint64_t session, const struct httpd_request *but)
{
    for (struct conn *c = h->conns; c; c = c->next)
        if (c->mhd && c->request.session == session && &c->request != but)
            send_away(c);
}

/* One goes for each that comes: never the newest, which is the one that came. */
static void make_room(struct httpd *h)
{
    if (h->conn_count > CROWDED(h->conn_limit) && h->oldest_idle != h->newest_idle)
        send_away(h->oldest_idle);
}

static void set_state(struct conn *c, enum conn_state state)
{
    leave_idle(c);
    if (state == CONN_IDLE || state == CONN_ARRIVED)
        join_idle(c);
    c->state = state;
    c->since_ms = loop_monotonic_ms(c->httpd->loop);
}

/* The library knows idle connections; one byte a minute is not idle to it. */
static void sweep(void *arg)
{
    struct httpd *h = arg;
    int64_t now = loop_monotonic_ms(h->loop);

    h->sweep_timer = NULL;
    for (struct conn *c = h->conns; c; c = c->next) {
        int64_t limit = c->state == CONN_IDLE || c->state == CONN_ARRIVED ? h->header_limit_ms
                        : c->state == CONN_READING                        ? h->body_limit_ms
                                                                          : INT64_MAX;

        if (now - c->since_ms > limit || (limit < INT64_MAX && peer_left(c)))
            send_away(c);
    }
    if (h->conns)
        h->sweep_timer = clock_start(loop_clock(h->loop), min_i64(SWEEP_MS, h->header_limit_ms),
                                     sweep, h);
}

static struct conn *conn_new(struct httpd *h, int fd)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->httpd = h;
    c->fd = fd;
    arena_init(&c->request.arena, HTTPD_REQUEST_MEMORY_BYTES);
    buf_init(&c->body_bytes, HTTPD_BODY_LIMIT_BYTES);
    list_push(&h->conns, c);
    h->conn_count++;
    set_state(c, CONN_ARRIVED);
    make_room(h);
    if (!h->sweep_timer)
        h->sweep_timer = clock_start(loop_clock(h->loop), min_i64(SWEEP_MS, h->header_limit_ms),
                                     sweep, h);
    return c;
}

static void release_body(struct conn *c)
{
    c->httpd->held_bytes -= c->held_bytes;
    c->held_bytes = 0;
}

/* Whose body has been arriving longest, of those that hold memory. */
static struct conn *slowest_sender(const struct httpd *h, const struct conn *but)
{
    struct conn *found = NULL;

    for (struct conn *c = h->conns; c; c = c->next)
        if (c != but && c->state == CONN_READING && c->held_bytes &&
            (!found || c->since_ms < found->since_ms))
            found = c;
    return found;
}

/* Counts what a body holds. Where all together would hold too much the slowest make room: a sender
 * that stalls must not be able to keep the others out. */
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

static void conn_free(struct conn *c)
{
    arena_release(&c->request.arena);
    buf_release(&c->body_bytes);
    tls_peer_unref(c->peer);
    free(c);
}

static void conn_unlink(struct conn *c)
{
    leave_idle(c);
    release_body(c);
    list_remove(&c->httpd->conns, c);
    c->httpd->conn_count--;
    c->mhd = NULL;
    if (c->httpd->full && c->httpd->arrivals)
        c->httpd->full = loop_fd_change(c->httpd->arrivals, LOOP_READABLE) < 0;
}

static void connection_changed(void *cls, struct MHD_Connection *mhd, void **context,
                               enum MHD_ConnectionNotificationCode what)
{
    struct httpd *h = cls;
    struct conn *c = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = c = h->entering;
        c->mhd = mhd;
        c->fd = -1;
        set_state(c, CONN_IDLE);
        return;
    }
    if (c) {
        conn_unlink(c);
        if (c->state != CONN_HANDLING)
            conn_free(c);
    }
    *context = NULL;
}

/* --- those who come ---------------------------------------------------------------------- */

static void leave_early(struct conn *c)
{
    loop_fd_stop(c->first_byte);
    if (c->fd >= 0)
        (void)close(c->fd);
    conn_unlink(c);
    conn_free(c);
}

/* Reached by an address other than a loopback one. */
static bool is_from_outside(int fd)
{
    struct sockaddr_storage here;
    socklen_t len = sizeof(here);

    return getsockname(fd, (struct sockaddr *)&here, &len) < 0 || !listen_is_loopback(&here);
}

static void say(int fd, const char *status, const char *text)
{
    char answer[512];
    int len = snprintf(answer, sizeof(answer),
                       "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                       "Content-Length: %zu\r\n\r\n%s\n",
                       status, strlen(text) + 1, text);

    (void)!send(fd, answer, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool refuse_plain(const struct conn *c)
{
    char dropped[4096];

    if (!c->httpd->tls || (!c->httpd->tls_only && !is_from_outside(c->fd)))
        return false;
    /* Closed with something unread, what was sent would be lost too. */
    (void)!recv(c->fd, dropped, sizeof(dropped), MSG_DONTWAIT);
    say(c->fd, "400 Bad Request", "this server speaks TLS: use https://");
    return true;
}

/* The library's own end; -1: none. The connection itself goes to who deciphers it. */
static int put_tls_before(struct conn *c)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    c->peer = tls_asks_clients(c->httpd->tls) ? tls_peer_new() : NULL;
    tls_serve(c->httpd->tls, c->fd, pair[1], c->peer);
    c->fd = -1;
    return pair[0];
}

static void enter(struct conn *c, unsigned char first)
{
    struct httpd *h = c->httpd;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t len = sizeof(peer);
    int fd = c->fd;

    c->tls = h->tls && first == TLS_FIRST_BYTE;
    if (!c->tls && refuse_plain(c)) {
        leave_early(c);
        return;
    }
    if (c->tls)
        fd = put_tls_before(c);
    else
        (void)getpeername(fd, (struct sockaddr *)&peer, &len);
    if (fd < 0) {
        leave_early(c);
        return;
    }
    h->entering = c;
    c->fd = -1; /* the library closes it, also when it refuses */
    (void)MHD_add_connection(h->daemon, fd, (struct sockaddr *)&peer, len);
    h->entering = NULL;
    if (!c->mhd)
        leave_early(c);
}

static void look_at_first_byte(struct conn *c)
{
    unsigned char first;
    ssize_t n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (!c->first_byte)
            c->first_byte = loop_fd_watch(c->httpd->loop, c->fd, LOOP_READABLE, first_byte_came, c);
        if (!c->first_byte)
            leave_early(c);
        return;
    }
    loop_fd_stop(c->first_byte);
    c->first_byte = NULL;
    if (n == 1)
        enter(c, first);
    else
        leave_early(c);
}

static void first_byte_came(void *arg, unsigned events)
{
    (void)events;
    look_at_first_byte(arg);
}

/* Without descriptors there is no more room either; the next who goes brings it. */
static void accept_some(void *arg, unsigned events)
{
    struct httpd *h = arg;
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
    h->full = h->conn_count >= h->conn_limit ||
              (fd < 0 && h->conns && (errno == EMFILE || errno == ENFILE));
    if (h->full)
        (void)loop_fd_change(h->arrivals, 0);
}

/* The first the library tells of a request; what it returns is the request's context. */
static void *request_begins(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct conn *c = info ? info->socket_context : NULL;
    const char *mark;

    (void)cls;
    if (!c)
        return NULL;
    mark = strchrnul(uri, '?');
    c->request.path = arena_strndup(&c->request.arena, uri, (size_t)(mark - uri));
    c->request.query = *mark ? arena_strdup(&c->request.arena, mark + 1) : "";
    c->request.method = NULL;
    return c->request.path && c->request.query ? c : NULL;
}

static void body_detach(struct body *b)
{
    b->conn = NULL;
    b->stream->on_ready = NULL;
    loop_fd_stop(b->hangup);
    b->hangup = NULL;
}

static void upgrade_over(struct conn *c, int fd, const char *early, size_t early_len)
{
    httpd_upgrade_fn *fn = c->upgraded;

    c->upgraded = NULL;
    if (fn)
        fn(c->upgraded_arg, fd, early, early_len);
    else if (fd >= 0)
        (void)close(fd);
}

static void drop_response(struct conn *c)
{
    if (c->response && c->response != c->httpd->no_memory)
        MHD_destroy_response(c->response);
    c->response = NULL;
}

/* Answered or broken off: ready for the next request. */
static void request_ends(void *cls, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct conn *c = *context;

    (void)cls, (void)mhd, (void)why;
    *context = NULL;
    if (!c)
        return;
    if (c->body)
        body_detach(c->body);
    c->body = NULL;
    drop_response(c);
    upgrade_over(c, -1, "", 0);
    if (c->state == CONN_HANDLING)
        return; /* only when the server stops: the handler still reads the request */
    arena_reset(&c->request.arena);
    if (c->body_bytes.cap > KEPT_BODY_BYTES)
        buf_release(&c->body_bytes);
    else
        buf_clear(&c->body_bytes);
    release_body(c);
    c->dropped_bytes = 0;
    c->request.too_large = c->out_of_memory = false;
    c->request.session = 0;
    set_state(c, CONN_IDLE);
}

/* --- receiving ------------------------------------------------------------------------- */

static enum MHD_Result give_answer(struct conn *c)
{
    enum MHD_Result r = MHD_queue_response(c->mhd, c->code, c->response);

    drop_response(c);
    set_state(c, CONN_SENDING);
    return r;
}

/* Takes the response, NULL when it could not be made. */
static void answer(struct conn *c, unsigned code, struct MHD_Response *response)
{
    c->code = response ? code : 503;
    c->response = response ? response : c->httpd->no_memory;
    set_state(c, CONN_ANSWERED);
    resume(c);
}

static enum MHD_Result handle_request(struct conn *c)
{
    c->request.body = c->body_bytes.data ? c->body_bytes.data : "";
    c->request.body_len = c->body_bytes.len;
    if (c->request.too_large)
        c->request.body_len = 0;
    set_state(c, CONN_HANDLING);
    if (c->out_of_memory)
        answer(c, 503, NULL);
    else
        c->httpd->handle(c->httpd->arg, &c->request);
    if (c->state == CONN_ANSWERED)
        return give_answer(c);
    suspend(c);
    return MHD_YES;
}

/* What is wrong with a header, of which whoever stands between us and the client may read another
 * end of the request, and see another next one (RFC 9112, 5.1 and 6.3). */
struct framing {
    unsigned lengths;          /* how often it says how long it is */
    const char *status, *text; /* NULL: nothing is wrong */
};

/* The library joins a folded line to what is before it: to the name, when that has no value yet,
 * and then takes it for another header. */
static bool is_joined(const char *name)
{
    static const char *const lengths[] = {"Content-Length", "Transfer-Encoding"};

    for (size_t i = 0; i < ELEMS(lengths); i++) {
        size_t n = strlen(lengths[i]);

        if (strncasecmp(name, lengths[i], n) == 0 && name[n])
            return true;
    }
    return false;
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                    size_t name_len, const char *value, size_t value_len)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct framing *f = arg;
    bool length = strcasecmp(name, "Content-Length") == 0;
    bool coding = strcasecmp(name, "Transfer-Encoding") == 0;

    (void)kind;
    (void)name_len;
    if (f->status)
        return MHD_YES;
    f->lengths += length || coding;
    f->status = "400 Bad Request";
    if (name[strspn(name, token)])
        f->text = "a header's name has no spaces and no other signs than !#$%&'*+-.^_`|~";
    else if ((value && (strlen(value) != value_len || strchr(value, '\r'))) || is_joined(name))
        f->text = "a header's value is one line, without a NUL or a carriage return in it";
    else if (f->lengths > 1)
        f->text = "a request says its length once: Content-Length or Transfer-Encoding, not both";
    else if (length && (!value || !*value || value[strspn(value, "0123456789")]))
        f->text = "a Content-Length is a number";
    else if (length && strlen(value) > 18)
        f->status = "413 Content Too Large", f->text = "the body is too large";
    else if (coding && (!value || strcasecmp(value, "chunked") != 0))
        f->status = "501 Not Implemented", f->text = "the only Transfer-Encoding here is chunked";
    else
        f->status = NULL;
    return MHD_YES;
}

/* One answer, and nothing behind it is read. Not the library's: it sends its own answer to a wrong
 * length twice (0.9.75). */
static bool refuse_framing(struct conn *c)
{
    struct framing f = {.lengths = 0};

    (void)MHD_get_connection_values_n(c->mhd, MHD_HEADER_KIND, check_header, &f);
    if (f.status) {
        say(conn_fd(c), f.status, f.text);
        send_away(c);
    }
    return f.status != NULL;
}

static enum MHD_Result header_arrived(struct conn *c, const char *method)
{
    const char *length = MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, "Content-Length");
    unsigned long long n = length ? strtoull(length, NULL, 10) : 0;

    if (refuse_framing(c))
        return MHD_NO;
    c->request.method = arena_strdup(&c->request.arena, method);
    if (!c->request.method)
        return MHD_NO;
    set_state(c, CONN_READING);
    if (n > HTTPD_BODY_LIMIT_BYTES)
        c->request.too_large = true;
    else if (n > 0 && !buf_reserve(&c->body_bytes, min_size((size_t)n, KEPT_BODY_BYTES)))
        c->out_of_memory = true;
    return n > DRAIN_LIMIT_BYTES ? handle_request(c) : MHD_YES;
}

static enum MHD_Result body_arrived(struct conn *c, const char *data, size_t len)
{
    if (c->request.too_large || c->out_of_memory) {
        c->dropped_bytes += len;
        return c->dropped_bytes > DRAIN_LIMIT_BYTES ? MHD_NO : MHD_YES;
    }
    if (len > HTTPD_BODY_LIMIT_BYTES - c->body_bytes.len) {
        c->request.too_large = true;
        return MHD_YES;
    }
    if (!hold_body(c, len)) {
        c->out_of_memory = true;
        return MHD_YES;
    }
    buf_add(&c->body_bytes, data, len);
    c->out_of_memory = c->body_bytes.failed;
    return MHD_YES;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_len, void **context)
{
    struct conn *c = *context;
    enum MHD_Result r;

    (void)cls, (void)mhd, (void)url, (void)version;
    if (!c)
        return MHD_NO;
    switch (c->state) {
    case CONN_ARRIVED:
        return MHD_NO;
    case CONN_IDLE:
        return header_arrived(c, method);
    case CONN_READING:
        if (*upload_len == 0)
            return handle_request(c);
        r = body_arrived(c, upload, *upload_len);
        *upload_len = 0;
        return r;
    case CONN_ANSWERED:
        return give_answer(c);
    case CONN_HANDLING: /* resumed without an answer: the server stops */
    case CONN_SENDING:
        return MHD_NO;
    }
    unreachable();
}

const char *httpd_header(const struct httpd_request *r, const char *name)
{
    const struct conn *c = (const struct conn *)r;

    return MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
}

struct header_walk {
    httpd_header_fn *fn;
    void *arg;
};

static enum MHD_Result show_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    const struct header_walk *w = cls;

    (void)kind;
    w->fn(w->arg, name, value ? value : "");
    return MHD_YES;
}

void httpd_each_header(const struct httpd_request *r, httpd_header_fn *fn, void *arg)
{
    const struct conn *c = (const struct conn *)r;
    struct header_walk w = {.fn = fn, .arg = arg};

    (void)MHD_get_connection_values(c->mhd, MHD_HEADER_KIND, show_header, &w);
}

const struct tls_peer *httpd_peer(const struct httpd_request *r)
{
    return ((const struct conn *)r)->peer;
}

bool httpd_is_tls(const struct httpd_request *r)
{
    return ((const struct conn *)r)->tls;
}

struct joined {
    struct buf text;
    const char *name;
};

static void join_value(void *arg, const char *name, const char *value)
{
    struct joined *j = arg;

    if (strcasecmp(name, j->name) == 0)
        buf_addf(&j->text, "%s%s", j->text.len ? ", " : "", value);
}

const char *httpd_header_joined(struct httpd_request *r, const char *name)
{
    struct joined j = {.text = BUF_INIT(HTTPD_HEADER_JOIN_LIMIT_BYTES), .name = name};
    const char *joined = NULL;

    httpd_each_header(r, join_value, &j);
    if (!j.text.failed)
        joined = j.text.data ? arena_strdup(&r->arena, j.text.data) : "";
    buf_release(&j.text);
    return joined;
}

/* --- answering ------------------------------------------------------------------------- */

/* True when nobody waits for the answer any more; the request is then freed. */
static bool abandoned(struct conn *c)
{
    if (c->mhd)
        return false;
    conn_free(c);
    return true;
}

static void blob_free_callback(void *blob)
{
    blob_unref(blob);
}

static struct MHD_Response *response_of_blob(struct blob *body)
{
    struct MHD_Response *r;

    if (!body || body->len == 0)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    r = MHD_create_response_from_buffer_with_free_callback_cls(body->len, body->data,
                                                               blob_free_callback, blob_ref(body));
    if (!r)
        blob_unref(body);
    return r;
}

static bool add_header(struct MHD_Response *r, const char *name, const char *value)
{
    return MHD_add_response_header(r, name, value) == MHD_YES;
}

void httpd_reply(struct httpd_request *r, int code, const char *content_type,
                 const struct httpd_header *headers, size_t header_count, struct blob *body)
{
    struct conn *c = (struct conn *)r;
    struct MHD_Response *response;
    bool fine;

    if (abandoned(c))
        return;
    response = response_of_blob(body);
    fine = response && (!content_type || add_header(response, "Content-Type", content_type));
    for (size_t i = 0; fine && i < header_count; i++)
        fine = add_header(response, headers[i].name, headers[i].value);
    if (response && !fine) {
        MHD_destroy_response(response);
        response = NULL;
    }
    answer(c, (unsigned)code, response);
}

static void stream_has_data(void *arg)
{
    struct body *b = arg;

    b->ready = true;
    if (b->conn)
        resume(b->conn);
}

static void peer_hung_up(void *arg, unsigned events)
{
    struct body *b = arg;

    (void)events;
    b->peer_gone = true;
    loop_fd_stop(b->hangup);
    b->hangup = NULL;
    if (b->conn)
        resume(b->conn);
}

static ssize_t read_stream(void *cls, uint64_t pos, char *out, size_t cap)
{
    struct body *b = cls;
    ssize_t n;

    (void)pos;
    /* Not an error: where the end had come together with the request, the library would forget the
     * connection until its time-out. Ended well, it goes back to reading and finds the end. */
    if (b->peer_gone || !b->conn)
        return MHD_CONTENT_READER_END_OF_STREAM;
    b->ready = false;
    n = b->stream->ops->read(b->stream, out, cap);
    if (n > 0)
        return n;
    if (n == STREAM_BROKEN)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (b->ready)
        return 0; /* became ready meanwhile: the library asks again */
    if (!b->hangup)
        b->hangup = loop_fd_watch(b->conn->httpd->loop, conn_fd(b->conn), LOOP_HANGUP, peer_hung_up,
                                  b);
    suspend(b->conn);
    return 0;
}

static void free_stream(void *cls)
{
    struct body *b = cls;

    if (b->conn) {
        b->conn->body = NULL;
        body_detach(b);
    }
    b->stream->ops->close(b->stream);
    free(b);
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
    struct MHD_Response *response = NULL;
    struct body *b = c->mhd ? calloc(1, sizeof(*b)) : NULL;
    bool fine;

    if (b)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CONNECTION_MEMORY_BYTES,
                                                     read_stream, b, free_stream);
    if (!response) {
        free(b);
        stream->ops->close(stream);
        if (!abandoned(c))
            answer(c, 503, NULL);
        return;
    }
    *b = (struct body){.conn = c, .stream = stream};
    stream->on_ready = stream_has_data;
    stream->on_ready_arg = b;
    c->body = b;
    fine = add_header(response, "Content-Type", content_type);
    for (size_t i = 0; fine && i < header_count; i++)
        fine = add_header(response, headers[i].name, headers[i].value);
    if (!fine) {
        MHD_destroy_response(response); /* closes the stream */
        response = NULL;
    }
    answer(c, (unsigned)code, response);
}

/* The 101 is on its way. The library's own socket is closed, not shut down: ours lives on. */
static void hand_over(void *cls, struct MHD_Connection *mhd, void *context, const char *early,
                      size_t early_len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    struct conn *c = cls;

    (void)mhd, (void)context;
    upgrade_over(c, fcntl(fd, F_DUPFD_CLOEXEC, 0), early, early_len);
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    run_soon(c->httpd); /* it closes on its next run, and nothing else would bring that about */
}

void httpd_upgrade(struct httpd_request *r, const struct httpd_header *headers, size_t header_count,
                   httpd_upgrade_fn *fn, void *arg)
{
    struct conn *c = (struct conn *)r;
    struct MHD_Response *response;
    bool fine;

    if (abandoned(c)) {
        fn(arg, -1, "", 0);
        return;
    }
    response = MHD_create_response_for_upgrade(hand_over, c);
    fine = response != NULL;
    for (size_t i = 0; fine && i < header_count; i++)
        fine = add_header(response, headers[i].name, headers[i].value);
    if (response && !fine) {
        MHD_destroy_response(response);
        response = NULL;
    }
    c->upgraded = fn;
    c->upgraded_arg = arg;
    answer(c, 101, response);
}

/* --- start and end --------------------------------------------------------------------- */

/* The library says it before it answers a length it cannot read; nothing else tells us. */
static void look_for_refused(struct httpd *h)
{
    for (struct conn *c = h->oldest_idle, *newer; c; c = newer) {
        newer = c->newer;
        if (c->mhd && MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
            (void)refuse_framing(c);
    }
}

printf_like(2, 0) static void library_says(void *cls, const char *fmt, va_list args)
{
    char line[512];

    (void)vsnprintf(line, sizeof(line), fmt, args);
    line[strcspn(line, "\r\n")] = '\0';
    log_debug("http: %s", line);
    look_for_refused(cls);
}

/* Half of the descriptors we may have: files, pods and streams need some as well. With TLS a
 * connection takes three. */
static size_t connection_limit(const struct httpd_options *o)
{
    struct rlimit limit;
    size_t n = o->connection_limit ? o->connection_limit : HTTPD_CONNECTION_LIMIT;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? n
                                                : min_size(n, limit.rlim_cur / (o->tls ? 5 : 2));
}

static struct MHD_Daemon *start_daemon(struct httpd *h)
{
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG;

    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, h,                   /* */
        MHD_OPTION_EXTERNAL_LOGGER, library_says, h,          /* first: covers the others */
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, h,  /* */
        MHD_OPTION_NOTIFY_COMPLETED, request_ends, h,         /* */
        MHD_OPTION_URI_LOG_CALLBACK, request_begins, h,       /* */
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)h->conn_limit, /* */
        MHD_OPTION_CONNECTION_TIMEOUT, HTTPD_IDLE_TIMEOUT_S,  /* */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES, /* */
        MHD_OPTION_END);
}

static int start(struct httpd *h, const struct tls_options *tls, struct err *err)
{
    const union MHD_DaemonInfo *info;

    h->daemon = start_daemon(h);
    if (!h->daemon)
        return err_set(err, ERR_INTERNAL, "cannot start the HTTP server");
    h->tls = tls ? tls_new(tls) : NULL;
    h->arrivals = loop_fd_watch(h->loop, h->listen_fd, LOOP_READABLE, accept_some, h);
    info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    h->watch = info ? loop_fd_watch(h->loop, info->epoll_fd, LOOP_READABLE, epoll_ready, h) : NULL;
    h->again = loop_wake_new(h->loop, run_again, h);
    h->no_memory = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (!h->watch || !h->arrivals || !h->again || !h->no_memory || (tls && !h->tls))
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
    loop_fd_stop(h->watch);
    loop_fd_stop(h->arrivals);
    h->arrivals = NULL;
    if (h->listen_fd >= 0)
        (void)close(h->listen_fd);
    for (struct conn *c = h->conns, *next; c; c = next) {
        next = c->next;
        if (c->state == CONN_ARRIVED)
            leave_early(c);
        else
            resume(c); /* the library refuses to stop with suspended connections */
    }
    if (h->daemon)
        MHD_stop_daemon(h->daemon);
    tls_free(h->tls);
    clock_stop(loop_clock(h->loop), h->timer);
    clock_stop(loop_clock(h->loop), h->sweep_timer);
    loop_wake_free(h->again);
    if (h->no_memory)
        MHD_destroy_response(h->no_memory);
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
