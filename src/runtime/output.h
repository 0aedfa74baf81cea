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
/* A new run begins; called again for the same run it changes nothing. */
void output_begin_run(struct output *o, uint32_t run);
/* Moves what a pipe has, at most a block. false when there was nothing. */
bool output_move(struct output *o, enum cri_stream s);
/* The program and all it left behind are gone: everything is read, unfinished lines are ended. */
void output_end(struct output *o);
const struct group_log *output_log(const struct output *o);
/* Finishes what a worker that was killed had in hand. all: one per container. */
void output_recover(struct group *g, struct output *all);

#endif
