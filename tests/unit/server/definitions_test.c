/* definitions_test.c - kinds installed at run time, and what watches over namespaces: quotas, limit
 * ranges, deletion by policy, events under two names. */
#include "fixture.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define TABS "/apis/stable.example.com/v1/namespaces/default/crontabs"
#define TABS_BETA "/apis/stable.example.com/v1beta1/namespaces/default/crontabs"
#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define QUOTAS "/api/v1/namespaces/default/resourcequotas"

static const char definition[] =
    "{\"metadata\":{\"name\":\"crontabs.stable.example.com\"},\"spec\":{\"group\":"
    "\"stable.example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"crontabs\",\"kind\":"
    "\"CronTab\",\"shortNames\":[\"ct\"]},\"versions\":[{\"name\":\"v1\",\"served\":true,"
    "\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":"
    "\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\"}},\"additionalPrinterColumns\":"
    "[{\"name\":\"Ready\",\"type\":\"string\",\"jsonPath\":"
    "\".status.conditions[?(@.type==\\\"Ready\\\")].status\"}],\"schema\":{\"openAPIV3Schema\":{"
    "\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"cron\"],"
    "\"properties\":{\"cron\":{\"type\":\"string\",\"pattern\":\"^\\\\d+$\"},\"replicas\":{"
    "\"type\":\"integer\",\"minimum\":0,\"maximum\":9,\"default\":1},\"share\":{"
    "\"type\":\"number\",\"multipleOf\":0.25},\"mode\":{\"type\":\"string\","
    "\"enum\":[\"Fast\",\"Slow\"]},\"free\":{\"type\":\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true},\"open\":{\"type\":\"object\",\"properties\":{"
    "\"known\":{\"type\":\"string\"}},\"additionalProperties\":true},\"tags\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}}}},\"status\":{\"type\":"
    "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}},{\"name\":\"v1beta1\","
    "\"served\":true,\"storage\":false,\"deprecated\":true,\"schema\":{\"openAPIV3Schema\":{"
    "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

#define TAB(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":" spec "}"

static void assert_path(struct answer a, const char *value, const char *part, const char *member)
{
    struct buf text = BUF_INIT(1 << 16);

    json_write(&text, json_at(a.object, part, member));
    if (strcmp(text.data, value) != 0)
        fail_msg("%s.%s is %s, not %s", part, member, text.data, value);
    buf_release(&text);
}

static const char *spec_text(struct fixture *f, const char *path)
{
    struct answer a = expect(f, "GET", path, NULL, 200);
    struct buf text = BUF_INIT(1 << 16);
    const char *copy;

    json_write(&text, json_get(a.object, "spec"));
    copy = arena_strdup(&f->arena, text.data);
    buf_release(&text);
    return copy;
}

static void install(struct fixture *f)
{
    struct answer a = expect(f, "POST", CRDS, definition, 201);

    assert_string_equal(json_get_string(object_condition(a.object, "Established"), "status", ""),
                        "True");
}

static void objects_are_defaulted_pruned_and_checked(void **state)
{
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"{}", "spec.cron: Required value"},
        {"{\"cron\":\"x\"}", "spec.cron in body should match ^\\d+$"},
        {"{\"cron\":5}", "spec.cron in body must be of type string"},
        {"{\"cron\":\"5\",\"replicas\":10}", "should be less than or equal to 9"},
        {"{\"cron\":\"5\",\"replicas\":-1}", "should be greater than or equal to 0"},
        {"{\"cron\":\"5\",\"share\":0.3}", "should be a multiple of 0.25"},
        {"{\"cron\":\"5\",\"mode\":\"Odd\"}",
         "spec.mode: Unsupported value: \"Odd\": supported values: \"Fast\", \"Slow\""},
        {"{\"cron\":\"5\",\"tags\":[\"a\",\"a\"]}", "spec.tags[1]: Duplicate value: \"a\""},
    };
    struct fixture *f = *state;

    install(f);
    expect(f, "POST", TABS, TAB("a", "{\"cron\":\"5\",\"free\":{\"x\":[1]},\"unknown\":1}"), 201);
    assert_string_equal(spec_text(f, TABS "/a"),
                        "{\"cron\":\"5\",\"free\":{\"x\":[1]},\"replicas\":1}");
    expect(f, "POST", TABS, TAB("large", "{\"cron\":\"5\",\"share\":1e300}"), 201);
    assert_says(expect(f, "POST", TABS "?fieldValidation=Strict",
                       TAB("b", "{\"cron\":\"5\",\"unknown\":1}"), 400),
                "BadRequest", "unknown field \"spec.unknown\"");
    for (size_t i = 0; i < ELEMS(bad); i++) {
        char body[256];

        (void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"c\"},\"spec\":%s}",
                       bad[i].spec);
        assert_says(expect(f, "POST", TABS, body, 422), "Invalid", bad[i].says);
    }
}

