/*
 * last_words.c - see last_words.h.
 *
 * The last line alone is often the wrong one: torch writes a stack of C++ frames or advice after
 * the exception, and torchrun a box about it. So the exception of the last traceback is kept, and
 * what came after it only follows it. A traceback long ago was somebody's log of something
 * survived.
 */
#include "runtime/last_words.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

#define TRACEBACK "Traceback (most recent call last):"
#define TORCHRUN_REPORT "ChildFailedError"
#define LINES_AFTER_LIMIT 100 /* lines after which an exception is history */
#define REPLACEMENT "\xef\xbf\xbd"

/* --- cleaning --- */

/* Length of a terminal's control sequence (ESC [ ... letter), else 0. */
static size_t escape_sequence(const char *text, size_t left)
{
    size_t n = 2;

    if (left < 2 || text[0] != '\x1b' || text[1] != '[')
        return 0;
    while (n < left && text[n] >= 0x20 && text[n] < 0x40)
        n++;
    return n < left ? n + 1 : n;
}

static bool is_control(const char *text, size_t len)
{
    unsigned char c = (unsigned char)text[0];

    return len == 1 ? c < 0x20 || c == 0x7f : c == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* Appends what fits whole. */
static void put(char *out, size_t *len, const char *text, size_t n)
{
    if (*len + n >= LAST_WORDS_LINE_BYTES)
        return;
    memcpy(out + *len, text, n);
    *len += n;
}

static void put_character(char *out, size_t *len, const char *text, size_t n)
{
    if (n == 0)
        put(out, len, REPLACEMENT, strlen(REPLACEMENT));
    else if (*text == '\t')
        put(out, len, " ", 1);
    else if (!is_control(text, n))
        put(out, len, text, n);
}

static void clean(const char *text, size_t left, char out[LAST_WORDS_LINE_BYTES])
{
    size_t len = 0;

    while (left > 0) {
        size_t n = escape_sequence(text, left);

        if (n == 0) {
            n = utf8_sequence(text, left);
            /* a character cut off by our own limit is no fault of the program's */
            if (n > 0 || left >= 4)
                put_character(out, &len, text, n);
            n = n ? n : 1;
        }
        text += n;
        left -= n;
    }
    while (len > 0 && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
}

/* --- lines --- */

static bool says_something(const char *line)
{
    for (; *line; line++)
        if (isalnum((unsigned char)*line) || (unsigned char)*line >= 0x80)
            return true;
    return false;
}

/* torch marks lines with the rank: "[rank0]: RuntimeError: ..." */
static const char *without_rank(const char *line)
{
    const char *end = strncmp(line, "[rank", 5) == 0 ? strstr(line, "]: ") : NULL;

    return end ? end + 3 : line;
}

static void copy(char to[LAST_WORDS_LINE_BYTES], const char *line)
{
    memcpy(to, line, strlen(line) + 1);
}

static void take_exception(struct last_words *w, const char *line)
{
    w->in_traceback = false;
    w->by_torchrun = strstr(line, TORCHRUN_REPORT) != NULL;
    w->last[0] = '\0';
    w->lines_since = 0;
    if (!w->by_torchrun || !w->exception[0])
        copy(w->exception, line);
}

static void take_line(struct last_words *w)
{
    char cleaned[LAST_WORDS_LINE_BYTES];
    const char *line;

    clean(w->raw, w->raw_len, cleaned);
    w->raw_len = 0;
    line = without_rank(cleaned);
    if (!says_something(line))
        return;
    if (strstr(line, TRACEBACK)) {
        w->in_traceback = true;
        return;
    }
    if (w->in_traceback) {
        if (*line != ' ')
            take_exception(w, line);
        return;
    }
    if (++w->lines_since > LINES_AFTER_LIMIT)
        w->exception[0] = '\0';
    if (strncmp(line, "frame #", 7) != 0)
        copy(w->last, line + strspn(line, " "));
}

void last_words_feed(struct last_words *w, const char *data, size_t len)
{
    while (len > 0) {
        size_t n = 0;

        /* progress bars end their lines with a carriage return only */
        while (n < len && data[n] != '\n' && data[n] != '\r')
            n++;
        memcpy(w->raw + w->raw_len, data, min_size(n, sizeof(w->raw) - w->raw_len));
        w->raw_len += min_size(n, sizeof(w->raw) - w->raw_len);
        if (n == len)
            return;
        take_line(w);
        data += n + 1;
        len -= n + 1;
    }
}

const char *last_words_text(struct last_words *w, struct arena *a)
{
    const char *text;

    take_line(w);
    if (!w->exception[0])
        text = arena_strdup(a, w->last);
    else if (w->by_torchrun || !w->last[0])
        text = arena_strdup(a, w->exception);
    else
        text = arena_printf(a, "%s ... %s", w->exception, w->last);
    return text ? text : "";
}
