/* kind_service_account.c - ServiceAccount: who a pod is when it asks the API. */
#include "api/columns.h"

static const struct field secret_fields[] = {
    {.name = "name", .type = FIELD_STRING, .doc = "Name of the Secret."},
    {.name = "namespace", .type = FIELD_STRING, .doc = "Its namespace."},
    {.name = "kind", .type = FIELD_STRING, .doc = "Kind of what is referred to."},
    {.name = "apiVersion", .type = FIELD_STRING, .doc = "Its API version."},
    {.name = "uid", .type = FIELD_STRING, .doc = "Its UID."},
    {.name = "resourceVersion", .type = FIELD_STRING, .doc = "Its version."},
    {.name = "fieldPath", .type = FIELD_STRING, .doc = "The part that is meant."},
    {0}};

static const struct field pull_secret_fields[] = {
    {.name = "name", .type = FIELD_STRING, .doc = "Name of the Secret."}, {0}};

static const struct field fields[] = {
    {.name = "secrets",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = secret_fields,
     .merge_key = "name",
     .doc = "Secrets pods of this account may use."},
    {.name = "imagePullSecrets",
     .type = FIELD_LIST,
     .item = FIELD_OBJECT,
     .fields = pull_secret_fields,
     .merge_key = "name",
     .doc = "Secrets to pull images with; images are not pulled on one machine."},
    {.name = "automountServiceAccountToken",
     .type = FIELD_BOOL,
     .doc = "Whether pods of this account get its token."},
    {0}};

static struct json *render_secrets(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_get(object, "secrets")));
}

static const struct column columns[] = {
    COLUMN_NAME,
    {.name = "Secrets", .type = "string", .doc = "Number of secrets.", .render = render_secrets},
    COLUMN_AGE,
    {0}};

const struct kind kind_service_account = {
    .group = "",
    .version = "v1",
    .name = "ServiceAccount",
    .plural = "serviceaccounts",
    .singular = "serviceaccount",
    .short_names = (const char *const[]){"sa", NULL},
    .namespaced = true,
    .collected = true,
    .doc = "ServiceAccount is who a pod is when it asks the API; Roles say what it may do.",
    .fields = fields,
    .columns = columns};
