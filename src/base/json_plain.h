/* json_plain.h - the part of a string that is the same in JSON as in memory: usually all of it. */
#ifndef MUSTER_BASE_JSON_PLAIN_H
#define MUSTER_BASE_JSON_PLAIN_H

#include <endian.h>
#include <string.h>

#include "base/base.h"

static inline bool json_is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many leading bytes are plain, eight at a time: a byte below n borrows when n is subtracted,
 * which sets its high bit. The borrow may also flag the bytes after it, but never one before. */
static inline size_t json_plain_length(const char *text, size_t len)
{
    const uint64_t ones = UINT64_MAX / 0xff, highest = ones * 0x80;
    size_t n = 0;

    for (; len - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
        uint64_t v, quote, backslash, flags;

        memcpy(&v, text + n, sizeof(v));
        v = le64toh(v);
        quote = v ^ ones * '"';
        backslash = v ^ ones * '\\';
        flags = (v | (v + ones) | (v - ones * 0x20) | (quote - ones) | (backslash - ones)) &
                highest;
        if (flags)
            return n + (size_t)__builtin_ctzll(flags) / 8;
    }
    while (n < len && json_is_plain(text[n]))
        n++;
    return n;
}

#endif
