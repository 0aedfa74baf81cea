/* kind_role.c - Role and ClusterRole (rbac.authorization.k8s.io/v1): what may be done. Rules only
 * allow; what no rule allows is refused. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/problem.h"

#define LIST(n, d)                                                                                 \
    {                                                                                              \
        .name = (n), .type = FIELD_LIST, .item = FIELD_STRING, .doc = (d)                          \
    }

static const struct field rule_fields[] = {
    LIST("verbs", "What may be done: get, list, watch, create, update, patch, delete, "
                  "deletecollection, or * for all."),
    LIST("apiGroups", "Groups of the resources: \"\" is the core group, * all of them."),
    LIST("resources", "Resources by plural name: pods, pods/exec, pods/*, */status or *."),
    LIST("resourceNames", "Only objects of these names. Empty: all of them."),
    LIST("nonResourceURLs", "Paths that are no resources; in ClusterRoles only."),
    {0}};

static const struct field fields[] = {F_OBJS("rules", rule_fields, "What this role allows."), {0}};

static const struct field cluster_fields[] = {
    F_OBJS("rules", rule_fields, "What this role allows."),
    F_PLAIN(FIELD_ANY, "aggregationRule",
            "Kept, but rules of other roles are not put together here."),
    {0}};

static void check_rule(const struct json *rule, const struct field_path *at, bool cluster,
                       struct err *err)
{
    const struct json *paths = json_get(rule, "nonResourceURLs");
    bool resources = json_len(json_get(rule, "resources")) > 0 ||
                     json_len(json_get(rule, "apiGroups")) > 0 ||
                     json_len(json_get(rule, "resourceNames")) > 0;

    if (json_len(json_get(rule, "verbs")) == 0)
        problem_required(err, PATH_MEMBER(at, "verbs"), rule->line,
                         "verbs must contain at least one value");
    if (json_len(paths) > 0 && !cluster)
        problem_invalid(err, PATH_MEMBER(at, "nonResourceURLs"), paths,
                        "namespaced rules cannot apply to non-resource URLs");
    else if (json_len(paths) > 0 && resources)
        problem_invalid(err, PATH_MEMBER(at, "nonResourceURLs"), paths,
                        "rules cannot apply to both regular resources and non-resource URLs");
    if (json_len(paths) > 0)
        return;
    if (json_len(json_get(rule, "apiGroups")) == 0)
        problem_required(err, PATH_MEMBER(at, "apiGroups"), rule->line,
                         "resource rules must supply at least one api group");
    if (json_len(json_get(rule, "resources")) == 0)
        problem_required(err, PATH_MEMBER(at, "resources"), rule->line,
                         "resource rules must supply at least one resource");
}

static void check_rules(const struct json *role, bool cluster, struct err *err)
{
    const struct field_path *list = PATH_MEMBER(NULL, "rules");
    size_t i = 0;

    json_each (rule, json_get(role, "rules"))
        check_rule(rule, PATH_INDEX(list, i++), cluster, err);
}

static void validate(const struct json *object, const struct json *old, struct err *err)
{
    (void)old;
    check_rules(object, false, err);
}

static void validate_cluster(const struct json *object, const struct json *old, struct err *err)
{
    (void)old;
    check_rules(object, true, err);
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Created At", "string", "When it was created.", .path = ".metadata.creationTimestamp"),
    {0}};

#define RBAC .group = "rbac.authorization.k8s.io", .version = "v1"

const struct kind kind_role = {RBAC,
                               .name = "Role",
                               .plural = "roles",
                               .singular = "role",
                               .namespaced = true,
                               .collected = true,
                               .doc = "Role says what may be done in its namespace.",
                               .fields = fields,
                               .columns = columns,
                               .validate = validate};

const struct kind kind_cluster_role = {
    RBAC,
    .name = "ClusterRole",
    .plural = "clusterroles",
    .singular = "clusterrole",
    .doc = "ClusterRole says what may be done in the whole cluster, or wherever a RoleBinding "
           "grants it.",
    .fields = cluster_fields,
    .columns = columns,
    .validate = validate_cluster};
