/* kind_role.c - Role and ClusterRole (rbac.authorization.k8s.io/v1): sets of permissions. Rules
 * only allow; anything not allowed by a rule is refused. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/problem.h"

static const struct field rule_fields[] = {
    F_STRS("verbs",
           "Allowed verbs: get, list, watch, create, update, patch, delete, deletecollection, or * "
           "for all.",
           P(1)),
    F_STRS("apiGroups", "Groups of the resources: \"\" is the core group, * all of them.", P(2)),
    F_STRS("resources", "Resources by plural name: pods, pods/exec, pods/*, */status or *.", P(3)),
    F_STRS("resourceNames", "Only objects of these names. Empty: all of them.", P(4)),
    F_STRS("nonResourceURLs", "Non-resource paths; in ClusterRoles only.", P(5)),
    {0}};

static const struct field fields[] = {F_OBJS("rules", rule_fields, "Rules of this role.", P(2)),
                                      {0}};

static const struct field aggregation_fields[] = {
    F_OBJS("clusterRoleSelectors", label_selector_fields, "Labels of the other roles.", P(1)), {0}};

static const struct field cluster_fields[] = {
    F_OBJS("rules", rule_fields, "Rules of this role.", P(2)),
    F_OBJ("aggregationRule", aggregation_fields,
          "Stored, but rules of other roles are not aggregated here.", P(3)),
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

#define RBAC .group = "rbac.authorization.k8s.io", .version = "v1", .free_names = true

const struct kind kind_role = {RBAC,
                               .name = "Role",
                               .plural = "roles",
                               .singular = "role",
                               .namespaced = true,
                               .collected = true,
                               .doc = "Role grants permissions in its namespace.",
                               .fields = fields,
                               .columns = columns,
                               .validate = validate};

const struct kind kind_cluster_role = {
    RBAC,
    .name = "ClusterRole",
    .plural = "clusterroles",
    .singular = "clusterrole",
    .doc =
        "ClusterRole grants permissions in the whole cluster, or where a RoleBinding refers to it.",
    .fields = cluster_fields,
    .columns = columns,
    .validate = validate_cluster};
