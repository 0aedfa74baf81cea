/*
 * websocket.h - WebSocket frames (RFC 6455), of both sides: the key of the handshake, and bytes to
 * messages and back. No sockets, no extensions. Messages pass through in pieces as they come, so
 * there is no limit on their length and nothing is kept.
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

/* Neither may free the parser or feed it. */
struct websocket_handler {
    /* A piece of a message; first: with it a new message begins. May be of length 0. */
    void (*part)(void *arg, bool first, const char *data, size_t len);
    /* A whole close, ping or pong. */
    void (*control)(void *arg, enum websocket_opcode opcode, const char *data, size_t len);
};

struct websocket {
    struct websocket_handler handler;
    void *arg;
    unsigned char head[WEBSOCKET_HEAD_LIMIT_BYTES];
    size_t head_len;
    bool is_client; /* what comes is a server's: not masked */
    bool in_frame, in_message, message_began;
    uint64_t left;    /* of the frame's payload */
    unsigned mask_at; /* 0..3 */
    char control[WEBSOCKET_CONTROL_LIMIT_BYTES];
    size_t control_len;
};

void websocket_init(struct websocket *w, const struct websocket_handler *handler, void *arg);
/* The other side of it: for a client. */
void websocket_init_client(struct websocket *w, const struct websocket_handler *handler, void *arg);
/* Any cut of the peer's bytes; a client's are unmasked in place. -EPROTO when they break the
 * protocol.
 */
int websocket_feed(struct websocket *w, char *data, size_t len) must_check;

/* The head of an unmasked, unfragmented frame; how many bytes it has. */
size_t websocket_head(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES], enum websocket_opcode opcode,
                      size_t len);
/* The same of a client's frame, with the mask to put over its payload. */
#define WEBSOCKET_MASK_BYTES 4u
size_t websocket_head_masked(unsigned char out[WEBSOCKET_HEAD_LIMIT_BYTES],
                             enum websocket_opcode opcode, size_t len,
                             const unsigned char mask[WEBSOCKET_MASK_BYTES]);
/* Sec-WebSocket-Accept for the client's Sec-WebSocket-Key. */
void websocket_accept(const char *key, char out[WEBSOCKET_ACCEPT_SIZE]);

#endif
