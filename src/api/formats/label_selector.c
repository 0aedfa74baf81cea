/* label_selector.c - a=b, a==b, a!=b, a in (x,y), a notin (x), a, !a, a>1, a<1; all must hold. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/selector.h"

#define REQUIREMENTS_LIMIT 256u
#define VALUES_LIMIT 1024u

enum op { OP_EXISTS, OP_ABSENT, OP_IN, OP_NOT_IN, OP_GREATER, OP_LESS };

struct value {
    const struct value *next;
    const char *text;
};

struct requirement {
    struct requirement *next;
    const char *key;
    enum op op;
    const struct value *values;
};

struct label_selector {
    struct requirement *first, *last;
    unsigned count, values;
};

struct scanner {
    struct arena *arena;
    const char *text, *p;
    struct label_selector *selector;
    struct err *err;
};

static int fail(struct scanner *s, const char *what)
{
    return err_set(s->err, ERR_BAD_REQUEST,
                   "unable to parse label selector \"%.200s\": %s at position %zu", s->text, what,
                   (size_t)(s->p - s->text) + 1);
}

static void skip_space(struct scanner *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

/* A key, a value or a word: everything up to the next special character. */
static const char *word(struct scanner *s)
{
    size_t n;
    const char *start;

    skip_space(s);
    start = s->p;
    n = strcspn(start, " \t\r\n,()=!<>");
    s->p += n;
    return arena_strndup(s->arena, start, n);
}

static bool accept(struct scanner *s, const char *token)
{
    size_t n = strlen(token);

    skip_space(s);
    if (strncmp(s->p, token, n) != 0)
        return false;
    s->p += n;
    return true;
}

static int add_value(struct scanner *s, struct requirement *r)
{
    const char *text = word(s), *problem = text ? label_value_problem(text) : NULL;
    struct value *v = arena_alloc(s->arena, sizeof(*v));

    if (!v || !text)
        return err_set(s->err, ERR_TOO_LARGE, "the label selector is too large");
    if (problem)
        return fail(s, problem);
    if (++s->selector->values > VALUES_LIMIT)
        return fail(s, "too many values");
    v->text = text;
    v->next = r->values;
    r->values = v;
    return 0;
}

static int parse_set(struct scanner *s, struct requirement *r)
{
    int rc;

    if (!accept(s, "("))
        return fail(s, "'(' is expected");
    do {
        rc = add_value(s, r);
        if (rc < 0)
            return rc;
    } while (accept(s, ","));
    return accept(s, ")") ? 0 : fail(s, "',' or ')' is expected");
}

static int parse_number(struct scanner *s, struct requirement *r)
{
    int rc = add_value(s, r);
    char *end;

    if (rc < 0)
        return rc;
    (void)strtoll(r->values->text, &end, 10);
    return *r->values->text && !*end ? 0 : fail(s, "an integer is expected");
}

static int parse_operator(struct scanner *s, struct requirement *r)
{
    static const struct {
        const char *token;
        enum op op;
    } operators[] = {{"!=", OP_NOT_IN}, {"==", OP_IN}, {"=", OP_IN}};
    const char *name;

    skip_space(s);
    if (!*s->p || *s->p == ',')
        return 0; /* the key alone: "exists" */
    for (size_t i = 0; i < ELEMS(operators); i++) {
        if (!accept(s, operators[i].token))
            continue;
        r->op = operators[i].op;
        return add_value(s, r);
    }
    if (accept(s, ">") || accept(s, "<")) {
        r->op = s->p[-1] == '>' ? OP_GREATER : OP_LESS;
        return parse_number(s, r);
    }
    name = word(s);
    if (!name || (strcmp(name, "in") != 0 && strcmp(name, "notin") != 0))
        return fail(s, "an operator (=, ==, !=, in, notin) is expected");
    r->op = strcmp(name, "in") == 0 ? OP_IN : OP_NOT_IN;
    return parse_set(s, r);
}

