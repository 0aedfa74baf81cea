/*
 * job_fields.c - the parts of job kinds that are the same in all of them: run mode, scheduler,
 * TensorBoard, status. See job_fields.h.
 */
#include "api/job_fields.h"
#include "api/field_macros.h"

#include "api/pod_fields.h"
#include "api/tensorboard_rules.h"

const char *const job_clean_up_policies[] = {"None", "All", "Unfinished", NULL};
const char *const job_restart_policies[] = {"Never", "OnFailure", "Always", "ExitCode", NULL};
const char *const job_restart_scopes[] = {"Replica", "Job", NULL};
static const char *const phases[] = {"Pending",   "Running", "Paused",  "Resuming",
                                     "Succeeded", "Failed",  "Unknown", NULL};

/* --- run mode --------------------------------------------------------------------------------- */

static const struct field debug_replica_fields[] = {
    F_STR("type", "Replica type the entry is for.", REQUIRED, ZH("作用于的副本类型。")),
    F_BOOL("skipInitContainer", "Whether init containers are left out.", DEFAULT("false"),
           ZH("是否跳过 InitContainer。")),
    F_STRS("command", "What the containers run instead.", DEFAULT("[\"sleep\",\"inf\"]"),
           ZH("副本在等待调试时执行的命令。")),
    {0}};

static const struct field debug_fields[] = {
    JOB_FIELD_ENABLED("Whether the replicas only wait for somebody to look into them.",
                      "是否启用 Debug 模式。"),
    F_OBJS("replicaSpecs", debug_replica_fields,
           "Settings per replica type; types without an entry run sleep inf.", KEYED_BY("type"),
           ZH("各副本类型的 Debug 设置；未列出的类型使用默认设置。")),
    {0}};

static const struct field resume_spec_fields[] = {
    F_STR("type", "Replica type the entry is for.", REQUIRED, ZH("作用于的副本类型。")),
    F_BOOL("skipInitContainer", "Whether init containers are left out.", DEFAULT("false"),
           ZH("是否跳过 InitContainer。")),
    F_STRS("command", "Command after a pause; the template's when not given.",
           ZH("恢复运行后使用的命令；默认与模板相同。")),
    F_STRS("args", "Arguments after a pause; the template's when not given.",
           ZH("恢复运行后使用的参数；默认与模板相同。")),
    {0}};

static const struct field pause_fields[] = {
    JOB_FIELD_ENABLED(
        "Whether the job is paused: its pods are stopped. May be changed at any time.",
        "是否暂停作业（删除其 Pod），可随时修改。"),
    F_OBJS("resumeSpecs", resume_spec_fields, "What replicas run after a pause.",
           .flags = FIELD_IMMUTABLE, KEYED_BY("type"),
           ZH("作业恢复运行后各副本执行的命令，创建后不可修改。")),
    {0}};

const struct field job_run_mode_fields[] = {
    F_OBJ("debug", debug_fields, "Set up everything but do not train.", .flags = FIELD_IMMUTABLE,
          ZH("Debug 模式：部署训练环境但不启动训练。")),
    F_OBJ("pause", pause_fields, "Stop for a while.", ZH("暂停模式。")),
    {0}};

/* --- scheduler, TensorBoard ------------------------------------------------------------------- */

/* A path without "..", and none of its characters a control one. */
#define PLAIN "[^/\\x00-\\x1f\\x7f]"
#define PLAIN_NO_DOT "[^./\\x00-\\x1f\\x7f]"
#define PATH_PART "(\\.|" PLAIN_NO_DOT PLAIN "*|\\." PLAIN_NO_DOT PLAIN "*|\\.\\." PLAIN "+)?"
#define PATH_PATTERN PATH_PART "(/" PATH_PART ")*$"
#define CLAIM_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

static const struct field log_pvc_fields[] = {
    F_STR("name", "PersistentVolumeClaim.", REQUIRED, .pattern = "^" CLAIM_PATTERN "$",
          ZH("PVC 名称。")),
    F_STRS("subPath", "Folders in it.", .alias = "subpath", .pattern = "^" PATH_PATTERN,
           .max_items = TENSORBOARD_FOLDERS_LIMIT, ZH("PVC 中的路径。")),
    {0}};

