/* tame.c - see tame.h. */
#include "cli/tame.h"

#include <string.h>

#include "base/utf8.h"

#define ESCAPE '\033'
#define PLAIN "\033[0m"

/* Bytes of the colour sequence here; 0: none. */
static size_t color_sequence(const char *at, size_t left)
{
    size_t n = 2;

    if (left < 3 || at[0] != ESCAPE || at[1] != '[')
        return 0;
    while (n < left && ((at[n] >= '0' && at[n] <= '9') || at[n] == ';' || at[n] == ':'))
        n++;
    return n < left && at[n] == 'm' ? n + 1 : 0;
}

void tame_text(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n) {
        n = color_sequence(text + i, len - i);
        n = n ? n : utf8_sequence(text + i, len - i);
        if (n == 0 || (n > 1 && utf8_is_control(text + i, n))) {
            buf_adds(out, UTF8_REPLACEMENT);
            n = max_size(n, 1);
        } else if (text[i] != '\n' && text[i] != '\t' && utf8_is_control(text + i, n)) {
            buf_addc(out, '^');
            buf_addc(out, (char)(text[i] ^ 0x40));
        } else {
            buf_add(out, text + i, n);
        }
    }
}

void tame_line(struct buf *out, const char *line, size_t len)
{
    const char *back;
    size_t start = out->len;

    while (len > 0 && line[len - 1] == '\r')
        len--;
    back = len > 0 ? memrchr(line, '\r', len) : NULL;
    if (back) {
        len -= (size_t)(back + 1 - line);
        line = back + 1;
    }
    tame_text(out, line, len);
    if (!out->failed && out->len > start && memchr(out->data + start, ESCAPE, out->len - start))
        buf_adds(out, PLAIN);
}

void tame_blank(char *text)
{
    for (size_t left = strlen(text); left > 0; text++, left--) {
        size_t n = utf8_sequence(text, left);

        if (utf8_is_control(text, n))
            memset(text, ' ', n);
    }
}
