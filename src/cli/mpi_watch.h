/* mpi_watch.h - runs mpirun and, if it fails, prints one last line saying why: mpirun itself prints
 * a box of several lines, which is hard to find in a job's log. */
#ifndef MUSTER_CLI_MPI_WATCH_H
#define MUSTER_CLI_MPI_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/mpi_ranks.h"
#include "runtime/last_words.h"

#define MPI_LINE_SIZE 1024
#define MPI_BOX_LIMIT_BYTES 4096u

/* What is kept of mpirun's stderr as it passes through. */
struct mpi_words {
    char line[MPI_LINE_SIZE]; /* the current one */
    size_t line_len;
    struct last_words ranks; /* from outside the boxes, where many ranks write at once */
    bool in_box;
    struct buf box, last_box;
};

void mpi_words_init(struct mpi_words *w);
void mpi_words_release(struct mpi_words *w);
void mpi_words_feed(struct mpi_words *w, const char *data, size_t len);
/* Why it failed, in one line, in the arena; NULL when unknown. failed: the first failed rank, or
 * NULL. *code is mpirun's exit code: 0 becomes that rank's, and one that only looks like a signal's
 * becomes 127 or 1. */
const char *mpi_words_cause(const struct mpi_words *w, struct arena *a,
                            const struct mpi_end *failed, int *code);

/* Until mpirun has ended; returns its exit code, or that of a rank it ignored. Signals are passed
 * on to it; it does not outlive us. Negative errno with err set when it could not be started. */
int mpi_watch_run(const char *path, const char *const *argv, struct mpi_ranks *ranks,
                  struct arena *a, const char **ret_cause, struct err *err) must_check;

#endif