static int parse_requirement(struct scanner *s)
{
    struct requirement *r = arena_alloc(s->arena, sizeof(*r));
    bool absent = accept(s, "!");
    const char *problem;
    int rc = 0;

    if (!r)
        return err_set(s->err, ERR_TOO_LARGE, "the label selector is too large");
    r->op = absent ? OP_ABSENT : OP_EXISTS;
    r->key = word(s);
    problem = r->key ? label_key_problem(r->key) : "out of memory";
    if (problem)
        return fail(s, problem);
    if (!absent)
        rc = parse_operator(s, r);
    if (rc < 0)
        return rc;
    if (++s->selector->count > REQUIREMENTS_LIMIT)
        return fail(s, "too many requirements");
    if (s->selector->last)
        s->selector->last->next = r;
    else
        s->selector->first = r;
    s->selector->last = r;
    return 0;
}

int label_selector_parse(struct arena *a, const char *text, const struct label_selector **ret,
                         struct err *err)
{
    struct label_selector *selector = arena_alloc(a, sizeof(*selector));
    struct scanner s = {.arena = a, .text = text, .p = text, .selector = selector, .err = err};
    int rc;

    if (!selector)
        return err_set(err, ERR_TOO_LARGE, "the label selector is too large");
    *ret = selector;
    if (!text)
        return 0;
    skip_space(&s);
    if (!*s.p)
        return 0;
    do {
        rc = parse_requirement(&s);
        if (rc < 0)
            return rc;
    } while (accept(&s, ","));
    skip_space(&s);
    return *s.p ? fail(&s, "',' is expected") : 0;
}

static bool has_value(const struct requirement *r, const char *text)
{
    for (const struct value *v = r->values; v; v = v->next)
        if (strcmp(v->text, text) == 0)
            return true;
    return false;
}

static bool compares(const struct requirement *r, const char *text)
{
    char *end;
    long long label = strtoll(text, &end, 10), wanted = strtoll(r->values->text, NULL, 10);

    if (!*text || *end)
        return false;
    return r->op == OP_GREATER ? label > wanted : label < wanted;
}

static bool holds(const struct requirement *r, const char *text)
{
    switch (r->op) {
    case OP_EXISTS:
        return text;
    case OP_ABSENT:
        return !text;
    case OP_IN:
        return text && has_value(r, text);
    case OP_NOT_IN:
        return !text || !has_value(r, text);
    case OP_GREATER:
    case OP_LESS:
        return text && compares(r, text);
    }
    unreachable();
}

bool label_selector_matches_by(const struct label_selector *s, selector_find_fn *find,
                               const void *arg)
{
    if (s)
        for (const struct requirement *r = s->first; r; r = r->next)
            if (!holds(r, find(arg, r->key)))
                return false;
    return true;
}

static const char *find_label(const void *arg, const char *name)
{
    return json_get_string(arg, name, NULL);
}

bool label_selector_matches(const struct label_selector *s, const struct json *labels)
{
    return label_selector_matches_by(s, find_label, labels);
}

static bool expression_holds(const struct json *e, const struct json *labels)
{
    const char *op = json_get_string(e, "operator", "");
    const char *text = json_get_string(labels, json_get_string(e, "key", ""), NULL);
    bool listed = false;

    json_each (v, json_get(e, "values"))
        listed = listed || (text && json_string_is(v, text));
    if (strcmp(op, "In") == 0)
        return listed;
    if (strcmp(op, "NotIn") == 0)
        return !listed;
    if (strcmp(op, "Exists") == 0)
        return text;
    return strcmp(op, "DoesNotExist") == 0 && !text;
}

static bool has_all(const struct json *wanted, const struct json *labels)
{
    json_each (m, wanted) {
        const char *text = json_get_string(labels, m->key, NULL);

        if (!text || !json_string_is(m, text))
            return false;
    }
    return true;
}

bool label_map_matches(const struct json *wanted, const struct json *labels)
{
    const struct json *map = json_get(wanted, "matchLabels");
    const struct json *expressions = json_get(wanted, "matchExpressions");

    if (!json_is(wanted, JSON_OBJECT))
        return false;
    if (!json_is(map, JSON_OBJECT) && !json_is(expressions, JSON_ARRAY))
        return has_all(wanted, labels);
    json_each (e, expressions)
        if (!expression_holds(e, labels))
            return false;
    return has_all(map, labels);
}
