/* tunnel.c - see tunnel.h. Connecting blocks, so a pool thread does it; the rest is on the loop. */
#include "net/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPTIONS_LIMIT_BYTES (256u * 1024u)
#define READ_BYTES (32u * 1024u)
#define HELD_BYTES (64u * 1024u) /* per direction; then its source waits */
#define HELD_LIMIT_BYTES (HELD_BYTES + READ_BYTES)
#define ROUNDS_PER_TURN 16

enum state {
    DIALING,  /* on a pool thread */
    SHAKING,  /* request sent, awaiting the answer */
    OPENED,   /* awaiting the client's connection */
    RELAYING, /* bytes both ways */
};

struct tunnel {
    struct tunnel_handler handler;
    void *arg;
    bool freed; /* while a pool thread uses it: freed afterwards */
    struct loop *loop;
    enum state state;
    struct clock_timer *timer;
    const char *who;
    int64_t wait_ms;

    struct arena arena; /* for where */
    struct dial_options where;
    struct err err; /* from connecting */
    struct dial *dial;
    struct loop_fd *dial_watch;
    unsigned dial_watched;
    bool more; /* data may be buffered above the socket, already read by TLS */

    int client;
    struct loop_fd *client_watch;
    unsigned client_watched;

    struct http_answer answer;
    struct buf up, down; /* to the server, to the client */
    bool server_over, client_over;
};

/* --- ends ------------------------------------------------------------------------------- */

static void destroy(struct tunnel *t)
{
    clock_stop(loop_clock(t->loop), t->timer);
    loop_fd_stop(t->dial_watch);
    loop_fd_stop(t->client_watch);
    dial_close(t->dial);
    if (t->client >= 0)
        (void)close(t->client);
    http_answer_release(&t->answer);
    buf_release(&t->up);
    buf_release(&t->down);
    err_release(&t->err);
    arena_release(&t->arena);
    free(t);
}

void tunnel_free(struct tunnel *t)
{
    if (t && t->state == DIALING)
        t->freed = true;
    else if (t)
        destroy(t);
}

/* Detaches it: it may be gone after a handler's function. */
static void quiet(struct tunnel *t)
{
    clock_stop(loop_clock(t->loop), t->timer);
    t->timer = NULL;
    loop_fd_stop(t->dial_watch);
    loop_fd_stop(t->client_watch);
    t->dial_watch = t->client_watch = NULL;
}

static void fail(struct tunnel *t, enum err_reason reason, const char *what)
{
    auto_err err = ERR_INIT;

    quiet(t);
    (void)err_set(&err, reason, "%s %s", t->who, what);
    t->handler.failed(t->arg, &err);
}

static void on_time(void *arg)
{
    struct tunnel *t = arg;

    t->timer = NULL;
    fail(t, ERR_TIMEOUT, "does not answer");
}

/* --- bytes both ways -------------------------------------------------------------------- */

static void watch_as(struct loop_fd *watch, unsigned *watched, unsigned events)
{
    if (watch && events != *watched && loop_fd_change(watch, events) == 0)
        *watched = events;
}

static void update_watches(struct tunnel *t)
{
    bool takes_up = !t->client_over && t->up.len < HELD_BYTES;
    bool takes_down = !t->server_over && t->down.len < HELD_BYTES;

    watch_as(t->client_watch, &t->client_watched,
             (takes_up ? LOOP_READABLE : 0u) | (t->down.len ? LOOP_WRITABLE : 0u));
    watch_as(t->dial_watch, &t->dial_watched,
             (takes_down ? LOOP_READABLE : 0u) |
                 (t->up.len || (t->more && takes_down) ? LOOP_WRITABLE : 0u));
}

/* Each returns whether anything moved. */
static bool read_server(struct tunnel *t)
{
    static char bytes[READ_BYTES]; /* one thread, never kept between calls */
    ssize_t n;

    if (t->server_over || t->down.len >= HELD_BYTES)
        return false;
    n = dial_read(t->dial, bytes, sizeof(bytes));
    t->more = n > 0;
    if (n == -EAGAIN)
        return false;
    if (n <= 0)
        t->server_over = true;
    else
        buf_add(&t->down, bytes, (size_t)n);
    return n > 0;
}

static bool write_server(struct tunnel *t)
{
    ssize_t n = t->up.len ? dial_write(t->dial, t->up.data, t->up.len) : -EAGAIN;

    if (n > 0)
        buf_consume(&t->up, (size_t)n);
    else if (n != -EAGAIN)
        t->server_over = true;
    return n > 0;
}

