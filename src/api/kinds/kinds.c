/* kinds.c - the one list of kinds, and lookups in it. */
#include <string.h>

#include "api/kind.h"
#include "base/buf.h"

const struct kind *const kinds[] = {&kind_namespace,
                                    &kind_node,
                                    &kind_pod,
                                    &kind_service,
                                    &kind_config_map,
                                    &kind_secret,
                                    &kind_event,
                                    &kind_persistent_volume_claim,
                                    &kind_persistent_volume,
                                    &kind_resource_quota,
                                    &kind_limit_range,
                                    &kind_service_account,
                                    &kind_lease,
                                    &kind_pod_disruption_budget,
                                    &kind_pod_disruption_budget_beta,
                                    &kind_role,
                                    &kind_role_binding,
                                    &kind_cluster_role,
                                    &kind_cluster_role_binding,
                                    &kind_crd,
                                    &kind_event_v1,
                                    &kind_pytorch_training_job,
                                    &kind_mpi_job,
                                    &kind_tensorboard,
                                    &kind_notebook,
                                    &kind_kubeflow_notebook,
                                    &kind_queue,
                                    &kind_pod_group,
                                    &kind_priority_class,
                                    &kind_notification,
                                    &kind_admission_policy,
                                    &kind_admission_binding,
                                    &kind_validating_webhooks,
                                    &kind_mutating_webhooks,
                                    &kind_certificate_request,
                                    &kind_storage_class,
                                    &kind_runtime_class,
                                    &kind_pod_template,
                                    &kind_replication_controller,
                                    &kind_deployment,
                                    &kind_replica_set,
                                    &kind_stateful_set,
                                    &kind_daemon_set,
                                    &kind_job,
                                    &kind_cron_job,
                                    &kind_cron_job_beta,
                                    &kind_ingress,
                                    &kind_ingress_beta,
                                    &kind_machine_access,
                                    NULL};

static bool same(const char *a, const char *b, size_t len)
{
    return a[0] == b[0] && strlen(a) == len && memcmp(a, b, len) == 0;
}

const struct field *field_find(const struct field *fields, const char *name, size_t len)
{
    if (!fields || len == 0)
        return NULL;
    for (const struct field *f = fields; f->name; f++)
        if (same(f->name, name, len))
            return f;
    return NULL;
}

const struct field *field_find_alias(const struct field *fields, const char *name, size_t len)
{
    if (!fields || len == 0)
        return NULL;
    for (const struct field *f = fields; f->name; f++)
        if (f->alias && same(f->alias, name, len))
            return f;
    return NULL;
}

const struct kind *kind_by_plural(const char *group, const char *version, const char *plural)
{
    for (const struct kind *const *k = kinds; *k; k++)
        if (strcmp((*k)->plural, plural) == 0 && strcmp((*k)->group, group) == 0 &&
            strcmp((*k)->version, version) == 0)
            return *k;
    return NULL;
}

static bool has_api_version(const struct kind *k, const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    size_t group_len = slash ? (size_t)(slash - api_version) : 0;

    return strlen(k->group) == group_len && memcmp(k->group, api_version, group_len) == 0 &&
           strcmp(k->version, slash ? slash + 1 : api_version) == 0;
}

const struct kind *kind_of_object(const struct json *object)
{
    const char *api_version = json_get_string(object, "apiVersion", "");
    const char *name = json_get_string(object, "kind", "");

    for (const struct kind *const *k = kinds; *k; k++)
        if (strcmp((*k)->name, name) == 0 && has_api_version(*k, api_version) && !(*k)->refused)
            return *k;
    return NULL;
}

const char *kind_api_version(struct arena *a, const struct kind *k)
{
    return *k->group ? arena_printf(a, "%s/%s", k->group, k->version) : k->version;
}

void kind_set_version(struct arena *a, const struct kind *k, struct json *object)
{
    json_set_string(a, object, "apiVersion", kind_api_version(a, k));
}

void kind_set_stored_version(struct arena *a, const struct kind *k, struct json *object)
{
    kind_set_version(a, k->stored_as, object);
}

static void add_segment(struct buf *out, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    buf_addc(out, '/');
    for (; *text; text++)
        if (strchr(plain, *text))
            buf_addc(out, *text);
        else
            buf_addf(out, "%%%02X", (unsigned char)*text);
}

#define PATH_LIMIT_BYTES 4096u

const char *kind_path(struct arena *a, const struct kind *k, const char *ns, const char *name)
{
    struct buf out = BUF_INIT(PATH_LIMIT_BYTES);
    char *path;

    if (*k->group)
        buf_addf(&out, "/apis/%s/%s", k->group, k->version);
    else
        buf_addf(&out, "/api/%s", k->version);
    if (k->namespaced && ns && *ns) {
        buf_adds(&out, "/namespaces");
        add_segment(&out, ns);
    }
    buf_addf(&out, "/%s", k->plural);
    if (name)
        add_segment(&out, name);
    path = out.failed ? NULL : arena_strdup(a, out.data);
    if (!path)
        a->failed = true;
    buf_release(&out);
    return path;
}
