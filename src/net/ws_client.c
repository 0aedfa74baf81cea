/* ws_client.c - see ws_client.h. All callbacks come from on_socket, which alone frees a client that
 * was freed inside one. */
#include "net/ws_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "loop/random.h"
#include "net/websocket.h"

#define READ_BYTES (64u * 1024u)
#define ANSWER_LIMIT_BYTES (256u * 1024u) /* of a handshake, with the body of a refusal */
#define OUTPUT_LIMIT_BYTES (4u * 1024u * 1024u)
#define READS_PER_TURN 16
#define KEY_BYTES 16

enum state { SHAKING, OPEN, OVER };

struct ws_client {
    struct dial *dial;
    struct loop_fd *watch;
    unsigned watched;
    struct ws_client_handler handler;
    void *arg;
    struct websocket ws;
    enum state state;
    struct buf out, waiting; /* waiting: sent before it was opened */
    struct buf answer;       /* to the handshake */
    char accept[WEBSOCKET_ACCEPT_SIZE];
    bool close_seen, in_callback, freed;
    bool more; /* data may be buffered above the socket, already read by TLS */
};

/* --- output ---------------------------------------------------------------------------- */

static void update_watch(struct ws_client *c)
{
    unsigned events = LOOP_READABLE | LOOP_HANGUP | (c->out.len > 0 || c->more ? LOOP_WRITABLE : 0);

    if (c->watch && events != c->watched && loop_fd_change(c->watch, events) == 0)
        c->watched = events;
}

static void add_masked(struct buf *out, const unsigned char *mask, size_t at, const char *data,
                       size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf_addc(out, (char)((unsigned char)data[i] ^ mask[(at + i) % WEBSOCKET_MASK_BYTES]));
}

static void add_frame(struct ws_client *c, enum websocket_opcode opcode, const char *head,
                      size_t head_len, const void *data, size_t len)
{
    struct buf *out = c->state == SHAKING ? &c->waiting : &c->out;
    unsigned char bytes[WEBSOCKET_HEAD_LIMIT_BYTES], mask[WEBSOCKET_MASK_BYTES];

    random_bytes(mask, sizeof(mask));
    buf_add(out, bytes, websocket_head_masked(bytes, opcode, head_len + len, mask));
    add_masked(out, mask, 0, head, head_len);
    add_masked(out, mask, head_len, data, len);
    update_watch(c);
}

void ws_client_send(struct ws_client *c, unsigned char first, const void *data, size_t len)
{
    char head = (char)first;

    if (c->state != OVER)
        add_frame(c, WEBSOCKET_BINARY, &head, 1, data, len);
}

bool ws_client_has_room(const struct ws_client *c)
{
    return c->state != OVER && c->out.len + c->waiting.len < WS_CLIENT_ROOM_BYTES;
}

/* --- messages -------------------------------------------------------------------------- */

static void ws_part(void *arg, bool first, const char *data, size_t len)
{
    struct ws_client *c = arg;

    if (!c->freed && !c->close_seen)
        c->handler.part(c->arg, first, data, len);
}

static void ws_control(void *arg, enum websocket_opcode opcode, const char *data, size_t len)
{
    struct ws_client *c = arg;

    if (c->freed)
        return;
    if (opcode == WEBSOCKET_PING)
        add_frame(c, WEBSOCKET_PONG, "", 0, data, len);
    if (opcode == WEBSOCKET_CLOSE && !c->close_seen) {
        c->close_seen = true;
        add_frame(c, WEBSOCKET_CLOSE, "", 0, data, min_size(len, 2));
    }
}

static const struct websocket_handler ws_events = {.part = ws_part, .control = ws_control};

/* --- the handshake --------------------------------------------------------------------- */

/* Copies a header's value out of "HTTP/1.1 101 ...\r\nName: value\r\n..."; "" if absent. */
static void find_header(const char *answer, const char *name, char *out, size_t size)
{
    size_t len = strlen(name);

    out[0] = '\0';
    for (const char *line = strstr(answer, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
            line += len + 1;
            line += strspn(line, " \t");
            (void)snprintf(out, size, "%.*s", (int)strcspn(line, "\r\n"), line);
            return;
        }
    }
}

static void over(struct ws_client *c, const struct ws_client_end *end)
{
    if (c->state == OVER)
        return;
    c->state = OVER;
    loop_fd_stop(c->watch);
    c->watch = NULL;
    if (!c->freed)
        c->handler.closed(c->arg, end);
}

static void broken(struct ws_client *c, const char *why)
{
    over(c, &(struct ws_client_end){.body = "", .error = why});
}

static void feed(struct ws_client *c, char *data, size_t len)
{
    if (websocket_feed(&c->ws, data, len) < 0)
        broken(c, "the server sent something that is not WebSocket");
}

static void opened(struct ws_client *c, size_t head_len)
{
    char accept[64], protocol[64];
    struct buf rest = c->answer;

    find_header(c->answer.data, "Sec-WebSocket-Accept", accept, sizeof(accept));
    find_header(c->answer.data, "Sec-WebSocket-Protocol", protocol, sizeof(protocol));
    if (strcmp(accept, c->accept) != 0) {
        broken(c, "the server answered the WebSocket handshake wrongly");
        return;
    }
    buf_init(&c->answer, ANSWER_LIMIT_BYTES);
    c->state = OPEN;
    buf_add(&c->out, c->waiting.data ? c->waiting.data : "", c->waiting.len);
    buf_clear(&c->waiting);
    if (c->handler.opened)
        c->handler.opened(c->arg, protocol);
    if (!c->freed && rest.len > head_len)
        feed(c, rest.data + head_len, rest.len - head_len);
    buf_release(&rest);
}

