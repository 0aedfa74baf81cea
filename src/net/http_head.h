/*
 * http_head.h - the head of a request, parsed so strictly that no proxy in front of us can see its
 * end, length or header lines differently (RFC 9112): lines end with CR LF; no control characters,
 * folded lines or blanks around names; one Host; at most one length.
 */
#ifndef MUSTER_NET_HTTP_HEAD_H
#define MUSTER_NET_HTTP_HEAD_H

#include "base/arena.h"
#include "net/http_message.h"

#define HTTP_HEAD_LIMIT_BYTES (16u * 1024u)

struct http_refusal {
    int status; /* 0: none */
    const char *text;
};

/* Scanning progress in a head. Starts zeroed. */
struct http_head_scan {
    size_t seen, lines;
    size_t line_at; /* start of the current line */
};

struct http_head {
    const char *method, *target; /* target: path and query */
    const char *authority;       /* the target's, otherwise Host; NULL: none */
    struct http_field *fields;
    size_t field_count;
    uint64_t length; /* of the body, unless chunked */
    bool chunked;
    bool old;       /* HTTP/1.0: never answered in chunks */
    bool last;      /* the client wants no further answer on this connection */
    bool continues; /* it waits for a 100 before sending the body */
};

/* data: everything since the start of the head. The head's length when complete, 0 when more is
 * needed, negative when already refused. */
ssize_t http_head_scan(struct http_head_scan *s, const char *data, size_t len,
                       struct http_refusal *why) must_check;
/* Parses what was scanned into the arena. -ENOMEM, or -EPROTO with the refusal. */
int http_head_parse(struct http_head *h, const struct http_head_scan *s, struct arena *a,
                    const char *data, size_t len, struct http_refusal *why) must_check;
/* The first value, or NULL. */
const char *http_head_field(const struct http_head *h, const char *name);

#endif
