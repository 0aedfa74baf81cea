/*
 * mpi_ranks.h - how each rank of an MPI program ended, from its own parent. mpirun's exit code does
 * not say: with --enable-recovery Open MPI 4 exits with 0 whatever its ranks did.
 *
 * mpirun starts every rank as `muster mpi-rank PROGRAM...`, which stays the program's parent. It
 * connects to the launcher, names its rank, and reports how the program ended; it waits for the
 * acknowledgement, so nothing is in flight when mpirun has ended. If it is killed itself, its
 * connection closes. What it needs for that is in MPI_RANKS_VARIABLE, which `muster mpi-rsh` passes
 * to the workers without showing it to others on the machine.
 */
#ifndef MUSTER_CLI_MPI_RANKS_H
#define MUSTER_CLI_MPI_RANKS_H

#include "base/err.h"

#define MPI_RANK_COMMAND "mpi-rank"
/* "ADDRESS PORT KEY"; in a worker, followed by its name. */
#define MPI_RANKS_VARIABLE "MUSTER_MPI_RANKS"

struct mpi_end {
    int rank; /* -1: unknown */
    int code; /* 128 + signal, as in shells */
    const char *host;
    const char *why; /* of a SIGKILL: what is known of the memory there; "": nothing */
};

struct mpi_ranks;

/* Listens on the loopback, or for remote workers on this host's address, and sets
 * MPI_RANKS_VARIABLE. NULL with err set. */
struct mpi_ranks *mpi_ranks_new(bool one_machine, struct err *err) must_check;
void mpi_ranks_free(struct mpi_ranks *r);    /* NULL-safe */
int mpi_ranks_fd(const struct mpi_ranks *r); /* when readable, mpi_ranks_serve() is due */
void mpi_ranks_serve(struct mpi_ranks *r);   /* does not block */
/* Whether all started ranks have ended and one of them failed: an mpirun in recovery mode may then
 * wait forever. */
bool mpi_ranks_are_lost(const struct mpi_ranks *r);
/* After mpirun has ended: the first rank that failed; false: none. */
bool mpi_ranks_failure(struct mpi_ranks *r, struct mpi_end *ret);

/* argv[0] is the program. */
int mpi_rank_main(int argc, char **argv);

#endif
