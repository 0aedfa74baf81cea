/*
 * tunnel.h - a connection of ours to a server that switches protocols (WebSocket, SPDY), joined
 * with one of a client's: the request is the user's, then bytes go both ways as they are, TLS under
 * them or not. Nobody buffers more than a little: who does not read makes the other wait.
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
    int fd;                     /* > 0: a connection to it that is there; taken, also on failure */
    const char *who;            /* "the API server", in sentences; outlives it */
    int64_t wait_ms;            /* for the answer */
};

/* From the loop only, never from inside a function of this header. Of the first three one is
 * called, once; each of all may free the tunnel. */
struct tunnel_handler {
    void (*opened)(void *arg, const struct http_answer *answer); /* 101: to be joined */
    void (*refused)(void *arg, const struct http_answer *answer, struct buf *body);
    void (*failed)(void *arg, const struct err *err);
    void (*over)(void *arg); /* of one that was joined */
};

/* Takes what is in request. NULL when out of memory. */
struct tunnel *tunnel_open(const struct tunnel_options *options, struct buf *request,
                           const struct tunnel_handler *handler, void *arg) must_check;
/* The client's connection, which it takes also when it fails. After opened. */
int tunnel_join(struct tunnel *t, int fd, const char *early, size_t early_len) must_check;
void tunnel_free(struct tunnel *t); /* cuts both; NULL-safe */

#endif
