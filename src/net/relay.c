/* relay.c - see relay.h. */
#include "net/relay.h"

#include <errno.h>
#include <string.h>

static void adjust_pause(struct relay *r)
{
    bool full = r->held.len >= r->pause_bytes;

    if (r->over || full == r->paused)
        return;
    r->paused = full;
    r->pause(r, full);
}

static ssize_t read_held(struct stream *s, char *out, size_t cap)
{
    struct relay *r = container_of(s, struct relay, stream);
    size_t n = min_size(cap, r->held.len);

    if (n == 0 && r->over)
        return r->broken ? STREAM_BROKEN : STREAM_END;
    if (n > 0)
        memcpy(out, r->held.data, n);
    buf_consume(&r->held, n);
    adjust_pause(r);
    return (ssize_t)n;
}

static void close_relay(struct stream *s)
{
    struct relay *r = container_of(s, struct relay, stream);

    r->close(r);
}

void relay_init(struct relay *r, size_t pause_bytes, size_t limit_bytes,
                void (*pause)(struct relay *r, bool paused), void (*close)(struct relay *r))
{
    static const struct stream_ops ops = {.read = read_held, .close = close_relay};

    *r = (struct relay){
        .stream = {.ops = &ops}, .pause_bytes = pause_bytes, .pause = pause, .close = close};
    buf_init(&r->held, limit_bytes);
}

void relay_fed(struct relay *r)
{
    adjust_pause(r);
    stream_ready(&r->stream);
}

int relay_add(struct relay *r, const char *data, size_t len)
{
    buf_add(&r->held, data, len);
    if (r->held.failed)
        relay_end(r, true);
    else
        relay_fed(r);
    return r->held.failed ? -ENOBUFS : 0;
}

void relay_end(struct relay *r, bool broken)
{
    r->over = true;
    r->broken = broken;
    stream_ready(&r->stream);
}
