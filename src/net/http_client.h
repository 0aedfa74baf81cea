/*
 * http_client.h - HTTP/1.1 requests on the loop, plain or TLS, with kept-alive connections.
 *
 * libcurl does the protocol. It is loaded when the first client is made and not before: the daemon
 * on one machine talks to itself without HTTP and should not carry a TLS library for nothing.
 */
#ifndef MUSTER_NET_HTTP_CLIENT_H
#define MUSTER_NET_HTTP_CLIENT_H

#include <sys/socket.h>

#include "base/err.h"
#include "loop/loop.h"
#include "net/reach.h"

struct http_client;
struct http_exchange;

/* reach is copied. Missing libcurl: an error that names the package to install. */
struct http_client *http_client_new(struct loop *l, const struct reach *reach,
                                    struct err *err) must_check;
/* Another certificate of ours, for connections from now on. */
int http_client_identify(struct http_client *c, const char *cert_pem, const char *key_pem,
                         struct err *err) must_check;
void http_client_free(struct http_client *c); /* drops exchanges without calling back */

struct http_request {
    const char *method;
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char *body;
    size_t body_len;
    int64_t timeout_ms;      /* for the whole exchange; 0: none (streams) */
    size_t body_limit_bytes; /* of an answer that is collected; a longer one is an error */
    /* A server that is busy and says for how long (429 or 503 with Retry-After) is asked again
     * then, so long in all; after it that answer is the answer. */
    int64_t busy_patience_ms;
    /* May be NULL. Whether a connection may lead there, asked after names were resolved; no other
     * exchange uses that connection. */
    bool (*may_reach)(const struct sockaddr *to);
};

struct http_result {
    int status;        /* 0: no answer, error says why */
    const char *error; /* one sentence */
    const char *cause; /* the same without names of hosts */
    bool refused;      /* may_reach would not have it */
    const char *body;  /* of what was collected; never NULL */
    size_t body_len;
};

/* on_data NULL: the answer is collected. Otherwise a 2xx answer is given in pieces as they come and
 * others are collected. on_end comes once, last. Neither is called from inside http_client_start or
 * http_exchange_cancel; both may start and cancel exchanges, also their own. */
struct http_handler {
    void (*on_data)(void *arg, const char *data, size_t len);
    /* May be NULL. Each line of the head with its line's end, the status line first and an empty
     * one last; interim answers come as heads of their own. With it every answer is given in
     * pieces, whatever its status. */
    void (*on_header)(void *arg, const char *line, size_t len);
    /* May be NULL. The head of a 2xx answer has come, which may not begin for long. */
    void (*on_open)(void *arg);
    void (*on_end)(void *arg, const struct http_result *result);
    void *arg;
};

/* NULL when out of memory. The exchange is gone after on_end. */
struct http_exchange *http_client_start(struct http_client *c, const struct http_request *request,
                                        const struct http_handler *handler) must_check;
void http_exchange_cancel(struct http_exchange *x); /* no call after it */
/* Paused, on_data is not called: what came is kept, and the server has to wait. The end may still
 * be told when there was nothing more. */
void http_exchange_pause(struct http_exchange *x, bool paused);

#endif
