/*
 * run_line.h - the job for `muster run [OPTIONS] -- COMMAND`, as the manifest a user would have
 * written. Pure except for the environment it copies variables from.
 */
#ifndef MUSTER_CLI_RUN_LINE_H
#define MUSTER_CLI_RUN_LINE_H

#include "cli/options.h"

struct json;

struct run_line_options {
    int64_t workers, nproc, gpus, max_restarts;
    const char *cpus, *memory, *queue, *image;
    struct option_list env, volumes, labels;
    bool mpi;
};

/* clang-format off */
#define RUN_LINE_OPTIONS(own, member) \
    OPTION_OF_INT(own, member.workers, "workers", "N", \
                  "replicas of the command (default 1); each gets RANK, WORLD_SIZE, MASTER_ADDR", \
                  .least = 1), \
    OPTION_OF_INT(own, member.nproc, "nproc", "P", \
                  "processes per replica, started by torchrun (with --mpi by mpirun)", .least = 1), \
    OPTION_OF_INT(own, member.gpus, "gpus", "G", "GPUs per replica"), \
    OPTION_OF_TEXT(own, member.cpus, "cpus", "N", "CPUs per replica, like 2 or 500m"), \
    OPTION_OF_TEXT(own, member.memory, "memory", "SIZE", "memory per replica, like 4Gi"), \
    OPTION_OF_INT(own, member.max_restarts, "max-restarts", "R", \
                  "restart all after a failure, at most R times"), \
    OPTION_OF(OPTION_LIST, own, member.env, "env", "KEY=VALUE", \
              "set an environment variable; KEY alone copies yours", .letter = 'e'), \
    OPTION_OF(OPTION_LIST, own, member.volumes, "volume", "NAME:PATH", \
              "mount a PersistentVolumeClaim, or a folder (/DIR:PATH); append :ro for read-only"), \
    OPTION_OF(OPTION_LIST, own, member.labels, "label", "KEY=VALUE", "label the job", \
              .letter = 'l'), \
    OPTION_OF_TEXT(own, member.queue, "queue", "NAME", "wait in this queue"), \
    OPTION_OF_TEXT(own, member.image, "image", "IMAGE", "container image, on a cluster"), \
    OPTION_OF_FLAG(own, member.mpi, "mpi", "run an MPI program, as an MPIJob")
/* clang-format on */

/* The first of these options that was given, for an error; or NULL. */
const char *run_line_given(const struct run_line_options *o);

/* "train" for [python, train.py]; a valid job name. In the arena. */
const char *run_line_name(struct arena *a, const char *const *command, size_t len);

#define USING_PYTHON3 "python is not installed: using python3"
/* Whether the job runs python3 because `python` is not installed here, as on a bare Debian. */
bool run_line_uses_python3(struct arena *a, const struct run_line_options *o,
                           const char *const *command, bool here);

/* here: programs run on this machine, with the caller's PATH and Python environment. NULL with err
 * set: an option's value is invalid. */
struct json *run_line_job(struct arena *a, const struct run_line_options *o, const char *name,
                          const char *const *command, size_t len, bool here,
                          struct err *err) must_check;

#endif
