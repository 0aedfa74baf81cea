/* status.c - see status.h. */
#include "api/status.h"

#include <string.h>

#include "api/protobuf.h"

#define BODY_TEXT_LIMIT 300
#define NAME_LIMIT 65536u /* so that the answer fits its memory */

static struct json *causes_of(struct arena *a, const struct err *e)
{
    struct json *list = json_new_array(a);

    for (const struct err_cause *c = e->causes; c; c = c->next) {
        struct json *cause = json_append(list, json_new_object(a));

        json_set_string(a, cause, "reason", c->type);
        json_set_string(a, cause, "message", c->text);
        if (*c->field)
            json_set_string(a, cause, "field", c->field);
    }
    return list;
}

static struct json *details_of(struct arena *a, const struct err *e, const struct kind *k,
                               const char *name)
{
    struct json *details = json_new_object(a);
    bool of_object = e->reason != ERR_BAD_REQUEST && e->reason != ERR_METHOD_NOT_ALLOWED &&
                     e->reason != ERR_NOT_ACCEPTABLE && e->reason != ERR_UNSUPPORTED_MEDIA;

    /* As on the real server, errors of the request itself do not name an object. */
    if (of_object && name && *name && strlen(name) <= NAME_LIMIT)
        json_set_string(a, details, "name", name);
    if (of_object && k && *k->group)
        json_set_string(a, details, "group", k->group);
    if (of_object && k)
        json_set_string(a, details, "kind", e->reason == ERR_INVALID ? k->name : k->plural);
    if (e->causes)
        json_set(a, details, "causes", causes_of(a, e));
    return details;
}

struct json *status_from_err(struct arena *a, const struct err *e, const struct kind *k,
                             const char *name)
{
    struct json *s = json_new_object(a), *details = details_of(a, e, k, name);
    enum err_reason reason = e->reason ? e->reason : ERR_INTERNAL;
    const char *text = e->text ? e->text : "";

    json_set_string(a, s, "kind", "Status");
    json_set_string(a, s, "apiVersion", "v1");
    json_set(a, s, "metadata", json_new_object(a));
    json_set_string(a, s, "status", "Failure");
    if (e->hint)
        json_set_stringf(a, s, "message", "%s; %s", text, e->hint);
    else
        json_set_string(a, s, "message", text);
    json_set_string(a, s, "reason", err_reason_name(reason));
    if (json_len(details))
        json_set(a, s, "details", details);
    json_set_int(a, s, "code", err_http_code(reason));
    return s;
}

static const char *kept(struct err *err, const char *text)
{
    const char *copy = arena_strdup(&err->arena, text);

    return copy ? copy : "";
}

static void add_causes(const struct json *details, struct err *err)
{
    json_each (c, json_get(details, "causes"))
        err_cause(err, kept(err, json_get_string(c, "reason", "")), json_get_string(c, "field", ""),
                  0, "%s", json_get_string(c, "message", ""));
}

void status_to_err(int http_code, const char *body, size_t len, struct err *err)
{
    struct arena a = ARENA_INIT(1024u * 1024u);
    bool is_theirs = http_code >= 400 && http_code < 500;
    enum err_reason reason = err_reason_from_code(http_code,
                                                  is_theirs ? ERR_BAD_REQUEST : ERR_INTERNAL);
    const struct json *s;

    if (!err || err_is_set(err)) {
        arena_release(&a);
        return;
    }
    s = protobuf_is(body, len) ? protobuf_parse(&a, &kind_status, body, len, NULL, NULL, NULL)
        : len                  ? json_parse(&a, body, len, NULL)
                               : NULL;
    if (json_string_is(json_get(s, "kind"), "Status")) {
        const char *name = json_get_string(s, "reason", "");
        enum err_reason named = err_reason_from_name(name);

        if (strcmp(err_reason_name(named), name) == 0)
            reason = named;
        err_set(err, reason, "%s", json_get_string(s, "message", "the server gave no message"));
        add_causes(json_get(s, "details"), err);
    } else if (http_code == 404) {
        err_set(
            err, reason,
            "the server does not have what was asked for (404); a cluster has it once muster is "
            "installed: muster manifests | kubectl apply -f -");
    } else {
        err_set(err, reason, "the server answered %d: %.*s", http_code,
                (int)min_size(len, BODY_TEXT_LIMIT), body);
    }
    arena_release(&a);
}
