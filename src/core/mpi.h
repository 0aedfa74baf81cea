/*
 * mpi.h - what the pods of an MPIJob run, agreed between the controller (mpi.c), which writes it
 * into them, and the commands that are run (`muster mpi-launch`, `muster mpi-worker`).
 *
 * The launcher:
 *
 *   $(MUSTER_EXE) mpi-launch --namespace=NS --worker=POD ... --slots=N --implementation=NAME
 *       --timeout=SECONDS [--home=DIR] [--mca=KEY=VALUE ...] [--extra=ARG ...] -- PROGRAM [ARG ...]
 *
 *   --worker, --mca and --extra are repeated, in order; values follow an equals sign, since many
 *   begin with a dash. It waits until every worker's pod is Ready, at most --timeout seconds, and
 *   then says which is not and why, as its last line on stderr, and exits with MPI_EXIT_NOT_READY.
 *   When all are, it prints `services are ready!`, writes a hostfile with --slots of each worker,
 *   and runs mpirun (of --home/bin, else of the PATH) with -mca KEY VALUE, the extra args and the
 *   program. It exits as mpirun does; with 0 only if every rank did. It talks to the API with the
 * service account's token of its pod (MUSTER_SERVER, MUSTER_TOKEN), which may get, list and watch
 * the workers' pods by name and exec in them.
 *
 * A worker whose template has no command:
 *
 *   $(MUSTER_EXE) mpi-worker
 *
 *   It idles until SIGTERM, then exits with 0.
 *
 * Where pods have networks of their own and spec.ssh.sshdPath is set, programs are started by ssh:
 * the worker runs that sshd, and needs no muster in its image; the launcher has --ssh=DIR, and no
 * right to pods/exec. The job's key pair is in a Secret (MPI_KEY_*) mounted at DIR in all of them;
 * it is the user's and the host's key alike, so that both sides know each other.
 */
#ifndef MUSTER_CORE_MPI_H
#define MUSTER_CORE_MPI_H

#define MPI_EXE "$(MUSTER_EXE)"
#define MPI_LAUNCH_COMMAND "mpi-launch"
#define MPI_WORKER_COMMAND "mpi-worker"

#define MPI_OPTION_NAMESPACE "--namespace="
#define MPI_OPTION_WORKER "--worker="
#define MPI_OPTION_SLOTS "--slots="
#define MPI_OPTION_IMPLEMENTATION "--implementation="
#define MPI_OPTION_TIMEOUT "--timeout="
#define MPI_OPTION_HOME "--home="
#define MPI_OPTION_MCA "--mca="
#define MPI_OPTION_EXTRA "--extra="
#define MPI_OPTION_SSH "--ssh="

#define MPI_KEY_PRIVATE "ssh-privatekey"
#define MPI_KEY_PUBLIC "ssh-publickey"
#define MPI_SECRET_TYPE "kubernetes.io/ssh-auth" /* control/applier.c inserts a new key */
#define MPI_SSH_PORT 2222                        /* lower ports need root */

#define MPI_READY_TIMEOUT_SECONDS 300 /* when mpiConfig.readyTimeoutSeconds says nothing */
#define MPI_EXIT_NOT_READY 64

struct arena;
struct json;

/* The launcher's pod before it has a command: its own template, else the workers' pod with nothing
 * in it, and the container it is started in. */
struct json *mpi_launcher_base(struct arena *a, const struct json *job_spec,
                               struct json **ret_container);

#endif
