/*
 * job_fields.c - the parts of job kinds that are the same in all of them: run mode, scheduler,
 * TensorBoard, status. See job_fields.h.
 */
#include "api/job_fields.h"

#include "api/columns.h"
#include "api/pod_fields.h"
#include "api/tensorboard_rules.h"

const char *const job_clean_up_policies[] = {"None", "All", "Unfinished", NULL};
const char *const job_restart_policies[] = {"Never", "OnFailure", "Always", "ExitCode", NULL};
const char *const job_restart_scopes[] = {"Replica", "Job", NULL};
static const char *const phases[] = {"Pending",   "Running", "Paused",  "Resuming",
                                     "Succeeded", "Failed",  "Unknown", NULL};

/* --- run mode --------------------------------------------------------------------------------- */

static const struct field debug_replica_fields[] = {{.name = "type",
                                                     .type = FIELD_STRING,
                                                     .flags = FIELD_REQUIRED,
                                                     .doc = "Replica type the entry is for.",
                                                     .doc_zh = "作用于的副本类型。"},
                                                    {.name = "skipInitContainer",
                                                     .type = FIELD_BOOL,
                                                     .default_json = "false",
                                                     .doc = "Whether init containers are left out.",
                                                     .doc_zh = "是否跳过 InitContainer。"},
                                                    {.name = "command",
                                                     .type = FIELD_LIST,
                                                     .item = FIELD_STRING,
                                                     .default_json = "[\"sleep\",\"inf\"]",
                                                     .doc = "What the containers run instead.",
                                                     .doc_zh = "副本在等待调试时执行的命令。"},
                                                    {0}};

static const struct field debug_fields[] = {
    JOB_FIELD_ENABLED("Whether the replicas only wait for somebody to look into them.",
                      "是否启用 Debug 模式。"),
    {.name = "replicaSpecs",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = debug_replica_fields,
     .list_key = "type",
     .doc = "Settings per replica type; types without an entry run sleep inf.",
     .doc_zh = "各副本类型的 Debug 设置；未列出的类型使用默认设置。"},
    {0}};

static const struct field resume_spec_fields[] = {
    {.name = "type",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .doc = "Replica type the entry is for.",
     .doc_zh = "作用于的副本类型。"},
    {.name = "skipInitContainer",
     .type = FIELD_BOOL,
     .default_json = "false",
     .doc = "Whether init containers are left out.",
     .doc_zh = "是否跳过 InitContainer。"},
    {.name = "command",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Command after a pause; the template's when not given.",
     .doc_zh = "恢复运行后使用的命令；默认与模板相同。"},
    {.name = "args",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Arguments after a pause; the template's when not given.",
     .doc_zh = "恢复运行后使用的参数；默认与模板相同。"},
    {0}};

static const struct field pause_fields[] = {
    JOB_FIELD_ENABLED(
        "Whether the job is paused: its pods are stopped. May be changed at any time.",
        "是否暂停作业（删除其 Pod），可随时修改。"),
    {.name = "resumeSpecs",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = resume_spec_fields,
     .list_key = "type",
     .doc = "What replicas run after a pause.",
     .doc_zh = "作业恢复运行后各副本执行的命令，创建后不可修改。"},
    {0}};

const struct field job_run_mode_fields[] = {{.name = "debug",
                                             .type = FIELD_OBJECT,
                                             .flags = FIELD_IMMUTABLE,
                                             .fields = debug_fields,
                                             .doc = "Set up everything but do not train.",
                                             .doc_zh = "Debug 模式：部署训练环境但不启动训练。"},
                                            {.name = "pause",
                                             .type = FIELD_OBJECT,
                                             .fields = pause_fields,
                                             .doc = "Stop for a while.",
                                             .doc_zh = "暂停模式。"},
                                            {0}};

/* --- scheduler, TensorBoard ------------------------------------------------------------------- */

/* A path without "..", and none of its characters a control one. */
#define PLAIN "[^/\\x00-\\x1f\\x7f]"
#define PLAIN_NO_DOT "[^./\\x00-\\x1f\\x7f]"
#define PATH_PART "(\\.|" PLAIN_NO_DOT PLAIN "*|\\." PLAIN_NO_DOT PLAIN "*|\\.\\." PLAIN "+)?"
#define PATH_PATTERN PATH_PART "(/" PATH_PART ")*$"
#define CLAIM_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

static const struct field log_pvc_fields[] = {{.name = "name",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_REQUIRED,
                                               .pattern = "^" CLAIM_PATTERN "$",
                                               .doc = "PersistentVolumeClaim.",
                                               .doc_zh = "PVC 名称。"},
                                              {.name = "subPath",
                                               .alias = "subpath",
                                               .type = FIELD_LIST,
                                               .item = FIELD_STRING,
                                               .pattern = "^" PATH_PATTERN,
                                               .max_items = TENSORBOARD_FOLDERS_LIMIT,
                                               .doc = "Folders in it.",
                                               .doc_zh = "PVC 中的路径。"},
                                              {0}};

