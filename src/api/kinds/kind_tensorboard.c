/* kind_tensorboard.c - the table of TensorBoard. Jobs embed the same spec (job_fields.c). */
#include "api/field_macros.h"
#include "api/kinds/app_fields.h"
#include "api/kinds/job_fields.h"
#include "api/tensorboard_rules.h"

static const struct field status_fields[] = {APP_STATUS_FIELDS, {0}};

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
    .columns = app_columns,
    .validate = tensorboard_validate,
    .rules = rules,
    .unify = tensorboard_unify};
