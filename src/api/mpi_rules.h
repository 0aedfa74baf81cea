/* mpi_rules.h - MPIJob beyond its table: older layouts, checks, warnings. */
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
/* The spec in the current layout; the spec itself when it is already. For objects stored by another
 * server (mpi_layouts.c). */
const struct json *mpi_unified_spec(struct arena *a, const struct json *spec);

void mpi_validate(const struct json *job, const struct json *old, struct err *err);
void mpi_warn(const struct json *job, void (*say)(void *arg, const char *text), void *arg);

/* The entry of replicaSpecs, or NULL. */
const struct json *mpi_replica_spec(const struct json *spec, const char *type);
/* The container that runs the workers' programs: named worker or mpi-worker, else the first. */
const struct json *mpi_worker_container(const struct json *pod_spec);
int64_t mpi_workers(const struct json *spec);
/* Slots per worker in the hostfile: slotsPerWorker, else what mpirun's options ask for, else 1. */
int64_t mpi_slots(const struct json *spec);

#endif