static const struct field secret_ref_fields[] = {{.name = "name",
                                                  .type = FIELD_STRING,
                                                  .doc = "Secret with the keys.",
                                                  .doc_zh = "Secret 名称。"},
                                                 {0}};

static const struct field log_s3_fields[] = {{.name = "secretRef",
                                              .type = FIELD_OBJECT,
                                              .fields = secret_ref_fields,
                                              .doc = "Secret with the keys.",
                                              .doc_zh = "存有密钥的 Secret。"},
                                             {.name = "uri",
                                              .type = FIELD_LIST,
                                              .item = FIELD_STRING,
                                              .doc = "Addresses of the folders.",
                                              .doc_zh = "日志路径。"},
                                             {0}};

static const struct field log_http_fields[] = {{.name = "url",
                                                .type = FIELD_LIST,
                                                .item = FIELD_STRING,
                                                .doc = "Addresses of the files.",
                                                .doc_zh = "日志地址。"},
                                               {0}};

static const struct field log_dir_fields[] = {{.name = "pvc",
                                               .type = FIELD_LIST,
                                               .item = FIELD_OBJECT,
                                               .max_items = TENSORBOARD_FOLDERS_LIMIT,
                                               .fields = log_pvc_fields,
                                               .doc = "Folders of claims.",
                                               .doc_zh = "PVC 中的日志目录。"},
                                              {.name = "s3",
                                               .type = FIELD_OBJECT,
                                               .fields = log_s3_fields,
                                               .doc = "Folders of an S3 store.",
                                               .doc_zh = "S3 中的日志目录。"},
                                              {.name = "http",
                                               .type = FIELD_OBJECT,
                                               .fields = log_http_fields,
                                               .doc = "Files of a web server.",
                                               .doc_zh = "HTTP 服务器上的日志。"},
                                              {0}};

static const struct field t9k_scheduler_fields[] = {
    {.name = "queue",
     .type = FIELD_STRING,
     .doc = "Queue the job waits in.",
     .doc_zh = "作业排队的队列。"},
    {.name = "priority",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .has_max = true,
     .max = 100,
     .doc = "Priority in the queue, 0 to 100; higher goes first.",
     .doc_zh = "队列中的优先级，0 至 100，数值越大越优先。"},
    {0}};

const struct field job_scheduler_fields[] = {{.name = "t9kScheduler",
                                              .type = FIELD_OBJECT,
                                              .fields = t9k_scheduler_fields,
                                              .doc = "Use the queue scheduler.",
                                              .doc_zh = "使用 T9k Scheduler 调度器。"},
                                             {0}};

static const struct rule log_dir_rules[] = {
    {.rule = "!has(self.s3)",
     .field = ".s3",
     .message = "event files on S3 stores cannot be read yet: copy them to a "
                "PersistentVolumeClaim and use logDir.pvc"},
    {.rule = "!has(self.http)",
     .field = ".http",
     .message = "event files on web servers cannot be read yet: copy them to a "
                "PersistentVolumeClaim and use logDir.pvc"},
    {0}};

const struct rule tensorboard_spec_rules[] = {
    {.rule = "(has(self.trainingLogFilesets) ? size(self.trainingLogFilesets) : 0) + "
             "(has(self.logDir) && has(self.logDir.pvc) ? self.logDir.pvc.map(p, has(p.subPath) && "
             "size(p.subPath) > 0 ? size(p.subPath) : 1).sum() : 0) <= " STRINGIFY(
                 TENSORBOARD_FOLDERS_LIMIT),
     .field = ".logDir",
     .message = "at most " STRINGIFY(TENSORBOARD_FOLDERS_LIMIT) " log folders"},
    {.rule = "!has(self.runMode)",
     .field = ".runMode",
     .message = "the older way to say suspend, which only muster's own server understands: use "
                "suspend"},
    {0}};

static const char *const tensorboard_run_modes[] = {"running", "paused", NULL};

