/* sha1.h - SHA-1 (FIPS 180-4), for the WebSocket handshake only: it proves nothing to anybody. */
#ifndef MUSTER_NET_SHA1_H
#define MUSTER_NET_SHA1_H

#include "base/base.h"

#define SHA1_BYTES 20
#define SHA1_BLOCK_BYTES 64

struct sha1 {
    uint32_t state[5];
    uint64_t len;
    unsigned char block[SHA1_BLOCK_BYTES];
};

void sha1_init(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *data, size_t len);
void sha1_end(struct sha1 *s, unsigned char out[SHA1_BYTES]);

#endif
