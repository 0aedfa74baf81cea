/*
 * reviews.c - questions about oneself: what may I do, who am I (authorization.k8s.io,
 * authentication.k8s.io). They are answered and not stored. Whoever asks may be acting as
 * another (impersonate.h): the answer is about that one.
 */
#include <string.h>

#include "server/endpoints.h"
#include "server/rbac.h"

/* --- answers --------------------------------------------------------------------------- */

static bool may_access(struct server_request *r, const struct json *asked)
{
    const struct access what = {.verb = json_get_string(asked, "verb", ""),
                                .group = json_get_string(asked, "group", ""),
                                .resource = json_get_string(asked, "resource", ""),
                                .subresource = json_get_string(asked, "subresource", ""),
                                .ns = json_get_string(asked, "namespace", ""),
                                .name = json_get_string(asked, "name", "")};

    return rbac_allows(r->server, r->arena, r->caller, &what);
}

/* What is no resource - discovery, health, the version - everybody may read. */
static bool may_ask(struct server_request *r, const struct json *spec)
{
    const struct json *resource = json_get(spec, "resourceAttributes");

    if (json_is(resource, JSON_OBJECT))
        return may_access(r, resource);
    return caller_may_everything(r->caller) ||
           json_string_is(json_at(spec, "nonResourceAttributes", "verb"), "get");
}

static int fill_access(struct server_request *r, struct json *review, struct err *err)
{
    const struct json *spec = json_get(review, "spec");
    bool resource = json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
    bool path = json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);
    static const char says[] =
        "exactly one of nonResourceAttributes or resourceAttributes must be specified";

    if (resource == path) {
        err_set(err, ERR_INVALID,
                "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: "
                "spec.resourceAttributes: Invalid value: %s",
                says);
        err_cause(err, "FieldValueInvalid", "spec.resourceAttributes", 0, "Invalid value: %s",
                  says);
        return err_errno(ERR_INVALID);
    }
    json_set_bool(r->arena, json_make_object(r->arena, review, "status"), "allowed",
                  may_ask(r, spec));
    return 0;
}

static void add_star(struct arena *a, struct json *rule, const char *name)
{
    json_append_string(a, json_make_array(a, rule, name), "*");
}

static int fill_rules(struct server_request *r, struct json *review, struct err *err)
{
    struct json *status = json_make_object(r->arena, review, "status"), *rule;

    (void)err;
    if (!caller_may_everything(r->caller)) {
        rbac_list_rules(r->server, r->arena, r->caller,
                        json_string(json_at(review, "spec", "namespace"), ""),
                        json_make_array(r->arena, status, "resourceRules"));
        (void)json_make_array(r->arena, status, "nonResourceRules");
        json_set_bool(r->arena, status, "incomplete", false);
        return 0;
    }
    rule = json_append(json_make_array(r->arena, status, "resourceRules"),
                       json_new_object(r->arena));
    add_star(r->arena, rule, "verbs");
    add_star(r->arena, rule, "apiGroups");
    add_star(r->arena, rule, "resources");
    rule = json_append(json_make_array(r->arena, status, "nonResourceRules"),
                       json_new_object(r->arena));
    add_star(r->arena, rule, "verbs");
    add_star(r->arena, rule, "nonResourceURLs");
    json_set_bool(r->arena, status, "incomplete", false);
    return 0;
}

static int fill_self(struct server_request *r, struct json *review, struct err *err)
{
    struct json *status = json_make_object(r->arena, review, "status");
    struct json *user = json_make_object(r->arena, status, "userInfo");
    const struct caller *who = r->caller;
    struct json *groups;

    (void)err;
    json_set_string(r->arena, user, "username", who->user);
    if (*who->uid)
        json_set_string(r->arena, user, "uid", who->uid);
    groups = json_make_array(r->arena, user, "groups");
    for (const char *const *g = who->groups; *g; g++)
        json_append_string(r->arena, groups, *g);
    if (who->extra)
        json_set(r->arena, user, "extra", json_clone(r->arena, who->extra));
    return 0;
}

/* --- the table ------------------------------------------------------------------------- */

#define AUTHORIZATION .group = "authorization.k8s.io", .version = "v1"

static const struct kind access_review = {AUTHORIZATION, .name = "SelfSubjectAccessReview",
                                          .plural = "selfsubjectaccessreviews",
                                          .singular = "selfsubjectaccessreview"};
static const struct kind rules_review = {AUTHORIZATION, .name = "SelfSubjectRulesReview",
                                         .plural = "selfsubjectrulesreviews",
                                         .singular = "selfsubjectrulesreview"};
static const struct kind self_review = {.group = "authentication.k8s.io",
                                        .version = "v1",
                                        .name = "SelfSubjectReview",
                                        .plural = "selfsubjectreviews",
                                        .singular = "selfsubjectreview"};

const struct kind *const review_kinds[] = {
    &access_review,    &rules_review,   &self_review,         &kind_node_metrics,
    &kind_pod_metrics, &kind_endpoints, &kind_endpoint_slice, NULL};

static const struct {
    const struct kind *kind;
    int (*fill)(struct server_request *r, struct json *review, struct err *err);
} answers[] = {
    {&access_review, fill_access}, {&rules_review, fill_rules}, {&self_review, fill_self}};

const struct kind *review_find(const char *group, const char *version, const char *plural)
{
    for (const struct kind *const *k = review_kinds; *k; k++)
        if (strcmp((*k)->group, group) == 0 && strcmp((*k)->version, version) == 0 &&
            strcmp((*k)->plural, plural) == 0)
            return *k;
    return NULL;
}

static int check_kind(struct server_request *r, const struct kind *k, struct json *review,
                      struct err *err)
{
    const char *api_version = kind_api_version(r->arena, k);

    if (!json_is(review, JSON_OBJECT) ||
        strcmp(json_get_string(review, "kind", k->name), k->name) != 0)
        return err_set(err, ERR_BAD_REQUEST, "a %s object is expected here", k->name);
    json_set_string(r->arena, review, "kind", k->name);
    json_set_string(r->arena, review, "apiVersion", api_version);
    json_set(r->arena, json_make_object(r->arena, review, "metadata"), "creationTimestamp",
             json_new_null(r->arena));
    return 0;
}

int review_answer(struct server_request *r, const struct kind *k, struct err *err)
{
    struct json *review;
    int rc;

    if (strcmp(r->method, "POST") != 0)
        return err_set(err, ERR_METHOD_NOT_ALLOWED,
                       "the server does not allow this method on the requested resource");
    review = object_parse(r->arena, r->content_type, r->body, r->body_len, request_warn, r, err);
    if (!review)
        return -1;
    rc = check_kind(r, k, review, err);
    for (size_t i = 0; i < ELEMS(answers) && rc == 0; i++)
        if (answers[i].kind == k)
            rc = answers[i].fill(r, review, err);
    if (rc == 0)
        reply_json(r, 201, review);
    return rc;
}