const struct field tensorboard_spec_fields[] = {
    {.name = "image",
     .type = FIELD_STRING,
     .doc = "Image that holds TensorBoard.",
     .doc_zh = "TensorBoard 使用的镜像。"},
    {.name = "trainingLogFilesets",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .pattern = "^t9k://pvc/" CLAIM_PATTERN "(/" PATH_PATTERN "|$)",
     .max_items = TENSORBOARD_FOLDERS_LIMIT,
     .doc = "Folders of event files: t9k://pvc/CLAIM/PATH (t9k://minio is not read yet).",
     .doc_zh = "日志文件集：t9k://pvc/<pvc>/<路径>（暂不支持 t9k://minio）。"},
    {.name = "logDir",
     .type = FIELD_OBJECT,
     .fields = log_dir_fields,
     .rules = log_dir_rules,
     .doc = "Where the event files are.",
     .doc_zh = "日志文件的位置。"},
    {.name = "resources",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN | FIELD_IMMUTABLE,
     .fields = resource_fields,
     .doc = "CPU and memory of TensorBoard.",
     .doc_zh = "TensorBoard 使用的资源。"},
    {.name = "scheduler",
     .type = FIELD_OBJECT,
     .fields = job_scheduler_fields,
     .doc = "How TensorBoard is scheduled.",
     .doc_zh = "TensorBoard 的调度设置。"},
    {.name = "suspend",
     .type = FIELD_BOOL,
     .doc = "Whether TensorBoard is stopped.",
     .doc_zh = "是否暂停 TensorBoard。"},
    {.name = "runMode",
     .type = FIELD_STRING,
     .values = tensorboard_run_modes,
     .doc = "Older way to say suspend: running or paused.",
     .doc_zh = "suspend 的旧写法：running 或 paused。"},
    {0}};

/* --- status --------------------------------------------------------------------------------- */

static const struct field task_container_fields[] = {
    {.name = "name", .type = FIELD_STRING, .doc = "Container.", .doc_zh = "容器名称。"},
    {.name = "state",
     .type = FIELD_STRING,
     .doc = "Waiting, Running, Terminated or Unknown.",
     .doc_zh = "容器状态。"},
    {.name = "exitCode", .type = FIELD_INT32, .doc = "Exit code.", .doc_zh = "退出码。"},
    {0}};

static const struct field task_replica_fields[] = {
    {.name = "name", .type = FIELD_STRING, .doc = "Pod.", .doc_zh = "Pod 名称。"},
    {.name = "uid", .type = FIELD_STRING, .doc = "UID of the pod.", .doc_zh = "Pod 的 UID。"},
    {.name = "phase",
     .type = FIELD_STRING,
     .doc = "Phase of the pod, or Creating or Deleted.",
     .doc_zh = "Pod 阶段，或 Creating、Deleted。"},
    {.name = "containers",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = task_container_fields,
     .doc = "State of its containers.",
     .doc_zh = "容器状态。"},
    {.name = "restartCount",
     .type = FIELD_INT32,
     .doc = "How often it was restarted.",
     .doc_zh = "该副本的重启次数。"},
    {.name = "restartTime",
     .type = FIELD_TIME,
     .doc = "When its last restart was decided.",
     .doc_zh = "最近一次决定重启的时间。"},
    {.name = "restartDelaySeconds",
     .type = FIELD_INT32,
     .doc = "How long its last restart waits after restartTime.",
     .doc_zh = "最近一次重启在 restartTime 之后等待的秒数。"},
    {.name = "lastUID",
     .type = FIELD_STRING,
     .doc = "The pod it had before, while it has none or that one is being replaced.",
     .doc_zh = "没有 Pod 或 Pod 正被替换时，其上一个 Pod 的 UID。"},
    {.name = "goneTime",
     .type = FIELD_TIME,
     .doc = "When that pod was found gone, if no restart had given it up.",
     .doc_zh = "该 Pod 并非因重启而消失时，发现其消失的时间。"},
    {0}};

static const struct field task_fields[] = {
    {.name = "type", .type = FIELD_STRING, .doc = "Replica type.", .doc_zh = "副本类型。"},
    {.name = "restartCount",
     .type = FIELD_INT32,
     .doc = "Restarts of its replicas together.",
     .doc_zh = "该类型副本的重启次数之和。"},
    {.name = "replicas",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = task_replica_fields,
     .doc = "Its replicas.",
     .doc_zh = "该类型的各个副本。"},
    {0}};

#define COUNT(n, d, z)                                                                             \
    {                                                                                              \
        .name = (n), .type = FIELD_INT32, .doc = (d), .doc_zh = (z)                                \
    }

static const struct field aggregate_fields[] = {
    COUNT("creating", "Replicas without a pod yet.", "正在创建的副本数。"),
    COUNT("pending", "Replicas that wait.", "等待中的副本数。"),
    COUNT("running", "Replicas that run.", "运行中的副本数。"),
    COUNT("succeeded", "Replicas that ended well.", "成功的副本数。"),
    COUNT("failed", "Replicas that failed.", "失败的副本数。"),
    COUNT("unknown", "Replicas not heard of.", "状态未知的副本数。"),
    COUNT("deleted", "Replicas whose pod is gone.", "已删除的副本数。"),
    {0}};

