/* hash.h - FNV-1a, 64 bits: for hash tables and the names of job children (which are part of the
 * interface). */
#ifndef MUSTER_BASE_HASH_H
#define MUSTER_BASE_HASH_H

#include "base/base.h"

#define FNV1A_64_START 0xcbf29ce484222325u

static inline uint64_t fnv1a_64(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++) {
        hash ^= p[i];
        hash *= 0x100000001b3u;
    }
    return hash;
}

#endif
