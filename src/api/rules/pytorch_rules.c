/* pytorch_rules.c - checks across the fields of a PyTorchTrainingJob, and its warnings. */
#include "api/pytorch_rules.h"

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
#define HASH_DIGITS 5

static const struct json *replica_specs(const struct json *job)
{
    return json_at(job, "spec", "replicaSpecs");
}

static bool asks_for_elastic(const struct json *job)
{
    return json_bool(json_at(job, "spec", "elastic", "enabled"), false);
}

/* Only torchrun can continue with a different number of replicas. */
static bool is_elastic(const struct json *job)
{
    return asks_for_elastic(job) &&
           json_bool(json_at(job, "spec", "torchrunConfig", "enabled"), false);
}

static int64_t sum_of_replicas(const struct json *job)
{
    int64_t total = 0;

    json_each (spec, replica_specs(job))
        total += json_get_int(spec, "replicas", 1);
    return total;
}

int64_t pytorch_total_replicas(const struct json *job)
{
    int64_t sum = sum_of_replicas(job);

    return is_elastic(job) ? json_int(json_at(job, "spec", "elastic", "expectedReplicas"), sum)
                           : sum;
}

/* --- names ---------------------------------------------------------------------------------- */

static int digits_of(int64_t n)
{
    int count = 1;

    for (; n >= 10; n /= 10)
        count++;
    return count;
}

/* Pods and Services are named <job>-<hash5>-<type>-<index>: how many of the 63 characters are left
 * for the job's name. */
static int64_t name_room(const struct json *job, const struct json *spec)
{
    int64_t replicas = json_get_int(spec, "replicas", 1);
    const char *type = json_get_string(spec, "type", "");

    if (asks_for_elastic(job))
        replicas = max_i64(replicas, json_int(json_at(job, "spec", "elastic", "maxReplicas"), 0));
    return NAME_LIMIT -
           (1 + HASH_DIGITS + 1 + (int64_t)strlen(type) + 1 + digits_of(max_i64(replicas - 1, 0)));
}

static void check_name(const struct json *job, struct err *err)
{
    const struct json *name = json_at(job, "metadata", "name");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name");
    const char *text = json_string(name, ""), *tightest = "", *problem;
    int64_t room = NAME_LIMIT;

    if (!*text || dns_name_problem(text))
        return; /* already reported */
    json_each (spec, replica_specs(job))
        if (name_room(job, spec) < room) {
            room = name_room(job, spec);
            tightest = json_get_string(spec, "type", "");
        }
    problem = dns_1035_label_problem(text);
    if ((int64_t)strlen(text) > room)
        problem_invalid(err, at, name,
                        "must be no more than %lld characters, it has %zu: pods and services are "
                        "named NAME-HASH-%.63s-INDEX, which may have 63",
                        (long long)max_i64(room, 0), strlen(text), tightest);
    else if (problem)
        problem_invalid(err, at, name, "services are named after the job: %s", problem);
}

/* --- replicas ------------------------------------------------------------------------------- */

static void check_replicas(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *specs = replica_specs(job);
    const struct field_path *at = PATH_MEMBER(SPEC, "replicaSpecs");
    int64_t total = sum_of_replicas(job);
    size_t i = 0;
    bool negative = false;

    json_each (spec, specs) {
        const struct field_path *template = PATH_MEMBER(PATH_INDEX(at, i), "template");

        negative = negative || json_get_int(spec, "replicas", 1) < 0;
        pod_spec_validate(json_at(spec, "template", "spec"), NULL, PATH_MEMBER(template, "spec"),
                          err);
        if (!old)
            pod_template_annotations_validate(json_at(spec, "template", "metadata"),
                                              PATH_MEMBER(template, "metadata"), err);
        i++;
    }
    if (negative || json_len(specs) == 0)
        return; /* already reported */
    if (total < 1)
        problem_required(err, at, specs->line, "a job needs at least one replica");
    if (total > JOB_REPLICAS_LIMIT) {
        const struct json sum = {.type = JSON_INT, .u.integer = total, .line = specs->line};

        problem_invalid(err, at, &sum, "a job may have at most %d replicas, all types together",
                        JOB_REPLICAS_LIMIT);
    }
}

/* `kubectl scale` of a job that cannot be scaled must not appear to succeed. */
static void check_same_size(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *wanted = json_at(job, "spec", "elastic", "expectedReplicas");

    if (!asks_for_elastic(job) &&
        !json_equal(wanted, json_at(old, "spec", "elastic", "expectedReplicas")))
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(SPEC, "elastic"), "expectedReplicas"), wanted,
                        "may not change unless spec.elastic.enabled is true");
}

