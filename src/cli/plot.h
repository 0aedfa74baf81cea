/* plot.h - curves as text: braille dots, two by four per character, with numbers at the axes.
 * Pure. */
#ifndef MUSTER_CLI_PLOT_H
#define MUSTER_CLI_PLOT_H

#include "base/buf.h"

#define PLOT_WIDTH_MIN 30u
#define PLOT_WIDTH_LIMIT 400u
#define PLOT_HEIGHT_LIMIT 60u

struct plot_line {
    const char *name;  /* for the legend; control characters become blanks */
    const char *color; /* an escape sequence, "" for none */
    const double *x, *y;
    size_t len; /* non-finite y is a gap */
};

struct plot {
    const char *title;
    const struct plot_line *lines;
    size_t lines_len;
    unsigned width, height; /* in characters, without title and legend */
    const char *plain;      /* ends a colour; "" without colours */
};

void plot_draw(struct buf *out, const struct plot *p);

#endif
