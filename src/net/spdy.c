/*
 * spdy.c - see spdy.h. Data frames are passed on in pieces as they arrive; only control frames are
 * collected. Each direction has one zlib context for the whole connection, so every header block
 * must be inflated even when its stream is refused.
 */
#include "net/spdy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"

#define FRAME_HEAD_BYTES 8u
#define DATA_LIMIT_BYTES 0xffffffu
#define FLAG_FIN 1u
/* We only compress empty header blocks: the smallest window that holds the dictionary suffices. */
#define DEFLATE_WINDOW_BITS 11
#define DEFLATE_MEMORY_LEVEL 1

enum frame_type {
    FRAME_SYN_STREAM = 1,
    FRAME_SYN_REPLY = 2,
    FRAME_RST_STREAM = 3,
    FRAME_PING = 6,
    FRAME_HEADERS = 8,
};

enum reset_status { RESET_PROTOCOL_ERROR = 1, RESET_REFUSED_STREAM = 3 };

struct open_stream {
    uint32_t id;
    bool in_over, out_over;
};

struct spdy {
    struct spdy_handler handler;
    void *arg;
    unsigned char head[FRAME_HEAD_BYTES];
    size_t head_len;
    uint32_t body_left;
    struct buf control; /* the current control frame */
    bool in_frame;
    z_stream inflate, deflate;
    bool inflate_ready, deflate_ready;
    struct open_stream streams[SPDY_STREAM_LIMIT];
    size_t stream_count;
};

