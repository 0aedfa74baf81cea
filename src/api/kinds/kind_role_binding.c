/* kind_role_binding.c - RoleBinding and ClusterRoleBinding: grant a role to subjects. The role may
 * be missing: until it exists the binding allows nothing. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/problem.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define CELL_LIMIT_BYTES 4096u

static const char *const role_kinds[] = {"Role", "ClusterRole", NULL};
static const char *const cluster_role_kinds[] = {"ClusterRole", NULL};
static const char *const subject_kinds[] = {"ServiceAccount", "User", "Group", NULL};

static const struct field subject_fields[] = {
    F_STR("kind", "ServiceAccount, User or Group.", PZ(1), REQUIRED, ONE_OF(subject_kinds)),
    F_STR("apiGroup", "\"\" for a ServiceAccount, else " RBAC_GROUP ".", P(2)),
    F_STR("name", "Name of the subject.", PZ(3), .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),
    F_STR("namespace", "Namespace of a ServiceAccount.", P(4)),
    {0}};

static const struct field ref_fields[] = {
    F_STR("apiGroup", "Group of the role: " RBAC_GROUP ".", PZ(1), DEFAULT("\"" RBAC_GROUP "\"")),
    F_STR("kind", "Role or ClusterRole.", PZ(2), REQUIRED),
    F_STR("name", "Name of the role.", PZ(3), .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),
    {0}};

static const struct field fields[] = {
    F_OBJS("subjects", subject_fields, "Subjects that get the role.", P(2)),
    F_OBJ("roleRef", ref_fields, "The role. Immutable: delete the binding and create another.",
          P(3), .flags = FIELD_REQUIRED | FIELD_IMMUTABLE),
    {0}};

static bool is_account(const struct json *subject)
{
    return json_string_is(json_get(subject, "kind"), "ServiceAccount");
}

static void set_defaults(struct arena *a, struct json *binding)
{
    for (struct json *s = json_first_mut(json_get_mut(binding, "subjects")); s; s = s->next)
        if (!is_account(s) && !*json_get_string(s, "apiGroup", ""))
            json_set_string(a, s, "apiGroup", RBAC_GROUP);
}

static void check_subject(const struct json *subject, const struct field_path *at, struct err *err)
{
    const struct json *group = json_get(subject, "apiGroup");
    const char *wanted = is_account(subject) ? "" : RBAC_GROUP;

    if (strcmp(json_string(group, wanted), wanted) != 0)
        problem_invalid(err, PATH_MEMBER(at, "apiGroup"), group, "must be \"%s\" for a %s", wanted,
                        json_get_string(subject, "kind", ""));
    if (is_account(subject) && !*json_get_string(subject, "namespace", ""))
        problem_required(err, PATH_MEMBER(at, "namespace"), subject->line,
                         "the ServiceAccount's namespace");
}

static void check(const struct json *binding, bool cluster, struct err *err)
{
    const struct json *ref = json_get(binding, "roleRef");
    const struct field_path *at = PATH_MEMBER(NULL, "roleRef");
    const struct field_path *subjects = PATH_MEMBER(NULL, "subjects");
    const char *const *allowed = cluster ? cluster_role_kinds : role_kinds;
    const char *const *k = allowed;
    size_t i = 0;

    while (*k && !json_string_is(json_get(ref, "kind"), *k))
        k++;
    if (!*k)
        problem_not_supported(err, PATH_MEMBER(at, "kind"), json_get(ref, "kind"), allowed);
    if (!json_string_is(json_get(ref, "apiGroup"), RBAC_GROUP))
        problem_not_supported(err, PATH_MEMBER(at, "apiGroup"), json_get(ref, "apiGroup"),
                              (const char *const[]){RBAC_GROUP, NULL});
    json_each (s, json_get(binding, "subjects"))
        check_subject(s, PATH_INDEX(subjects, i++), err);
}

static void validate(const struct json *object, const struct json *old, struct err *err)
{
    (void)old;
    check(object, false, err);
}

static void validate_cluster(const struct json *object, const struct json *old, struct err *err)
{
    (void)old;
    check(object, true, err);
}

/* --- columns --------------------------------------------------------------------------- */

static struct json *render_role(struct arena *a, const struct json *object, int64_t now_ms)
{
    const struct json *ref = json_get(object, "roleRef");

    (void)now_ms;
    return json_new_stringf(a, "%s/%s", json_get_string(ref, "kind", ""),
                            json_get_string(ref, "name", ""));
}

static struct json *render_subjects(struct arena *a, const struct json *object, const char *kind)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    struct json *cell;

    json_each (s, json_get(object, "subjects"))
        if (json_string_is(json_get(s, "kind"), kind))
            buf_addf(&out, "%s%s%s%s", out.len ? ", " : "", json_get_string(s, "namespace", ""),
                     is_account(s) ? "/" : "", json_get_string(s, "name", ""));
    cell = json_new_string(a, out.len && !out.failed ? out.data : "");
    buf_release(&out);
    return cell;
}

static struct json *render_users(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return render_subjects(a, object, "User");
}

static struct json *render_groups(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return render_subjects(a, object, "Group");
}

static struct json *render_accounts(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return render_subjects(a, object, "ServiceAccount");
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Role", "string", "The role.", .render = render_role),
    COLUMN_AGE,
    COLUMN("Users", "string", "Users.", .priority = 1, .render = render_users),
    COLUMN("Groups", "string", "Groups.", .priority = 1, .render = render_groups),
    COLUMN("ServiceAccounts", "string", "Service accounts.", .priority = 1,
           .render = render_accounts),
    {0}};

const struct kind kind_role_binding = {
    .group = RBAC_GROUP,
    .version = "v1",
    .free_names = true,
    .name = "RoleBinding",
    .plural = "rolebindings",
    .singular = "rolebinding",
    .namespaced = true,
    .collected = true,
    .doc = "RoleBinding grants a Role or ClusterRole in its namespace.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .set_defaults = set_defaults};

const struct kind kind_cluster_role_binding = {
    .group = RBAC_GROUP,
    .version = "v1",
    .free_names = true,
    .name = "ClusterRoleBinding",
    .plural = "clusterrolebindings",
    .singular = "clusterrolebinding",
    .doc = "ClusterRoleBinding grants a ClusterRole everywhere.",
    .fields = fields,
    .columns = columns,
    .validate = validate_cluster,
    .set_defaults = set_defaults};
