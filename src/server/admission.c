/*
 * admission.c - ValidatingAdmissionPolicies: checks each write against the policies that are bound
 * and match, including writes of the daemon's own parts, then by webhooks (webhooks.h). Policies
 * and bindings themselves are exempt, so that they can always be removed.
 */
#include "server/admission.h"

#include <string.h>

#include "server/rbac.h"
#include "server/webhooks.h"

#define PARAMS_LIMIT 64u /* objects per binding */

/* --- matching ------------------------------------------------------------------------------- */

static bool constraints_match(const struct admission *a, const struct json *match)
{
    bool exact = json_string_is(json_get(match, "matchPolicy"), "Exact");
    const struct json *rules = json_get(match, "resourceRules");

    if (!match)
        return true;
    if (json_len(rules) && !admission_rules_match(a, rules, exact))
        return false;
    return !admission_rules_match(a, json_get(match, "excludeResourceRules"), exact) &&
           admission_selects(a, match);
}

/* --- one policy ----------------------------------------------------------------------------- */

/* One binding and its policy. */
struct question {
    struct admission *admission;
    const struct json *policy, *binding;
    struct admission_scope scope;
    const struct json *values[ADMISSION_VARIABLES_COUNT];
};

static const char *policy_name(const struct question *q)
{
    return object_name(q->policy);
}

static enum err_reason reason_of(const struct json *validation)
{
    static const struct {
        const char *name;
        enum err_reason reason;
    } reasons[] = {{"Unauthorized", ERR_UNAUTHORIZED},
                   {"Forbidden", ERR_FORBIDDEN},
                   {"RequestEntityTooLarge", ERR_TOO_LARGE}};

    for (size_t i = 0; i < ELEMS(reasons); i++)
        if (json_string_is(json_get(validation, "reason"), reasons[i].name))
            return reasons[i].reason;
    return ERR_INVALID;
}

static void refuse(struct question *q, enum err_reason reason, const char *message)
{
    struct admission *a = q->admission;
    struct server_request *r = a->request;
    const char *text = arena_printf(
        r->arena, "ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s",
        policy_name(q), object_name(q->binding), message);

    err_set(a->err, reason, "%s \"%s\" is forbidden: %s", resource_name(r->arena, r->route.kind),
            object_name(a->object ? a->object : a->old), text ? text : message);
    err_cause(a->err, "", "", 0, "%s", text ? text : message);
    a->rc = err_errno(reason);
}

/* Carries out the binding's validationActions. */
static void not_passed(struct question *q, enum err_reason reason, const char *message)
{
    const struct json *done = json_at(q->binding, "spec", "validationActions");
    struct server_request *r = q->admission->request;
    const char *text;

    if (json_has(done, "Warn")) {
        text = arena_printf(r->arena,
                            "Validation failed for ValidatingAdmissionPolicy '%s' with binding "
                            "'%s': %s",
                            policy_name(q), object_name(q->binding), message);
        if (text)
            request_warn(r, text);
    }
    if (json_has(done, "Deny") && q->admission->rc == 0)
        refuse(q, reason, message);
}

/* 1, 0, or negative: it cannot be determined. */
static int test(struct question *q, const char *text, struct err *err)
{
    return admission_test(q->admission, &q->scope, q->values, text, err);
}

static struct json *value_of(struct question *q, const char *text)
{
    struct cel_run run = admission_run(q->admission, q->values);
    struct cel *e = cel_read(q->admission->request->arena, text, q->scope.of, NULL);
    struct json *v = e ? cel_value(e, &run, NULL) : NULL;

    q->admission->cost_left = max_i64(run.cost_left, 0);
    return v;
}

/* Whether a failing expression counts is up to the policy's failurePolicy. */
static void failed(struct question *q, const char *text, const struct err *problem)
{
    struct server_request *r = q->admission->request;
    const char *message = arena_printf(r->arena, "expression '%s' resulted in error: %s", text,
                                       problem->text ? problem->text : "");

    if (!json_string_is(json_at(q->policy, "spec", "failurePolicy"), "Ignore"))
        not_passed(q, ERR_INVALID, message ? message : "out of memory");
}

