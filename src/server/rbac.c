/*
 * rbac.c - see rbac.h. Bindings are few and scanned for every request; for an account, a stored
 * text that contains neither its name nor "system:", as groups and users do, is not even parsed.
 *
 * A caller who may write roles could grant itself anything. The real server compares rules; here
 * this requires the verbs `escalate` (roles) and `bind` (bindings), which is stricter. A rule for
 * all verbs includes these, so rights that must be named explicitly can only be granted by a caller
 * who has them.
 */
#include "server/rbac.h"

#include <string.h>

#include "server/machine_access.h"

struct search {
    struct server *server;
    struct arena *arena;
    const struct caller *who;
    const struct access *what; /* looking for a rule that allows it ... */
    struct json *rules;        /* ... or collecting all rules about resources ... */
    struct json *paths;        /* ... and about paths */
    const char *ns;
    bool allowed;
};

/* --- rules ----------------------------------------------------------------------------- */

static bool list_has(const struct json *list, const char *word)
{
    return json_has(list, word) || json_has(list, "*");
}

static bool must_be_named(const struct access *what)
{
    return strcmp(what->group, MACHINE_ACCESS_GROUP) == 0 &&
           strcmp(what->resource, MACHINE_ACCESS_RESOURCE) == 0;
}

static bool names_resource(const struct json *list, const struct access *what)
{
    size_t len = strlen(what->resource);

    json_each (item, list) {
        const char *text = json_string(item, "");

        if (strcmp(text, "*") == 0 && !must_be_named(what))
            return true;
        if (!*what->subresource) {
            if (strcmp(text, what->resource) == 0)
                return true;
        } else if (strncmp(text, "*/", 2) == 0) {
            if (strcmp(text + 2, what->subresource) == 0)
                return true;
        } else if (strncmp(text, what->resource, len) == 0 && text[len] == '/' &&
                   strcmp(text + len + 1, what->subresource) == 0) {
            return true;
        }
    }
    return false;
}

static bool names_object(const struct json *names, const char *name)
{
    return json_len(names) == 0 || json_has(names, name);
}

/* An asterisk at the end stands for any rest. */
static bool names_path(const struct json *list, const char *path)
{
    json_each (item, list) {
        const char *text = json_string(item, "");
        size_t len = strlen(text);

        if (len && text[len - 1] == '*' ? strncmp(path, text, len - 1) == 0
                                        : strcmp(path, text) == 0)
            return true;
    }
    return false;
}

static bool rule_allows(const struct json *rule, const struct access *what)
{
    if (what->path)
        return list_has(json_get(rule, "verbs"), what->verb) &&
               names_path(json_get(rule, "nonResourceURLs"), what->path);
    return list_has(json_get(rule, "verbs"), what->verb) &&
           list_has(json_get(rule, "apiGroups"), what->group) &&
           names_resource(json_get(rule, "resources"), what) &&
           names_object(json_get(rule, "resourceNames"), what->name);
}

/* --- bindings -------------------------------------------------------------------------- */

static bool is_account(const struct caller *who, const char *ns, const char *name)
{
    return *who->ns && strcmp(who->ns, ns) == 0 && strcmp(who->name, name) == 0;
}

static bool is_subject(const struct json *subject, const struct caller *who)
{
    const char *name = json_get_string(subject, "name", "");
    const struct json *kind = json_get(subject, "kind");

    if (json_string_is(kind, "ServiceAccount"))
        return is_account(who, json_get_string(subject, "namespace", ""), name);
    if (json_string_is(kind, "User"))
        return strcmp(name, who->user) == 0;
    return json_string_is(kind, "Group") && caller_has_group(who, name);
}

static bool has_subject(const struct json *binding, const struct caller *who)
{
    json_each (subject, json_get(binding, "subjects"))
        if (is_subject(subject, who))
            return true;
    return false;
}

/* NULL: no such role. */
static const struct json *find_role(struct server *s, struct arena *a, const char *ns,
                                    const struct json *ref)
{
    bool cluster = json_string_is(json_get(ref, "kind"), "ClusterRole");
    const struct kind *k = cluster ? &kind_cluster_role : &kind_role;
    const char *key = object_key(a, k, ns, json_get_string(ref, "name", ""));
    const struct store_item *item = key ? store_head(server_collection(s, k), key) : NULL;

    return item ? blob_parse(a, item->value, NULL) : NULL;
}