static bool read_client(struct tunnel *t)
{
    static char bytes[READ_BYTES];
    ssize_t n;

    if (t->client_over || t->up.len >= HELD_BYTES)
        return false;
    n = recv(t->client, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0)
        buf_add(&t->up, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        t->client_over = true;
    return n > 0;
}

static bool write_client(struct tunnel *t)
{
    ssize_t n = t->down.len
                    ? send(t->client, t->down.data, t->down.len, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : 0;

    if (n > 0)
        buf_consume(&t->down, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        t->client_over = true;
    return n > 0;
}

/* A side that hung up gets nothing more; the other gets what is left, then is closed too. */
static void relay(struct tunnel *t)
{
    for (int i = 0; i < ROUNDS_PER_TURN; i++) {
        bool moved = read_server(t);

        moved = (!t->client_over && write_client(t)) || moved;
        moved = read_client(t) || moved;
        moved = (!t->server_over && write_server(t)) || moved;
        if (!moved)
            break;
    }
    if ((t->server_over && (t->client_over || t->down.len == 0)) ||
        (t->client_over && (t->server_over || t->up.len == 0)) || t->up.failed || t->down.failed) {
        quiet(t);
        t->handler.over(t->arg);
    } else {
        update_watches(t);
    }
}

static void on_client(void *arg, unsigned events)
{
    (void)events;
    relay(arg);
}

/* Both are watched for writing, so that early data is relayed on the next turn. */
int tunnel_join(struct tunnel *t, int fd, const char *early, size_t early_len)
{
    t->client = fd;
    t->state = RELAYING;
    if (early_len)
        buf_add(&t->up, early, early_len);
    t->client_watched = LOOP_READABLE | LOOP_WRITABLE;
    t->client_watch = loop_fd_watch(t->loop, fd, t->client_watched, on_client, t);
    return t->client_watch ? 0 : -ENOMEM;
}

/* --- the answer ------------------------------------------------------------------------- */

/* Whether more is expected; otherwise t may be gone. */
static bool take_answer(struct tunnel *t, const char *data, ssize_t n)
{
    int rc = n > 0   ? http_answer_feed(&t->answer, data, (size_t)n, &t->down)
             : n < 0 ? (int)n
                     : http_answer_end(&t->answer);

    if (rc < 0) {
        fail(t, ERR_UNAVAILABLE, "did not answer like an HTTP server");
    } else if (t->answer.state == ANSWER_DONE) {
        quiet(t);
        t->handler.refused(t->arg, &t->answer, &t->down);
    } else if (t->answer.state != ANSWER_HEAD && t->answer.status == 101) {
        t->state = OPENED;
        clock_stop(loop_clock(t->loop), t->timer);
        t->timer = NULL;
        watch_as(t->dial_watch, &t->dial_watched, 0);
        t->handler.opened(t->arg, &t->answer);
    } else {
        return true;
    }
    return false;
}

static void shake(struct tunnel *t)
{
    static char bytes[READ_BYTES];
    ssize_t n;

    (void)write_server(t);
    do {
        n = t->server_over ? -EPIPE : dial_read(t->dial, bytes, sizeof(bytes));
        if (n == -EAGAIN) {
            t->more = false;
            update_watches(t);
            return;
        }
        t->more = true;
    } while (take_answer(t, bytes, n));
}

static void on_server(void *arg, unsigned events)
{
    struct tunnel *t = arg;

    (void)events;
    if (t->state == SHAKING)
        shake(t);
    else if (t->state == RELAYING)
        relay(t);
}

/* --- connecting ------------------------------------------------------------------------- */

static void dial_work(void *arg)
{
    struct tunnel *t = arg;

    t->dial = dial_open(&t->where, &t->err);
}

static bool begin(struct tunnel *t)
{
    t->state = SHAKING;
    t->timer = clock_start(loop_clock(t->loop), t->wait_ms, on_time, t);
    t->dial_watched = LOOP_READABLE | LOOP_WRITABLE;
    t->dial_watch = loop_fd_watch(t->loop, dial_fd(t->dial), t->dial_watched, on_server, t);
    return t->dial_watch && t->timer;
}

static void dial_done(void *arg)
{
    struct tunnel *t = arg;

    t->state = SHAKING;
    if (t->freed)
        destroy(t);
    else if (!t->dial)
        t->handler.failed(t->arg, &t->err);
    else if (!begin(t))
        fail(t, ERR_UNAVAILABLE, "cannot be reached: out of memory");
}

static bool start(struct tunnel *t, int fd)
{
    if (fd > 0) {
        t->dial = dial_adopt(fd);
        return t->dial && begin(t);
    }
    if (loop_work(t->loop, dial_work, dial_done, t) < 0)
        return false;
    t->state = DIALING;
    return true;
}

static const char *copied(struct tunnel *t, const char *text)
{
    return text ? arena_strdup(&t->arena, text) : NULL;
}

struct tunnel *tunnel_open(const struct tunnel_options *o, struct buf *request,
                           const struct tunnel_handler *handler, void *arg)
{
    const struct reach *r = &o->server.reach;
    struct tunnel *t = calloc(1, sizeof(*t));

    if (!t) {
        if (o->fd > 0)
            (void)close(o->fd);
        return NULL;
    }
    *t = (struct tunnel){.handler = *handler,
                         .arg = arg,
                         .loop = o->loop,
                         .state = SHAKING,
                         .who = o->who,
                         .wait_ms = o->wait_ms,
                         .client = -1,
                         .err = ERR_INIT,
                         .arena = ARENA_INIT(OPTIONS_LIMIT_BYTES),
                         .where = o->server};
    t->where.url = copied(t, o->server.url);
    t->where.reach = (struct reach){.ca_pem = copied(t, r->ca_pem),
                                    .cert_pem = copied(t, r->cert_pem),
                                    .key_pem = copied(t, r->key_pem),
                                    .insecure = r->insecure,
                                    .proxy = copied(t, r->proxy),
                                    .connect_to = copied(t, r->connect_to)};
    buf_init(&t->up, request->limit_bytes + HELD_LIMIT_BYTES);
    buf_init(&t->down, HELD_LIMIT_BYTES);
    if (request->len)
        buf_add(&t->up, request->data, request->len);
    http_answer_init(&t->answer, false);
    t->answer.may_upgrade = true;
    if (!start(t, o->fd) || arena_failed(&t->arena) || request->failed || t->up.failed) {
        tunnel_free(t);
        return NULL;
    }
    return t;
}
