/*
 * http_answer.h - parses an HTTP/1.1 answer incrementally: keeps the head and passes the body on.
 * Strict: anything ambiguous (two lengths, folded lines, unknown encodings) is an error, so that
 * nothing behind us can see a different message. Does no I/O.
 */
#ifndef MUSTER_NET_HTTP_ANSWER_H
#define MUSTER_NET_HTTP_ANSWER_H

#include "base/buf.h"
#include "net/http_message.h"

#define HTTP_ANSWER_HEAD_LIMIT_BYTES (32u * 1024u)
#define HTTP_ANSWER_FIELDS_LIMIT 64u
#define HTTP_ANSWER_INTERIM_LIMIT 8u /* 100 Continue and the like, before the answer */

enum http_answer_state {
    ANSWER_HEAD,
    ANSWER_BODY, /* of known length, or until the connection closes */
    ANSWER_CHUNKS,
    ANSWER_DONE,
};

struct http_answer {
    enum http_answer_state state;
    bool without_body; /* the answer to a HEAD request */
    bool may_upgrade;  /* 101 is accepted, with the other protocol as its body. Set by the user */
    bool to_the_end;   /* the body ends with the connection */
    int status;
    struct http_field fields[HTTP_ANSWER_FIELDS_LIMIT];
    size_t fields_len;
    /* internal */
    struct buf head;
    unsigned interim;
    uint64_t left; /* of the body */
    struct http_chunks chunks;
};

void http_answer_init(struct http_answer *a, bool without_body);
void http_answer_release(struct http_answer *a);
/* Consumes all of data; appends body bytes to out. -EPROTO: not a valid answer, or out has failed.
 * Bytes after the end are an error too. */
int http_answer_feed(struct http_answer *a, const char *data, size_t len,
                     struct buf *out) must_check;
/* The connection has closed. -EPROTO when something is missing. */
int http_answer_end(struct http_answer *a) must_check;
/* The first value of a header, or NULL; after the head. */
const char *http_answer_field(const struct http_answer *a, const char *name);

#endif
