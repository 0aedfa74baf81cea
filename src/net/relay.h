/*
 * relay.h - a body passed on as a stream while it arrives. What the reader does not take is not
 * requested from the source.
 */
#ifndef MUSTER_NET_RELAY_H
#define MUSTER_NET_RELAY_H

#include "base/buf.h"
#include "port/stream.h"

struct relay {
    struct stream stream; /* for the reader */
    struct buf held;      /* not yet read; the owner releases it */
    size_t pause_bytes;   /* held before the source is paused; the rest of the limit is for what
                           * arrives before the pause takes effect */
    bool paused, over, broken; /* over: nothing more comes; broken: and it is incomplete */
    void (*pause)(struct relay *r, bool paused); /* the source, until it is over */
    void (*close)(struct relay *r);              /* the reader is done; frees the relay */
};

void relay_init(struct relay *r, size_t pause_bytes, size_t limit_bytes,
                void (*pause)(struct relay *r, bool paused), void (*close)(struct relay *r));
/* -ENOBUFS: the source sent too much despite the pause; the relay is over and broken. */
int relay_add(struct relay *r, const char *data, size_t len);
/* The source has appended to held itself. */
void relay_fed(struct relay *r);
void relay_end(struct relay *r, bool broken);

#endif
