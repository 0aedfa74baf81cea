/*
 * replica_pod.c - makes a replica's pod from its template, and its Service; shared by the kinds'
 * own code (job_rules.h: pod_spec).
 *
 * Additions never replace what the user wrote: labels and annotations of the template stay, and a
 * user's environment variable wins (with a warning where that breaks the group). The one exception
 * is restartPolicy, which is always Never: the controller replaces pods, because only it can count
 * restarts over all replicas.
 */
#include "core/replica_pod.h"

#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "core/child.h"
#include "core/job_run.h"
#include "core/pod_state.h"

static void set_identity(const struct job_view *v, const struct replica *r, struct json *labels)
{
    struct arena *a = v->arena;

    json_set_string(a, labels, LABEL_OWNER_NAME, v->name);
    json_set_string(a, labels, LABEL_OWNER_KIND, v->kind->name);
    json_set_string(a, labels, LABEL_REPLICA_TYPE, r->type);
    json_set_stringf(a, labels, LABEL_REPLICA_INDEX, "%" PRId64, r->index);
}

struct json *replica_child_new(const struct job_view *v, const struct kind *kind, const char *name)
{
    return child_new(v->arena, kind, name, v->kind, v->job);
}

/* A copy of a map in the template's metadata, or an empty one. */
static struct json *template_map(struct arena *a, const struct replica *r, const char *which)
{
    const struct json *map = json_at(r->role->spec, "template", "metadata", which);

    return json_is(map, JSON_OBJECT) ? json_clone(a, map) : json_new_object(a);
}

static void set_metadata(const struct job_view *v, const struct replica *r, struct json *pod)
{
    struct arena *a = v->arena;
    struct json *metadata = json_make_object(a, pod, "metadata");
    struct json *labels = json_set(a, metadata, "labels", template_map(a, r, "labels"));
    struct json *annotations = json_set(a, metadata, "annotations",
                                        template_map(a, r, "annotations"));
    const char *folder = object_annotation(v->job, ANNOTATION_FOLDER);
    int64_t processes = v->rules->processes ? v->rules->processes(v, r) : 1;

    set_identity(v, r, labels);
    if (job_is_grouped(v)) {
        json_set_string(a, labels, LABEL_GROUP_NAME, job_child_name(a, v->job));
        json_set_string(a, labels, LABEL_GROUP_ROLE, r->type);
    }
    if (v->rules->name_label)
        json_set_string(a, labels, v->rules->name_label, v->name);
    if (r->rank == 0)
        json_set_string(a, labels, LABEL_JOB_ROLE, "master");
    json_set_stringf(a, annotations, ANNOTATION_MIN_MEMBER, "%" PRId64, job_min_member(v));
    job_group_note(v, annotations);
    json_set_stringf(a, annotations, ANNOTATION_ATTEMPT, "%" PRId64, replica_attempt(v, r));
    if (folder && *folder)
        json_set_string(a, annotations, ANNOTATION_FOLDER, folder);
    if (processes > 1)
        json_set_stringf(a, annotations, ANNOTATION_PROCESSES, "%" PRId64, processes);
}

/* --- environment ------------------------------------------------------------------------------ */

void replica_env_add(struct arena *a, struct json *env, const struct json *container,
                     const char *name, const char *value)
{
    struct json *var;

    if (json_find(json_get(container, "env"), "name", name))
        return;
    var = json_append(env, json_new_object(a));
    json_set_string(a, var, "name", name);
    json_set_string(a, var, "value", value);
}

void replica_env_set(struct arena *a, struct json *container, struct json *env)
{
    json_each (var, json_get(container, "env"))
        json_append(env, json_clone(a, var));
    json_set(a, container, "env", env);
}

/* --- run modes -------------------------------------------------------------------------------- */

static void skip_init_containers(const struct json *entry, struct json *pod_spec)
{
    if (json_get_bool(entry, "skipInitContainer", false))
        json_remove(pod_spec, "initContainers");
}

/* Debug mode: the environment is set up and the user starts the program. */
bool replica_debug(const struct job_view *v, const struct replica *r, struct json *pod_spec)
{
    const struct json *debug = json_at(v->spec, "runMode", "debug");
    const struct json *entry = json_find(json_get(debug, "replicaSpecs"), "type", r->type);
    const struct json *command = json_get(entry, "command");
    struct arena *a = v->arena;

    if (!switched_on(debug))
        return false;
    skip_init_containers(entry, pod_spec);
    for (struct json *c = json_first_mut(json_get_mut(pod_spec, "containers")); c; c = c->next) {
        struct json *wait = json_new_array(a);

        json_append_string(a, wait, "sleep");
        json_append_string(a, wait, "inf");
        json_remove(c, "args");
        json_set(a, c, "command", json_len(command) ? json_clone(a, command) : wait);
    }
    return true;
}

const struct json *replica_resume(const struct job_view *v, const struct replica *r,
                                  struct json *pod_spec)
{
    const struct json *pause = json_at(v->spec, "runMode", "pause");
    const struct json *entry = json_find(json_get(pause, "resumeSpecs"), "type", r->type);

