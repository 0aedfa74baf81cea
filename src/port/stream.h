/*
 * stream.h - bytes that come over time: a watch, a followed log. The consumer pulls when it can
 * take more, so a slow reader costs nothing but its place.
 */
#ifndef MUSTER_PORT_STREAM_H
#define MUSTER_PORT_STREAM_H

#include <sys/types.h>

#define STREAM_END ((ssize_t)-1)
#define STREAM_BROKEN ((ssize_t)-2) /* an end with data missing: the client must learn of it */

struct stream;

struct stream_ops {
    /* Reads up to cap bytes into out. > 0: how many; 0: nothing now, on_ready will be called;
     * STREAM_END or STREAM_BROKEN. */
    ssize_t (*read)(struct stream *s, char *out, size_t cap);
    /* The consumer is done; frees the stream. Called exactly once, never from inside read or
     * on_ready. */
    void (*close)(struct stream *s);
};

struct stream {
    const struct stream_ops *ops;
    /* Set by the consumer before its first read. May be called from anywhere on the loop thread,
     * even spuriously. */
    void (*on_ready)(void *arg);
    void *on_ready_arg;
};

static inline void stream_ready(struct stream *s)
{
    if (s->on_ready)
        s->on_ready(s->on_ready_arg);
}

#endif
