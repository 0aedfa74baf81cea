/*
 * mux.c - see mux.h. The layers are fixed at creation: socket -> [WebSocket] -> SPDY or channels.
 * All callbacks come from on_socket and on_linger, which alone free a mux that was freed inside
 * one.
 */
#include "net/mux.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/websocket.h"

#define CHANNEL_STDIN 0u
#define CHANNEL_CLOSE 255u
#define CLOSE_NORMAL "\x03\xe8"   /* 1000 */
#define CLOSE_PROTOCOL "\x03\xea" /* 1002 */

enum state {
    OPEN,
    FINISHING, /* sending the rest */
    LINGERING, /* our half is closed: waiting for the peer's */
    OVER,
};

struct mux {
    struct loop *loop;
    int fd;
    struct loop_fd *watch;
    unsigned watched;
    enum mux_kind kind;
    struct mux_handler handler;
    void *arg;
    struct websocket ws;
    unsigned channel; /* of the current message */
    bool channel_known;
    struct spdy *spdy;
    struct buf early, out;
    struct buf message; /* MUX_TEXT: what has arrived of it */
    enum state state;
    struct clock_timer *linger;
    bool paused, broken, close_sent;
    bool in_callback, freed;
};

/* --- output ---------------------------------------------------------------------------- */

static void update_watch(struct mux *m)
{
    unsigned events = LOOP_HANGUP;

    if (!m->watch)
        return;
    if (!m->paused || m->state != OPEN)
        events |= LOOP_READABLE;
    if (m->out.len > 0 || m->early.len > 0 || m->broken || m->state == FINISHING)
        events |= LOOP_WRITABLE;
    if (events != m->watched && loop_fd_change(m->watch, events) == 0)
        m->watched = events;
}

static void add_output(struct mux *m, const void *data, size_t len)
{
    buf_add(&m->out, data, len);
    m->broken = m->broken || m->out.failed;
    update_watch(m);
}

static void add_frame_head(struct mux *m, enum websocket_opcode opcode, size_t len)
{
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];

    add_output(m, head, websocket_head(head, opcode, len));
}

static void send_close_frame(struct mux *m)
{
    if (m->kind == MUX_SPDY || m->close_sent)
        return;
    m->close_sent = true;
    add_frame_head(m, WEBSOCKET_CLOSE, strlen(CLOSE_NORMAL));
    add_output(m, CLOSE_NORMAL, strlen(CLOSE_NORMAL));
}

static void spdy_output(void *arg, const void *head, size_t head_len, const void *data, size_t len)
{
    struct mux *m = arg;

    if (m->kind == MUX_TUNNEL_SPDY)
        add_frame_head(m, WEBSOCKET_BINARY, head_len + len);
    add_output(m, head, head_len);
    add_output(m, data, len);
}

bool mux_has_room(const struct mux *m)
{
    return m->state == OPEN && m->out.len < MUX_ROOM_BYTES;
}

void mux_send(struct mux *m, uint32_t stream, const void *data, size_t len)
{
    unsigned char channel = (unsigned char)stream;

    if (m->state != OPEN || len == 0)
        return;
    if (m->kind == MUX_TEXT) {
        add_frame_head(m, WEBSOCKET_TEXT, len);
        add_output(m, data, len);
        return;
    }
    if (m->kind != MUX_CHANNELS) {
        spdy_send(m->spdy, stream, data, len);
        return;
    }
    add_frame_head(m, WEBSOCKET_BINARY, 1 + len);
    add_output(m, &channel, 1);
    add_output(m, data, len);
}

void mux_end(struct mux *m, uint32_t stream)
{
    if (m->state == OPEN && m->spdy)
        spdy_end(m->spdy, stream);
}

void mux_pause(struct mux *m, enum mux_reading reading)
{
    m->paused = reading == MUX_PAUSED;
    update_watch(m);
}

void mux_finish(struct mux *m)
{
    if (m->state != OPEN)
        return;
    send_close_frame(m);
    m->state = FINISHING;
    update_watch(m);
}

/* --- input ----------------------------------------------------------------------------- */

static bool wants_input(const struct mux *m)
{
    return m->state == OPEN && !m->freed;
}

