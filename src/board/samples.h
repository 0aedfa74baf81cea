/*
 * samples.h - where the histograms, images or texts of one tag stand in the event files. Only that
 * is kept of them, so that their size costs no memory: they are read again on request.
 */
#ifndef MUSTER_BOARD_SAMPLES_H
#define MUSTER_BOARD_SAMPLES_H

#include "base/base.h"

#define SAMPLES_CAPACITY 32u

struct sample {
    int64_t step;
    double wall_time; /* seconds since 1970 */
    const char *file; /* its name, the board's */
    uint64_t offset;  /* of the record */
};

struct samples {
    struct sample *at; /* by step */
    uint32_t len, room;
    uint32_t stride; /* SAMPLES_SPREAD: one of so many is kept; 0: every one */
    uint32_t since;  /* read after the last one that is kept */
};

enum samples_kept {
    SAMPLES_LAST,   /* the newest */
    SAMPLES_SPREAD, /* some of the whole training, and the newest */
};

void samples_release(struct samples *s);
/* A step lower than the last one's supersedes, as in series.h. Out of memory leaves it out. */
void samples_add(struct samples *s, const struct sample *new, enum samples_kept kept);
/* Drops those of this step and of later ones. */
void samples_purge(struct samples *s, int64_t step);

#endif
