/*
 * roles.c - the standard roles, created when missing: cluster-admin may do anything; admin, edit
 * and view are for RoleBindings that grant a namespace, each including the rules of those below it;
 * a Notebook's pod has one of its own. Existing roles are left unchanged.
 */
#include <string.h>

#include "api/notebook_rules.h"
#include "server/internal.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define QUEUE_VIEW "muster-queue-view"
#define READ "get,list,watch"
#define WRITE "create,delete,deletecollection,patch,update"
/* In the core group, without secrets. */
#define CORE "configmaps,persistentvolumeclaims,pods,services,serviceaccounts"
#define OURS "batch.tensorstack.dev,tensorstack.dev,scheduler.tensorstack.dev,muster.dev"
#define OUR_KINDS "pytorchtrainingjobs,mpijobs,tensorboards,notebooks,podgroups,notifications"
/* Written by controllers and nodes only. */
#define CORE_STATUS "persistentvolumeclaims/status,pods/status,services/status"
#define OUR_STATUS                                                                                 \
    "pytorchtrainingjobs/status,mpijobs/status,tensorboards/status,notebooks/status,"              \
    "podgroups/status,notifications/status"

/* Levels after LEVEL_ADMIN have only their own rules. */
enum level {
    LEVEL_VIEW,
    LEVEL_EDIT,
    LEVEL_ADMIN,
    LEVEL_NOTEBOOK,
    LEVEL_CLUSTER_ADMIN,
    LEVEL_QUEUE_VIEW
};

static const struct {
    enum level level;
    const char *groups, *resources, *verbs; /* comma-separated; resources NULL: for paths */
} rules[] = {
    {LEVEL_VIEW, "", CORE "," CORE_STATUS, READ},
    {LEVEL_VIEW, "",
     "bindings,endpoints,events,limitranges,namespaces,namespaces/status,pods/log,pods/samples,"
     "resourcequotas,resourcequotas/status",
     READ},
    {LEVEL_VIEW, "discovery.k8s.io", "endpointslices", READ},
    {LEVEL_VIEW, "policy", "poddisruptionbudgets,poddisruptionbudgets/status", READ},
    {LEVEL_VIEW, "events.k8s.io", "events", READ},
    {LEVEL_VIEW, "metrics.k8s.io", "pods", READ},
    {LEVEL_VIEW, "batch", "cronjobs,cronjobs/status,jobs,jobs/status", READ},
    {LEVEL_VIEW, OURS, OUR_KINDS "," OUR_STATUS ",queues", READ},
    {LEVEL_EDIT, "", CORE, WRITE},
    {LEVEL_EDIT, "", "secrets,pods/attach,pods/exec,pods/portforward,pods/proxy,services/proxy",
     READ "," WRITE},
    {LEVEL_EDIT, "", "pods/eviction,serviceaccounts/token,events", "create"},
    {LEVEL_EDIT, "policy", "poddisruptionbudgets", WRITE},
    {LEVEL_EDIT, "coordination.k8s.io", "leases", READ "," WRITE},
    {LEVEL_EDIT, "batch", "cronjobs,jobs", WRITE},
    {LEVEL_EDIT, OURS, OUR_KINDS, WRITE},
    {LEVEL_ADMIN, RBAC_GROUP, "roles,rolebindings", READ "," WRITE},
    {LEVEL_ADMIN, "authorization.k8s.io", "localsubjectaccessreviews", "create"},
    {LEVEL_NOTEBOOK, "batch.tensorstack.dev,tensorstack.dev",
     "pytorchtrainingjobs,mpijobs,tensorboards", READ ",create,update,patch,delete"},
    {LEVEL_NOTEBOOK, "", "pods", READ ",delete"}, /* creating them would mean using any account */
    {LEVEL_NOTEBOOK, "", "pods/log,events,persistentvolumeclaims,services,configmaps", READ},
    {LEVEL_NOTEBOOK, "scheduler.tensorstack.dev", "podgroups,queues", READ},
    {LEVEL_CLUSTER_ADMIN, "*", "*", "*"},
    {LEVEL_CLUSTER_ADMIN, NULL, NULL, "*"},
    {LEVEL_QUEUE_VIEW, "scheduler.tensorstack.dev", "queues", READ},
};

