/* field_selector.c - path=value, path==value, path!=value over the paths a kind supports. */
#include <stdio.h>
#include <string.h>

#include "api/selector.h"

#define TERMS_LIMIT 64u

struct term {
    struct term *next;
    const char *path, *value;
    bool differs;
};

struct field_selector {
    struct term *first, *last;
    unsigned count;
};

static bool is_offered(const struct kind *k, const char *path)
{
    if (strcmp(path, "metadata.name") == 0 ||
        (k->namespaced && strcmp(path, "metadata.namespace") == 0))
        return true;
    for (const char *const *p = k->field_selectors; p && *p; p++)
        if (strcmp(*p, path) == 0)
            return true;
    return false;
}

/* One "path=value"; a backslash escapes ',', '=' and itself. */
static int parse_term(struct arena *a, const char **at, struct term *t, struct err *err)
{
    char *text = arena_strdup(a, *at), *to = text, *value = NULL;
    const char *p = *at;

    if (!text)
        return err_set(err, ERR_TOO_LARGE, "the field selector is too large");
    for (; *p && *p != ','; p++) {
        if (!value && (*p == '=' || (*p == '!' && p[1] == '='))) {
            t->differs = *p == '!';
            p += *p == '!' || p[1] == '=';
            *to++ = '\0';
            value = to;
            continue;
        }
        if (*p == '\\' && p[1])
            p++;
        *to++ = *p;
    }
    *to = '\0';
    if (!value)
        return err_set(err, ERR_BAD_REQUEST,
                       "invalid field selector \"%.200s\": path=value or path!=value is expected",
                       *at);
    t->path = text;
    t->value = value;
    *at = *p ? p + 1 : p;
    return 0;
}

static int add_term(struct arena *a, const struct kind *k, const char **at,
                    struct field_selector *s, struct err *err)
{
    struct term *t = arena_alloc(a, sizeof(*t));
    int rc;

    if (!t)
        return err_set(err, ERR_TOO_LARGE, "the field selector is too large");
    rc = parse_term(a, at, t, err);
    if (rc < 0)
        return rc;
    if (!is_offered(k, t->path))
        return err_set(err, ERR_BAD_REQUEST, "field label not supported: %.200s", t->path);
    if (++s->count > TERMS_LIMIT)
        return err_set(err, ERR_BAD_REQUEST, "a field selector may have at most %u terms",
                       TERMS_LIMIT);
    if (s->last)
        s->last->next = t;
    else
        s->first = t;
    s->last = t;
    return 0;
}

int field_selector_parse(struct arena *a, const struct kind *k, const char *text,
                         const struct field_selector **ret, struct err *err)
{
    struct field_selector *s = arena_alloc(a, sizeof(*s));

    if (!s)
        return err_set(err, ERR_TOO_LARGE, "the field selector is too large");
    *ret = s;
    while (text && *text) {
        int rc = add_term(a, k, &text, s, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static const struct json *at_path(const struct json *v, const char *path)
{
    while (v && *path) {
        size_t n = strcspn(path, ".");
        const struct json *found = NULL;

        json_each (m, json_is(v, JSON_OBJECT) ? v : NULL)
            if (m->key_len == n && memcmp(m->key, path, n) == 0)
                found = m;
        v = found;
        path += n + (path[n] == '.');
    }
    return v;
}

const char *field_selector_value(const struct json *object, const char *path,
                                 char digits[FIELD_DIGITS_SIZE])
{
    const struct json *v = at_path(object, path);

    if (json_is(v, JSON_INT)) {
        (void)snprintf(digits, FIELD_DIGITS_SIZE, "%lld", (long long)v->u.integer);
        return digits;
    }
    if (json_is(v, JSON_BOOL))
        return v->u.boolean ? "true" : "false";
    if (json_is(v, JSON_OBJECT)) /* an Event's source: compare its component */
        return json_get_string(v, "component", "");
    return json_string(v, "");
}

static bool holds(const struct term *t, const char *text)
{
    return (strcmp(text, t->value) == 0) != t->differs;
}

bool field_selector_matches_by(const struct field_selector *s, selector_find_fn *find,
                               const void *arg)
{
    if (s)
        for (const struct term *t = s->first; t; t = t->next)
            if (!holds(t, find(arg, t->path)))
                return false;
    return true;
}

bool field_selector_matches(const struct field_selector *s, const struct json *object)
{
    char digits[FIELD_DIGITS_SIZE];

    if (s)
        for (const struct term *t = s->first; t; t = t->next)
            if (!holds(t, field_selector_value(object, t->path, digits)))
                return false;
    return true;
}

const char *field_selector_name(const struct field_selector *s)
{
    if (s)
        for (const struct term *t = s->first; t; t = t->next)
            if (!t->differs && strcmp(t->path, "metadata.name") == 0)
                return t->value;
    return NULL;
}
