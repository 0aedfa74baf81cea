/* field_view.c - see field_view.h. */
#include "api/schema/field_view.h"

#include <string.h>

static const struct field_view unknown = {.type = FIELD_ANY};

struct field_view field_view_of_kind(const struct kind *k)
{
    return (struct field_view){.type = FIELD_OBJECT,
                               .fields = k->fields,
                               .more = object_common_fields,
                               .schema = k->schema};
}

static struct field_view by_schema(const struct json *schema)
{
    return (struct field_view){.type = FIELD_ANY, .schema = schema};
}

static struct field_view schema_member(const struct json *schema, const char *key)
{
    const struct json *known = json_get(json_get(schema, "properties"), key);

    return by_schema(known ? known : json_get(schema, "additionalProperties"));
}

static struct field_view element(const struct field_view *v)
{
    const struct field *f = v->field;

    return (struct field_view){.type = f->item, .field = f, .fields = f->fields};
}

struct field_view field_view_member(const struct field_view *v, const char *key, size_t len)
{
    const struct field *f;

    if (v->type == FIELD_MAP)
        return element(v);
    if (v->type != FIELD_OBJECT)
        return v->schema ? schema_member(v->schema, key) : unknown;
    f = field_find(v->fields, key, len);
    if (!f)
        f = field_find(v->more, key, len);
    if (!f && v->schema)
        return schema_member(v->schema, key);
    return f ? (struct field_view){.type = f->type, .field = f, .fields = f->fields} : unknown;
}

struct field_view field_view_item(const struct field_view *v)
{
    if (v->schema)
        return by_schema(json_get(v->schema, "items"));
    return v->type == FIELD_LIST ? element(v) : unknown;
}

static bool schema_says(const struct field_view *v, const char *extension, const char *value)
{
    return json_string_is(json_get(v->schema, extension), value);
}

size_t field_view_keys(const struct field_view *v, const char *keys[FIELD_VIEW_KEYS])
{
    const char *first;
    size_t n = 0;

    if (schema_says(v, "x-kubernetes-list-type", "map"))
        json_each (key, json_get(v->schema, "x-kubernetes-list-map-keys"))
            if (n < FIELD_VIEW_KEYS && json_is(key, JSON_STRING))
                keys[n++] = key->u.text;
    if (v->schema || v->type != FIELD_LIST || v->field->item != FIELD_OBJECT)
        return n;
    first = field_merge_key(v->field);
    if (first)
        keys[n++] = first;
    if (first && v->field->merge_key_2)
        keys[n++] = v->field->merge_key_2;
    return n;
}

struct json *field_view_key_default(struct arena *a, const struct field_view *list, const char *key)
{
    const struct json *items = json_get(list->schema, "items");
    const struct json *value = json_get(json_get(json_get(items, "properties"), key), "default");
    const struct field *f = list->field ? field_find(list->field->fields, key, strlen(key)) : NULL;

    if (value)
        return json_clone(a, value);
    return f && f->default_json ? json_parse(a, f->default_json, strlen(f->default_json), NULL)
                                : NULL;
}

bool field_view_is_set(const struct field_view *v)
{
    if (v->schema)
        return schema_says(v, "x-kubernetes-list-type", "set");
    return v->type == FIELD_LIST && v->field->flags & FIELD_MERGE_SET;
}

bool field_view_is_atomic(const struct field_view *v)
{
    return v->schema && schema_says(v, "x-kubernetes-map-type", "atomic");
}
