/* blob.h - immutable bytes shared by reference: a stored object, a watch event, an answer. Safe
 * across threads. */
#ifndef MUSTER_BASE_BLOB_H
#define MUSTER_BASE_BLOB_H

#include <stdatomic.h>

#include "base/buf.h"

struct blob {
    atomic_uint refs;
    uint32_t len;
    void *note;  /* derived from the bytes; one allocation, freed with them; set once */
    char data[]; /* also NUL-terminated */
};

struct blob *blob_new(const void *data,
                      size_t len) must_check; /* copies; NULL when out of memory */
struct blob *
blob_from_buf(const struct buf *b) must_check; /* NULL when b failed or memory ran out */
struct blob *blob_ref(struct blob *b);         /* NULL-safe */
void blob_unref(struct blob *b);               /* NULL-safe */

#endif
