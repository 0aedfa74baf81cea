/*
 * progress_status.h - computes status.progress from what is known. Pure.
 *
 * Time left is measured, not guessed: the fraction must have moved while we watched.
 */
#ifndef MUSTER_CONSOLE_PROGRESS_STATUS_H
#define MUSTER_CONSOLE_PROGRESS_STATUS_H

#include "base/json.h"
#include "console/log_progress.h"
#include "console/loss_tag.h"

/* The fraction when we first saw it move, and when it last did. When it reached its value at our
 * first look is unknown: a program that only prints epochs may have been there for long. */
struct progress_pace {
    bool any;
    unsigned moves;
    int64_t first_ms, moved_ms;
    double first, last;
};

void progress_pace_note(struct progress_pace *pace, double fraction, int64_t now_ms);
/* In seconds; false when it has not moved enough to tell. */
bool progress_pace_left(const struct progress_pace *pace, int64_t now_ms, double *ret);

struct progress_facts {
    const struct log_progress *log;
    const struct board_progress *board;
    struct progress_pace *pace;
    int64_t now_ms;
    bool ended, succeeded;
};

/* Every member of status.progress but time; unknown ones are null, so that a merge patch removes
 * them. NULL when nothing is known. */
struct json *progress_status(struct arena *a, const struct progress_facts *facts);

#endif