static void use_role(struct search *q, const struct json *ref)
{
    json_each (rule, json_get(find_role(q->server, q->arena, q->ns, ref), "rules")) {
        if (q->rules)
            (void)json_append(json_get(rule, "nonResourceURLs") ? q->paths : q->rules,
                              json_clone(q->arena, rule));
        else
            q->allowed = q->allowed || rule_allows(rule, q->what);
    }
}

static bool may_be_in(const struct caller *who, const char *text)
{
    return who->kind != CALLER_ACCOUNT || strstr(text, who->name) || strstr(text, "\"system:");
}

static bool use_binding(void *arg, const struct store_item *item)
{
    struct search *q = arg;
    const struct json *binding = NULL;

    if (may_be_in(q->who, item->value->data))
        binding = blob_parse(q->arena, item->value, NULL);
    if (binding && has_subject(binding, q->who))
        use_role(q, json_get(binding, "roleRef"));
    return !q->allowed && !arena_failed(q->arena);
}

static void search(struct search *q)
{
    const char *prefix = *q->ns ? arena_printf(q->arena, "%s/", q->ns) : NULL;

    store_list(server_collection(q->server, &kind_cluster_role_binding), NULL, NULL, use_binding,
               q);
    if (!q->allowed && prefix)
        store_list(server_collection(q->server, &kind_role_binding), prefix, NULL, use_binding, q);
}

bool rbac_allows(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what)
{
    struct search q = {
        .server = s, .arena = a, .who = who, .what = what, .ns = what->path ? "" : what->ns};

    if (!caller_is_known(who) || who->kind == CALLER_ANONYMOUS)
        return false;
    if (caller_may_everything(who))
        return true;
    search(&q);
    return q.allowed && !arena_failed(a);
}

void rbac_list_rules(struct server *s, struct arena *a, const struct caller *who, const char *ns,
                     struct json *rules, struct json *paths)
{
    struct search q = {
        .server = s, .arena = a, .who = who, .rules = rules, .paths = paths, .ns = ns};

    search(&q);
}

/* --- requests -------------------------------------------------------------------------- */

/* The one object a list or watch selects: fieldSelector=metadata.name=X. */
static const char *selected_name(const struct server_request *r)
{
    static const char field[] = "metadata.name=";
    const char *at = query_get(r, "fieldSelector");

    for (; at && *at; at += *at == ',') {
        size_t len = strcspn(at, ",");

        if (strncmp(at, field, strlen(field)) == 0) {
            const char *value = at + strlen(field);

            value += *value == '=';
            return arena_strndup(r->arena, value, (size_t)(at + len - value));
        }
        at += len;
    }
    return "";
}

/* Opening a two-way stream counts as create, whatever the method. */
static bool is_upgrade(const char *subresource)
{
    static const char *const names[] = {"exec", "attach", "portforward"};

    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcmp(subresource, names[i]) == 0)
            return true;
    return false;
}

static const char *verb_of(const struct server_request *r)
{
    static const struct {
        const char *method, *object, *collection;
    } verbs[] = {{"GET", "get", "list"},
                 {"POST", "create", "create"},
                 {"PUT", "update", "update"},
                 {"PATCH", "patch", "patch"},
                 {"DELETE", "delete", "deletecollection"}};

    if (is_upgrade(r->route.subresource))
        return "create";
    if (strcmp(r->method, "GET") == 0 && !r->route.name && query_is_true(r, "watch"))
        return "watch";
    for (size_t i = 0; i < ELEMS(verbs); i++)
        if (strcmp(r->method, verbs[i].method) == 0)
            return r->route.name ? verbs[i].object : verbs[i].collection;
    return r->method;
}

int rbac_require(struct server *s, struct arena *a, const struct caller *who,
                 const struct access *what, struct err *err)
{
    const char *slash, *dot, *where;

    if (rbac_allows(s, a, who, what))
        return 0;
    if (what->path)
        return err_set(err, ERR_FORBIDDEN, "forbidden: User \"%s\" cannot %s path \"%s\"",
                       who ? who->user : "", what->verb, what->path);
    slash = *what->subresource ? "/" : "";
    dot = *what->group ? "." : "";
    where = *what->ns ? arena_printf(a, "in the namespace \"%s\"", what->ns)
                      : "at the cluster scope";
    return err_set(err, ERR_FORBIDDEN,
                   "%s%s%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s%s\" in API "
                   "group \"%s\" %s",
                   what->resource, dot, what->group, *what->name ? " \"" : "", what->name,
                   *what->name ? "\"" : "", who ? who->user : "", what->verb, what->resource, slash,
                   what->subresource, what->group, where ? where : "");
}

