/* kind_queue.c - Queue (scheduler.tensorstack.dev/v1beta1): a share of the cluster in which pod
 * groups wait their turn. */
#include <stdio.h>
#include <string.h>

#include "api/columns.h"
#include "api/duration.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/object.h"

static const struct field quota_fields[] = {
    F_MAP(FIELD_QUANTITY, "requests",
          "How much all groups in the queue may hold together: cpu, memory, nvidia.com/gpu, "
          "nvidia.com/gpu.shared. Other resources are not limited.",
          AT_LEAST(0)),
    {0}};

static const struct field spec_fields[] = {
    F_OBJ("quota", quota_fields, "How much the queue may hold."),
    F_INT32("priority",
            "0 to 100; groups in a higher queue come first, and may preempt lower ones.",
            BETWEEN(0, 100), DEFAULT("0")),
    F_BOOL("preemptible", "Whether groups in this queue may be preempted. True by default."),
    F_BOOL("closed", "Whether the queue is closed: nothing new is started.", DEFAULT("false")),
    F_STR("maxDuration",
          "How long a group may run, such as 12h or 1d12h, before its job is paused. 0 or unset: "
          "no limit.",
          .pattern = "^(0|([0-9]{1,9}y)?([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?"
                     "([0-9]{1,9}s)?([0-9]{1,9}ms)?)$",
          .flags = FIELD_NON_EMPTY),
    F_STR("resourceShapeProfile",
          "Profile that limits the requests and limits of pods in the queue."),
    F_OBJ("nodeSelector", label_selector_fields, "Nodes the queue may use. Unset: all."),
    F_OBJ("namespaceSelector", label_selector_fields,
          "Namespaces that may use the queue. Unset or empty: none, except for the queue default: "
          "all."),
    {0}};

static const struct field group_count_fields[] = {
    F_INT32("total", "All groups, including single pods in the queue."),
    F_INT32("running", "Groups that have room."),
    F_INT32("waiting", "Groups that wait without room."),
    {0}};

static const struct field pod_count_fields[] = {
    F_INT32("pending", "Pods not running yet."),           F_INT32("running", "Running pods."),
    F_INT32("succeeded", "Pods that succeeded."),          F_INT32("failed", "Pods that failed."),
    F_INT32("unknown", "Pods whose node is unreachable."), {0}};

static const struct field status_fields[] = {
    F_MAP(FIELD_QUANTITY, "allocated", "Resources held by the queue's groups."),
    F_CONDITIONS(condition_fields, "QueueClosed, ResourcePressure.", KEYED_BY("type")),
    F_OBJ("podGroups", group_count_fields, "Number of groups."),
    F_OBJ("pods", pod_count_fields, "Number of pods."),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}")), F_STATUS(status_fields), {0}};

/* Unchanged entries are not checked again: otherwise an invalid stored one would block every
 * write. */
static void check_quota(const struct json *quota, const struct json *old, struct err *err)
{
    const struct field_path spec = {.name = "spec"};

    json_each (amount, json_get(quota, "requests"))
        if (!json_equal(amount, json_at(old, "requests", amount->key)))
            resource_amount_validate(amount, PATH_MEMBER(PATH_MEMBER(&spec, "quota"), "requests"),
                                     err);
}

static void validate(const struct json *queue, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(queue, "spec"), *length = json_get(spec, "maxDuration");
    const struct field_path at = {.name = "spec"}, metadata = {.name = "metadata"};
    int64_t ms;

    if (!old && *object_namespace(queue) && strcmp(object_namespace(queue), QUEUE_NAMESPACE) != 0)
        problem_invalid(err, PATH_MEMBER(&metadata, "namespace"),
                        json_at(queue, "metadata", "namespace"),
                        "queues live in namespace " QUEUE_NAMESPACE
                        ", for jobs of all namespaces: which may use one says its "
                        "spec.namespaceSelector");
    check_quota(json_get(spec, "quota"), json_at(old, "spec", "quota"), err);
    if (length && duration_parse_ms(json_string(length, ""), &ms) < 0)
        problem_invalid(err, PATH_MEMBER(&at, "maxDuration"), length,
                        "must be 0 or numbers with the units y, w, d, h, m, s, ms in this order, "
                        "such as 1d12h");
}

static bool is_counted(const char *resource)
{
    static const char *const names[] = {"cpu", "memory", "nvidia.com/gpu", "nvidia.com/gpu.shared",
                                        NULL};

    for (const char *const *n = names; *n; n++)
        if (strcmp(resource, *n) == 0)
            return true;
    return false;
}

static void warn(const struct json *queue, void (*say)(void *arg, const char *text), void *arg)
{
    json_each (limit, json_at(queue, "spec", "quota", "requests"))
        if (!is_counted(limit->key)) {
            char text[400];

            (void)snprintf(text, sizeof(text),
                           "spec.quota.requests[%.253s]: not limited: only cpu, memory, "
                           "nvidia.com/gpu and nvidia.com/gpu.shared are counted",
                           limit->key);
            say(arg, text);
        }
}

static struct json *render_quota(struct arena *a, const struct json *queue, int64_t now_ms)
{
    (void)now_ms;
    return column_map(a, json_at(queue, "spec", "quota", "requests"));
}

static struct json *render_allocated(struct arena *a, const struct json *queue, int64_t now_ms)
{
    (void)now_ms;
    return column_map(a, json_at(queue, "status", "allocated"));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Priority", "integer", "Priority.", .path = ".spec.priority"),
    COLUMN("Closed", "boolean", "Nothing new starts.", .path = ".spec.closed"),
    COLUMN("Quota", "string", "What it may hold.", .path = ".spec.quota.requests",
           .render = render_quota),
    COLUMN("Allocated", "string", "Its capacity.", .path = ".status.allocated",
           .render = render_allocated),
    COLUMN("Running", "integer", "Groups that run.", .path = ".status.podGroups.running"),
    COLUMN("Waiting", "integer", "Groups that wait.", .path = ".status.podGroups.waiting"),
    COLUMN_AGE,
    COLUMN("Preemptible", "boolean", "Whether its groups may be preempted.", .priority = 1,
           .path = ".spec.preemptible"),
    COLUMN("MaxDuration", "string", "How long a group may run.", .priority = 1,
           .path = ".spec.maxDuration"),
    {0}};

const struct kind kind_queue = {
    KIND_NAMES("scheduler.tensorstack.dev", "v1beta1", "Queue", "queues", "queue"),
    .short_names = (const char *const[]){"q", NULL},
    .categories = (const char *const[]){"muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .doc = "Queue is a share of the cluster in which pod groups wait their turn.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .warn = warn};
