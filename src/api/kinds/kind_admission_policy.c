/*
 * kind_admission_policy.c - ValidatingAdmissionPolicy and its Binding
 * (admissionregistration.k8s.io/v1): conditions on written objects, in CEL, checked by
 * server/admission.c.
 */
#include "api/columns.h"
#include "api/kinds/admission_parts.h"
#include "api/kinds/pod_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/protobuf.h"

#define IN_RULE PROTOBUF_INSIDE(2, 2) /* a RuleWithOperations, and the Rule in it */

const char *const admission_operations[] = {"*", "CREATE", "UPDATE", "DELETE", "CONNECT", NULL};
const char *const admission_scopes[] = {"*", "Cluster", "Namespaced", NULL};
const char *const admission_policies[] = {"Exact", "Equivalent", NULL};
const char *const admission_failures[] = {"Fail", "Ignore", NULL};
static const char *const reasons[] = {"Unauthorized", "Forbidden", "Invalid",
                                      "RequestEntityTooLarge", NULL};
static const char *const absences[] = {"Allow", "Deny", NULL};

static const struct field rule_fields[] = {
    ADMISSION_RULE_FIELDS(2, IN_RULE),
    F_STRS("resourceNames", "Names of objects. Empty: all.", P(1)),
    {0}};

static const struct field match_fields[] = {
    F_OBJ("namespaceSelector", label_selector_fields,
          "Selects by the labels of the object's namespace.", P(1)),
    F_OBJ("objectSelector", label_selector_fields, "Selects by the labels of the object.", P(2)),
    F_OBJS("resourceRules", rule_fields, "Requests that match.", P(3),
           .max_items = ADMISSION_LIST_LIMIT),
    F_OBJS("excludeResourceRules", rule_fields,
           "Requests that do not match, even if resourceRules has them.", P(4),
           .max_items = ADMISSION_LIST_LIMIT),
    F_STR("matchPolicy", "Whether other versions of a resource count.", PZ(7),
          ONE_OF(admission_policies), DEFAULT("\"Equivalent\"")),
    {0}};

static const struct field param_kind_fields[] = {
    F_STR("apiVersion", "Its group and version.", PZ(1), REQUIRED),
    F_STR("kind", "Its kind.", PZ(2), REQUIRED),
    {0}};

const struct field admission_condition_fields[] = {
    F_STR("name", "Name of the condition.", PZ(1), REQUIRED),
    F_STR("expression", "CEL expression. If it is false, the request does not match.", PZ(2),
          REQUIRED),
    {0}};

static const struct field variable_fields[] = {
    F_STR("name", "Name of the variable: other expressions use it as variables.NAME.", PZ(1),
          REQUIRED),
    F_STR("expression", "CEL.", PZ(2), REQUIRED),
    {0}};

static const struct field validation_fields[] = {
    F_STR("expression",
          "CEL expression over object, oldObject, request, params, namespaceObject and variables.",
          PZ(1), REQUIRED),
    F_STR("message", "Message when the expression is false.", P(2)),
    F_STR("messageExpression", "CEL expression that yields the message.", P(4)),
    F_STR("reason", "Reason in the refusal.", PZ(3), ONE_OF(reasons)),
    {0}};

static const struct field audit_fields[] = {
    F_STR("key", "Name of the annotation.", PZ(1), REQUIRED),
    F_STR("valueExpression", "CEL.", PZ(2), REQUIRED),
    {0}};

static const struct field policy_spec_fields[] = {
    F_OBJ("paramKind", param_kind_fields, "Kind of the parameter objects.", P(1)),
    F_OBJ("matchConstraints", match_fields, "Requests the policy applies to.", P(2), REQUIRED),
    F_OBJS("validations", validation_fields, "Expressions that must be true.", P(3),
           .max_items = ADMISSION_LIST_LIMIT),
    F_STR("failurePolicy",
          "Whether an expression that cannot be evaluated refuses the request (Fail) or not "
          "(Ignore).",
          PZ(4), ONE_OF(admission_failures), DEFAULT("\"Fail\"")),
    F_OBJS("auditAnnotations", audit_fields, "Annotations for the audit log.", P(5),
           IGNORED("this server has no audit log")),
    F_OBJS("matchConditions", admission_condition_fields,
           "Conditions that must all be true for the policy to be evaluated.", P(6),
           KEYED_BY("name"), .max_items = ADMISSION_LIST_LIMIT),
    F_OBJS("variables", variable_fields, "Values shared by the expressions.", P(7),
           KEYED_BY("name"), .max_items = ADMISSION_LIST_LIMIT),
    {0}};

static const struct field policy_status_fields[] = {
    F_INT64("observedGeneration", "The metadata.generation this status is based on.", P(1)),
    F_CONDITIONS(meta_condition_fields, "None so far.", P(3), KEYED_BY("type")),
    {0}};

