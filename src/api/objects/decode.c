/*
 * decode.c - checks the structure against the kind's table: types, unknown members, old spellings.
 *
 * Changes the object in place into the form the rest of the program relies on: no null members, one
 * spelling, quantities as strings. Unknown members are dropped, as the real server does with
 * built-in and installed kinds. Jobs keep them, for a newer version of the program, and also keep
 * numeric quantities, as a real server does with custom resources: `kubectl apply` compares with
 * the file. Values are checked in validate.c and defaults filled in defaults.c; only for an object
 * that is refused are the values checked here too, so that one answer has all errors.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/problem.h"
#include "api/quantity.h"
#include "api/schema/structural.h"
#include "base/base64.h"
#include "base/timefmt.h"

#define UNKNOWN_TEXT_LIMIT 8192u
#define INT_IN_DOUBLE_LIMIT 9007199254740992.0

struct decoder {
    struct arena *arena;
    enum field_validation mode;
    bool custom; /* a custom kind with a table: unknown members and numeric quantities are kept */
    warning_fn *warn;
    void *warn_arg;
    struct err *err;
    struct buf unknown; /* strict: the complaints so far */
    unsigned problems;
    struct dropped *dropped;
};

/* A member dropped because of its type. */
struct dropped {
    const struct dropped *next;
    const char *path;
};

static void decode_object(struct decoder *d, const struct field *fields, const struct field *more,
                          unsigned flags, struct json *object, const struct field_path *at);

/* --- single values: false when the value is unusable ---------------------------------------- */

static bool wrong_type(struct decoder *d, const struct json *v, const struct field_path *at,
                       const char *wanted)
{
    d->problems++;
    problem_type(d->err, at, v, wanted);
    return false;
}

static bool decode_string(struct decoder *d, const char *const *allowed, const struct json *v,
                          const struct field_path *at)
{
    if (json_is(v, JSON_STRING))
        return true;
    if (!allowed)
        return wrong_type(d, v, at,
                          json_is(v, JSON_BOOL) ? "must be a string: put it in quotes (YAML reads "
                                                  "yes, no, on and off as true and false)"
                          : json_type_of(v) < JSON_STRING ? "must be a string: put it in quotes"
                                                          : "must be a string");
    d->problems++;
    problem_not_supported(d->err, at, v, allowed);
    return false;
}

