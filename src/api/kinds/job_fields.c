/*
 * job_fields.c - fields common to all job kinds: run mode, scheduler, TensorBoard, status. See
 * job_fields.h.
 */
#include "api/kinds/job_fields.h"
#include "api/field_macros.h"

#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/tensorboard_rules.h"

const char *const job_clean_up_policies[] = {"None", "All", "Unfinished", NULL};
const char *const job_restart_policies[] = {"Never", "OnFailure", "Always", "ExitCode", NULL};
const char *const job_restart_scopes[] = {"Replica", "Job", NULL};
const char *const job_phases[] = {"Pending",   "Running", "Paused",  "Resuming",
                                  "Succeeded", "Failed",  "Unknown", NULL};

/* --- run mode --------------------------------------------------------------------------------- */

static const struct field debug_replica_fields[] = {
    F_STR("type", "Replica type the entry is for.", REQUIRED),
    F_BOOL("skipInitContainer", "Whether to skip init containers.", DEFAULT("false")),
    F_STRS("command", "Command that the containers run instead.", DEFAULT("[\"sleep\",\"inf\"]")),
    {0}};

static const struct field debug_fields[] = {
    JOB_FIELD_ENABLED("Whether the replicas just wait for a user to exec into them."),
    F_OBJS("replicaSpecs", debug_replica_fields,
           "Settings per replica type; types without an entry run sleep inf.", KEYED_BY("type")),
    {0}};

static const struct field resume_spec_fields[] = {
    F_STR("type", "Replica type the entry is for.", REQUIRED),
    F_BOOL("skipInitContainer", "Whether to skip init containers.", DEFAULT("false")),
    F_STRS("command", "Command after a pause; the template's by default."),
    F_STRS("args", "Arguments after a pause; the template's by default."),
    {0}};

static const struct field pause_fields[] = {
    JOB_FIELD_ENABLED(
        "Whether the job is paused, with its pods stopped. Can be changed at any time."),
    F_OBJS("resumeSpecs", resume_spec_fields, "What replicas run after a pause.",
           .flags = FIELD_IMMUTABLE, KEYED_BY("type")),
    {0}};

const struct field job_run_mode_fields[] = {
    F_OBJ("debug", debug_fields, "Set everything up, but do not train.", .flags = FIELD_IMMUTABLE),
    F_OBJ("pause", pause_fields, "Pause the job."),
    {0}};

/* --- scheduler, TensorBoard ------------------------------------------------------------------- */

/* A path without ".." and without control characters. */
#define PLAIN "[^/\\x00-\\x1f\\x7f]"
#define PLAIN_NO_DOT "[^./\\x00-\\x1f\\x7f]"
#define PATH_PART "(\\.|" PLAIN_NO_DOT PLAIN "*|\\." PLAIN_NO_DOT PLAIN "*|\\.\\." PLAIN "+)?"
#define PATH_PATTERN PATH_PART "(/" PATH_PART ")*$"
#define CLAIM_PATTERN "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

static const struct field log_pvc_fields[] = {
    F_STR("name", "PersistentVolumeClaim.", REQUIRED, .pattern = "^" CLAIM_PATTERN "$"),
    F_STRS("subPath", "Folders in the claim.", .alias = "subpath", .pattern = "^" PATH_PATTERN,
           .max_items = TENSORBOARD_FOLDERS_LIMIT),
    {0}};

static const struct field secret_ref_fields[] = {F_STR("name", "Secret with the keys."), {0}};

static const struct field log_s3_fields[] = {
    F_OBJ("secretRef", secret_ref_fields, "Secret with the keys."),
    F_STRS("uri", "Addresses of the folders."),
    {0}};

static const struct field log_http_fields[] = {F_STRS("url", "Addresses of the files."), {0}};

static const struct field log_dir_fields[] = {
    F_OBJS("pvc", log_pvc_fields, "Folders in PersistentVolumeClaims.",
           .max_items = TENSORBOARD_FOLDERS_LIMIT),
    F_OBJ("s3", log_s3_fields, "Folders of an S3 store."),
    F_OBJ("http", log_http_fields, "Files of a web server."),
    {0}};

