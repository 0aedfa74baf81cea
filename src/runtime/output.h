/*
 * output.h - from a container's pipes to its log, each byte exactly once, whichever process is
 * killed when.
 */
#ifndef MUSTER_RUNTIME_OUTPUT_H
#define MUSTER_RUNTIME_OUTPUT_H

#include "runtime/group.h"

/* The log of one container and run, as this process writes it. */
struct output {
    struct group *group;
    uint32_t container;
    struct cri_writer writer;
};

void output_init(struct output *o, struct group *g, size_t container);
void output_release(struct output *o);
/* Starts a new run; idempotent for the same run. */
void output_begin_run(struct output *o, uint32_t run);
/* Moves what a pipe has, at most a block. False when there was nothing. */
bool output_move(struct output *o, enum cri_stream s);
/* The program and all its leftovers are gone: reads everything, ends unfinished lines. */
void output_end(struct output *o);
const struct group_log *output_log(const struct output *o);
/* Completes what a killed worker was doing. all: one per container. */
void output_recover(struct group *g, struct output *all);

#endif
