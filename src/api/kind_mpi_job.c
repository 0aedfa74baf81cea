/*
 * kind_mpi_job.c - MPIJob, batch.tensorstack.dev/v1beta1.
 *
 * The field list is T9k's of 2025 (mpiConfig and replicaSpecs), with our additions to mpiConfig and
 * runPolicy. The members of its older layouts are here to be read; mpi_layouts.c rewrites them, so
 * that no stored object has them.
 */
#include "api/job_fields.h"
#include "api/mpi_rules.h"
#include "api/pod_fields.h"

#define READY_TIMEOUT_LIMIT_SECONDS 86400

static const char *const replica_types[] = {MPI_LAUNCHER, MPI_WORKER, NULL};
static const char *const implementations[] = {"openmpi", "intel", "mpich", NULL};

/* --- spec ------------------------------------------------------------------------------------- */

static const struct field mpi_config_fields[] = {
    {.name = "script",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "The MPI program and its arguments.",
     .doc_zh = "MPI 程序及其参数。"},
    {.name = "extraArgs",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "More options of mpirun, each a string: -N, \"2\", --bind-to, none.",
     .doc_zh = "mpirun 的其他参数。"},
    {.name = "mca",
     .type = FIELD_MAP,
     .item = FIELD_STRING,
     .doc = "Parameters of Open MPI, given to mpirun as -mca KEY VALUE.",
     .doc_zh = "Open MPI 的 MCA 参数，以 -mca 传给 mpirun。"},
    {.name = "home",
     .type = FIELD_STRING,
     .doc = "Where MPI is installed: mpirun is home/bin/mpirun. Absent: mpirun of the PATH.",
     .doc_zh = "MPI 的安装路径，例如 /usr/local；不设置则使用 PATH 中的 mpirun。"},
    {.name = "implementation",
     .type = FIELD_STRING,
     .values = implementations,
     .default_json = "\"openmpi\"",
     .doc = "Which MPI it is: it decides on the form of the hostfile and the options.",
     .doc_zh = "MPI 的实现：openmpi、intel 或 mpich。"},
    {.name = "slotsPerWorker",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 9999,
     .doc = "Processes a worker may have, by the hostfile. Absent: as many as extraArgs ask for "
            "(-N 2), else 1.",
     .doc_zh = "每个 worker 的进程槽位数；不设置则由 extraArgs（如 -N 2）推断，否则为 1。"},
    {.name = "readyTimeoutSeconds",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = READY_TIMEOUT_LIMIT_SECONDS,
     .doc = "How long the launcher waits for the workers to be ready before it fails; 300 when "
            "absent.",
     .doc_zh = "launcher 等待所有 worker 就绪的最长时间（秒），默认 300。"},
    {0}};

static const struct field restart_policy_fields[] = {
    {.name = "policy",
     .type = FIELD_STRING,
     .values = job_restart_policies,
     .default_json = "\"OnFailure\"",
     .doc = "When the job is started anew after an end of this type's replicas.",
     .doc_zh = "该类型副本结束后何时重启：Never、OnFailure、Always 或 ExitCode。"},
    {.name = "limit",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "How often; the highest of all types counts, and only without "
            "spec.runPolicy.backoffLimit.",
     .doc_zh = "最多重启次数，默认 0；设置了 runPolicy.backoffLimit 时不使用。"},
    {0}};

static const struct field template_meta_fields[] = {{.name = "labels",
                                                     .type = FIELD_MAP,
                                                     .item = FIELD_STRING,
                                                     .flags = FIELD_LABELS,
                                                     .doc = "Labels of the pods.",
                                                     .doc_zh = "Pod 的标签。"},
                                                    {.name = "annotations",
                                                     .type = FIELD_MAP,
                                                     .item = FIELD_STRING,
                                                     .doc = "Annotations of the pods.",
                                                     .doc_zh = "Pod 的注释。"},
                                                    {0}};

