/*
 * job_conditions.c - the six conditions, one function each in a table. Reasons and messages match
 * T9k's exactly where it has one.
 */
#include <inttypes.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/job_status.h"

#define NOTHING_SPECIAL "-"
#define ALL_WELL "All pods are running normally or have completed successfully."

struct verdict {
    const char *status; /* "True", "False"; NULL: unchanged */
    const char *reason, *message;
};

static const struct verdict unchanged = {0};

static bool ended_badly(const struct job_view *v)
{
    return v->ending != ENDING_NONE && v->ending != ENDING_SUCCEEDED;
}

/* Failed, unless by the deadline, which has its own reason. */
static const char *failed_reason(const struct job_view *v)
{
    return v->ending == ENDING_DEADLINE ? job_ending_reason(v->ending) : "Failed";
}

static struct verdict initialized(const struct job_view *v)
{
    if (v->phase == JOB_PAUSED || v->len == 0 || v->counts[REPLICA_CREATING] > 0)
        return unchanged;
    return (struct verdict){"True", NOTHING_SPECIAL, "The job has been initialized successfully."};
}

static struct verdict running(const struct job_view *v)
{
    int64_t well = v->counts[REPLICA_RUNNING] + v->counts[REPLICA_SUCCEEDED];

    if (v->ending == ENDING_SUCCEEDED)
        return (struct verdict){"False", "Succeeded", v->ending_text};
    if (ended_badly(v))
        return (struct verdict){"False", failed_reason(v), v->ending_text};
    if (v->phase != JOB_RUNNING)
        return (struct verdict){"False", job_phase_name(v->phase), v->why_message};
    if (well == (int64_t)v->len)
        return (struct verdict){"True", NOTHING_SPECIAL, ALL_WELL};
    return (struct verdict){"True", NOTHING_SPECIAL,
                            arena_printf(v->arena, "%" PRId64 " of %zu pods are running.",
                                         v->counts[REPLICA_RUNNING], v->len)};
}

static struct verdict replica_failure(const struct job_view *v)
{
    if (ended_badly(v) && v->ending != ENDING_DEADLINE)
        return (struct verdict){"True", "Failed", v->ending_text};
    if (v->counts[REPLICA_FAILED] > 0)
        return (struct verdict){"True", "ReplicaFailed", job_failure_text(v)};
    if (v->phase == JOB_RUNNING || v->ending == ENDING_SUCCEEDED)
        return (struct verdict){"False", NOTHING_SPECIAL, ALL_WELL};
    return (struct verdict){"False", NOTHING_SPECIAL, "No replica has failed."};
}

static struct verdict completed(const struct job_view *v)
{
    if (v->ending == ENDING_SUCCEEDED)
        return (struct verdict){"True", "Succeeded", v->ending_text};
    if (ended_badly(v))
        return (struct verdict){"True", "Failed", v->ending_text};
    if (v->phase == JOB_PAUSED)
        return (struct verdict){"False", "NotFinished", "The job is paused."};
    if (v->phase == JOB_RUNNING)
        return (struct verdict){"False", "NotFinished", "The job is still running."};
    return unchanged;
}

static struct verdict failed(const struct job_view *v)
{
    if (v->ending == ENDING_SUCCEEDED)
        return (struct verdict){"False", "Succeeded", v->ending_text};
    if (ended_badly(v))
        return (struct verdict){"True", failed_reason(v), v->ending_text};
    return unchanged;
}

static struct verdict paused(const struct job_view *v)
{
    if (v->phase == JOB_PAUSED)
        return (struct verdict){"True", "Paused", "The job is paused."};
    if (v->pause_count > 0)
        return (struct verdict){"False", "Resumed", "The job has been resumed."};
    return unchanged;
}

static const struct {
    const char *type;
    struct verdict (*decide)(const struct job_view *v);
} rules[] = {
    {"Initialized", initialized}, {"Running", running}, {"ReplicaFailure", replica_failure},
    {"Completed", completed},     {"Failed", failed},   {"Paused", paused},
};

static struct json *condition_new(const struct job_view *v, const char *type, struct verdict now)
{
    const struct json *old = object_condition(v->job, type);
    struct json *c = json_new_object(v->arena);
    char time[TIME_TEXT_SIZE];

    if (!now.status)
        return json_clone(v->arena, old);
    json_set_string(v->arena, c, "type", type);
    json_set_string(v->arena, c, "status", now.status);
    json_set_string(v->arena, c, "reason", now.reason);
    json_set_string(v->arena, c, "message", now.message);
    json_set_string(v->arena, c, "lastTransitionTime",
                    json_string_is(json_get(old, "status"), now.status)
                        ? json_get_string(old, "lastTransitionTime", "")
                        : time_format(v->now_ms, time));
    return c;
}

static bool is_ours(const struct json *condition)
{
    for (size_t i = 0; i < ELEMS(rules); i++)
        if (json_string_is(json_get(condition, "type"), rules[i].type))
            return true;
    return false;
}

void job_conditions_set(const struct job_view *v, struct json *status)
{
    struct json *list = json_new_array(v->arena);

    for (size_t i = 0; i < ELEMS(rules); i++)
        json_append(list, condition_new(v, rules[i].type, rules[i].decide(v)));
    json_each (other, json_get(status, "conditions"))
        if (!is_ours(other))
            json_append(list, json_clone(v->arena, other));
    json_set(v->arena, status, "conditions", list);
}
