/* plot.c - see plot.h. */
#include "cli/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUTTER 10u /* for the numbers on the left */

struct range {
    double from, to;
};

struct canvas {
    unsigned columns, rows;
    unsigned char dots[PLOT_HEIGHT_LIMIT][PLOT_WIDTH_LIMIT];
    unsigned char owner[PLOT_HEIGHT_LIMIT][PLOT_WIDTH_LIMIT]; /* line + 1 */
    struct range x, y;
};

/* Untrusted text without cursor movements. */
static void add_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_addc(out, (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
}

/* --- dots ------------------------------------------------------------------------------- */

static void set_dot(struct canvas *c, long x, long y, size_t line)
{
    /* bits of U+2800 by column and row */
    static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    unsigned char *cell;

    if (x < 0 || y < 0 || x >= (long)c->columns * 2 || y >= (long)c->rows * 4)
        return;
    cell = &c->dots[y / 4][x / 2];
    *cell = (unsigned char)(*cell | bits[x % 2][y % 4]);
    c->owner[y / 4][x / 2] = (unsigned char)(line + 1);
}

static long dot_x(const struct canvas *c, double x)
{
    return lround((x - c->x.from) / (c->x.to - c->x.from) * (c->columns * 2 - 1));
}

static long dot_y(const struct canvas *c, double y)
{
    return lround((c->y.to - y) / (c->y.to - c->y.from) * (c->rows * 4 - 1));
}

/* As many dots as the longer side has. */
static void stroke(struct canvas *c, long x0, long y0, long x1, long y1, size_t line)
{
    long steps = labs(x1 - x0) > labs(y1 - y0) ? labs(x1 - x0) : labs(y1 - y0);

    for (long i = 0; i <= steps; i++)
        set_dot(c, x0 + (steps ? lround((double)(x1 - x0) * (double)i / (double)steps) : 0),
                y0 + (steps ? lround((double)(y1 - y0) * (double)i / (double)steps) : 0), line);
}

static void draw_line(struct canvas *c, const struct plot_line *l, size_t number)
{
    bool pen = false;
    long x0 = 0, y0 = 0;

    for (size_t i = 0; i < l->len; i++) {
        long x, y;

        if (!isfinite(l->y[i])) {
            pen = false;
            continue;
        }
        x = dot_x(c, l->x[i]);
        y = dot_y(c, l->y[i]);
        stroke(c, pen ? x0 : x, pen ? y0 : y, x, y, number);
        pen = true;
        x0 = x;
        y0 = y;
    }
}

/* --- axes ------------------------------------------------------------------------------- */

static void widen(struct range *r, double v)
{
    if (!isfinite(v))
        return;
    r->from = v < r->from ? v : r->from;
    r->to = v > r->to ? v : r->to;
}

/* Centers a flat curve. */
static void settle(struct range *r)
{
    if (r->from > r->to)
        *r = (struct range){0, 1};
    if (r->from == r->to) {
        double half = r->from == 0 ? 0.5 : fabs(r->from) / 2;

        r->from -= half;
        r->to += half;
    }
}

static bool find_ranges(struct canvas *c, const struct plot *p)
{
    bool any = false;

    c->x = c->y = (struct range){INFINITY, -INFINITY};
    for (size_t i = 0; i < p->lines_len; i++)
        for (size_t k = 0; k < p->lines[i].len; k++) {
            widen(&c->x, p->lines[i].x[k]);
            widen(&c->y, p->lines[i].y[k]);
            any = any || isfinite(p->lines[i].y[k]);
        }
    settle(&c->x);
    settle(&c->y);
    return any;
}

static void write_cell(struct buf *out, unsigned char dots)
{
    const char braille[3] = {(char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f))};

    if (dots)
        buf_add(out, braille, sizeof(braille));
    else
        buf_addc(out, ' ');
}

static void write_row(struct buf *out, const struct canvas *c, const struct plot *p, unsigned row)
{
    unsigned char owner = 0;
    unsigned end = c->columns;

    if (row == 0 || row == c->rows - 1)
        buf_addf(out, "%*.4g ", (int)GUTTER - 1, row == 0 ? c->y.to : c->y.from);
    else
        buf_addf(out, "%*s", (int)GUTTER, "");
    buf_adds(out, "│");
    while (end && !c->dots[row][end - 1])
        end--; /* no trailing blanks */
    for (unsigned i = 0; i < end; i++) {
        if (c->dots[row][i] && c->owner[row][i] != owner) {
            owner = c->owner[row][i];
            buf_adds(out, p->lines[owner - 1].color);
        }
        write_cell(out, c->dots[row][i]);
    }
    if (owner)
        buf_adds(out, p->plain);
    buf_addc(out, '\n');
}

static void write_x_axis(struct buf *out, const struct canvas *c)
{
    char from[32], to[32];
    int room;

    buf_addf(out, "%*s└", (int)GUTTER, "");
    for (unsigned i = 0; i < c->columns; i++)
        buf_adds(out, "─");
    (void)snprintf(from, sizeof(from), "%.9g", c->x.from);
    (void)snprintf(to, sizeof(to), "%.9g", c->x.to);
    room = (int)c->columns - (int)strlen(from);
    buf_addf(out, "\n%*s%s%*s\n", (int)GUTTER + 1, "", from, room > 0 ? room : 0, to);
}

static void write_legend(struct buf *out, const struct plot *p)
{
    for (size_t i = 0; i < p->lines_len; i++) {
        const struct plot_line *l = &p->lines[i];
        size_t last = l->len;

        while (last && !isfinite(l->y[last - 1]))
            last--;
        buf_addf(out, "%*s%s%s ", (int)GUTTER + 1, "", l->color, p->lines_len > 1 ? "──" : "");
        add_text(out, l->name);
        buf_adds(out, p->plain);
        if (last)
            buf_addf(out, "  %.6g at step %.9g", l->y[last - 1], l->x[last - 1]);
        if (last < l->len)
            buf_addf(out, ", then not a number");
        buf_addc(out, '\n');
    }
}

void plot_draw(struct buf *out, const struct plot *p)
{
    struct canvas *c = calloc(1, sizeof(*c));
    unsigned width = p->width < PLOT_WIDTH_MIN ? PLOT_WIDTH_MIN : p->width;

    if (!c) {
        out->failed = true;
        return;
    }
    c->columns = (width < PLOT_WIDTH_LIMIT ? width : PLOT_WIDTH_LIMIT) - GUTTER - 1;
    c->rows = p->height < 2 ? 2 : p->height < PLOT_HEIGHT_LIMIT ? p->height : PLOT_HEIGHT_LIMIT;
    add_text(out, p->title);
    buf_addc(out, '\n');
    if (find_ranges(c, p)) {
        for (size_t i = 0; i < p->lines_len; i++)
            draw_line(c, &p->lines[i], i % 255);
        for (unsigned row = 0; row < c->rows; row++)
            write_row(out, c, p, row);
        write_x_axis(out, c);
    }
    write_legend(out, p);
    free(c);
}
