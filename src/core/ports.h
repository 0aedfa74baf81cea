/*
 * ports.h - a MASTER_PORT per job, where replicas share one network. The port is held by a Lease
 * named after it, so that the API server's "already exists" arbitrates between jobs. Pure.
 *
 * status.masterPort is the port the job wants; the lease is the lock. Pods are created only with
 * both.
 */
#ifndef MUSTER_CORE_PORTS_H
#define MUSTER_CORE_PORTS_H

#include "base/json.h"

#define PORT_FIRST 20000 /* below the kernel's ephemeral range (32768 and up) */
#define PORT_COUNT 10000
#define PORT_ON_CLUSTER 29500 /* replicas there have their own addresses */
#define LABEL_JOB_UID "batch.tensorstack.dev/job-uid"

struct port_claim {
    int64_t port;             /* wanted or held; 0: all ports are taken */
    bool held;                /* its lease exists and is ours */
    const struct json *lease; /* that lease */
};

/* wanted: status.masterPort or 0. Keeps it unless another job has it; otherwise picks one without a
 * lease, starting at a hash of the job so that new jobs rarely collide. */
struct port_claim port_claim_for(struct arena *a, const struct json *const *leases,
                                 size_t leases_len, const char *job_uid, int64_t wanted);
/* A job's port, and that of a Notebook's ssh server. */
#define PORTS_OF_JOB 2
bool port_wants_ssh(const struct json *job);
/* The names of the leases in a job's status, or NULL. */
void port_lease_names(struct arena *a, const struct json *job, const char *ret[PORTS_OF_JOB]);
/* Whether deciding about the job needs no leases but these (which may be NULL): the job holds them,
 * or has ended. */
bool port_leases_suffice(const struct json *job, const struct json *const leases[PORTS_OF_JOB]);
/* ns: the namespace of the leases; NULL: SYSTEM_NAMESPACE. */
struct json *port_lease_new(struct arena *a, const char *ns, int64_t port, const char *job_ns,
                            const char *job_name, const char *job_uid);

#endif
