/* admission_request.c - see admission.h. */
#include <errno.h>
#include <string.h>

#include "api/selector.h"
#include "server/admission.h"

#define ADMISSION_COST (4 * (int64_t)CEL_CALL_COST)

/* --- matching ------------------------------------------------------------------------------- */

static bool names(const struct json *list, const char *text)
{
    return json_has(list, "*") || json_has(list, text);
}

/* "pods", "pods/status", "pods/ *", "* /status", without the spaces. */
static bool names_resource(const struct json *list, const struct route *route)
{
    const char *part = route->subresource;

    json_each (item, list) {
        const char *text = json_string(item, ""), *slash = strchrnul(text, '/');
        size_t len = (size_t)(slash - text);
        bool plural = (len == 1 && *text == '*') || (strlen(route->kind->plural) == len &&
                                                     strncmp(route->kind->plural, text, len) == 0);
        bool sub = *slash ? (*part && (strcmp(slash + 1, "*") == 0 || strcmp(slash + 1, part) == 0))
                          : !*part;

        if (plural && (sub || strcmp(text, "*/*") == 0 || (*slash && strcmp(slash, "/*") == 0)))
            return true;
    }
    return false;
}

/* Equivalent: any version in which the resource is served. NULL: the rule names none. */
static const struct kind *named_version(const struct server *s, const struct json *rule,
                                        const struct kind *k, bool exact)
{
    const struct json *versions = json_get(rule, "apiVersions");

    if (names(versions, k->version))
        return k;
    for (size_t i = 0; !exact && s->kinds[i]; i++)
        if (strcmp(s->kinds[i]->group, k->group) == 0 &&
            strcmp(s->kinds[i]->plural, k->plural) == 0 && json_has(versions, s->kinds[i]->version))
            return s->kinds[i];
    return NULL;
}

static bool rule_matches(const struct admission *a, const struct json *rule)
{
    const struct route *route = &a->request->route;
    const char *scope = json_get_string(rule, "scope", "*");
    const struct json *only = json_get(rule, "resourceNames");
    const char *name = object_name(a->object ? a->object : a->old);

    return names(json_get(rule, "operations"), a->operation) &&
           names(json_get(rule, "apiGroups"), route->kind->group) &&
           names_resource(json_get(rule, "resources"), route) &&
           (json_len(only) == 0 || json_has(only, name)) &&
           (strcmp(scope, "*") == 0 ||
            (strcmp(scope, "Namespaced") == 0) == route->kind->namespaced);
}

const struct kind *admission_rules_match(const struct admission *a, const struct json *rules,
                                         bool exact)
{
    const struct server_request *r = a->request;
    const struct kind *other = NULL;

    json_each (rule, rules) {
        const struct kind *k = rule_matches(a, rule)
                                   ? named_version(r->server, rule, r->route.kind, exact)
                                   : NULL;

        if (k == r->route.kind)
            return k;
        if (!other)
            other = k;
    }
    return other;
}

bool admission_selector_matches(const struct json *selector, const struct json *object)
{
    return json_len(selector) == 0 || label_map_matches(selector, object_labels(object));
}

bool admission_selects(const struct admission *a, const struct json *by)
{
    const struct json *selector = json_get(by, "objectSelector");

    if (a->ns && !admission_selector_matches(json_get(by, "namespaceSelector"), a->ns))
        return false;
    return (a->object && admission_selector_matches(selector, a->object)) ||
           (a->old && admission_selector_matches(selector, a->old));
}

/* --- expressions ---------------------------------------------------------------------------- */

struct cel_run admission_run(const struct admission *a, const struct json *const *values)
{
    return (struct cel_run){.arena = a->request->arena,
                            .values = values,
                            .cost_left = a->cost_left,
                            .now_ms = clock_now_ms(a->request->server->clock)};
}

int admission_test(struct admission *a, const struct admission_scope *scope,
                   const struct json *const *values, const char *text, struct err *err)
{
    struct cel_run run = admission_run(a, values);
    struct cel *e = cel_read(a->request->arena, text, scope->of, err);
    int rc = e ? cel_test(e, &run, err) : -1;

    a->cost_left = max_i64(run.cost_left, 0);
    return rc;
}

/* --- the request variable ------------------------------------------------------------------- */

void admission_set_kind(struct arena *a, struct json *out, const char *key, const struct kind *k,
                        const char *last, const char *value)
{
    struct json *v = json_make_object(a, out, key);

    json_set_string(a, v, "group", k->group);
    json_set_string(a, v, "version", k->version);
    json_set_string(a, v, last, value);
}

static struct json *describe(const struct admission *a)
{
    struct server_request *r = a->request;
    const struct kind *k = r->route.kind;
    const struct caller *who = r->caller;
    struct arena *arena = r->arena;
    struct json *v = json_new_object(arena), *user, *groups;

    admission_set_kind(arena, v, "kind", k, "kind", k->name);
    admission_set_kind(arena, v, "requestKind", k, "kind", k->name);
    admission_set_kind(arena, v, "resource", k, "resource", k->plural);
    admission_set_kind(arena, v, "requestResource", k, "resource", k->plural);
    json_set_string(arena, v, "subResource", r->route.subresource);
    json_set_string(arena, v, "requestSubResource", r->route.subresource);
    json_set_string(arena, v, "name", object_name(a->object ? a->object : a->old));
    json_set_string(arena, v, "namespace", r->route.ns);
    json_set_string(arena, v, "operation", a->operation);
    json_set_bool(arena, v, "dryRun", a->dry_run);
    user = json_make_object(arena, v, "userInfo");
    json_set_string(arena, user, "username", who->user ? who->user : "");
    json_set_string(arena, user, "uid", who->uid ? who->uid : "");
    groups = json_make_array(arena, user, "groups");
    for (size_t i = 0; who->groups && who->groups[i]; i++)
        json_append_string(arena, groups, who->groups[i]);
    if (who->extra)
        json_set(arena, user, "extra", json_clone(arena, who->extra));
    return v;
}

struct admission admission_of(struct server_request *r, const char *operation,
                              const struct json *old, const struct json *object, bool dry_run,
                              struct err *err)
{
    return (struct admission){.request = r,
                              .operation = operation,
                              .object = object,
                              .old = old,
                              .dry_run = dry_run,
                              .cost_left = ADMISSION_COST,
                              .err = err};
}

int admission_describe(struct admission *a)
{
    struct server_request *r = a->request;
    const struct store_item *ns;

    if (a->described)
        return 0;
    ns = *r->route.ns ? store_head(server_collection(r->server, &kind_namespace), r->route.ns)
                      : NULL;
    a->ns = ns                                 ? blob_parse(r->arena, ns->value, NULL)
            : r->route.kind == &kind_namespace ? (a->object ? a->object : a->old)
                                               : NULL;
    a->described = describe(a);
    return arena_failed(r->arena) ? -ENOMEM : 0;
}
