/* sha256.h - SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), only for data that the server signs
 * and later reads back itself. */
#ifndef MUSTER_BASE_SHA256_H
#define MUSTER_BASE_SHA256_H

#include "base/base.h"

#define SHA256_BYTES 32
#define SHA256_BLOCK_BYTES 64

struct sha256 {
    uint32_t state[8];
    uint64_t len;
    unsigned char block[SHA256_BLOCK_BYTES];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, unsigned char out[SHA256_BYTES]);

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                 unsigned char out[SHA256_BYTES]);

#endif
