/* buf.c - see buf.h. Doubles until the ceiling, then fails for good. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"

#define SMALLEST_BYTES 256u

void buf_init(struct buf *b, size_t limit_bytes)
{
    *b = (struct buf)BUF_INIT(limit_bytes);
}

void buf_release(struct buf *b)
{
    free(b->data);
    buf_init(b, b->limit_bytes);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

char *buf_take(struct buf *b, size_t *ret_len)
{
    char *data = NULL;

    if (!b->failed && b->data) {
        data = b->data;
        *ret_len = b->len;
        b->data = NULL;
    }
    buf_release(b);
    return data;
}

char *buf_reserve(struct buf *b, size_t extra)
{
    size_t need, cap;
    char *data;

    if (b->failed || extra > b->limit_bytes - min_size(b->len, b->limit_bytes))
        goto fail;
    need = b->len + extra + 1;
    if (need <= b->cap)
        return b->data + b->len;
    cap = max_size(b->cap, SMALLEST_BYTES);
    while (cap < need)
        cap *= 2;
    data = memory_checked(realloc(b->data, cap));
    if (!data)
        goto fail;
    b->data = data;
    b->cap = cap;
    return b->data + b->len;
fail:
    b->failed = true;
    return NULL;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
    char *to = buf_reserve(b, len);

    if (!to)
        return;
    if (len)
        memcpy(to, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    char *to;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) {
        b->failed = true;
        return;
    }
    to = buf_reserve(b, (size_t)n);
    if (!to)
        return;
    va_start(args, fmt);
    (void)vsnprintf(to, (size_t)n + 1, fmt, args);
    va_end(args);
    b->len += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
    n = min_size(n, b->len);
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
    b->data[b->len] = '\0';
}
