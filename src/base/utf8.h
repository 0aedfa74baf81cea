/* utf8.h - the length of the valid UTF-8 sequence at a position. */
#ifndef MUSTER_BASE_UTF8_H
#define MUSTER_BASE_UTF8_H

#include "base/base.h"

/* Writes the sequence of a character, up to 4 bytes; returns its end. */
static inline char *utf8_put(char *to, unsigned cp)
{
    if (cp < 0x80) {
        *to++ = (char)cp;
    } else if (cp < 0x800) {
        *to++ = (char)(0xc0 | cp >> 6);
        *to++ = (char)(0x80 | (cp & 0x3f));
    } else if (cp < 0x10000) {
        *to++ = (char)(0xe0 | cp >> 12);
        *to++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *to++ = (char)(0x80 | (cp & 0x3f));
    } else {
        *to++ = (char)(0xf0 | cp >> 18);
        *to++ = (char)(0x80 | (cp >> 12 & 0x3f));
        *to++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *to++ = (char)(0x80 | (cp & 0x3f));
    }
    return to;
}

/* Bytes of the well-formed UTF-8 sequence at text (1 to 4), or 0 when it is malformed or cut. left
 * must be > 0. */
static inline size_t utf8_sequence(const char *text, size_t left)
{
    const unsigned char *u = (const unsigned char *)text;
    size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;

    if (n == 1)
        return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return n;
}

#endif
