/*
 * structural_validate.c - validates values against a structural schema. Reports every problem, in
 * the real server's wording; for anyOf, oneOf, allOf and not the problems of the branches are
 * discarded.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pattern.h"
#include "api/schema/structural.h"
#include "base/base64.h"
#include "base/timefmt.h"

static void check_value(const struct json *schema, const struct json *v,
                        const struct field_path *at, unsigned depth, struct err *err);

static double number_of(const struct json *v)
{
    if (json_is(v, JSON_INT))
        return (double)json_int(v, 0);
    return json_is(v, JSON_REAL) ? strtod(v->u.text, NULL) : 0;
}

static bool is_number(const struct json *v)
{
    return json_is(v, JSON_INT) || json_is(v, JSON_REAL);
}

/* `spec.size in body should be ...` */
static void should(struct err *err, const struct field_path *at, const struct json *v,
                   const char *what, const char *argument)
{
    struct buf path = BUF_INIT(PATH_TEXT_LIMIT * 2);

    if (at)
        field_path_write(&path, at);
    problem_invalid(err, at, v, "%s in body should %s%.400s", path.len ? path.data : "the object",
                    what, argument);
    buf_release(&path);
}

/* A number of the schema as written, for messages. */
static const char *written(const struct json *v, char out[32])
{
    if (json_is(v, JSON_REAL))
        return v->u.text;
    (void)snprintf(out, 32, "%lld", (long long)json_int(v, 0));
    return out;
}

/* --- types ---------------------------------------------------------------------------------- */

static bool has_type(const struct json *v, const char *type)
{
    static const struct {
        const char *name;
        enum json_type type;
    } types[] = {{"string", JSON_STRING},
                 {"boolean", JSON_BOOL},
                 {"array", JSON_ARRAY},
                 {"object", JSON_OBJECT},
                 {"integer", JSON_INT}};

    if (strcmp(type, "number") == 0)
        return is_number(v);
    if (strcmp(type, "integer") == 0 && json_is(v, JSON_REAL))
        return number_of(v) == (double)(long long)number_of(v);
    for (size_t i = 0; i < ELEMS(types); i++)
        if (strcmp(types[i].name, type) == 0)
            return json_is(v, types[i].type);
    return true;
}

/* False: no further check of the value makes sense. */
static bool check_type(const struct json *schema, const struct json *v, const struct field_path *at,
                       struct err *err)
{
    const char *type = json_get_string(schema, "type", "");
    struct buf text = BUF_INIT(PATH_TEXT_LIMIT * 2);

    if (json_is(v, JSON_NULL) && json_get_bool(schema, "nullable", false))
        return false;
    if (json_get_bool(schema, "x-kubernetes-int-or-string", false)) {
        if (json_is(v, JSON_INT) || json_is(v, JSON_STRING))
            return true;
        type = "integer,string";
    } else if (!*type || has_type(v, type)) {
        return true;
    }
    if (at)
        field_path_write(&text, at);
    buf_addf(&text, " in body must be of type %s", type);
    problem_type(err, at, v, text.failed ? type : text.data);
    buf_release(&text);
    return false;
}

/* --- numbers and strings -------------------------------------------------------------------- */

static void check_number(const struct json *schema, const struct json *v,
                         const struct field_path *at, struct err *err)
{
    const struct json *low = json_get(schema, "minimum"), *high = json_get(schema, "maximum");
    const struct json *step = json_get(schema, "multipleOf");
    bool above = json_get_bool(schema, "exclusiveMinimum", false);
    bool below = json_get_bool(schema, "exclusiveMaximum", false);
    double n = number_of(v), parts;
    char text[32];

    if (low && (above ? n <= number_of(low) : n < number_of(low)))
        should(err, at, v, above ? "be greater than " : "be greater than or equal to ",
               written(low, text));
    if (high && (below ? n >= number_of(high) : n > number_of(high)))
        should(err, at, v, below ? "be less than " : "be less than or equal to ",
               written(high, text));
    if (!step || number_of(step) <= 0)
        return;
    parts = n / number_of(step);
    if (parts != floor(parts))
        should(err, at, v, "be a multiple of ", written(step, text));
}

