/* utf8.h - UTF-8 of unknown origin: valid sequences, and characters that are obeyed, not shown. */
#ifndef MUSTER_BASE_UTF8_H
#define MUSTER_BASE_UTF8_H

#include <string.h>

#include "base/arena.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

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

/* Whether the sequence, of n bytes, is one a terminal obeys (C0, DEL, C1), or one that reorders or
 * breaks the text around it (U+202A to U+202E, U+2066 to U+2069, U+2028, U+2029). */
static inline bool utf8_is_control(const char *text, size_t n)
{
    const unsigned char *u = (const unsigned char *)text;

    if (n == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    if (n == 2)
        return u[0] == 0xc2 && u[1] < 0xa0;
    return n == 3 && u[0] == 0xe2 &&
           ((u[1] == 0x80 && u[2] >= 0xa8 && u[2] <= 0xae) ||
            (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
}

static inline bool utf8_has_controls(const char *text, size_t len)
{
    size_t n;

    for (size_t i = 0; i < len; i += n ? n : 1) {
        n = utf8_sequence(text + i, len - i);
        if (utf8_is_control(text + i, n))
            return true;
    }
    return false;
}

/* Without controls other than line ends and tabs, and without white space at the end; invalid bytes
 * become U+FFFD. NULL when out of memory. */
char *utf8_without_controls(struct arena *a, const char *text, size_t len);

#endif
