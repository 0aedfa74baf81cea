/*
 * log_progress.h - a program's progress according to its output: tqdm bars ("45%|###  | 450/1000
 * [00:10<00:12, ...]"), "Epoch 3/10", "step 100/1000", "loss 0.31". Pure. It only reports what was
 * printed: without a total there is no fraction.
 */
#ifndef MUSTER_CONSOLE_LOG_PROGRESS_H
#define MUSTER_CONSOLE_LOG_PROGRESS_H

#include "base/base.h"

struct log_progress {
    int64_t epoch, epochs; /* "Epoch 3/10"; epochs 0: unknown */
    bool epochs_from_zero; /* an epoch 0 was seen: 3/10 means that three are done */
    bool epoch_done;       /* this epoch was reported as done */
    bool epoch_alone;      /* "Epoch 3:" without a total: bars are parts of an unknown whole */
    int64_t step, steps;   /* of a bar or "step 100/1000"; steps 0: no total */
    bool has_step, has_loss;
    bool steps_are_part; /* the bar started over: it is not the whole */
    bool compares;       /* a step of this text was read: the next one comes after it in the log */
    double loss;
};

/* Updates from the end of a log, oldest line first. The same lines may be given again. */
void log_progress_take(struct log_progress *p, const char *text, size_t len);
/* Between 0 and 1; false when unknown. */
bool log_progress_fraction(const struct log_progress *p, double *ret);
/* "epoch 3/10, 450/1000", or "" */
void log_progress_words(const struct log_progress *p, char *out, size_t size);

#endif