/* Unlike other templates it may be empty: the launcher has a default. */
static const struct field template_fields[] = {{.name = "metadata",
                                                .type = FIELD_OBJECT,
                                                .flags = FIELD_KEEP_UNKNOWN,
                                                .fields = template_meta_fields,
                                                .doc = "Labels and annotations of the pods.",
                                                .doc_zh = "Pod 的标签和注释。"},
                                               {.name = "spec",
                                                .type = FIELD_OBJECT,
                                                .fields = pod_spec_fields,
                                                .doc = "What the pods run.",
                                                .doc_zh = "Pod 运行的内容。"},
                                               {0}};

static const struct field replica_spec_fields[] = {
    {.name = "type",
     .type = FIELD_STRING,
     .flags = FIELD_REQUIRED,
     .values = replica_types,
     .doc = "worker, where the MPI program runs, or launcher, where mpirun does.",
     .doc_zh = "副本类型：worker 运行 MPI 程序，launcher 运行 mpirun。"},
    {.name = "replicas",
     .type = FIELD_INT32,
     .flags = FIELD_IMMUTABLE,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT,
     .default_json = "1",
     .doc = "Number of replicas of this type; there is one launcher.",
     .doc_zh = "该类型的副本数量；launcher 只有一个。"},
    {.name = "restartPolicy",
     .type = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = restart_policy_fields,
     .doc = "What follows when a replica fails, or a worker ends before the launcher.",
     .doc_zh = "该类型副本的重启策略。"},
    {.name = "template",
     .type = FIELD_OBJECT,
     .flags = FIELD_NO_DEFAULTS | FIELD_IMMUTABLE,
     .fields = template_fields,
     .doc = "The pod of a replica. Workers: the MPI program runs in the container called worker or "
            "mpi-worker, else the first. Launcher: may be {}, or have a container called launcher; "
            "what it leaves out is taken from the worker's.",
     .doc_zh =
         "副本的 Pod 模板。worker：MPI 程序在名为 worker 或 mpi-worker 的容器（否则第一个容器）中"
         "运行；launcher：可以为 {}，或包含名为 launcher 的容器。"},
    {0}};

static const struct field ssh_fields[] = {
    {.name = "sshAuthMountPath",
     .alias = "authMountPath",
     .type = FIELD_STRING,
     .doc = "Where keys are mounted, on clusters that use ssh.",
     .doc_zh = "使用 ssh 时密钥的挂载路径，默认 /root/.ssh。"},
    {.name = "sshdPath",
     .type = FIELD_STRING,
     .doc = "Where sshd is in the workers' image, on clusters that use ssh.",
     .doc_zh = "使用 ssh 时 sshd 的路径，默认 /usr/sbin/sshd。"},
    {0}};

static const struct field run_policy_fields[] = {
    JOB_FIELD_DEADLINE,
    {.name = "backoffLimit",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "How often the job is started anew. Absent: the highest "
            "spec.replicaSpecs[].restartPolicy.limit.",
     .doc_zh = "作业的最大重启次数；不设置则为 replicaSpecs[].restartPolicy.limit 的最大值。"},
    {.name = "cleanUpPolicy",
     .type = FIELD_STRING,
     .values = job_clean_up_policies,
     .doc = "Which pods are deleted when the job ends: None, All, or Unfinished (Pending, Running "
            "and Unknown ones). Unfinished when absent.",
     .doc_zh = "作业结束后删除哪些副本：None 不删除；All 全部；Unfinished 未结束的副本（默认）。"},
    {.name = "cleanUpWorkers",
     .type = FIELD_BOOL,
     .doc = "Whether the workers are deleted when the job ends: true, all of them; false, none, "
            "unless cleanUpPolicy is given. Absent: as cleanUpPolicy says.",
     .doc_zh = "作业结束后是否删除 worker：true 全部删除；false 保留（除非设置了 cleanUpPolicy）；"
               "不设置则按 cleanUpPolicy。"},
    {.name = "restartScope",
     .type = FIELD_STRING,
     .values = job_restart_scopes,
     .doc = "What is replaced when the job is started anew: Job, every replica, so that nothing of "
            "the last attempt is left (when absent); Replica, the launcher and what has ended.",
     .doc_zh = "作业重启时的范围：Job 所有副本（默认）；Replica 仅 launcher 与已结束的副本。"},
    JOB_FIELD_EXIT_CODES,
    JOB_FIELD_TTL,
    {0}};