#define LIMITS "/apis/x.org/v1/namespaces/default/limits"
#define RULED(spec)                                                                                \
    "{\"metadata\":{\"name\":\"limits.x.org\"},\"spec\":{\"group\":\"x.org\",\"scope\":"           \
    "\"Namespaced\",\"names\":{\"plural\":\"limits\",\"kind\":\"Limit\"},\"versions\":[{\"name\":" \
    "\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"           \
    "\"object\","                                                                                  \
    "\"properties\":{\"spec\":{\"type\":\"object\"," spec "}}}}}]}}"
#define LIMIT(spec) "{\"metadata\":{\"name\":\"l\"},\"spec\":" spec "}"

static const char ruled[] = RULED(
    "\"x-kubernetes-validations\":[{\"rule\":\"self.min <= self.max\",\"messageExpression\":\"'min "
    "' + string(self.min) + ' is more than "
    "max'\",\"fieldPath\":\".min\"},{\"rule\":\"!has(self.old)"
    "\",\"message\":\"old is gone\",\"reason\":\"FieldValueForbidden\",\"fieldPath\":\".old\"},{"
    "\"rule\":\"!has(oldSelf.class) || self.class == oldSelf.class\",\"message\":\"class stays\"}],"
    "\"properties\":{\"min\":{\"type\":\"integer\"},\"max\":{\"type\":\"integer\"},\"old\":{"
    "\"type\":\"string\"},\"class\":{\"type\":\"string\"},\"list\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],\"items\":{"
    "\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"v\":{\"type\":"
    "\"integer\","
    "\"x-kubernetes-validations\":[{\"rule\":\"self >= oldSelf\"}]}}}}}");

static void rules_of_installed_kinds_are_run(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", CRDS, ruled, 201);
    assert_says(expect(f, "POST", LIMITS, LIMIT("{\"min\":3,\"max\":2}"), 422), "Invalid",
                "Limit.x.org \"l\" is invalid: spec.min: Invalid value: \"object\": min 3 is more "
                "than max");
    assert_says(expect(f, "POST", LIMITS, LIMIT("{\"min\":1,\"max\":2,\"old\":\"x\"}"), 422),
                "Invalid", "spec.old: Forbidden: old is gone");
    assert_says(expect(f, "POST", LIMITS, LIMIT("{\"min\":1}"), 422), "Invalid",
                "rule evaluation error: no such key: max");
    expect(f, "POST", LIMITS,
           LIMIT("{\"min\":1,\"max\":2,\"class\":\"a\",\"list\":[{\"name\":\"x\",\"v\":5}]}"), 201);
    assert_says(expect(f, "PATCH", LIMITS "/l", "{\"spec\":{\"class\":\"b\"}}", 422), "Invalid",
                "spec: Invalid value: \"object\": class stays");
    expect(f, "PATCH", LIMITS "/l",
           "{\"spec\":{\"list\":[{\"name\":\"y\",\"v\":1},{\"name\":\"x\",\"v\":6}]}}", 200);
    assert_says(
        expect(f, "PATCH", LIMITS "/l", "{\"spec\":{\"list\":[{\"name\":\"x\",\"v\":2}]}}", 422),
        "Invalid", "spec.list[0].v: Invalid value: \"integer\": failed rule: self >= oldSelf");
}

/* A rule that comes later does not hold up what it is not about. */
static void what_did_not_change_is_not_judged_again(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", CRDS,
           RULED("\"properties\":{\"min\":{\"type\":\"integer\"},\"max\":{\"type\":\"integer\"}}"),
           201);
    expect(f, "POST", LIMITS, LIMIT("{\"min\":3,\"max\":2}"), 201);
    expect(f, "PATCH", CRDS "/limits.x.org",
           "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
           "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
           "\"x-kubernetes-validations\":[{\"rule\":\"self.min <= self.max\"}],\"properties\":{"
           "\"min\":{\"type\":\"integer\"},\"max\":{\"type\":\"integer\"}}}}}}}]}}",
           200);
    expect(f, "PATCH", LIMITS "/l", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
    assert_says(expect(f, "PATCH", LIMITS "/l", "{\"spec\":{\"min\":4}}", 422), "Invalid",
                "failed rule: self.min <= self.max");
    expect(f, "PATCH", LIMITS "/l", "{\"spec\":{\"min\":1}}", 200);
}

