/* jobphase.c - see jobphase.h. */
#include "cli/jobphase.h"

#include <stdio.h>
#include <string.h>

const char *job_phase(const struct json *job)
{
    return json_string(json_at(job, "status", "phase"), "Pending");
}

bool job_has_succeeded(const struct json *job)
{
    return strcmp(job_phase(job), "Succeeded") == 0;
}

bool job_is_finished(const struct json *job)
{
    return job_has_succeeded(job) || strcmp(job_phase(job), "Failed") == 0;
}

const char *job_why(const struct json *job)
{
    return json_string(json_at(job, "status", "message"), "");
}

int64_t job_restarts(const struct json *job)
{
    return json_int(json_at(job, "status", "backoffCount"), 0);
}

int64_t job_running(const struct json *job)
{
    return json_int(json_at(job, "status", "aggregate", "running"), 0);
}

int64_t job_replicas(const struct json *job)
{
    const struct json *tasks = json_at(job, "status", "tasks");
    int64_t sum = 0;

    /* A job may have replicas its spec does not mention: the launcher of an MPIJob. */
    json_each (task, tasks)
        sum += (int64_t)json_len(json_get(task, "replicas"));
    if (tasks)
        return sum;
    json_each (replica, json_at(job, "spec", "replicaSpecs"))
        sum += json_get_int(replica, "replicas", 1);
    return sum;
}

const char *jobphase_news(struct jobphase *last, struct arena *a, const struct json *job)
{
    const char *phase = job_phase(job), *why = job_why(job);
    struct jobphase now = {.running = job_running(job), .restarts = job_restarts(job), .any = true};
    struct jobphase before = *last;
    bool running = strcmp(phase, "Running") == 0;

    (void)snprintf(now.phase, sizeof(now.phase), "%s", phase);
    (void)snprintf(now.why, sizeof(now.why), "%s", why);
    *last = now;
    if (job_is_finished(job))
        return NULL;
    if (now.restarts > before.restarts && before.any)
        return arena_printf(
            a, "restart %lld of %lld%s%s", (long long)now.restarts,
            (long long)json_int(json_at(job, "spec", "runPolicy", "backoffLimit"), 3),
            *why ? ": " : "", why);
    /* Replicas that have done their part are no news, those that start are. */
    if (running && (now.running > before.running || strcmp(before.phase, phase) != 0))
        return arena_printf(a, "running %lld/%lld", (long long)now.running,
                            (long long)job_replicas(job));
    if (running ||
        (before.any && strcmp(before.phase, phase) == 0 && strcmp(before.why, now.why) == 0))
        return NULL;
    if (strcmp(phase, "Pending") == 0)
        return *why ? arena_printf(a, "waiting: %s", why) : NULL;
    return arena_printf(a, "%s%s%s", phase, *why ? ": " : "", why);
}
