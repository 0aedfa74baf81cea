/*
 * kind_pytorch_training_job.c - PyTorchTrainingJob, batch.tensorstack.dev/v1beta1.
 *
 * The fields are T9k's, of both its versions (enable and enabled), with our additions to runPolicy.
 * Templates are kept as written: unknown members stay and nothing in them is defaulted, so that the
 * pods get exactly what the user wrote.
 */
#include "api/field_macros.h"
#include "api/kinds/job_fields.h"
#include "api/kinds/pod_fields.h"
#include "api/pytorch_rules.h"

#define REPLICA_TYPES_LIMIT 16 /* bounds the cost of CEL rules over all types */

static const char *const rendezvous_backends[] = {"c10d", "etcd", "etcd-v2", NULL};

/* --- spec ----------------------------------------------------------------------------------- */

static const struct field replica_spec_fields[] = {
    F_STR("type", "Name of this group of replicas, unique in the job: worker, master, ps, node.",
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),
    F_INT32("replicas", "Number of replicas of this type.", BETWEEN(0, JOB_REPLICAS_LIMIT),
            DEFAULT("1")),
    F_STR("restartPolicy",
          "When an ended replica is replaced: Never; OnFailure, after any exit code but 0; Always; "
          "ExitCode, after 130, 137, 138, 143 and spec.runPolicy.restartableExitCodes.",
          .flags = FIELD_IMMUTABLE, ONE_OF(job_restart_policies), DEFAULT("\"Never\"")),
    F_INT32("scalingWeight", "Share of this type when elastic training scales.",
            .flags = FIELD_IMMUTABLE, AT_LEAST(0)),
    F_OBJ("template", pod_template_fields,
          "The pod of a replica. The container named python, else the first, is the training "
          "container. The pod's own restartPolicy is always Never.",
          .flags = FIELD_REQUIRED | FIELD_NO_DEFAULTS | FIELD_IMMUTABLE),
    {0}};

static const struct field elastic_fields[] = {
    F_BOOL("enabled",
           "Whether the number of replicas may change during training. Requires torchrun.",
           .alias = "enable", .flags = FIELD_IMMUTABLE, DEFAULT("false")),
    F_INT32("minReplicas", "Minimum number of replicas for training to continue.",
            .flags = FIELD_IMMUTABLE, BETWEEN(1, JOB_REPLICAS_LIMIT)),
    F_INT32("maxReplicas", "Maximum number of replicas.", .flags = FIELD_IMMUTABLE,
            BETWEEN(1, JOB_REPLICAS_LIMIT)),
    F_INT32("expectedReplicas",
            "Current number of replicas, between minReplicas and maxReplicas. Can be changed at "
            "any time.",
            BETWEEN(1, JOB_REPLICAS_LIMIT)),
    {0}};

static const struct field torchrun_fields[] = {
    JOB_FIELD_ENABLED("Whether the training container is started with torchrun, which replaces its "
                      "command and runs its args."),
    F_INT32("minNodes", "Deprecated form of elastic.minReplicas.", BETWEEN(1, JOB_REPLICAS_LIMIT)),
    F_INT32("maxRestarts",
            "How often torchrun itself restarts the processes, independently of backoffLimit.",
            AT_LEAST(0)),
    F_STR("procPerNode", "Processes per replica: a number in quotes, or gpu for one per GPU.",
          .pattern = "^(gpu|[1-9][0-9]{0,3}|0[1-9][0-9]{0,2}|00[1-9][0-9]?|000[1-9])?$"),
    F_STR("rdzvBackend", "How the processes find each other.", ONE_OF(rendezvous_backends),
          DEFAULT("\"c10d\"")),
    F_STRS("extraOptions", "Additional options of torchrun."),
    {0}};

static const struct field run_policy_fields[] = {
    JOB_FIELD_DEADLINE,
    F_INT32("backoffLimit", "Maximum number of restarts of all replicas together.", AT_LEAST(0),
            DEFAULT("3")),
    F_STR("cleanUpPolicy",
          "Which pods are deleted when the job ends: None, All, or Unfinished (Pending, Running "
          "and Unknown ones).",
          ONE_OF(job_clean_up_policies), DEFAULT("\"Unfinished\"")),
    F_STR("restartScope",
          "What is replaced on a restart: just the replica, or every replica of the job together, "
          "counted as one restart.",
          ONE_OF(job_restart_scopes), DEFAULT("\"Replica\"")),
    JOB_FIELD_EXIT_CODES,
    JOB_FIELD_TTL,
    {0}};

/* --- rules for clusters --------------------------------------------------------------------- */

#define IS_TRUE(path) "(has(" path ") && " path ")"
#define SAYS_ENABLED(path) "(" IS_TRUE(path ".enabled") " || " IS_TRUE(path ".enable") ")"
#define IS_ENABLED(path) "(has(" path ") && " SAYS_ENABLED(path) ")"
#define IS_ELASTIC "(" IS_ENABLED("self.elastic") " && " IS_ENABLED("self.torchrunConfig") ")"
#define ALL_REPLICAS "self.replicaSpecs.map(r, r.replicas).sum()"

