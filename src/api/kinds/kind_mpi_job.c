/*
 * kind_mpi_job.c - MPIJob, batch.tensorstack.dev/v1beta1.
 *
 * The fields are T9k's of 2025 (mpiConfig and replicaSpecs), with our additions to mpiConfig and
 * runPolicy. Members of older layouts are only read; mpi_layouts.c rewrites them, so that no stored
 * object has them.
 */
#include "api/field_macros.h"
#include "api/kinds/job_fields.h"
#include "api/kinds/pod_fields.h"
#include "api/mpi_rules.h"

#define READY_TIMEOUT_LIMIT_SECONDS 86400

static const char *const replica_types[] = {MPI_LAUNCHER, MPI_WORKER, NULL};
static const char *const implementations[] = {"openmpi", "intel", "mpich", NULL};

/* --- spec ------------------------------------------------------------------------------------- */

static const struct field mpi_config_fields[] = {
    F_STRS("script", "The MPI program and its arguments."),
    F_STRS("extraArgs", "Additional options of mpirun, each a string: -N, \"2\", --bind-to, none."),
    F_STR_MAP("mca", "Parameters of Open MPI, given to mpirun as -mca KEY VALUE."),
    F_STR("home", "Where MPI is installed: mpirun is home/bin/mpirun. Unset: mpirun in the PATH."),
    F_STR("implementation",
          "The MPI implementation, which determines the hostfile's format and the options.",
          ONE_OF(implementations), DEFAULT("\"openmpi\"")),
    F_INT32("slotsPerWorker",
            "Slots per worker in the hostfile: how many processes it may run. Unset: as many as "
            "extraArgs ask for (-N 2), else 1.",
            BETWEEN(1, 9999)),
    F_INT32("readyTimeoutSeconds",
            "How long the launcher waits for the workers to be ready before it fails; 300 when "
            "absent.",
            BETWEEN(1, READY_TIMEOUT_LIMIT_SECONDS)),
    {0}};

static const struct field restart_policy_fields[] = {
    F_STR("policy", "When the job is restarted after a replica of this type ended.",
          ONE_OF(job_restart_policies), DEFAULT("\"OnFailure\"")),
    F_INT32("limit",
            "Maximum number of restarts; the highest of all types counts, and only without "
            "spec.runPolicy.backoffLimit.",
            AT_LEAST(0)),
    {0}};

static const struct field template_meta_fields[] = {
    F_STR_MAP("labels", "Labels of the pods.", .flags = FIELD_LABELS),
    F_STR_MAP("annotations", "Annotations of the pods."),
    {0}};

/* May be empty, unlike other templates: the launcher has a default. */
static const struct field template_fields[] = {F_OBJ("metadata", template_meta_fields,
                                                     "Labels and annotations of the pods.",
                                                     .flags = FIELD_KEEP_UNKNOWN),
                                               F_OBJ("spec", pod_spec_fields, "Spec of the pods."),
                                               {0}};

static const struct field replica_spec_fields[] = {
    F_STR("type", "worker, where the MPI program runs, or launcher, where mpirun does.", REQUIRED,
          ONE_OF(replica_types)),
    F_INT32("replicas", "Number of replicas of this type; there is one launcher.",
            .flags = FIELD_IMMUTABLE, BETWEEN(1, JOB_REPLICAS_LIMIT), DEFAULT("1")),
    F_OBJ("restartPolicy", restart_policy_fields,
          "What to do when a replica fails, or a worker ends before the launcher.",
          .flags = FIELD_IMMUTABLE),
    F_OBJ("template", template_fields,
          "The pod of a replica. Workers: the MPI program runs in the container called worker or "
          "mpi-worker, else the first. Launcher: may be {}, or have a container called launcher; "
          "what it leaves out is taken from the worker's.",
          .flags = FIELD_NO_DEFAULTS | FIELD_IMMUTABLE),
    {0}};

static const struct field ssh_fields[] = {
    F_STR("sshAuthMountPath", "Where keys are mounted; /root/.ssh when absent.",
          .alias = "authMountPath"),
    F_STR("sshdPath", "Where sshd is in the workers' image, as an absolute path. Absent: programs "
                      "are started through the API."),
    {0}};