static bool conditions_hold(struct question *q)
{
    json_each (c, json_at(q->policy, "spec", "matchConditions")) {
        const char *text = json_get_string(c, "expression", "");
        auto_err problem = ERR_INIT;
        int rc = test(q, text, &problem);

        if (rc < 0)
            failed(q, text, &problem);
        if (rc <= 0)
            return false;
    }
    return true;
}

/* A variable whose expression fails is absent, so that its uses fail. */
static void set_variables(struct question *q)
{
    struct arena *a = q->admission->request->arena;
    struct json *all = json_new_object(a);

    q->values[ADMISSION_VARIABLES] = all;
    json_each (v, json_at(q->policy, "spec", "variables"))
        json_set(a, all, json_get_string(v, "name", ""),
                 value_of(q, json_get_string(v, "expression", "")));
}

static void ask(struct question *q)
{
    struct server_request *r = q->admission->request;

    if (!conditions_hold(q))
        return;
    set_variables(q);
    json_each (v, json_at(q->policy, "spec", "validations")) {
        const char *text = json_get_string(v, "expression", "");
        const char *say = json_get_string(v, "messageExpression", "");
        const char *message = json_get_string(v, "message", "");
        auto_err problem = ERR_INIT;
        int rc = test(q, text, &problem);

        if (rc < 0)
            failed(q, text, &problem);
        if (rc != 0)
            continue;
        if (*say)
            say = json_string(value_of(q, say), "");
        if (*say)
            message = say;
        if (!*message)
            message = arena_printf(r->arena, "failed expression: %s", text);
        not_passed(q, reason_of(v), message ? message : "out of memory");
    }
}

/* --- parameters ----------------------------------------------------------------------------- */

static const struct kind *param_kind(const struct server *s, const struct json *of)
{
    for (size_t i = 0; s->kinds[i]; i++) {
        const struct kind *k = s->kinds[i];
        const char *version = json_get_string(of, "apiVersion", "");
        const char *slash = strchr(version, '/');
        size_t len = slash ? (size_t)(slash - version) : 0;

        if (strcmp(k->name, json_get_string(of, "kind", "")) == 0 && strlen(k->group) == len &&
            strncmp(k->group, version, len) == 0 &&
            strcmp(k->version, slash ? slash + 1 : version) == 0)
            return k;
    }
    return NULL;
}

struct params {
    struct question *question;
    const struct json *selector;
    size_t count;
};

static bool use_param(void *arg, const struct store_item *item)
{
    struct params *p = arg;
    const struct json *v = blob_parse(p->question->admission->request->arena, item->value, NULL);

    if (!v || (p->selector && !admission_selector_matches(p->selector, v)))
        return true;
    p->question->values[ADMISSION_PARAMS] = v;
    ask(p->question);
    return ++p->count < PARAMS_LIMIT;
}

static void ask_with_params(struct question *q)
{
    struct server_request *r = q->admission->request;
    const struct json *of = json_at(q->policy, "spec", "paramKind");
    const struct json *ref = json_at(q->binding, "spec", "paramRef");
    const struct kind *k = of ? param_kind(r->server, of) : NULL;
    const char *ns = json_get_string(ref, "namespace", r->route.ns);
    const char *name = json_get_string(ref, "name", "");
    struct params p = {.question = q};
    const struct store_item *item;

    if (!of || !ref) {
        ask(q);
        return;
    }
    if (!k) {
        auto_err problem = ERR_INIT;

        err_set(&problem, ERR_INVALID, "no such kind");
        failed(q, "paramKind", &problem);
        return;
    }
    if (*name) {
        item = store_head(server_collection(r->server, k), object_key(r->arena, k, ns, name));
        if (item)
            (void)use_param(&p, item);
    } else {
        p.selector = json_get(ref, "selector");
        store_list(server_collection(r->server, k),
                   k->namespaced ? arena_printf(r->arena, "%s/", ns) : NULL, NULL, use_param, &p);
    }
    if (!p.count && json_string_is(json_get(ref, "parameterNotFoundAction"), "Deny"))
        not_passed(q, ERR_INVALID,
                   "no params found for policy binding with `Deny` "
                   "parameterNotFoundAction");
}

