/* reply.c - the one answer of a request. Must not touch the server: it may be gone by then. */
#include <string.h>

#include "api/object.h"
#include "api/status.h"
#include "server/request.h"

#define ANSWER_LIMIT_BYTES (64u * 1024u * 1024u)
#define RETRY_AFTER_S 1

static const char no_memory_status[] =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
    "\"message\":\"out of memory\",\"reason\":\"ServiceUnavailable\",\"code\":503}";

static void send_reply(struct server_request *r, int code, const char *content_type,
                       struct blob *body, int retry_after_s)
{
    struct server_reply reply = {.code = code,
                                 .content_type = content_type,
                                 .body = body,
                                 .warnings = r->warnings,
                                 .retry_after_s = retry_after_s};

    r->front->reply(r, &reply);
}

static void reply_no_memory(struct server_request *r)
{
    struct blob *body = blob_new(no_memory_status, sizeof(no_memory_status) - 1);

    send_reply(r, 503, JSON_TYPE, body, RETRY_AFTER_S); /* without a body, if it must be */
    blob_unref(body);
}

void reply_blob(struct server_request *r, int code, struct blob *body)
{
    send_reply(r, code, JSON_TYPE, body, 0);
}

static void reply_encoded(struct server_request *r, int code, const char *content_type,
                          struct buf *b, int retry_after_s)
{
    struct blob *body = blob_from_buf(b);

    buf_release(b);
    if (!body) {
        reply_no_memory(r);
        return;
    }
    send_reply(r, code, content_type, body, retry_after_s);
    blob_unref(body);
}

void reply_buf(struct server_request *r, int code, const char *content_type, struct buf *body)
{
    reply_encoded(r, code, content_type, body, 0);
}

void reply_json(struct server_request *r, int code, const struct json *body)
{
    struct buf b = BUF_INIT(ANSWER_LIMIT_BYTES);

    if (!body || arena_failed(r->arena)) {
        reply_no_memory(r);
        return;
    }
    json_write(&b, body);
    reply_encoded(r, code, JSON_TYPE, &b, 0);
}

static void reply_failure(struct server_request *r, const struct err *err, bool invite)
{
    struct arena a = ARENA_INIT(ERR_LIMIT_BYTES * 4); /* the request's own may be used up */
    const struct err unknown = {.reason = ERR_INTERNAL, .text = "the request failed"};
    const struct err *e = err_is_set(err) ? err : &unknown;
    bool again = invite && (e->reason == ERR_TIMEOUT || e->reason == ERR_UNAVAILABLE ||
                            e->reason == ERR_TOO_MANY_REQUESTS);
    struct json *status = status_from_err(&a, e, r->route.kind, r->route.name);
    struct buf b = BUF_INIT(ERR_LIMIT_BYTES * 8);

    if (again && status)
        json_set_int(&a, json_make_object(&a, status, "details"), "retryAfterSeconds",
                     RETRY_AFTER_S);
    if (status && !arena_failed(&a))
        json_write(&b, status);
    else
        b.failed = true;
    arena_release(&a);
    reply_encoded(r, err_http_code(e->reason), JSON_TYPE, &b, again ? RETRY_AFTER_S : 0);
}

void reply_err(struct server_request *r, const struct err *err)
{
    reply_failure(r, err, true);
}

void reply_node_err(struct server_request *r, const struct err *err)
{
    reply_failure(r, err, false);
}

void reply_stream(struct server_request *r, const char *content_type, struct stream *stream)
{
    r->front->stream(r, content_type, stream);
}

void request_warn(void *request, const char *text)
{
    struct server_request *r = request;
    struct warning *w;

    for (w = r->warnings; w; w = w->next)
        if (strcmp(w->text, text) == 0)
            return;
    w = r->warning_count < WARNINGS_LIMIT ? arena_alloc(r->arena, sizeof(*w)) : NULL;
    if (!w)
        return;
    w->text = arena_strdup(r->arena, text);
    if (!w->text)
        return;
    if (r->last_warning)
        r->last_warning->next = w;
    else
        r->warnings = w;
    r->last_warning = w;
    r->warning_count++;
}

struct json *success_status(const struct server_request *r, const char *uid)
{
    struct json *status = json_new_object(r->arena), *details;

    json_set_string(r->arena, status, "kind", "Status");
    json_set_string(r->arena, status, "apiVersion", "v1");
    (void)json_make_object(r->arena, status, "metadata");
    json_set_string(r->arena, status, "status", "Success");
    if (!r->route.kind)
        return status;
    details = json_make_object(r->arena, status, "details");
    if (r->route.name)
        json_set_string(r->arena, details, "name", r->route.name);
    if (*r->route.kind->group)
        json_set_string(r->arena, details, "group", r->route.kind->group);
    json_set_string(r->arena, details, "kind", r->route.kind->plural);
    if (uid)
        json_set_string(r->arena, details, "uid", uid);
    return status;
}

int out_of_memory(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "out of memory");
}

const char *resource_name(struct arena *a, const struct kind *k)
{
    const char *name = *k->group ? arena_printf(a, "%s.%s", k->plural, k->group) : k->plural;

    return name ? name : k->plural;
}

int not_found(struct err *err, const struct kind *k, const char *name)
{
    return err_set(err, ERR_NOT_FOUND, "%s%s%s \"%s\" not found", k->plural, *k->group ? "." : "",
                   k->group, name);
}
