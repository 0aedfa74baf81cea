/*
 * http_message.h - common to HTTP/1.1 requests and answers: header lines and chunked bodies.
 * Strict: what two readers might read differently is an error. Does no I/O.
 */
#ifndef MUSTER_NET_HTTP_MESSAGE_H
#define MUSTER_NET_HTTP_MESSAGE_H

#include <sys/types.h>

#include "base/base.h"

#define HTTP_LENGTH_DIGITS_LIMIT 18u

struct http_field {
    const char *name, *value;
};

/* Whether it is allowed in a header name or method. */
bool http_is_token(char c);
/* Splits a line in place; line[len] is the line end and becomes a NUL. NULL, or a sentence about
 * what is wrong. */
const char *http_field_parse(char *line, size_t len, struct http_field *ret) must_check;
/* A Content-Length: digits, within range. */
bool http_length_parse(const char *text, uint64_t *ret) must_check;

enum http_chunk_state {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_END,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_END,
    CHUNK_TRAILER, /* at the start of a line */
    CHUNK_TRAILER_LINE,
    CHUNK_TRAILER_END,
    CHUNKS_END,
    CHUNKS_DONE,
};

/* Starts zeroed. */
struct http_chunks {
    enum http_chunk_state state;
    unsigned digits;
    uint64_t left;
    size_t skipped; /* bytes of extensions and trailers, which are ignored */
};

/* How many bytes were consumed: up to the end of the first run of content, which points into data
 * and may be empty, or of the body (CHUNKS_DONE). -EPROTO: not chunks. */
ssize_t http_chunks_feed(struct http_chunks *c, const char *data, size_t len, const char **content,
                         size_t *content_len) must_check;

#endif
