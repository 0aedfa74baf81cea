/*
 * curves_answer.h - answers questions about curves from a board: as JSON, binary arrays and CSV.
 * docs/board.md describes them. Runs on pool threads, without shared state.
 */
#ifndef MUSTER_CONSOLE_CURVES_ANSWER_H
#define MUSTER_CONSOLE_CURVES_ANSWER_H

#include "base/buf.h"
#include "board/board.h"
#include "board/points.h"

#define CURVES_ANSWER_LIMIT_BYTES (64u * 1024u * 1024u)

struct curves_ask {
    const char *run, *tag; /* NULL: all */
    struct points_range range;
    int64_t step, index; /* of one image */
};

/* Appends the answer to out. Negative with err set when there is no such run or tag. */
typedef int curves_answer_fn(const struct board *b, bool more, const struct curves_ask *ask,
                             struct buf *out, struct err *err);

curves_answer_fn curves_answer_runs, curves_answer_tags, curves_answer_points, curves_answer_binary,
    curves_answer_csv, curves_answer_lines;
/* curves_media.c; one tag each. The image is the picture's bytes. */
curves_answer_fn curves_answer_histograms, curves_answer_images, curves_answer_image,
    curves_answer_texts;

/* As in JSON: null unless finite. */
void curves_write_number(struct buf *out, double value);
/* Members "step", "wall" and "value" of one series' points, without braces. */
void curves_write_points(struct buf *out, const struct point *p, size_t len);
/* Calls fn for every requested scalar tag. */
void curves_each_scalar(const struct board *b, const struct curves_ask *ask,
                        void (*fn)(void *arg, const struct run *run, const struct tag *tag),
                        void *arg);

#endif
