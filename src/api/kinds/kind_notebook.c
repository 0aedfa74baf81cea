/* kind_notebook.c - the table of Notebook. */
#include "api/kinds/app_fields.h"
#include "api/kinds/job_fields.h"
#include "api/notebook_rules.h"

#define LOOPBACK                                                                                   \
    "sshd listens on 127.0.0.1 of the machine only: use kubectl port-forward or an ssh tunnel"

static const char *const types[] = {"jupyter", NULL};
static const char *const service_types[] = {"ClusterIP", "NodePort", "LoadBalancer", NULL};

static const struct field ssh_fields[] = {
    F_BOOL("enabled", "Whether it can be reached by ssh.", NATURAL("false")),
    F_STR("serviceType", "Type of the Service for ssh.", IGNORED(LOOPBACK), ONE_OF(service_types)),
    F_STRS("authorized_keys", "Secrets with the accepted public keys.",
           .max_items = NOTEBOOK_SSH_SECRETS_LIMIT),
    {0}};

static const struct field template_fields[] = {
    F_OBJ("spec", pod_spec_fields, "The pod: its container named notebook runs JupyterLab.",
          REQUIRED, CORE_TYPE("PodSpec")),
    {0}};

static const struct field spec_fields[] = {
    F_STR("type", "What it runs.", ONE_OF(types), DEFAULT("\"jupyter\"")),
    F_OBJ("template", template_fields, "The pod it runs in.",
          .flags = FIELD_REQUIRED | FIELD_IMMUTABLE,
          .immutable = "field is immutable: delete the Notebook and create it again; files on its "
                       "claims stay"),
    F_OBJ("scheduler", job_scheduler_fields, "The queue it waits in; if absent, it does not queue.",
          .flags = FIELD_IMMUTABLE),
    F_BOOL("suspend", "Whether it is paused, with its pod removed and the rest kept.",
           DEFAULT("false")),
    F_OBJ("ssh", ssh_fields, "Access by ssh."),
    {0}};

static const struct field ssh_status_fields[] = {
    F_STR("serviceName", "Service for ssh."),
    F_INT32("port", "Its port."),
    F_STR("clusterIp", "Its address."),
    F_INT32("nodePort", "Its port on every node."),
    F_STR("protocol", "Its protocol."),
    F_TIME("lastSshClientActivity", "When a client was last connected."),
    {0}};

static const struct field status_fields[] = {
    APP_STATUS_FIELDS, F_OBJ("ssh", ssh_status_fields, "How it is reached by ssh."), {0}};

static const struct field fields[] = {
    JOB_FIELD_SPEC(spec_fields, NULL), JOB_FIELD_STATUS(status_fields), {0}};

static const struct rule rules[] = {
    JOB_RULE_NAME("services"),
    {.rule = "size(self.metadata.name) <= " STRINGIFY(NOTEBOOK_NAME_LIMIT),
     .field = ".metadata",
     .message = "name is too long: its Service is named " NOTEBOOK_SERVICE_PREFIX
                "NAME, which may have 63 characters",
     .new_only = true},
    {.rule = "self.spec.template.spec.containers.exists(c, c.name == '" NOTEBOOK_CONTAINER "')",
     .field = ".spec.template",
     .message = "needed: a container named \"" NOTEBOOK_CONTAINER "\", which runs JupyterLab"},
    {0}};

#define NOTEBOOK                                                                                   \
    .name = "Notebook", .plural = "notebooks", .singular = "notebook", .namespaced = true,         \
    .has_status = true, .custom = true,                                                            \
    .doc = "Notebook is JupyterLab in a pod, used in a browser; its files are on "                 \
           "PersistentVolumeClaims.",                                                              \
    .fields = fields, .columns = app_columns, .validate = notebook_validate, .rules = rules,       \
    .warn = notebook_warn

const struct kind kind_notebook = {NOTEBOOK,
                                   .group = "tensorstack.dev",
                                   .version = "v1beta1",
                                   .short_names = (const char *const[]){"nb", NULL},
                                   .categories = (const char *const[]){"muster", NULL},
                                   .collected = true};

/* Kubeflow's Notebook is equivalent: its container is the one named like the Notebook, or the
 * first, and an annotation says that it is stopped. */
const struct kind kind_kubeflow_notebook = {NOTEBOOK,
                                            .group = "kubeflow.org",
                                            .version = "v1",
                                            .stored_as = &kind_notebook,
                                            .unify = notebook_unify_kubeflow,
                                            .from_stored = notebook_to_kubeflow,
                                            .to_stored = notebook_from_kubeflow};
