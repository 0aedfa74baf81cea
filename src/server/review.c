/*
 * review.c - "may I?" (kubectl auth can-i). Who has the token may do everything there is; the
 * answer is the question with its status filled in, and nothing is stored.
 */
#include <string.h>

#include "server/internal.h"

static void add_word(struct arena *a, struct json *object, const char *name)
{
    json_append_string(a, json_make_array(a, object, name), "*");
}

static void allow_access(struct arena *a, struct json *status)
{
    json_set_bool(a, status, "allowed", true);
    json_set_string(a, status, "reason", "who has the token may do everything");
}

static void allow_rules(struct arena *a, struct json *status)
{
    struct json *rule;

    rule = json_append(json_make_array(a, status, "resourceRules"), json_new_object(a));
    add_word(a, rule, "verbs");
    add_word(a, rule, "apiGroups");
    add_word(a, rule, "resources");
    rule = json_append(json_make_array(a, status, "nonResourceRules"), json_new_object(a));
    add_word(a, rule, "verbs");
    add_word(a, rule, "nonResourceURLs");
    json_set_bool(a, status, "incomplete", false);
}

static int review(struct server_request *r, const char *kind,
                  void (*allow)(struct arena *a, struct json *status), struct err *err)
{
    struct json *object = object_parse(r->arena, r->content_type, r->body, r->body_len,
                                       request_warn, r, err);

    if (!object)
        return -1;
    if (!json_is(object, JSON_OBJECT) || !json_string_is(json_get(object, "kind"), kind))
        return err_set(err, ERR_BAD_REQUEST, "a %s is expected", kind);
    (void)json_remove(object, "status");
    (void)json_make_object(r->arena, object, "metadata");
    allow(r->arena, json_make_object(r->arena, object, "status"));
    reply_json(r, 201, object);
    return 0;
}

int verb_access_review(struct server_request *r, struct err *err)
{
    return review(r, "SelfSubjectAccessReview", allow_access, err);
}

int verb_rules_review(struct server_request *r, struct err *err)
{
    return review(r, "SelfSubjectRulesReview", allow_rules, err);
}
