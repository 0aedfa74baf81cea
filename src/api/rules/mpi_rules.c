/* mpi_rules.c - checks across the fields of an MPIJob, and its warnings. Layouts are unified first
 * (mpi_layouts.c). */
#include "api/mpi_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds/job_fields.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/rules/job_warnings.h"
#include "api/tensorboard_rules.h"

#define SPEC PATH_MEMBER(NULL, "spec")
#define NAME_LIMIT 63
#define SLOTS_LIMIT 9999

static bool debugs(const struct json *spec)
{
    return json_bool(json_at(spec, "runMode", "debug", "enabled"), false);
}

int64_t mpi_workers(const struct json *spec)
{
    return json_get_int(mpi_replica_spec(spec, MPI_WORKER), "replicas", 1);
}

const struct json *mpi_worker_container(const struct json *pod_spec)
{
    static const char *const names[] = {"worker", "mpi-worker"};
    const struct json *containers = json_get(pod_spec, "containers");

    for (size_t i = 0; i < ELEMS(names); i++)
        json_each (c, containers)
            if (json_string_is(json_get(c, "name"), names[i]))
                return c;
    return json_first(containers);
}

/* --- slots ------------------------------------------------------------------------------------ */

static int64_t count_of(const char *text)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;

    return text && *text && !*end && value > 0 && value <= SLOTS_LIMIT ? value : 0;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* "ppr:4:node" */
static int64_t per_resource(const char *mapping)
{
    char count[8];

    if (strncmp(mapping, "ppr:", 4) != 0 || strcspn(mapping + 4, ":") >= sizeof(count))
        return 0;
    (void)snprintf(count, sizeof(count), "%.*s", (int)strcspn(mapping + 4, ":"), mapping + 4);
    return strcmp(mapping + 4 + strlen(count), ":node") == 0 ? count_of(count) : 0;
}

int64_t mpi_slots(const struct json *spec)
{
    static const char *const each[] = {"-N",    "-npernode", "--npernode", "-ppn",
                                       "--ppn", "-perhost",  "--perhost",  NULL};
    static const char *const all[] = {"-np", "--np", "-n", "--n", "-c", NULL};
    static const char *const mapping[] = {"-map-by", "--map-by", NULL};
    const struct json *config = json_get(spec, "mpiConfig");
    int64_t slots = json_get_int(config, "slotsPerWorker", 0), total = 0;
    int64_t workers = max_i64(mpi_workers(spec), 1);

    json_each (arg, json_get(config, "extraArgs")) {
        const char *option = json_string(arg, ""), *value = json_string(arg->next, "");

        if (slots == 0 && is_one_of(option, each))
            slots = count_of(value);
        else if (slots == 0 && is_one_of(option, mapping))
            slots = per_resource(value);
        else if (is_one_of(option, all))
            total = count_of(value);
    }
    if (slots == 0)
        slots = (total + workers - 1) / workers;
    return max_i64(slots, 1);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Pods are named <job>-<hash5>-launcher and <job>-<hash5>-worker-<index>. */
static void check_name(const struct json *job, struct err *err)
{
    const struct json *name = json_at(job, "metadata", "name");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name");
    const char *text = json_string(name, "");
    char longest[NAME_LIMIT];
    size_t room;

    if (!*text || dns_name_problem(text))
        return; /* already reported */
    (void)snprintf(longest, sizeof(longest), "-hash5-worker-%lld",
                   (long long)max_i64(mpi_workers(json_get(job, "spec")) - 1, 0));
    room = NAME_LIMIT - max_size(strlen(longest), strlen("-hash5-launcher"));
    if (strlen(text) > room)
        problem_invalid(err, at, name,
                        "must be no more than %zu characters, it has %zu: pods are named "
                        "NAME-HASH-launcher and NAME-HASH-worker-INDEX, which may have 63",
                        room, strlen(text));
    else if (dns_1035_label_problem(text))
        problem_invalid(err, at, name, "pods are named after the job: %s",
                        dns_1035_label_problem(text));
}

static void check_worker_template(const struct json *entry, const struct field_path *at,
                                  struct err *err)
{
    const struct json *pod_spec = json_at(entry, "template", "spec");
    const struct json *containers = json_get(pod_spec, "containers");
    const struct field_path *here = PATH_MEMBER(PATH_MEMBER(at, "template"), "spec");
    const char *name = json_get_string(mpi_worker_container(pod_spec), "name", "");

    if (!pod_spec)
        problem_required(err, here, entry->line, "the workers' pods need a container");
    else if (json_len(containers) > 1 && strcmp(name, "worker") != 0 &&
             strcmp(name, "mpi-worker") != 0)
        problem_invalid(err, PATH_MEMBER(PATH_INDEX(PATH_MEMBER(here, "containers"), 0), "name"),
                        json_at(json_first(containers), "name"),
                        "of several containers one must be called worker (or mpi-worker): the MPI "
                        "program runs there");
}

static void check_entry(const struct json *entry, bool is_new, const struct field_path *at,
                        struct err *err)
{
    const struct json *replicas = json_get(entry, "replicas");
    const struct field_path *template = PATH_MEMBER(at, "template");

    pod_spec_validate(json_at(entry, "template", "spec"), NULL, PATH_MEMBER(template, "spec"), err);
    if (is_new)
        pod_template_annotations_validate(json_at(entry, "template", "metadata"),
                                          PATH_MEMBER(template, "metadata"), err);
    if (json_string_is(json_get(entry, "type"), MPI_WORKER))
        check_worker_template(entry, at, err);
    else if (json_int(replicas, 1) != 1)
        problem_invalid(err, PATH_MEMBER(at, "replicas"), replicas, "a job has one launcher");
}

static void check_replicas(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(job, "spec"), *specs = json_get(spec, "replicaSpecs");
    const struct field_path *at = PATH_MEMBER(SPEC, "replicaSpecs");
    size_t i = 0;

    if (!mpi_replica_spec(spec, MPI_WORKER)) {
        problem_required(err, at, specs ? specs->line : 0,
                         "a job needs an entry of type worker (or spec.worker, in the older "
                         "layout)");
        return;
    }
    json_each (entry, specs)
        check_entry(entry, !old, PATH_INDEX(at, i++), err);
    if (mpi_workers(spec) >= JOB_REPLICAS_LIMIT)
        problem_forbidden(err, at, specs->line, "a job may have at most %d workers and a launcher",
                          JOB_REPLICAS_LIMIT - 1);
}

static void check_config(const struct json *job, struct err *err)
{
    const struct json *spec = json_get(job, "spec"), *config = json_get(spec, "mpiConfig");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(SPEC, "mpiConfig"), "script");

    if (json_len(json_get(config, "script")) == 0 && !debugs(spec))
        problem_required(err, at, config ? config->line : 0, "the MPI program and its arguments");
}

