/* kind_tensorboard.c - the table of TensorBoard. Its spec is the one jobs have too (job_fields.c).
 */
#include "api/columns.h"
#include "api/job_fields.h"
#include "api/pod_fields.h"
#include "api/tensorboard_rules.h"

static const char *const phases[] = {"Initializing", "Running", "Paused", "Failed", NULL};

static const struct field reference_fields[] = {
    {.name = "name", .type = FIELD_STRING, .doc = "Pod.", .doc_zh = "Pod 名称。"},
    {.name = "uid", .type = FIELD_STRING, .doc = "UID of the pod.", .doc_zh = "Pod 的 UID。"},
    {0}};

static const struct field pod_status_fields[] = {
    {.name = "reference",
     .type = FIELD_OBJECT,
     .fields = reference_fields,
     .doc = "Which pod.",
     .doc_zh = "Pod 的引用。"},
    {.name = "phase", .type = FIELD_STRING, .doc = "Phase of the pod.", .doc_zh = "Pod 的阶段。"},
    {0}};

static const struct field status_fields[] = {
    {.name = "phase",
     .type = FIELD_STRING,
     .values = phases,
     .doc = "Initializing, Running, Paused (suspended, or unused for a day) or Failed.",
     .doc_zh = "阶段：Initializing、Running、Paused（被暂停或一天未使用）或 Failed。"},
    {.name = "reason",
     .type = FIELD_STRING,
     .doc = "One word: why it does not run.",
     .doc_zh = "未运行的原因（一个单词）。"},
    {.name = "message",
     .type = FIELD_STRING,
     .doc = "A sentence: why it does not run, and what to do.",
     .doc_zh = "未运行的原因及解决办法（一句话）。"},
    {.name = "url",
     .type = FIELD_STRING,
     .doc = "Its path below the address of the console.",
     .doc_zh = "在控制台地址下的访问路径。"},
    {.name = "pod",
     .type = FIELD_OBJECT,
     .fields = pod_status_fields,
     .doc = "The pod it runs in.",
     .doc_zh = "运行 TensorBoard 的 Pod。"},
    F_CONDITIONS("Ready, Idle, Suspended.", KEYED_BY("type"),
                 .doc_zh = "状况：Ready、Idle、Suspended。"),
    {.name = "port",
     .type = FIELD_INT32,
     .doc = "The port it listens on, where pods share the machine's network.",
     .doc_zh = "共享主机网络时监听的端口。"},
    {.name = "startTime",
     .type = FIELD_TIME,
     .doc = "When it was made or resumed.",
     .doc_zh = "创建或恢复的时间。"},
    {.name = "failures",
     .type = FIELD_INT32,
     .doc = "How often in a row its pod ended.",
     .doc_zh = "Pod 连续失败的次数。"},
    {.name = "failedPod",
     .type = FIELD_STRING,
     .doc = "UID of the pod that was counted last.",
     .doc_zh = "最近一次计入失败的 Pod 的 UID。"},
    {.name = "retryTime",
     .type = FIELD_TIME,
     .doc = "When it is tried again.",
     .doc_zh = "下一次重试的时间。"},
    {.name = "observedGeneration",
     .type = FIELD_INT64,
     .doc = "The metadata.generation this status was made from.",
     .doc_zh = "该状态所对应的 metadata.generation。"},
    {0}};

static const struct field fields[] = {
    JOB_FIELD_SPEC(tensorboard_spec_fields, tensorboard_spec_rules),
    JOB_FIELD_STATUS(status_fields),
    {0}};

static const struct rule rules[] = {
    JOB_RULE_NAME("services"),
    {.rule = "size(self.metadata.name) <= " STRINGIFY(TENSORBOARD_NAME_LIMIT),
     .field = ".metadata",
     .message = "name is too long: its pod and service are named NAME" TENSORBOARD_SUFFIX
                ", which may have 63 characters",
     .new_only = true},
    {.rule = "self.spec.?trainingLogFilesets.orValue([]).size() + "
             "self.spec.?logDir.?pvc.orValue([]).size() > 0 || has(self.spec.logDir) && "
             "(has(self.spec.logDir.s3) || has(self.spec.logDir.http))",
     .field = ".spec.logDir",
     .message = "needed, where the event files are: logDir.pvc[].name and subPath, or "
                "trainingLogFilesets with t9k://pvc/NAME/PATH"},
    {0}};

static const struct column columns[] = {
    COLUMN_NAME,
    {.name = "Phase", .type = "string", .doc = "Whether it runs.", .path = ".status.phase"},
    {.name = "Age",
     .type = "date",
     .doc = "Time since it was created.",
     .path = ".metadata.creationTimestamp"},
    {.name = "URL",
     .type = "string",
     .priority = 1,
     .doc = "Its path below the address of the console.",
     .path = ".status.url"},
    {.name = "Message",
     .type = "string",
     .priority = 1,
     .doc = "Why it does not run.",
     .path = ".status.message"},
    {0}};

const struct kind kind_tensorboard = {
    .group = "tensorstack.dev",
    .version = "v1beta1",
    .name = "TensorBoard",
    .plural = "tensorboards",
    .singular = "tensorboard",
    .short_names = (const char *const[]){"tb", NULL},
    .categories = (const char *const[]){"muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "TensorBoard shows the event files of training in a browser: it runs tensorboard on log "
           "folders of PersistentVolumeClaims.",
    .doc_zh = "TensorBoard 在浏览器中展示训练日志。",
    .fields = fields,
    .columns = columns,
    .validate = tensorboard_validate,
    .rules = rules,
    .unify = tensorboard_unify};
