/*
 * ports.h - every job's own MASTER_PORT, where replicas share one network. The port is held by a
 * Lease named after it, so that the API server's "already exists" decides between two jobs. Pure.
 *
 * status.masterPort is what the job means to hold; the lease is the lock. Only both together let
 * pods be made with it.
 */
#ifndef MUSTER_CORE_PORTS_H
#define MUSTER_CORE_PORTS_H

#include "base/json.h"

#define PORT_FIRST 20000 /* below the range the kernel hands out by itself (32768 and up) */
#define PORT_COUNT 10000
#define PORT_ON_CLUSTER 29500 /* replicas there have addresses of their own */
#define LABEL_JOB_UID "batch.tensorstack.dev/job-uid"

struct port_claim {
    int64_t port;             /* wanted, or held; 0: every port is taken */
    bool held;                /* its lease is there and ours */
    const struct json *lease; /* that lease */
};

/* wanted: status.masterPort or 0. Keeps wanted unless another job has it; else chooses a free one,
 * starting at a place that depends on the job so that new jobs seldom meet. */
struct port_claim port_claim_for(struct arena *a, const struct json *const *leases,
                                 size_t leases_len, const char *job_uid, int64_t wanted);
/* The name of the lease a job's status tells of; NULL when it tells of none. */
const char *port_lease_name(struct arena *a, const struct json *job);
/* Whether a decision about the job needs no other lease than this (which may be NULL): the job
 * holds it, or has ended and will want none. */
bool port_lease_suffices(const struct json *job, const struct json *lease);
/* ns: where the leases are; NULL: SYSTEM_NAMESPACE. */
struct json *port_lease_new(struct arena *a, const char *ns, int64_t port, const char *job_ns,
                            const char *job_name, const char *job_uid);

#endif
