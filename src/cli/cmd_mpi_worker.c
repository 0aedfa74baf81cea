/* cmd_mpi_worker.c - `muster mpi-worker`: a worker of an MPIJob does nothing by itself; programs
 * are started in it from outside. */
#include <signal.h>

#include "cli/command.h"

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    sigset_t set;
    int signum;

    (void)cli;
    (void)values;
    (void)args;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &signum) != 0)
        ;
    return EXIT_OK;
}

const struct command command_mpi_worker = {
    .name = "mpi-worker",
    .args = "",
    .summary = "Wait until stopped: what a worker of an MPIJob runs",
    .hidden = true,
    .run = run,
};
