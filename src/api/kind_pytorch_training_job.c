/*
 * kind_pytorch_training_job.c - PyTorchTrainingJob, batch.tensorstack.dev/v1beta1.
 *
 * The field list is T9k's, both eras of it (enable and enabled), with our additions to runPolicy.
 * Templates are kept whole: unknown members stay and nothing in them is defaulted, so that what the
 * user wrote is what the pods get.
 */
#include "api/columns.h"
#include "api/pod_fields.h"
#include "api/pytorch_rules.h"

static const char *const restart_policies[] = {"Never", "OnFailure", "Always", "ExitCode", NULL};
static const char *const clean_up_policies[] = {"None", "All", "Unfinished", NULL};
static const char *const restart_scopes[] = {"Replica", "Job", NULL};
static const char *const rendezvous_backends[] = {"c10d", "etcd", "etcd-v2", NULL};
static const char *const phases[] = {"Pending",   "Running", "Paused",  "Resuming",
                                     "Succeeded", "Failed",  "Unknown", NULL};

#define ENABLED(what_en, what_zh)                                                                  \
    {                                                                                              \
        .name = "enabled", .alias = "enable", .type = FIELD_BOOL, .default_json = "false",         \
        .doc = (what_en), .doc_zh = (what_zh)                                                      \
    }

/* --- spec ----------------------------------------------------------------------------------- */

static const struct field replica_spec_fields[] = {
    {.name = "type",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED | FIELD_DNS_LABEL,
     .doc = "Name of this group of replicas, unique in the job: worker, master, ps, node.",
     .doc_zh = "副本类型的名称，在作业内唯一，例如 worker、master、ps、node。"},
    {.name = "replicas",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .default_json = "1",
     .doc = "Number of replicas of this type.",
     .doc_zh = "该类型的副本数量。"},
    {.name = "restartPolicy",
     .type = FIELD_STRING,
     .flags = FIELD_IMMUTABLE,
     .values = restart_policies,
     .default_json = "\"Never\"",
     .doc =
         "When a replica that ended is replaced: Never; OnFailure, after any exit but 0; Always; "
         "ExitCode, after 130, 137, 138, 143 and spec.runPolicy.restartableExitCodes.",
     .doc_zh = "副本结束后何时重启：Never 不重启；OnFailure 失败后重启；Always 总是重启；ExitCode "
               "仅在退出码为 130、137、138、143 或 runPolicy.restartableExitCodes 中的值时重启。"},
    {.name = "scalingWeight",
     .type = FIELD_INT32,
     .flags = FIELD_IMMUTABLE,
     .has_min = true,
     .min = 0,
     .doc = "Share of this type when elastic training scales.",
     .doc_zh = "弹性伸缩时该类型所占的权重。"},
    {.name = "template",
     .type = FIELD_OBJECT,
     .flags = FIELD_REQUIRED | FIELD_KEEP_UNKNOWN | FIELD_NO_DEFAULTS | FIELD_IMMUTABLE,
     .fields = pod_template_fields,
     .doc = "The pod of a replica. The container named python, else the first, is the training "
            "container. The pod's own restartPolicy is always Never.",
     .doc_zh = "副本的 Pod 模板。名为 python 的容器（否则为第一个容器）是训练容器。Pod 自身的 "
               "restartPolicy 总是 Never。"},
    {0}};

static const struct field elastic_fields[] = {
    {.name = "enabled",
     .alias = "enable",
     .type = FIELD_BOOL,
     .flags = FIELD_IMMUTABLE,
     .default_json = "false",
     .doc = "Whether the number of replicas may change while training. Needs torchrun.",
     .doc_zh = "是否启用弹性训练，仅在使用 torchrun 时有效。"},
    {.name = "minReplicas",
     .type = FIELD_INT32,
     .flags = FIELD_IMMUTABLE,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .doc = "Fewest replicas training goes on with.",
     .doc_zh = "最小副本数量，创建后不可修改。"},
    {.name = "maxReplicas",
     .type = FIELD_INT32,
     .flags = FIELD_IMMUTABLE,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .doc = "Most replicas.",
     .doc_zh = "最大副本数量，创建后不可修改。"},
    {.name = "expectedReplicas",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .doc = "Replicas wanted now, between minReplicas and maxReplicas. May be changed at any time.",
     .doc_zh = "期望的副本数量，介于 minReplicas 与 maxReplicas 之间，可随时修改。"},
    {0}};

