/* node_loss.c - see node_loss.h. */
#include "core/node_loss.h"

#include <inttypes.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "core/pod_state.h"

const char *node_heartbeat(const struct json *node)
{
    return json_get_string(object_condition(node, "Ready"), "lastHeartbeatTime", "");
}

bool node_is_silent(const struct json *node)
{
    return json_string_is(json_get(object_condition(node, "Ready"), "status"), "Unknown");
}

/* Only for this version of the object: a heartbeat in between wins. */
static struct json *patch_new(struct arena *a, const struct json *object)
{
    struct json *patch = json_new_object(a);

    json_set_string(a, json_make_object(a, patch, "metadata"), "resourceVersion",
                    object_resource_version(object));
    return patch;
}

static struct json *silent_condition(struct arena *a, const struct json *old, int64_t silent_ms,
                                     int64_t now_ms)
{
    struct json *c = old ? json_clone(a, old) : json_new_object(a);
    char time[TIME_TEXT_SIZE];

    json_set_string(a, c, "type", "Ready");
    json_set_string(a, c, "status", "Unknown");
    json_set_string(a, c, "reason", "NodeStatusUnknown");
    json_set_stringf(a, c, "message", "the node has not reported for %" PRId64 " s",
                     silent_ms / 1000);
    json_set_string(a, c, "lastTransitionTime", time_format(now_ms, time));
    return c;
}

static void mark_node(const struct json *node, int64_t silent_ms, int64_t now_ms, struct plan *plan)
{
    const struct json *ready = object_condition(node, "Ready");
    struct arena *a = plan->arena;
    struct json *patch = patch_new(a, node);
    struct json *list = json_make_array(a, json_make_object(a, patch, "status"), "conditions");

    json_each (c, json_at(node, "status", "conditions"))
        if (c != ready)
            json_append(list, json_clone(a, c));
    json_append(list, silent_condition(a, ready, silent_ms, now_ms));
    plan_patch(plan, &kind_node, node, patch);
    plan_next_stage(plan);
    plan_event(plan, &kind_node, node, "Warning", "NodeNotReady",
               "The node has not reported for %" PRId64 " s: it gets no new pods, and those it has "
               "are replaced after %" PRId64 " s",
               silent_ms / 1000, NODE_LOST_AFTER_MS / 1000);
}

static void give_up(const struct json *pod, const char *why, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *patch, *status;

    if (object_is_deleting(pod)) { /* its node cannot confirm that it has stopped */
        plan_delete(plan, &kind_pod, pod, 0);
        return;
    }
    if (pod_is_finished(pod))
        return;
    patch = patch_new(a, pod);
    status = json_make_object(a, patch, "status");
    json_set_string(a, status, "phase", "Failed");
    json_set_string(a, status, "reason", "NodeLost");
    json_set_string(a, status, "message", why);
    plan_patch(plan, &kind_pod, pod, patch);
}

static void give_up_all(const char *node, const struct json *const *pods, size_t pods_len,
                        const char *why, struct plan *plan)
{
    for (size_t i = 0; i < pods_len; i++)
        if (json_string_is(json_at(pods[i], "spec", "nodeName"), node))
            give_up(pods[i], why, plan);
}

void node_loss_plan(const struct json *node, const struct json *const *pods, size_t pods_len,
                    int64_t silent_ms, int64_t now_ms, struct plan *plan)
{
    if (!node_is_silent(node)) {
        mark_node(node, silent_ms, now_ms, plan);
        return;
    }
    give_up_all(object_name(node), pods, pods_len,
                arena_printf(plan->arena, "node %s has not reported for %" PRId64 " s",
                             object_name(node), NODE_LOST_AFTER_MS / 1000),
                plan);
}

void node_absence_plan(const char *name, const struct json *const *pods, size_t pods_len,
                       struct plan *plan)
{
    give_up_all(name, pods, pods_len, arena_printf(plan->arena, "node %s does not exist", name),
                plan);
}
