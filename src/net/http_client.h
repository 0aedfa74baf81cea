/*
 * http_client.h - HTTP/1.1 requests on the loop, plain or TLS, with persistent connections.
 *
 * libcurl implements the protocol. It is loaded only when the first client is created: the daemon
 * on a single machine talks to itself without HTTP and should not carry a TLS library for nothing.
 */
#ifndef MUSTER_NET_HTTP_CLIENT_H
#define MUSTER_NET_HTTP_CLIENT_H

#include <sys/socket.h>

#include "base/err.h"
#include "loop/loop.h"
#include "net/reach.h"

struct http_client;
struct http_exchange;

/* reach is copied. Without libcurl: an error that names the package to install. */
struct http_client *http_client_new(struct loop *l, const struct reach *reach,
                                    struct err *err) must_check;
/* Uses another client certificate for new connections. */
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
    size_t body_limit_bytes; /* of a collected answer; a longer one is an error */
    /* When a server is busy and says for how long (429 or 503 with Retry-After), the request is
     * repeated then, for at most this long in total; after that the refusal is the answer. */
    int64_t busy_patience_ms;
    /* May be NULL. Whether the connection may go to this address, asked after names are resolved;
     * such a connection is not shared with other exchanges. */
    bool (*may_reach)(const struct sockaddr *to);
    /* An open connection to use instead of a new one, for this request only; 0: none. It is taken,
     * unless starting fails. */
    int fd;
};

struct http_result {
    int status;        /* 0: no answer, error says why */
    const char *error; /* one sentence */
    const char *cause; /* the same without host names */
    bool refused;      /* by may_reach */
    const char *body;  /* if collected; never NULL */
    size_t body_len;
};

/* on_data NULL: the answer is collected. Otherwise a 2xx answer is passed on in pieces, and others
 * are collected. on_end is called once, last. Neither is called from inside http_client_start or
 * http_exchange_cancel; both may start and cancel exchanges, including their own. */
struct http_handler {
    void (*on_data)(void *arg, const char *data, size_t len);
    /* May be NULL. Each line of the head including its line end, from the status line to the empty
     * one; interim answers have their own heads. With it every answer is passed on in pieces,
     * whatever its status. */
    void (*on_header)(void *arg, const char *line, size_t len);
    /* May be NULL. The head of a 2xx answer has arrived; the body may take long. */
    void (*on_open)(void *arg);
    void (*on_end)(void *arg, const struct http_result *result);
    void *arg;
};

/* NULL when out of memory. The exchange is freed after on_end. */
struct http_exchange *http_client_start(struct http_client *c, const struct http_request *request,
                                        const struct http_handler *handler) must_check;
void http_exchange_cancel(struct http_exchange *x); /* no callback afterwards */
/* While paused, on_data is not called: data is buffered and the server has to wait. The end may
 * still be reported if there was no more data. */
void http_exchange_pause(struct http_exchange *x, bool paused);

#endif
