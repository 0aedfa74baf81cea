/*
 * replica_pod.c - makes a replica's pod out of its template, and its service.
 *
 * What we add never takes away what the user wrote: labels and annotations of the template stay,
 * and an environment variable the user sets himself wins (with a warning where that breaks the
 * group). The one exception is restartPolicy, which is always Never: the controller replaces pods,
 * because only it can count restarts over all replicas.
 */
#include "core/replica_pod.h"

#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"

static struct json *owner_reference(const struct job_view *v)
{
    struct arena *a = v->arena;
    struct json *ref = json_new_object(a);

    json_set_string(a, ref, "apiVersion", kind_api_version(a, v->kind));
    json_set_string(a, ref, "kind", v->kind->name);
    json_set_string(a, ref, "name", v->name);
    json_set_string(a, ref, "uid", v->uid);
    json_set_bool(a, ref, "controller", true);
    json_set_bool(a, ref, "blockOwnerDeletion", true);
    return ref;
}

static void set_identity(const struct job_view *v, const struct replica *r, struct json *labels)
{
    struct arena *a = v->arena;

    json_set_string(a, labels, LABEL_OWNER_NAME, v->name);
    json_set_string(a, labels, LABEL_OWNER_KIND, v->kind->name);
    json_set_string(a, labels, LABEL_REPLICA_TYPE, r->type);
    json_set_stringf(a, labels, LABEL_REPLICA_INDEX, "%" PRId64, r->index);
}

static struct json *child_new(const struct job_view *v, const struct replica *r,
                              const struct kind *kind)
{
    struct arena *a = v->arena;
    struct json *child = json_new_object(a);
    struct json *metadata;

    json_set_string(a, child, "apiVersion", kind_api_version(a, kind));
    json_set_string(a, child, "kind", kind->name);
    metadata = json_make_object(a, child, "metadata");
    json_set_string(a, metadata, "name", r->name);
    json_set_string(a, metadata, "namespace", v->ns);
    json_append(json_make_array(a, metadata, "ownerReferences"), owner_reference(v));
    return child;
}

/* A clone of a map of the template's metadata, or an empty one. */
static struct json *template_map(struct arena *a, const struct replica *r, const char *which)
{
    const struct json *map = json_at(r->spec, "template", "metadata", which);

    return json_is(map, JSON_OBJECT) ? json_clone(a, map) : json_new_object(a);
}

static void set_metadata(const struct job_view *v, const struct replica *r, int64_t min_member,
                         struct json *pod)
{
    struct arena *a = v->arena;
    struct json *metadata = json_make_object(a, pod, "metadata");
    struct json *labels = json_set(a, metadata, "labels", template_map(a, r, "labels"));
    struct json *annotations = json_set(a, metadata, "annotations",
                                        template_map(a, r, "annotations"));
    char since[TIME_TEXT_SIZE];

    set_identity(v, r, labels);
    if (r->rank == 0)
        json_set_string(a, labels, LABEL_JOB_ROLE, "master");
    json_set_stringf(a, annotations, ANNOTATION_MIN_MEMBER, "%" PRId64, min_member);
    json_set_stringf(a, annotations, ANNOTATION_ATTEMPT, "%" PRId64, replica_attempt(v, r));
    if (object_created_ms(v->job))
        json_set_string(a, annotations, ANNOTATION_QUEUED_SINCE,
                        time_format(object_created_ms(v->job), since));
}

/* --- environment ------------------------------------------------------------------------------ */

static const struct json *env_of(const struct json *container, const char *name)
{
    json_each (var, json_get(container, "env"))
        if (json_string_is(json_get(var, "name"), name))
            return var;
    return NULL;
}

static void add_env(struct arena *a, struct json *env, const struct json *container,
                    const char *name, const char *value)
{
    struct json *var;

    if (env_of(container, name))
        return;
    var = json_append(env, json_new_object(a));
    json_set_string(a, var, "name", name);
    json_set_string(a, var, "value", value);
}

/* Ours come first, so that the user's variables and commands may refer to them. */
static void set_environment(const struct job_view *v, const struct replica *r,
                            struct json *container)
{
    struct arena *a = v->arena;
    struct json *env = json_new_array(a);

    add_env(a, env, container, "MASTER_ADDR", v->replicas[0].name);
    add_env(a, env, container, "MASTER_PORT", arena_printf(a, "%" PRId64, v->port.port));
    add_env(a, env, container, "WORLD_SIZE", arena_printf(a, "%zu", v->len));
    add_env(a, env, container, "RANK", arena_printf(a, "%" PRId64, r->rank));
    add_env(a, env, container, "PYTHONUNBUFFERED", "1");
    json_each (var, json_get(container, "env"))
        json_append(env, json_clone(a, var));
    json_set(a, container, "env", env);
}

/* --- run modes -------------------------------------------------------------------------------- */

static const struct json *entry_of_type(const struct json *entries, const char *type)
{
    json_each (entry, entries)
        if (json_string_is(json_get(entry, "type"), type))
            return entry;
    return NULL;
}

static void skip_init_containers(const struct json *entry, struct json *pod_spec)
{
    if (json_get_bool(entry, "skipInitContainer", false))
        json_remove(pod_spec, "initContainers");
}

