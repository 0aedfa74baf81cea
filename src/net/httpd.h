/*
 * httpd.h - an HTTP/1.1 server on our loop.
 *
 * A request arrives whole (headers and body, within a ceiling, unless its handler pulls the body)
 * and gets exactly one answer, now or on a later turn: bytes, or a stream that is pulled as the
 * client takes it. It does not know what
 * is served; it knows slow clients, vanished clients and too many clients. Everything here belongs
 * to the loop's thread.
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

/* The ceilings. A body over the limit reaches the handler marked too_large, without its bytes. */
#define HTTPD_BODY_LIMIT_BYTES (3u * 1024u * 1024u)
#define HTTPD_REQUEST_MEMORY_BYTES (64u * 1024u * 1024u) /* the arena of one request */
#define HTTPD_BODIES_LIMIT_BYTES (128u * 1024u * 1024u)  /* of all requests together; then 503 */
#define HTTPD_CONNECTION_LIMIT 4096u /* more wait in the kernel's queue; the idle make room */
#define HTTPD_IDLE_TIMEOUT_S 120u    /* nothing sent or received; idle streams are exempt */
#define HTTPD_HEADER_TIMEOUT_S                                                                     \
    150u /* to a whole header (a TLS handshake before it), since the connection was last free */
#define HTTPD_BODY_TIMEOUT_S 60u /* from the header to the end of the body */
#define HTTPD_HEADER_JOIN_LIMIT_BYTES 4096u

struct httpd;

struct httpd_request {
    const char *method;
    const char *path;  /* as sent, still escaped, without the query */
    const char *query; /* after '?', still escaped; "" without one */
    const char *body;  /* NUL-terminated, "" without one */
    size_t body_len;
    bool too_large;
    /* Set by admits of a body whose length is known: handle is called without it and pulls it with
     * httpd_body, however long it is. */
    bool pulls_body;
    uint64_t pulled_len;
    uint64_t session;   /* whose it is, for httpd_end_session: the handler's to set; 0: nobody's */
    struct arena arena; /* lives until the request is answered */
};

struct httpd_header {
    const char *name, *value;
};

struct httpd_options {
    struct loop *loop;
    const char *address; /* "127.0.0.1:7447", "[::1]:0", "localhost:0"; port 0: a free one */
    /* With it a connection may be TLS, and one that does not come over the loopback must be;
     * without it any other address than a loopback one is refused with a sentence. */
    const struct tls_options *tls;
    bool tls_only; /* over the loopback too */
    /* Called once per request. It must call httpd_reply, httpd_stream or
     * httpd_upgrade once, now or later. */
    void (*handle)(void *arg, struct httpd_request *r);
    /* Asked before a body is read; body_len is how long it says it is, SIZE_MAX when it does not
     * say. False: handle gets the request without it, to refuse it, and the connection ends. NULL:
     * every body is read. */
    bool (*admits)(void *arg, struct httpd_request *r);
    void *arg;
    /* 0: the named ceilings; less is for tests */
    unsigned header_timeout_s, body_timeout_s, connection_limit;
    size_t bodies_limit_bytes;
};

struct httpd *httpd_new(const struct httpd_options *options, struct err *err) must_check;
/* With TLS by an authority of its own making, which nobody knows: it keeps listeners out, no more.
 */
struct httpd *httpd_new_self_signed(const struct httpd_options *options,
                                    struct err *err) must_check;
/* Closes every connection and stream. Requests still unanswered stay valid until they are answered;
 * the answer then goes nowhere. */
void httpd_free(struct httpd *h);

unsigned httpd_port(const struct httpd *h);
size_t httpd_connection_count(const struct httpd *h);

/* Closes the connections whose request is this session's and not answered whole; but (may be NULL)
 * stays. */
void httpd_end_session(struct httpd *h, uint64_t session, const struct httpd_request *but);

/* A request header's first value or NULL; case of the name does not matter. Only inside handle. */
const char *httpd_header(const struct httpd_request *r, const char *name);
/* Who it is by its certificate, where clients are asked for one (net/tls.h); NULL or one that is
 * not known otherwise. It lives as long as the request. */
const struct tls_peer *httpd_peer(const struct httpd_request *r);
/* Whether the client is a process of this machine that is still there, and whose: of what came
 * without TLS. */
bool httpd_peer_user(const struct httpd_request *r, uid_t *ret) must_check;
/* Whether it came enciphered. */
bool httpd_is_tls(const struct httpd_request *r);
/* All values of a header, with ", " between them, in the request's arena; "" without any. NULL when
 * they are too long. Only inside handle. */
const char *httpd_header_joined(struct httpd_request *r, const char *name);
/* Every header as it was sent, also those that are there twice. Only inside handle. */
typedef void httpd_header_fn(void *arg, const char *name, const char *value);
void httpd_each_header(const struct httpd_request *r, httpd_header_fn *fn, void *arg);

/* fn is called when the client leaves before the answer, which is owed all the same; not after it.
 * First inside handle; another fn may take its place until the answer. */
void httpd_on_gone(struct httpd_request *r, void (*fn)(void *arg), void *arg);

/* The body of a request that pulls it: to be read until the request is answered, never closed;
 * on_ready is the caller's to set. STREAM_BROKEN: the client is gone. What is not read when the
 * answer is made is dropped, and the connection ends with the answer. */
struct stream *httpd_body(struct httpd_request *r);

/* The answer. r is gone afterwards. Headers are copied; body is referenced, not copied, and may be
 * NULL (empty). Out of memory becomes a bare 503. */
void httpd_reply(struct httpd_request *r, int code, const char *content_type,
                 const struct httpd_header *headers, size_t header_count, struct blob *body);
/* Headers go out at once, then what the stream gives. The stream is closed when it has ended, when
 * the client is gone (noticed also while nothing is sent) and by httpd_free. */
void httpd_stream(struct httpd_request *r, int code, const char *content_type,
                  struct stream *stream);
/* The same with more headers, which are copied. */
void httpd_stream_with(struct httpd_request *r, int code, const char *content_type,
                       const struct httpd_header *headers, size_t header_count,
                       struct stream *stream);

/* Called once, with the socket of a connection that speaks something else from here on: the
 * callee's now, not blocking. early: what the client sent beyond its request. fd is -1 when it did
 * not come to that. */
typedef void httpd_upgrade_fn(void *arg, int fd, const char *early, size_t early_len);
/* Answers 101 with these headers and "Connection: Upgrade". fn is called from inside only
 * when the client is gone already. */
void httpd_upgrade(struct httpd_request *r, const struct httpd_header *headers, size_t header_count,
                   httpd_upgrade_fn *fn, void *arg);

#endif
