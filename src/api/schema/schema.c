/* schema.c - tables of fields to JSON schemas. One traversal, three styles (schema.h). */
#include "api/schema.h"

#include <string.h>

#define LABEL_PATTERN "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
#define NAME_PATTERN "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
#define AMOUNT_PATTERN                                                                             \
    "(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\"          \
    ".[0-9]*)?)|(\\.[0-9]+))))?$"

struct styler {
    struct arena *arena;
    enum schema_style style;
    bool untracked;           /* CRD: inside a list without keys */
    bool open;                /* V2: omit the schema of objects that keep unknown members */
    struct json *definitions; /* V2, V3: where named types are defined, once each */
};

static struct json *value_schema(const struct styler *s, const struct field *f,
                                 enum field_type type, bool defaults);

static void set_type(const struct styler *s, struct json *schema, const char *type,
                     const char *format)
{
    json_set_string(s->arena, schema, "type", type);
    json_set_string(s->arena, schema, "format", format);
}

static void string_limits(const struct styler *s, const struct field *f, struct json *schema)
{
    if (f->values) {
        struct json *list = json_set(s->arena, schema, "enum", json_new_array(s->arena));

        for (const char *const *v = f->values; *v; v++)
            json_append_string(s->arena, list, *v);
    }
    if (f->type != FIELD_STRING)
        return;
    if (f->pattern) {
        json_set_string(s->arena, schema, "pattern", f->pattern);
        if (f->flags & FIELD_NON_EMPTY)
            json_set_int(s->arena, schema, "minLength", 1);
    } else if (f->flags & FIELD_DNS_LABEL) {
        json_set_string(s->arena, schema, "pattern", LABEL_PATTERN);
        json_set_int(s->arena, schema, "maxLength", 63);
    } else if (f->flags & FIELD_DNS_NAME) {
        json_set_string(s->arena, schema, "pattern", NAME_PATTERN);
        json_set_int(s->arena, schema, "maxLength", 253);
    } else if (f->flags & FIELD_NON_EMPTY) {
        json_set_int(s->arena, schema, "minLength", 1);
    }
}

static void number_limits(const struct styler *s, const struct field *f, struct json *schema)
{
    if (f->has_min)
        json_set_int(s->arena, schema, "minimum", f->min);
    if (f->has_max)
        json_set_int(s->arena, schema, "maximum", f->max);
}

static void int_or_string(const struct styler *s, struct json *schema)
{
    struct json *any;

    if (s->style == SCHEMA_V2) { /* v2 has no "oneOf": string with a format is the convention */
        set_type(s, schema, "string", "int-or-string");
        return;
    }
    any = json_set(s->arena, schema, "anyOf", json_new_array(s->arena));
    json_set_string(s->arena, json_append(any, json_new_object(s->arena)), "type", "integer");
    json_set_string(s->arena, json_append(any, json_new_object(s->arena)), "type", "string");
    json_set_bool(s->arena, schema, "x-kubernetes-int-or-string", true);
}

/* --- objects -------------------------------------------------------------------------------- */

/* A definition for other servers does not mention what this server ignores. */
static const char *full_doc(const struct styler *s, const struct field *f)
{
    if (s->style == SCHEMA_CRD)
        return f->doc;
    if (f->ignored)
        return arena_printf(s->arena, "%s " FIELD_IGNORED_WORDS ": %s.", f->doc, f->ignored);
    if (f->event)
        return arena_printf(s->arena, "%s The pod's event %s says so.", f->doc, f->event);
    return f->doc;
}

static void describe(const struct styler *s, const struct field *f, struct json *schema)
{
    struct json *first = f->doc ? json_new_string(s->arena, full_doc(s, f)) : NULL;

    if (!first || !schema)
        return;
    first->key = "description";
    first->key_len = (uint32_t)strlen(first->key);
    json_append(schema, first);
}

static struct json *field_schema(const struct styler *s, const struct field *f, bool defaults)
{
    struct json *schema = value_schema(s, f, f->type, defaults);

    /* A default next to an older spelling would look contradictory. */
    if (defaults && f->default_json && !f->alias)
        json_set(s->arena, schema, "default",
                 json_parse(s->arena, f->default_json, strlen(f->default_json), NULL));
    return schema;
}

static void add_property(const struct styler *s, struct json *properties, const struct field *f,
                         bool defaults)
{
    json_set(s->arena, properties, f->name, field_schema(s, f, defaults));
    if (!f->alias)
        return;
    json_set(s->arena, properties, f->alias, field_schema(s, f, false));
    json_set_stringf(s->arena, json_get_mut(properties, f->alias), "description",
                     "Older spelling of %s.", f->name);
}

