/* mpi_wait.h - waits until the workers of an MPIJob are ready, by watching their pods. */
#ifndef MUSTER_CLI_MPI_WAIT_H
#define MUSTER_CLI_MPI_WAIT_H

#include "client/kubeconfig.h"

struct mpi_wait {
    const struct client_config *config;
    const char *ns;
    const char *const *workers; /* names of pods */
    size_t workers_len;
    int64_t timeout_seconds;
};

/* What was learnt of workers that are ready. */
struct mpi_workers {
    bool one_machine;      /* they share a network that is only this machine's own */
    const char *container; /* to start MPI in, in the arena; NULL: the only one */
};

/* ERR_TIMEOUT names the first worker that is not ready, and why. */
int mpi_wait_for_workers(struct arena *a, const struct mpi_wait *wait, struct mpi_workers *ret,
                         struct err *err) must_check;

#endif