static void rules_that_cannot_be_run_are_refused(void **state)
{
    static const struct {
        const char *rule, *says;
    } bad[] = {
        {"{\"rule\":\"self.nothing == 1\"}",
         "compilation failed: ERROR: undefined field 'nothing'"},
        {"{\"rule\":\"self.min.frobnicate()\"}",
         "compilation failed: ERROR: undeclared reference to 'frobnicate'"},
        {"{\"rule\":\"self.min <\"}", "compilation failed: ERROR: at 11: "},
        {"{\"rule\":\"\"}", "rule: Required value"},
        {"{\"rule\":\"true\",\"messageExpression\":\"nobody\"}",
         "messageExpression: Invalid value: \"nobody\": compilation failed"},
        {"{\"rule\":\"true\",\"fieldPath\":\".nothing\"}", "fieldPath must be a valid path"},
        {"{\"rule\":\"true\",\"reason\":\"Because\"}", "reason: Unsupported value: \"Because\""},
        {"{\"rule\":\"true\",\"optionalOldSelf\":true}", "may not be set if oldSelf is not used"},
    };
    struct fixture *f = *state;
    char body[2048];

    for (size_t i = 0; i < ELEMS(bad); i++) {
        (void)snprintf(body, sizeof(body),
                       RULED("\"x-kubernetes-validations\":[%s],\"properties\":{\"min\":{\"type\":"
                             "\"integer\"}}"),
                       bad[i].rule);
        assert_says(expect(f, "POST", CRDS, body, 422), "Invalid", bad[i].says);
    }
    assert_says(expect(f, "POST", CRDS,
                       RULED("\"properties\":{\"list\":{\"type\":\"array\",\"items\":{\"type\":"
                             "\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self > "
                             "oldSelf\"}]}}}"),
                       422),
                "Invalid", "oldSelf cannot be used on the uncorrelatable portion of the schema");
}

#define POLICIES "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
#define BINDINGS "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
#define POLICY(name, more)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":[{"   \
    "\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":["         \
    "\"configmaps\"]}]}," more "}}"
#define BINDING(name, policy, more)                                                                \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"policyName\":\"" policy "\"," more "}}"
#define MAP(name, data) "{\"metadata\":{\"name\":\"" name "\"},\"data\":" data "}"

static void policies_are_asked_before_a_write(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(
        f, "POST", POLICIES,
        POLICY("small",
               "\"variables\":[{\"name\":\"n\",\"expression\":\"size(object.data)\"}],"
               "\"matchConditions\":[{\"name\":\"made\",\"expression\":\"request.operation != "
               "'DELETE'\"}],\"validations\":[{\"expression\":\"variables.n <= 1\","
               "\"messageExpression\":\"'at most one, not ' + string(variables.n)\"},{"
               "\"expression\":\"oldObject == null || object.data == oldObject.data\",\"message\":"
               "\"data stays\",\"reason\":\"Forbidden\"}]"),
        201);
    expect(f, "POST", CONFIG_MAPS, MAP("before", "{\"a\":\"1\",\"b\":\"2\"}"), 201);
    expect(f, "POST", BINDINGS, BINDING("b", "small", "\"validationActions\":[\"Deny\"]"), 201);
    a = expect(f, "POST", CONFIG_MAPS, MAP("many", "{\"a\":\"1\",\"b\":\"2\"}"), 422);
    assert_says(a, "Invalid",
                "configmaps \"many\" is forbidden: ValidatingAdmissionPolicy 'small' with binding "
                "'b' denied request: at most one, not 2");
    expect(f, "POST", CONFIG_MAPS "?dryRun=All", MAP("many", "{\"a\":\"1\",\"b\":\"2\"}"), 422);
    expect(f, "POST", CONFIG_MAPS, MAP("one", "{\"a\":\"1\"}"), 201);
    assert_says(expect(f, "PATCH", CONFIG_MAPS "/one", "{\"data\":{\"a\":\"2\"}}", 403),
                "Forbidden", "denied request: data stays");
    expect(f, "PATCH", CONFIG_MAPS "/one", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 200);
    expect(f, "DELETE", CONFIG_MAPS "/one", NULL, 200);
    /* of what has no data the expression fails, and that counts */
    assert_says(expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"none\"}}", 422),
                "Invalid", "expression 'variables.n <= 1' resulted in error: no such key: n");
    expect(f, "PATCH", POLICIES "/small", "{\"spec\":{\"failurePolicy\":\"Ignore\"}}", 200);
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"none\"}}", 201);
    /* a warning instead */
    expect(f, "PATCH", BINDINGS "/b", "{\"spec\":{\"validationActions\":[\"Warn\"]}}", 200);
    expect(f, "POST", CONFIG_MAPS, MAP("many", "{\"a\":\"1\",\"b\":\"2\"}"), 201);
    expect(f, "DELETE", BINDINGS "/b", NULL, 200);
}

