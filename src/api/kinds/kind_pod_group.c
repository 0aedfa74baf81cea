/* kind_pod_group.c - PodGroup (scheduler.tensorstack.dev/v1beta1): pods that start together, and
 * where the scheduler placed them. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"

#define ROLES_LIMIT 64

static const struct field role_fields[] = {
    F_STR("name", "Role, as in the pods' label scheduler.tensorstack.dev/role.", REQUIRED),
    F_INT32("minMember", "How many pods of the role must start together.", AT_LEAST(0)),
    {0}};

static const struct field spec_fields[] = {
    F_INT32("minMember", "How many pods must start together.", AT_LEAST(0), DEFAULT("1")),
    F_OBJS("roles", role_fields, "How many pods of each role must start together.",
           KEYED_BY("name"), .max_items = ROLES_LIMIT),
    F_STR("queue", "Queue the group waits in.", DEFAULT("\"default\"")),
    F_INT32("priority", "Priority in the queue; higher ones come first.", BETWEEN(0, 100),
            DEFAULT("0")),
    F_STR("topologyPolicy", "Stored but not used: groups always prefer few nodes."),
    F_INT32("members",
            "How many pods the group's owner wants now: a pod being replaced keeps its room. "
            "Unset: the existing ones.",
            AT_LEAST(0)),
    F_INT64("activeDeadlineSeconds",
            "Maximum run time of the group in seconds. Its job enforces it; the pods of a group "
            "without a job are deleted when it has passed.",
            AT_LEAST(1)),
    {0}};

static const struct field placement_fields[] = {
    F_STR("node", "Node."),
    F_MAP(FIELD_QUANTITY, "requests", "What each member holds on the node."),
    F_STRS("members", "Pods."),
    F_STRS("gpus", "The GPUs of each of them, by index."),
    {0}};

static const struct field awaited_fields[] = {
    F_STRS("members", "Pods."),
    F_PLAIN(FIELD_ANY, "pod", "What determines where each of them may run: requests, selectors."),
    {0}};

static const struct field status_fields[] = {
    F_STR("phase", "Pending: waiting; Running: has room; Paused: its job wants no pods; Finished: "
                   "its pods have ended; Empty: no pod has joined it."),
    F_CONDITIONS(condition_fields,
                 "SufficientGroupMember, GroupScheduled, Preempted, MaxDurationExceeded.",
                 KEYED_BY("type")),
    F_MAP(FIELD_QUANTITY, "allocated", "What the group holds."),
    F_STR("reason", "One word: why the group does not run."),
    F_STR("message", "A sentence: why the group does not run."),
    F_TIME("waitingSince", "When the group started to wait, if it is waiting."),
    F_INT32("place", "Position among the waiting groups of all queues; 21: beyond the 20th."),
    F_OBJS("placements", placement_fields, "The room the group holds, even while a pod restarts."),
    F_STR("preemptedBy",
          "The group that took its room, as namespace/name, or namespace//name for a single pod."),
    F_OBJS("awaited", awaited_fields,
           "The stopped pods of a preempted group. It keeps its place in line until its owner has "
           "created them again."),
    F_INT32("mostMembers",
            "Largest number of members that held room at the same time since the group started."),
    F_INT32("pending", "Pods not running yet."),
    F_INT32("running", "Running pods."),
    F_INT32("succeeded", "Pods that succeeded."),
    F_INT32("failed", "Pods that failed."),
    F_INT32("unknown", "Pods whose node is unreachable."),
    {0}};

static const struct rule spec_rules[] = {
    {.rule = "!has(self.roles) || self.roles.map(r, has(r.minMember) ? r.minMember : 0).sum() <= "
             "self.minMember",
     .field = ".minMember",
     .message = "must be at least the sum of roles[].minMember"},
    {.rule = "!has(oldSelf.queue) || has(self.queue) && self.queue == oldSelf.queue",
     .field = ".queue",
     .message = "a group stays in its queue: create another group for another queue"},
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}"), .rules = spec_rules), F_STATUS(status_fields), {0}};

static void validate(const struct json *group, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(group, "spec"), *before = json_get(old, "spec");
    const struct field_path at = {.name = "spec"};
    int64_t of_roles = 0;

    json_each (role, json_get(spec, "roles"))
        of_roles += json_get_int(role, "minMember", 0);
    if (of_roles > json_get_int(spec, "minMember", 0))
        problem_invalid(err, PATH_MEMBER(&at, "minMember"), json_get(spec, "minMember"),
                        "must be at least the sum of roles[].minMember");
    if (old && !json_equal(json_get(spec, "queue"), json_get(before, "queue")))
        problem_forbidden(err, PATH_MEMBER(&at, "queue"), 0,
                          "a group stays in its queue: create another group for another queue");
}

/* A job lowers the members of its own group as they finish. */
static void warn(const struct json *group, void (*say)(void *arg, const char *text), void *arg)
{
    const struct json *spec = json_get(group, "spec");
    int64_t least = json_get_int(spec, "minMember", 0);

    if (json_get_int(spec, "members", least) < least &&
        json_len(json_at(group, "metadata", "ownerReferences")) == 0)
        say(arg, "spec.members: fewer than minMember: the group does not start");
}

static struct json *render_state(struct arena *a, const struct json *group, int64_t now_ms)
{
    const char *reason = json_string(json_at(group, "status", "reason"), "");
    const struct json *scheduled = object_condition(group, "GroupScheduled");

    (void)now_ms;
    if (*reason)
        return json_new_string(a, reason);
    return json_string_is(json_get(scheduled, "status"), "True") ? json_new_string(a, "Scheduled")
                                                                 : NULL;
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Queue", "string", "Queue.", .path = ".spec.queue"),
    COLUMN("Priority", "integer", "Priority.", .path = ".spec.priority"),
    COLUMN("MinMember", "integer", "Pods that start together.", .path = ".spec.minMember"),
    COLUMN("Running", "integer", "Running pods.", .path = ".status.running"),
    COLUMN("State", "string", "Scheduled, or why not.", .path = ".status.reason",
           .render = render_state),
    COLUMN_AGE,
    COLUMN("Message", "string", "Why it waits.", .priority = 1, .path = ".status.message"),
    {0}};

const struct kind kind_pod_group = {
    KIND_NAMES("scheduler.tensorstack.dev", "v1beta1", "PodGroup", "podgroups", "podgroup"),
    .short_names = (const char *const[]){"pg", NULL},
    .categories = (const char *const[]){"muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "PodGroup is a set of pods that start together or not at all.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .warn = warn};
