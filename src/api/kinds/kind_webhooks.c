/*
 * kind_webhooks.c - ValidatingWebhookConfiguration and MutatingWebhookConfiguration
 * (admissionregistration.k8s.io/v1): programs that are asked before objects are written, by
 * server/webhooks.c.
 */
#include <string.h>

#include "api/columns.h"
#include "api/kinds/admission_parts.h"
#include "api/kinds/pod_parts.h"
#include "api/object.h"

#define SERVED_REVIEW "v1"

static const char *const side_effects[] = {"None", "NoneOnDryRun", NULL};
static const char *const reinvocations[] = {"Never", "IfNeeded", NULL};

static const struct field rule_fields[] = {ADMISSION_RULE_FIELDS(0, 2), {0}};

#define WEBHOOK_FIELDS(object_selector, conditions)                                                \
    F_STR("name", "Name, a domain such as check.example.com.", P(1),                               \
          .flags = FIELD_REQUIRED | FIELD_DNS_NAME),                                               \
        F_OBJ("clientConfig", webhook_client_fields, "What to call.", P(2), REQUIRED),             \
        F_OBJS("rules", rule_fields, "Requests that match.", P(3),                                 \
               .max_items = ADMISSION_LIST_LIMIT),                                                 \
        F_STR("failurePolicy",                                                                     \
              "Whether a call that fails refuses the request (Fail) or not (Ignore).", PZ(4),      \
              ONE_OF(admission_failures), DEFAULT("\"Fail\"")),                                    \
        F_STR("matchPolicy", "Whether other versions of a resource count.", PZ(9),                 \
              ONE_OF(admission_policies), DEFAULT("\"Equivalent\"")),                              \
        F_OBJ("namespaceSelector", label_selector_fields,                                          \
              "Selects by the labels of the object's namespace.", P(5), DEFAULT("{}")),            \
        F_OBJ("objectSelector", label_selector_fields, "Selects by the labels of the object.",     \
              P(object_selector), DEFAULT("{}")),                                                  \
        F_STR("sideEffects", "What a call changes elsewhere: None, or NoneOnDryRun.", PZ(6),       \
              REQUIRED, ONE_OF(side_effects)),                                                     \
        F_INT32("timeoutSeconds", "Seconds until a call counts as failed.", PZ(7), BETWEEN(1, 30), \
                DEFAULT("10")),                                                                    \
        F_STRS("admissionReviewVersions", "Versions of AdmissionReview it reads.", P(8),           \
               .flags = FIELD_REQUIRED | FIELD_NON_EMPTY),                                         \
        F_OBJS("matchConditions", admission_condition_fields,                                      \
               "Conditions that must all be true for a call.", P(conditions), KEYED_BY("name"),    \
               .max_items = ADMISSION_LIST_LIMIT)

static const struct field validating_webhook_fields[] = {WEBHOOK_FIELDS(10, 11), {0}};

static const struct field mutating_webhook_fields[] = {
    WEBHOOK_FIELDS(11, 12),
    F_STR("reinvocationPolicy", "Whether it is called again after others changed the object.",
          PZ(10), ONE_OF(reinvocations), DEFAULT("\"Never\"")),
    {0}};

#define F_WEBHOOKS(fields)                                                                         \
    F_OBJS("webhooks", fields, "The programs and when they are called.", P(2), KEYED_BY("name"),   \
           .max_items = ADMISSION_LIST_LIMIT)

static const struct field validating_fields[] = {F_WEBHOOKS(validating_webhook_fields), {0}};
static const struct field mutating_fields[] = {F_WEBHOOKS(mutating_webhook_fields), {0}};

/* --- validation ----------------------------------------------------------------------------- */

static void check_url(const struct json *url, const struct field_path *at, struct err *err)
{
    static const char scheme[] = "https://";
    const char *text = json_string(url, ""), *host = text + sizeof(scheme) - 1;
    size_t host_len;

    if (strncmp(text, scheme, sizeof(scheme) - 1) != 0) {
        problem_invalid(err, at, url, "'https' is the only allowed URL scheme");
        return;
    }
    host_len = strcspn(host, "/?#");
    if (host_len == 0)
        problem_invalid(err, at, url, "host must be specified");
    if (memchr(host, '@', host_len))
        problem_invalid(err, at, url, "user information is not permitted in the URL");
    if (strchr(host, '?') || strchr(host, '#'))
        problem_invalid(err, at, url, "queries and fragments are not permitted in the URL");
    for (const char *c = host; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f) {
            problem_invalid(err, at, url, "must not contain spaces or control characters");
            break;
        }
}