static size_t count_characters(const struct json *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->len; i++)
        n += ((unsigned char)v->u.text[i] & 0xc0) != 0x80;
    return n;
}

static bool matches(const char *pattern, const struct json *v)
{
    struct pattern *p = pattern_new(pattern);
    size_t start, end;
    bool ok = !p || pattern_find(p, v->u.text, v->len, 0, &start, &end) > 0;

    pattern_free(p);
    return ok;
}

static void check_format(const struct json *schema, const struct json *v,
                         const struct field_path *at, struct err *err)
{
    const char *format = json_get_string(schema, "format", "");
    int64_t ms;

    if (strcmp(format, "date-time") == 0 && time_parse(v->u.text, &ms) < 0)
        should(err, at, v, "be a date-time: ", "2026-01-31T15:04:05Z");
    else if (strcmp(format, "byte") == 0 && base64_decoded_len(v->u.text, v->len) < 0)
        should(err, at, v, "be base64", "");
}

static void check_string(const struct json *schema, const struct json *v,
                         const struct field_path *at, struct err *err)
{
    const struct json *least = json_get(schema, "minLength"), *most = json_get(schema, "maxLength");
    const char *pattern = json_get_string(schema, "pattern", "");
    int64_t n = (int64_t)count_characters(v);
    char text[64];

    if (least && n < json_int(least, 0)) {
        (void)snprintf(text, sizeof(text), "%lld chars long", (long long)json_int(least, 0));
        should(err, at, v, "be at least ", text);
    }
    if (most && n > json_int(most, INT64_MAX)) {
        (void)snprintf(text, sizeof(text), "%lld chars long", (long long)json_int(most, 0));
        should(err, at, v, "be at most ", text);
    }
    if (*pattern && !matches(pattern, v))
        should(err, at, v, "match ", pattern);
    check_format(schema, v, at, err);
}

static void check_enum(const struct json *schema, const struct json *v, const struct field_path *at,
                       struct err *err)
{
    const struct json *allowed = json_get(schema, "enum");
    const char *names[65];
    size_t n = 0;

    if (!allowed)
        return;
    json_each (a, allowed) {
        if (json_equal(a, v))
            return;
        if (n < ELEMS(names) - 1 && json_is(a, JSON_STRING))
            names[n++] = a->u.text;
    }
    names[n] = NULL;
    problem_not_supported(err, at, v, names);
}

/* --- lists and objects ---------------------------------------------------------------------- */

static bool same_keys(const struct json *keys, const struct json *a, const struct json *b)
{
    if (!keys)
        return json_equal(a, b);
    json_each (k, keys)
        if (!json_equal(json_get(a, json_string(k, "")), json_get(b, json_string(k, ""))))
            return false;
    return true;
}

static void check_unique(const struct json *schema, const struct json *list,
                         const struct field_path *at, struct err *err)
{
    const struct json *type = json_get(schema, "x-kubernetes-list-type");
    const struct json *keys = json_string_is(type, "map")
                                  ? json_get(schema, "x-kubernetes-list-map-keys")
                                  : NULL;
    size_t i = 0;

    if (!keys && !json_string_is(type, "set") && !json_get_bool(schema, "uniqueItems", false))
        return;
    if (json_len(list) > STRUCTURAL_UNIQUE_LIMIT) {
        problem_too_many(err, at, list, STRUCTURAL_UNIQUE_LIMIT);
        return;
    }
    json_each (item, list) {
        json_each (before, list) {
            if (before == item)
                break;
            if (same_keys(keys, before, item)) {
                problem_duplicate(err, PATH_INDEX(at, i), item);
                break;
            }
        }
        i++;
    }
}