/* --- older layouts ---------------------------------------------------------------------------- */

static const struct field process_recovery_fields[] = {
    JOB_FIELD_ENABLED("Whether mpirun starts failed processes again.", "是否重启失败的进程。"),
    {.name = "limit",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 0,
     .doc = "How often.",
     .doc_zh = "最多重启次数。"},
    {0}};

const struct field mpi_worker_fields[] = {
    {.name = "replicas",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = JOB_REPLICAS_LIMIT - 1,
     .doc = "Older layout of replicaSpecs[].replicas.",
     .doc_zh = "旧写法：worker 数量。"},
    {.name = "cmd",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Older layout of mpiConfig.script.",
     .doc_zh = "旧写法：MPI 程序及其参数。"},
    {.name = "extraMPIArgs",
     .type = FIELD_LIST,
     .item = FIELD_STRING,
     .doc = "Older layout of mpiConfig.extraArgs.",
     .doc_zh = "旧写法：mpirun 的其他参数。"},
    {.name = "processesPerWorker",
     .type = FIELD_INT32,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 9999,
     .doc = "Oldest layout of mpiConfig.extraArgs: -N.",
     .doc_zh = "旧写法：每个 worker 的进程数。"},
    {.name = "processRecovery",
     .type = FIELD_OBJECT,
     .fields = process_recovery_fields,
     .doc = "Oldest layout of mpiConfig.extraArgs: --enable-recovery, --max-restarts.",
     .doc_zh = "旧写法：进程恢复设置。"},
    {.name = "template",
     .type = FIELD_OBJECT,
     .flags = FIELD_NO_DEFAULTS,
     .fields = pod_template_fields,
     .doc = "Older layout of replicaSpecs[].template.",
     .doc_zh = "旧写法：worker 的 Pod 模板。"},
    {0}};

/* --- rules for clusters ------------------------------------------------------------------------
 */

static const struct rule replica_spec_rules[] = {
    {.rule = "self.type != 'launcher' || !has(self.replicas) || self.replicas == 1",
     .field = ".replicas",
     .message = "a job has one launcher"},
    {.rule = "self.type != 'worker' || !has(self.replicas) || self.replicas < " STRINGIFY(
         JOB_REPLICAS_LIMIT),
     .field = ".replicas",
     .message = "a job may have fewer than " STRINGIFY(
         JOB_REPLICAS_LIMIT) " workers, and a launcher"},
    {.rule = "self.type != 'worker' || (has(self.template) && has(self.template.spec))",
     .field = ".template",
     .message = "the workers' pods need a container"},
    {.rule = "self.type != 'worker' || !has(self.template) || !has(self.template.spec) || "
             "size(self.template.spec.containers) < 2 || "
             "self.template.spec.containers.exists(c, c.name in ['worker', 'mpi-worker'])",
     .field = ".template.spec.containers",
     .message = "of several containers one must be called worker (or mpi-worker): the MPI program "
                "runs there"},
    {0}};

static const struct rule spec_rules[] = {
    {.rule = "!has(self.worker) && !has(self.mca) && !has(self.mpiHome)",
     .field = ".worker",
     .message = "worker, mca and mpiHome are an older layout, which only muster's own server "
                "understands: use replicaSpecs and mpiConfig"},
    {.rule = "has(self.worker) || has(self.replicaSpecs) && self.replicaSpecs.exists(r, r.type == "
             "'worker')",
     .field = ".replicaSpecs",
     .message = "a job needs an entry of type worker"},
    {.rule = "has(self.worker) || self.?mpiConfig.?script.orValue([]).size() > 0 || "
             "self.?runMode.?debug.?enabled.orValue(false) || "
             "self.?runMode.?debug.?enable.orValue(false)",
     .field = ".mpiConfig",
     .message = "script is missing: the MPI program and its arguments"},
    {.rule = "self.?replicaSpecs.orValue([]).size() == oldSelf.?replicaSpecs.orValue([]).size()",
     .field = ".replicaSpecs",
     .message = "replica types may not be added or removed after creation"},
    {0}};