static uint32_t get32(const void *at)
{
    const unsigned char *p = at;

    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t get24(const unsigned char *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void put32(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 24);
    p[1] = (unsigned char)(v >> 16);
    p[2] = (unsigned char)(v >> 8);
    p[3] = (unsigned char)v;
}

/* --- streams --------------------------------------------------------------------------- */

static struct open_stream *find(struct spdy *s, uint32_t id)
{
    for (size_t i = 0; i < s->stream_count; i++)
        if (s->streams[i].id == id)
            return &s->streams[i];
    return NULL;
}

static void forget_if_over(struct spdy *s, struct open_stream *o)
{
    if (o->in_over && o->out_over)
        *o = s->streams[--s->stream_count];
}

static void input_over(struct spdy *s, uint32_t id, enum spdy_end how)
{
    struct open_stream *o = find(s, id);

    if (!o || o->in_over)
        return;
    o->in_over = true;
    forget_if_over(s, o);
    s->handler.ended(s->arg, id, how);
}

/* --- output ---------------------------------------------------------------------------- */

static void send_control(struct spdy *s, enum frame_type type, const void *body, size_t len)
{
    unsigned char head[FRAME_HEAD_BYTES] = {0x80, 3, 0, (unsigned char)type};

    put32(head + 4, (uint32_t)len); /* the top byte, the flags, stays 0 */
    s->handler.output(s->arg, head, sizeof(head), body, len);
}

static void reset(struct spdy *s, uint32_t id, enum reset_status status)
{
    unsigned char body[8];

    put32(body, id);
    put32(body + 4, (uint32_t)status);
    send_control(s, FRAME_RST_STREAM, body, sizeof(body));
}

/* A SYN_REPLY without headers: a count of 0, compressed in the connection's context. */
static int accept_stream(struct spdy *s, uint32_t id)
{
    unsigned char body[128], none[4] = {0};

    put32(body, id);
    s->deflate.next_in = none;
    s->deflate.avail_in = sizeof(none);
    s->deflate.next_out = body + 4;
    s->deflate.avail_out = sizeof(body) - 4;
    if (deflate(&s->deflate, Z_SYNC_FLUSH) != Z_OK || s->deflate.avail_out == 0)
        return -ENOMEM;
    send_control(s, FRAME_SYN_REPLY, body, sizeof(body) - s->deflate.avail_out);
    return 0;
}

static void send_data(struct spdy *s, uint32_t id, unsigned flags, const void *data, size_t len)
{
    unsigned char head[FRAME_HEAD_BYTES];

    put32(head, id);
    put32(head + 4, (uint32_t)len);
    head[4] = (unsigned char)flags;
    s->handler.output(s->arg, head, sizeof(head), data, len);
}

void spdy_send(struct spdy *s, uint32_t stream, const void *data, size_t len)
{
    const struct open_stream *o = find(s, stream);

    if (o && !o->out_over && len > 0 && len <= DATA_LIMIT_BYTES)
        send_data(s, stream, 0, data, len);
}

void spdy_end(struct spdy *s, uint32_t stream)
{
    struct open_stream *o = find(s, stream);

    if (!o || o->out_over)
        return;
    send_data(s, stream, FLAG_FIN, "", 0);
    o->out_over = true;
    forget_if_over(s, o);
}

/* --- header blocks --------------------------------------------------------------------- */

static int inflate_step(struct spdy *s)
{
    int rc = inflate(&s->inflate, Z_SYNC_FLUSH);

    if (rc == Z_NEED_DICT)
        rc = inflateSetDictionary(&s->inflate, spdy_dictionary(), SPDY_DICTIONARY_BYTES);
    if (rc == Z_OK || rc == Z_BUF_ERROR)
        return 0;
    return rc == Z_MEM_ERROR ? -ENOMEM : -EPROTO;
}

static int inflate_block(struct spdy *s, const char *data, size_t len, struct buf *out)
{
    s->inflate.next_in = (unsigned char *)(uintptr_t)data;
    s->inflate.avail_in = (unsigned)len;
    for (;;) {
        char *room = buf_reserve(out, 4096);
        int rc;

        if (!room)
            return -EPROTO;
        s->inflate.next_out = (unsigned char *)room;
        s->inflate.avail_out = 4096;
        rc = inflate_step(s);
        if (rc < 0)
            return rc;
        out->len += 4096 - s->inflate.avail_out;
        if (s->inflate.avail_in == 0 && s->inflate.avail_out > 0)
            return 0;
    }
}

/* One length-prefixed string; its NUL overwrites the next length, which is read first. */
static const char *take_string(char **at, size_t *left, uint32_t *ret_len)
{
    uint32_t len = *ret_len;
    char *text = *at;

    if (len > *left)
        return NULL;
    *at += len;
    *left -= len;
    if (*left >= 4) {
        *ret_len = get32(*at);
        *at += 4;
        *left -= 4;
    } else if (*left > 0) {
        return NULL;
    }
    text[len] = '\0';
    return memchr(text, '\0', len) && len > 0 ? NULL : text;
}

static int split_headers(struct buf *block, struct spdy_header *headers, size_t *ret_count)
{
    uint32_t count, len;
    size_t left;
    char *at;

    *ret_count = 0;
    if (block->len < 4)
        return -EPROTO;
    count = get32(block->data);
    if (count == 0)
        return 0;
    if (count > SPDY_HEADER_COUNT_LIMIT || block->len < 8)
        return -EPROTO;
    len = get32(block->data + 4);
    at = block->data + 8;
    left = block->len - 8;
    for (uint32_t i = 0; i < count; i++) {
        headers[i].name = take_string(&at, &left, &len);
        headers[i].value = headers[i].name ? take_string(&at, &left, &len) : NULL;
        if (!headers[i].value)
            return -EPROTO;
    }
    *ret_count = count;
    return 0;
}

/* --- control frames -------------------------------------------------------------------- */

static int open_stream(struct spdy *s, uint32_t id, unsigned flags,
                       const struct spdy_header *headers, size_t count)
{
    int rc;

    if (id == 0 || id % 2 == 0 || find(s, id)) {
        reset(s, id, RESET_PROTOCOL_ERROR);
        return 0;
    }
    if (s->stream_count == SPDY_STREAM_LIMIT) {
        reset(s, id, RESET_REFUSED_STREAM);
        return 0;
    }
    rc = accept_stream(s, id);
    if (rc < 0)
        return rc;
    s->streams[s->stream_count++] = (struct open_stream){.id = id};
    s->handler.opened(s->arg, id, headers, count);
    if (flags & FLAG_FIN)
        input_over(s, id, SPDY_ENDED);
    return 0;
}

static int on_headers(struct spdy *s, unsigned type, unsigned flags)
{
    /* SYN_STREAM: stream, associated stream, priority and slot; the others: the stream. */
    size_t fixed = type == FRAME_SYN_STREAM ? 10 : 4;
    struct spdy_header headers[SPDY_HEADER_COUNT_LIMIT];
    struct buf block = BUF_INIT(SPDY_HEADERS_LIMIT_BYTES);
    size_t count = 0;
    int rc;

    if (s->control.len < fixed)
        return -EPROTO;
    rc = inflate_block(s, s->control.data + fixed, s->control.len - fixed, &block);
    if (rc == 0 && type == FRAME_SYN_STREAM)
        rc = split_headers(&block, headers, &count);
    if (rc == 0 && type == FRAME_SYN_STREAM)
        rc = open_stream(s, get32(s->control.data) & 0x7fffffff, flags, headers, count);
    buf_release(&block);
    return rc;
}

/* Reported even if its input had already ended: now its output has, too. */
static int on_reset(struct spdy *s, unsigned type, unsigned flags)
{
    struct open_stream *o;
    uint32_t id;

    (void)type, (void)flags;
    if (s->control.len != 8)
        return -EPROTO;
    id = get32(s->control.data) & 0x7fffffff;
    o = find(s, id);
    if (!o)
        return 0;
    o->out_over = true;
    o->in_over = false;
    input_over(s, id, SPDY_RESET);
    return 0;
}

/* The peer's pings are odd; an even one would answer one of ours. */
static int on_ping(struct spdy *s, unsigned type, unsigned flags)
{
    (void)type, (void)flags;
    if (s->control.len != 4)
        return -EPROTO;
    if (get32(s->control.data) % 2 == 1)
        send_control(s, FRAME_PING, s->control.data, 4);
    return 0;
}

static const struct {
    unsigned type;
    int (*run)(struct spdy *s, unsigned type, unsigned flags);
} frames[] = {
    {FRAME_SYN_STREAM, on_headers}, {FRAME_SYN_REPLY, on_headers}, {FRAME_HEADERS, on_headers},
    {FRAME_RST_STREAM, on_reset},   {FRAME_PING, on_ping},
};

/* SETTINGS, GOAWAY, WINDOW_UPDATE and unknown types are ignored. */
static int on_control(struct spdy *s)
{
    unsigned type = (unsigned)s->head[2] << 8 | s->head[3];

    for (size_t i = 0; i < ELEMS(frames); i++)
        if (frames[i].type == type)
            return frames[i].run(s, type, s->head[4]);
    return 0;
}

/* --- input ----------------------------------------------------------------------------- */

static bool is_control(const struct spdy *s)
{
    return s->head[0] & 0x80;
}

static int frame_begins(struct spdy *s)
{
    s->in_frame = true;
    s->body_left = get24(s->head + 5);
    buf_clear(&s->control);
    if (!is_control(s))
        return 0;
    if ((get32(s->head) >> 16 & 0x7fff) != 3 || s->body_left > SPDY_CONTROL_LIMIT_BYTES)
        return -EPROTO;
    return 0;
}

static int frame_ends(struct spdy *s)
{
    s->in_frame = false;
    s->head_len = 0;
    if (is_control(s))
        return on_control(s);
    if (s->head[4] & FLAG_FIN)
        input_over(s, get32(s->head), SPDY_ENDED);
    return 0;
}

static int frame_part(struct spdy *s, const char *data, size_t len)
{
    uint32_t id = get32(s->head);
    const struct open_stream *o;

    s->body_left -= (uint32_t)len;
    if (is_control(s)) {
        buf_add(&s->control, data, len);
        return s->control.failed ? -ENOMEM : 0;
    }
    o = find(s, id); /* NULL: reset or never opened; late data is dropped */
    if (o && !o->in_over && len > 0)
        s->handler.data(s->arg, id, data, len);
    return 0;
}

int spdy_feed(struct spdy *s, const char *data, size_t len)
{
    int rc = 0;

    while (rc == 0 && (len > 0 || (s->in_frame && s->body_left == 0))) {
        size_t n = s->in_frame ? min_size(len, s->body_left)
                               : min_size(len, FRAME_HEAD_BYTES - s->head_len);

        if (!s->in_frame) {
            memcpy(s->head + s->head_len, data, n);
            s->head_len += n;
            if (s->head_len == FRAME_HEAD_BYTES)
                rc = frame_begins(s);
        } else {
            rc = frame_part(s, data, n);
            if (rc == 0 && s->body_left == 0)
                rc = frame_ends(s);
        }
        data += n;
        len -= n;
    }
    return rc;
}

/* --- life ------------------------------------------------------------------------------ */

struct spdy *spdy_new(const struct spdy_handler *handler, void *arg)
{
    struct spdy *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->handler = *handler;
    s->arg = arg;
    buf_init(&s->control, SPDY_CONTROL_LIMIT_BYTES);
    s->inflate_ready = inflateInit(&s->inflate) == Z_OK;
    s->deflate_ready = deflateInit2(&s->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                    DEFLATE_WINDOW_BITS, DEFLATE_MEMORY_LEVEL,
                                    Z_DEFAULT_STRATEGY) == Z_OK;
    if (!s->inflate_ready || !s->deflate_ready ||
        deflateSetDictionary(&s->deflate, spdy_dictionary(), SPDY_DICTIONARY_BYTES) != Z_OK) {
        spdy_free(s);
        return NULL;
    }
    return s;
}

void spdy_free(struct spdy *s)
{
    if (!s)
        return;
    if (s->inflate_ready)
        (void)inflateEnd(&s->inflate);
    if (s->deflate_ready)
        (void)deflateEnd(&s->deflate);
    buf_release(&s->control);
    free(s);
}
