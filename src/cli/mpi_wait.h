/* mpi_wait.h - waits until the workers of an MPIJob are ready, by watching their pods. */
#ifndef MUSTER_CLI_MPI_WAIT_H
#define MUSTER_CLI_MPI_WAIT_H

#include "cli/talk.h"
#include "client/kubeconfig.h"

/* A new role may not be effective yet; after this it will not be. */
#define MPI_FORBIDDEN_SECONDS 10

struct mpi_wait {
    const struct client_config *config;
    const char *ns;
    const char *const *workers; /* pod names */
    size_t workers_len;
    int64_t timeout_seconds;
    bool by_ssh;       /* permission for pods/exec is not needed */
    struct talk *talk; /* each obstacle is reported immediately, once */
};

/* What was learned about the ready workers. */
struct mpi_workers {
    bool one_machine;       /* they share this machine's own network */
    const char *container;  /* to start MPI in, in the arena; NULL: the only one */
    const char **addresses; /* of each, ordered by name */
};

/* ERR_TIMEOUT names the first worker that is not ready, and why; ERR_FORBIDDEN the right that the
 * launcher's account lacks. */
int mpi_wait_for_workers(struct arena *a, const struct mpi_wait *wait, struct mpi_workers *ret,
                         struct err *err) must_check;

#endif