static const struct field t9k_scheduler_fields[] = {
    F_STR("queue", "Queue the job waits in."),
    F_INT32("priority", "Priority in the queue, 0 to 100; higher ones come first.",
            BETWEEN(0, 100)),
    {0}};

const struct field job_scheduler_fields[] = {
    F_OBJ("t9kScheduler", t9k_scheduler_fields, "Use the queue scheduler."), {0}};

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
     .message = "deprecated, and only understood by muster's own server: use suspend"},
    {0}};

static const char *const tensorboard_run_modes[] = {"running", "paused", NULL};

const struct field tensorboard_spec_fields[] = {
    F_STR("image", "Image that contains TensorBoard."),
    F_STRS("trainingLogFilesets",
           "Folders of event files: t9k://pvc/CLAIM/PATH (t9k://minio is not read yet).",
           .pattern = "^t9k://pvc/" CLAIM_PATTERN "(/" PATH_PATTERN "|$)",
           .max_items = TENSORBOARD_FOLDERS_LIMIT),
    F_OBJ("logDir", log_dir_fields, "Where the event files are.", .rules = log_dir_rules),
    F_OBJ("resources", resource_fields, "CPU and memory of TensorBoard.",
          .flags = FIELD_KEEP_UNKNOWN | FIELD_IMMUTABLE),
    F_OBJ("scheduler", job_scheduler_fields, "How TensorBoard is scheduled."),
    F_BOOL("suspend", "Whether TensorBoard is stopped."),
    F_STR("runMode", "Deprecated form of suspend: running or paused.",
          ONE_OF(tensorboard_run_modes)),
    {0}};

/* --- status --------------------------------------------------------------------------------- */

static const struct field task_container_fields[] = {
    F_STR("name", "Container."),
    F_STR("state", "Waiting, Running, Terminated or Unknown."),
    F_INT32("exitCode", "Exit code."),
    {0}};

static const struct field task_replica_fields[] = {
    F_STR("name", "Pod."),
    F_STR("uid", "UID of the pod."),
    F_STR("phase", "Phase of the pod, or Creating, or Deleted."),
    F_OBJS("containers", task_container_fields, "State of its containers.",
           .flags = FIELD_KEEP_UNKNOWN),
    F_INT32("restartCount", "How often it was restarted."),
    F_TIME("restartTime", "When its last restart was decided."),
    F_INT32("restartDelaySeconds", "Delay of its last restart after restartTime."),
    F_STR("lastUID", "Its previous pod, while it has none or is being replaced."),
    F_TIME("goneTime", "When that pod was found missing, unless a restart replaced it."),
    {0}};

static const struct field task_fields[] = {
    F_STR("type", "Replica type."),
    F_INT32("restartCount", "Restarts of all its replicas."),
    F_OBJS("replicas", task_replica_fields, "Its replicas.", .flags = FIELD_KEEP_UNKNOWN),
    {0}};

static const struct field aggregate_fields[] = {F_INT32("creating", "Replicas without a pod yet."),
                                                F_INT32("pending", "Replicas that are waiting."),
                                                F_INT32("running", "Replicas that are running."),
                                                F_INT32("succeeded", "Replicas that succeeded."),
                                                F_INT32("failed", "Replicas that failed."),
                                                F_INT32("unknown", "Replicas in an unknown state."),
                                                F_INT32("deleted", "Replicas whose pod is gone."),
                                                {0}};

static const struct field progress_fields[] = {
    F_INT64("step", "Last step, from the event files or the log."),
    F_PLAIN(FIELD_ANY, "loss", "Last training loss: a number, or NaN or Infinity as a string."),
    F_PLAIN(FIELD_ANY, "stepsPerSecond", "Steps per second over the last minute: a number."),
    F_PLAIN(FIELD_ANY, "fraction",
            "Fraction done, between 0 and 1, if the program prints totals: a number."),
    F_INT64("secondsLeft", "Time left at the measured pace."),
    F_STR("message", "The last progress the program printed, such as epoch 3/10."),
    F_TIME("time", "When the progress was last updated."),
    {0}};

