/* columns.c - see columns.h. */
#include "cli/columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/tame.h"

#define CELLS_LIMIT_BYTES (64u * 1024u * 1024u)
#define CELL_TEXT_SIZE 1024
#define GAP 3

/* East Asian wide and fullwidth ranges, after those of zero-width combining marks. */
static const struct {
    uint32_t first, last;
    unsigned width;
} char_widths[] = {
    {0x300, 0x36f, 0},   {0x200b, 0x200f, 0},   {0x1100, 0x115f, 2},   {0x2e80, 0x303e, 2},
    {0x3041, 0x33ff, 2}, {0x3400, 0x4dbf, 2},   {0x4e00, 0x9fff, 2},   {0xa000, 0xa4cf, 2},
    {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
    {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

/* Decodes one character; bytes that are not UTF-8 count one each. */
static size_t next_char(const char *text, size_t left, unsigned *ret_width)
{
    size_t n = utf8_sequence(text, left);
    const unsigned char *u = (const unsigned char *)text;
    uint32_t c;

    *ret_width = 1;
    if (n < 2)
        return 1;
    c = n == 2 ? u[0] & 0x1fu : n == 3 ? u[0] & 0x0fu : u[0] & 0x07u;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (u[i] & 0x3fu);
    for (size_t i = 0; i < ELEMS(char_widths); i++)
        if (c >= char_widths[i].first && c <= char_widths[i].last)
            *ret_width = char_widths[i].width;
    return n;
}

/* Columns a text takes on a terminal. */
static size_t width_of(const char *text)
{
    size_t len = strlen(text), width = 0;

    for (size_t i = 0; i < len;) {
        unsigned w;

        i += next_char(text + i, len - i, &w);
        width += w;
    }
    return width;
}

void columns_init(struct columns *c, const char *const *header, size_t per_row)
{
    *c = (struct columns){.cells = BUF_INIT(CELLS_LIMIT_BYTES),
                          .per_row = min_size(per_row, COLUMNS_LIMIT)};
    for (size_t i = 0; i < c->per_row; i++)
        columns_add(c, header[i]);
}

void columns_release(struct columns *c)
{
    buf_release(&c->cells);
}

void columns_add(struct columns *c, const char *cell)
{
    size_t column = c->at++ % c->per_row, start = c->cells.len;

    buf_adds(&c->cells, cell);
    buf_addc(&c->cells, '\0');
    if (c->cells.failed)
        return;
    tame_blank(c->cells.data + start);
    c->widths[column] = max_size(c->widths[column], width_of(c->cells.data + start));
}

void columns_addf(struct columns *c, const char *fmt, ...)
{
    char text[CELL_TEXT_SIZE];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    columns_add(c, text);
}

size_t columns_fit(const char *text, size_t width)
{
    size_t len = strlen(text), at = 0, used = 0;

    while (at < len) {
        unsigned w;
        size_t n = next_char(text + at, len - at, &w);

        if (used + w > width)
            break;
        used += w;
        at += n;
    }
    return at;
}

void columns_wrap(struct buf *out, const char *text, size_t indent, size_t width)
{
    while (*text) {
        size_t most = columns_fit(text, width > indent + 20 ? width - indent : 20), len = most;

        if (text[most])
            while (len > 0 && text[len] != ' ')
                len--;
        len = len ? len : most;
        buf_addf(out, "%*s%.*s\n", (int)indent, "", (int)len, text);
        for (text += len; *text == ' ';)
            text++;
    }
}

/* How many columns fit: all but the last completely, and part of the last. */
static size_t columns_shown(const struct columns *c, size_t width)
{
    size_t used = 0, shown = 0;

    if (width == 0)
        return c->per_row;
    while (shown < c->per_row) {
        size_t needed = shown + 1 == c->per_row ? min_size(c->widths[shown], 10) : c->widths[shown];

        if (used + needed > width && shown > 0)
            break;
        used += needed + GAP;
        shown++;
    }
    return shown;
}

size_t columns_lost(const struct columns *c, size_t width)
{
    size_t needed = 0;

    for (size_t i = 0; i < c->per_row; i++)
        needed += c->widths[i] + (i ? GAP : 0);
    return width && needed > width ? needed - width : 0;
}

static void write_cut(struct buf *out, const char *cell, size_t room)
{
    if (width_of(cell) <= room) {
        buf_adds(out, cell);
        return;
    }
    buf_add(out, cell, room ? columns_fit(cell, room - 1) : 0);
    buf_adds(out, "…");
}

static const char *write_row(const struct columns *c, const char *cell, size_t shown, size_t width,
                             struct buf *out)
{
    size_t used = 0;

    for (size_t i = 0; i < c->per_row; i++, cell += strlen(cell) + 1) {
        if (i >= shown)
            continue;
        if (i + 1 == shown) { /* last on its line: no padding */
            write_cut(out, cell, width ? width - min_size(used, width - 1) : SIZE_MAX);
            continue;
        }
        buf_addf(out, "%s%*s", cell, (int)(c->widths[i] - width_of(cell) + GAP), "");
        used += c->widths[i] + GAP;
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_addc(out, '\n');
    return cell;
}

void columns_write(const struct columns *c, size_t width, struct buf *out)
{
    size_t shown = columns_shown(c, width);
    const char *cell = c->cells.data;

    if (c->cells.failed) {
        out->failed = true;
        return;
    }
    for (size_t row = 0; row < c->at / c->per_row; row++)
        cell = write_row(c, cell, shown, width, out);
}
