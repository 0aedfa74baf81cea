/* logcursor.c - see logcursor.h. */
#include "cli/logcursor.h"

#include <string.h>

void logcursor_init(struct logcursor *c)
{
    *c = (struct logcursor){.partial = BUF_INIT(LOG_LINE_LIMIT_BYTES)};
}

void logcursor_release(struct logcursor *c)
{
    buf_release(&c->partial);
}

void logcursor_reopen(struct logcursor *c)
{
    buf_clear(&c->partial);
    c->resumed = c->stamp[0] != '\0';
    c->skip = c->at_stamp;
}

/* Compares two UTC stamps whose fractions may differ in length: "...05Z" < "...05.1Z" <
 * "...05.12Z". */
static int compare_stamps(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (*a == 'Z' ? 0 : *a) - (*b == 'Z' ? 0 : *b);
}

static bool passed_on_before(struct logcursor *c, const char *stamp)
{
    int order;

    if (!c->resumed)
        return false;
    order = compare_stamps(stamp, c->stamp);
    if (order < 0)
        return true;
    if (order == 0 && c->skip > 0) {
        c->skip--;
        return true;
    }
    c->resumed = false;
    return false;
}

static void take_line(struct logcursor *c, const char *line, size_t len, logcursor_fn *fn,
                      void *arg)
{
    const char *blank = memchr(line, ' ', min_size(len, TIME_TEXT_SIZE));
    char stamp[TIME_TEXT_SIZE] = "";
    size_t stamp_len = blank ? (size_t)(blank - line) : 0;

    if (!blank || stamp_len >= sizeof(stamp)) { /* no stamp: passed on as it is */
        fn(arg, "", line, len);
        return;
    }
    memcpy(stamp, line, stamp_len);
    if (passed_on_before(c, stamp))
        return;
    if (strcmp(stamp, c->stamp) == 0) {
        c->at_stamp++;
    } else {
        memcpy(c->stamp, stamp, sizeof(stamp));
        c->at_stamp = 1;
    }
    fn(arg, stamp, blank + 1, len - stamp_len - 1);
}

void logcursor_feed(struct logcursor *c, const char *data, size_t len, logcursor_fn *fn, void *arg)
{
    while (len) {
        const char *newline = memchr(data, '\n', len);
        size_t piece = newline ? (size_t)(newline - data) : len;

        if (!newline || c->partial.len)
            buf_add(&c->partial, data, piece);
        if (!newline)
            return;
        if (!c->partial.len)
            take_line(c, data, piece, fn, arg);
        else if (!c->partial.failed)
            take_line(c, c->partial.data, c->partial.len, fn, arg);
        buf_clear(&c->partial);
        data += piece + 1;
        len -= piece + 1;
    }
}

void logcursor_finish(struct logcursor *c, logcursor_fn *fn, void *arg)
{
    if (c->partial.len && !c->partial.failed)
        take_line(c, c->partial.data, c->partial.len, fn, arg);
    buf_clear(&c->partial);
}