static const struct field policy_fields[] = {
    F_SPEC(policy_spec_fields, REQUIRED), F_STATUS(policy_status_fields), {0}};

static const struct field param_ref_fields[] = {
    F_STR("name", "Name of the parameter object.", P(1)),
    F_STR("namespace", "Its namespace. Unset: the namespace of the request.", P(2)),
    F_OBJ("selector", label_selector_fields, "Selects parameter objects by label, instead of name.",
          P(3)),
    F_STR("parameterNotFoundAction",
          "Whether a missing parameter object allows (Allow) or refuses (Deny) the request.", PZ(4),
          ONE_OF(absences)),
    {0}};

static const char *const actions[] = {"Deny", "Warn", "Audit", NULL};

static const struct field binding_spec_fields[] = {
    F_STR("policyName", "Name of the policy.", P(1), REQUIRED),
    F_OBJ("paramRef", param_ref_fields, "The parameter objects.", P(2)),
    F_OBJ("matchResources", match_fields, "Restricts the requests that the policy applies to.",
          P(3)),
    F_STRS("validationActions", "What a violation causes: Deny, Warn, Audit.", P(4),
           ONE_OF(actions), .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),
    {0}};

static const struct field binding_fields[] = {F_SPEC(binding_spec_fields, REQUIRED), {0}};

/* --- expressions ---------------------------------------------------------------------------- */

struct admission_scope admission_scope(struct arena *a, const struct json *policy, size_t known)
{
    const struct json *spec = json_get(policy, "spec");
    struct json *schema = json_new_object(a), *names, *any;
    struct admission_scope scope = {
        .of = {[ADMISSION_OBJECT] = {.name = "object"},
               [ADMISSION_OLD_OBJECT] = {.name = "oldObject"},
               [ADMISSION_REQUEST] = {.name = "request"},
               [ADMISSION_NAMESPACE] = {.name = "namespaceObject"},
               /* without a paramKind it cannot be used */
               [ADMISSION_PARAMS] = {.name = json_get(spec, "paramKind") ? "params" : " "},
               [ADMISSION_VARIABLES] = {.name = "variables", .schema = schema}}};

    json_set_string(a, schema, "type", "object");
    names = json_make_object(a, schema, "properties");
    json_each (v, json_get(spec, "variables")) {
        if (!known--)
            break;
        any = json_make_object(a, names, json_get_string(v, "name", ""));
        json_set_bool(a, any, "x-kubernetes-preserve-unknown-fields", true);
    }
    return scope;
}

static void check_expression(struct arena *a, const struct admission_scope *scope,
                             const struct json *text, const struct field_path *at, struct err *err)
{
    auto_err problem = ERR_INIT;

    if (json_is(text, JSON_STRING) && text->len && !cel_read(a, text->u.text, scope->of, &problem))
        problem_invalid(err, at, text, "compilation failed: ERROR: %s", problem.text);
}

void admission_check_conditions(struct arena *a, const struct admission_scope *scope,
                                const struct json *list, const struct field_path *at,
                                struct err *err)
{
    size_t i = 0;

    json_each (c, list)
        check_expression(a, scope, json_get(c, "expression"),
                         PATH_MEMBER(PATH_INDEX(at, i++), "expression"), err);
}

void admission_check_rules(const struct json *rules, const struct field_path *at, struct err *err)
{
    size_t i = 0;

    json_each (rule, rules) {
        const struct field_path *here = PATH_INDEX(at, i++);

        if (json_len(json_get(rule, "apiGroups")) == 0)
            problem_required(err, PATH_MEMBER(here, "apiGroups"), rule->line, NULL);
    }
}

static void check_rules(const struct json *match, const struct field_path *at, struct err *err)
{
    static const char *const lists[] = {"resourceRules", "excludeResourceRules"};

    for (size_t n = 0; n < ELEMS(lists); n++)
        admission_check_rules(json_get(match, lists[n]), PATH_MEMBER(at, lists[n]), err);
}

