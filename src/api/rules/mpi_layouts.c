/*
 * mpi_layouts.c - rewrites the older layouts of MPIJob into the one that is written.
 *
 *   oldest   worker: {replicas, cmd, template, processesPerWorker, processRecovery}, mca, mpiHome
 *   2023     worker: {replicas, cmd, template, extraMPIArgs}, mca, mpiHome
 *   written  mpiConfig: {mca, home, extraArgs, script}, replicaSpecs: [{type: worker, ...}]
 *
 * It happens when an object is decoded, so that everything after that (defaults, checks, storage,
 * the controller, the console) knows one layout. `kubectl apply` of an older file against the
 * stored object sends the older members as a merge patch, since it does not find them there: a
 * worker with a template then replaces the whole specification, including what it leaves out; a
 * worker without one changes only the members it has.
 */

#include "api/mpi_rules.h"
#include "api/object.h"
#include "api/problem.h"

#define SPEC PATH_MEMBER(NULL, "spec")

struct rewriting {
    struct arena *arena;
    struct json *spec;
    const struct json *worker;
    bool whole; /* the older members are complete: absent ones are to be removed */
};

const struct json *mpi_replica_spec(const struct json *spec, const char *type)
{
    return json_find(json_get(spec, "replicaSpecs"), "type", type);
}

static struct json *worker_entry(const struct rewriting *r)
{
    struct json *list = json_make_array(r->arena, r->spec, "replicaSpecs"), *entry;

    for (entry = json_first_mut(list); entry; entry = entry->next)
        if (json_string_is(json_get(entry, "type"), MPI_WORKER))
            return entry;
    entry = json_append(list, json_new_object(r->arena));
    json_set_string(r->arena, entry, "type", MPI_WORKER);
    return entry;
}

/* Moves a member, or removes it when the rewrite is complete. */
static void move(const struct rewriting *r, struct json *to, const char *key,
                 const struct json *value)
{
    if (value)
        json_set(r->arena, to, key, json_clone(r->arena, value));
    else if (r->whole)
        json_remove(to, key);
}

/* In these layouts the workers' container only serves: its own command is not used. */
static void drop_command(struct rewriting *r, struct json *entry,
                         void (*say)(void *arg, const char *text), void *arg)
{
    struct json *pod_spec = json_get_mut(json_get_mut(entry, "template"), "spec");
    const struct json *works = mpi_worker_container(pod_spec);

    for (struct json *c = json_first_mut(json_get_mut(pod_spec, "containers")); c; c = c->next) {
        bool had = c == works && (json_get(c, "command") || json_get(c, "args"));

        if (!had || !r->worker)
            continue;
        json_remove(c, "command");
        json_remove(c, "args");
        if (say)
            say(arg, "spec.worker.template: command and args of the worker's container are not "
                     "used, spec.worker.cmd is what runs");
    }
}

static struct json *extra_args(const struct rewriting *r)
{
    const struct json *each = json_get(r->worker, "processesPerWorker");
    const struct json *recovery = json_get(r->worker, "processRecovery");
    struct json *args = json_new_array(r->arena);

    if (each) {
        json_append_string(r->arena, args, "-N");
        json_append(args, json_new_stringf(r->arena, "%lld", (long long)json_int(each, 1)));
    }
    if (json_get_bool(recovery, "enabled", json_get_bool(recovery, "enable", false))) {
        json_append_string(r->arena, args, "--enable-recovery");
        if (json_get(recovery, "limit")) {
            json_append_string(r->arena, args, "--max-restarts");
            json_append(args, json_new_stringf(r->arena, "%lld",
                                               (long long)json_get_int(recovery, "limit", 0)));
        }
    }
    json_each (arg, json_get(r->worker, "extraMPIArgs"))
        json_append(args, json_clone(r->arena, arg));
    return json_len(args) ? args : NULL;
}

static void rewrite(struct rewriting *r, void (*say)(void *arg, const char *text), void *arg)
{
    struct json *config = json_make_object(r->arena, r->spec, "mpiConfig");

    move(r, config, "mca", json_get(r->spec, "mca"));
    move(r, config, "home", json_get(r->spec, "mpiHome"));
    if (r->worker) {
        struct json *entry = worker_entry(r);

        move(r, config, "extraArgs", extra_args(r));
        move(r, config, "script", json_get(r->worker, "cmd"));
        move(r, entry, "replicas", json_get(r->worker, "replicas"));
        move(r, entry, "template", json_get(r->worker, "template"));
        drop_command(r, entry, say, arg);
    }
    json_remove(r->spec, "worker");
    json_remove(r->spec, "mca");
    json_remove(r->spec, "mpiHome");
}

/* --- checks, using the names the user wrote --------------------------------------------------- */

static void refuse_both(const struct json *spec, const char *older, const struct json *newer,
                        const char *newer_path, struct err *err)
{
    const struct json *v = json_get(spec, older);

    if (v && newer)
        problem_forbidden(err, PATH_MEMBER(SPEC, older), v->line,
                          "is the older way to say %s, which is given too: give one of them",
                          newer_path);
}

/* Only for a complete object; a stored one has both layouts only because of a patch. */
static void check_whole(const struct json *spec, struct err *err)
{
    const struct json *worker = json_get(spec, "worker"), *config = json_get(spec, "mpiConfig");
    const struct field_path *at = PATH_MEMBER(SPEC, "worker");

    refuse_both(spec, "worker", json_get(spec, "replicaSpecs"), "spec.replicaSpecs", err);
    refuse_both(spec, "mca", json_get(config, "mca"), "spec.mpiConfig.mca", err);
    refuse_both(spec, "mpiHome", json_get(config, "home"), "spec.mpiConfig.home", err);
    if (!worker)
        return;
    object_validate_part(mpi_worker_fields, worker, at, err);
    if (json_len(json_get(worker, "cmd")) == 0 && !json_get(config, "script") &&
        !json_bool(json_at(spec, "runMode", "debug", "enabled"), false))
        problem_required(err, PATH_MEMBER(at, "cmd"), worker->line,
                         "the MPI program and its arguments");
    if (!json_get(worker, "template"))
        problem_required(err, PATH_MEMBER(at, "template"), worker->line, "the workers' pods");
}

static bool has_older(const struct json *spec)
{
    return json_get(spec, "worker") || json_get(spec, "mca") || json_get(spec, "mpiHome");
}

static struct rewriting begin(struct arena *a, struct json *spec)
{
    const struct json *worker = json_get(spec, "worker");

    return (struct rewriting){.arena = a,
                              .spec = spec,
                              .worker = worker,
                              .whole = worker && json_get(worker, "template")};
}

void mpi_unify(struct arena *a, struct json *job, void (*say)(void *arg, const char *text),
               void *arg, struct err *err)
{
    struct json *spec = json_get_mut(job, "spec");
    const struct json *meta = json_get(job, "metadata");
    bool named = json_get(meta, "name") || json_get(meta, "generateName");
    struct rewriting r;

    if (!has_older(spec))
        return;
    if (named && !json_get(meta, "uid")) {
        check_whole(spec, err);
        if (err->causes)
            return;
    }
    r = begin(a, spec);
    rewrite(&r, say, arg);
}

const struct json *mpi_unified_spec(struct arena *a, const struct json *spec)
{
    struct json *copy;
    struct rewriting r;

    if (!has_older(spec))
        return spec;
    copy = json_clone(a, spec);
    if (!copy)
        return spec;
    r = begin(a, copy);
    rewrite(&r, NULL, NULL);
    return copy;
}
