/*
 * mpi_ranks.h - how each rank of an MPI program ended, from the one who sees it. mpirun's exit code
 * does not say: with --enable-recovery Open MPI 4 exits with 0 whatever its ranks did.
 *
 * mpirun starts every rank as `muster mpi-rank PROGRAM...`, which stays the program's parent. It
 * connects to the launcher, names its rank, and says at the end how the program ended; it waits
 * until that is taken, so nothing is on its way when mpirun has ended. One that is killed itself
 * leaves a closed connection. What it needs for that is in MPI_RANKS_VARIABLE; `muster mpi-rsh`
 * takes it to the workers, by a way that does not show it to others on the machine.
 */
#ifndef MUSTER_CLI_MPI_RANKS_H
#define MUSTER_CLI_MPI_RANKS_H

#include "base/err.h"

#define MPI_RANK_COMMAND "mpi-rank"
/* "ADDRESS PORT KEY"; in a worker, its name behind them. */
#define MPI_RANKS_VARIABLE "MUSTER_MPI_RANKS"

struct mpi_end {
    int rank; /* -1: not known */
    int code; /* 128 + signal, as shells count */
    const char *host;
};

struct mpi_ranks;

/* Listens on the loopback, or for workers elsewhere on this host's address, and sets
 * MPI_RANKS_VARIABLE. NULL with err set. */
struct mpi_ranks *mpi_ranks_new(bool one_machine, struct err *err) must_check;
void mpi_ranks_free(struct mpi_ranks *r);    /* NULL-safe */
int mpi_ranks_fd(const struct mpi_ranks *r); /* when it can be read, mpi_ranks_serve() is due */
void mpi_ranks_serve(struct mpi_ranks *r);   /* does not wait */
/* Whether all that began have ended and one of them failed: mpirun, told to recover, may then wait
 * for ever for what does not come. */
bool mpi_ranks_are_lost(const struct mpi_ranks *r);
/* mpirun has ended: the first rank that failed, by when it was told; false: none has. */
bool mpi_ranks_failure(struct mpi_ranks *r, struct mpi_end *ret);

/* argv[0] is the program. */
int mpi_rank_main(int argc, char **argv);

#endif
