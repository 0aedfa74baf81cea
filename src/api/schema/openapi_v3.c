/* openapi_v3.c - one document per group and version: schemas for `kubectl explain`, and one patch
 * operation per kind, from which kubectl learns that the server validates fields and supports dry
 * runs. */
#include <string.h>

#include "api/schema.h"

#define VERSION_TEXT "v1.32.0"

static void add_parameter(struct arena *a, struct json *list, enum schema_style style,
                          const char *name, const char *doc)
{
    struct json *p = json_append(list, json_new_object(a));

    json_set_string(a, p, "name", name);
    json_set_string(a, p, "in", "query");
    json_set_string(a, p, "description", doc);
    json_set_string(a, style == SCHEMA_V3 ? json_make_object(a, p, "schema") : p, "type", "string");
    if (style == SCHEMA_V2)
        json_set_bool(a, p, "uniqueItems", true);
}

static struct json *patch_operation(struct arena *a, const struct kind *k, enum schema_style style)
{
    struct json *op = json_new_object(a), *parameters;

    json_set_stringf(a, op, "operationId", "patch%s%s", k->namespaced ? "Namespaced" : "", k->name);
    parameters = json_make_array(a, op, "parameters");
    add_parameter(a, parameters, style, "dryRun", "All: validate and answer, but store nothing.");
    add_parameter(a, parameters, style, "fieldManager", "Field manager of the change.");
    add_parameter(a, parameters, style, "fieldValidation",
                  "How to treat unknown fields: Ignore, Warn or Strict.");
    json_set_string(a, json_make_object(a, json_make_object(a, op, "responses"), "200"),
                    "description", "OK");
    json_set_string(a, op, "x-kubernetes-action", "patch");
    json_set(a, op, "x-kubernetes-group-version-kind", schema_group_version_kind(a, k));
    return op;
}

static const char *object_path(struct arena *a, const struct kind *k)
{
    return arena_printf(a, "%s%s/%s%s/%s/{name}", *k->group ? "/apis/" : "/api", k->group,
                        k->version, k->namespaced ? "/namespaces/{namespace}" : "", k->plural);
}

void schema_add_kind(struct arena *a, struct json *paths, struct json *schemas,
                     const struct kind *k, enum schema_style style)
{
    const char *name = schema_definition_name(a, k), *path = object_path(a, k);
    struct json *schema = schema_styled(a, k, style, schemas);

    if (!name || !path)
        return;
    json_append(json_make_array(a, schema, "x-kubernetes-group-version-kind"),
                schema_group_version_kind(a, k));
    json_set(a, schemas, name, schema);
    json_set(a, json_make_object(a, paths, path), "patch", patch_operation(a, k, style));
}

void schema_add_info(struct arena *a, struct json *document)
{
    struct json *info = json_make_object(a, document, "info");

    json_set_string(a, info, "title", "muster");
    json_set_string(a, info, "version", VERSION_TEXT);
}

struct json *schema_openapi_v3(struct arena *a, const struct kind *const *all, const char *group,
                               const char *version)
{
    struct json *doc = json_new_object(a), *paths, *schemas;
    bool any = false;

    json_set_string(a, doc, "openapi", "3.0.0");
    schema_add_info(a, doc);
    paths = json_make_object(a, doc, "paths");
    schemas = json_make_object(a, json_make_object(a, doc, "components"), "schemas");
    json_set(a, schemas, SCHEMA_META_NAME, schema_of_metadata(a, SCHEMA_V3));
    for (const struct kind *const *k = all; *k; k++) {
        if (strcmp((*k)->group, group) != 0 || strcmp((*k)->version, version) != 0)
            continue;
        any = true;
        schema_add_kind(a, paths, schemas, *k, SCHEMA_V3);
    }
    return any ? doc : NULL;
}