/* NAME-HASH-launcher or NAME-HASH-worker-INDEX has 63 characters at most. */
static const struct rule rules[] = {
    JOB_RULE_NAME("pods"),
    {.rule = "size(self.metadata.name) <= 48 && (!has(self.spec.replicaSpecs) || "
             "self.spec.replicaSpecs.all(r, !has(r.replicas) || size(self.metadata.name) + "
             "size(string(r.replicas - 1)) <= 49))",
     .field = ".metadata",
     .message = "name is too long: pods are named NAME-HASH-launcher and NAME-HASH-worker-INDEX, "
                "which may have 63 characters",
     .new_only = true},
    {0}};

/* --- the whole -------------------------------------------------------------------------------- */

static const struct field spec_fields[] = {
    {.name = "replicaSpecs",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = replica_spec_fields,
     .rules = replica_spec_rules,
     .list_key = "type",
     .max_items = 2,
     .doc = "The workers, and if need be the launcher.",
     .doc_zh = "worker 与 launcher 副本的定义。"},
    {.name = "mpiConfig",
     .type = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = mpi_config_fields,
     .doc = "What mpirun starts, and how.",
     .doc_zh = "mpirun 的设置。"},
    {.name = "ssh",
     .type = FIELD_OBJECT,
     .flags = FIELD_IMMUTABLE,
     .fields = ssh_fields,
     .ignored = "programs are started through the API, without ssh",
     .doc = "For clusters that use ssh; not used where programs are started through the API.",
     .doc_zh = "SSH 设置；通过 API 启动进程时不使用。"},
    JOB_FIELD_RUN_MODE,
    {.name = "runPolicy",
     .type = FIELD_OBJECT,
     .fields = run_policy_fields,
     .doc = "How long, how often, and what remains.",
     .doc_zh = "运行策略：时限、重启次数与清除策略。"},
    JOB_FIELD_TENSORBOARD,
    JOB_FIELD_SCHEDULER,
    {.name = "worker",
     .type = FIELD_OBJECT,
     .fields = mpi_worker_fields,
     .doc = "Older layout of replicaSpecs and mpiConfig; rewritten to them.",
     .doc_zh = "旧写法，会被改写为 replicaSpecs 与 mpiConfig。"},
    {.name = "mca",
     .type = FIELD_MAP,
     .item = FIELD_STRING,
     .doc = "Older layout of mpiConfig.mca; rewritten to it.",
     .doc_zh = "旧写法，会被改写为 mpiConfig.mca。"},
    {.name = "mpiHome",
     .type = FIELD_STRING,
     .doc = "Older layout of mpiConfig.home; rewritten to it.",
     .doc_zh = "旧写法，会被改写为 mpiConfig.home。"},
    {0}};

static const struct field fields[] = {
    JOB_FIELD_SPEC(spec_fields, spec_rules), JOB_FIELD_STATUS(job_status_fields), {0}};

/* The launcher counts: it runs like the others. Workers are done when it is. */
static struct json *render_running(struct arena *a, const struct json *job, int64_t now_ms)
{
    int64_t all = mpi_workers(json_get(job, "spec")) + 1;

    (void)now_ms;
    return job_render_running(a, job, all, all);
}

static const struct column columns[] = {JOB_COLUMNS(render_running)};

const struct kind kind_mpi_job = {
    .group = "batch.tensorstack.dev",
    .version = "v1beta1",
    .name = "MPIJob",
    .plural = "mpijobs",
    .singular = "mpijob",
    .short_names = (const char *const[]){"mj", NULL},
    .categories = (const char *const[]){"all", "muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "MPIJob runs an MPI program over all its workers, started by mpirun in its launcher.",
    .doc_zh = "MPIJob 在所有 worker 上运行一个 MPI 程序，由 launcher 中的 mpirun 启动。",
    .fields = fields,
    .columns = columns,
    .validate = mpi_validate,
    .rules = rules,
    .unify = mpi_unify,
    .warn = mpi_warn};
