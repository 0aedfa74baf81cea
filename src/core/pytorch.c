/*
 * pytorch.c - PyTorchTrainingJob: replicas form a process group that meets at the master. What all
 * jobs share is in job_run.c.
 */
#include <inttypes.h>

#include "core/replica_pod.h"

static void assign_roles(struct job_view *v)
{
    const struct json *entries = json_get(v->spec, "replicaSpecs");
    size_t len = json_len(entries), i = 0;
    int64_t *counts = arena_alloc(v->arena, (len + 1) * sizeof(*counts));

    v->roles = arena_alloc(v->arena, (len + 1) * sizeof(*v->roles));
    if (!counts || !v->roles)
        return;
    replica_counts(v->spec, counts);
    json_each (entry, entries) {
        v->roles[i] = (struct role){
            .spec = entry,
            .type = json_get_string(entry, "type", "worker"),
            .count = counts[i],
            .policy = restart_policy_of(json_get_string(entry, "restartPolicy", "Never")),
        };
        i++;
    }
    v->roles_len = len;
}

static void set_environment(const struct job_view *v, const struct replica *r,
                            struct json *container)
{
    struct arena *a = v->arena;
    struct json *env = json_new_array(a);

    replica_env_add(a, env, container, "MASTER_ADDR", v->replicas[0].name);
    replica_env_add(a, env, container, "MASTER_PORT", arena_printf(a, "%" PRId64, v->port.port));
    replica_env_add(a, env, container, "WORLD_SIZE", arena_printf(a, "%zu", v->len));
    replica_env_add(a, env, container, "RANK", arena_printf(a, "%" PRId64, r->rank));
    replica_env_add(a, env, container, "PYTHONUNBUFFERED", "1");
    replica_env_set(a, container, env);
}

static struct json *pod_spec(const struct job_view *v, const struct replica *r)
{
    struct json *spec = json_clone(v->arena, json_at(r->role->spec, "template", "spec"));
    struct json *container = main_container_mut(v->rules, spec);
    const struct json *resume;

    set_environment(v, r, container);
    if (replica_debug(v, r, spec))
        return spec;
    resume = replica_resume(v, r, spec);
    if (resume)
        replica_resume_command(v->arena, resume, container);
    if (switched_on(json_get(v->spec, "torchrunConfig")))
        torchrun_wrap(v, r, container);
    return spec;
}

static const struct job_rules rules = {
    .kind = &kind_pytorch_training_job,
    .rendezvous = true,
    .scope = SCOPE_REPLICA,
    .main_containers = (const char *const[]){"python", NULL},
    .group_variables = (const char *const[]){"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK",
                                             NULL},
    .assign_roles = assign_roles,
    .pod_spec = pod_spec,
    .processes = torchrun_processes,
};

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    job_run_look(&rules, s, plan);
}

static void wanted_names(struct arena *a, const struct json *job,
                         void (*say)(void *arg, const char *name), void *arg)
{
    job_run_names(&rules, a, job, say, arg);
}

const struct job_kind job_kind_pytorch = {
    .kind = &kind_pytorch_training_job,
    .reconcile = reconcile,
    .wanted_names = wanted_names,
};