static void policies_match_by_selectors_names_and_params(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", CONFIG_MAPS, MAP("limits", "{\"most\":\"1\"}"), 201);
    expect(f, "POST", POLICIES,
           POLICY("p", "\"paramKind\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"},"
                       "\"validations\":[{\"expression\":\"request.operation == 'DELETE' || "
                       "size(object.data) <= int(params.data.most)\"}]"),
           201);
    expect(
        f, "POST", BINDINGS,
        BINDING("b", "p",
                "\"validationActions\":[\"Deny\"],\"paramRef\":{\"name\":\"limits\","
                "\"parameterNotFoundAction\":\"Deny\"},\"matchResources\":{\"objectSelector\":{"
                "\"matchLabels\":{\"strict\":\"yes\"}},\"excludeResourceRules\":[{\"apiGroups\":["
                "\"*\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":[\"*\"],"
                "\"resourceNames\":[\"free\"]}]}"),
        201);
    expect(f, "POST", CONFIG_MAPS, MAP("other", "{\"a\":\"1\",\"b\":\"2\"}"), 201);
#define STRICT(name, data)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"strict\":\"yes\"}},\"data\":" data "}"
    expect(f, "POST", CONFIG_MAPS, STRICT("free", "{\"a\":\"1\",\"b\":\"2\"}"), 201);
    assert_says(expect(f, "POST", CONFIG_MAPS, STRICT("s", "{\"a\":\"1\",\"b\":\"2\"}"), 422),
                "Invalid", "failed expression: request.operation == 'DELETE'");
    expect(f, "POST", CONFIG_MAPS, STRICT("s", "{\"a\":\"1\"}"), 201);
    expect(f, "DELETE", CONFIG_MAPS "/limits", NULL, 200);
    assert_says(expect(f, "POST", CONFIG_MAPS, STRICT("t", "{\"a\":\"1\"}"), 422), "Invalid",
                "no params found for policy binding");
    /* collections are deleted object by object */
    assert_says(expect(f, "DELETE", CONFIG_MAPS "?labelSelector=strict%3Dyes", NULL, 422),
                "Invalid", "no params found");
    expect(f, "DELETE", POLICIES "/p", NULL, 200);
    expect(f, "POST", CONFIG_MAPS, STRICT("t", "{\"a\":\"1\",\"b\":\"2\"}"), 201);
}

