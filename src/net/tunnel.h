/*
 * tunnel.h - our connection to a server that switches protocols (WebSocket, SPDY), joined with a
 * client's: the user supplies the request, then bytes are relayed unchanged, with or without TLS.
 * Little is buffered: a side that does not read makes the other wait.
 */
#ifndef MUSTER_NET_TUNNEL_H
#define MUSTER_NET_TUNNEL_H

#include "loop/loop.h"
#include "net/dial.h"
#include "net/http_answer.h"

struct tunnel;

struct tunnel_options {
    struct loop *loop;
    struct dial_options server; /* copied */
    int fd;                     /* > 0: an existing connection to it; taken, even on failure */
    const char *who;            /* for messages: "the API server"; must outlive it */
    int64_t wait_ms;            /* for the answer */
};

/* Called from the loop only, never from inside a function of this header. Exactly one of the first
 * three is called, once; any may free the tunnel. */
struct tunnel_handler {
    void (*opened)(void *arg, const struct http_answer *answer); /* 101: ready to be joined */
    void (*refused)(void *arg, const struct http_answer *answer, struct buf *body);
    void (*failed)(void *arg, const struct err *err);
    void (*over)(void *arg); /* after it was joined */
};

/* Takes the contents of request. NULL when out of memory. */
struct tunnel *tunnel_open(const struct tunnel_options *options, struct buf *request,
                           const struct tunnel_handler *handler, void *arg) must_check;
/* Joins the client's connection, which is taken even on failure. After opened. */
int tunnel_join(struct tunnel *t, int fd, const char *early, size_t early_len) must_check;
void tunnel_free(struct tunnel *t); /* closes both; NULL-safe */

#endif