/* The environment is put up, the payload is not started: the user looks around himself. */
static void apply_debug(const struct job_view *v, const struct replica *r, struct json *pod_spec)
{
    const struct json *debug = json_at(v->spec, "runMode", "debug");
    const struct json *entry = entry_of_type(json_get(debug, "replicaSpecs"), r->type);
    const struct json *command = json_get(entry, "command");
    struct arena *a = v->arena;

    skip_init_containers(entry, pod_spec);
    for (struct json *c = json_first_mut(json_get_mut(pod_spec, "containers")); c; c = c->next) {
        struct json *wait = json_new_array(a);

        json_append_string(a, wait, "sleep");
        json_append_string(a, wait, "inf");
        json_remove(c, "args");
        json_set(a, c, "command", json_len(command) ? json_clone(a, command) : wait);
    }
}

static void apply_resume(const struct job_view *v, const struct replica *r, struct json *pod_spec,
                         struct json *container)
{
    const struct json *pause = json_at(v->spec, "runMode", "pause");
    const struct json *entry = entry_of_type(json_get(pause, "resumeSpecs"), r->type);

    if (!v->resumed || !entry)
        return;
    skip_init_containers(entry, pod_spec);
    json_set(v->arena, container, "command", json_clone(v->arena, json_get(entry, "command")));
    json_set(v->arena, container, "args", json_clone(v->arena, json_get(entry, "args")));
}

static struct json *training_container_mut(struct json *pod_spec)
{
    const struct json *wanted = training_container(pod_spec);
    struct json *c = json_first_mut(json_get_mut(pod_spec, "containers"));

    while (c && c != wanted)
        c = c->next;
    return c;
}

static void set_payload(const struct job_view *v, const struct replica *r, struct json *pod_spec)
{
    struct json *container = training_container_mut(pod_spec);

    set_environment(v, r, container);
    if (switched_on(json_at(v->spec, "runMode", "debug"))) {
        apply_debug(v, r, pod_spec);
        return;
    }
    apply_resume(v, r, pod_spec, container);
    if (switched_on(json_get(v->spec, "torchrunConfig")))
        torchrun_wrap(v, r, container);
}

struct json *replica_pod_new(const struct job_view *v, const struct replica *r, int64_t min_member)
{
    struct arena *a = v->arena;
    struct json *pod = child_new(v, r, &kind_pod);
    struct json *spec = json_clone(a, json_at(r->spec, "template", "spec"));

    set_metadata(v, r, min_member, pod);
    set_payload(v, r, spec);
    json_set_string(a, spec, "restartPolicy", "Never");
    json_set(a, pod, "spec", spec);
    return pod;
}

/* Headless: a name for one pod, there before the pod is ready, for that is when ranks meet. */
struct json *replica_service_new(const struct job_view *v, const struct replica *r)
{
    struct arena *a = v->arena;
    struct json *service = child_new(v, r, &kind_service);
    struct json *spec = json_make_object(a, service, "spec");
    struct json *port = json_new_object(a);

    set_identity(v, r, json_make_object(a, json_make_object(a, service, "metadata"), "labels"));
    json_set_string(a, spec, "clusterIP", "None");
    json_set_bool(a, spec, "publishNotReadyAddresses", true);
    set_identity(v, r, json_make_object(a, spec, "selector"));
    json_set_string(a, port, "name", MASTER_PORT_NAME);
    json_set_string(a, port, "protocol", "TCP");
    json_set_int(a, port, "port", v->port.port);
    json_set_int(a, port, "targetPort", v->port.port);
    json_append(json_make_array(a, spec, "ports"), port);
    return service;
}

/* --- warnings --------------------------------------------------------------------------------- */

typedef void say_fn(void *arg, const char *reason, const char *text);

static void warn_of_template(const struct job_view *v, const struct json *entry, say_fn *say,
                             void *arg)
{
    static const char *const group_variables[] = {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
                                                  "RANK"};
    const struct json *pod_spec = json_at(entry, "template", "spec");
    const char *policy = json_get_string(pod_spec, "restartPolicy", "Never");
    const char *type = json_get_string(entry, "type", "worker");

    if (strcmp(policy, "Never") != 0)
        say(arg, "RestartPolicyIgnored",
            arena_printf(v->arena,
                         "The template's restartPolicy %s of %s is not used: pods are Never and "
                         "are replaced as replicaSpecs[].restartPolicy says.",
                         policy, type));
    for (size_t i = 0; i < ELEMS(group_variables); i++)
        if (env_of(training_container(pod_spec), group_variables[i]))
            say(arg, "EnvOverridden",
                arena_printf(v->arena, "%s sets %s itself: the replicas may not find each other.",
                             type, group_variables[i]));
}

static void warn_of_unmatched(const struct job_view *v, const struct json *entries,
                              const char *where, say_fn *say, void *arg)
{
    json_each (entry, entries) {
        const char *type = json_get_string(entry, "type", "");

        if (!entry_of_type(json_get(v->spec, "replicaSpecs"), type))
            say(arg, "NoSuchReplicaType",
                arena_printf(v->arena, "%s names the type \"%s\", which the job does not have.",
                             where, type));
    }
}

void replica_pod_warnings(const struct job_view *v, say_fn *say, void *arg)
{
    const struct json *mode = json_get(v->spec, "runMode");

    json_each (entry, json_get(v->spec, "replicaSpecs"))
        warn_of_template(v, entry, say, arg);
    warn_of_unmatched(v, json_at(mode, "debug", "replicaSpecs"), "runMode.debug.replicaSpecs", say,
                      arg);
    warn_of_unmatched(v, json_at(mode, "pause", "resumeSpecs"), "runMode.pause.resumeSpecs", say,
                      arg);
}