static void add_required(const struct styler *s, struct json *schema, const struct field *fields)
{
    struct json *required = json_new_array(s->arena);

    for (const struct field *f = fields; f->name; f++)
        if (f->flags & FIELD_REQUIRED)
            json_append_string(s->arena, required, f->name);
    if (json_len(required))
        json_set(s->arena, schema, "required", required);
}

static void add_rule(const struct styler *s, struct json *schema, const struct rule *r)
{
    struct json *entry = json_append(json_make_array(s->arena, schema, "x-kubernetes-validations"),
                                     json_new_object(s->arena));

    if (r->new_only) {
        json_set_stringf(s->arena, entry, "rule", "oldSelf.hasValue() || (%s)", r->rule);
        json_set_bool(s->arena, entry, "optionalOldSelf", true);
    } else {
        json_set_string(s->arena, entry, "rule", r->rule);
    }
    json_set_string(s->arena, entry, "message", r->message);
    json_set_string(s->arena, entry, "fieldPath", r->field);
}

static void add_immutable(const struct styler *s, struct json *schema, const struct field *f,
                          const char *name)
{
    const char *same = arena_printf(s->arena, "self.%s == oldSelf.%s", name, name);
    const char *rule = f->flags & FIELD_REQUIRED
                           ? same
                           : arena_printf(
                                 s->arena,
                                 "has(self.%s) == has(oldSelf.%s) && (!has(self.%s) || %s)", name,
                                 name, name, same);

    add_rule(s, schema,
             &(struct rule){.rule = rule,
                            .field = arena_printf(s->arena, ".%s", name),
                            .message = f->immutable ? f->immutable : "field is immutable"});
}

/* CEL cannot see members without a schema. */
static bool is_seen_by_rules(const struct field *f)
{
    return f->type != FIELD_ANY && (f->type != FIELD_OBJECT || f->fields);
}

static void add_immutables(const struct styler *s, struct json *schema, const struct field *fields)
{
    for (const struct field *f = fields; f->name; f++) {
        if (!(f->flags & FIELD_IMMUTABLE) || !is_seen_by_rules(f))
            continue;
        add_immutable(s, schema, f, f->name);
        if (f->alias)
            add_immutable(s, schema, f, f->alias);
    }
}

static void object_schema(const struct styler *s, const struct field *f, struct json *schema,
                          bool defaults)
{
    bool open = f->flags & FIELD_KEEP_UNKNOWN;
    struct json *properties;

    if (open && s->style == SCHEMA_V2 && (s->open || !f->fields || f->flags & FIELD_READ_ONLY))
        return; /* v2 can express "anything" only by omitting the type */
    json_set_string(s->arena, schema, "type", "object");
    if (open)
        json_set_bool(s->arena, schema, "x-kubernetes-preserve-unknown-fields", true);
    if (!f->fields)
        return;
    add_required(s, schema, f->fields);
    properties = json_set(s->arena, schema, "properties", json_new_object(s->arena));
    for (const struct field *m = f->fields; m->name; m++)
        add_property(s, properties, m, defaults && !(f->flags & FIELD_NO_DEFAULTS));
    if (s->style != SCHEMA_CRD)
        return;
    if (!s->untracked && !(f->flags & FIELD_NO_DEFAULTS)) /* a template is not the object created
                                                           * from it */
        add_immutables(s, schema, f->fields);
    for (const struct rule *r = f->rules; r && r->rule; r++)
        add_rule(s, schema, r);
}

static bool is_required(const struct field *fields, const char *name)
{
    const struct field *f = field_find(fields, name, strlen(name));

    return f && f->flags & FIELD_REQUIRED;
}

/* Tells kubectl how to merge this list in strategic merge patches. */
static void patch_strategy(const struct styler *s, const struct field *f, struct json *schema)
{
    if (field_merge_key(f))
        json_set_string(s->arena, schema, "x-kubernetes-patch-merge-key", field_merge_key(f));
    if (field_merge_key(f) || f->flags & FIELD_MERGE_SET)
        json_set_string(s->arena, schema, "x-kubernetes-patch-strategy",
                        f->flags & FIELD_RETAIN_KEYS ? "merge,retainKeys" : "merge");
}