static void spdy_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    struct mux *m = arg;

    if (wants_input(m))
        m->handler.opened(m->arg, stream, headers, count);
}

static void spdy_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct mux *m = arg;

    if (wants_input(m))
        m->handler.data(m->arg, stream, data, len);
}

static void spdy_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    struct mux *m = arg;

    if (wants_input(m))
        m->handler.ended(m->arg, stream, how);
}

static const struct spdy_handler spdy_events = {
    .opened = spdy_opened, .data = spdy_data, .ended = spdy_ended, .output = spdy_output};

/* The first byte of a message is its channel; on 255 the second names the channel that ended. */
static void channel_part(struct mux *m, bool first, const char *data, size_t len)
{
    if (first)
        m->channel_known = false;
    if (len > 0 && !m->channel_known) {
        m->channel = (unsigned char)*data++;
        m->channel_known = true;
        len--;
    }
    if (len == 0)
        return;
    if (m->channel != CHANNEL_CLOSE)
        m->handler.data(m->arg, m->channel, data, len);
    else if (*data == CHANNEL_STDIN)
        m->handler.ended(m->arg, CHANNEL_STDIN, SPDY_ENDED);
}

static void text_part(struct mux *m, bool first, const char *data, size_t len)
{
    if (first)
        buf_clear(&m->message);
    buf_add(&m->message, data, len);
    if (m->message.failed)
        m->broken = true;
    else if (m->ws.left == 0 && !m->ws.in_message)
        m->handler.data(m->arg, 0, m->message.data, m->message.len);
}

static void ws_part(void *arg, bool first, const char *data, size_t len)
{
    struct mux *m = arg;

    if (!wants_input(m))
        return;
    if (m->kind == MUX_TEXT)
        text_part(m, first, data, len);
    else if (m->kind == MUX_CHANNELS)
        channel_part(m, first, data, len);
    else if (spdy_feed(m->spdy, data, len) < 0)
        m->broken = true;
}

static void ws_control(void *arg, enum websocket_opcode opcode, const char *data, size_t len)
{
    struct mux *m = arg;

    if (m->freed)
        return;
    if (opcode == WEBSOCKET_PING && m->state == OPEN) {
        add_frame_head(m, WEBSOCKET_PONG, len);
        add_output(m, data, len);
    } else if (opcode == WEBSOCKET_CLOSE) {
        mux_finish(m);
    }
}

static const struct websocket_handler ws_events = {.part = ws_part, .control = ws_control};

