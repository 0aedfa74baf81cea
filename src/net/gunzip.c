/* gunzip.c - see gunzip.h. */
#include "net/gunzip.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window, with a gzip header */

struct blob *gunzip(const void *data, size_t len, size_t limit_bytes)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};
    char *plain = malloc(limit_bytes);
    struct blob *ret = NULL;

    if (plain && inflateInit2(&z, GZIP_WINDOW) == Z_OK) {
        z.next_out = (Bytef *)plain;
        z.avail_out = (uInt)limit_bytes;
        if (inflate(&z, Z_FINISH) == Z_STREAM_END)
            ret = blob_new(plain, z.total_out);
        (void)inflateEnd(&z);
    }
    free(plain);
    return ret;
}
