/*
 * httpd.h - an HTTP/1.1 server on our loop.
 *
 * A request arrives complete (head and body, within a limit, unless its handler pulls the body) and
 * gets exactly one answer, now or on a later turn: bytes, or a stream pulled as fast as the client
 * reads. It knows nothing of what is served; it deals with slow clients, vanished clients and too
 * many clients. Everything here belongs to the loop's thread.
 */
#ifndef MUSTER_NET_HTTPD_H
#define MUSTER_NET_HTTPD_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/blob.h"
#include "base/err.h"
#include "loop/loop.h"
#include "net/tls.h"
#include "port/stream.h"

/* Limits. A body over the limit reaches the handler as too_large, without its bytes. */
#define HTTPD_BODY_LIMIT_BYTES (3u * 1024u * 1024u)
#define HTTPD_REQUEST_MEMORY_BYTES (64u * 1024u * 1024u) /* the arena of one request */
#define HTTPD_BODIES_LIMIT_BYTES (128u * 1024u * 1024u)  /* of all requests together; then 503 */
#define HTTPD_CONNECTION_LIMIT 4096u /* more wait in the kernel's queue; idle ones are closed */
#define HTTPD_IDLE_TIMEOUT_S 120u    /* nothing sent or received; idle streams are exempt */
#define HTTPD_HEADER_TIMEOUT_S                                                                     \
    150u /* to a complete head (including a TLS handshake), since the connection became idle */
#define HTTPD_BODY_TIMEOUT_S 60u /* from the head to the end of the body */
#define HTTPD_HEADER_JOIN_LIMIT_BYTES 4096u

struct httpd;

struct httpd_request {
    const char *method;
    const char *path;  /* as sent, still escaped, without the query */
    const char *query; /* after '?', still escaped; "" without one */
    const char *body;  /* NUL-terminated, "" without one */
    size_t body_len;
    bool too_large;
    /* Set by admits for a body of known length: handle is called before the body arrives and pulls
     * it with httpd_body, however long it is. */
    bool pulls_body;
    uint64_t pulled_len;
    uint64_t session;   /* owning session, for httpd_end_session: set by the handler; 0: none */
    struct arena arena; /* lives until the request is answered */
};

struct httpd_header {
    const char *name, *value;
};

struct httpd_options {
    struct loop *loop;
    const char *address; /* "127.0.0.1:7447", "[::1]:0", "localhost:0"; port 0: a free one */
    /* With it a connection may be TLS, and must be unless it comes over the loopback; without it
     * only loopback addresses are accepted. */
    const struct tls_options *tls;
    bool tls_only; /* even over the loopback */
    /* Called once per request. Must call httpd_reply, httpd_stream or httpd_upgrade once, now or
     * later. */
    void (*handle)(void *arg, struct httpd_request *r);
    /* Asked before a body is read; body_len is its declared length, or SIZE_MAX. False: handle gets
     * the request without the body, to refuse it, and the connection closes. NULL: every body is
     * read. */
    bool (*admits)(void *arg, struct httpd_request *r);
    void *arg;
    /* 0: the limits above; smaller ones are for tests */
    unsigned header_timeout_s, body_timeout_s, connection_limit;
    size_t bodies_limit_bytes;
};

struct httpd *httpd_new(const struct httpd_options *options, struct err *err) must_check;
/* With TLS by a throw-away authority that no client knows: protects against eavesdropping only. */
struct httpd *httpd_new_self_signed(const struct httpd_options *options,
                                    struct err *err) must_check;
/* Closes every connection and stream. Unanswered requests stay valid until they are answered; the
 * answer is then dropped. */
void httpd_free(struct httpd *h);

unsigned httpd_port(const struct httpd *h);
size_t httpd_connection_count(const struct httpd *h);

/* Closes the connections whose request belongs to this session and is not completely answered,
 * except `but` (may be NULL). */
void httpd_end_session(struct httpd *h, uint64_t session, const struct httpd_request *but);

/* The first value of a request header or NULL; names are case-insensitive. Only inside handle. */
const char *httpd_header(const struct httpd_request *r, const char *name);
/* The client by its certificate, where certificates are requested (net/tls.h); otherwise NULL or an
 * unknown one. Valid as long as the request. */
const struct tls_peer *httpd_peer(const struct httpd_request *r);
/* Whether the client is a live process on this machine, and its user. Only without TLS. */
bool httpd_peer_user(const struct httpd_request *r, uid_t *ret) must_check;
bool httpd_is_tls(const struct httpd_request *r);
/* All values of a header, joined by ", ", in the request's arena; "" without any. NULL when they
 * are too long. Only inside handle. */
const char *httpd_header_joined(struct httpd_request *r, const char *name);
/* Every header as sent, repeated ones included. Only inside handle. */
typedef void httpd_header_fn(void *arg, const char *name, const char *value);
void httpd_each_header(const struct httpd_request *r, httpd_header_fn *fn, void *arg);

/* fn is called if the client disconnects before the answer, which is still owed; not afterwards.
 * First set inside handle; may be replaced until the answer. */
void httpd_on_gone(struct httpd_request *r, void (*fn)(void *arg), void *arg);

/* The body of a pulling request: read it until the request is answered, never close it; the caller
 * sets on_ready. STREAM_BROKEN: the client is gone. What is unread when the answer is made is
 * dropped, and the connection closes after the answer. */
struct stream *httpd_body(struct httpd_request *r);

/* Answers. r is gone afterwards. Headers are copied; body is referenced, not copied, and may be
 * NULL (empty). Out of memory becomes a bare 503. */
void httpd_reply(struct httpd_request *r, int code, const char *content_type,
                 const struct httpd_header *headers, size_t header_count, struct blob *body);
/* Sends the headers at once, then the stream's data. The stream is closed when it ends, when the
 * client is gone (even while nothing is sent) and by httpd_free. */
void httpd_stream(struct httpd_request *r, int code, const char *content_type,
                  struct stream *stream);
/* The same with extra headers, which are copied. */
void httpd_stream_with(struct httpd_request *r, int code, const char *content_type,
                       const struct httpd_header *headers, size_t header_count,
                       struct stream *stream);

/* Called once, with the non-blocking socket of the upgraded connection, which is the callee's.
 * early: what the client sent beyond its request. fd is -1 when the upgrade failed. */
typedef void httpd_upgrade_fn(void *arg, int fd, const char *early, size_t early_len);
/* Answers 101 with these headers and "Connection: Upgrade". fn is called before this returns only
 * when the client is already gone. */
void httpd_upgrade(struct httpd_request *r, const struct httpd_header *headers, size_t header_count,
                   httpd_upgrade_fn *fn, void *arg);

#endif