static bool is_digits(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static bool decode_int(struct decoder *d, enum field_type type, const struct json *v,
                       const struct field_path *at)
{
    if (!json_is(v, JSON_INT))
        return wrong_type(d, v, at,
                          json_is(v, JSON_REAL)
                              ? "must be an integer, without a decimal point or exponent"
                          : !json_is(v, JSON_STRING) ? "must be an integer"
                          : is_digits(v->u.text)     ? "must be an integer, without quotes"
                                                     : "must be an integer, not a string");
    if (type == FIELD_INT32 && (v->u.integer < INT32_MIN || v->u.integer > INT32_MAX))
        return wrong_type(d, v, at, "must be an integer of 32 bits");
    return true;
}

/* 1e6 is 1000000, as in Go. */
static bool make_whole(struct json *v)
{
    double value = json_is(v, JSON_REAL) ? strtod(v->u.text, NULL) : 0.5;

    if (fabs(value) > INT_IN_DOUBLE_LIMIT || value != trunc(value))
        return false;
    v->type = JSON_INT;
    v->u.integer = (int64_t)value;
    return true;
}

static bool decode_quantity(struct decoder *d, struct json *v, const struct field_path *at)
{
    int64_t ignored;

    if (d->custom && (json_is(v, JSON_INT) || make_whole(v)))
        return true;
    if (json_is(v, JSON_INT)) {
        const char *text = arena_printf(d->arena, "%lld", (long long)v->u.integer);

        v->u.text = text ? text : "";
        v->len = (uint32_t)strlen(v->u.text);
        v->type = JSON_STRING;
    } else if (json_is(v, JSON_REAL) && !d->custom) {
        v->type = JSON_STRING; /* its text is already as written */
    }
    if (!json_is(v, JSON_STRING) && !json_is(v, JSON_REAL))
        return wrong_type(d, v, at, "must be a quantity like 500m, 2 or 4Gi");
    if (strlen(v->u.text) == v->len && quantity_milli(v->u.text, &ignored) == 0)
        return true;
    d->problems++;
    problem_invalid(d->err, at, v, "must be a quantity like 500m, 2 or 4Gi");
    return false;
}

static bool decode_time(struct decoder *d, const struct json *v, const struct field_path *at)
{
    int64_t ms;

    return (json_is(v, JSON_STRING) && time_parse(v->u.text, &ms) >= 0) ||
           wrong_type(d, v, at, "must be a time like 2026-01-31T15:04:05Z");
}

static bool decode_bytes(struct decoder *d, const struct json *v, const struct field_path *at)
{
    return (json_is(v, JSON_STRING) && base64_decoded_len(v->u.text, v->len) >= 0) ||
           wrong_type(d, v, at, "must be base64");
}

/* --- lists, maps, objects ------------------------------------------------------------------- */

static bool decode_value(struct decoder *d, const struct field *f, enum field_type type,
                         struct json *v, const struct field_path *at);
static void warn_of_ignored(struct decoder *d, const struct field *f, const struct json *v,
                            const struct field_path *at);

static void note_dropped(struct decoder *d, const struct field_path *at)
{
    struct buf path = BUF_INIT(PATH_TEXT_LIMIT);
    struct dropped *one = arena_alloc(d->arena, sizeof(*one));

    field_path_write(&path, at);
    if (one && path.data) {
        *one = (struct dropped){.next = d->dropped,
                                .path = arena_strndup(d->arena, path.data, path.len)};
        if (one->path)
            d->dropped = one;
    }
    buf_release(&path);
}

static void drop(struct decoder *d, struct json *parent, struct json *m,
                 const struct field_path *at)
{
    json_remove_item(parent, m);
    note_dropped(d, at);
}

/* One bad item makes the list unusable: dropping it would renumber the others. */
static bool decode_list(struct decoder *d, const struct field *f, struct json *v,
                        const struct field_path *at)
{
    bool good = true;
    size_t i = 0;

    if (!json_is(v, JSON_ARRAY))
        return wrong_type(d, v, at,
                          f->item == FIELD_OBJECT ? "must be a list: each item begins with \"- \""
                                                  : "must be a list, like [a, b]");
    for (struct json *item = json_first_mut(v); item; item = item->next, i++)
        good = decode_value(d, f, f->item, item, PATH_INDEX(at, i)) && good;
    return good;
}

static bool decode_map(struct decoder *d, const struct field *f, struct json *v,
                       const struct field_path *at)
{
    struct json *next, *m = json_first_mut(v);

    if (!json_is(v, JSON_OBJECT))
        return wrong_type(d, v, at, "must be a map");
    v->u.list.first = v->u.list.last = NULL; /* those that stay are appended again */
    v->len = 0;
    for (; m; m = next) {
        const struct field_path *here = PATH_KEY(at, m->key);

        next = m->next;
        if (json_is(m, JSON_NULL) && f->item != FIELD_ANY)
            continue;
        if (!decode_value(d, f, f->item, m, here)) {
            note_dropped(d, here);
            continue;
        }
        json_append(v, m);
        if (f->item != FIELD_OBJECT && field_find(f->fields, m->key, m->key_len))
            warn_of_ignored(d, field_find(f->fields, m->key, m->key_len), m, here);
    }
    return true;
}

static bool decode_value(struct decoder *d, const struct field *f, enum field_type type,
                         struct json *v, const struct field_path *at)
{
    switch (type) {
    case FIELD_STRING:
        return decode_string(d, f->values, v, at);
    case FIELD_INT32:
    case FIELD_INT64:
        return decode_int(d, type, v, at);
    case FIELD_BOOL:
        return json_is(v, JSON_BOOL) ||
               wrong_type(d, v, at,
                          json_is(v, JSON_STRING) ? "must be true or false, without quotes"
                                                  : "must be true or false");
    case FIELD_QUANTITY:
        return decode_quantity(d, v, at);
    case FIELD_TIME:
        return decode_time(d, v, at);
    case FIELD_INT_OR_STRING:
        return json_is(v, JSON_INT) || json_is(v, JSON_STRING) ||
               wrong_type(d, v, at, "must be an integer or a string");
    case FIELD_BYTES:
        return decode_bytes(d, v, at);
    case FIELD_LIST:
        return decode_list(d, f, v, at);
    case FIELD_MAP:
        return decode_map(d, f, v, at);
    case FIELD_OBJECT:
        if (!json_is(v, JSON_OBJECT))
            return wrong_type(d, v, at, "must be an object");
        decode_object(d, f->fields, NULL, f->flags, v, at);
        return true;
    case FIELD_ANY:
        return true;
    }
    unreachable();
}

static void unknown_member(struct decoder *d, const struct field_path *at)
{
    struct buf text = BUF_INIT(PATH_TEXT_LIMIT * 2);

    if (d->mode == FIELD_VALIDATION_IGNORE)
        return;
    buf_adds(&text, "unknown field \"");
    field_path_write(&text, at);
    buf_adds(&text, "\"");
    if (text.failed) {
        buf_release(&text);
        return;
    }
    if (d->mode == FIELD_VALIDATION_WARN) {
        if (d->warn)
            d->warn(d->warn_arg, text.data);
    } else if (d->unknown.len + text.len + 2 < UNKNOWN_TEXT_LIMIT) {
        buf_addf(&d->unknown, "%s%s", d->unknown.len ? ", " : "", text.data);
    }
    buf_release(&text);
}

static bool is_text(const struct json *v, const char *text)
{
    if (json_is(v, JSON_BOOL))
        return strcmp(text, json_bool(v, false) ? "true" : "false") == 0;
    return json_is(v, JSON_STRING) && json_string_is(v, text);
}

/* One of several, separated by |. */
static bool is_natural(const struct json *v, const char *values)
{
    const char *at = values, *text = json_string(v, "");
    size_t n;

    if (json_is(v, JSON_BOOL))
        return is_text(v, values);
    if (!*text)
        return true;
    for (; *at; at += n + (at[n] == '|')) {
        n = strcspn(at, "|");
        if (strlen(text) == n && memcmp(at, text, n) == 0)
            return true;
    }
    return false;
}

/* The default is JSON text in the table, so strings have quotes. */
static bool is_default(const struct field *f, const struct json *v)
{
    return f->default_json && strlen(f->default_json) == v->len + 2 &&
           memcmp(f->default_json + 1, v->u.text, v->len) == 0;
}

/* Whether the value asks for something that is not done. */
static bool asks_for_something(const struct field *f, const struct json *v)
{
    if (json_is(v, JSON_BOOL) && f->default_json && is_text(v, f->default_json))
        return false; /* an object that is written back has its defaults filled in */
    if (f->natural)
        return !is_natural(v, f->natural);
    if (json_is(v, JSON_STRING))
        return v->len > 0 && !is_default(f, v);
    if (json_is(v, JSON_BOOL))
        return json_bool(v, false);
    return json_type_of(v) >= JSON_ARRAY ? json_len(v) > 0 : json_int(v, 1) != 0;
}

/* Ignored values always cause a warning, whatever fieldValidation says. */
static void warn_of_ignored(struct decoder *d, const struct field *f, const struct json *v,
                            const struct field_path *at)
{
    struct buf text = BUF_INIT(PATH_TEXT_LIMIT * 2);

    if ((!f->ignored && !f->partly) || !d->warn || !asks_for_something(f, v))
        return;
    field_path_write(&text, at);
    buf_addf(&text, f->ignored ? " has no effect here: %s" : " %s",
             f->ignored ? f->ignored : f->partly);
    if (!text.failed)
        d->warn(d->warn_arg, text.data);
    buf_release(&text);
}

/* Replaces an older spelling by the current one; both with different values is an error. Returns
 * whether m must be dropped. */
static bool rename_alias(struct decoder *d, const struct field *f, const struct json *object,
                         struct json *m, const struct field_path *parent)
{
    const struct json *written = json_get(object, f->name);

    if (json_is_null(written) && !json_is(m, JSON_NULL)) {
        m->key = f->name;
        m->key_len = (uint32_t)strlen(f->name);
        return false;
    }
    if (!json_is(m, JSON_NULL) && !json_equal(m, written)) {
        d->problems++;
        problem_invalid(d->err, PATH_MEMBER(parent, f->alias), m,
                        "differs from %s, of which it is the older spelling: set only one of them",
                        f->name);
    }
    return true;
}

static void decode_object(struct decoder *d, const struct field *fields, const struct field *more,
                          unsigned flags, struct json *object, const struct field_path *at)
{
    struct json *next;

    for (struct json *m = json_first_mut(object); m; m = next) {
        const struct field *f = field_find(fields, m->key, m->key_len);

        next = m->next;
        if (!f)
            f = field_find(more, m->key, m->key_len);
        if (!f) {
            f = field_find_alias(fields, m->key, m->key_len);
            if (f && rename_alias(d, f, object, m, at)) {
                json_remove_item(object, m);
                continue;
            }
        }
        if (!f) {
            if (flags & FIELD_KEEP_UNKNOWN)
                continue;
            unknown_member(d, PATH_MEMBER(at, m->key));
            if (!d->custom)
                json_remove_item(object, m);
            continue;
        }
        if (json_is(m, JSON_NULL) && f->type != FIELD_ANY)
            json_remove_item(object, m);
        else if (!decode_value(d, f, f->type, m, PATH_MEMBER(at, f->name)))
            drop(d, object, m, PATH_MEMBER(at, f->name));
        else
            warn_of_ignored(d, f, m, PATH_MEMBER(at, f->name));
    }
}

/* --- the whole object ----------------------------------------------------------------------- */

/* apiVersion and kind may be missing (the URL implies them) but must not differ. */
static void decode_type(struct decoder *d, const struct kind *k, struct json *object)
{
    const char *api_version = kind_api_version(d->arena, k);
    const struct {
        const char *key, *value;
    } wanted[] = {{"apiVersion", api_version ? api_version : ""}, {"kind", k->name}};

    for (size_t i = 0; i < ELEMS(wanted); i++) {
        const struct json *v = json_get(object, wanted[i].key);

        if (json_is_null(v) || (json_is(v, JSON_STRING) && v->len == 0)) {
            json_set_string(d->arena, object, wanted[i].key, wanted[i].value);
        } else if (json_is(v, JSON_STRING) && !json_string_is(v, wanted[i].value)) {
            d->problems++;
            problem_invalid(d->err, PATH_MEMBER(NULL, wanted[i].key), v, "must be %s",
                            wanted[i].value);
        }
    }
}

static void unify(struct decoder *d, const struct kind *k, struct json *object)
{
    auto_err own = ERR_INIT;
    struct err *e = d->err ? d->err : &own;

    if (d->problems || !k->unify)
        return;
    k->unify(d->arena, object, d->warn, d->warn_arg, e);
    d->problems += e->causes != NULL;
}

static void unknown_of_schema(void *arg, const struct field_path *at)
{
    unknown_member(arg, at);
}

/* An installed kind: metadata by our table, everything else by its schema. */
static void decode_by_schema(struct decoder *d, const struct kind *k, struct json *object)
{
    struct json *next;

    for (struct json *m = json_first_mut(object); m; m = next) {
        const struct field *f = field_find(object_common_fields, m->key, m->key_len);

        next = m->next;
        if (f && !json_is(m, JSON_NULL) &&
            !decode_value(d, f, f->type, m, PATH_MEMBER(NULL, f->name)))
            drop(d, object, m, PATH_MEMBER(NULL, f->name));
    }
    structural_prune(k->schema, object, unknown_of_schema, d);
}

static bool is_within(const char *path, const char *whole)
{
    size_t len = strlen(whole);

    return strncmp(path, whole, len) == 0 && (!path[len] || path[len] == '.' || path[len] == '[');
}

/* A missing member is no additional problem when it was dropped for another. */
static bool is_said(const struct decoder *d, const char *field)
{
    for (const struct dropped *one = d->dropped; one; one = one->next)
        if (is_within(field, one->path) || is_within(one->path, field))
            return true;
    return false;
}

/* Also checks the values that are usable, so that one answer has all problems. Missing members are
 * ignored, because server-side apply sends partial objects. */
static void add_value_problems(struct decoder *d, const struct kind *k, const struct json *object)
{
    auto_err values = ERR_INIT;
    struct json *rest = json_clone(d->arena, object);

    if (!rest || !d->err || arena_failed(d->arena))
        return;
    object_set_defaults(d->arena, k, rest);
    if (object_validate(k, rest, NULL, &values) == 0)
        return;
    for (const struct err_cause *c = values.causes; c; c = c->next)
        if (strcmp(c->type, "FieldValueRequired") != 0 && !is_said(d, c->field))
            err_cause(d->err, c->type, c->field, c->line, "%s", c->text);
}

static int decode_result(struct decoder *d, const struct kind *k, const struct json *object)
{
    int rc = 0;

    if (d->problems) {
        if (d->dropped)
            add_value_problems(d, k, object);
        problem_summary(d->err, k, object);
        rc = err_errno(ERR_INVALID);
    } else if (d->unknown.len) {
        rc = err_set(d->err, ERR_BAD_REQUEST,
                     "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                     k->name, k->version, k->name, d->unknown.data);
    } else if (arena_failed(d->arena)) {
        rc = err_set(d->err, ERR_TOO_LARGE, "the object is too large");
    }
    buf_release(&d->unknown);
    return rc;
}

int object_decode(struct arena *a, const struct kind *k, struct json *object,
                  enum field_validation mode, warning_fn *warn, void *arg, struct err *err)
{
    struct decoder d = {.arena = a,
                        .mode = mode,
                        .custom = k->custom && !k->schema,
                        .warn = warn,
                        .warn_arg = arg,
                        .err = err,
                        .unknown = BUF_INIT(UNKNOWN_TEXT_LIMIT)};

    if (!json_is(object, JSON_OBJECT))
        return err_set(err, ERR_BAD_REQUEST, "a %s object is expected here", k->name);
    decode_type(&d, k, object);
    if (k->schema)
        decode_by_schema(&d, k, object);
    else
        decode_object(&d, k->fields, object_common_fields, 0, object, NULL);
    unify(&d, k, object);
    return decode_result(&d, k, object);
}

/* --- renaming older spellings --------------------------------------------------------------- */

static void rename_in(const struct field *fields, struct json *object);

static void rename_below(const struct field *f, struct json *v)
{
    if (!f->fields)
        return;
    if (f->type == FIELD_OBJECT)
        rename_in(f->fields, v);
    else if ((f->type == FIELD_LIST || f->type == FIELD_MAP) && f->item == FIELD_OBJECT)
        for (struct json *item = json_first_mut(v); item; item = item->next)
            rename_in(f->fields, item);
}

static void rename_in(const struct field *fields, struct json *object)
{
    if (!json_is(object, JSON_OBJECT))
        return;
    for (struct json *m = json_first_mut(object); m; m = m->next) {
        const struct field *f = field_find(fields, m->key, m->key_len);

        if (!f) {
            f = field_find_alias(fields, m->key, m->key_len);
            if (f && !json_get(object, f->name)) {
                m->key = f->name;
                m->key_len = (uint32_t)strlen(f->name);
            }
        }
        if (f)
            rename_below(f, m);
    }
}

void object_rename_aliases(const struct kind *k, struct json *object_or_patch)
{
    rename_in(k->fields, object_or_patch);
}
