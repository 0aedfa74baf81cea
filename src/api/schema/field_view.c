/* field_view.c - see field_view.h. */
#include "api/schema/field_view.h"

static const struct field_view unknown = {.type = FIELD_ANY};

struct field_view field_view_of_kind(const struct kind *k)
{
    return (struct field_view){
        .type = FIELD_OBJECT, .fields = k->fields, .more = object_common_fields};
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
        return unknown;
    f = field_find(v->fields, key, len);
    if (!f)
        f = field_find(v->more, key, len);
    return f ? (struct field_view){.type = f->type, .field = f, .fields = f->fields} : unknown;
}

struct field_view field_view_item(const struct field_view *v)
{
    return v->type == FIELD_LIST ? element(v) : unknown;
}

const char *field_view_merge_key(const struct field_view *v)
{
    return v->type == FIELD_LIST && v->field->item == FIELD_OBJECT ? field_merge_key(v->field)
                                                                   : NULL;
}

const char *field_view_second_key(const struct field_view *v)
{
    return field_view_merge_key(v) ? v->field->merge_key_2 : NULL;
}

bool field_view_is_set(const struct field_view *v)
{
    return v->type == FIELD_LIST && v->field->flags & FIELD_MERGE_SET;
}
