/* mpi_rules.h - what the table of MPIJob cannot say: its older layouts, checks, warnings. */
#ifndef MUSTER_API_MPI_RULES_H
#define MUSTER_API_MPI_RULES_H

#include "api/kind.h"

#define MPI_LAUNCHER "launcher"
#define MPI_WORKER "worker"

/* spec.worker of the older layouts (kind_mpi_job.c). */
extern const struct field mpi_worker_fields[];

/* See struct kind (mpi_layouts.c). */
void mpi_unify(struct arena *a, struct json *job, void (*say)(void *arg, const char *text),
               void *arg, struct err *err);
/* The spec in the layout that is written; the spec itself when it has no other. For readers of
 * objects that were stored by another server (mpi_layouts.c). */
const struct json *mpi_unified_spec(struct arena *a, const struct json *spec);

void mpi_validate(const struct json *job, const struct json *old, struct err *err);
void mpi_warn(const struct json *job, void (*say)(void *arg, const char *text), void *arg);

/* The entry of replicaSpecs, NULL when there is none. */
const struct json *mpi_replica_spec(const struct json *spec, const char *type);
/* The container the workers' programs run in: called worker or mpi-worker, else the first. */
const struct json *mpi_worker_container(const struct json *pod_spec);
int64_t mpi_workers(const struct json *spec);
/* How many processes a worker is to have by the hostfile: slotsPerWorker, else as many as the
 * options of mpirun ask for, else 1. */
int64_t mpi_slots(const struct json *spec);

#endif
