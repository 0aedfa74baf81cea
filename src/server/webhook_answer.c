/* webhook_answer.c - reads what a webhook answered: an AdmissionReview. Trusts nothing in it. */
#include <string.h>

#include "base/base64.h"
#include "server/webhooks.h"

#define MESSAGE_LIMIT_BYTES (16u * 1024u)

static int read_patch(struct arena *a, const struct json *response, struct webhook_answer *ret,
                      struct err *err)
{
    const struct json *patch = json_get(response, "patch");
    const char *type = json_get_string(response, "patchType", "");
    auto_err problem = ERR_INIT;
    size_t len = 0;
    char *text;

    if (json_is_null(patch) || (json_is(patch, JSON_STRING) && patch->len == 0))
        return 0;
    if (strcmp(type, "JSONPatch") != 0)
        return err_set(err, ERR_INTERNAL, "the answer's patchType must be JSONPatch, not \"%.64s\"",
                       type);
    text = json_is(patch, JSON_STRING) ? base64_decode(a, patch->u.text, patch->len, &len) : NULL;
    if (!text)
        return err_set(err, ERR_INTERNAL, "the answer's patch is not base64");
    ret->patch = json_parse(a, text, len, &problem);
    if (!json_is(ret->patch, JSON_ARRAY))
        return err_set(err, ERR_INTERNAL, "the answer's patch is not a JSON patch: %s",
                       problem.text ? problem.text : "it is not a list");
    return 0;
}

int webhook_answer_read(struct arena *a, const char *text, size_t len, const char *uid,
                        struct webhook_answer *ret, struct err *err)
{
    auto_err problem = ERR_INIT;
    const struct json *review = json_parse(a, text, len, &problem), *response;

    *ret = (struct webhook_answer){.allowed = false};
    if (!review)
        return err_set(err, ERR_INTERNAL, "the answer is not JSON: %s",
                       problem.text ? problem.text : "");
    if (!json_string_is(json_get(review, "kind"), "AdmissionReview") ||
        !json_string_is(json_get(review, "apiVersion"), "admission.k8s.io/v1"))
        return err_set(err, ERR_INTERNAL,
                       "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
                       "got %.64s, Kind=%.64s",
                       json_get_string(review, "apiVersion", ""),
                       json_get_string(review, "kind", ""));
    response = json_get(review, "response");
    if (!json_is(response, JSON_OBJECT))
        return err_set(err, ERR_INTERNAL, "webhook response was absent");
    if (!json_string_is(json_get(response, "uid"), uid))
        return err_set(err, ERR_INTERNAL, "expected response.uid=\"%s\", got \"%.64s\"", uid,
                       json_get_string(response, "uid", ""));
    if (!json_is(json_get(response, "allowed"), JSON_BOOL))
        return err_set(err, ERR_INTERNAL, "the answer does not say whether it is allowed");
    ret->allowed = json_get_bool(response, "allowed", false);
    ret->warnings = json_get(response, "warnings");
    ret->status = json_get(response, "status");
    return ret->allowed ? read_patch(a, response, ret, err) : 0;
}

/* A refusal is one, whatever code it comes with. */
static enum err_reason reason_of(const struct json *status)
{
    int64_t code = json_get_int(status, "code", 0);
    enum err_reason named = err_reason_from_name(json_get_string(status, "reason", ""));

    if (code < 400 || code > 599)
        return ERR_BAD_REQUEST;
    if (err_http_code(named) == code)
        return named;
    return err_reason_from_code((int)code, code < 500 ? ERR_BAD_REQUEST : ERR_INTERNAL);
}

int webhook_answer_refuse(const struct webhook_answer *answer, const char *hook, struct err *err)
{
    const char *message = json_get_string(answer->status, "message", "");
    enum err_reason reason = reason_of(answer->status);

    if (!*message)
        message = json_get_string(answer->status, "reason", "");
    err_set(err, reason, "admission webhook \"%s\" denied the request%s%.*s", hook,
            *message ? ": " : " without explanation", (int)MESSAGE_LIMIT_BYTES, message);
    json_each (cause, json_at(answer->status, "details", "causes"))
        err_cause(err, json_get_string(cause, "reason", ""), json_get_string(cause, "field", ""), 0,
                  "%s", json_get_string(cause, "message", ""));
    return err_errno(reason);
}
