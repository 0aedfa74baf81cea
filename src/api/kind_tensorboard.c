/* kind_tensorboard.c - the table of TensorBoard. Its spec is the one jobs have too (job_fields.c).
 */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/job_fields.h"
#include "api/pod_fields.h"
#include "api/tensorboard_rules.h"

static const char *const phases[] = {"Initializing", "Running", "Paused", "Failed", NULL};

static const struct field reference_fields[] = {
    F_STR("name", "Pod."), F_STR("uid", "UID of the pod."), {0}};

static const struct field pod_status_fields[] = {
    F_OBJ("reference", reference_fields, "Which pod."), F_STR("phase", "Phase of the pod."), {0}};

static const struct field status_fields[] = {
    F_STR("phase", "Initializing, Running, Paused (suspended, or unused for a day) or Failed.",
          ONE_OF(phases)),
    F_STR("reason", "One word: why it does not run."),
    F_STR("message", "A sentence: why it does not run, and what to do."),
    F_STR("url", "Its path below the address of the console."),
    F_OBJ("pod", pod_status_fields, "The pod it runs in."),
    F_CONDITIONS(condition_fields, "Ready, Idle, Suspended.", KEYED_BY("type")),
    F_INT32("port", "The port it listens on, where pods share the machine's network."),
    F_TIME("startTime", "When it was made or resumed."),
    F_INT32("failures", "How often in a row its pod ended."),
    F_STR("failedPod", "UID of the pod that was counted last."),
    F_TIME("retryTime", "When it is tried again."),
    F_INT64("observedGeneration", "The metadata.generation this status was made from."),
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
    COLUMN("Phase", "string", "Whether it runs.", .path = ".status.phase"),
    COLUMN("Age", "date", "Time since it was created.", .path = ".metadata.creationTimestamp"),
    COLUMN("URL", "string", "Its path below the address of the console.", .priority = 1,
           .path = ".status.url"),
    COLUMN("Message", "string", "Why it does not run.", .priority = 1, .path = ".status.message"),
    {0}};

const struct kind kind_tensorboard = {
    KIND_NAMES("tensorstack.dev", "v1beta1", "TensorBoard", "tensorboards", "tensorboard"),
    .short_names = (const char *const[]){"tb", NULL},
    .categories = (const char *const[]){"muster", NULL},
    .namespaced = true,
    .has_status = true,
    .custom = true,
    .collected = true,
    .doc = "TensorBoard shows the event files of training in a browser: it runs tensorboard on log "
           "folders of PersistentVolumeClaims.",
    .fields = fields,
    .columns = columns,
    .validate = tensorboard_validate,
    .rules = rules,
    .unify = tensorboard_unify};