static const struct field progress_fields[] = {
    {.name = "step",
     .type = FIELD_INT64,
     .doc = "Last step, from the event files or the log.",
     .doc_zh = "最近的训练步数。"},
    {.name = "loss",
     .type = FIELD_ANY,
     .doc = "Last training loss: a number, or NaN or Infinity as a text.",
     .doc_zh = "最近的训练损失（数值；NaN、Infinity 以文本表示）。"},
    {.name = "stepsPerSecond",
     .type = FIELD_ANY,
     .doc = "Steps per second over the last minute: a number.",
     .doc_zh = "最近一分钟内每秒的训练步数。"},
    {.name = "fraction",
     .type = FIELD_ANY,
     .doc = "How much is done, between 0 and 1, where the program says its totals: a number.",
     .doc_zh = "完成的比例（0 到 1），仅当程序输出了总量时给出。"},
    {.name = "secondsLeft",
     .type = FIELD_INT64,
     .doc = "Time left at the pace that was measured.",
     .doc_zh = "按测得的速度估算的剩余秒数。"},
    {.name = "message",
     .type = FIELD_STRING,
     .doc = "What the program said last, such as epoch 3/10.",
     .doc_zh = "程序最近输出的进度，例如 epoch 3/10。"},
    {.name = "time", .type = FIELD_TIME, .doc = "When this was written.", .doc_zh = "写入时间。"},
    {0}};

const struct field job_status_fields[] = {
    {.name = "phase",
     .type = FIELD_STRING,
     .values = phases,
     .doc = "Where the job is in its life.",
     .doc_zh = "作业所处阶段。"},
    {.name = "reason",
     .type = FIELD_STRING,
     .doc = "One word: why it does not run, or why it failed.",
     .doc_zh = "未运行或失败的原因（一个单词）。"},
    {.name = "message",
     .type = FIELD_STRING,
     .doc = "A sentence: why it does not run, or why it failed.",
     .doc_zh = "未运行或失败的原因（一句话）。"},
    F_CONDITIONS("Initialized, Running, ReplicaFailure, Completed, Failed, Paused.",
                 KEYED_BY("type"), .doc_zh = "作业的状况。"),
    {.name = "tasks",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = task_fields,
     .doc = "Replicas by type.",
     .doc_zh = "各类型副本的状态。"},
    {.name = "aggregate",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = aggregate_fields,
     .doc = "Replicas by phase.",
     .doc_zh = "处于各阶段的副本数量。"},
    {.name = "backoffCount",
     .type = FIELD_INT32,
     .doc = "Restarts used up, of spec.runPolicy.backoffLimit.",
     .doc_zh = "已使用的重启次数。"},
    {.name = "pauseCount",
     .type = FIELD_INT32,
     .doc = "How often the job was paused.",
     .doc_zh = "作业被暂停的次数。"},
    {.name = "masterPort",
     .type = FIELD_INT32,
     .doc = "MASTER_PORT of its replicas, where they share one network.",
     .doc_zh = "副本共享网络时使用的 MASTER_PORT。"},
    {.name = "tensorboard",
     .type = FIELD_ANY,
     .doc = "The TensorBoard made with the job.",
     .doc_zh = "随作业创建的 TensorBoard 的状态。"},
    {.name = "startTime",
     .type = FIELD_TIME,
     .doc = "When the job began, or was resumed.",
     .doc_zh = "作业开始（或恢复）的时间。"},
    {.name = "completionTime",
     .type = FIELD_TIME,
     .doc = "When the job ended.",
     .doc_zh = "作业结束的时间。"},
    {.name = "progress",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = progress_fields,
     .doc = "How far training is, from its event files and its log.",
     .doc_zh = "训练进度，来自事件文件与日志。"},
    {.name = "observedGeneration",
     .type = FIELD_INT64,
     .doc = "The metadata.generation this status was made from.",
     .doc_zh = "该状态所对应的 metadata.generation。"},
    {0}};

/* --- columns ---------------------------------------------------------------------------------- */

int64_t job_replicas_in(const struct json *job, const char *phase)
{
    return json_get_int(json_at(job, "status", "aggregate"), phase, 0);
}

struct json *job_render_running(struct arena *a, const struct json *job, int64_t replicas,
                                int64_t done)
{
    if (json_string_is(json_at(job, "status", "phase"), "Succeeded"))
        return json_new_stringf(a, "%lld/%lld done", (long long)done, (long long)replicas);
    return json_new_stringf(a, "%lld/%lld", (long long)job_replicas_in(job, "running"),
                            (long long)replicas);
}

struct json *job_render_restarts(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, json_int(json_at(job, "status", "backoffCount"), 0));
}
