/* replica_pod.h - a replica's pod and Service. Pure. */
#ifndef MUSTER_CORE_REPLICA_POD_H
#define MUSTER_CORE_REPLICA_POD_H

#include "core/job_view.h"

#define MASTER_PORT_NAME "master"

struct json *replica_pod_new(const struct job_view *v, const struct replica *r);
struct json *replica_service_new(const struct job_view *v, const struct replica *r);

/* An object owned by the job, without labels or spec. */
struct json *replica_child_new(const struct job_view *v, const struct kind *kind, const char *name);

/* --- for the kinds' pod_spec ------------------------------------------------------------------ */

struct json *main_container_mut(const struct job_rules *rules, struct json *pod_spec);
/* Collects our variables in env, except those the user sets in the container; then puts them first,
 * so that the user's variables and commands may refer to them. */
void replica_env_add(struct arena *a, struct json *env, const struct json *container,
                     const char *name, const char *value);
void replica_env_set(struct arena *a, struct json *container, struct json *env);
/* Debug mode: every container only waits. False: the job is not in debug mode. */
bool replica_debug(const struct job_view *v, const struct replica *r, struct json *pod_spec);
/* What replicas run after a pause, from the job; NULL when it was not paused or nothing is
 * specified. */
const struct json *replica_resume(const struct job_view *v, const struct replica *r,
                                  struct json *pod_spec);
void replica_resume_command(struct arena *a, const struct json *entry, struct json *container);

/* Rewrites command and args of the training container (torchrun.c). */
void torchrun_wrap(const struct job_view *v, const struct replica *r, struct json *container);
/* How many processes it starts, as far as the job says. */
int64_t torchrun_processes(const struct job_view *v, const struct replica *r);

/* Reports settings in the templates that will not do what their author expects; once per job. */
void replica_pod_warnings(const struct job_view *v,
                          void (*say)(void *arg, const char *reason, const char *text), void *arg);

#endif
