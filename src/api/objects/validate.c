/*
 * validate.c - checks values against the kind's table, then by the kind's own rules.
 *
 * Runs after decode.c and defaults.c, so types are right. Reports every problem, not only the
 * first, and formats nothing when there is none.
 */
#include <string.h>

#include "api/metadata.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/quantity.h"
#include "api/schema/structural.h"
#include "base/utf8.h"

/* Uniqueness is checked pairwise, so longer lists are refused. */
#define KEYED_LIST_LIMIT 1024u
#define WHOLE_LIMIT_BYTES (256u * 1024u * 1024u)
#define NO_CONTROLS "must not contain control characters"

static void validate_object(const struct field *fields, const struct field *more,
                            const struct json *object, const struct field_path *at,
                            struct err *err);

static bool is_allowed(const char *const *values, const char *text)
{
    for (; *values; values++)
        if (strcmp(*values, text) == 0)
            return true;
    return false;
}

static void validate_string(const struct field *f, const struct json *v,
                            const struct field_path *at, struct err *err)
{
    const char *problem = NULL;

    if (v->len == 0) {
        if (f->flags & (FIELD_REQUIRED | FIELD_NON_EMPTY))
            problem_required(err, at, v->line, NULL);
        return;
    }
    /* a NUL would silently truncate names, paths and words */
    if (strlen(v->u.text) != v->len)
        problem = "may not contain a NUL byte";
    else if (f->values && !is_allowed(f->values, v->u.text))
        problem_not_supported(err, at, v, f->values);
    else if (f->flags & FIELD_DNS_LABEL)
        problem = dns_label_problem(v->u.text);
    else if (f->flags & FIELD_DNS_NAME)
        problem = dns_name_problem(v->u.text);
    if (problem)
        problem_invalid(err, at, v, "%s", problem);
}

static void validate_number(const struct field *f, const struct json *v,
                            const struct field_path *at, struct err *err)
{
    int64_t n = json_int(v, 0);
    bool low = f->has_min && n < f->min, high = f->has_max && n > f->max;

    if (!json_is(v, JSON_INT) || (!low && !high))
        return;
    if (f->has_min && f->has_max)
        problem_invalid(err, at, v, "must be between %lld and %lld, inclusive", (long long)f->min,
                        (long long)f->max);
    else if (low)
        problem_invalid(err, at, v, "must be greater than or equal to %lld", (long long)f->min);
    else
        problem_invalid(err, at, v, "must be less than or equal to %lld", (long long)f->max);
}

static void validate_unique(const struct field *f, const struct json *list,
                            const struct field_path *at, struct err *err)
{
    size_t i = 0;

    json_each (item, list) {
        const struct json *key = json_get(item, f->list_key);

        json_each (before, list) {
            if (before == item)
                break;
            if (!key || !json_equal(json_get(before, f->list_key), key))
                continue;
            problem_duplicate(err, PATH_MEMBER(PATH_INDEX(at, i), f->list_key), key);
            break;
        }
        i++;
    }
}

static void validate_value(const struct field *f, enum field_type type, const struct json *v,
                           const struct field_path *at, struct err *err);

static void validate_list(const struct field *f, const struct json *v, const struct field_path *at,
                          struct err *err)
{
    size_t limit = f->max_items ? f->max_items : f->list_key ? KEYED_LIST_LIMIT : SIZE_MAX, i = 0;

    if (json_len(v) == 0 && f->flags & FIELD_NON_EMPTY)
        problem_required(err, at, v->line, "must have at least one element");
    if (json_len(v) > limit) {
        problem_too_many(err, at, v, limit);
        return;
    }
    json_each (item, v)
        validate_value(f, f->item, item, PATH_INDEX(at, i++), err);
    if (f->list_key)
        validate_unique(f, v, at, err);
}

static void validate_map(const struct field *f, const struct json *v, const struct field_path *at,
                         struct err *err)
{
    if (json_len(v) == 0 && f->flags & FIELD_NON_EMPTY)
        problem_required(err, at, v->line, "must have at least one element");
    if (f->flags & FIELD_LABELS)
        metadata_validate_labels(v, at, err);
    if (f->item == FIELD_STRING && !f->values)
        return; /* a map of plain strings has nothing to check */
    json_each (item, v)
        validate_value(f, f->item, item, PATH_KEY(at, item->key), err);
}

