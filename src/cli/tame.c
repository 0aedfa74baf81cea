/* tame.c - see tame.h. */
#include "cli/tame.h"

#include <string.h>

#include "base/utf8.h"

#define ESCAPE '\033'
#define PLAIN "\033[0m"
#define REPLACEMENT "\xef\xbf\xbd"

/* U+0080 to U+009F: the 8-bit forms of ESC and a letter. */
static bool is_c1(const char *at, size_t n)
{
    return n == 2 && (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0;
}

/* U+202A to U+202E, U+2066 to U+2069: they reorder what follows. */
static bool is_bidi(const char *at, size_t n)
{
    unsigned char last = n == 3 ? (unsigned char)at[2] : 0;

    return n == 3 && ((memcmp(at, "\xe2\x80", 2) == 0 && last >= 0xaa && last <= 0xae) ||
                      (memcmp(at, "\xe2\x81", 2) == 0 && last >= 0xa6 && last <= 0xa9));
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

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
        if (n == 0 || is_c1(text + i, n) || is_bidi(text + i, n)) {
            buf_adds(out, REPLACEMENT);
            n = max_size(n, 1);
        } else if (n == 1 && is_control(text[i]) && text[i] != '\n' && text[i] != '\t') {
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

        if (is_c1(text, n) || is_bidi(text, n))
            memset(text, ' ', n);
        else if (is_control(*text))
            *text = ' ';
    }
}