static const struct field run_policy_fields[] = {
    JOB_FIELD_DEADLINE,
    F_INT32("backoffLimit",
            "Maximum number of restarts. If absent: the highest "
            "spec.replicaSpecs[].restartPolicy.limit.",
            AT_LEAST(0)),
    F_STR("cleanUpPolicy",
          "Which pods are deleted when the job ends: None, All, or Unfinished (Pending, Running "
          "and Unknown ones). Unfinished by default.",
          ONE_OF(job_clean_up_policies)),
    F_BOOL("cleanUpWorkers",
           "Whether the workers are deleted when the job ends: true, all of them; false, none, "
           "unless cleanUpPolicy is given. If absent, cleanUpPolicy decides."),
    F_STR("restartScope",
          "What is replaced on a restart: Job, every replica, so that nothing of the last attempt "
          "is left (the default); Replica, the launcher and what has ended.",
          ONE_OF(job_restart_scopes)),
    JOB_FIELD_EXIT_CODES,
    JOB_FIELD_TTL,
    {0}};

/* --- older layouts ---------------------------------------------------------------------------- */

static const struct field process_recovery_fields[] = {
    JOB_FIELD_ENABLED("Whether mpirun restarts failed processes."),
    F_INT32("limit", "Maximum number of restarts of a process.", AT_LEAST(0)),
    {0}};

const struct field mpi_worker_fields[] = {
    F_INT32("replicas", "Older layout of replicaSpecs[].replicas.",
            BETWEEN(1, JOB_REPLICAS_LIMIT - 1)),
    F_STRS("cmd", "Older layout of mpiConfig.script."),
    F_STRS("extraMPIArgs", "Older layout of mpiConfig.extraArgs."),
    F_INT32("processesPerWorker", "Oldest layout of mpiConfig.extraArgs: -N.", BETWEEN(1, 9999)),
    F_OBJ("processRecovery", process_recovery_fields,
          "Oldest layout of mpiConfig.extraArgs: --enable-recovery, --max-restarts."),
    F_OBJ("template", pod_template_fields, "Older layout of replicaSpecs[].template.",
          .flags = FIELD_NO_DEFAULTS),
    {0}};

/* --- rules for clusters --------------------------------------------------------------------- */

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

/* NAME-HASH-launcher and NAME-HASH-worker-INDEX must fit into 63 characters. */
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
    F_OBJS("replicaSpecs", replica_spec_fields, "The workers, and optionally the launcher.",
           .rules = replica_spec_rules, KEYED_BY("type"), .max_items = 2),
    F_OBJ("mpiConfig", mpi_config_fields, "What mpirun starts, and how.", .flags = FIELD_IMMUTABLE),
    F_OBJ("ssh", ssh_fields,
          "On a cluster programs are started by ssh where sshdPath is set; on one machine they are "
          "started through the API.",
          .flags = FIELD_IMMUTABLE, IGNORED("programs are started through the API, without ssh")),
    JOB_FIELD_RUN_MODE,
    F_OBJ("runPolicy", run_policy_fields, "Deadlines, restarts and clean-up."),
    JOB_FIELD_TENSORBOARD,
    JOB_FIELD_SCHEDULER,
    F_OBJ("worker", mpi_worker_fields,
          "Older layout of replicaSpecs and mpiConfig; rewritten to them."),
    F_STR_MAP("mca", "Older layout of mpiConfig.mca; rewritten to it."),
    F_STR("mpiHome", "Older layout of mpiConfig.home; rewritten to it."),
    {0}};

static const struct field fields[] = {
    JOB_FIELD_SPEC(spec_fields, spec_rules), JOB_FIELD_STATUS(job_status_fields), {0}};

/* The launcher counts as a replica. Workers are done when it is. */
static struct json *render_running(struct arena *a, const struct json *job, int64_t now_ms)
{
    int64_t all = mpi_workers(json_get(job, "spec")) + 1;

    (void)now_ms;
    return job_render_running(a, job, all, all);
}

static const struct column columns[] = {JOB_COLUMNS(render_running), {0}};

const struct kind kind_mpi_job = {
    KIND_NAMES("batch.tensorstack.dev", "v1beta1", "MPIJob", "mpijobs", "mpijob"),
    .short_names = (const char *const[]){"mj", NULL},
    .categories = (const char *const[]){"all", "muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "MPIJob runs an MPI program on all its workers, started by mpirun in its launcher.",
    .fields = fields,
    .columns = columns,
    .validate = mpi_validate,
    .rules = rules,
    .unify = mpi_unify,
    .warn = mpi_warn};