/* Nothing can keep a policy from being removed. */
static void nobody_is_locked_out_by_a_policy(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", POLICIES,
           "{\"metadata\":{\"name\":\"never\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":[{"
           "\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":["
           "\"*/*\"]}]},\"validations\":[{\"expression\":\"false\"}]}}",
           201);
    expect(f, "POST", BINDINGS, BINDING("b", "never", "\"validationActions\":[\"Deny\"]"), 201);
    expect(f, "POST", CONFIG_MAPS, MAP("m", "{}"), 422);
    expect(f, "DELETE", BINDINGS "/b", NULL, 200);
    expect(f, "POST", CONFIG_MAPS, MAP("m", "{}"), 201);
}

static void policies_that_cannot_be_asked_are_refused(void **state)
{
    static const struct {
        const char *body, *says;
    } bad[] = {
        {POLICY("x", "\"validations\":[{\"expression\":\"params.a == 1\"}]"),
         "undeclared reference to 'params'"},
        {POLICY("x", "\"validations\":[{\"expression\":\"authorizer.path('/').check('get')\"}]"),
         "undeclared reference to "},
        {POLICY("x", "\"validations\":[{\"expression\":\"variables.nothing\"}]"),
         "undefined field 'nothing'"},
        {POLICY("x", "\"variables\":[{\"name\":\"a\",\"expression\":\"variables.b\"},{\"name\":"
                     "\"b\",\"expression\":\"1\"}],\"validations\":[{\"expression\":\"true\"}]"),
         "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed"},
        {POLICY("x", "\"failurePolicy\":\"Fail\""), "spec.validations: Required value"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(bad); i++)
        assert_says(expect(f, "POST", POLICIES, bad[i].body, 422), "Invalid", bad[i].says);
    assert_says(expect(f, "POST", BINDINGS,
                       BINDING("x", "y", "\"validationActions\":[\"Deny\",\"Warn\"]"), 422),
                "Invalid", "must not contain both Deny and Warn");
    expect(f, "POST", BINDINGS, BINDING("x", "y", "\"validationActions\":[\"Often\"]"), 422);
}

static void versions_scale_and_columns(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    install(f);
    expect(f, "POST", TABS_BETA, TAB("a", "{\"cron\":\"5\"}"), 201);
    a = expect(f, "GET", TABS "/a", NULL, 200);
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "stable.example.com/v1");
    a = expect(f, "GET", TABS_BETA, NULL, 200);
    assert_string_equal(
        json_get_string(json_index(json_get(a.object, "items"), 0), "apiVersion", ""),
        "stable.example.com/v1beta1");
    a = expect(f, "PATCH", TABS "/a/scale", "{\"spec\":{\"replicas\":3}}", 200);
    assert_string_equal(json_get_string(a.object, "kind", ""), "Scale");
    assert_string_equal(spec_text(f, TABS "/a"), "{\"cron\":\"5\",\"replicas\":3}");
    expect(f, "PATCH", TABS "/a/scale", "{\"spec\":{\"replicas\":10}}", 422);
    expect(f, "GET", TABS_BETA "/a/scale", NULL, 404);
    expect(
        f, "PATCH", TABS "/a/status",
        "{\"status\":{\"conditions\":[{\"type\":\"Other\",\"status\":\"No\"},{\"type\":\"Ready\","
        "\"status\":\"True\"}]}}",
        200);
    ask_with(f, &a, "GET", TABS, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io", NULL);
    a = wait_for(f, &a);
    assert_string_equal(
        json_string(json_index(json_get(json_index(json_get(a.object, "rows"), 0), "cells"), 1),
                    ""),
        "True");
}

static void a_deleted_definition_takes_its_objects_along(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    install(f);
    expect(f, "POST", TABS, TAB("a", "{\"cron\":\"5\"}"), 201);
    expect(f, "DELETE", CRDS "/crontabs.stable.example.com", NULL, 200);
    expect(f, "POST", TABS, TAB("b", "{\"cron\":\"5\"}"), 405);
    do {
        fake_clock_advance(&f->clock, 100);
        a = ask(f, "GET", CRDS "/crontabs.stable.example.com", NULL);
    } while (a.status == 200);
    expect(f, "GET", TABS, NULL, 404);
    install(f); /* a new one begins with nothing */
    a = expect(f, "GET", TABS, NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 0);
}

static void definitions_survive_a_restart(void **state)
{
    struct fixture *f = *state;

    install(f);
    expect(f, "POST", TABS, TAB("a", "{\"cron\":\"5\"}"), 201);
    fixture_close(f);
    fixture_open(f);
    expect(f, "GET", TABS "/a", NULL, 200);
}

static void definitions_that_cannot_be_served(void **state)
{
    static const char start[] =
        "{\"metadata\":{\"name\":\"as.x.y\"},\"spec\":{\"group\":\"x.y\","
        "\"scope\":\"Cluster\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"}";
    static const struct {
        const char *versions, *says;
    } cases[] = {
        {"[]", "spec.versions: Required value"},
        {"[{\"name\":\"v1\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{"
         "\"type\":\"object\"}}}]",
         "must have exactly one version marked as storage version"},
        {"[{\"name\":\"v1\",\"served\":true,\"storage\":true}]",
         "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"},
        {"[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
         "\"type\":\"object\",\"properties\":{\"p\":{}}}}}]",
         "properties[p].type: Required value: must not be empty for specified object fields"},
    };
    struct fixture *f = *state;
    struct answer a;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        char body[1024];

        (void)snprintf(body, sizeof(body), "%s,\"versions\":%s}}", start, cases[i].versions);
        assert_says(expect(f, "POST", CRDS, body, 422), "Invalid", cases[i].says);
    }
    a = expect(f, "GET", CRDS "/pytorchtrainingjobs.batch.tensorstack.dev", NULL, 200);
    assert_string_equal(json_get_string(object_condition(a.object, "Established"), "status", ""),
                        "True");
    assert_says(expect(f, "DELETE", CRDS "/pytorchtrainingjobs.batch.tensorstack.dev", NULL, 403),
                "Forbidden", "is part of the server");
}

/* --- quotas ------------------------------------------------------------------------------ */

#define POD(name)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"

static struct answer used_of_quota(struct fixture *f)
{
    struct answer a;

    fake_clock_advance(&f->clock, 1000);
    do
        a = expect(f, "GET", QUOTAS "/q", NULL, 200);
    while (!json_at(a.object, "status", "used"));
    return a;
}

static void a_quota_holds_for_a_gang_made_in_one_turn(void **state)
{
    struct fixture *f = *state;
    struct answer first, second, third;

    expect(f, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"2\",\"count/configmaps\":"
           "\"1\"}}}",
           201);
    ask_with(f, &first, "POST", PODS, "application/json", NULL, POD("a"));
    ask_with(f, &second, "POST", PODS, "application/json", NULL, POD("b"));
    ask_with(f, &third, "POST", PODS, "application/json", NULL, POD("c"));
    assert_int_equal(wait_for(f, &first).status, 201);
    assert_int_equal(wait_for(f, &second).status, 201);
    third = wait_for(f, &third);
    assert_int_equal(third.status, 403);
    assert_says(third, "Forbidden",
                "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, "
                "limited: pods=2");
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
    expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"b\"}}", 403);
    assert_path(used_of_quota(f), "{\"pods\":\"2\",\"count/configmaps\":\"1\"}", "status", "used");
    expect(f, "DELETE", PODS "/a", NULL, 200);
    expect(f, "POST", PODS, POD("c"), 201);
}

