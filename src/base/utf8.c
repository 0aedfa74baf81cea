/* utf8.c - see utf8.h. */
#include "base/utf8.h"

char *utf8_without_controls(struct arena *a, const char *text, size_t left)
{
    char *out = arena_alloc(a, left * strlen(UTF8_REPLACEMENT) + 1);
    size_t len = 0;

    while (out && left > 0) {
        size_t n = utf8_sequence(text, left);

        if (n == 0) {
            memcpy(out + len, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
            len += strlen(UTF8_REPLACEMENT);
        } else if (!utf8_is_control(text, n) || *text == '\n' || *text == '\t') {
            memcpy(out + len, text, n);
            len += n;
        }
        n = max_size(n, 1);
        text += n;
        left -= n;
    }
    while (len > 0 && strchr(" \t\n", out[len - 1]))
        len--;
    if (out)
        out[len] = '\0';
    return out;
}