static void check_same_types(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *specs = json_at(job, "spec", "replicaSpecs");

    if (json_len(specs) != json_len(json_at(old, "spec", "replicaSpecs")))
        problem_forbidden(err, PATH_MEMBER(SPEC, "replicaSpecs"), specs ? specs->line : 0,
                          "replica types may not be added or removed after creation");
}

void mpi_validate(const struct json *job, const struct json *old, struct err *err)
{
    job_validate(job, old, err);
    if (!old)
        check_name(job, err);
    check_replicas(job, old, err);
    check_config(job, err);
    tensorboard_spec_validate(json_at(job, "spec", "tensorboardSpec"),
                              PATH_MEMBER(SPEC, "tensorboardSpec"), err);
    if (old)
        check_same_types(job, old, err);
}

/* --- warnings --------------------------------------------------------------------------------- */

static bool has_type(const struct json *job, const char *type)
{
    (void)job;
    return strcmp(type, MPI_LAUNCHER) == 0 || strcmp(type, MPI_WORKER) == 0;
}

static void warn_templates(const struct speaker *s, const struct json *spec)
{
    size_t i = 0;

    json_each (entry, json_get(spec, "replicaSpecs")) {
        bool launcher = json_string_is(json_get(entry, "type"), MPI_LAUNCHER);

        job_warn_template(s, entry, i);
        json_each (c, json_at(entry, "template", "spec", "containers"))
            if (launcher && json_string_is(json_get(c, "name"), MPI_LAUNCHER) &&
                (json_get(c, "command") || json_get(c, "args")))
                speaker_say(
                    s,
                    "spec.replicaSpecs[%zu].template: command and args of the launcher are not "
                    "used, it starts spec.mpiConfig.script on the workers",
                    i);
        i++;
    }
}

void mpi_warn(const struct json *job, void (*say_one)(void *arg, const char *text), void *arg)
{
    const struct speaker s = {.say = say_one, .arg = arg};

    job_warn_run_mode(&s, job, has_type);
    warn_templates(&s, json_get(job, "spec"));
}
