/* jobphase.c - see jobphase.h. */
#include "cli/jobphase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "cli/words.h"

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

/* Without "KIND NAME has failed: ", which is known where the sentence is shown. */
const char *job_why(const struct json *job)
{
    static const char failed[] = " has failed: ";
    const char *why = json_string(json_at(job, "status", "message"), "");
    const char *kind = json_get_string(job, "kind", ""), *rest = strstr(why, failed);

    return rest && *kind && strncmp(why, kind, strlen(kind)) == 0 ? rest + strlen(failed) : why;
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

static double number_of(const struct json *v)
{
    if (json_is(v, JSON_INT))
        return (double)v->u.integer;
    return json_is(v, JSON_REAL) ? strtod(v->u.text, NULL) : NAN;
}

printf_like(2, 3) static void say(char out[JOB_PROGRESS_SIZE], const char *fmt, ...)
{
    size_t len = strlen(out);
    va_list args;

    if (len)
        len += (size_t)snprintf(out + len, JOB_PROGRESS_SIZE - len, ", ");
    va_start(args, fmt);
    if (len < JOB_PROGRESS_SIZE)
        (void)vsnprintf(out + len, JOB_PROGRESS_SIZE - len, fmt, args);
    va_end(args);
}

const char *job_progress(const struct json *job, bool all, char out[JOB_PROGRESS_SIZE])
{
    const struct json *p = json_at(job, "status", "progress");
    const struct json *loss = json_get(p, "loss"), *left = json_get(p, "secondsLeft");
    double fraction = number_of(json_get(p, "fraction"));
    double rate = number_of(json_get(p, "stepsPerSecond"));
    char time[TIME_TEXT_SIZE];

    out[0] = '\0';
    if (isfinite(fraction))
        say(out, "%.0f%%", floor(fraction * 100));
    if (json_is(left, JSON_INT) && strcmp(job_phase(job), "Running") == 0)
        say(out, "%s left", time_age(json_int(left, 0) * 1000, time));
    if (json_is(json_get(p, "step"), JSON_INT) && (all || !isfinite(fraction)))
        say(out, "step %lld", (long long)json_get_int(p, "step", 0));
    if (isfinite(number_of(loss)))
        say(out, "loss %.4g", number_of(loss));
    else if (json_is(loss, JSON_STRING))
        say(out, "loss %.20s", json_string(loss, ""));
    if (all && isfinite(rate))
        say(out, "%.3g steps/s", rate);
    return out;
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
            a, words("restart %lld of %lld%s%s"), (long long)now.restarts,
            (long long)json_int(json_at(job, "spec", "runPolicy", "backoffLimit"), 3),
            *why ? ": " : "", why);
    /* Replicas that finish are no news, those that start are. */
    if (running && (now.running > before.running || strcmp(before.phase, phase) != 0))
        return arena_printf(a, words("running %lld/%lld"), (long long)now.running,
                            (long long)job_replicas(job));
    if (running ||
        (before.any && strcmp(before.phase, phase) == 0 && strcmp(before.why, now.why) == 0))
        return NULL;
    if (strcmp(phase, "Pending") == 0)
        return *why ? arena_printf(a, words("waiting: %s"), why) : NULL;
    return arena_printf(a, "%s%s%s", phase, *why ? ": " : "", why);
}
