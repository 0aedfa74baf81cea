/*
 * loss_tag.h - which tag is "the loss", and what a board says about a run's progress. Pure.
 *
 * A tag is the loss by its name, in this order, upper case or not:
 *   1. loss, train_loss, train/loss, training_loss, training/loss, loss/train
 *   2. one whose last part (after '/', '.' or ':') is loss, or starts or ends with it
 *      (loss_step, total_loss)
 *   3. one that contains the word loss anywhere
 * Tags that name other data (val, valid, validation, eval, test, dev) never count. Of several, the
 * one written last, then the shorter name, then the first in the alphabet.
 */
#ifndef MUSTER_CONSOLE_LOSS_TAG_H
#define MUSTER_CONSOLE_LOSS_TAG_H

#include "board/board.h"

/* 0: not the loss; otherwise lower is better. */
int loss_tag_rank(const char *tag);

struct board_progress {
    bool has_step, has_loss, has_rate;
    int64_t step;
    double loss;             /* finite or not */
    double steps_per_second; /* over the last minute of points */
    double wall_time;        /* of the last point */
};

void board_progress_of(const struct board *b, struct board_progress *ret);

#endif
