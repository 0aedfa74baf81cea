/*
 * http_message.h - what requests and answers of HTTP/1.1 have in common: header lines, and bodies
 * in chunks. Strict: what two readers might read differently is an error. Does no I/O.
 */
#ifndef MUSTER_NET_HTTP_MESSAGE_H
#define MUSTER_NET_HTTP_MESSAGE_H

#include <sys/types.h>

#include "base/base.h"

#define HTTP_LENGTH_DIGITS_LIMIT 18u

struct http_field {
    const char *name, *value;
};

/* Whether it may be in a name: a header's, a method's. */
bool http_is_token(char c);
/* Takes a line apart in place; line[len] is the line's end and becomes a NUL. NULL, or a sentence
 * that says what is wrong. */
const char *http_field_parse(char *line, size_t len, struct http_field *ret) must_check;
/* A Content-Length: digits, and not too many of them. */
bool http_length_parse(const char *text, uint64_t *ret) must_check;

enum http_chunk_state {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_END,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_END,
    CHUNK_TRAILER, /* at the beginning of a line */
    CHUNK_TRAILER_LINE,
    CHUNK_TRAILER_END,
    CHUNKS_END,
    CHUNKS_DONE,
};

/* Zeroed at first. */
struct http_chunks {
    enum http_chunk_state state;
    unsigned digits;
    uint64_t left;
    size_t skipped; /* of chunk extensions and trailers, which are ignored */
};

/* How many bytes were taken: up to the end of the first run of content, which is in data and may be
 * empty, or of the body (CHUNKS_DONE). -EPROTO: these are no chunks. */
ssize_t http_chunks_feed(struct http_chunks *c, const char *data, size_t len, const char **content,
                         size_t *content_len) must_check;

#endif
