/* random.c - see random.h. If the kernel cannot provide entropy the program aborts: a predictable
 * token or UID would be worse than none. */
#include "loop/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* Kubernetes' alphabet: no vowels and no 0, 1, 3, so that no words and no lookalikes come out. */
static const char suffix_letters[] = "bcdfghjklmnpqrstvwxz2456789";
#define SUFFIX_LETTERS (sizeof(suffix_letters) - 1)

void random_bytes(void *out, size_t len)
{
    unsigned char *p = out;

    while (len) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno != EINTR)
            abort();
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

void random_uid(char out[RANDOM_UID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[16];
    char *p = out;

    random_bytes(raw, sizeof(raw));
    raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40); /* version 4 */
    raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80); /* variant 1 */
    for (size_t i = 0; i < sizeof(raw); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        *p++ = digits[raw[i] >> 4];
        *p++ = digits[raw[i] & 0x0f];
    }
    *p = '\0';
}

void random_suffix(char out[RANDOM_SUFFIX_SIZE])
{
    const unsigned whole = 256 - 256 % SUFFIX_LETTERS; /* values above it would favour the first
                                                        * letters */
    size_t have = 0;

    while (have < RANDOM_SUFFIX_SIZE - 1) {
        unsigned char raw[8];

        random_bytes(raw, sizeof(raw));
        for (size_t i = 0; i < sizeof(raw) && have < RANDOM_SUFFIX_SIZE - 1; i++)
            if (raw[i] < whole)
                out[have++] = suffix_letters[raw[i] % SUFFIX_LETTERS];
    }
    out[have] = '\0';
}
