/* reply.c - sends a request's one answer. Must not touch the server, which may be gone. */
#include <string.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "api/status.h"
#include "api/yaml.h"
#include "server/request_metrics.h"

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

    request_metrics_end(r, code, false);
    r->front->reply(r, &reply);
}

static void reply_no_memory(struct server_request *r)
{
    struct blob *body = blob_new(no_memory_status, sizeof(no_memory_status) - 1);

    send_reply(r, 503, JSON_TYPE, body, RETRY_AFTER_S); /* if necessary without a body */
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

int request_choose_media(struct server_request *r, enum media_purpose purpose, struct err *err)
{
    bool protobuf = !r->route.kind || protobuf_speaks(r->route.kind);
    int rc = media_choose(r->arena, r->accept, purpose, protobuf, &r->media, err);

    if (rc < 0)
        r->media = (struct format_choice){.format = FORMAT_PLAIN}; /* errors are always JSON */
    r->media_chosen = true;
    return rc;
}

bool reply_is_converted(struct server_request *r)
{
    if (!r->media_chosen && request_choose_media(r, MEDIA_ANSWER, NULL) < 0)
        return false;
    return r->media.encoding != ENCODING_JSON || r->media.format == FORMAT_PARTIAL;
}

struct json *partial_of(struct arena *a, const struct json *object)
{
    struct json *p = json_new_object(a);

    json_set_string(a, p, "kind", "PartialObjectMetadata");
    json_set_string(a, p, "apiVersion", "meta.k8s.io/v1");
    json_set(a, p, "metadata", json_clone(a, json_get(object, "metadata")));
    return p;
}

/* The table for encoding it as protobuf, or NULL. */
static const struct kind *protobuf_kind(const struct json *body)
{
    const char *name = json_get_string(body, "kind", "");
    const struct kind *k = kind_of_object(body);

    for (size_t i = 0; !k && message_kinds[i]; i++)
        if (strcmp(message_kinds[i]->name, name) == 0)
            k = message_kinds[i];
    return k && protobuf_speaks(k) ? k : NULL;
}

static void write_body(struct server_request *r, struct arena *a, const struct json *body,
                       struct buf *out, const char **ret_type)
{
    bool converted = reply_is_converted(r);
    const struct kind *k;

    if (converted && r->media.format == FORMAT_PARTIAL && json_get(body, "metadata") &&
        !json_string_is(json_get(body, "kind"), "Status"))
        body = partial_of(a, body);
    k = converted && r->media.encoding == ENCODING_PROTOBUF ? protobuf_kind(body) : NULL;
    *ret_type = k ? PROTOBUF_TYPE : JSON_TYPE;
    if (k) {
        protobuf_write(out, a, k, body);
    } else if (converted && r->media.encoding == ENCODING_YAML) {
        *ret_type = media_type(ENCODING_YAML);
        yaml_write(out, body);
    } else {
        json_write(out, body);
        buf_addc(out, '\n'); /* like the real server */
    }
    if (arena_failed(a))
        out->failed = true;
}

void reply_json(struct server_request *r, int code, const struct json *body)
{
    struct buf b = BUF_INIT(ANSWER_LIMIT_BYTES);
    const char *type;

    if (!body || arena_failed(r->arena)) {
        reply_no_memory(r);
        return;
    }
    write_body(r, r->arena, body, &b, &type);
    reply_encoded(r, code, type, &b, 0);
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
    const char *type = JSON_TYPE;

    if (again && status)
        json_set_int(&a, json_make_object(&a, status, "details"), "retryAfterSeconds",
                     RETRY_AFTER_S);
    if (status && !arena_failed(&a))
        write_body(r, &a, status, &b, &type);
    else
        b.failed = true;
    arena_release(&a);
    reply_encoded(r, err_http_code(e->reason), type, &b, again ? RETRY_AFTER_S : 0);
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
    request_metrics_end(r, 200, true);
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
