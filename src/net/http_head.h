/*
 * http_head.h - the head of a request, read so that nobody before us can see its end, its length or
 * its header lines elsewhere than we do (RFC 9112): lines end with CR LF, there are no control
 * characters, no folded lines and no blanks around names, one Host, and one length at most.
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

/* How far the bytes of a head were looked at. Zeroed at first. */
struct http_head_scan {
    size_t seen, lines;
    size_t line_at; /* where the line that is looked at begins */
};

struct http_head {
    const char *method, *target; /* target: the path and the query */
    const char *authority;       /* the target's, and then the value of Host; NULL: it has none */
    struct http_field *fields;
    size_t field_count;
    uint64_t length; /* of the body, unless it is chunked */
    bool chunked;
    bool old;       /* HTTP/1.0: nothing is answered in chunks */
    bool last;      /* the client wants no other answer on this connection */
    bool continues; /* it waits for a 100 before it sends the body */
};

/* data: all that came since the head's beginning. The head's length when it is whole, 0 when more
 * must come, negative when it is refused already. */
ssize_t http_head_scan(struct http_head_scan *s, const char *data, size_t len,
                       struct http_refusal *why) must_check;
/* Of what was scanned, copied into the arena. -ENOMEM, or -EPROTO with the refusal. */
int http_head_parse(struct http_head *h, const struct http_head_scan *s, struct arena *a,
                    const char *data, size_t len, struct http_refusal *why) must_check;
/* The first value, or NULL. */
const char *http_head_field(const struct http_head *h, const char *name);

#endif