static void check_service(const struct json *service, const struct field_path *at, struct err *err)
{
    const struct json *path = json_get(service, "path");
    const char *text = json_string(path, "/"), *ns = json_get_string(service, "namespace", "");
    const char *name = json_get_string(service, "name", "");

    if (*ns && dns_label_problem(ns))
        problem_invalid(err, PATH_MEMBER(at, "namespace"), json_get(service, "namespace"),
                        "must be the name of a namespace");
    if (*name && dns_label_problem(name))
        problem_invalid(err, PATH_MEMBER(at, "name"), json_get(service, "name"),
                        "must be the name of a service");
    if (*text != '/' || strpbrk(text, "?# \r\n\t"))
        problem_invalid(err, PATH_MEMBER(at, "path"), path,
                        "must begin with '/' and have neither a query nor spaces");
}

static void check_client(const struct json *client, const struct field_path *at, struct err *err)
{
    const struct json *url = json_get(client, "url"), *service = json_get(client, "service");

    if (!client)
        return;
    if (!url == !service)
        problem_required(err, at, client->line, "exactly one of url or service is required");
    else if (url)
        check_url(url, PATH_MEMBER(at, "url"), err);
    else
        check_service(service, PATH_MEMBER(at, "service"), err);
}

static bool has_three_parts(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot && strchr(dot + 1, '.');
}

static void check_webhook(struct arena *a, const struct json *hook, const struct field_path *at,
                          struct err *err)
{
    const struct admission_scope scope = admission_scope(a, NULL, 0);
    const struct json *name = json_get(hook, "name");
    const struct json *versions = json_get(hook, "admissionReviewVersions");

    if (json_is(name, JSON_STRING) && !has_three_parts(name->u.text))
        problem_invalid(err, PATH_MEMBER(at, "name"), name,
                        "should be a domain with at least three segments separated by dots");
    if (json_len(versions) && !json_has(versions, SERVED_REVIEW))
        problem_invalid(err, PATH_MEMBER(at, "admissionReviewVersions"), versions,
                        "must include " SERVED_REVIEW);
    check_client(json_get(hook, "clientConfig"), PATH_MEMBER(at, "clientConfig"), err);
    admission_check_rules(json_get(hook, "rules"), PATH_MEMBER(at, "rules"), err);
    admission_check_conditions(a, &scope, json_get(hook, "matchConditions"),
                               PATH_MEMBER(at, "matchConditions"), err);
}

static void validate(const struct json *configuration, const struct json *old, struct err *err)
{
    struct arena a = ARENA_INIT(ADMISSION_MEMORY_BYTES);
    const struct field_path at = {.name = "webhooks"};
    size_t i = 0;

    (void)old;
    json_each (hook, json_get(configuration, "webhooks"))
        check_webhook(&a, hook, PATH_INDEX(&at, i++), err);
    arena_release(&a);
}

static void warn(const struct json *configuration, void (*say)(void *arg, const char *text),
                 void *arg)
{
    json_each (hook, json_get(configuration, "webhooks"))
        json_each (rule, json_get(hook, "rules"))
            if (json_has(json_get(rule, "operations"), "CONNECT"))
                say(arg, "webhooks.rules.operations: CONNECT does nothing: webhooks are not asked "
                         "about exec, attach, port-forward and proxy");
}

/* --- columns -------------------------------------------------------------------------------- */

static struct json *render_count(struct arena *a, const struct json *configuration, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_get(configuration, "webhooks")));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Webhooks", "integer", "How many webhooks.", .render = render_count),
    COLUMN_AGE,
    {0}};

const struct kind kind_validating_webhooks = {
    KIND_NAMES("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
               "validatingwebhookconfigurations", "validatingwebhookconfiguration"),
    .has_generation = true,
    .doc = "ValidatingWebhookConfiguration names programs that may refuse a write.",
    .fields = validating_fields,
    .columns = columns,
    .validate = validate,
    .warn = warn};

const struct kind kind_mutating_webhooks = {
    KIND_NAMES("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
               "mutatingwebhookconfigurations", "mutatingwebhookconfiguration"),
    .has_generation = true,
    .doc = "MutatingWebhookConfiguration names programs that may change what is written.",
    .fields = mutating_fields,
    .columns = columns,
    .validate = validate,
    .warn = warn};
