/* pod_failure.c - see pod_failure.h. The first rule that matches decides. */
#include "core/pod_failure.h"

#include <inttypes.h>
#include <string.h>

#include "api/object.h"
#include "core/pod_state.h"

/* Set by Kubernetes on a pod that was terminated through no fault of its own. */
#define DISRUPTION "DisruptionTarget"

static const struct json *failed_end(const struct json *container_status)
{
    const struct json *end = json_at(container_status, "state", "terminated");

    return json_get_int(end, "exitCode", 0) != 0 ? end : NULL;
}

static bool code_matches(const struct json *rule, int64_t code)
{
    bool listed = false;

    json_each (v, json_get(rule, "values"))
        listed = listed || json_int(v, -1) == code;
    return listed == json_string_is(json_get(rule, "operator"), "In");
}

static const struct json *matching_container(const struct json *rule, const struct json *pod)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    const char *name = json_get_string(rule, "containerName", "");

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (c, json_at(pod, "status", lists[i])) {
            const struct json *end = failed_end(c);

            if ((!*name || json_string_is(json_get(c, "name"), name)) && end &&
                code_matches(rule, json_get_int(end, "exitCode", 0)))
                return c;
        }
    return NULL;
}

static bool has_condition(const struct json *pattern, const struct json *pod)
{
    const char *type = json_get_string(pattern, "type", "");
    const char *status = json_get_string(pattern, "status", "True");
    const struct json *c = object_condition(pod, type);

    if (!c && strcmp(type, DISRUPTION) == 0 && strcmp(status, "True") == 0)
        return pod_state_of(pod, NULL).lost;
    return json_string_is(json_get(c, "status"), status);
}

static const char *rule_matches(struct arena *a, const struct json *rule, const struct json *pod,
                                size_t index)
{
    const struct json *codes = json_get(rule, "onExitCodes");
    const struct json *c = codes ? matching_container(codes, pod) : NULL;
    const char *action = json_get_string(rule, "action", "");

    if (c)
        return arena_printf(a,
                            "Container %s for pod %s/%s failed with exit code %" PRId64
                            " matching %s rule at index %zu",
                            json_get_string(c, "name", ""), object_namespace(pod), object_name(pod),
                            json_get_int(failed_end(c), "exitCode", 0), action, index);
    json_each (pattern, json_get(rule, "onPodConditions"))
        if (has_condition(pattern, pod))
            return arena_printf(a, "Pod %s/%s has condition %s matching %s rule at index %zu",
                                object_namespace(pod), object_name(pod),
                                json_get_string(pattern, "type", ""), action, index);
    return NULL;
}

static enum failure_action action_of(const char *word)
{
    static const char *const words[] = {[FAILURE_COUNT] = "Count",
                                        [FAILURE_IGNORE] = "Ignore",
                                        [FAILURE_FAIL_INDEX] = "FailIndex",
                                        [FAILURE_FAIL_JOB] = "FailJob"};

    for (size_t i = 0; i < ELEMS(words); i++)
        if (strcmp(words[i], word) == 0)
            return (enum failure_action)i;
    return FAILURE_COUNT;
}

enum failure_action pod_failure_action(struct arena *a, const struct json *policy,
                                       const struct json *pod, const char **ret_why)
{
    size_t i = 0;

    json_each (rule, json_get(policy, "rules")) {
        const char *why = rule_matches(a, rule, pod, i++);

        if (why) {
            *ret_why = why;
            return action_of(json_get_string(rule, "action", ""));
        }
    }
    return FAILURE_COUNT;
}
