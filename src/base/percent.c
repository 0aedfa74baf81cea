/*
 * percent.c - see percent.h. Malformed input is refused, never guessed at: two readers of one
 * address must not see different names in it.
 */
#include "base/percent.h"

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void percent_encode(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (is_unreserved(*text))
            buf_addc(out, *text);
        else
            buf_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
}

/* plus: what '+' decodes to. */
static char *decode(struct arena *a, const char *text, size_t len, char plus)
{
    char *out = arena_alloc(a, len + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        char c = text[i] == '+' ? plus : text[i];

        if (c == '%') {
            int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;

            if (high < 0 || low < 0)
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0')
            return NULL;
        out[n++] = c;
    }
    out[n] = '\0';
    return out;
}

char *percent_decode(struct arena *a, const char *text, size_t len)
{
    return decode(a, text, len, '+');
}

char *percent_decode_query(struct arena *a, const char *text, size_t len)
{
    return decode(a, text, len, ' ');
}
