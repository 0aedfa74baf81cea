/*
 * ws_client.h - a WebSocket client on the loop: the handshake, then messages. A refused handshake
 * is reported with the server's answer. Back-pressure is the user's job, as in net/mux.h.
 */
#ifndef MUSTER_NET_WS_CLIENT_H
#define MUSTER_NET_WS_CLIENT_H

#include "loop/loop.h"
#include "net/dial.h"

#define WS_CLIENT_ROOM_BYTES (256u * 1024u) /* unsent; beyond it no more is requested */

struct ws_client;

struct ws_client_options {
    struct loop *loop;
    struct dial_options server;
    const char *path;           /* and query, escaped */
    const char *protocols;      /* offered: "v5.channel.k8s.io, v4.channel.k8s.io" */
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
};

struct ws_client_end {
    int http_status;   /* of a refused handshake, with its body; else 0 */
    const char *body;  /* NUL-terminated */
    const char *error; /* what failed; NULL after a refusal or a close */
};

/* Called from the loop only, never from inside a function of this header. Each may free it. */
struct ws_client_handler {
    void (*opened)(void *arg, const char *protocol); /* may be NULL */
    /* A piece of a message; first: it starts a new message. */
    void (*part)(void *arg, bool first, const char *data, size_t len);
    void (*drained)(void *arg); /* there is room (again) */
    void (*closed)(void *arg, const struct ws_client_end *end);
};

/* Blocks until it is connected; the rest is asynchronous. */
struct ws_client *ws_client_new(const struct ws_client_options *options,
                                const struct ws_client_handler *handler, void *arg,
                                struct err *err) must_check;
void ws_client_free(struct ws_client *c); /* closes at once; NULL-safe */

/* One message: the byte, then data. Queued until the connection is open. */
void ws_client_send(struct ws_client *c, unsigned char first, const void *data, size_t len);
bool ws_client_has_room(const struct ws_client *c);

#endif