static const struct field torchrun_fields[] = {
    ENABLED(
        "Whether the training container is started with torchrun. Its command is then not "
        "used, its args are.",
        "是否使用 torchrun 启动训练。启用后容器的 command 不再生效，args 作为训练脚本及其参数。"),
    {.name = "minNodes",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .doc = "Fewest replicas training goes on with; the older way to say elastic.minReplicas.",
     .doc_zh = "弹性训练的最小副本数量（elastic.minReplicas 的旧写法）。"},
    {.name = "maxRestarts",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "How often torchrun itself starts the processes again; apart from backoffLimit.",
     .doc_zh = "torchrun 自身重启训练进程的最多次数，与 backoffLimit 无关。"},
    {.name = "procPerNode",
     .type = FIELD_STRING,
     .doc = "Processes per replica: a number in quotes, or gpu for one per GPU.",
     .doc_zh = "每个副本启动的训练进程数：数字字符串，或 gpu 表示与副本的 GPU 数量相同。"},
    {.name = "rdzvBackend",
     .type = FIELD_STRING,
     .values = rendezvous_backends,
     .default_json = "\"c10d\"",
     .doc = "How the processes find each other.",
     .doc_zh = "torchrun 使用的汇合通信方式。"},
    {.name = "extraOptions",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "More options of torchrun.",
     .doc_zh = "torchrun 的其他参数。"},
    {0}};

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
    ENABLED("Whether the replicas only wait for somebody to look into them.",
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
    ENABLED("Whether the job is paused: its pods are stopped. May be changed at any time.",
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

static const struct field run_mode_fields[] = {{.name = "debug",
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

static const struct field run_policy_fields[] = {
    {.name = "activeDeadlineSeconds",
     .type = FIELD_INT64,
     .has_min = true,
     .min = 1,
     .doc = "Seconds after its start after which the job has failed.",
     .doc_zh = "作业的最长执行时间（秒），超过后作业失败。"},
    {.name = "backoffLimit",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .default_json = "3",
     .doc = "Restarts all replicas have together.",
     .doc_zh = "所有副本共享的最大重启次数。"},
    {.name = "cleanUpPolicy",
     .type = FIELD_STRING,
     .values = clean_up_policies,
     .default_json = "\"Unfinished\"",
     .doc = "Which pods are deleted when the job ends: None, All, or Unfinished (Pending, Running "
            "and Unknown ones).",
     .doc_zh = "作业结束后删除哪些副本：None 不删除；All 全部；Unfinished 未结束的副本。"},
    {.name = "restartScope",
     .type = FIELD_STRING,
     .values = restart_scopes,
     .default_json = "\"Replica\"",
     .doc = "What is replaced when a replica is restarted: the replica alone, or every replica of "
            "the job together, for the price of one.",
     .doc_zh = "副本重启时的范围：Replica 仅该副本；Job 所有副本一起重启，只计一次。"},
    {.name = "restartableExitCodes",
     .type = FIELD_LIST,
     .item = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 255,
     .doc = "More exit codes after which the policy ExitCode restarts.",
     .doc_zh = "ExitCode 策略下额外的可重启退出码。"},
    {.name = "ttlSecondsAfterFinished",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "Seconds after its end after which the job itself is deleted.",
     .doc_zh = "作业结束多少秒后删除作业本身。"},
    {0}};

static const struct field log_pvc_fields[] = {{.name = "name",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_REQUIRED,
                                               .doc = "PersistentVolumeClaim.",
                                               .doc_zh = "PVC 名称。"},
                                              {.name = "subPath",
                                               .alias = "subpath",
                                               .type = FIELD_LIST,
                                               .item = FIELD_STRING,
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

static const struct field scheduler_fields[] = {{.name = "t9kScheduler",
                                                 .type = FIELD_OBJECT,
                                                 .fields = t9k_scheduler_fields,
                                                 .doc = "Use the queue scheduler.",
                                                 .doc_zh = "使用 T9k Scheduler 调度器。"},
                                                {0}};

static const struct field tensorboard_spec_fields[] = {
    {.name = "image",
     .type = FIELD_STRING,
     .doc = "Image that holds TensorBoard.",
     .doc_zh = "TensorBoard 使用的镜像。"},
    {.name = "trainingLogFilesets",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Folders of event files: t9k://pvc/CLAIM/PATH or t9k://minio/SECRET/BUCKET/PATH.",
     .doc_zh = "日志文件集：t9k://pvc/<pvc>/<路径> 或 t9k://minio/<secret>/<bucket>/<路径>。"},
    {.name = "logDir",
     .type = FIELD_OBJECT,
     .fields = log_dir_fields,
     .doc = "Where the event files are.",
     .doc_zh = "日志文件的位置。"},
    {.name = "resources",
     .type = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = resource_fields,
     .doc = "CPU and memory of TensorBoard.",
     .doc_zh = "TensorBoard 使用的资源。"},
    {.name = "scheduler",
     .type = FIELD_OBJECT,
     .fields = scheduler_fields,
     .doc = "How TensorBoard is scheduled.",
     .doc_zh = "TensorBoard 的调度设置。"},
    {.name = "suspend",
     .type = FIELD_BOOL,
     .doc = "Whether TensorBoard is stopped.",
     .doc_zh = "是否暂停 TensorBoard。"},
    {0}};

static const struct field spec_fields[] = {
    {.name = "replicaSpecs",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_REQUIRED | FIELD_NON_EMPTY,
     .fields = replica_spec_fields,
     .list_key = "type",
     .doc = "The replicas, by type. Ranks follow their order: the first replica of the first entry "
            "is the master.",
     .doc_zh = "各类型副本的定义。按顺序编号：第一个类型的第一个副本是 master。"},
    {.name = "torchrunConfig",
     .type = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = torchrun_fields,
     .doc = "Start training with torchrun.",
     .doc_zh = "使用 torchrun 启动训练的设置。"},
    {.name = "elastic",
     .type = FIELD_OBJECT,
     .fields = elastic_fields,
     .doc = "Change the number of replicas while training.",
     .doc_zh = "弹性训练设置。"},
    {.name = "runMode",
     .type = FIELD_OBJECT,
     .fields = run_mode_fields,
     .doc = "Debug or pause instead of running.",
     .doc_zh = "运行模式：Debug 或暂停。"},
    {.name = "runPolicy",
     .type = FIELD_OBJECT,
     .fields = run_policy_fields,
     .default_json = "{}",
     .doc = "How long, how often, and what remains.",
     .doc_zh = "运行策略：时限、重启次数与清除策略。"},
    {.name = "tensorboardSpec",
     .type = FIELD_OBJECT,
     .fields = tensorboard_spec_fields,
     .doc = "A TensorBoard made with the job.",
     .doc_zh = "随作业创建的 TensorBoard。"},
    {.name = "scheduler",
     .type = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = scheduler_fields,
     .doc = "Which scheduler places the replicas; the default one when absent.",
     .doc_zh = "调度器设置；不设置则使用默认调度器。"},
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

static const struct field status_fields[] = {
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
    {.name = "conditions",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .flags = FIELD_KEEP_UNKNOWN,
     .fields = condition_fields,
     .list_key = "type",
     .doc = "Initialized, Running, ReplicaFailure, Completed, Failed, Paused.",
     .doc_zh = "作业的状况。"},
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
    {.name = "observedGeneration",
     .type = FIELD_INT64,
     .doc = "The metadata.generation this status was made from.",
     .doc_zh = "该状态所对应的 metadata.generation。"},
    {0}};

static const struct field fields[] = {{.name = "spec",
                                       .type = FIELD_OBJECT,
                                       .flags = FIELD_REQUIRED,
                                       .fields = spec_fields,
                                       .doc = "What is wanted.",
                                       .doc_zh = "期望的状态。"},
                                      {.name = "status",
                                       .type = FIELD_OBJECT,
                                       .flags = FIELD_KEEP_UNKNOWN | FIELD_READ_ONLY,
                                       .fields = status_fields,
                                       .doc = "What is.",
                                       .doc_zh = "实际的状态。"},
                                      {0}};

/* --- columns -------------------------------------------------------------------------------- */

static struct json *render_running(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return json_new_stringf(a, "%lld/%lld",
                            (long long)json_int(json_at(job, "status", "aggregate", "running"), 0),
                            (long long)pytorch_total_replicas(job));
}

static struct json *render_restarts(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, json_int(json_at(job, "status", "backoffCount"), 0));
}

static const struct column columns[] = {COLUMN_NAME,
                                        {.name = "Phase",
                                         .type = "string",
                                         .doc = "Where the job is in its life.",
                                         .path = ".status.phase"},
                                        {.name = "Running",
                                         .type = "string",
                                         .doc = "Replicas that run, of all.",
                                         .path = ".status.aggregate.running",
                                         .render = render_running},
                                        {.name = "Restarts",
                                         .type = "integer",
                                         .doc = "Restarts used up.",
                                         .path = ".status.backoffCount",
                                         .render = render_restarts},
                                        {.name = "Age",
                                         .type = "date",
                                         .doc = "Time since the job was created.",
                                         .path = ".metadata.creationTimestamp"},
                                        {.name = "Reason",
                                         .type = "string",
                                         .priority = 1,
                                         .doc = "Why it does not run, or why it failed.",
                                         .path = ".status.reason"},
                                        {.name = "Message",
                                         .type = "string",
                                         .priority = 1,
                                         .doc = "The same as a sentence.",
                                         .path = ".status.message"},
                                        {0}};

const struct kind kind_pytorch_training_job = {
    .group = "batch.tensorstack.dev",
    .version = "v1beta1",
    .name = "PyTorchTrainingJob",
    .plural = "pytorchtrainingjobs",
    .singular = "pytorchtrainingjob",
    .short_names = (const char *const[]){"pj", NULL},
    .categories = (const char *const[]){"all", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc =
        "PyTorchTrainingJob runs distributed PyTorch training: its replicas, their restarts, and "
        "what becomes of them.",
    .doc_zh = "PyTorchTrainingJob 是服务于 PyTorch 分布式训练的作业。",
    .fields = fields,
    .columns = columns,
    .validate = pytorch_validate,
    .warn = pytorch_warn};
