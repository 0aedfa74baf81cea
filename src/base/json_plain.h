/* json_plain.h - the part of a string that is the same in JSON as in memory: nearly all of it. */
#ifndef MUSTER_BASE_JSON_PLAIN_H
#define MUSTER_BASE_JSON_PLAIN_H

#include <string.h>

#include "base/base.h"

static inline bool json_is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes at the beginning are plain; eight are looked at together. A byte below n borrows
 * when n is subtracted, and its highest bit tells; so may the byte behind it, which is looked at
 * again alone. */
static inline size_t json_plain_length(const char *text, size_t len)
{
    const uint64_t ones = UINT64_MAX / 0xff, highest = ones * 0x80;
    size_t n = 0;

    for (; len - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
        uint64_t v, quote, backslash;

        memcpy(&v, text + n, sizeof(v));
        quote = v ^ ones * '"';
        backslash = v ^ ones * '\\';
        if ((v | (v + ones) | (v - ones * 0x20) | (quote - ones) | (backslash - ones)) & highest)
            break;
    }
    while (n < len && json_is_plain(text[n]))
        n++;
    return n;
}

#endif
