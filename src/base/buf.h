/*
 * buf.h - a growing byte buffer. It cannot be made without its ceiling; once an append fails the
 * buffer stays failed and further appends do nothing, so a writer checks once, at its end.
 */
#ifndef MUSTER_BASE_BUF_H
#define MUSTER_BASE_BUF_H

#include "base/base.h"

struct buf {
    char *data; /* NUL-terminated whenever not NULL */
    size_t len, cap;
    size_t limit_bytes;
    bool failed;
};

#define BUF_INIT(limit)                                                                            \
    {                                                                                              \
        .data = NULL, .len = 0, .cap = 0, .limit_bytes = (limit), .failed = false                  \
    }

void buf_init(struct buf *b, size_t limit_bytes);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* empty again, memory kept, no longer failed */
char *
buf_take(struct buf *b,
         size_t *ret_len); /* the memory moves to the caller (free()); NULL when failed or empty */

void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
char *buf_reserve(struct buf *b,
                  size_t extra) must_check; /* room for extra bytes after len, or NULL */
void buf_consume(struct buf *b, size_t n);  /* drop n bytes from the front */

/* Inline because JSON is written mostly byte by byte. */
static inline void buf_addc(struct buf *b, char c)
{
    if (b->len + 1 < b->cap && !b->failed && b->len < b->limit_bytes) {
        b->data[b->len++] = c;
        b->data[b->len] = '\0';
    } else {
        buf_add(b, &c, 1);
    }
}

#endif
