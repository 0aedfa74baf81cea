/* blob.c - see blob.h. */
#include "base/blob.h"

#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"

struct blob *blob_new(const void *data, size_t len)
{
    struct blob *b = len < UINT32_MAX ? memory_checked(malloc(sizeof(*b) + len + 1)) : NULL;

    if (!b)
        return NULL;
    atomic_init(&b->refs, 1);
    b->len = (uint32_t)len;
    b->note = NULL;
    if (len)
        memcpy(b->data, data, len);
    b->data[len] = '\0';
    return b;
}

struct blob *blob_from_buf(const struct buf *b)
{
    return b->failed ? NULL : blob_new(b->data, b->len);
}

struct blob *blob_ref(struct blob *b)
{
    if (b)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void blob_unref(struct blob *b)
{
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
        free(b->note);
        free(b);
    }
}
