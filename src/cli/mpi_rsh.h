/* mpi_rsh.h - `muster mpi-rsh HOST COMMAND...`, which mpirun runs in place of rsh or ssh. It is
 * recognized before options are parsed: all of them are the command's. */
#ifndef MUSTER_CLI_MPI_RSH_H
#define MUSTER_CLI_MPI_RSH_H

#define MPI_RSH_COMMAND "mpi-rsh"
/* From mpi-launch: the container of each worker's pod to use; unset: the only one. */
#define MPI_RSH_CONTAINER "MUSTER_MPI_CONTAINER"
/* From mpi-launch: the ssh configuration to use; unset: pods/exec is used. */
#define MPI_RSH_SSH "MUSTER_MPI_SSH_CONFIG"
/* Without it MPI's hwloc queries every X display it can connect to for GPUs, and hangs if another
 * program has such a port: display :6 is TensorBoard's 6006. A user's value stays. */
#define MPI_HWLOC "HWLOC_COMPONENTS"
#define MPI_HWLOC_VALUE "-gl"

/* How many words of a command line come before HOST; 0: not from mpirun. Hydra can only name a
 * program, and runs it like ssh: MPICH `PROGRAM -x HOST COMMAND...`, Intel MPI with -q first. */
int mpi_rsh_words(int argc, char **argv);
/* argv[0] is HOST. */
int mpi_rsh_main(int argc, char **argv);

#endif
