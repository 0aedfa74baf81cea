/*
 * websocket.h - WebSocket frames (RFC 6455) for both sides: the handshake key, and bytes to
 * messages and back. No sockets, no extensions. Messages are passed on in pieces as they arrive, so
 * their length is not limited and nothing is buffered.
 */
#ifndef MUSTER_NET_WEBSOCKET_H
#define MUSTER_NET_WEBSOCKET_H

#include "base/base.h"

#define WEBSOCKET_ACCEPT_SIZE 29 /* with its NUL */
#define WEBSOCKET_HEAD_LIMIT_BYTES 14u
#define WEBSOCKET_CONTROL_LIMIT_BYTES 125u

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Neither may free or feed the parser. */
struct websocket_handler {
    /* A piece of a message; first: it starts a new message. May be empty. */
    void (*part)(void *arg, bool first, const char *data, size_t len);
    /* A complete close, ping or pong. */
    void (*control)(void *arg, enum websocket_opcode opcode, const char *data, size_t len);
};

struct websocket {
    struct websocket_handler handler;
    void *arg;
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];
    size_t head_len;
    bool is_client; /* input comes from a server: unmasked */
    bool in_frame, in_message, message_began;
    uint64_t left;    /* of the frame's payload */
    unsigned mask_at; /* 0..3 */
    char control[WEBSOCKET_CONTROL_LIMIT_BYTES];
    size_t control_len;
};

void websocket_init(struct websocket *w, const struct websocket_handler *handler, void *arg);
/* For the client side. */
void websocket_init_client(struct websocket *w, const struct websocket_handler *handler, void *arg);
/* Feeds the peer's bytes, cut anywhere; a client's are unmasked in place. -EPROTO on a protocol
 * violation. */
int websocket_feed(struct websocket *w, char *data, size_t len) must_check;

/* Writes the head of an unmasked, unfragmented frame; returns its length. */
size_t websocket_head(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES], enum websocket_opcode opcode,
                      size_t len);
/* The same for a client's frame, with the mask to apply to its payload. */
#define WEBSOCKET_MASK_BYTES 4u
size_t websocket_head_masked(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES],
                             enum websocket_opcode opcode, size_t len,
                             const unsigned char mask[WEBSOCKET_MASK_BYTES]);
/* Sec-WebSocket-Accept for the client's Sec-WebSocket-Key. */
void websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT_SIZE]);

#endif
