/* curves_bundle.c - see curves_bundle.h. */
#include "console/curves_bundle.h"

#include <stdlib.h>

struct part {
    int status;
    struct buf body;
};

struct bundle {
    size_t len, left;
    struct part parts[];
};

struct bundle *bundle_new(size_t jobs)
{
    struct bundle *b = calloc(1, sizeof(*b) + jobs * sizeof(struct part));

    if (b)
        b->len = b->left = jobs;
    return b;
}

void bundle_free(struct bundle *b)
{
    for (size_t i = 0; b && i < b->len; i++)
        buf_release(&b->parts[i].body);
    free(b);
}

bool bundle_take(struct bundle *b, size_t job, int status, struct buf *body)
{
    size_t limit = body->limit_bytes;

    b->parts[job] = (struct part){.status = status, .body = *body};
    buf_init(body, limit);
    return --b->left == 0;
}

void bundle_write(const struct bundle *b, struct buf *out)
{
    static const char padding[8] = {0};

    for (size_t i = 0; i < b->len; i++) {
        const struct buf *body = &b->parts[i].body;
        uint32_t head[2] = {(uint32_t)b->parts[i].status, (uint32_t)body->len};

        buf_add(out, head, sizeof(head));
        if (body->len)
            buf_add(out, body->data, body->len);
        buf_add(out, padding, -body->len % sizeof(padding));
    }
}