int rbac_check_access(struct server_request *r, const struct access *what, struct err *err)
{
    return rbac_require(r->server, r->arena, r->caller, what, err);
}

/* The verb that writing a kind requires besides the write itself. */
static const char *writing_needs(const struct kind *k)
{
    if (k == &kind_role || k == &kind_cluster_role)
        return "escalate";
    return k == &kind_role_binding || k == &kind_cluster_role_binding ? "bind" : NULL;
}

static bool is_reading(const char *verb)
{
    return strcmp(verb, "get") == 0 || strcmp(verb, "list") == 0 || strcmp(verb, "watch") == 0;
}

int rbac_check_verb(struct server_request *r, const char *verb, struct err *err)
{
    const struct kind *k = r->route.kind;
    bool of_namespace = k == &kind_namespace && r->route.name; /* Roles in a namespace apply to the
                                                                * namespace itself */
    struct access what = {.verb = verb,
                          .group = k->group,
                          .resource = k->plural,
                          .subresource = r->route.subresource,
                          .ns = of_namespace ? r->route.name : r->route.ns,
                          .name = r->route.name ? r->route.name : selected_name(r)};
    int rc;

    if (!what.name)
        return out_of_memory(err);
    rc = rbac_check_access(r, &what, err);
    if (rc == 0 && writing_needs(k) && !is_reading(verb)) {
        what.verb = writing_needs(k);
        rc = rbac_check_access(r, &what, err);
    }
    return rc;
}

/* --- granting -------------------------------------------------------------------------- */

/* rule NULL: the role does not exist, and could become anything. */
static int check_giving(struct server_request *r, const struct json *rule, const char *name,
                        struct err *err)
{
    const struct access what = {.verb = "use",
                                .group = MACHINE_ACCESS_GROUP,
                                .resource = MACHINE_ACCESS_RESOURCE,
                                .subresource = "",
                                .ns = r->route.ns,
                                .name = name};

    if ((rule && (!list_has(json_get(rule, "verbs"), what.verb) ||
                  !list_has(json_get(rule, "apiGroups"), what.group) ||
                  !names_resource(json_get(rule, "resources"), &what))) ||
        rbac_allows(r->server, r->arena, r->caller, &what))
        return 0;
    if (!rule) {
        err_set(err, ERR_FORBIDDEN,
                "there is no such role: User \"%s\" cannot bind one that might give the right to "
                "use resource \"" MACHINE_ACCESS_RESOURCE "\" in API group \"" MACHINE_ACCESS_GROUP
                "\" once it is made",
                r->caller->user);
        err_hint(err, "create the role first, then its bindings");
        return err_errno(ERR_FORBIDDEN);
    }
    err_set(err, ERR_FORBIDDEN,
            "User \"%s\" cannot give the right to use resource \"" MACHINE_ACCESS_RESOURCE
            "\" in API group \"" MACHINE_ACCESS_GROUP "\"%s%s%s, which it lacks",
            r->caller->user, *name ? " named \"" : "", name, *name ? "\"" : "");
    err_hint(err, "only a user who has that right there, or the owner, can grant it");
    return err_errno(ERR_FORBIDDEN);
}

int rbac_check_grant(struct server_request *r, const struct json *old, const struct json *next,
                     struct err *err)
{
    const char *needs = writing_needs(r->route.kind);
    const struct json *role = next;
    int rc = 0;

    if (!needs || caller_may_everything(r->caller))
        return 0;
    if (strcmp(needs, "bind") == 0)
        role = find_role(r->server, r->arena, r->route.ns, json_get(next, "roleRef"));
    if (old && json_equal(json_get(old, "rules"), json_get(next, "rules")) &&
        json_equal(json_get(old, "subjects"), json_get(next, "subjects")))
        return 0;
    if (!role)
        return check_giving(r, NULL, "", err);
    json_each (rule, json_get(role, "rules")) {
        const struct json *names = json_get(rule, "resourceNames");

        if (rc == 0 && json_len(names) == 0)
            rc = check_giving(r, rule, "", err);
        json_each (name, names)
            if (rc == 0)
                rc = check_giving(r, rule, json_string(name, ""), err);
    }
    return rc;
}

int rbac_check(struct server_request *r, struct err *err)
{
    return rbac_check_verb(r, verb_of(r), err);
}