static void a_pod_that_has_finished_frees_its_quota(void **state)
{
    struct fixture *f = *state;
    static const char *const ends[] = {"Succeeded", "Failed"};

    expect(f, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"1\"}}}", 201);
    expect(f, "POST", PODS, POD("first"), 201);
    for (size_t i = 0; i < ELEMS(ends); i++) {
        char body[200];

        expect(f, "POST", PODS, POD("second"), 403);
        (void)snprintf(body, sizeof(body), "{\"status\":{\"phase\":\"%s\"}}", ends[i]);
        expect(f, "PATCH", PODS "/first/status", body, 200);
        expect(f, "POST", PODS, POD("second"), 201);
        expect(f, "DELETE", PODS "/second?gracePeriodSeconds=0", NULL, 200);
        expect(f, "PATCH", PODS "/first/status", "{\"status\":{\"phase\":\"Running\"}}", 200);
    }
}

#define ASKING(name, spec, amounts)                                                                \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec "\"containers\":[{\"name\":\"c\","     \
    "\"resources\":{" amounts "}}]}}"

static void what_is_asked_for_does_not_wrap_a_quota(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"requests.cpu\":\"1\"}}}", 201);
    expect(f, "POST", PODS, ASKING("a", "", "\"requests\":{\"cpu\":\"1m\"}"), 201);
    assert_says(
        expect(f, "POST", PODS, ASKING("b", "", "\"requests\":{\"cpu\":\"9E\"}"), 403), "Forbidden",
        "pods \"b\" is forbidden: exceeded quota: q, requested: "
        "requests.cpu=9223372036854775807m, used: requests.cpu=1m, limited: requests.cpu=1");
    expect(f, "PATCH", QUOTAS "/q", "{\"spec\":{\"hard\":{\"requests.cpu\":\"9E\"}}}", 200);
    expect(f, "POST", PODS, ASKING("b", "", "\"requests\":{\"cpu\":\"9E\"}"), 201);
    expect(f, "POST", PODS, ASKING("c", "", "\"requests\":{\"cpu\":\"9E\"}"), 201);
    assert_path(used_of_quota(f), "{\"requests.cpu\":\"9223372036854775807m\"}", "status", "used");
}

static void overhead_counts_in_a_quota(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"requests.cpu\":\"1\"}}}", 201);
    assert_says(
        expect(f, "POST", PODS,
               ASKING("a", "\"overhead\":{\"cpu\":\"10\"},", "\"requests\":{\"cpu\":\"100m\"}"),
               403),
        "Forbidden", "requested: requests.cpu=10100m");
    assert_says(
        expect(f, "POST", PODS,
               ASKING("a", "\"overhead\":{\"cpu\":\"-10\"},", "\"requests\":{\"cpu\":\"100m\"}"),
               422),
        "Invalid",
        "spec.overhead[cpu]: Invalid value: \"-10\": must be greater than or equal to 0");
}

static void what_a_quota_is_about_must_be_said(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"requests.cpu\":\"1\",\"limits."
           "memory\":"
           "\"1Gi\",\"limits.cpu\":\"1\",\"requests.nvidia.com/gpu\":\"1\"}}}",
           201);
    assert_says(expect(f, "POST", PODS, POD("free"), 403), "Forbidden",
                "pods \"free\" is forbidden: failed quota: q: must specify limits.cpu for: c; "
                "limits.memory for: c; requests.cpu for: c");
    assert_says(expect(f, "POST", PODS,
                       ASKING("half", "\"initContainers\":[{\"name\":\"i\"}],",
                              "\"limits\":{\"cpu\":\"1\",\"memory\":\"0\"}"),
                       403),
                "Forbidden",
                "failed quota: q: must specify limits.cpu for: i; limits.memory for: i; "
                "requests.cpu for: i");
    expect(f, "POST", PODS, ASKING("all", "", "\"limits\":{\"cpu\":\"500m\",\"memory\":\"0\"}"),
           201);
    expect(
        f, "POST", "/api/v1/namespaces/default/limitranges",
        "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"default\":"
        "{\"cpu\":\"100m\",\"memory\":\"1Mi\"}}]}}",
        201);
    expect(f, "POST", PODS, POD("free"), 201);
}

