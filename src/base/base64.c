/* base64.c - see base64.h. */
#include "base/base64.h"

#include <errno.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(struct arena *a, const void *data, size_t len, size_t *ret_len)
{
    const unsigned char *p = data;
    size_t out_len = len > SIZE_MAX / 2 ? SIZE_MAX - 1 : (len + 2) / 3 * 4;
    char *out = arena_alloc(a, out_len + 1), *to = out;

    if (!out)
        return NULL;
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)p[i] << 16;

        v |= i + 1 < len ? (unsigned)p[i + 1] << 8 : 0;
        v |= i + 2 < len ? p[i + 2] : 0;
        *to++ = alphabet[v >> 18];
        *to++ = alphabet[v >> 12 & 63];
        *to++ = i + 1 < len ? alphabet[v >> 6 & 63] : '=';
        *to++ = i + 2 < len ? alphabet[v & 63] : '=';
    }
    if (ret_len)
        *ret_len = out_len;
    return out;
}

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* With to NULL it only checks and counts. */
static int64_t decode(const char *text, size_t len, char *to)
{
    unsigned v = 0, have = 0, padding = 0;
    int64_t count = 0;

    for (size_t i = 0; i < len; i++) {
        int d = digit_value(text[i]);

        if (text[i] == '\n' || text[i] == '\r')
            continue;
        if (text[i] == '=') {
            padding++;
            d = 0;
        } else if (d < 0 || padding) {
            return -EINVAL;
        }
        v = v << 6 | (unsigned)d;
        if (++have < 4)
            continue;
        if (padding > 2)
            return -EINVAL;
        for (unsigned k = 0; k < 3 - padding; k++, count++)
            if (to)
                to[count] = (char)(v >> (16 - 8 * k) & 0xff);
        v = have = 0;
    }
    return have ? -EINVAL : count;
}

int64_t base64_decoded_len(const char *text, size_t len)
{
    return decode(text, len, NULL);
}

char *base64_decode(struct arena *a, const char *text, size_t len, size_t *ret_len)
{
    int64_t n = decode(text, len, NULL);
    char *out = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;

    if (!out)
        return NULL;
    (void)decode(text, len, out);
    if (ret_len)
        *ret_len = (size_t)n;
    return out;
}

char *base64url_encode(struct arena *a, const void *data, size_t len)
{
    size_t n = 0;
    char *text = base64_encode(a, data, len, &n);

    while (text && n > 0 && text[n - 1] == '=')
        text[--n] = '\0';
    for (char *c = text; c && *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return text;
}

char *base64url_decode(struct arena *a, const char *text, size_t len, size_t *ret_len)
{
    char *copy = arena_alloc(a, len + 4);
    size_t n = len;

    if (!copy)
        return NULL;
    for (size_t i = 0; i < len; i++)
        copy[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
    while (n % 4 != 0)
        copy[n++] = '=';
    return base64_decode(a, copy, n, ret_len);
}