static void validate_value(const struct field *f, enum field_type type, const struct json *v,
                           const struct field_path *at, struct err *err)
{
    switch (type) {
    case FIELD_STRING:
        validate_string(f, v, at, err);
        return;
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_INT_OR_STRING:
        validate_number(f, v, at, err);
        return;
    case FIELD_LIST:
        validate_list(f, v, at, err);
        return;
    case FIELD_MAP:
        validate_map(f, v, at, err);
        return;
    case FIELD_OBJECT:
        if (f->fields)
            validate_object(f->fields, NULL, v, at, err);
        return;
    case FIELD_BOOL:
    case FIELD_QUANTITY:
    case FIELD_TIME:
    case FIELD_BYTES:
    case FIELD_ANY:
        return;
    }
    unreachable();
}

static void validate_object(const struct field *fields, const struct field *more,
                            const struct json *object, const struct field_path *at, struct err *err)
{
    json_each (m, object) {
        const struct field *f = field_find(fields, m->key, m->key_len);

        if (!f)
            f = field_find(more, m->key, m->key_len);
        if (f)
            validate_value(f, f->type, m, PATH_MEMBER(at, f->name), err);
    }
    for (const struct field *f = fields; f && f->name; f++)
        if (f->flags & FIELD_REQUIRED && json_is_null(json_get(object, f->name)))
            problem_required(err, PATH_MEMBER(at, f->name), object->line, NULL);
}

void object_validate_part(const struct field *fields, const struct json *part,
                          const struct field_path *at, struct err *err)
{
    validate_object(fields, NULL, part, at, err);
}

/* --- names ---------------------------------------------------------------------------------- */

