/* columns.h - a text table: aligned, with CJK counted as two columns. Pure; the terminal's width is
 * passed in. */
#ifndef MUSTER_CLI_COLUMNS_H
#define MUSTER_CLI_COLUMNS_H

#include "base/buf.h"

#define COLUMNS_LIMIT 16

struct columns {
    struct buf cells;   /* all cells, NUL-terminated, row by row; the header is row 0 */
    size_t per_row, at; /* columns, cells so far */
    size_t widths[COLUMNS_LIMIT];
};

void columns_init(struct columns *c, const char *const *header, size_t per_row);
void columns_release(struct columns *c);
void columns_add(struct columns *c, const char *cell); /* control characters become blanks */
void columns_addf(struct columns *c, const char *fmt, ...) printf_like(2, 3);
/* width 0: unlimited. Otherwise the last column is cut, and columns that do not fit are omitted. */
void columns_write(const struct columns *c, size_t width, struct buf *out);
/* How many terminal columns the table lacks at this width. */
size_t columns_lost(const struct columns *c, size_t width);
/* Wraps text between words, each line indented; width includes the indentation. */
void columns_wrap(struct buf *out, const char *text, size_t indent, size_t width);
/* The number of bytes of text that fit into width columns. */
size_t columns_fit(const char *text, size_t width);

#endif
