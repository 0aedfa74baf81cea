/* small_api.h - just enough of an API server for the agent: objects by path, lists, watches, merge
 * patches, deletes. Answers come on the loop's next turn, as the port demands. */
#ifndef TESTS_SMALL_API_H
#define TESTS_SMALL_API_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/patch.h"
#include "base/map.h"
#include "loop/loop.h"
#include "port/transport.h"

#define SMALL_API_ARENA (64u * 1024 * 1024)

struct small_api;

struct api_stream {
    struct small_api *api;
    struct api_stream *next;
    struct api_stream_handler handler;
    char plural[32];
    struct buf pending;
    struct clock_timer *timer;
};

struct answer {
    struct answer *next;
    struct small_api *api;
    api_reply_fn *fn;
    void *arg;
    int status;
    struct buf body;
};

struct small_api {
    struct transport base;
    struct loop *loop;
    struct map objects; /* path -> text */
    int64_t revision;
    struct api_stream *streams;
    unsigned patches;   /* of pod statuses */
    int fail_next;      /* this many calls are answered 503 */
    int refuse_patches; /* this many patches of pods are answered 409 */
    int unanswered;
};

static inline void collection_of(const char *path, char out[32])
{
    const char *p = strstr(path, "/v1/") + strlen("/v1/");
    size_t n;

    if (strncmp(p, "namespaces/", 11) == 0 && strchr(p + 11, '/'))
        p = strchr(p + 11, '/') + 1;
    n = strcspn(p, "/?");
    assert(n < 32);
    memcpy(out, p, n);
    out[n] = '\0';
}

static inline void flush_stream(void *arg)
{
    struct api_stream *s = arg;
    struct buf data = s->pending;

    s->timer = NULL;
    buf_init(&s->pending, SMALL_API_ARENA);
    s->handler.on_data(s->handler.arg, data.data, data.len);
    buf_release(&data);
}

static inline void tell_streams(struct small_api *api, const char *path, const char *type,
                                const char *text)
{
    char plural[32];

    collection_of(path, plural);
    for (struct api_stream *s = api->streams; s; s = s->next)
        if (strcmp(s->plural, plural) == 0) {
            buf_addf(&s->pending, "{\"type\":\"%s\",\"object\":", type);
            buf_adds(&s->pending, text);
            buf_adds(&s->pending, "}\n");
            if (!s->timer)
                s->timer = clock_start(loop_clock(api->loop), 0, flush_stream, s);
        }
}

static inline struct json *small_api_get(struct small_api *api, struct arena *a, const char *path)
{
    const char *text = map_gets(&api->objects, path);

    return text ? json_parse(a, text, strlen(text), NULL) : NULL;
}

/* Stores; object must have metadata. */
static inline void small_api_put(struct small_api *api, struct arena *a, const char *path,
                                 struct json *object)
{
    struct buf text = BUF_INIT(SMALL_API_ARENA);
    void *old = NULL;
    size_t len;

    json_set_stringf(a, json_make_object(a, object, "metadata"), "resourceVersion", "%lld",
                     (long long)++api->revision);
    json_write(&text, object);
    tell_streams(api, path, map_gets(&api->objects, path) ? "MODIFIED" : "ADDED", text.data);
    if (map_puts(&api->objects, path, buf_take(&text, &len), &old) != 0)
        abort();
    free(old);
}

/* The event carries the revision of the deletion. */
static inline void small_api_delete(struct small_api *api, const char *path)
{
    struct arena a = ARENA_INIT(SMALL_API_ARENA);
    struct json *object = small_api_get(api, &a, path);
    struct buf text = BUF_INIT(SMALL_API_ARENA);

    if (object) {
        json_set_stringf(&a, json_get_mut(object, "metadata"), "resourceVersion", "%lld",
                         (long long)++api->revision);
        json_write(&text, object);
        tell_streams(api, path, "DELETED", text.data);
        free(map_removes(&api->objects, path));
    }
    buf_release(&text);
    arena_release(&a);
}

static inline void list_into(struct small_api *api, const char *path, struct buf *out)
{
    char plural[32], other[32];
    bool first = true;

    collection_of(path, plural);
    buf_addf(out,
             "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%lld\"},"
             "\"items\":[",
             (long long)api->revision);
    map_for_each (n, &api->objects) {
        collection_of(n->key, other);
        if (strcmp(other, plural) != 0)
            continue;
        buf_adds(out, first ? "" : ",");
        buf_adds(out, n->value);
        first = false;
    }
    buf_adds(out, "]}");
}

static inline void status_into(struct answer *w, int code, const char *reason)
{
    w->status = code;
    buf_addf(&w->body,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":%d,"
             "\"reason\":\"%s\",\"message\":\"%s\"}",
             code, reason, reason);
}

static inline void create_into(struct small_api *api, struct answer *w, const char *collection,
                               const struct api_call *call)
{
    struct arena a = ARENA_INIT(SMALL_API_ARENA);
    struct json *object = json_parse(&a, call->body, call->body_len, NULL);
    const char *path = arena_printf(&a, "%s/%s", collection, object_name(object));

    if (map_gets(&api->objects, path)) {
        status_into(w, 409, "AlreadyExists");
    } else {
        small_api_put(api, &a, path, object);
        w->status = 201;
        buf_adds(&w->body, map_gets(&api->objects, path));
    }
    arena_release(&a);
}

