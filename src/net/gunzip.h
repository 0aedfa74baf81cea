/* gunzip.h - decompresses gzip data that we compressed ourselves. */
#ifndef MUSTER_NET_GUNZIP_H
#define MUSTER_NET_GUNZIP_H

#include "base/blob.h"

/* NULL when it is damaged or larger than limit_bytes, or memory ran out. */
struct blob *gunzip(const void *data, size_t len, size_t limit_bytes) must_check;

#endif