static void check_same_replicas(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *specs = replica_specs(job), *before = json_first(replica_specs(old));
    const struct field_path *at = PATH_MEMBER(SPEC, "replicaSpecs");
    size_t i = 0;

    if (json_len(specs) != json_len(replica_specs(old))) {
        problem_forbidden(err, at, specs ? specs->line : 0,
                          "replica types may not be added or removed after creation");
        return;
    }
    json_each (spec, specs) {
        const struct field_path *here = PATH_INDEX(at, i++);
        const struct json *type = json_get(spec, "type"), *count = json_get(spec, "replicas");

        if (!json_equal(type, json_get(before, "type")))
            problem_invalid(err, PATH_MEMBER(here, "type"), type,
                            "field is immutable: types and their order give replicas their ranks");
        if (!is_elastic(job) && !json_equal(count, json_get(before, "replicas")))
            problem_invalid(err, PATH_MEMBER(here, "replicas"), count,
                            "field is immutable unless spec.elastic.enabled and "
                            "spec.torchrunConfig.enabled are true");
        before = before->next;
    }
    check_same_size(job, old, err);
}

/* --- elastic, torchrun ---------------------------------------------------------------------- */

static void check_elastic(const struct json *job, struct err *err)
{
    const struct json *elastic = json_at(job, "spec", "elastic");
    const struct field_path *at = PATH_MEMBER(SPEC, "elastic");
    const struct json *least = json_get(elastic, "minReplicas");
    const struct json *most = json_get(elastic, "maxReplicas");
    const struct json *wanted = json_get(elastic, "expectedReplicas");

    if (!asks_for_elastic(job))
        return;
    if (!least)
        problem_required(err, PATH_MEMBER(at, "minReplicas"), elastic->line,
                         "required for elastic training");
    if (!most)
        problem_required(err, PATH_MEMBER(at, "maxReplicas"), elastic->line,
                         "required for elastic training");
    if (least && most && json_int(least, 0) > json_int(most, 0))
        problem_invalid(err, PATH_MEMBER(at, "maxReplicas"), most,
                        "must be greater than or equal to minReplicas, which is %lld",
                        (long long)json_int(least, 0));
    else if (wanted && (json_int(wanted, 0) < json_int(least, 0) ||
                        json_int(wanted, 0) > json_int(most, INT64_MAX)))
        problem_invalid(err, PATH_MEMBER(at, "expectedReplicas"), wanted,
                        "must be between minReplicas and maxReplicas, %lld and %lld",
                        (long long)json_int(least, 0), (long long)json_int(most, 0));
}

static void check_torchrun(const struct json *job, struct err *err)
{
    const struct json *per_node = json_at(job, "spec", "torchrunConfig", "procPerNode");
    const char *text = json_string(per_node, "");

    if (!*text || strcmp(text, "gpu") == 0)
        return;
    if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 4 ||
        strtol(text, NULL, 10) < 1)
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(SPEC, "torchrunConfig"), "procPerNode"),
                        per_node, "must be a number of processes (\"1\" to \"9999\") or \"gpu\"");
}

static const struct json *min_nodes(const struct json *job)
{
    return json_at(job, "spec", "torchrunConfig", "minNodes");
}

/* A stored job that was accepted earlier stays valid until either number changes. */
static void check_min_nodes(const struct json *job, const struct json *old, struct err *err)
{
    const struct json *least = min_nodes(job);
    int64_t total = sum_of_replicas(job);

    if (asks_for_elastic(job) || json_int(least, 0) <= total || total < 1)
        return;
    if (old && json_equal(least, min_nodes(old)) && total == sum_of_replicas(old))
        return;
    problem_invalid(err, PATH_MEMBER(PATH_MEMBER(SPEC, "torchrunConfig"), "minNodes"), least,
                    "must be no more than the job's replicas, which are %lld", (long long)total);
}

void pytorch_validate(const struct json *job, const struct json *old, struct err *err)
{
    job_validate(job, old, err);
    if (!old)
        check_name(job, err);
    check_replicas(job, old, err);
    check_elastic(job, err);
    check_torchrun(job, err);
    check_min_nodes(job, old, err);
    tensorboard_spec_validate(json_at(job, "spec", "tensorboardSpec"),
                              PATH_MEMBER(SPEC, "tensorboardSpec"), err);
    if (old)
        check_same_replicas(job, old, err);
}

/* --- warnings ------------------------------------------------------------------------------- */

static bool has_type(const struct json *job, const char *type)
{
    return json_find(replica_specs(job), "type", type);
}

