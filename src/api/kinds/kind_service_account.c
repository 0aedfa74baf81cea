/* kind_service_account.c - ServiceAccount: a pod's identity towards the API. */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/metadata.h"

static const struct field fields[] = {
    F_OBJS("secrets", object_reference_fields, "Secrets pods of this account may use.", P(2),
           MERGED_BY("name")),
    F_OBJS("imagePullSecrets", local_reference_fields,
           "Secrets to pull images with; images are not pulled on one machine.", P(3),
           MERGED_BY("name")),
    F_BOOL("automountServiceAccountToken", "Whether pods of this account get its token.", PZ(4)),
    {0}};

static struct json *render_secrets(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_get(object, "secrets")));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Secrets", "string", "Number of secrets.", .render = render_secrets),
    COLUMN_AGE,
    {0}};

const struct kind kind_service_account = {
    KIND_NAMES("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount"),
    .short_names = (const char *const[]){"sa", NULL},
    .namespaced = true,
    .collected = true,
    .doc = "ServiceAccount is the identity of pods towards the API; Roles grant it permissions.",
    .fields = fields,
    .columns = columns};