/* Only between messages, and without waiting. */
static void say_broken(struct mux *m)
{
    unsigned char frame[WEBSOCKET_HEAD_LIMIT_BYTES + sizeof(CLOSE_PROTOCOL)];
    size_t n = websocket_head(frame, WEBSOCKET_CLOSE, strlen(CLOSE_PROTOCOL));

    if (m->kind == MUX_SPDY || m->close_sent || m->out.len > 0)
        return;
    memcpy(frame + n, CLOSE_PROTOCOL, strlen(CLOSE_PROTOCOL));
    (void)!send(m->fd, frame, n + strlen(CLOSE_PROTOCOL), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void take_bytes(struct mux *m, char *data, size_t len)
{
    int rc;

    if (m->state == LINGERING)
        return; /* only its end matters */
    rc = m->kind == MUX_SPDY ? spdy_feed(m->spdy, data, len) : websocket_feed(&m->ws, data, len);
    if (rc < 0) {
        say_broken(m);
        m->broken = true;
    }
}

/* False when the peer is gone. */
static bool read_socket(struct mux *m)
{
    static char bytes[MUX_READ_BYTES]; /* one thread, never kept between calls */
    ssize_t n = recv(m->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n > 0)
        take_bytes(m, bytes, (size_t)n);
    return n > 0;
}

static void take_early(struct mux *m)
{
    struct buf early = m->early;

    buf_init(&m->early, early.limit_bytes);
    if (early.len > 0)
        take_bytes(m, early.data, early.len);
    buf_release(&early);
}

/* --- the socket ------------------------------------------------------------------------ */

static bool write_socket(struct mux *m)
{
    ssize_t n;

    if (m->out.len == 0)
        return true;
    n = send(m->fd, m->out.data, m->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    buf_consume(&m->out, (size_t)n);
    return true;
}

static void over(struct mux *m)
{
    if (m->state == OVER)
        return;
    m->state = OVER;
    loop_fd_stop(m->watch);
    m->watch = NULL;
    clock_stop(loop_clock(m->loop), m->linger);
    m->linger = NULL;
    if (!m->freed)
        m->handler.closed(m->arg);
}

static void destroy(struct mux *m)
{
    loop_fd_stop(m->watch);
    clock_stop(loop_clock(m->loop), m->linger);
    if (m->fd >= 0)
        (void)close(m->fd);
    spdy_free(m->spdy);
    buf_release(&m->early);
    buf_release(&m->out);
    buf_release(&m->message);
    free(m);
}

static void on_linger(void *arg)
{
    struct mux *m = arg;

    m->linger = NULL;
    m->in_callback = true;
    over(m);
    m->in_callback = false;
    if (m->freed)
        destroy(m);
}

static void half_close(struct mux *m)
{
    m->state = LINGERING;
    (void)shutdown(m->fd, SHUT_WR);
    m->linger = clock_start(loop_clock(m->loop), MUX_LINGER_MS, on_linger, m);
    if (!m->linger)
        over(m);
}

static void serve(struct mux *m, unsigned events)
{
    bool alive = !m->broken, was_full = !mux_has_room(m);

    if (alive && m->early.len > 0)
        take_early(m);
    if (alive && events & (LOOP_READABLE | LOOP_HANGUP) && (!m->paused || m->state != OPEN))
        alive = read_socket(m);
    else if (alive && events & LOOP_HANGUP)
        alive = false; /* paused: what it still sent is deliberately lost, as no answer is read */
    if (alive && !m->freed && m->state <= FINISHING)
        alive = write_socket(m);
    if (!alive || m->broken) {
        over(m);
        return;
    }
    if (m->freed)
        return;
    if (m->state == FINISHING && m->out.len == 0)
        half_close(m);
    /* Everything may have been sent in a turn meant for reading. */
    if (mux_has_room(m) && (was_full || events & LOOP_WRITABLE))
        m->handler.drained(m->arg);
}

static void on_socket(void *arg, unsigned events)
{
    struct mux *m = arg;

    m->in_callback = true;
    serve(m, events);
    m->in_callback = false;
    if (m->freed)
        destroy(m);
    else
        update_watch(m);
}

/* --- life ------------------------------------------------------------------------------ */

static bool speaks_spdy(enum mux_kind kind)
{
    return kind == MUX_SPDY || kind == MUX_TUNNEL_SPDY;
}

struct mux *mux_new(struct loop *l, int fd, const char *early, size_t early_len, enum mux_kind kind,
                    const struct mux_handler *handler, void *arg)
{
    struct mux *m = calloc(1, sizeof(*m));
    int on = 1;

    if (!m) {
        (void)close(fd);
        return NULL;
    }
    *m = (struct mux){.loop = l, .fd = fd, .kind = kind, .handler = *handler, .arg = arg};
    buf_init(&m->early, max_size(early_len, 1));
    buf_init(&m->out, kind == MUX_TEXT ? MUX_TEXT_OUTPUT_LIMIT_BYTES : MUX_OUTPUT_LIMIT_BYTES);
    buf_init(&m->message, MUX_TEXT_LIMIT_BYTES);
    buf_add(&m->early, early, early_len);
    websocket_init(&m->ws, &ws_events, m);
    if (speaks_spdy(kind))
        m->spdy = spdy_new(&spdy_events, m);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    m->watched = LOOP_READABLE | LOOP_WRITABLE | LOOP_HANGUP;
    m->watch = loop_fd_watch(l, fd, m->watched, on_socket, m);
    if (!m->watch || m->early.failed || (speaks_spdy(kind) && !m->spdy)) {
        destroy(m);
        return NULL;
    }
    return m;
}

void mux_free(struct mux *m)
{
    if (!m)
        return;
    if (m->in_callback)
        m->freed = true;
    else
        destroy(m);
}
