/* kind_namespace.c - Namespace. */
#include <stdlib.h>
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"

static const char *const phases[] = {"Active", "Terminating", NULL};

static const struct field spec_fields[] = {
    F_STRS("finalizers", "The namespace is kept while any is left.", P(1)), {0}};

static const struct field status_fields[] = {
    F_STR("phase", "Active or Terminating.", P(1), ONE_OF(phases)),
    F_CONDITIONS(pod_condition_fields, "What blocks its deletion.", P(2), MERGED_BY("type")),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}")), F_STATUS(status_fields), {0}};

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", "Active or Terminating.", .path = ".status.phase"),
    COLUMN_AGE,
    {0}};

static void set_defaults(struct arena *a, struct json *ns)
{
    struct json *meta = json_make_object(a, ns, "metadata");
    struct json *status = json_make_object(a, ns, "status");

    if (*object_name(ns) && !object_label(ns, "kubernetes.io/metadata.name"))
        json_set_string(a, json_make_object(a, meta, "labels"), "kubernetes.io/metadata.name",
                        object_name(ns));
    if (!json_get(status, "phase"))
        json_set_string(a, status, "phase", "Active");
}

static void check_user(const struct json *ns, const char *annotation, struct err *err)
{
    const struct field_path at = {.name = "metadata"};
    const struct json *said = json_at(ns, "metadata", "annotations", annotation);
    const char *text = json_string(said, "");
    size_t digits = strspn(text, "0123456789");

    if (said && (!digits || digits > 10 || text[digits] || *text == '0' ||
                 strtoll(text, NULL, 10) > USER_ID_LIMIT))
        problem_invalid(err, PATH_KEY(PATH_MEMBER(&at, "annotations"), annotation), said,
                        "must be a user ID from 1 to %d: root is not allowed", USER_ID_LIMIT);
}

static void validate(const struct json *ns, const struct json *old, struct err *err)
{
    const struct json *name = json_at(ns, "metadata", "name");
    const char *problem = *json_string(name, "") ? dns_label_problem(name->u.text) : NULL;

    (void)old;
    check_user(ns, ANNOTATION_UID, err);
    check_user(ns, ANNOTATION_LAST_UID, err);
    if (problem)
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name"), name, "%s",
                        problem);
}

const struct kind kind_namespace = {
    KIND_NAMES("", "v1", "Namespace", "namespaces", "namespace"),
    .short_names = (const char *const[]){"ns", NULL},
    .has_status = true,
    .doc =
        "Namespace is a scope for names: objects in different namespaces may have the same name.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .set_defaults = set_defaults,
    .field_selectors = (const char *const[]){"status.phase", NULL}};