static const struct rule elastic_rules[] = {
    {.rule = "!" SAYS_ENABLED("self") " || has(self.minReplicas)",
     .field = ".minReplicas",
     .message = "required for elastic training"},
    {.rule = "!" SAYS_ENABLED("self") " || has(self.maxReplicas)",
     .field = ".maxReplicas",
     .message = "required for elastic training"},
    {.rule = "!" SAYS_ENABLED("self") " || !has(self.minReplicas) || !has(self.maxReplicas) || "
                                      "self.minReplicas <= self.maxReplicas",
     .field = ".maxReplicas",
     .message = "must be greater than or equal to minReplicas"},
    {.rule = "!" SAYS_ENABLED("self") " || !has(self.expectedReplicas) || "
                                      "((!has(self.minReplicas) || self.minReplicas <= "
                                      "self.expectedReplicas) && (!has(self.maxReplicas) || "
                                      "self.expectedReplicas <= self.maxReplicas))",
     .field = ".expectedReplicas",
     .message = "must be between minReplicas and maxReplicas"},
    {0}};

static const struct rule spec_rules[] = {
    {.rule = "self.replicaSpecs.map(r, r.type) == oldSelf.replicaSpecs.map(r, r.type)",
     .field = ".replicaSpecs",
     .message = "types and their order may not change: they determine the replicas' ranks"},
    {.rule = IS_ELASTIC " || self.replicaSpecs.all(r, oldSelf.replicaSpecs.all(o, o.type != r.type "
                        "|| o.replicas == r.replicas))",
     .field = ".replicaSpecs",
     .message = "replicas may not change unless spec.elastic.enabled and "
                "spec.torchrunConfig.enabled are true"},
    {.rule = IS_ENABLED("self.elastic") " || self.?elastic.?expectedReplicas == "
                                        "oldSelf.?elastic.?expectedReplicas",
     .field = ".elastic",
     .message = "expectedReplicas may not change unless spec.elastic.enabled is true"},
    {.rule = "self.replicaSpecs.exists(r, r.replicas > 0)",
     .field = ".replicaSpecs",
     .message = "a job needs at least one replica"},
    {.rule = ALL_REPLICAS " <= " STRINGIFY(JOB_REPLICAS_LIMIT),
     .field = ".replicaSpecs",
     .message = "a job may have at most " STRINGIFY(
         JOB_REPLICAS_LIMIT) " replicas, all types together"},
    {.rule = IS_ENABLED("self.elastic") " || !has(self.torchrunConfig) || "
                                        "!has(self.torchrunConfig.minNodes) || "
                                        "self.torchrunConfig.minNodes <= " ALL_REPLICAS,
     .field = ".torchrunConfig.minNodes",
     .message = "must be no more than the job's replicas",
     .new_only = true},
    {0}};

/* NAME-HASH-TYPE-INDEX must fit into 63 characters. */
static const struct rule rules[] = {
    JOB_RULE_NAME("services"),
    {.rule = "self.spec.replicaSpecs.all(r, size(self.metadata.name) + size(r.type) + "
             "size(string(r.replicas > 0 ? r.replicas - 1 : 0)) <= 55) && (!" IS_ENABLED(
                 "self.spec.elastic") " || !has(self.spec.elastic.maxReplicas) || "
                                      "self.spec.replicaSpecs.all(r, size(self.metadata.name) + "
                                      "size(r.type) + size(string(self.spec.elastic.maxReplicas - "
                                      "1)) <= 55))",
     .field = ".metadata",
     .message = "name is too long: pods and services are named NAME-HASH-TYPE-INDEX, which may "
                "have 63 characters",
     .new_only = true},
    {0}};

static const struct field spec_fields[] = {
    F_OBJS("replicaSpecs", replica_spec_fields,
           "The replicas, by type. Ranks follow their order: the first replica of the first entry "
           "is the master.",
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY, KEYED_BY("type"),
           .max_items = REPLICA_TYPES_LIMIT),
    F_OBJ("torchrunConfig", torchrun_fields, "Start training with torchrun.",
          .flags = FIELD_IMMUTABLE),
    F_OBJ("elastic", elastic_fields, "Change the number of replicas while training.",
          .rules = elastic_rules),
    JOB_FIELD_RUN_MODE,
    F_OBJ("runPolicy", run_policy_fields, "Deadlines, restarts and clean-up.", DEFAULT("{}")),
    JOB_FIELD_TENSORBOARD,
    JOB_FIELD_SCHEDULER,
    {0}};

/* Only elastic jobs can be scaled. */
static const struct kind_scale scale = {.spec_path = ".spec.elastic.expectedReplicas",
                                        .status_path = ".status.aggregate.running",
                                        .selector_path = ""};

static const struct field fields[] = {
    JOB_FIELD_SPEC(spec_fields, spec_rules), JOB_FIELD_STATUS(job_status_fields), {0}};

/* --- columns -------------------------------------------------------------------------------- */

static struct json *render_running(struct arena *a, const struct json *job, int64_t now_ms)
{
    (void)now_ms;
    return job_render_running(a, job, pytorch_total_replicas(job),
                              job_replicas_in(job, "succeeded"));
}

static const struct column columns[] = {JOB_COLUMNS(render_running), {0}};

const struct kind kind_pytorch_training_job = {
    KIND_NAMES("batch.tensorstack.dev", "v1beta1", "PyTorchTrainingJob", "pytorchtrainingjobs",
               "pytorchtrainingjob"),
    .short_names = (const char *const[]){"pj", NULL},
    .categories = (const char *const[]){"all", "muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "PyTorchTrainingJob runs distributed PyTorch training: its replicas, their restarts and "
           "their clean-up.",
    .fields = fields,
    .columns = columns,
    .validate = pytorch_validate,
    .rules = rules,
    .scale = &scale,
    .warn = pytorch_warn};
