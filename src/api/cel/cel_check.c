/*
 * cel_check.c - checks names, functions and, where a schema is known, members at compile time
 * rather than at the first run.
 */
#include <string.h>

#include "api/cel/cel_node.h"

/* The schema of an expression's value; NULL: unknown. */
struct known {
    const struct known *up;
    const char *name;
    const struct json *schema;
};

struct checker {
    const struct cel_variable *variables;
    struct err *err;
};

static int check(const struct checker *c, struct cel_node *n, const struct known *names,
                 const struct json **ret);

static bool is_open(const struct json *schema)
{
    return json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false) ||
           json_get_bool(schema, "x-kubernetes-int-or-string", false) ||
           json_bool(json_get(schema, "additionalProperties"), false);
}

static bool is_object(const struct json *schema)
{
    return json_string_is(json_get(schema, "type"), "object");
}

/* Members every object has, whether its schema lists them or not. */
static bool is_common(const char *name)
{
    return strcmp(name, "metadata") == 0 || strcmp(name, "kind") == 0 ||
           strcmp(name, "apiVersion") == 0 || strcmp(name, "name") == 0 ||
           strcmp(name, "generateName") == 0;
}

static int check_member(const struct checker *c, const struct cel_node *n,
                        const struct json *schema, const struct json **ret)
{
    const struct json *properties = json_get(schema, "properties");
    const struct json *others = json_get(schema, "additionalProperties");
    const struct json *found = cel_member(properties, n->text);

    *ret = found ? found : json_is(others, JSON_OBJECT) ? others : NULL;
    if (*ret || !schema || is_open(schema))
        return 0;
    if (!is_object(schema) && json_get(schema, "type"))
        return err_set(c->err, ERR_INVALID, "type '%s' does not support field selection",
                       json_get_string(schema, "type", ""));
    if (!properties || is_common(n->text))
        return 0;
    return err_set(c->err, ERR_INVALID, "undefined field '%s'", n->text);
}

static int check_ident(const struct checker *c, struct cel_node *n, const struct known *names,
                       const struct json **ret)
{
    for (; names; names = names->up)
        if (strcmp(names->name, n->text) == 0) {
            *ret = names->schema;
            return 0;
        }
    for (size_t i = 0; c->variables[i].name; i++)
        if (strcmp(c->variables[i].name, n->text) == 0) {
            n->variable = i;
            *ret = c->variables[i].optional ? NULL : c->variables[i].schema;
            return 0;
        }
    if (cel_is_type_name(n->text)) {
        n->op = CEL_LITERAL;
        n->value = (struct cel_value){.type = CEL_TYPE, .text = n->text, .len = strlen(n->text)};
        return 0;
    }
    return err_set(c->err, ERR_INVALID, "undeclared reference to '%s'", n->text);
}

/* "optional.of(x)": a function with a dot in its name. */
static bool join_name(const struct checker *c, struct cel_node *n)
{
    static const char *const joined[] = {
        "optional.of",     "optional.none",   "optional.ofNonZeroValue", "sets.contains",
        "sets.equivalent", "sets.intersects", "math.greatest",           "math.least"};
    const struct cel_node *target = n->method ? n->args[0] : NULL;

    if (!target || target->op != CEL_IDENT)
        return false;
    for (size_t i = 0; c->variables[i].name; i++)
        if (strcmp(c->variables[i].name, target->text) == 0)
            return false;
    for (size_t i = 0; i < ELEMS(joined); i++) {
        size_t len = strlen(target->text);

        if (strncmp(joined[i], target->text, len) != 0 || joined[i][len] != '.' ||
            strcmp(joined[i] + len + 1, n->text) != 0)
            continue;
        n->text = joined[i];
        n->method = false;
        n->args++;
        n->args_len--;
        return true;
    }
    return false;
}

static int check_all(const struct checker *c, struct cel_node *n, size_t from,
                     const struct known *names)
{
    const struct json *unused;
    int rc = 0;

    for (size_t i = from; i < n->args_len && rc == 0; i++)
        rc = check(c, n->args[i], names, &unused);
    return rc;
}

static int check_call(const struct checker *c, struct cel_node *n, const struct known *names)
{
    (void)join_name(c, n);
    if (!cel_find_function(n->text, n->method, SIZE_MAX))
        return err_set(c->err, ERR_INVALID, "undeclared reference to '%s'", n->text);
    if (!cel_find_function(n->text, n->method, n->args_len))
        return err_set(c->err, ERR_INVALID,
                       "found no matching overload for '%s' with %zu arguments", n->text,
                       n->args_len - n->method);
    return check_all(c, n, 0, names);
}

static int check_macro(const struct checker *c, struct cel_node *n, const struct known *names)
{
    const struct json *target, *element;
    struct known first = {.up = names, .name = n->names[0]};
    struct known second = {.up = &first, .name = n->names_len > 1 ? n->names[1] : ""};
    int rc = check(c, n->args[0], names, &target);

    if (rc < 0)
        return rc;
    element = json_get(target, "items");
    if (n->names_len > 1)
        second.schema = element ? element : json_get(target, "additionalProperties");
    else
        first.schema = element;
    return check_all(c, n, 1, n->names_len > 1 ? &second : &first);
}

static int check_index(const struct checker *c, struct cel_node *n, const struct known *names,
                       const struct json **ret)
{
    const struct json *target, *unused;
    int rc = check(c, n->args[0], names, &target);

    if (rc == 0)
        rc = check(c, n->args[1], names, &unused);
    *ret = json_get(target, "items");
    if (!*ret && json_is(json_get(target, "additionalProperties"), JSON_OBJECT))
        *ret = json_get(target, "additionalProperties");
    if (n->maybe)
        *ret = NULL;
    return rc;
}

static int check(const struct checker *c, struct cel_node *n, const struct known *names,
                 const struct json **ret)
{
    const struct json *target;
    int rc;

    *ret = NULL;
    switch ((int)n->op) {
    case CEL_IDENT:
        return check_ident(c, n, names, ret);
    case CEL_SELECT:
    case CEL_HAS:
        rc = check(c, n->args[0], names, &target);
        if (rc == 0)
            rc = check_member(c, n, target, ret);
        if (n->maybe || n->op == CEL_HAS)
            *ret = NULL;
        return rc;
    case CEL_INDEX:
        return check_index(c, n, names, ret);
    case CEL_CALL:
        return check_call(c, n, names);
    case CEL_MACRO:
        return check_macro(c, n, names);
    default:
        return check_all(c, n, 0, names);
    }
}

int cel_check(struct cel_node *root, const struct cel_variable *variables, struct err *err)
{
    const struct checker c = {.variables = variables, .err = err};
    const struct json *unused;

    return check(&c, root, NULL, &unused);
}

static bool uses(const struct cel_node *n, const struct cel *e, const char *variable)
{
    if (n->op == CEL_IDENT && n->variable != SIZE_MAX &&
        strcmp(e->variables[n->variable].name, variable) == 0)
        return true;
    for (size_t i = 0; i < n->args_len; i++)
        if (uses(n->args[i], e, variable))
            return true;
    return false;
}

bool cel_uses(const struct cel *e, const char *variable)
{
    return uses(e->root, e, variable);
}

struct cel *cel_read(struct arena *a, const char *text, const struct cel_variable *variables,
                     struct err *err)
{
    struct cel *e = arena_alloc(a, sizeof(*e));

    if (!e) {
        err_set(err, ERR_UNAVAILABLE, "out of memory");
        return NULL;
    }
    e->variables = variables;
    e->root = cel_parse(a, text, err);
    return e->root && cel_check(e->root, variables, err) == 0 ? e : NULL;
}