/* A real server does not accept a key that may be missing in a list of type map. */
static void list_schema(const struct styler *s, const struct field *f, struct json *schema,
                        bool defaults)
{
    bool keyed = f->list_key && is_required(f->fields, f->list_key);
    struct styler items = *s;

    items.untracked = s->untracked || !keyed;
    json_set_string(s->arena, schema, "type", "array");
    json_set(s->arena, schema, "items", value_schema(&items, f, f->item, defaults));
    if (f->flags & FIELD_NON_EMPTY)
        json_set_int(s->arena, schema, "minItems", 1);
    if (f->max_items)
        json_set_int(s->arena, schema, "maxItems", f->max_items);
    if (s->style != SCHEMA_CRD)
        patch_strategy(s, f, schema);
    else if (keyed) {
        json_set_string(s->arena, schema, "x-kubernetes-list-type", "map");
        json_append_string(
            s->arena,
            json_set(s->arena, schema, "x-kubernetes-list-map-keys", json_new_array(s->arena)),
            f->list_key);
    }
}

static void fill_schema(const struct styler *s, const struct field *f, enum field_type type,
                        struct json *schema, bool defaults)
{
    switch (type) {
    case FIELD_STRING:
        json_set_string(s->arena, schema, "type", "string");
        string_limits(s, f, schema);
        return;
    case FIELD_INT32:
    case FIELD_INT64:
        set_type(s, schema, "integer", type == FIELD_INT32 ? "int32" : "int64");
        number_limits(s, f, schema);
        return;
    case FIELD_BOOL:
        json_set_string(s->arena, schema, "type", "boolean");
        return;
    case FIELD_QUANTITY:
        int_or_string(s, schema);
        if (s->style == SCHEMA_V2)
            return;
        json_set_string(s->arena, schema, "pattern",
                        f->has_min ? "^\\+?" AMOUNT_PATTERN : "^(\\+|-)?" AMOUNT_PATTERN);
        number_limits(s, f, schema);
        return;
    case FIELD_INT_OR_STRING:
        int_or_string(s, schema);
        return;
    case FIELD_TIME:
        set_type(s, schema, "string", "date-time");
        return;
    case FIELD_BYTES:
        set_type(s, schema, "string", "byte");
        return;
    case FIELD_LIST:
        list_schema(s, f, schema, defaults);
        return;
    case FIELD_MAP:
        json_set_string(s->arena, schema, "type", "object");
        json_set(s->arena, schema, "additionalProperties", value_schema(s, f, f->item, defaults));
        return;
    case FIELD_OBJECT:
        object_schema(s, f, schema, defaults);
        return;
    case FIELD_ANY:
        if (s->style != SCHEMA_V2)
            json_set_bool(s->arena, schema, "x-kubernetes-preserve-unknown-fields", true);
        return;
    }
    unreachable();
}

static const char *reference_text(const struct styler *s, const char *name)
{
    return arena_printf(s->arena, "#/%s/%s",
                        s->style == SCHEMA_V2 ? "definitions" : "components/schemas", name);
}

/* Registered before it is filled, because a type may contain itself. */
static void define_type(const struct styler *s, const struct field *f)
{
    const struct field whole = {
        .type = FIELD_OBJECT, .flags = f->flags & FIELD_KEEP_UNKNOWN, .fields = f->fields};
    struct json *schema;

    if (json_get(s->definitions, f->schema_name))
        return;
    schema = json_set(s->arena, s->definitions, f->schema_name, json_new_object(s->arena));
    if (schema)
        object_schema(s, &whole, schema, true);
}

/* In v3 siblings of $ref are ignored, so it is wrapped in allOf. */
static struct json *named_schema(const struct styler *s, const struct field *f,
                                 enum field_type type)
{
    struct json *schema = json_new_object(s->arena), *holder = schema;

    define_type(s, f);
    if (type == f->type)
        describe(s, f, schema);
    if (s->style == SCHEMA_V3 && type == f->type)
        holder = json_append(json_make_array(s->arena, schema, "allOf"), json_new_object(s->arena));
    json_set_string(s->arena, holder, "$ref", reference_text(s, f->schema_name));
    return schema;
}

/* The schema of the field itself, or of its elements if type is theirs. */
static struct json *value_schema(const struct styler *s, const struct field *f,
                                 enum field_type type, bool defaults)
{
    struct json *schema;
    const struct field element = {.name = f->name,
                                  .type = type,
                                  .flags = f->flags & (FIELD_KEEP_UNKNOWN | FIELD_NO_DEFAULTS),
                                  .fields = f->fields,
                                  .values = f->values,
                                  .pattern = f->pattern,
                                  .rules = f->rules,
                                  .has_min = f->has_min,
                                  .has_max = f->has_max,
                                  .min = f->min,
                                  .max = f->max};