/* Names and keys are repeated in messages, which must not move a terminal's cursor. */
static bool is_name(const char *field)
{
    static const char *const ends[] = {"name", "Name", "key", "Key", "image", "queue"};
    size_t len = strlen(field);

    for (size_t i = 0; i < ELEMS(ends); i++)
        if (len >= strlen(ends[i]) && strcmp(field + len - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static void check_map_keys(const struct field *f, const struct json *map,
                           const struct field_path *at, struct err *err)
{
    json_each (m, map) {
        const struct json quoted = {
            .type = JSON_STRING, .u.text = m->key, .len = m->key_len, .line = m->line};
        const char *problem = NULL;

        if (strlen(m->key) != m->key_len || utf8_has_controls(m->key, m->key_len))
            problem = NO_CONTROLS;
        else if (f->item == FIELD_QUANTITY) /* the name of a resource */
            problem = label_key_problem(m->key);
        if (problem)
            problem_invalid(err, at, &quoted, "%s", problem);
    }
}

static void check_names(const struct field *fields, const struct json *object,
                        const struct field_path *at, struct err *err)
{
    size_t i = 0;

    json_each (m, object) {
        const struct field *f = field_find(fields, m->key, m->key_len);
        const struct field_path *here = PATH_MEMBER(at, m->key);

        if (!f || f->flags & FIELD_READ_ONLY)
            continue;
        if (f->type == FIELD_STRING && is_name(f->name) && json_is(m, JSON_STRING) &&
            utf8_has_controls(m->u.text, m->len))
            problem_invalid(err, here, m, NO_CONTROLS);
        else if (f->type == FIELD_MAP && !(f->flags & FIELD_LABELS))
            check_map_keys(f, m, here, err);
        else if (f->type == FIELD_OBJECT && f->fields)
            check_names(f->fields, m, here, err);
        else if (f->type == FIELD_LIST && f->item == FIELD_OBJECT && f->fields) {
            i = 0;
            json_each (item, m)
                check_names(f->fields, item, PATH_INDEX(here, i++), err);
        }
    }
}

/* --- immutability --------------------------------------------------------------------------- */

static bool is_same(const struct field *f, enum field_type type, const struct json *a,
                    const struct json *b);

/* 1Gi equals 1073741824, quoted or not. */
static bool is_same_member(const struct field *f, const struct json *m, const struct json *other)
{
    const struct field *below = f->type == FIELD_MAP || !f->fields
                                    ? NULL
                                    : field_find(f->fields, m->key, m->key_len);

    if (f->type == FIELD_MAP)
        return is_same(f, f->item, m, other);
    return below ? is_same(below, below->type, m, other) : json_equal(m, other);
}

static bool is_same(const struct field *f, enum field_type type, const struct json *a,
                    const struct json *b)
{
    const struct json *other = json_first(b);

    if (json_equal(a, b))
        return true;
    if (!a || !b)
        return false;
    if (type == FIELD_QUANTITY)
        return quantity_json_milli(a, 0) == quantity_json_milli(b, 0);
    if (json_type_of(a) != json_type_of(b) || json_len(a) != json_len(b) || !json_len(a))
        return false;
    json_each (m, a) {
        if (type == FIELD_LIST ? !is_same(f, f->item, m, other)
                               : !is_same_member(f, m, json_get(b, m->key)))
            return false;
        other = other->next;
    }
    return true;
}

static void check_immutable(const struct field *fields, const struct json *object,
                            const struct json *old, const struct field_path *at, struct err *err);

static const struct json *same_item(const struct field *f, const struct json *list,
                                    const struct json *item, size_t index)
{
    if (!f->list_key)
        return json_index(list, index);
    json_each (other, list)
        if (json_equal(json_get(other, f->list_key), json_get(item, f->list_key)))
            return other;
    return NULL;
}

static void check_immutable_items(const struct field *f, const struct json *list,
                                  const struct json *old, const struct field_path *at,
                                  struct err *err)
{
    size_t i = 0;

    json_each (item, list) {
        const struct json *before = same_item(f, old, item, i);

        if (before)
            check_immutable(f->fields, item, before, PATH_INDEX(at, i), err);
        i++;
    }
}

static void check_immutable(const struct field *fields, const struct json *object,
                            const struct json *old, const struct field_path *at, struct err *err)
{
    for (const struct field *f = fields; f->name; f++) {
        const struct json *now = json_get(object, f->name), *then = json_get(old, f->name);
        const struct field_path *here = PATH_MEMBER(at, f->name);

        if (!now && !then)
            continue;
        if (f->flags & FIELD_IMMUTABLE) {
            if (!is_same(f, f->type, now, then))
                problem_invalid(err, here, now, "%s",
                                f->immutable ? f->immutable : "field is immutable");
        } else if (f->type == FIELD_OBJECT && f->fields) {
            check_immutable(f->fields, now, then, here, err);
        } else if (f->type == FIELD_LIST && f->item == FIELD_OBJECT && f->fields &&
                   json_len(now) <= KEYED_LIST_LIMIT) {
            check_immutable_items(f, now, then, here, err);
        }
    }
}

/* In lists, an absent member equals its default, on either side. */
static void validate_change(const struct kind *k, const struct json *object, const struct json *old,
                            struct err *e)
{
    struct arena arena = ARENA_INIT(WHOLE_LIMIT_BYTES);

    if (old && k->custom && !k->schema &&
        !json_equal(json_get(object, "spec"), json_get(old, "spec"))) {
        object = object_whole(&arena, k, object);
        old = object_whole(&arena, k, old);
    }
    if (arena_failed(&arena))
        err_cause(e, "FieldValueInvalid", "spec", 0, "out of memory");
    else if (old && k->fields)
        check_immutable(k->fields, object, old, NULL, e);
    if (!arena_failed(&arena) && k->validate)
        k->validate(object, old, e);
    arena_release(&arena);
}

int object_validate(const struct kind *k, const struct json *object, const struct json *old,
                    struct err *err)
{
    auto_err own = ERR_INIT;
    struct err *e = err ? err : &own;

    validate_object(k->fields, object_common_fields, object, NULL, e);
    /* what an earlier version let in does not keep its status from being written */
    if (!old || !json_equal(json_get(object, "spec"), json_get(old, "spec")))
        check_names(k->fields, object, NULL, e);
    metadata_validate(k, object, old, e);
    if (k->schema)
        structural_validate(k->schema, object, old, e);
    validate_change(k, object, old, e);
    if (!e->causes)
        return 0;
    problem_summary(e, k, object);
    return err_errno(ERR_INVALID);
}
