/*
 * samples.h - locations of a tag's histograms, images or texts in the event files. Only the
 * location is stored, so that their size costs no memory: they are read again on request.
 */
#ifndef MUSTER_BOARD_SAMPLES_H
#define MUSTER_BOARD_SAMPLES_H

#include "base/base.h"

#define SAMPLES_CAPACITY 32u

struct sample {
    int64_t step;
    double wall_time; /* seconds since 1970 */
    const char *file; /* its name, owned by the board */
    uint64_t offset;  /* of the record */
};

struct samples {
    struct sample *at; /* by step */
    uint32_t len, room;
    uint32_t stride; /* SAMPLES_SPREAD: one in this many is kept; 0: all */
    uint32_t since;  /* read since the last one kept */
};

enum samples_kept {
    SAMPLES_LAST,   /* the newest */
    SAMPLES_SPREAD, /* some of the whole training, and the newest */
};

void samples_release(struct samples *s);
/* A step lower than the last one supersedes, as in series.h. When out of memory it is skipped. */
void samples_add(struct samples *s, const struct sample *new, enum samples_kept kept);
/* Drops those of this step and later ones. */
void samples_purge(struct samples *s, int64_t step);

#endif
