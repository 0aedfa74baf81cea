/* replica_names.c - see replica_names.h. */
#include "core/replica_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

void replica_hash5(const char *job_name, const char *job_uid, char out[HASH5_SIZE])
{
    uint64_t hash = fnv1a_64(FNV1A_64_START, job_name, strlen(job_name));

    hash = fnv1a_64(hash, job_uid, strlen(job_uid));
    /* the top 20 of 64 bits are the first five of 16 digits */
    (void)snprintf(out, HASH5_SIZE, "%05x", (unsigned)(hash >> 44));
}

const char *replica_name(struct arena *a, const char *job_name, const char *hash5, const char *type,
                         int64_t index)
{
    return arena_printf(a, "%s-%s-%s-%" PRId64, job_name, hash5, type, index);
}