static void validate_policy(const struct json *policy, const struct json *old, struct err *err)
{
    struct arena a = ARENA_INIT(ADMISSION_MEMORY_BYTES);
    const struct json *spec = json_get(policy, "spec");
    const struct field_path at = {.name = "spec"};
    struct admission_scope scope;
    size_t i = 0;

    (void)old;
    if (json_len(json_get(spec, "validations")) == 0)
        problem_required(err, PATH_MEMBER(&at, "validations"), spec ? spec->line : 0,
                         "validations or auditAnnotations must contain at least one item");
    if (json_len(json_at(spec, "matchConstraints", "resourceRules")) == 0)
        problem_required(err, PATH_MEMBER(PATH_MEMBER(&at, "matchConstraints"), "resourceRules"), 0,
                         NULL);
    check_rules(json_get(spec, "matchConstraints"), PATH_MEMBER(&at, "matchConstraints"), err);
    json_each (v, json_get(spec, "variables")) {
        scope = admission_scope(&a, policy, i);
        check_expression(&a, &scope, json_get(v, "expression"),
                         PATH_MEMBER(PATH_INDEX(PATH_MEMBER(&at, "variables"), i), "expression"),
                         err);
        i++;
    }
    scope = admission_scope(&a, policy, SIZE_MAX);
    i = 0;
    json_each (v, json_get(spec, "validations")) {
        const struct field_path *here = PATH_INDEX(PATH_MEMBER(&at, "validations"), i++);

        check_expression(&a, &scope, json_get(v, "expression"), PATH_MEMBER(here, "expression"),
                         err);
        check_expression(&a, &scope, json_get(v, "messageExpression"),
                         PATH_MEMBER(here, "messageExpression"), err);
    }
    admission_check_conditions(&a, &scope, json_get(spec, "matchConditions"),
                               PATH_MEMBER(&at, "matchConditions"), err);
    arena_release(&a);
}

static void validate_binding(const struct json *binding, const struct json *old, struct err *err)
{
    const struct json *ref = json_at(binding, "spec", "paramRef");
    const struct json *done = json_at(binding, "spec", "validationActions");
    const struct field_path at = {.name = "spec"};

    (void)old;
    if (json_has(done, "Deny") && json_has(done, "Warn"))
        problem_invalid(err, PATH_MEMBER(&at, "validationActions"), done,
                        "must not contain both Deny and Warn (repeating the same validation "
                        "failure information in the API response and headers serves no purpose)");
    check_rules(json_at(binding, "spec", "matchResources"), PATH_MEMBER(&at, "matchResources"),
                err);
    if (!ref)
        return;
    if (!*json_get_string(ref, "name", "") == !json_get(ref, "selector"))
        problem_forbidden(err, PATH_MEMBER(&at, "paramRef"), ref->line,
                          "exactly one of name and selector must be given");
    if (!json_get(ref, "parameterNotFoundAction"))
        problem_required(err, PATH_MEMBER(PATH_MEMBER(&at, "paramRef"), "parameterNotFoundAction"),
                         ref->line, NULL);
}

static void warn_binding(const struct json *binding, void (*say)(void *arg, const char *text),
                         void *arg)
{
    if (json_has(json_at(binding, "spec", "validationActions"), "Audit"))
        say(arg, "spec.validationActions: Audit does nothing: this server has no audit log");
}

/* --- columns -------------------------------------------------------------------------------- */

static struct json *render_validations(struct arena *a, const struct json *policy, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_at(policy, "spec", "validations")));
}

static struct json *render_param_kind(struct arena *a, const struct json *policy, int64_t now_ms)
{
    const struct json *of = json_at(policy, "spec", "paramKind");

    (void)now_ms;
    return of ? json_new_stringf(a, "%s/%s", json_get_string(of, "apiVersion", ""),
                                 json_get_string(of, "kind", ""))
              : json_new_string(a, "<unset>");
}

static const struct column policy_columns[] = {
    COLUMN_NAME,
    COLUMN("Validations", "integer", "How many expressions.", .render = render_validations),
    COLUMN("ParamKind", "string", "Kind of its params.", .render = render_param_kind),
    COLUMN_AGE,
    {0}};

static struct json *render_param_ref(struct arena *a, const struct json *binding, int64_t now_ms)
{
    const struct json *ref = json_at(binding, "spec", "paramRef");
    const char *ns = json_get_string(ref, "namespace", "");

    (void)now_ms;
    return ref ? json_new_stringf(a, "%s%s%s", ns, *ns ? "/" : "",
                                  json_get_string(ref, "name", "*"))
               : json_new_string(a, "<unset>");
}

static const struct column binding_columns[] = {
    COLUMN_NAME,
    COLUMN("PolicyName", "string", "Name of the policy.", .path = ".spec.policyName"),
    COLUMN("ParamRef", "string", "Its params.", .render = render_param_ref),
    COLUMN_AGE,
    {0}};

const struct kind kind_admission_policy = {
    KIND_NAMES("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy",
               "validatingadmissionpolicies", "validatingadmissionpolicy"),
    .has_status = true,
    .has_generation = true,
    .doc =
        "ValidatingAdmissionPolicy is a set of CEL expressions that written objects must satisfy.",
    .fields = policy_fields,
    .columns = policy_columns,
    .validate = validate_policy};

const struct kind kind_admission_binding = {
    KIND_NAMES("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding",
               "validatingadmissionpolicybindings", "validatingadmissionpolicybinding"),
    .has_generation = true,
    .doc = "ValidatingAdmissionPolicyBinding puts a ValidatingAdmissionPolicy into effect, with "
           "its parameters.",
    .fields = binding_fields,
    .columns = binding_columns,
    .validate = validate_binding,
    .warn = warn_binding};