    if (!v->resumed || !entry)
        return NULL;
    skip_init_containers(entry, pod_spec);
    return entry;
}

void replica_resume_command(struct arena *a, const struct json *entry, struct json *container)
{
    json_set(a, container, "command", json_clone(a, json_get(entry, "command")));
    json_set(a, container, "args", json_clone(a, json_get(entry, "args")));
}

struct json *main_container_mut(const struct job_rules *rules, struct json *pod_spec)
{
    const struct json *wanted = main_container(rules, pod_spec);
    struct json *c = json_first_mut(json_get_mut(pod_spec, "containers"));

    while (c && c != wanted)
        c = c->next;
    return c;
}

static struct json *named_field(struct arena *a, const char *node)
{
    struct json *e = json_new_object(a);

    json_set_string(a, e, "key", "metadata.name");
    json_set_string(a, e, "operator", "In");
    json_append_string(a, json_make_array(a, e, "values"), node);
    return e;
}

/* A pod with a nodeName bypasses the scheduler: a gang could be bound by half, on a node that is
 * full or does not exist. So the node becomes an affinity, as with DaemonSets. */
void job_ask_for_node(struct arena *a, struct json *spec)
{
    const char *node = json_get_string(spec, "nodeName", "");
    struct json *affinity = json_make_object(a, spec, "affinity"), *terms;
    bool alone;

    affinity = json_make_object(a, affinity, "nodeAffinity");
    affinity = json_make_object(a, affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    terms = json_make_array(a, affinity, "nodeSelectorTerms");
    alone = json_len(terms) == 0;
    if (alone)
        json_append(terms, json_new_object(a));
    for (struct json *term = json_first_mut(terms); term; term = term->next)
        if (alone || json_len(term) > 0) /* an empty one matches nothing */
            json_append(json_make_array(a, term, "matchFields"), named_field(a, node));
    json_remove(spec, "nodeName");
}

struct json *replica_pod_new(const struct job_view *v, const struct replica *r)
{
    struct arena *a = v->arena;
    struct json *pod = replica_child_new(v, &kind_pod, r->name);
    struct json *spec = v->rules->pod_spec(v, r);

    set_metadata(v, r, pod);
    json_set_string(a, spec, "restartPolicy", "Never");
    if (json_at(v->spec, "scheduler", "t9kScheduler") && !json_get(spec, "schedulerName"))
        json_set_string(a, spec, "schedulerName", "t9k-scheduler");
    json_set(a, pod, "spec", spec);
    if (job_is_grouped(v) && *json_get_string(spec, "nodeName", "") && !pod_foreign_scheduler(pod))
        job_ask_for_node(a, spec);
    return pod;
}

/* Headless: a name for one pod, resolvable before the pod is ready, because that is when ranks
 * meet. */
struct json *replica_service_new(const struct job_view *v, const struct replica *r)
{
    struct arena *a = v->arena;
    struct json *service = replica_child_new(v, &kind_service, r->name);
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

static void warn_of_template(const struct job_view *v, const struct role *role, say_fn *say,
                             void *arg)
{
    const struct json *pod_spec = json_at(role->spec, "template", "spec");
    const char *policy = json_get_string(pod_spec, "restartPolicy", "Never");

    if (strcmp(policy, "Never") != 0)
        say(arg, "RestartPolicyIgnored",
            arena_printf(v->arena,
                         "The template's restartPolicy %s of %s is not used: pods are Never and "
                         "are replaced as replicaSpecs[].restartPolicy says.",
                         policy, role->type));
    for (const char *const *name = v->rules->group_variables; *name; name++)
        if (json_find(json_get(main_container(v->rules, pod_spec), "env"), "name", *name))
            say(arg, "EnvOverridden",
                arena_printf(v->arena, "%s sets %s itself: the replicas may not find each other.",
                             role->type, *name));
}

static bool has_role(const struct job_view *v, const char *type)
{
    for (size_t i = 0; i < v->roles_len; i++)
        if (strcmp(v->roles[i].type, type) == 0)
            return true;
    return false;
}

static void warn_of_unmatched(const struct job_view *v, const struct json *entries,
                              const char *where, say_fn *say, void *arg)
{
    json_each (entry, entries) {
        const char *type = json_get_string(entry, "type", "");

        if (!has_role(v, type))
            say(arg, "NoSuchReplicaType",
                arena_printf(v->arena, "%s names the type \"%s\", which the job does not have.",
                             where, type));
    }
}

void replica_pod_warnings(const struct job_view *v, say_fn *say, void *arg)
{
    const struct json *mode = json_get(v->spec, "runMode");

    for (size_t i = 0; i < v->roles_len; i++)
        warn_of_template(v, &v->roles[i], say, arg);
    warn_of_unmatched(v, json_at(mode, "debug", "replicaSpecs"), "runMode.debug.replicaSpecs", say,
                      arg);
    warn_of_unmatched(v, json_at(mode, "pause", "resumeSpecs"), "runMode.pause.resumeSpecs", say,
                      arg);
}