static const struct json *training_container(const struct json *pod_spec)
{
    const struct json *containers = json_get(pod_spec, "containers");
    const struct json *python = json_find(containers, "name", "python");

    return python ? python : json_index(containers, 0);
}

/* The user's value overrides the one the group needs. */
static void warn_env(const struct speaker *s, const struct json *pod_spec, size_t index)
{
    static const char *const ours[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

    json_each (env, json_get(training_container(pod_spec), "env"))
        for (size_t i = 0; i < ELEMS(ours); i++)
            if (json_string_is(json_get(env, "name"), ours[i]))
                speaker_say(
                    s,
                    "spec.replicaSpecs[%zu].template: %s is set by hand and not by the job, the "
                    "replicas may not find each other",
                    index, ours[i]);
}

static void warn_templates(const struct speaker *s, const struct json *job)
{
    size_t i = 0;

    json_each (spec, replica_specs(job)) {
        job_warn_template(s, spec, i);
        warn_env(s, json_at(spec, "template", "spec"), i);
        i++;
    }
}

/* torchrun replaces the command and runs args: with a command and no args it would have nothing to
 * run. */
static void warn_torchrun(const struct speaker *s, const struct json *job)
{
    size_t i = 0;

    if (!json_bool(json_at(job, "spec", "torchrunConfig", "enabled"), false) ||
        json_bool(json_at(job, "spec", "runMode", "debug", "enabled"), false))
        return;
    json_each (spec, replica_specs(job)) {
        const struct json *c = training_container(json_at(spec, "template", "spec"));

        if (c && json_len(json_get(c, "args")) == 0)
            speaker_say(
                s,
                "spec.replicaSpecs[%zu].template: torchrun does not use the command of container "
                "\"%.63s\", and it has no args: put the script and its arguments there",
                i, json_get_string(c, "name", ""));
        i++;
    }
}

static void warn_unused_torchrun(const struct speaker *s, const struct json *job)
{
    static const char *const names[] = {"procPerNode", "maxRestarts", "minNodes", "extraOptions"};
    const struct json *config = json_at(job, "spec", "torchrunConfig");

    if (json_get_bool(config, "enabled", false))
        return;
    for (size_t i = 0; i < ELEMS(names); i++)
        if (json_get(config, names[i]))
            speaker_say(s,
                        "spec.torchrunConfig.%s: has no effect without "
                        "spec.torchrunConfig.enabled",
                        names[i]);
}

static bool has_policy(const struct json *job, const char *policy)
{
    json_each (spec, replica_specs(job))
        if (json_string_is(json_get(spec, "restartPolicy"), policy))
            return true;
    return false;
}

static void warn_restarts(const struct speaker *s, const struct json *job)
{
    const struct json *policy = json_at(job, "spec", "runPolicy");

    if (json_len(json_get(policy, "restartableExitCodes")) > 0 && !has_policy(job, "ExitCode"))
        speaker_say(s, "spec.runPolicy.restartableExitCodes: has no effect, no replica's "
                       "restartPolicy is ExitCode");
    if (json_string_is(json_get(policy, "restartScope"), "Job") && !has_policy(job, "ExitCode") &&
        !has_policy(job, "OnFailure") && !has_policy(job, "Always"))
        speaker_say(s, "spec.runPolicy.restartScope: has no effect, every replica's restartPolicy "
                       "is Never");
}

static void warn_weights(const struct speaker *s, const struct json *job)
{
    size_t i = 0;

    json_each (spec, replica_specs(job)) {
        if (json_get(spec, "scalingWeight"))
            speaker_say(s,
                        "spec.replicaSpecs[%zu].scalingWeight: has no effect without "
                        "spec.elastic.enabled",
                        i);
        i++;
    }
}

void pytorch_warn(const struct json *job, void (*say_one)(void *arg, const char *text), void *arg)
{
    const struct speaker s = {.say = say_one, .arg = arg};

    job_warn_run_mode(&s, job, has_type);
    warn_templates(&s, job);
    warn_torchrun(&s, job);
    warn_unused_torchrun(&s, job);
    warn_restarts(&s, job);
    if (!asks_for_elastic(job))
        warn_weights(&s, job);
    if (asks_for_elastic(job) && !is_elastic(job))
        speaker_say(&s, "spec.elastic.enabled: has no effect without spec.torchrunConfig.enabled");
    if (asks_for_elastic(job) && min_nodes(job))
        speaker_say(&s, "spec.torchrunConfig.minNodes: is not used, spec.elastic.minReplicas is");
}
