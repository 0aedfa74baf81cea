/*
 * progress_status.h - from what is known of a job's progress to its status.progress. Pure.
 *
 * Time left is measured, not guessed: the fraction must have moved while we looked.
 */
#ifndef MUSTER_CONSOLE_PROGRESS_STATUS_H
#define MUSTER_CONSOLE_PROGRESS_STATUS_H

#include "base/json.h"
#include "console/log_progress.h"
#include "console/loss_tag.h"

/* Where the fraction was when we first saw it move, and when it last did. When it reached the value
 * it had at our first look is not known: a program that says only its epochs may have been there
 * long. */
struct progress_pace {
    bool any;
    unsigned moves;
    int64_t first_ms, moved_ms;
    double first, last;
};

void progress_pace_note(struct progress_pace *pace, double fraction, int64_t now_ms);
/* Seconds; false when it has not moved enough to tell. */
bool progress_pace_left(const struct progress_pace *pace, int64_t now_ms, double *ret);

struct progress_facts {
    const struct log_progress *log;
    const struct board_progress *board;
    struct progress_pace *pace;
    int64_t now_ms;
    bool ended, succeeded;
};

/* Every member of status.progress but time; those that cannot be told are null, so that a merge
 * patch removes them. NULL when nothing can be told. */
struct json *progress_status(struct arena *a, const struct progress_facts *facts);

#endif
