/* kind_crd.c - CustomResourceDefinition: kinds installed at run time (crd_kind.h). */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/json_path.h"
#include "api/kinds/admission_parts.h"
#include "api/kinds/json_schema_fields.h"
#include "api/kinds/pod_fields.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/schema/structural.h"

#define VERSIONS_LIMIT 16u

static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
static const char *const strategies[] = {"None", "Webhook", NULL};
static const char *const column_types[] = {"boolean", "date", "integer", "number", "string", NULL};

static const struct field names_fields[] = {
    F_STR("kind", "Name of the kind, like CronTab.", PZ(4), REQUIRED),
    F_STR("plural", "Name in paths, like crontabs.", PZ(1),
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),
    F_STR("singular", "Name in the singular, lower case.", P(2), .flags = FIELD_DNS_LABEL),
    F_STR("listKind", "Name of lists, like CronTabList.", P(5)),
    F_STRS("shortNames", "Short names for command lines.", P(3)),
    F_STRS("categories", "Groups of resources it belongs to, like all.", P(6)),
    {0}};

static const struct field column_fields[] = {
    F_STR("name", "Heading.", PZ(1), REQUIRED),
    F_STR("type", "boolean, date, integer, number or string.", PZ(2), REQUIRED,
          ONE_OF(column_types)),
    F_STR("jsonPath", "Where the value is: .status.phase.", PZ(6), REQUIRED),
    F_STR("format", "Format of the string.", P(3)),
    F_STR("description", "Description of the column.", P(4)),
    F_INT32("priority", "0: always shown; otherwise only with -o wide.", P(5)),
    {0}};

static const struct field scale_fields[] = {
    F_STR("specReplicasPath", "JSONPath of the desired number.", PZ(1), REQUIRED),
    F_STR("statusReplicasPath", "JSONPath of the current number.", PZ(2), REQUIRED),
    F_STR("labelSelectorPath", "JSONPath of the pods' selector.", PZ(3)),
    {0}};

static const struct field no_fields[] = {{0}};

static const struct field subresources_fields[] = {
    F_OBJ("status", no_fields, "Status is written separately.", P(1), .flags = FIELD_KEEP_UNKNOWN),
    F_OBJ("scale", scale_fields, "kubectl scale works on it.", P(2)),
    {0}};

static const struct field schema_fields[] = {F_PLAIN(FIELD_ANY, "openAPIV3Schema",
                                                     "Structural schema for validating objects.",
                                                     PZ(1), .fields = json_schema_fields),
                                             {0}};

static const struct field selectable_fields[] = {
    F_STR("jsonPath", "Field by which objects can be selected.", PZ(1), REQUIRED), {0}};

static const struct field version_fields[] = {
    F_STR("name", "Name of the version, like v1.", PZ(1),
          .flags = FIELD_REQUIRED | FIELD_DNS_LABEL),
    F_BOOL("served", "Whether it is served.", PZ(2), REQUIRED),
    F_BOOL("storage", "Whether objects are stored in it; true for one version.", PZ(3), REQUIRED),
    F_BOOL("deprecated", "Whether it is deprecated.", P(7)),
    F_STR("deprecationWarning", "Warning for its clients.", PZ(8)),
    F_OBJ("schema", schema_fields, "Schema of the objects.", P(4)),
    F_OBJ("subresources", subresources_fields, "Parts that are written separately.", P(5)),
    F_OBJS("additionalPrinterColumns", column_fields, "Columns of kubectl get.", P(6)),
    F_OBJS("selectableFields", selectable_fields, "Fields by which objects can be selected.", P(9)),
    {0}};

static const struct field webhook_service_fields[] = {
    F_STR("namespace", "Its namespace.", PZ(1), REQUIRED),
    F_STR("name", "Its name.", PZ(2), REQUIRED),
    F_STR("path", "Path of the request.", PZ(3)),
    F_INT32("port", "Its port.", PZ(4), PORT_NUMBER, DEFAULT("443")),
    {0}};

const struct field webhook_client_fields[] = {
    F_STR("url", "URL to call.", PZ(3)),
    F_OBJ("service", webhook_service_fields, "Service to call.", P(1)),
    F_PLAIN(FIELD_BYTES, "caBundle", "CA bundle that verifies it.", P(2)),
    {0}};

static const struct field webhook_fields[] = {
    F_OBJ("clientConfig", webhook_client_fields, "What to call.", P(2)),
    F_STRS("conversionReviewVersions", "Versions it understands.", P(3), REQUIRED),
    {0}};

static const struct field conversion_fields[] = {
    F_STR("strategy", "None: versions differ in name only. Webhook is not supported.", PZ(1),
          REQUIRED, ONE_OF(strategies)),
    F_OBJ("webhook", webhook_fields, "Not used.", P(2)),
    {0}};

static const struct field spec_fields[] = {
    F_STR("group", "API group of the kind.", PZ(1), .flags = FIELD_REQUIRED | FIELD_DNS_NAME),
    F_OBJ("names", names_fields, "Names of the kind.", P(3), REQUIRED),
    F_STR("scope", "Whether objects are in namespaces.", PZ(4), REQUIRED, ONE_OF(scopes)),
    F_OBJS("versions", version_fields, "Versions of the kind.", P(7),
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY, KEYED_BY("name")),
    F_OBJ("conversion", conversion_fields, "Conversion between versions.", P(9),
          DEFAULT("{\"strategy\":\"None\"}")),
    F_BOOL("preserveUnknownFields", "Not used: false.", P(10)),
    {0}};

static const struct field crd_condition_fields[] = {
    F_CONDITION(3, 4, 5),
    F_INT64("observedGeneration", "The metadata.generation the condition is based on.", P(6)),
    {0}};

