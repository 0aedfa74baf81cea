/* replica_pod.h - the pod and the service of a replica. Pure. */
#ifndef MUSTER_CORE_REPLICA_POD_H
#define MUSTER_CORE_REPLICA_POD_H

#include "core/job_view.h"

#define MASTER_PORT_NAME "master"

/* min_member: how many of the job's pods must be able to run together. */
struct json *replica_pod_new(const struct job_view *v, const struct replica *r, int64_t min_member);
struct json *replica_service_new(const struct job_view *v, const struct replica *r);

/* command and args of the training container, changed in place (torchrun.c). */
void torchrun_wrap(const struct job_view *v, const struct replica *r, struct json *container);

/* Things in the templates that will not do what their author thinks; one call each. Said once in a
 * job's life. */
void replica_pod_warnings(const struct job_view *v,
                          void (*say)(void *arg, const char *reason, const char *text), void *arg);

#endif