static const struct field secret_ref_fields[] = {
    F_STR("name", "Secret with the keys.", ZH("Secret 名称。")), {0}};

static const struct field log_s3_fields[] = {
    F_OBJ("secretRef", secret_ref_fields, "Secret with the keys.", ZH("存有密钥的 Secret。")),
    F_STRS("uri", "Addresses of the folders.", ZH("日志路径。")),
    {0}};

static const struct field log_http_fields[] = {
    F_STRS("url", "Addresses of the files.", ZH("日志地址。")), {0}};

static const struct field log_dir_fields[] = {
    F_OBJS("pvc", log_pvc_fields, "Folders of claims.", .max_items = TENSORBOARD_FOLDERS_LIMIT,
           ZH("PVC 中的日志目录。")),
    F_OBJ("s3", log_s3_fields, "Folders of an S3 store.", ZH("S3 中的日志目录。")),
    F_OBJ("http", log_http_fields, "Files of a web server.", ZH("HTTP 服务器上的日志。")),
    {0}};

static const struct field t9k_scheduler_fields[] = {
    F_STR("queue", "Queue the job waits in.", ZH("作业排队的队列。")),
    F_INT32("priority", "Priority in the queue, 0 to 100; higher goes first.", BETWEEN(0, 100),
            ZH("队列中的优先级，0 至 100，数值越大越优先。")),
    {0}};

const struct field job_scheduler_fields[] = {F_OBJ("t9kScheduler", t9k_scheduler_fields,
                                                   "Use the queue scheduler.",
                                                   ZH("使用 T9k Scheduler 调度器。")),
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
    F_STR("image", "Image that holds TensorBoard.", ZH("TensorBoard 使用的镜像。")),
    F_STRS("trainingLogFilesets",
           "Folders of event files: t9k://pvc/CLAIM/PATH (t9k://minio is not read yet).",
           .pattern = "^t9k://pvc/" CLAIM_PATTERN "(/" PATH_PATTERN "|$)",
           .max_items = TENSORBOARD_FOLDERS_LIMIT,
           ZH("日志文件集：t9k://pvc/<pvc>/<路径>（暂不支持 t9k://minio）。")),
    F_OBJ("logDir", log_dir_fields, "Where the event files are.", .rules = log_dir_rules,
          ZH("日志文件的位置。")),
    F_OBJ("resources", resource_fields, "CPU and memory of TensorBoard.",
          .flags = FIELD_KEEP_UNKNOWN | FIELD_IMMUTABLE, ZH("TensorBoard 使用的资源。")),
    F_OBJ("scheduler", job_scheduler_fields, "How TensorBoard is scheduled.",
          ZH("TensorBoard 的调度设置。")),
    F_BOOL("suspend", "Whether TensorBoard is stopped.", ZH("是否暂停 TensorBoard。")),
    F_STR("runMode", "Older way to say suspend: running or paused.", ONE_OF(tensorboard_run_modes),
          ZH("suspend 的旧写法：running 或 paused。")),
    {0}};

/* --- status --------------------------------------------------------------------------------- */

static const struct field task_container_fields[] = {
    F_STR("name", "Container.", ZH("容器名称。")),
    F_STR("state", "Waiting, Running, Terminated or Unknown.", ZH("容器状态。")),
    F_INT32("exitCode", "Exit code.", ZH("退出码。")),
    {0}};

static const struct field task_replica_fields[] = {
    F_STR("name", "Pod.", ZH("Pod 名称。")),
    F_STR("uid", "UID of the pod.", ZH("Pod 的 UID。")),
    F_STR("phase", "Phase of the pod, or Creating or Deleted.",
          ZH("Pod 阶段，或 Creating、Deleted。")),
    F_OBJS("containers", task_container_fields, "State of its containers.",
           .flags = FIELD_KEEP_UNKNOWN, ZH("容器状态。")),
    F_INT32("restartCount", "How often it was restarted.", ZH("该副本的重启次数。")),
    F_TIME("restartTime", "When its last restart was decided.", ZH("最近一次决定重启的时间。")),
    F_INT32("restartDelaySeconds", "How long its last restart waits after restartTime.",
            ZH("最近一次重启在 restartTime 之后等待的秒数。")),
    F_STR("lastUID", "The pod it had before, while it has none or that one is being replaced.",
          ZH("没有 Pod 或 Pod 正被替换时，其上一个 Pod 的 UID。")),
    F_TIME("goneTime", "When that pod was found gone, if no restart had given it up.",
           ZH("该 Pod 并非因重启而消失时，发现其消失的时间。")),
    {0}};