/* Messages may reveal the params, so the author of the binding must be allowed to read them. */
static int check_params(struct server_request *r, const struct json *object, struct err *err)
{
    struct server *s = r->server;
    bool binds = r->route.kind == &kind_admission_binding;
    const struct json *ref = json_at(object, "spec", "paramRef"), *of, *policy = object;
    const struct store_item *item;
    const struct kind *k;
    struct access what = {.verb = "get", .subresource = "", .ns = "", .name = ""};

    if (binds && ref) {
        item = store_head(server_collection(s, &kind_admission_policy),
                          json_string(json_at(object, "spec", "policyName"), ""));
        policy = item ? blob_parse(r->arena, item->value, NULL) : NULL;
        what.name = json_get_string(ref, "name", "");
        what.ns = json_get_string(ref, "namespace", "");
    }
    of = json_at(policy, "spec", "paramKind");
    if (binds ? !ref : !of)
        return 0;
    k = of ? param_kind(s, of) : NULL;
    what.group = k ? k->group : "*"; /* unknown so far: it may become any group */
    what.resource = k ? k->plural : "*";
    return rbac_require(s, r->arena, r->caller, &what, err);
}

/* --- all policies --------------------------------------------------------------------------- */

static bool use_binding(void *arg, const struct store_item *item)
{
    struct admission *a = arg;
    struct server_request *r = a->request;
    const struct json *binding = blob_parse(r->arena, item->value, NULL);
    const char *name = json_string(json_at(binding, "spec", "policyName"), "");
    const struct store_item *found = store_head(
        server_collection(r->server, &kind_admission_policy), name);
    const struct json *policy = found ? blob_parse(r->arena, found->value, NULL) : NULL;
    struct question q = {.admission = a, .policy = policy, .binding = binding};

    if (!policy || !constraints_match(a, json_at(policy, "spec", "matchConstraints")) ||
        !constraints_match(a, json_at(binding, "spec", "matchResources")))
        return true;
    q.scope = admission_scope(r->arena, policy, SIZE_MAX);
    q.values[ADMISSION_OBJECT] = a->object;
    q.values[ADMISSION_OLD_OBJECT] = a->old;
    q.values[ADMISSION_REQUEST] = a->described;
    q.values[ADMISSION_NAMESPACE] = a->ns;
    ask_with_params(&q);
    return a->rc == 0;
}

static int check_policies(struct admission *a)
{
    struct server_request *r = a->request;
    struct store_collection *bindings = server_collection(r->server, &kind_admission_binding);

    if (store_count(bindings) == 0)
        return 0;
    if (admission_describe(a) < 0)
        return out_of_memory(a->err);
    store_list(bindings, NULL, NULL, use_binding, a);
    return a->rc == 0 && arena_failed(r->arena) ? out_of_memory(a->err) : a->rc;
}

int admission_check(struct server_request *r, const char *operation, const struct json *old,
                    const struct json *object, bool dry_run, struct err *err)
{
    struct admission a = admission_of(r, operation, old, object, dry_run, err);
    int rc;

    if (r->route.kind == &kind_admission_policy || r->route.kind == &kind_admission_binding)
        return object ? check_params(r, object, err) : 0;
    rc = object ? 0 : webhooks_mutate(r, operation, old, NULL, dry_run, err);
    if (rc == 0)
        rc = check_policies(&a);
    return rc < 0 ? rc : webhooks_validate(&a);
}
