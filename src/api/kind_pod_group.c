/* kind_pod_group.c - PodGroup (scheduler.tensorstack.dev/v1beta1): pods that start together, and
 * where the scheduler has put them. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/pod_fields.h"
#include "api/problem.h"

#define ROLES_LIMIT 64

static const struct field role_fields[] = {
    F_STR("name", "Role, as the pods' label scheduler.tensorstack.dev/role says it.", REQUIRED,
          .doc_zh = "角色名称。"),
    F_INT32("minMember", "How many pods of the role must start together.", AT_LEAST(0),
            .doc_zh = "该角色需同时启动的最少 Pod 数量。"),
    {0}};

static const struct field spec_fields[] = {
    F_INT32("minMember", "How many pods must start together.", AT_LEAST(0), DEFAULT("1"),
            .doc_zh = "需同时启动的最少 Pod 数量。"),
    F_OBJS("roles", role_fields, "The same by role.", KEYED_BY("name"), .max_items = ROLES_LIMIT,
           .doc_zh = "各角色的最少 Pod 数量。"),
    F_STR("queue", "Queue the group waits in.", DEFAULT("\"default\""), .doc_zh = "所在队列。"),
    F_INT32("priority", "Priority in the queue; higher goes first.", BETWEEN(0, 100), DEFAULT("0"),
            .doc_zh = "队列中的优先级，0 至 100。"),
    F_STR("topologyPolicy", "Kept and not used: the group prefers few nodes in any case.",
          .doc_zh = "拓扑策略。"),
    F_INT32("members",
            "How many pods the group's owner wants now: one that is being replaced keeps its room. "
            "Unset: as many as there are.",
            AT_LEAST(0), .doc_zh = "当前需要的 Pod 数量；正在重启的 Pod 保留其资源。"),
    F_INT64("activeDeadlineSeconds", "How long the group runs at most, where its owner knows.",
            AT_LEAST(0), .doc_zh = "最长运行时间（秒）。"),
    {0}};

static const struct field placement_fields[] = {
    F_STR("node", "Node.", .doc_zh = "节点。"),
    F_MAP(FIELD_QUANTITY, "requests", "What each member holds there.",
          .doc_zh = "每个成员的资源。"),
    F_STRS("members", "Pods.", .doc_zh = "Pod 名称。"),
    F_STRS("gpus", "The GPUs of each of them, by index.", .doc_zh = "GPU 编号。"),
    {0}};

static const struct field status_fields[] = {
    F_STR("phase",
          "Pending: waits; Running: holds room; Paused: its job wants no pods; Finished: its pods "
          "have ended; Empty: no pod has joined it.",
          .doc_zh = "PodGroup 所处的阶段。"),
    F_CONDITIONS("SufficientGroupMember, GroupScheduled, Preempted, MaxDurationExceeded.",
                 KEYED_BY("type"), .doc_zh = "PodGroup 的状况。"),
    F_MAP(FIELD_QUANTITY, "allocated", "What the group holds.", .doc_zh = "已分配的资源。"),
    F_STR("reason", "One word: why the group does not run.",
          .doc_zh = "未运行的原因（一个单词）。"),
    F_STR("message", "A sentence: why the group does not run.",
          .doc_zh = "未运行的原因（一句话）。"),
    F_TIME("waitingSince", "Since when the group waits, if it does.", .doc_zh = "开始等待的时间。"),
    F_OBJS("placements", placement_fields, "The room the group holds, also while a pod restarts.",
           .doc_zh = "占用的节点资源。"),
    F_INT32("pending", "Pods that do not run yet.", .doc_zh = "等待中的 Pod 数量。"),
    F_INT32("running", "Pods that run.", .doc_zh = "运行中的 Pod 数量。"),
    F_INT32("succeeded", "Pods that ended well.", .doc_zh = "成功的 Pod 数量。"),
    F_INT32("failed", "Pods that failed.", .doc_zh = "失败的 Pod 数量。"),
    F_INT32("unknown", "Pods whose node does not answer.", .doc_zh = "状态未知的 Pod 数量。"),
    {0}};

static const struct rule spec_rules[] = {
    {.rule = "!has(self.roles) || self.roles.map(r, has(r.minMember) ? r.minMember : 0).sum() <= "
             "self.minMember",
     .field = ".minMember",
     .message = "must be at least the sum of roles[].minMember"},
    {.rule = "!has(oldSelf.queue) || has(self.queue) && self.queue == oldSelf.queue",
     .field = ".queue",
     .message = "a group stays in its queue: make another group for another queue"},
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
                          "a group stays in its queue: make another group for another queue");
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
    COLUMN("Running", "integer", "Pods that run.", .path = ".status.running"),
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
    .doc = "PodGroup is a number of pods that start together or not at all.",
    .doc_zh = "PodGroup 是需要同时启动的一组 Pod。",
    .fields = fields,
    .columns = columns,
    .validate = validate};
