/*
 * http_answer.h - reads an HTTP/1.1 answer piece by piece: its head is kept, its body handed on.
 * Strict: what is ambiguous (two lengths, folded lines, unknown encodings) is an error, so that
 * nobody behind us can mean another message than we do. Does no I/O.
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
    ANSWER_BODY, /* of known length, or to the end of the connection */
    ANSWER_CHUNKS,
    ANSWER_DONE,
};

struct http_answer {
    enum http_answer_state state;
    bool without_body; /* of a HEAD request */
    bool may_upgrade;  /* 101 is an answer: the other protocol is its body. Set by the user */
    bool to_the_end;   /* the body ends with the connection */
    int status;
    struct http_field fields[HTTP_ANSWER_FIELDS_LIMIT];
    size_t fields_len;
    /* inside */
    struct buf head;
    unsigned interim;
    uint64_t left; /* bytes of body */
    struct http_chunks chunks;
};

void http_answer_init(struct http_answer *a, bool without_body);
void http_answer_release(struct http_answer *a);
/* Takes all of data; bytes of the body are added to out. -EPROTO: it is no answer, or out has
 * failed. Bytes after the end are an error too. */
int http_answer_feed(struct http_answer *a, const char *data, size_t len,
                     struct buf *out) must_check;
/* The connection has ended. -EPROTO when something is missing. */
int http_answer_end(struct http_answer *a) must_check;
/* The first value of a field, NULL without one; after the head. */
const char *http_answer_field(const struct http_answer *a, const char *name);

#endif
