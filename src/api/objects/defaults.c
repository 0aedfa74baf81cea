/* defaults.c - fills in absent members by the kind's table. Parents first, so that a default of {}
 * lets the members below it be filled too. */
#include <string.h>

#include "api/object.h"
#include "api/schema/structural.h"

static void default_object(struct arena *a, const struct field *fields, bool lists,
                           struct json *object);

/* A default has no line in the user's text. */
static void clear_lines(struct json *v)
{
    v->line = 0;
    for (struct json *m = json_first_mut(v); m; m = m->next)
        clear_lines(m);
}

static struct json *default_value(struct arena *a, const char *text)
{
    struct json *v = json_parse(a, text, strlen(text), NULL);

    if (v)
        clear_lines(v);
    return v;
}

static bool is_absent(const struct field *f, const struct json *v)
{
    return json_is_null(v) || (f->values && json_is(v, JSON_STRING) && v->len == 0);
}

static void default_below(struct arena *a, const struct field *f, bool lists, struct json *v)
{
    if (!f->fields || f->flags & FIELD_NO_DEFAULTS)
        return;
    if (f->type == FIELD_OBJECT)
        default_object(a, f->fields, lists, v);
    else if (f->item == FIELD_OBJECT && (f->type == FIELD_MAP || (f->type == FIELD_LIST && lists)))
        for (struct json *item = json_first_mut(v); item; item = item->next)
            default_object(a, f->fields, lists, item);
}

static void default_object(struct arena *a, const struct field *fields, bool lists,
                           struct json *object)
{
    if (!json_is(object, JSON_OBJECT))
        return;
    for (const struct field *f = fields; f->name; f++)
        if (f->default_json && is_absent(f, json_get(object, f->name)))
            json_set(a, object, f->name, default_value(a, f->default_json));
    for (struct json *m = json_first_mut(object); m; m = m->next) {
        const struct field *f = m->type >= JSON_ARRAY ? field_find(fields, m->key, m->key_len)
                                                      : NULL;

        if (f)
            default_below(a, f, lists, m);
    }
}

void object_set_defaults(struct arena *a, const struct kind *k, struct json *object)
{
    if (k->schema)
        structural_set_defaults(a, k->schema, object);
    if (k->fields)
        default_object(a, k->fields, !k->custom, object);
    if (k->set_defaults)
        k->set_defaults(a, object);
}

struct json *object_whole(struct arena *a, const struct kind *k, const struct json *object)
{
    struct json *whole = json_clone(a, object);

    object_set_defaults(a, k, whole);
    if (whole && k->fields)
        default_object(a, k->fields, true, whole);
    return whole;
}