static void check_list(const struct json *schema, const struct json *list,
                       const struct field_path *at, unsigned depth, struct err *err)
{
    const struct json *least = json_get(schema, "minItems"), *most = json_get(schema, "maxItems");
    size_t i = 0;
    char text[64];

    if (least && (int64_t)json_len(list) < json_int(least, 0)) {
        (void)snprintf(text, sizeof(text), "%lld items", (long long)json_int(least, 0));
        should(err, at, list, "have at least ", text);
    }
    if (most && (int64_t)json_len(list) > json_int(most, INT64_MAX))
        problem_too_many(err, at, list, (size_t)max_i64(json_int(most, 0), 0));
    json_each (item, list)
        if (json_get(schema, "items"))
            check_value(json_get(schema, "items"), item, PATH_INDEX(at, i++), depth + 1, err);
    check_unique(schema, list, at, err);
}

static void check_members(const struct json *schema, const struct json *object,
                          const struct field_path *at, unsigned depth, struct err *err)
{
    const struct json *properties = json_get(schema, "properties");
    const struct json *others = json_get(schema, "additionalProperties");

    json_each (m, object) {
        const struct json *known = json_get(properties, m->key);

        if (known)
            check_value(known, m, PATH_MEMBER(at, m->key), depth + 1, err);
        else if (json_is(others, JSON_OBJECT))
            check_value(others, m, PATH_KEY(at, m->key), depth + 1, err);
    }
    json_each (name, json_get(schema, "required"))
        if (!json_get(object, json_string(name, "")))
            problem_required(err, PATH_MEMBER(at, json_string(name, "")), object->line, NULL);
}

static void check_object(const struct json *schema, const struct json *object,
                         const struct field_path *at, unsigned depth, struct err *err)
{
    const struct json *least = json_get(schema, "minProperties");
    const struct json *most = json_get(schema, "maxProperties");
    char text[64];

    if (least && (int64_t)json_len(object) < json_int(least, 0)) {
        (void)snprintf(text, sizeof(text), "%lld properties", (long long)json_int(least, 0));
        should(err, at, object, "have at least ", text);
    }
    if (most && (int64_t)json_len(object) > json_int(most, INT64_MAX)) {
        (void)snprintf(text, sizeof(text), "%lld properties", (long long)json_int(most, 0));
        should(err, at, object, "have at most ", text);
    }
    check_members(schema, object, at, depth, err);
}

/* --- combinations --------------------------------------------------------------------------- */

static bool fits(const struct json *schema, const struct json *v, unsigned depth)
{
    auto_err problems = ERR_INIT;

    check_value(schema, v, NULL, depth + 1, &problems);
    return !problems.causes;
}

static size_t count_fits(const struct json *schemas, const struct json *v, unsigned depth)
{
    size_t n = 0;

    json_each (s, schemas)
        n += fits(s, v, depth);
    return n;
}

static void check_combinations(const struct json *schema, const struct json *v,
                               const struct field_path *at, unsigned depth, struct err *err)
{
    const struct json *any = json_get(schema, "anyOf"), *one = json_get(schema, "oneOf");

    json_each (s, json_get(schema, "allOf"))
        check_value(s, v, at, depth + 1, err);
    if (any && count_fits(any, v, depth) == 0)
        should(err, at, v, "fit at least one of the schemas in anyOf", "");
    if (one && count_fits(one, v, depth) != 1)
        should(err, at, v, "fit exactly one of the schemas in oneOf", "");
    if (json_get(schema, "not") && fits(json_get(schema, "not"), v, depth))
        should(err, at, v, "not fit the schema in not", "");
}

static void check_value(const struct json *schema, const struct json *v,
                        const struct field_path *at, unsigned depth, struct err *err)
{
    if (depth > 2 * STRUCTURAL_DEPTH_LIMIT || !check_type(schema, v, at, err))
        return;
    if (is_number(v))
        check_number(schema, v, at, err);
    else if (json_is(v, JSON_STRING))
        check_string(schema, v, at, err);
    else if (json_is(v, JSON_ARRAY))
        check_list(schema, v, at, depth, err);
    else if (json_is(v, JSON_OBJECT))
        check_object(schema, v, at, depth, err);
    check_enum(schema, v, at, err);
    check_combinations(schema, v, at, depth, err);
}

void structural_validate(const struct json *schema, const struct json *object,
                         const struct json *old, struct err *err)
{
    check_value(schema, object, NULL, 0, err);
    if (!err->causes)
        structural_test_rules(schema, object, old, err);
}
