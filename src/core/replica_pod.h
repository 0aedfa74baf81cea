/* replica_pod.h - the pod and the service of a replica. Pure. */
#ifndef MUSTER_CORE_REPLICA_POD_H
#define MUSTER_CORE_REPLICA_POD_H

#include "core/job_view.h"

#define MASTER_PORT_NAME "master"

struct json *replica_pod_new(const struct job_view *v, const struct replica *r);
struct json *replica_service_new(const struct job_view *v, const struct replica *r);

/* An object the job owns, without labels, spec or the like. */
struct json *replica_child_new(const struct job_view *v, const struct kind *kind, const char *name);

/* --- for the kinds' pod_spec ------------------------------------------------------------------ */

struct json *main_container_mut(const struct job_rules *rules, struct json *pod_spec);
/* Collects variables of ours in env, but for those the user sets himself in the container; then
 * puts them first, so that his variables and commands may refer to them. */
void replica_env_add(struct arena *a, struct json *env, const struct json *container,
                     const char *name, const char *value);
void replica_env_set(struct arena *a, struct json *container, struct json *env);
/* Debug mode: every container only waits. False: the job is not in that mode. */
bool replica_debug(const struct job_view *v, const struct replica *r, struct json *pod_spec);
/* What the job says its replicas run after a pause; NULL when there was none or nothing is said. */
const struct json *replica_resume(const struct job_view *v, const struct replica *r,
                                  struct json *pod_spec);
void replica_resume_command(struct arena *a, const struct json *entry, struct json *container);

/* command and args of the training container, changed in place (torchrun.c). */
void torchrun_wrap(const struct job_view *v, const struct replica *r, struct json *container);
/* How many processes it starts, as far as the job says. */
int64_t torchrun_processes(const struct job_view *v, const struct replica *r);

/* Things in the templates that will not do what their author thinks; one call each. Said once in a
 * job's life. */
void replica_pod_warnings(const struct job_view *v,
                          void (*say)(void *arg, const char *reason, const char *text), void *arg);

#endif
