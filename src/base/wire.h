/*
 * wire.h - iterates over the fields of a protobuf message in place. Allocates and copies nothing,
 * and never reads beyond the given end, whatever the bytes are.
 */
#ifndef MUSTER_BASE_WIRE_H
#define MUSTER_BASE_WIRE_H

#include <string.h>

#include "base/base.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire {
    const unsigned char *at, *end;
    bool bad; /* the message is malformed; wire_next returns false */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t number_value;     /* varint, or the bits of a fixed-width field */
    const unsigned char *data; /* WIRE_BYTES */
    size_t len;
};

static inline struct wire wire_of(const void *data, size_t len)
{
    const unsigned char *at = data;

    return (struct wire){.at = at, .end = len ? at + len : at};
}

static inline bool wire_varint(struct wire *w, uint64_t *ret)
{
    uint64_t value = 0;

    if (w->at < w->end && *w->at < 0x80) { /* the common case */
        *ret = *w->at++;
        return true;
    }
    for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        unsigned char byte = *w->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    w->bad = true;
    return false;
}

static inline bool wire_fixed(struct wire *w, size_t size, uint64_t *ret)
{
    if ((size_t)(w->end - w->at) < size) {
        w->bad = true;
        return false;
    }
    *ret = 0;
    memcpy(ret, w->at, size); /* both are little-endian: so is every machine we run on */
    w->at += size;
    return true;
}

static inline bool wire_bytes(struct wire *w, struct wire_field *f)
{
    uint64_t len;

    if (!wire_varint(w, &len))
        return false;
    if (len > (size_t)(w->end - w->at)) {
        w->bad = true;
        return false;
    }
    f->data = w->at;
    f->len = (size_t)len;
    w->at += len;
    return true;
}

/* The next field; false at the end and when the message is malformed. */
static inline bool wire_next(struct wire *w, struct wire_field *ret)
{
    uint64_t key;

    if (w->bad || w->at == w->end || !wire_varint(w, &key))
        return false;
    *ret = (struct wire_field){.number = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7)};
    switch (ret->type) {
    case WIRE_VARINT:
        return wire_varint(w, &ret->number_value);
    case WIRE_FIXED64:
        return wire_fixed(w, 8, &ret->number_value);
    case WIRE_BYTES:
        return wire_bytes(w, ret);
    case WIRE_FIXED32:
        return wire_fixed(w, 4, &ret->number_value);
    }
    w->bad = true; /* obsolete group fields, and garbage */
    return false;
}

#endif
