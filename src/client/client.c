/*
 * client.c - builds calls from kinds and values, and turns answers into values or errors. Its only
 * state is the list of unanswered calls; it retries and caches nothing.
 *
 * The list is global because a transport may be freed with calls unanswered, and the caller may be
 * gone before the answer. Either way the small record of the call must stay reachable for the
 * other, and nothing else outlives both.
 */
#include "client/client.h"

#include <stdlib.h>

#include "api/protobuf.h"
#include "api/status.h"

#define BODY_LIMIT_BYTES (64u * 1024u * 1024u)
#define PATH_LIMIT_BYTES (64u * 1024u)
/* A page of 500 large objects, parsed. */
#define REPLY_LIMIT_BYTES ((size_t)1024u * 1024u * 1024u)

struct request {
    struct request *next, *prev;
    const struct kind *kind; /* for a protobuf answer */
    client_fn *fn;           /* NULL: the answer is no longer wanted */
    void *arg;
    const struct json_part *parts; /* of a list's items */
    json_item_fn *each;            /* NULL: the answer is wanted as a whole */
};

static struct request unanswered = {.next = &unanswered, .prev = &unanswered};

static struct request *request_new(const struct request *what)
{
    struct request *r = malloc(sizeof(*r));

    if (!r)
        return NULL;
    *r = *what;
    r->prev = unanswered.prev;
    r->next = &unanswered;
    r->prev->next = r;
    unanswered.prev = r;
    return r;
}

static void request_free(struct request *r)
{
    r->next->prev = r->prev;
    r->prev->next = r->next;
    free(r);
}

void client_forget(const void *arg)
{
    for (struct request *r = unanswered.next; r != &unanswered; r = r->next)
        if (r->arg == arg)
            r->fn = NULL;
}

static void out_of_memory(client_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;

    err_set(&err, ERR_INTERNAL, "out of memory");
    if (fn)
        fn(arg, NULL, &err);
}

static const struct json *skim_list(struct arena *a, const struct request *r,
                                    const struct api_reply *reply, struct err *err)
{
    const struct json *list = json_skim_list(a, reply->body, reply->body_len, r->parts, r->each,
                                             r->arg, err);

    if (!list && !err_is_set(err))
        err_set(err, ERR_INTERNAL, "out of memory");
    return list;
}

static const struct json *parse_reply(struct arena *a, const struct request *r,
                                      const struct api_reply *reply, struct err *err)
{
    const struct json *v = NULL;

    if (reply->status == 0) {
        err_set(err, ERR_UNAVAILABLE, "%.*s", (int)min_size(reply->body_len, 1024), reply->body);
        return NULL;
    }
    if (reply->status < 200 || reply->status > 299)
        status_to_err(reply->status, reply->body, reply->body_len, err);
    if (reply->body_len == 0)
        return NULL;
    if (err_is_set(err)) /* the Status is optional then; it may be any text */
        return json_parse(a, reply->body, reply->body_len, NULL);
    if (r->each)
        v = skim_list(a, r, reply, err);
    else if (protobuf_is(reply->body, reply->body_len))
        v = protobuf_parse(a, r->kind, reply->body, reply->body_len, NULL, NULL, err);
    else
        v = json_parse(a, reply->body, reply->body_len, err);
    err_context(err, "answer of the API server");
    return v;
}

static void on_reply(void *arg, const struct api_reply *reply)
{
    struct request *r = arg;
    struct request asked = *r;
    struct arena a = ARENA_INIT(REPLY_LIMIT_BYTES);
    const struct json *v;
    auto_err err = ERR_INIT;

    request_free(r);
    if (!asked.fn)
        return;
    v = parse_reply(&a, &asked, reply, &err);
    if (arena_failed(&a))
        err_set(&err, ERR_INTERNAL, "the answer of the API server is too large");
    asked.fn(asked.arg, v, err_is_set(&err) ? &err : NULL);
    arena_release(&a);
}

static void start_request(struct transport *t, const struct api_call *call,
                          const struct request *what)
{
    struct request *r = call->path ? request_new(what) : NULL;

    if (r)
        transport_call(t, call, on_reply, r);
    else
        out_of_memory(what->fn, what->arg);
}

static void start(struct transport *t, const struct api_call *call, const struct kind *k,
                  client_fn *fn, void *arg)
{
    start_request(t, call, &(struct request){.kind = k, .fn = fn, .arg = arg});
}

static void send(struct transport *t, const char *method, const char *path,
                 const char *content_type, const struct json *body, client_fn *fn, void *arg)
{
    struct buf text = BUF_INIT(BODY_LIMIT_BYTES);

    if (body)
        json_write(&text, body);
    start(t,
          &(struct api_call){.method = method,
                             .path = text.failed ? NULL : path,
                             .content_type = body ? content_type : NULL,
                             .body = text.data,
                             .body_len = text.len},
          NULL, fn, arg);
    buf_release(&text);
}

/* Members missing in the tables would be lost in protobuf, so such objects are sent as JSON. */
static void create(struct transport *t, const struct kind *k, const char *path,
                   const struct json *object, client_fn *fn, void *arg)
{
    struct arena scratch = ARENA_INIT(BODY_LIMIT_BYTES);
    struct buf body = BUF_INIT(BODY_LIMIT_BYTES);

    if (t->protobuf && protobuf_speaks(k) && protobuf_write(&body, &scratch, k, object))
        start(t,
              &(struct api_call){.method = "POST",
                                 .path = path,
                                 .content_type = PROTOBUF_TYPE,
                                 .accept = PROTOBUF_TYPE,
                                 .body = body.data,
                                 .body_len = body.len},
              k, fn, arg);
    else
        send(t, "POST", path, "application/json", object, fn, arg);
    buf_release(&body);
    arena_release(&scratch);
}

