/* main.c - dispatch. A supervisor is started once per pod and must be small and quick, so it is
 * recognized before anything else is set up. So are the helper of a command run in a pod, and what
 * mpirun starts once per worker and once per rank. */
#include <string.h>

#include "cli/command.h"
#include "cli/mpi_ranks.h"
#include "cli/mpi_rsh.h"
#include "runtime/exec_helper.h"
#include "runtime/supervisor.h"

int main(int argc, char **argv)
{
    int words = mpi_rsh_words(argc, argv);

    if (argc > 1 && strcmp(argv[1], SUPERVISOR_COMMAND) == 0)
        return supervisor_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], EXEC_HELPER_COMMAND) == 0)
        return exec_helper_main();
    if (argc > 1 && strcmp(argv[1], MPI_RANK_COMMAND) == 0)
        return mpi_rank_main(argc - 2, argv + 2);
    if (words > 0)
        return mpi_rsh_main(argc - words, argv + words);
    return (int)command_main(argc, argv);
}
