/*
 * reviews.c - reviews about the caller itself: what may I do, who am I (authorization.k8s.io,
 * authentication.k8s.io). They are answered, not stored. The caller may be impersonating
 * (impersonate.h): then they are about that user.
 *
 * And about others, for callers with the right to ask: whose token is this, what may that user do.
 * A node uses them to check its own callers (door/).
 */
#include <string.h>

#include "server/endpoints.h"
#include "server/rbac.h"

/* --- answers --------------------------------------------------------------------------- */

static bool may_access(struct server_request *r, const struct caller *who, const struct json *asked)
{
    const struct access what = {.verb = json_get_string(asked, "verb", ""),
                                .group = json_get_string(asked, "group", ""),
                                .resource = json_get_string(asked, "resource", ""),
                                .subresource = json_get_string(asked, "subresource", ""),
                                .ns = json_get_string(asked, "namespace", ""),
                                .name = json_get_string(asked, "name", "")};

    return rbac_allows(r->server, r->arena, who, &what);
}

/* Everyone may read non-resource paths other than metrics: discovery, health, the version. */
static bool may_ask(struct server_request *r, const struct caller *who, const struct json *spec)
{
    const struct json *resource = json_get(spec, "resourceAttributes");
    const struct json *asked = json_get(spec, "nonResourceAttributes");
    const struct access what = {.verb = json_get_string(asked, "verb", ""),
                                .path = json_get_string(asked, "path", "")};

    if (json_is(resource, JSON_OBJECT))
        return may_access(r, who, resource);
    return (strcmp(what.verb, "get") == 0 && strcmp(what.path, METRICS_PATH) != 0) ||
           rbac_allows(r->server, r->arena, who, &what);
}

static int answer_access(struct server_request *r, const struct caller *who, struct json *review,
                         struct err *err)
{
    const struct json *spec = json_get(review, "spec");
    bool resource = json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
    bool path = json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);
    static const char says[] =
        "exactly one of nonResourceAttributes or resourceAttributes must be specified";

    if (resource == path) {
        err_set(err, ERR_INVALID,
                "%s.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: "
                "%s",
                json_get_string(review, "kind", ""), says);
        err_cause(err, "FieldValueInvalid", "spec.resourceAttributes", 0, "Invalid value: %s",
                  says);
        return err_errno(ERR_INVALID);
    }
    json_set_bool(r->arena, json_make_object(r->arena, review, "status"), "allowed",
                  may_ask(r, who, spec));
    return 0;
}

static int fill_access(struct server_request *r, struct json *review, struct err *err)
{
    return answer_access(r, r->caller, review, err);
}

/* Reviews about others need a right; as nothing is stored, no route has checked it. */
static int check_may_review(struct server_request *r, const struct kind *k, struct err *err)
{
    const struct access what = {.verb = "create",
                                .group = k->group,
                                .resource = k->plural,
                                .subresource = "",
                                .ns = "",
                                .name = ""};

    return rbac_check_access(r, &what, err);
}

static int fill_subject(struct server_request *r, struct json *review, struct err *err)
{
    const struct json *spec = json_get(review, "spec");
    struct caller who = {.kind = CALLER_IMPERSONATED,
                         .user = json_get_string(spec, "user", ""),
                         .uid = json_get_string(spec, "uid", ""),
                         .groups = json_strings(r->arena, json_get(spec, "groups")),
                         .extra = json_get(spec, "extra")};
    int rc = check_may_review(r, &kind_subject_review, err);

    if (rc < 0)
        return rc;
    if (!who.groups)
        return out_of_memory(err);
    if (!*who.user && !who.groups[0]) {
        err_set(err, ERR_INVALID,
                "SubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.user: Invalid "
                "value: \"\": at least one of user or group must be specified");
        err_cause(err, "FieldValueInvalid", "spec.user", 0,
                  "Invalid value: \"\": at least one of user or group must be specified");
        return err_errno(ERR_INVALID);
    }
    caller_split_account(r->arena, &who);
    return answer_access(r, &who, review, err);
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
                        json_make_array(r->arena, status, "resourceRules"),
                        json_make_array(r->arena, status, "nonResourceRules"));
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

static void add_user(struct server_request *r, const struct caller *who, struct json *user)
{
    struct json *groups;

    json_set_string(r->arena, user, "username", who->user);
    if (*who->uid)
        json_set_string(r->arena, user, "uid", who->uid);
    groups = json_make_array(r->arena, user, "groups");
    for (const char *const *g = who->groups; *g; g++)
        json_append_string(r->arena, groups, *g);
    if (who->extra)
        json_set(r->arena, user, "extra", json_clone(r->arena, who->extra));
}

static int fill_self(struct server_request *r, struct json *review, struct err *err)
{
    struct json *status = json_make_object(r->arena, review, "status");

    (void)err;
    add_user(r, r->caller, json_make_object(r->arena, status, "userInfo"));
    return 0;
}

static int fill_token(struct server_request *r, struct json *review, struct err *err)
{
    const char *token = json_string(json_at(review, "spec", "token"), "");
    struct json *status = json_make_object(r->arena, review, "status");
    const struct json *audiences;
    const struct caller *who;
    int rc = check_may_review(r, &kind_token_review, err);

    if (rc < 0)
        return rc;
    if (!*token)
        return err_set(err, ERR_BAD_REQUEST, "token is required for TokenReview in authentication");
    who = token_caller_for(r->server, r->arena, token, json_at(review, "spec", "audiences"),
                           &audiences);
    if (who) {
        json_set_bool(r->arena, status, "authenticated", true);
        add_user(r, who, json_make_object(r->arena, status, "user"));
        json_set(r->arena, status, "audiences", json_clone(r->arena, audiences));
    } else {
        json_set_string(r->arena, status, "error",
                        audiences ? "the token is not valid here"
                                  : "the token is not for the requested audiences");
    }
    return 0;
}

/* --- the table ------------------------------------------------------------------------- */

const struct kind *const review_kinds[] = {&kind_access_review,
                                           &kind_rules_review,
                                           &kind_subject_review,
                                           &kind_self_review,
                                           &kind_token_review,
                                           &kind_node_metrics,
                                           &kind_pod_metrics,
                                           &kind_endpoints,
                                           &kind_endpoint_slice,
                                           &kind_binding,
                                           NULL};

static const struct {
    const struct kind *kind;
    int (*fill)(struct server_request *r, struct json *review, struct err *err);
} answers[] = {{&kind_access_review, fill_access},
               {&kind_rules_review, fill_rules},
               {&kind_subject_review, fill_subject},
               {&kind_self_review, fill_self},
               {&kind_token_review, fill_token}};

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
    review = object_parse(r->arena, k, r->content_type, r->body, r->body_len, request_warn, r, err);
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
