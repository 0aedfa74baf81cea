/*
 * structural_rules.c - x-kubernetes-validations of structural schemas: compiled when the definition
 * is installed, evaluated at each write of an object. A rule that uses oldSelf is evaluated only if
 * there is an old value. Unchanged parts are not validated again.
 */
#include <string.h>

#include "api/cel.h"
#include "api/schema/structural.h"

#define RULES_MEMORY_BYTES (64u * 1024u * 1024u)
#define MESSAGE_LIMIT 2048u

static const char *const reasons[] = {"FieldValueInvalid", "FieldValueForbidden",
                                      "FieldValueRequired", "FieldValueDuplicate", NULL};

enum { SELF, OLD_SELF };

struct rule_variables {
    struct cel_variable of[3];
};

static struct rule_variables variables_of(const struct json *schema, const struct json *rule)
{
    return (struct rule_variables){
        .of = {[SELF] = {.name = "self", .schema = schema},
               [OLD_SELF] = {.name = "oldSelf",
                             .schema = schema,
                             .optional = json_get_bool(rule, "optionalOldSelf", false)}}};
}

/* --- the schema itself ---------------------------------------------------------------------- */

static struct cel *check_expression(struct arena *a, const struct cel_variable *variables,
                                    const struct json *text, const struct field_path *at,
                                    struct err *err)
{
    auto_err problem = ERR_INIT;
    struct cel *e = cel_read(a, json_string(text, ""), variables, &problem);

    if (!e)
        problem_invalid(err, at, text, "compilation failed: ERROR: %s", problem.text);
    return e;
}

/* Takes the next step of ".a['b']" from *at into name; false: malformed. */
static bool next_step(const char **at, char name[256])
{
    const char *from = *at;
    size_t len;

    if (*from == '.') {
        len = strcspn(++from, ".[");
        *at = from + len;
    } else if (strncmp(from, "['", 2) == 0) {
        from += 2;
        len = strcspn(from, "'");
        if (strncmp(from + len, "']", 2) != 0)
            return false;
        *at = from + len + 2;
    } else {
        return false;
    }
    if (!len || len > 255)
        return false;
    memcpy(name, from, len);
    name[len] = '\0';
    return true;
}

static bool leads_somewhere(const struct json *schema, const char *path)
{
    char name[256];

    while (*path) {
        if (!next_step(&path, name))
            return false;
        schema = json_get(json_get(schema, "properties"), name)
                     ? json_get(json_get(schema, "properties"), name)
                     : json_get(schema, "additionalProperties");
        if (!json_is(schema, JSON_OBJECT))
            return false;
    }
    return true;
}

static void check_rule(struct arena *a, const struct json *schema, const struct json *rule,
                       const struct field_path *at, bool correlatable, struct err *err)
{
    const struct json *text = json_get(rule, "rule"), *say = json_get(rule, "messageExpression");
    const struct json *path = json_get(rule, "fieldPath"), *reason = json_get(rule, "reason");
    struct rule_variables variables = variables_of(schema, rule);
    struct cel *e;
    bool known = !reason;

    if (!*json_string(text, "")) {
        problem_required(err, PATH_MEMBER(at, "rule"), rule->line, "rule is not specified");
        return;
    }
    e = check_expression(a, variables.of, text, PATH_MEMBER(at, "rule"), err);
    if (e && cel_uses(e, "oldSelf") && !correlatable)
        problem_invalid(err, PATH_MEMBER(at, "rule"), text,
                        "oldSelf cannot be used on the uncorrelatable portion of the schema");
    if (e && variables.of[OLD_SELF].optional && !cel_uses(e, "oldSelf"))
        problem_invalid(err, PATH_MEMBER(at, "optionalOldSelf"), json_get(rule, "optionalOldSelf"),
                        "may not be set if oldSelf is not used in rule");
    if (say)
        (void)check_expression(a, variables.of, say, PATH_MEMBER(at, "messageExpression"), err);
    for (size_t i = 0; reasons[i] && !known; i++)
        known = json_string_is(reason, reasons[i]);
    if (!known)
        problem_not_supported(err, PATH_MEMBER(at, "reason"), reason, reasons);
    if (path && !leads_somewhere(schema, json_string(path, "?")))
        problem_invalid(err, PATH_MEMBER(at, "fieldPath"), path,
                        "fieldPath must be a valid path: .name or ['name'] of the schema");
}

void structural_check_rules(const struct json *schema, const struct field_path *at,
                            bool correlatable, struct err *err)
{
    const struct field_path *list = PATH_MEMBER(at, "x-kubernetes-validations");
    struct arena a = ARENA_INIT(RULES_MEMORY_BYTES);
    size_t i = 0;

    json_each (rule, json_get(schema, "x-kubernetes-validations"))
        check_rule(&a, schema, rule, PATH_INDEX(list, i++), correlatable, err);
    arena_release(&a);
}

/* --- objects -------------------------------------------------------------------------------- */

struct tester {
    struct arena arena;
    int64_t cost_left;
    struct err *err;
};

static void report(struct tester *t, const struct json *rule, const struct json *schema,
                   const struct field_path *at, const char *path, const char *message)
{
    const char *reason = json_get_string(rule, "reason", "FieldValueInvalid");
    const struct json type = {.type = JSON_STRING,
                              .u.text = json_get_string(schema, "type", "object"),
                              .len = (uint32_t)strlen(json_get_string(schema, "type", "object"))};
    char name[256];

    if (*path && next_step(&path, name)) {
        report(t, rule, schema, PATH_MEMBER(at, name), path, message);
        return;
    }
    if (strcmp(reason, "FieldValueForbidden") == 0)
        problem_forbidden(t->err, at, 0, "%s", message);
    else if (strcmp(reason, "FieldValueRequired") == 0)
        problem_required(t->err, at, 0, message);
    else if (strcmp(reason, "FieldValueDuplicate") == 0)
        problem_duplicate(t->err, at, &type);
    else
        problem_invalid(t->err, at, &type, "%s", message);
}