static void a_limit_range_fills_in_what_containers_do_not_say(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(
        f, "POST", "/api/v1/namespaces/default/limitranges",
        "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"default\":"
        "{\"cpu\":\"1\"},\"defaultRequest\":{\"cpu\":\"100m\"},\"max\":{\"cpu\":\"2\"}}]}}",
        201);
    a = expect(f, "POST", PODS, POD("a"), 201);
    assert_string_equal(json_string(json_at(json_index(json_at(a.object, "spec", "containers"), 0),
                                            "resources", "limits", "cpu"),
                                    ""),
                        "1");
    assert_says(expect(f, "POST", PODS,
                       "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                       "\"resources\":{\"limits\":{\"cpu\":\"3\"}}}]}}",
                       403),
                "Forbidden", "maximum cpu usage per Container is 2, but limit is 3");
}

static void members_beside_the_known_ones_may_be_kept(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    install(f);
    a = expect(f, "POST", TABS, TAB("o", "{\"cron\":\"1\",\"open\":{\"known\":\"a\",\"x\":1}}"),
               201);
    assert_path(a, "{\"known\":\"a\",\"x\":1}", "spec", "open");
    expect(f, "POST", TABS, TAB("p", "{\"cron\":\"1\",\"open\":{\"known\":1}}"), 422);
}

/* --- services ---------------------------------------------------------------------------- */

#define SERVICES "/api/v1/namespaces/default/services"
#define SERVICE(name, more)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more "\"ports\":[{\"port\":80}]}}"

static void services_have_addresses_of_their_own(void **state)
{
    struct fixture *f = *state;
    struct answer a = expect(f, "POST", SERVICES, SERVICE("a", ""), 201);
    const char *address = json_string(json_at(a.object, "spec", "clusterIP"), "");
    char body[256];

    assert_int_equal(strncmp(address, "10.43.", 6), 0);
    assert_path(a, "[\"IPv4\"]", "spec", "ipFamilies");
    (void)snprintf(body, sizeof(body), SERVICE("b", "\"clusterIP\":\"%s\","), address);
    assert_says(expect(f, "POST", SERVICES, body, 422), "Invalid",
                "provided IP is already allocated");
    expect(f, "DELETE", SERVICES "/a", NULL, 200);
    expect(f, "POST", SERVICES, body, 201);
    a = expect(f, "POST", SERVICES, SERVICE("c", "\"clusterIP\":\"None\","), 201);
    assert_path(a, "[\"None\"]", "spec", "clusterIPs");
    assert_says(expect(f, "PUT", SERVICES "/b", SERVICE("b", "\"clusterIP\":\"10.43.9.9\","), 422),
                "Invalid", "may not change once set");
    expect(f, "PUT", SERVICES "/b", SERVICE("b", ""), 200); /* left out, it stays */
    a = expect(f, "GET", SERVICES "?fieldSelector=spec.clusterIP%3DNone", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    a = expect(f, "GET", SERVICES "?fieldSelector=spec.type%3DClusterIP", NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 2);
    a = expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
    assert_null(json_get(a.object, "spec"));
}

/* --- deletion and lists ------------------------------------------------------------------ */

static void deletion_by_policy_leaves_a_finalizer(void **state)
{
    static const struct {
        const char *policy, *finalizers;
    } cases[] = {{"Foreground", "[\"foregroundDeletion\"]"}, {"Orphan", "[\"orphan\"]"}};
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMS(cases); i++) {
        char body[64];
        struct answer a;

        expect(f, "POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
        (void)snprintf(body, sizeof(body), "{\"propagationPolicy\":\"%s\"}", cases[i].policy);
        a = expect(f, "DELETE", CONFIG_MAPS "/a", body, 200);
        assert_path(a, cases[i].finalizers, "metadata", "finalizers");
        expect(f, "DELETE", CONFIG_MAPS "/a", "{\"propagationPolicy\":\"Background\"}", 200);
        expect(f, "GET", CONFIG_MAPS "/a", NULL, 404);
    }
    assert_says(expect(f, "DELETE", CONFIG_MAPS "/a",
                       "{\"propagationPolicy\":\"Orphan\",\"orphanDependents\":true}", 422),
                "Invalid", "cannot be both set");
}

static void an_eviction_can_be_tried(void **state)
{
    struct fixture *f = *state;

    expect(f, "POST", PODS, POD("a"), 201);
    expect(f, "POST", PODS "/a/eviction", "{\"deleteOptions\":{\"dryRun\":[\"All\"]}}", 201);
    expect(f, "GET", PODS "/a", NULL, 200);
    expect(f, "POST", PODS "/a/eviction", "{}", 201);
    expect(f, "GET", PODS "/a", NULL, 404);
}

static void pages_say_what_is_left_and_go_on_when_they_are_old(void **state)
{
    struct fixture *f = *state;
    struct answer a;
    char path[512];

    fixture_close(f);
    f->options.window_events = 2;
    fixture_open(f);
    for (int i = 0; i < 5; i++) {
        char body[64];

        (void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"c%d\"}}", i);
        expect(f, "POST", CONFIG_MAPS, body, 201);
    }
    a = expect(f, "GET", CONFIG_MAPS "?limit=2", NULL, 200);
    assert_path(a, "3", "metadata", "remainingItemCount");
    for (int i = 0; i < 4; i++)
        expect(f, "PATCH", CONFIG_MAPS "/c0",
               i % 2 ? "{\"data\":{\"a\":\"1\"}}" : "{\"data\":null}", 200);
    for (int i = 0; i < 4; i++)
        expect(f, "PATCH", CONFIG_MAPS "/c4",
               i % 2 ? "{\"data\":null}" : "{\"data\":{\"a\":\"1\"}}", 200);
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?limit=2&continue=%s",
                   json_string(json_at(a.object, "metadata", "continue"), ""));
    a = expect(f, "GET", path, NULL, 410);
    assert_string_equal(reason_of(a), "Expired");
    (void)snprintf(path, sizeof(path), CONFIG_MAPS "?limit=2&continue=%s",
                   json_string(json_at(a.object, "metadata", "continue"), ""));
    a = expect(f, "GET", path, NULL, 200);
    assert_string_equal(object_name(json_index(json_get(a.object, "items"), 0)), "c2");
    assert_path(a, "1", "metadata", "remainingItemCount");
    a = expect(f, "GET", CONFIG_MAPS "?limit=1&labelSelector=!x", NULL, 200);
    assert_null(json_at(a.object, "metadata", "remainingItemCount"));
    expect(f, "GET", CONFIG_MAPS "?resourceVersionMatch=Exact", NULL, 422);
    expect(f, "GET", CONFIG_MAPS "?resourceVersionMatch=Odd&resourceVersion=1", NULL, 422);
    expect(f, "GET", CONFIG_MAPS "?resourceVersionMatch=Exact&resourceVersion=0", NULL, 422);
}