static const char *const names[] = {[LEVEL_VIEW] = "view",
                                    [LEVEL_EDIT] = "edit",
                                    [LEVEL_ADMIN] = "admin",
                                    [LEVEL_NOTEBOOK] = NOTEBOOK_CLUSTER_ROLE,
                                    [LEVEL_CLUSTER_ADMIN] = "cluster-admin"};

static void add_list(struct arena *a, struct json *rule, const char *name, const char *text)
{
    struct json *list = json_make_array(a, rule, name);

    for (const char *end;; text = end + 1) {
        end = text + strcspn(text, ",");
        (void)json_append(list, json_new_string_len(a, text, (size_t)(end - text)));
        if (!*end)
            return;
    }
}

static struct json *new_object(struct arena *a)
{
    struct json *object = json_new_object(a), *meta = json_make_object(a, object, "metadata");

    json_set_string(a, json_make_object(a, meta, "labels"), "kubernetes.io/bootstrapping",
                    "rbac-defaults");
    return object;
}

static struct json *role_of(struct arena *a, enum level level)
{
    struct json *role = new_object(a), *list = json_make_array(a, role, "rules");

    for (size_t i = 0; i < ELEMS(rules); i++) {
        struct json *rule;

        if (level > LEVEL_ADMIN ? rules[i].level != level : rules[i].level > level)
            continue;
        rule = json_append(list, json_new_object(a));
        if (rules[i].resources) {
            add_list(a, rule, "apiGroups", rules[i].groups);
            add_list(a, rule, "resources", rules[i].resources);
        } else {
            add_list(a, rule, "nonResourceURLs", "*");
        }
        add_list(a, rule, "verbs", rules[i].verbs);
    }
    return role;
}

static struct json *binding_of(struct arena *a, const struct kind *k, const char *role,
                               const char *subjects)
{
    struct json *binding = new_object(a), *ref = json_make_object(a, binding, "roleRef"), *group;

    json_set_string(a, ref, "apiGroup", RBAC_GROUP);
    json_set_string(a, ref, "kind", k->name);
    json_set_string(a, ref, "name", role);
    group = json_append(json_make_array(a, binding, "subjects"), json_new_object(a));
    json_set_string(a, group, "kind", "Group");
    json_set_string(a, group, "apiGroup", RBAC_GROUP);
    json_set_string(a, group, "name", subjects);
    return binding;
}

static int make_missing(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                        const char *name, struct json *object, struct err *err)
{
    const char *key = object_key(a, k, ns, name);

    if (!key)
        return out_of_memory(err);
    return object_is_absent(s, k, key) ? make_object(s, a, k, ns, name, object, err) : 0;
}

int roles_make(struct server *s, struct arena *a, struct err *err)
{
    const char *owner = names[LEVEL_CLUSTER_ADMIN];
    int rc = 0;

    for (size_t i = 0; i < ELEMS(names) && rc == 0; i++)
        rc = make_missing(s, a, &kind_cluster_role, "", names[i], role_of(a, (enum level)i), err);
    if (rc == 0)
        rc = make_missing(s, a, &kind_cluster_role_binding, "", owner,
                          binding_of(a, &kind_cluster_role, owner, "system:masters"), err);
    /* Queues are for jobs of all namespaces: anyone who creates jobs may see where they can wait.
     */
    if (rc == 0)
        rc = make_missing(s, a, &kind_role, QUEUE_NAMESPACE, QUEUE_VIEW,
                          role_of(a, LEVEL_QUEUE_VIEW), err);
    if (rc == 0)
        rc = make_missing(s, a, &kind_role_binding, QUEUE_NAMESPACE, QUEUE_VIEW,
                          binding_of(a, &kind_role, QUEUE_VIEW, "system:authenticated"), err);
    return rc;
}