static const struct field interruption_fields[] = {
    F_STR("reason", "Paused or Preempted."),
    F_TIME("startTime", "When the interrupted run started, if it did."),
    F_TIME("stopTime", "When that run ended."),
    F_TIME("resumeTime", "When the job was resumed."),
    {0}};

static const struct field failure_fields[] = {
    F_STR("replica", "The pod that failed; if several did, the one that caused it."),
    F_INT32("exitCode", "Its exit code, if known."),
    F_STR("container", "The container at fault, if it is not the training container."),
    F_STR("reason", "One word from the node: Error, OOMKilled, StartError, Evicted."),
    F_STR("message", "The last line of its output."),
    F_STR("follower", "The pod whose failure ended the job, if another one caused it."),
    F_INT32("others", "How many more replicas failed."),
    F_STR("restartPolicy", "restartPolicy of the replica whose failure ended the job."),
    F_INT32("restartLimit", "Number of restarts allowed; backoffCount of them are used."),
    F_INT32("restartSeconds", "Delay before the next restart, if there is one."),
    {0}};

const struct field job_status_fields[] = {
    F_STR("phase", "Current phase of the job.", ONE_OF(job_phases)),
    F_STR("reason", "One word: why it does not run, or why it failed."),
    F_STR("message", "A sentence: why it does not run, or why it failed."),
    F_STR("queue", "Queue the job is in; none if another scheduler places it."),
    F_INT32("place", "Position among the waiting groups of all queues; 21: beyond the 20th."),
    F_OBJ("failure", failure_fields, "Which replica failed and how, in machine-readable form.",
          .flags = FIELD_KEEP_UNKNOWN),
    F_CONDITIONS(condition_fields,
                 "Initialized, Running, ReplicaFailure, Completed, Failed, Paused.",
                 KEYED_BY("type")),
    F_OBJS("tasks", task_fields, "Replicas by type.", .flags = FIELD_KEEP_UNKNOWN),
    F_OBJ("aggregate", aggregate_fields, "Replicas by phase.", .flags = FIELD_KEEP_UNKNOWN),
    F_INT32("backoffCount", "Restarts used of spec.runPolicy.backoffLimit."),
    F_INT32("pauseCount", "How often the job was paused."),
    F_INT32("masterPort", "MASTER_PORT of its replicas, if they share one network."),
    F_PLAIN(FIELD_ANY, "tensorboard", "The job's TensorBoard."),
    F_TIME("startTime", "When the job started, or was resumed."),
    F_TIME("completionTime", "When the job ended."),
    F_OBJS("interruptions", interruption_fields, "The last 16 pauses and preemptions.",
           .flags = FIELD_KEEP_UNKNOWN),
    F_INT64("ranSeconds", "How long it ran before startTime, over all interrupted runs."),
    F_OBJ("progress", progress_fields, "Progress of the training, from its event files and log.",
          .flags = FIELD_KEEP_UNKNOWN),
    F_INT64("observedGeneration", "The metadata.generation this status is based on."),
    {0}};

/* --- rules --- */

void job_validate(const struct json *job, const struct json *old, struct err *err)
{
    const struct field_path metadata = {.name = "metadata"};
    const struct json *note = json_at(job, "metadata", "annotations", ANNOTATION_NOTE);

    if (note && note->len > NOTE_LIMIT_BYTES &&
        !json_equal(note, json_at(old, "metadata", "annotations", ANNOTATION_NOTE)))
        problem_invalid(
            err, PATH_KEY(PATH_MEMBER(&metadata, "annotations"), ANNOTATION_NOTE), NULL,
            "a note has at most " STRINGIFY(NOTE_LIMIT_BYTES) " bytes: keep more in a "
                                                              "file and write here where it is");
}

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
