/* structural.c - see structural.h: pruning, defaults, and whether a schema is structural. */
#include "api/schema/structural.h"

#include <string.h>

static bool says(const struct json *schema, const char *extension)
{
    return json_get_bool(schema, extension, false);
}

static bool is_root_member(const char *key)
{
    return strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
           strcmp(key, "metadata") == 0;
}

/* --- pruning -------------------------------------------------------------------------------- */

struct pruner {
    structural_unknown_fn *unknown;
    void *arg;
};

static void prune_value(const struct pruner *p, const struct json *schema, struct json *v,
                        const struct field_path *at, bool is_object);

/* The schema of one member; NULL: unspecified. */
static const struct json *member_schema(const struct json *schema, const char *key)
{
    const struct json *known = json_get(json_get(schema, "properties"), key);
    const struct json *others = json_get(schema, "additionalProperties");

    if (known)
        return known;
    return json_is(others, JSON_OBJECT) ? others : NULL;
}

static bool keeps_others(const struct json *schema)
{
    return says(schema, "x-kubernetes-preserve-unknown-fields") ||
           json_bool(json_get(schema, "additionalProperties"), false);
}

static void prune_members(const struct pruner *p, const struct json *schema, struct json *object,
                          const struct field_path *at, bool is_resource)
{
    struct json *next;

    for (struct json *m = json_first_mut(object); m; m = next) {
        const struct json *below = member_schema(schema, m->key);

        next = m->next;
        if (is_resource && is_root_member(m->key))
            continue;
        if (below && json_is(m, JSON_NULL) && !says(below, "nullable") &&
            !says(below, "x-kubernetes-preserve-unknown-fields")) {
            json_remove_item(object, m);
        } else if (below) {
            prune_value(p, below, m, PATH_MEMBER(at, m->key), false);
        } else if (!keeps_others(schema)) {
            if (p->unknown)
                p->unknown(p->arg, PATH_MEMBER(at, m->key));
            json_remove_item(object, m);
        }
    }
}

static void prune_value(const struct pruner *p, const struct json *schema, struct json *v,
                        const struct field_path *at, bool is_object)
{
    size_t i = 0;

    if (json_is(v, JSON_OBJECT))
        prune_members(p, schema, v, at,
                      is_object || says(schema, "x-kubernetes-embedded-resource"));
    else if (json_is(v, JSON_ARRAY) && json_get(schema, "items"))
        for (struct json *item = json_first_mut(v); item; item = item->next)
            prune_value(p, json_get(schema, "items"), item, PATH_INDEX(at, i++), false);
}

void structural_prune(const struct json *schema, struct json *object,
                      structural_unknown_fn *unknown, void *arg)
{
    const struct pruner p = {.unknown = unknown, .arg = arg};

    prune_value(&p, schema, object, NULL, true);
}

/* --- defaults ------------------------------------------------------------------------------- */

void structural_set_defaults(struct arena *a, const struct json *schema, struct json *v)
{
    if (json_is(v, JSON_ARRAY)) {
        for (struct json *item = json_first_mut(v); item; item = item->next)
            structural_set_defaults(a, json_get(schema, "items"), item);
        return;
    }
    if (!json_is(v, JSON_OBJECT))
        return;
    json_each (p, json_get(schema, "properties")) {
        const struct json *text = json_get(p, "default");

        if (text && json_is_null(json_get(v, p->key)))
            json_set(a, v, p->key, json_clone(a, text));
    }
    for (struct json *m = json_first_mut(v); m; m = m->next) {
        const struct json *below = member_schema(schema, m->key);

        if (below)
            structural_set_defaults(a, below, m);
    }
}

/* --- the schema itself ---------------------------------------------------------------------- */

static const char *const types[] = {"array",  "boolean", "integer", "number",
                                    "object", "string",  NULL};

static void check_type(const struct json *schema, const struct field_path *at, struct err *err)
{
    const struct json *type = json_get(schema, "type");

    if (!type && !says(schema, "x-kubernetes-int-or-string") &&
        !says(schema, "x-kubernetes-preserve-unknown-fields"))
        problem_required(err, PATH_MEMBER(at, "type"), schema->line,
                         "must not be empty for specified object fields");
    for (size_t i = 0; type && types[i]; i++)
        if (json_string_is(type, types[i]))
            return;
    if (type)
        problem_not_supported(err, PATH_MEMBER(at, "type"), type, types);
}

static void check_below(const struct json *schema, const struct field_path *at, unsigned depth,
                        bool correlatable, struct err *err)
{
    bool keyed = json_string_is(json_get(schema, "x-kubernetes-list-type"), "map");
    const struct json *items = json_get(schema, "items");
    const struct json *others = json_get(schema, "additionalProperties");
    const struct field_path *properties = PATH_MEMBER(at, "properties");

    if (depth == STRUCTURAL_DEPTH_LIMIT) {
        problem_forbidden(err, at, schema ? schema->line : 0, "the schema is deeper than %u levels",
                          STRUCTURAL_DEPTH_LIMIT);
        return;
    }
    if (!json_is(schema, JSON_OBJECT)) {
        problem_type(err, at, schema, "must be a schema");
        return;
    }
    check_type(schema, at, err);
    if (json_get(schema, "$ref"))
        problem_forbidden(err, PATH_MEMBER(at, "$ref"), schema->line, "$ref is not supported");
    if (json_string_is(json_get(schema, "type"), "array") && !items)
        problem_required(err, PATH_MEMBER(at, "items"), schema->line, "must be specified");
    if (json_get(schema, "properties") && others && !json_bool(others, false))
        problem_forbidden(err, PATH_MEMBER(at, "additionalProperties"), others->line,
                          "additionalProperties and properties are mutual exclusive");
    structural_check_rules(schema, at, correlatable, err);
    json_each (p, json_get(schema, "properties"))
        check_below(p, PATH_KEY(properties, p->key), depth + 1, correlatable, err);
    if (items)
        check_below(items, PATH_MEMBER(at, "items"), depth + 1, correlatable && keyed, err);
    if (json_is(others, JSON_OBJECT))
        check_below(others, PATH_MEMBER(at, "additionalProperties"), depth + 1, correlatable, err);
}

void structural_check(const struct json *schema, const struct field_path *at, struct err *err)
{
    if (json_is(schema, JSON_OBJECT) && !json_string_is(json_get(schema, "type"), "object"))
        problem_invalid(err, PATH_MEMBER(at, "type"), json_get(schema, "type"),
                        "must be object at the root");
    else
        check_below(schema, at, 0, true, err);
}