static inline void patch_into(struct small_api *api, struct answer *w, char *path,
                              const struct api_call *call)
{
    struct arena a = ARENA_INIT(SMALL_API_ARENA);
    struct json *patch = json_parse(&a, call->body, call->body_len, NULL);
    char *status = strstr(path, "/status");
    struct json *old;

    if (status)
        *status = '\0';
    old = small_api_get(api, &a, path);
    if (!old) {
        status_into(w, 404, "NotFound");
    } else if (json_at(patch, "metadata", "uid") &&
               strcmp(object_uid(patch), object_uid(old)) != 0) {
        status_into(w, 409, "Conflict");
    } else {
        api->patches += status && strstr(path, "/pods/");
        small_api_put(api, &a, path, patch_merge(&a, old, patch));
        w->status = 200;
        buf_adds(&w->body, map_gets(&api->objects, path));
    }
    arena_release(&a);
}

static inline void delete_into(struct small_api *api, struct answer *w, const char *path,
                               const struct api_call *call)
{
    struct arena a = ARENA_INIT(SMALL_API_ARENA);
    const struct json *old = small_api_get(api, &a, path);
    const struct json *how = call->body ? json_parse(&a, call->body, call->body_len, NULL) : NULL;
    const char *uid = json_string(json_at(how, "preconditions", "uid"), NULL);

    if (!old) {
        status_into(w, 404, "NotFound");
    } else if (uid && strcmp(uid, object_uid(old)) != 0) {
        status_into(w, 409, "Conflict");
    } else {
        small_api_delete(api, path);
        w->status = 200;
        buf_adds(&w->body, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    }
    arena_release(&a);
}

static inline void give_answer(void *arg)
{
    struct answer *w = arg;
    struct api_reply reply = {
        .status = w->status, .body = w->body.data ? w->body.data : "", .body_len = w->body.len};

    w->api->unanswered--;
    w->fn(w->arg, &reply);
    buf_release(&w->body);
    free(w);
}

static inline void small_api_call(struct transport *t, const struct api_call *call,
                                  api_reply_fn *fn, void *arg)
{
    struct small_api *api = container_of(t, struct small_api, base);
    struct answer *w = calloc(1, sizeof(*w));
    char path[1024];
    char last[32];

    buf_init(&w->body, SMALL_API_ARENA);
    w->api = api;
    w->fn = fn;
    w->arg = arg;
    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(call->path, "?"), call->path);
    collection_of(path, last);
    if (api->fail_next > 0) {
        api->fail_next--;
        status_into(w, 503, "ServiceUnavailable");
    } else if (api->refuse_patches > 0 && strcmp(call->method, "PATCH") == 0 &&
               strstr(path, "/pods/")) {
        api->refuse_patches--;
        status_into(w, 409, "Conflict");
    } else if (strcmp(call->method, "POST") == 0) {
        create_into(api, w, path, call);
    } else if (strcmp(call->method, "PATCH") == 0) {
        patch_into(api, w, path, call);
    } else if (strcmp(call->method, "DELETE") == 0) {
        delete_into(api, w, path, call);
    } else if (strlen(path) > strlen(last) &&
               strcmp(path + strlen(path) - strlen(last), last) == 0) {
        w->status = 200;
        list_into(api, path, &w->body);
    } else if (map_gets(&api->objects, path)) {
        w->status = 200;
        buf_adds(&w->body, map_gets(&api->objects, path));
    } else {
        status_into(w, 404, "NotFound");
    }
    api->unanswered++;
    if (!clock_start(loop_clock(api->loop), 0, give_answer, w))
        abort();
}

static inline struct api_stream *small_api_open(struct transport *t, const char *path,
                                                const struct api_stream_handler *handler)
{
    struct small_api *api = container_of(t, struct small_api, base);
    struct api_stream *s = calloc(1, sizeof(*s));

    s->api = api;
    s->handler = *handler;
    buf_init(&s->pending, SMALL_API_ARENA);
    collection_of(path, s->plural);
    s->next = api->streams;
    api->streams = s;
    return s;
}

static inline void small_api_close(struct transport *t, struct api_stream *s)
{
    struct small_api *api = container_of(t, struct small_api, base);

    for (struct api_stream **p = &api->streams; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    clock_stop(loop_clock(api->loop), s->timer);
    buf_release(&s->pending);
    free(s);
}

static const struct transport_ops small_api_ops = {
    .call = small_api_call, .open = small_api_open, .close = small_api_close};

static inline void small_api_init(struct small_api *api, struct loop *l)
{
    *api = (struct small_api){.base = {.ops = &small_api_ops}, .loop = l, .revision = 100};
}

static inline void small_api_release(struct small_api *api)
{
    while (api->unanswered > 0)
        loop_run_once(api->loop);
    map_release(&api->objects, free);
}

#endif