static void events_have_two_faces(void **state)
{
    struct fixture *f = *state;
    struct answer a;

    expect(
        f, "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
        "{\"metadata\":{\"name\":\"e\"},\"regarding\":{\"kind\":\"Pod\",\"name\":\"p\"},\"note\":"
        "\"n\",\"reason\":\"R\",\"reportingController\":\"c\",\"type\":\"Normal\"}",
        201);
    a = expect(f, "GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=p",
               NULL, 200);
    assert_int_equal(json_len(json_get(a.object, "items")), 1);
    assert_string_equal(json_get_string(json_index(json_get(a.object, "items"), 0), "message", ""),
                        "n");
    a = expect(f, "GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", NULL, 200);
    assert_string_equal(json_get_string(a.object, "note", ""), "n");
    assert_string_equal(json_get_string(a.object, "apiVersion", ""), "events.k8s.io/v1");
    assert_null(json_get(a.object, "involvedObject"));
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        test(objects_are_defaulted_pruned_and_checked),
        test(rules_of_installed_kinds_are_run),
        test(what_did_not_change_is_not_judged_again),
        test(rules_that_cannot_be_run_are_refused),
        test(policies_are_asked_before_a_write),
        test(policies_match_by_selectors_names_and_params),
        test(nobody_is_locked_out_by_a_policy),
        test(policies_that_cannot_be_asked_are_refused),
        test(versions_scale_and_columns),
        test(members_beside_the_known_ones_may_be_kept),
        test(a_deleted_definition_takes_its_objects_along),
        test(definitions_survive_a_restart),
        test(definitions_that_cannot_be_served),
        test(a_quota_holds_for_a_gang_made_in_one_turn),
        test(a_pod_that_has_finished_frees_its_quota),
        test(what_is_asked_for_does_not_wrap_a_quota),
        test(overhead_counts_in_a_quota),
        test(what_a_quota_is_about_must_be_said),
        test(a_limit_range_fills_in_what_containers_do_not_say),
        test(services_have_addresses_of_their_own),
        test(deletion_by_policy_leaves_a_finalizer),
        test(an_eviction_can_be_tried),
        test(pages_say_what_is_left_and_go_on_when_they_are_old),
        test(events_have_two_faces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