static const char *object_path(struct arena *a, const struct kind *k, const struct json *object,
                               const char *suffix)
{
    const struct json *meta = json_get(object, "metadata");
    const char *path = kind_path(a, k, json_get_string(meta, "namespace", ""),
                                 json_get_string(meta, "name", ""));

    return path ? arena_printf(a, "%s%s", path, suffix) : NULL;
}

void client_get_path(struct transport *t, const char *path, client_fn *fn, void *arg)
{
    send(t, "GET", path, NULL, NULL, fn, arg);
}

void client_get(struct transport *t, const struct kind *k, const char *ns, const char *name,
                client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);

    send(t, "GET", kind_path(&a, k, ns, name), NULL, NULL, fn, arg);
    arena_release(&a);
}

void client_get_metadata(struct transport *t, const struct kind *k, const char *ns,
                         const char *name, client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);

    start(t,
          &(struct api_call){.method = "GET",
                             .path = kind_path(&a, k, ns, name),
                             .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;"
                                       "v=v1"},
          NULL, fn, arg);
    arena_release(&a);
}

static const char *list_path(struct arena *a, const struct kind *k, const char *ns,
                             const char *query)
{
    const char *path = kind_path(a, k, ns, NULL);

    return path && query && *query ? arena_printf(a, "%s?%s", path, query) : path;
}

void client_list(struct transport *t, const struct kind *k, const char *ns, const char *query,
                 client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);

    send(t, "GET", list_path(&a, k, ns, query), NULL, NULL, fn, arg);
    arena_release(&a);
}

void client_list_each(struct transport *t, const struct kind *k, const char *ns, const char *query,
                      const struct json_part *parts, json_item_fn *each, client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    const struct request what = {.fn = fn, .arg = arg, .parts = parts, .each = each};

    start_request(t, &(struct api_call){.method = "GET", .path = list_path(&a, k, ns, query)},
                  &what);
    arena_release(&a);
}

void client_create(struct transport *t, const struct kind *k, const struct json *object,
                   client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    const char *ns = json_get_string(json_get(object, "metadata"), "namespace", "");

    create(t, k, kind_path(&a, k, ns, NULL), object, fn, arg);
    arena_release(&a);
}

void client_create_sub(struct transport *t, const struct kind *k, const char *ns, const char *name,
                       const char *subresource, const struct json *body, client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    const char *path = body ? kind_path(&a, k, ns, name) : NULL;

    if (path)
        path = arena_printf(&a, "%s/%s", path, subresource);
    send(t, "POST", path, "application/json", body, fn, arg);
    arena_release(&a);
}

void client_update_status(struct transport *t, const struct kind *k, const struct json *object,
                          client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);

    send(t, "PUT", object_path(&a, k, object, "/status"), "application/json", object, fn, arg);
    arena_release(&a);
}

void client_patch(struct transport *t, const struct kind *k, const char *ns, const char *name,
                  const char *subresource, const struct json *patch, client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    const char *path = kind_path(&a, k, ns, name);

    if (path && *subresource)
        path = arena_printf(&a, "%s/%s", path, subresource);
    send(t, "PATCH", path, "application/merge-patch+json", patch, fn, arg);
    arena_release(&a);
}

void client_delete(struct transport *t, const struct kind *k, const char *ns, const char *name,
                   const char *uid, int64_t grace_seconds, const char *propagation, client_fn *fn,
                   void *arg)
{
    client_delete_version(t, k, ns, name, uid, NULL, grace_seconds, propagation, fn, arg);
}

void client_delete_version(struct transport *t, const struct kind *k, const char *ns,
                           const char *name, const char *uid, const char *version,
                           int64_t grace_seconds, const char *propagation, client_fn *fn, void *arg)
{
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    struct json *options = json_new_object(&a);

    json_set_string(&a, options, "kind", "DeleteOptions");
    json_set_string(&a, options, "apiVersion", "v1");
    json_set_string(&a, options, "propagationPolicy", propagation);
    if (grace_seconds >= 0)
        json_set_int(&a, options, "gracePeriodSeconds", grace_seconds);
    if (uid)
        json_set_string(&a, json_make_object(&a, options, "preconditions"), "uid", uid);
    if (version)
        json_set_string(&a, json_make_object(&a, options, "preconditions"), "resourceVersion",
                        version);
    send(t, "DELETE", arena_failed(&a) ? NULL : kind_path(&a, k, ns, name), "application/json",
         options, fn, arg);
    arena_release(&a);
}

void client_review(struct transport *t, const struct client_access *access, client_fn *fn,
                   void *arg)
{
    static const struct kind access_review = {.group = "authorization.k8s.io",
                                              .version = "v1",
                                              .name = "SelfSubjectAccessReview",
                                              .plural = "selfsubjectaccessreviews"};
    struct arena a = ARENA_INIT(PATH_LIMIT_BYTES);
    struct json *review = json_new_object(&a);
    struct json *what = json_make_object(&a, json_make_object(&a, review, "spec"),
                                         "resourceAttributes");

    json_set_string(&a, review, "apiVersion", "authorization.k8s.io/v1");
    json_set_string(&a, review, "kind", access_review.name);
    json_set_string(&a, what, "namespace", access->ns);
    json_set_string(&a, what, "verb", access->verb);
    json_set_string(&a, what, "group", access->group);
    json_set_string(&a, what, "resource", access->resource);
    json_set_string(&a, what, "subresource", access->subresource);
    json_set_string(&a, what, "name", access->name);
    if (arena_failed(&a))
        out_of_memory(fn, arg);
    else
        client_create(t, &access_review, review, fn, arg);
    arena_release(&a);
}