static const char *message_of(struct tester *t, const struct json *rule,
                              const struct rule_variables *variables, struct cel_run *run)
{
    const char *text = json_get_string(rule, "message", "");
    const char *say = json_get_string(rule, "messageExpression", "");
    struct cel *e = *say ? cel_read(&t->arena, say, variables->of, NULL) : NULL;
    const struct json *said = e ? cel_value(e, run, NULL) : NULL;
    char *made;

    if (*json_string(said, "") && !strpbrk(said->u.text, "\r\n"))
        return said->u.text;
    if (*text)
        return text;
    made = arena_printf(&t->arena, "failed rule: %s", json_get_string(rule, "rule", ""));
    for (char *c = made; c && *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    return made ? made : "failed rule";
}

static void test_rule(struct tester *t, const struct json *rule, const struct json *schema,
                      const struct json *v, const struct json *old, const struct field_path *at)
{
    const struct rule_variables variables = variables_of(schema, rule);
    const struct json *values[] = {[SELF] = v, [OLD_SELF] = old};
    struct cel *e = cel_read(&t->arena, json_get_string(rule, "rule", ""), variables.of, NULL);
    struct cel_run run = {.arena = &t->arena, .values = values, .cost_left = t->cost_left};
    auto_err problem = ERR_INIT;
    bool change;
    int rc;

    if (!e) /* of a definition installed before rules were evaluated */
        return;
    change = cel_uses(e, "oldSelf");
    if ((change && !old && !variables.of[OLD_SELF].optional) ||
        (!change && old && json_equal(v, old)))
        return;
    rc = cel_test(e, &run, &problem);
    if (rc < 0)
        report(t, rule, schema, at, "",
               arena_failed(&t->arena)
                   ? "rule evaluation error: out of memory"
                   : arena_printf(&t->arena, "rule evaluation error: %s", problem.text));
    else if (rc == 0)
        report(t, rule, schema, at, json_get_string(rule, "fieldPath", ""),
               message_of(t, rule, &variables, &run));
    t->cost_left = max_i64(run.cost_left, 0);
}

static void test_value(struct tester *t, const struct json *schema, const struct json *v,
                       const struct json *old, const struct field_path *at, unsigned depth);

/* The element of the old list with the same keys. */
static const struct json *old_element(const struct json *schema, const struct json *old,
                                      const struct json *item)
{
    const struct json *keys = json_get(schema, "x-kubernetes-list-map-keys");

    if (!json_string_is(json_get(schema, "x-kubernetes-list-type"), "map"))
        return NULL;
    json_each (o, old) {
        bool same = true;

        json_each (key, keys)
            same = same && json_equal(json_get(o, json_string(key, "")),
                                      json_get(item, json_string(key, "")));
        if (same)
            return o;
    }
    return NULL;
}

static void test_below(struct tester *t, const struct json *schema, const struct json *v,
                       const struct json *old, const struct field_path *at, unsigned depth)
{
    const struct json *items = json_get(schema, "items");
    const struct json *others = json_get(schema, "additionalProperties");
    size_t i = 0;

    if (json_is(v, JSON_ARRAY) && items) {
        json_each (item, v)
            test_value(t, items, item, old_element(schema, old, item), PATH_INDEX(at, i++),
                       depth + 1);
        return;
    }
    json_each (m, json_is(v, JSON_OBJECT) ? v : NULL) {
        const struct json *known = json_get(json_get(schema, "properties"), m->key);

        if (known)
            test_value(t, known, m, json_get(old, m->key), PATH_MEMBER(at, m->key), depth + 1);
        else if (json_is(others, JSON_OBJECT))
            test_value(t, others, m, json_get(old, m->key), PATH_KEY(at, m->key), depth + 1);
    }
}

static void test_value(struct tester *t, const struct json *schema, const struct json *v,
                       const struct json *old, const struct field_path *at, unsigned depth)
{
    if (depth > STRUCTURAL_DEPTH_LIMIT || json_is_null(v))
        return;
    json_each (rule, json_get(schema, "x-kubernetes-validations"))
        test_rule(t, rule, schema, v, old, at);
    test_below(t, schema, v, old, at, depth);
}

/* Whether there is any rule: kinds without one cost nothing. */
static bool has_rules(const struct json *schema, unsigned depth)
{
    if (depth > STRUCTURAL_DEPTH_LIMIT || !json_is(schema, JSON_OBJECT))
        return false;
    if (json_len(json_get(schema, "x-kubernetes-validations")) ||
        has_rules(json_get(schema, "items"), depth + 1) ||
        has_rules(json_get(schema, "additionalProperties"), depth + 1))
        return true;
    json_each (p, json_get(schema, "properties"))
        if (has_rules(p, depth + 1))
            return true;
    return false;
}

void structural_test_rules(const struct json *schema, const struct json *object,
                           const struct json *old, struct err *err)
{
    struct tester t = {
        .arena = ARENA_INIT(RULES_MEMORY_BYTES), .cost_left = STRUCTURAL_RULES_COST, .err = err};

    if (!has_rules(schema, 0))
        return;
    test_value(&t, schema, object, old, NULL, 0);
    arena_release(&t.arena);
}
