/*
 * spdy.h - the server side of SPDY/3.1 as kubectl uses it: bytes in, streams out. No sockets and no
 * flow control (Kubernetes has none on either side): a receiver that is full stops feeding.
 */
#ifndef MUSTER_NET_SPDY_H
#define MUSTER_NET_SPDY_H

#include "base/base.h"

/* Limits. Beyond them a stream is refused with RST_STREAM, anything else with -EPROTO. */
#define SPDY_STREAM_LIMIT 512u                 /* open at a time */
#define SPDY_CONTROL_LIMIT_BYTES (64u * 1024u) /* one control frame */
#define SPDY_HEADERS_LIMIT_BYTES (64u * 1024u) /* one header block, inflated */
#define SPDY_HEADER_COUNT_LIMIT 64u
#define SPDY_DICTIONARY_BYTES 1423u

struct spdy;

struct spdy_header {
    const char *name, *value; /* NUL-terminated; the name in lower case */
};

enum spdy_end {
    SPDY_ENDED, /* its half is closed */
    SPDY_RESET, /* and it accepts nothing any more */
};

/* None of these may free or feed the engine. */
struct spdy_handler {
    /* A new stream, already accepted. Headers are valid during the call. */
    void (*opened)(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count);
    void (*data)(void *arg, uint32_t stream, const char *data, size_t len);
    /* The peer will send no more on it. */
    void (*ended)(void *arg, uint32_t stream, enum spdy_end how);
    /* Bytes for the wire: one frame in two parts. */
    void (*output)(void *arg, const void *head, size_t head_len, const void *data, size_t len);
};

struct spdy *spdy_new(const struct spdy_handler *handler, void *arg) must_check;
void spdy_free(struct spdy *s); /* NULL-safe */

/* Feeds the peer's bytes, cut anywhere. -EPROTO when they are not SPDY, -ENOMEM; the connection is
 * then unusable. */
int spdy_feed(struct spdy *s, const char *data, size_t len) must_check;

/* Ignored for a stream that is not open or was ended. At most 16 MiB - 1 at once. */
void spdy_send(struct spdy *s, uint32_t stream, const void *data, size_t len);
void spdy_end(struct spdy *s, uint32_t stream); /* we send no more on it */

/* The preset dictionary of header blocks. */
const unsigned char *spdy_dictionary(void);

#endif