static const struct field task_fields[] = {
    F_STR("type", "Replica type.", ZH("副本类型。")),
    F_INT32("restartCount", "Restarts of its replicas together.", ZH("该类型副本的重启次数之和。")),
    F_OBJS("replicas", task_replica_fields, "Its replicas.", .flags = FIELD_KEEP_UNKNOWN,
           ZH("该类型的各个副本。")),
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
    F_INT64("step", "Last step, from the event files or the log.", ZH("最近的训练步数。")),
    F_PLAIN(FIELD_ANY, "loss", "Last training loss: a number, or NaN or Infinity as a text.",
            ZH("最近的训练损失（数值；NaN、Infinity 以文本表示）。")),
    F_PLAIN(FIELD_ANY, "stepsPerSecond", "Steps per second over the last minute: a number.",
            ZH("最近一分钟内每秒的训练步数。")),
    F_PLAIN(FIELD_ANY, "fraction",
            "How much is done, between 0 and 1, where the program says its totals: a number.",
            ZH("完成的比例（0 到 1），仅当程序输出了总量时给出。")),
    F_INT64("secondsLeft", "Time left at the pace that was measured.",
            ZH("按测得的速度估算的剩余秒数。")),
    F_STR("message", "What the program said last, such as epoch 3/10.",
          ZH("程序最近输出的进度，例如 epoch 3/10。")),
    F_TIME("time", "When this was written.", ZH("写入时间。")),
    {0}};

const struct field job_status_fields[] = {
    F_STR("phase", "Where the job is in its life.", ONE_OF(phases), ZH("作业所处阶段。")),
    F_STR("reason", "One word: why it does not run, or why it failed.",
          ZH("未运行或失败的原因（一个单词）。")),
    F_STR("message", "A sentence: why it does not run, or why it failed.",
          ZH("未运行或失败的原因（一句话）。")),
    F_CONDITIONS("Initialized, Running, ReplicaFailure, Completed, Failed, Paused.",
                 KEYED_BY("type"), .doc_zh = "作业的状况。"),
    F_OBJS("tasks", task_fields, "Replicas by type.", .flags = FIELD_KEEP_UNKNOWN,
           ZH("各类型副本的状态。")),
    F_OBJ("aggregate", aggregate_fields, "Replicas by phase.", .flags = FIELD_KEEP_UNKNOWN,
          ZH("处于各阶段的副本数量。")),
    F_INT32("backoffCount", "Restarts used up, of spec.runPolicy.backoffLimit.",
            ZH("已使用的重启次数。")),
    F_INT32("pauseCount", "How often the job was paused.", ZH("作业被暂停的次数。")),
    F_INT32("masterPort", "MASTER_PORT of its replicas, where they share one network.",
            ZH("副本共享网络时使用的 MASTER_PORT。")),
    F_PLAIN(FIELD_ANY, "tensorboard", "The TensorBoard made with the job.",
            ZH("随作业创建的 TensorBoard 的状态。")),
    F_TIME("startTime", "When the job began, or was resumed.", ZH("作业开始（或恢复）的时间。")),
    F_TIME("completionTime", "When the job ended.", ZH("作业结束的时间。")),
    F_OBJ("progress", progress_fields, "How far training is, from its event files and its log.",
          .flags = FIELD_KEEP_UNKNOWN, ZH("训练进度，来自事件文件与日志。")),
    F_INT64("observedGeneration", "The metadata.generation this status was made from.",
            ZH("该状态所对应的 metadata.generation。")),
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
