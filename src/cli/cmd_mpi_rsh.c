/*
 * cmd_mpi_rsh.c - see mpi_rsh.h. The host is the name of a worker's pod; the words are joined for a
 * shell, as rsh does (mpirun quotes them for one), and run there through pods/exec with our own
 * pod's token, which permits that only in this job's workers.
 *
 * Open MPI's daemon detaches itself once it runs, and then we exit: a job that runs for days
 * depends on no process or connection, and the control plane may come and go. The daemon exits when
 * it loses its mpirun.
 */
#include "cli/mpi_rsh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/exec_pump.h"
#include "cli/mpi_ranks.h"
#include "client/pod_config.h"

#define ARENA_LIMIT_BYTES (16u * 1024u * 1024u)
#define COMMAND_LIMIT_BYTES (1024u * 1024u)
#define EXIT_RSH_FAILED 255 /* like ssh */

/* The ranks' connection to the launcher is passed by stdin into the worker's environment, because
 * command lines are public. */
static void bring_ranks(struct buf *command, const char *host)
{
    const char *where = getenv(MPI_RANKS_VARIABLE);
    int fd = where ? memfd_create("ranks", MFD_CLOEXEC) : -1;

    if (!where)
        return;
    if (fd < 0 || dprintf(fd, "%s %s\n", where, host) < 0 || lseek(fd, 0, SEEK_SET) != 0 ||
        dup2(fd, STDIN_FILENO) < 0)
        command->failed = true;
    buf_addf(command, "read -r " MPI_RANKS_VARIABLE " && export " MPI_RANKS_VARIABLE ";");
}

static int run(struct arena *a, const char *host, char **words, struct err *err)
{
    struct buf command = BUF_INIT(COMMAND_LIMIT_BYTES);
    const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    struct client_config config;
    struct exec_client_options how = {
        .pod = host, .config = &config, .container = getenv(MPI_RSH_CONTAINER), .argv = argv};
    int rc = pod_config_load(a, &config, err);

    bring_ranks(&command, host);
    buf_addf(&command, "export " MPI_HWLOC "=\"${" MPI_HWLOC "-" MPI_HWLOC_VALUE "}\";");
    for (; rc == 0 && *words; words++)
        buf_addf(&command, " %s", *words);
    if (rc == 0 && command.failed)
        rc = err_set(err, ERR_BAD_REQUEST, "there is no command, or it is too long");
    if (rc == 0) {
        argv[2] = command.data;
        how.ns = config.ns ? config.ns : "default";
        how.wants_stdin = true;
        rc = exec_pump_run(&how, err);
    }
    buf_release(&command);
    return rc;
}

/* Returns only if it cannot be started. */
static int run_ssh(struct arena *a, int argc, char **argv)
{
    const char **words = arena_alloc(a, ((size_t)argc + 4) * sizeof(*words));
    size_t n = 0;

    if (!words)
        return EXIT_RSH_FAILED;
    words[n++] = "ssh";
    words[n++] = "-F";
    words[n++] = getenv(MPI_RSH_SSH);
    for (int i = 0; i < argc; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    execvp(words[0], (char *const *)words);
    fprintf(stderr, "error: ssh cannot be started in the launcher: %s\n", strerror(errno));
    return EXIT_RSH_FAILED;
}

int mpi_rsh_words(int argc, char **argv)
{
    int n = 1;

    if (argc > 1 && strcmp(argv[1], MPI_RSH_COMMAND) == 0)
        return 2;
    while (n < argc && (strcmp(argv[n], "-q") == 0 || strcmp(argv[n], "-x") == 0))
        n++;
    return n > 1 ? n : 0;
}

int mpi_rsh_main(int argc, char **argv)
{
    struct arena a = ARENA_INIT(ARENA_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    int code;

    if (argc < 2) {
        fprintf(stderr, "error: muster mpi-rsh wants: HOST COMMAND [ARG...]\n");
        return EXIT_RSH_FAILED;
    }
    if (getenv(MPI_RSH_SSH))
        return run_ssh(&a, argc, argv);
    code = run(&a, argv[0], argv + 1, &err);
    if (code < 0) {
        fprintf(stderr, "error: cannot start MPI in worker %s: %s\n", argv[0],
                err.text ? err.text : "out of memory");
        code = EXIT_RSH_FAILED;
    }
    arena_release(&a);
    return code;
}