    if (type == FIELD_OBJECT && f->schema_name && s->definitions)
        return named_schema(s, f, type);
    schema = json_new_object(s->arena);
    if (type == f->type)
        describe(s, f, schema);
    fill_schema(s, type == f->type ? f : &element, type, schema, defaults);
    return schema;
}

/* --- kinds ---------------------------------------------------------------------------------- */

struct json *schema_of_metadata(struct arena *a, enum schema_style style)
{
    const struct styler s = {.arena = a, .style = style};
    const struct field *f = field_find(object_common_fields, "metadata", strlen("metadata"));

    return value_schema(&s, f, FIELD_OBJECT, true);
}

static struct json *metadata_property(const struct styler *s)
{
    struct json *schema = json_new_object(s->arena);

    if (s->style == SCHEMA_CRD)
        json_set_string(s->arena, schema, "type", "object");
    else
        json_set_string(s->arena, schema, "$ref",
                        s->style == SCHEMA_V2 ? "#/definitions/" SCHEMA_META_NAME
                                              : "#/components/schemas/" SCHEMA_META_NAME);
    return schema;
}

/* v2 cannot express "anything" or "null": like the real server, omit the type. */
static void open_up(struct json *schema)
{
    static const char *const limits[] = {"type", "properties", "items", "additionalProperties",
                                         "required"};
    bool open = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false) ||
                json_get_bool(schema, "nullable", false) ||
                json_get_bool(schema, "x-kubernetes-int-or-string", false);

    for (size_t i = 0; open && i < ELEMS(limits); i++)
        json_remove(schema, limits[i]);
    for (struct json *p = json_first_mut(json_get_mut(schema, "properties")); p; p = p->next)
        open_up(p);
    if (json_get(schema, "items"))
        open_up(json_get_mut(schema, "items"));
    if (json_is(json_get(schema, "additionalProperties"), JSON_OBJECT))
        open_up(json_get_mut(schema, "additionalProperties"));
}

static struct json *installed_schema(struct arena *a, const struct kind *k, enum schema_style style)
{
    struct json *schema = json_clone(a, k->schema);

    if (style == SCHEMA_V2 && schema) {
        open_up(schema);
        json_set_string(a, schema, "type", "object");
    }
    return schema;
}

struct json *schema_styled(struct arena *a, const struct kind *k, enum schema_style style,
                           struct json *definitions)
{
    const struct styler s = {
        .arena = a, .style = style, .open = k->custom, .definitions = definitions};
    const struct field whole = {
        .type = FIELD_OBJECT, .doc = k->doc, .fields = k->fields, .rules = k->rules};
    struct json *schema = k->schema ? installed_schema(a, k, style)
                                    : value_schema(&s, &whole, FIELD_OBJECT, true);
    struct json *properties;

    /* Clients that check by v2 take any property for the only ones there are. */
    if (style == SCHEMA_V2 &&
        json_get_bool(k->schema, "x-kubernetes-preserve-unknown-fields", false))
        return schema;
    properties = json_make_object(a, schema, "properties");
    for (const struct field *f = object_common_fields; f->name; f++)
        if (f->type == FIELD_STRING)
            add_property(&s, properties, f, false);
    json_set(a, properties, "metadata", metadata_property(&s));
    return schema;
}

struct json *schema_of_kind(struct arena *a, const struct kind *k)
{
    return schema_styled(a, k, SCHEMA_CRD, NULL);
}

struct json *schema_group_version_kind(struct arena *a, const struct kind *k)
{
    struct json *gvk = json_new_object(a);

    json_set_string(a, gvk, "group", k->group);
    json_set_string(a, gvk, "version", k->version);
    json_set_string(a, gvk, "kind", k->name);
    return gvk;
}

/* Kubernetes' own groups are named by package, others by their reversed domain. */
const char *schema_definition_name(struct arena *a, const struct kind *k)
{
    const char *end = k->group + strlen(k->group);
    const char *name = "";

    if (!*k->group)
        return arena_printf(a, "io.k8s.api.core.%s.%s", k->version, k->name);
    while (end > k->group && name) {
        const char *start = end;

        while (start > k->group && start[-1] != '.')
            start--;
        name = arena_printf(a, "%s%s%.*s", name, *name ? "." : "", (int)(end - start), start);
        end = start > k->group ? start - 1 : start;
    }
    return name ? arena_printf(a, "%s.%s.%s", name, k->version, k->name) : NULL;
}