static const struct field status_fields[] = {
    F_INT64("observedGeneration", "The last metadata.generation observed.", P(4)),
    F_CONDITIONS(crd_condition_fields, "NamesAccepted, Established, Terminating.", P(1),
                 MERGED_BY("type")),
    F_OBJ("acceptedNames", names_fields, "Names that are served.", P(2)),
    F_STRS("storedVersions", "Versions objects may be stored in.", P(3)),
    {0}};

static const struct field fields[] = {F_SPEC(spec_fields, REQUIRED), F_STATUS(status_fields), {0}};

/* --- defaults and rules --------------------------------------------------------------------- */

static void lower(char *text)
{
    for (; *text; text++)
        *text = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
}

static void set_defaults(struct arena *a, struct json *crd)
{
    struct json *names = json_get_mut(json_get_mut(crd, "spec"), "names");
    const char *kind = json_get_string(names, "kind", "");
    char *singular;

    if (!*kind)
        return;
    if (!*json_get_string(names, "listKind", ""))
        json_set_stringf(a, names, "listKind", "%sList", kind);
    singular = arena_strdup(a, kind);
    if (singular && !*json_get_string(names, "singular", "")) {
        lower(singular);
        json_set_string(a, names, "singular", singular);
    }
}

static void check_columns(const struct json *version, const struct field_path *at, struct err *err)
{
    const struct field_path *columns = PATH_MEMBER(at, "additionalPrinterColumns");
    size_t i = 0;

    json_each (c, json_get(version, "additionalPrinterColumns")) {
        const struct json *path = json_get(c, "jsonPath");

        if (json_is(path, JSON_STRING) && !json_path_is_valid(path->u.text))
            problem_invalid(err, PATH_MEMBER(PATH_INDEX(columns, i), "jsonPath"), path,
                            "must be a simple json path with leading .");
        i++;
    }
}

static void check_versions(const struct json *spec, const struct field_path *parent,
                           struct err *err)
{
    const struct json *versions = json_get(spec, "versions");
    const struct field_path *at = PATH_MEMBER(parent, "versions");
    size_t i = 0, stored = 0;

    if (json_len(versions) > VERSIONS_LIMIT)
        problem_too_many(err, at, versions, VERSIONS_LIMIT);
    json_each (v, versions) {
        const struct json *schema = json_at(v, "schema", "openAPIV3Schema");
        const struct field_path *here = PATH_INDEX(at, i++);
        const struct field_path *place = PATH_MEMBER(PATH_MEMBER(here, "schema"),
                                                     "openAPIV3Schema");

        stored += json_get_bool(v, "storage", false);
        if (!schema)
            problem_required(err, place, v->line, "schemas are required");
        else
            structural_check(schema, place, err);
        check_columns(v, here, err);
    }
    if (json_len(versions) && stored != 1)
        problem_invalid(err, at, NULL, "must have exactly one version marked as storage version");
}

static void check_same(const struct json *now, const struct json *then, const struct field_path *at,
                       struct err *err)
{
    if (!json_equal(now, then))
        problem_invalid(err, at, now, "field is immutable");
}

static void validate(const struct json *crd, const struct json *old, struct err *err)
{
    const struct json *spec = json_get(crd, "spec"), *name = json_at(crd, "metadata", "name");
    const char *plural = json_string(json_at(spec, "names", "plural"), "");
    const char *group = json_get_string(spec, "group", "");
    const struct field_path *at = PATH_MEMBER(NULL, "spec");
    size_t len = strlen(plural);

    if (strncmp(json_string(name, ""), plural, len) != 0 || json_string(name, "")[len] != '.' ||
        strcmp(json_string(name, "") + len + 1, group) != 0)
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(NULL, "metadata"), "name"), name,
                        "must be spec.names.plural+\".\"+spec.group");
    if (!strchr(group, '.'))
        problem_invalid(err, PATH_MEMBER(at, "group"), json_get(spec, "group"),
                        "should be a domain with at least one dot");
    if (json_string_is(json_at(spec, "conversion", "strategy"), "Webhook") &&
        json_len(json_get(spec, "versions")) > 1) /* else there is nothing to convert */
        problem_invalid(err, PATH_MEMBER(PATH_MEMBER(at, "conversion"), "strategy"),
                        json_at(spec, "conversion", "strategy"),
                        "conversion by webhooks is not supported: use None, or one version");
    check_versions(spec, at, err);
    if (!old)
        return;
    check_same(json_get(spec, "scope"), json_at(old, "spec", "scope"), PATH_MEMBER(at, "scope"),
               err);
    check_same(json_at(spec, "names", "kind"), json_at(old, "spec", "names", "kind"),
               PATH_MEMBER(PATH_MEMBER(at, "names"), "kind"), err);
}

static struct json *render_created(struct arena *a, const struct json *crd, int64_t now_ms)
{
    (void)now_ms;
    return column_string(a, json_at(crd, "metadata", "creationTimestamp"));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Created At", "date", "When it was installed.", .render = render_created),
    {0}};

const struct kind kind_crd = {KIND_NAMES("apiextensions.k8s.io", "v1", "CustomResourceDefinition",
                                         "customresourcedefinitions", "customresourcedefinition"),
                              .short_names = (const char *const[]){"crd", "crds", NULL},
                              .categories = (const char *const[]){"api-extensions", NULL},
                              .has_status = true,
                              .doc = "CustomResourceDefinition installs a kind.",
                              .fields = fields,
                              .columns = columns,
                              .validate = validate,
                              .set_defaults = set_defaults};