/* A refusal is complete by its length, or when the server closes. */
static void take_answer(struct ws_client *c, bool at_end)
{
    const char *end = c->answer.data ? strstr(c->answer.data, "\r\n\r\n") : NULL;
    size_t head_len = end ? (size_t)(end + 4 - c->answer.data) : 0;
    char length[32];
    int status = 0;

    if (c->answer.failed) {
        broken(c, "the server's answer is too long");
        return;
    }
    if (!end || sscanf(c->answer.data, "HTTP/1.%*d %d", &status) != 1) {
        if (at_end || end)
            broken(c, "the server closed the connection");
        return;
    }
    if (status == 101) {
        opened(c, head_len);
        return;
    }
    find_header(c->answer.data, "Content-Length", length, sizeof(length));
    if (at_end || (length[0] && c->answer.len - head_len >= strtoull(length, NULL, 10)))
        over(c, &(struct ws_client_end){.http_status = status, .body = end + 4});
}

static void make_handshake(struct ws_client *c, const struct ws_client_options *o)
{
    struct arena a = ARENA_INIT(4096);
    unsigned char bytes[KEY_BYTES];
    const char *host = strstr(o->server.url, "://"), *key;
    size_t len;

    host = host ? host + 3 : o->server.url;
    random_bytes(bytes, sizeof(bytes));
    key = base64_encode(&a, bytes, sizeof(bytes), &len);
    websocket_accept(key ? key : "", c->accept);
    buf_addf(&c->out,
             "GET %s HTTP/1.1\r\nHost: %.*s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: %s\r\n",
             o->path, (int)strcspn(host, "/?#"), host, key ? key : "", o->protocols);
    for (const char *const *h = o->headers; h && *h; h++)
        buf_addf(&c->out, "%s\r\n", *h);
    buf_adds(&c->out, "\r\n");
    arena_release(&a);
}

/* --- the socket ------------------------------------------------------------------------ */

static void read_some(struct ws_client *c)
{
    static char bytes[READ_BYTES]; /* one thread, never kept between calls */

    c->more = true;
    for (int i = 0; i < READS_PER_TURN && c->state != OVER && !c->freed; i++) {
        ssize_t n = dial_read(c->dial, bytes, sizeof(bytes));

        if (n == -EAGAIN) {
            c->more = false;
            return;
        }
        if (n <= 0 && c->state == SHAKING)
            take_answer(c, true);
        else if (n <= 0)
            broken(c, c->close_seen ? NULL
                      : n == 0      ? "the server closed the connection"
                                    : strerror((int)-n));
        if (n <= 0)
            return;
        if (c->state == SHAKING) {
            buf_add(&c->answer, bytes, (size_t)n);
            take_answer(c, false);
        } else {
            feed(c, bytes, (size_t)n);
        }
    }
}

static void write_some(struct ws_client *c)
{
    while (c->state != OVER && c->out.len > 0) {
        ssize_t n = dial_write(c->dial, c->out.data, c->out.len);

        if (n == -EAGAIN)
            return;
        if (n < 0) {
            /* what it sent before closing is still to be read */
            buf_clear(&c->out);
            return;
        }
        buf_consume(&c->out, (size_t)n);
    }
}

static void serve(struct ws_client *c, unsigned events)
{
    bool was_full = !ws_client_has_room(c);

    write_some(c);
    if (events & (LOOP_READABLE | LOOP_HANGUP) || c->more)
        read_some(c);
    if (c->freed || c->state == OVER)
        return;
    if (c->out.failed || c->waiting.failed) {
        broken(c, "too much data is waiting to be sent");
        return;
    }
    write_some(c);
    if (c->state == OPEN && (was_full || events & LOOP_WRITABLE) && ws_client_has_room(c))
        c->handler.drained(c->arg);
}

static void destroy(struct ws_client *c)
{
    loop_fd_stop(c->watch);
    dial_close(c->dial);
    buf_release(&c->out);
    buf_release(&c->waiting);
    buf_release(&c->answer);
    free(c);
}

static void on_socket(void *arg, unsigned events)
{
    struct ws_client *c = arg;

    c->in_callback = true;
    serve(c, events);
    c->in_callback = false;
    if (c->freed)
        destroy(c);
    else
        update_watch(c);
}

/* --- life ------------------------------------------------------------------------------ */

struct ws_client *ws_client_new(const struct ws_client_options *options,
                                const struct ws_client_handler *handler, void *arg, struct err *err)
{
    struct ws_client *c = calloc(1, sizeof(*c));

    if (!c) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    *c = (struct ws_client){.handler = *handler, .arg = arg};
    buf_init(&c->out, OUTPUT_LIMIT_BYTES);
    buf_init(&c->waiting, OUTPUT_LIMIT_BYTES);
    buf_init(&c->answer, ANSWER_LIMIT_BYTES);
    websocket_init_client(&c->ws, &ws_events, c);
    c->dial = dial_open(&options->server, err);
    if (c->dial) {
        make_handshake(c, options);
        c->watched = LOOP_READABLE | LOOP_WRITABLE | LOOP_HANGUP;
        c->watch = loop_fd_watch(options->loop, dial_fd(c->dial), c->watched, on_socket, c);
        if (c->watch && !c->out.failed)
            return c;
        (void)err_set(err, ERR_INTERNAL, "out of memory");
    }
    destroy(c);
    return NULL;
}

void ws_client_free(struct ws_client *c)
{
    if (!c)
        return;
    if (c->in_callback)
        c->freed = true;
    else
        destroy(c);
}
