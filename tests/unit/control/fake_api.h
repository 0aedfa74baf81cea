/*
 * fake_api.h - a Kubernetes API in memory behind port/transport.h: list, watch, get, create, update
 * of status, merge patch, delete with preconditions, finalizers and grace. Runs on the fake clock.
 * Faults: calls can be refused, watches can be held back, broken or expired.
 *
 * It stores objects as text, like a server, so that nothing is shared with what is under test.
 */
#ifndef MUSTER_TESTS_FAKE_API_H
#define MUSTER_TESTS_FAKE_API_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "api/patch.h"
#include "api/status.h"
#include "base/map.h"
#include "base/timefmt.h"
#include "fake_clock.h"
#include "port/transport.h"

#define FAKE_LIMIT ((size_t)256 * 1024 * 1024)

struct fake_api;

struct fake_event {
    struct fake_event *next;
    int64_t revision;
    const struct kind *kind;
    char *ns;
    char *line; /* the whole event, with its newline */
};

struct fake_call {
    struct fake_call *next, **at;
    struct fake_api *api;
    struct clock_timer *timer;
    char *method, *path, *body;
    size_t body_len;
    api_reply_fn *fn;
    void *arg;
};

struct api_stream {
    struct api_stream *next;
    const struct kind *kind;
    char *ns;
    int64_t revision;                /* everything up to it was sent */
    const struct fake_event *passed; /* the last one of no more interest; NULL: none yet */
    struct api_stream_handler handler;
};

struct fake_api {
    struct transport transport;
    struct fake_clock *clock;
    int64_t revision, compacted;
    unsigned uids;
    struct map objects; /* "plural.group|ns/name" -> text */
    struct fake_event *first_event, **last_event;
    struct fake_call *calls;
    struct api_stream *streams;
    struct clock_timer *pump;

    int64_t latency_ms;           /* of calls */
    bool hold_watches;            /* nothing is sent on watches while set */
    const struct kind *held_kind; /* nothing is sent on watches of this kind */
    unsigned calls_made, writes, in_flight, most_in_flight;
    /* Returns the HTTP code to refuse a call with before it does anything; 0: carry on. */
    int (*refuse)(void *arg, const char *method, const char *path);
    void *refuse_arg;
};

/* --- what a path says --- */

struct fake_target {
    const struct kind *kind;
    char ns[256], name[256], sub[32];
    const char *query;
};

static inline const char *fake_segment(const char *path, char *out, size_t size)
{
    size_t len = strcspn(path, "/?");

    assert(len < size);
    memcpy(out, path, len);
    out[len] = '\0';
    return path[len] == '/' ? path + len + 1 : path + len;
}

/* Kinds that are served beside those compiled in; ends with NULL. */
static const struct kind *const *fake_installed;

static inline const struct kind *fake_kind(const char *group, const char *version, const char *word)
{
    for (const struct kind *const *k = fake_installed; k && *k; k++)
        if (strcmp((*k)->group, group) == 0 && strcmp((*k)->version, version) == 0 &&
            strcmp((*k)->plural, word) == 0)
            return *k;
    return kind_by_plural(group, version, word);
}

static inline bool fake_route(const char *path, struct fake_target *t)
{
    char group[64] = "", version[32], word[64];

    *t = (struct fake_target){.query = strchr(path, '?') ? strchr(path, '?') + 1 : ""};
    if (strncmp(path, "/apis/", 6) == 0)
        path = fake_segment(path + 6, group, sizeof(group));
    else if (strncmp(path, "/api/", 5) == 0)
        path += 5;
    else
        return false;
    path = fake_segment(path, version, sizeof(version));
    path = fake_segment(path, word, sizeof(word));
    if (strcmp(word, "namespaces") == 0 && *path && *path != '?') {
        path = fake_segment(path, t->ns, sizeof(t->ns));
        path = fake_segment(path, word, sizeof(word));
    }
    t->kind = fake_kind(group, version, word);
    path = fake_segment(path, t->name, sizeof(t->name));
    (void)fake_segment(path, t->sub, sizeof(t->sub));
    return t->kind;
}

static inline int64_t fake_query_int(const char *query, const char *name)
{
    const char *at = strstr(query, name);

    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* --- objects --- */

static inline const char *fake_key(char out[640], const struct kind *k, const char *ns,
                                   const char *name)
{
    (void)snprintf(out, 640, "%s.%s|%s/%s", k->plural, k->group, ns, name);
    return out;
}

/* The stored object, in the arena; NULL when there is none. */
static inline struct json *fake_api_get(const struct fake_api *f, struct arena *a,
                                        const struct kind *k, const char *ns, const char *name)
{
    char key[640];
    const char *text = map_gets(&f->objects, fake_key(key, k, ns, name));
    struct json *v = text ? json_parse(a, text, strlen(text), NULL) : NULL;

    assert(v || !text);
    return v;
}

static inline size_t fake_api_count(const struct fake_api *f, const struct kind *k)
{
    char prefix[640];
    size_t n = 0;

    (void)snprintf(prefix, sizeof(prefix), "%s.%s|", k->plural, k->group);
    map_for_each (node, &f->objects)
        n += strncmp(node->key, prefix, strlen(prefix)) == 0;
    return n;
}

static inline char *fake_text(const struct json *v)
{
    struct buf out = BUF_INIT(FAKE_LIMIT);
    size_t len;
    char *text;

    json_write(&out, v);
    text = buf_take(&out, &len);
    assert(text);
    return text;
}

static inline void fake_pump(void *arg);

static inline void fake_pump_later(struct fake_api *f)
{
    if (!f->pump)
        f->pump = clock_start(&f->clock->clock, 0, fake_pump, f);
}

static inline void fake_log(struct fake_api *f, const struct kind *k, const char *type,
                            const struct json *object, const char *text)
{
    struct fake_event *e = calloc(1, sizeof(*e));
    int n;

    assert(e);
    e->revision = f->revision;
    e->kind = k;
    e->ns = strdup(object_namespace(object));
    n = asprintf(&e->line, "{\"type\":\"%s\",\"object\":%s}\n", type, text);
    assert(e->ns && n > 0);
    *f->last_event = e;
    f->last_event = &e->next;
    fake_pump_later(f);
}

/* Stores object, or removes it when text of type is DELETED; gives it the next revision. */
static inline void fake_write(struct fake_api *f, struct arena *a, const struct kind *k,
                              const char *type, struct json *object)
{
    char key[640];
    void *old = NULL;
    char *text;

    f->writes++;
    f->revision++;
    json_set_stringf(a, json_make_object(a, object, "metadata"), "resourceVersion", "%" PRId64,
                     f->revision);
    text = fake_text(object);
    fake_log(f, k, type, object, text);
    fake_key(key, k, object_namespace(object), object_name(object));
    if (strcmp(type, "DELETED") == 0) {
        free(map_removes(&f->objects, key));
        free(text);
        return;
    }
    assert(map_puts(&f->objects, key, text, &old) == 0);
    free(old);
}

/* --- answers --- */

struct fake_answer {
    int status;
    const struct json *body;
};

static inline struct fake_answer fake_fail(struct arena *a, enum err_reason reason,
                                           const struct fake_target *t, const char *text)
{
    auto_err err = ERR_INIT;

    err_set(&err, reason, "%s", text);
    return (struct fake_answer){err_http_code(reason), status_from_err(a, &err, t->kind, t->name)};
}

static inline struct fake_answer fake_list(struct fake_api *f, struct arena *a,
                                           const struct fake_target *t)
{
    struct json *list = json_new_object(a), *items = json_make_array(a, list, "items");
    char prefix[640];

    (void)snprintf(prefix, sizeof(prefix), "%s.%s|%s%s", t->kind->plural, t->kind->group, t->ns,
                   *t->ns ? "/" : "");
    json_set_stringf(a, json_make_object(a, list, "metadata"), "resourceVersion", "%" PRId64,
                     f->revision);
    map_for_each (node, &f->objects) {
        if (strncmp(node->key, prefix, strlen(prefix)) == 0)
            json_append(items, json_parse(a, node->value, strlen(node->value), NULL));
    }
    return (struct fake_answer){200, list};
}

static inline struct fake_answer fake_create(struct fake_api *f, struct arena *a,
                                             const struct fake_target *t, struct json *object)
{
    struct json *metadata = json_make_object(a, object, "metadata");
    char stamp[TIME_TEXT_SIZE];

    if (t->kind->namespaced)
        json_set_string(a, metadata, "namespace", t->ns);
    if (fake_api_get(f, a, t->kind, t->ns, object_name(object)))
        return fake_fail(a, ERR_ALREADY_EXISTS, t, "already exists");
    if (!json_get(metadata, "uid"))
        json_set_stringf(a, metadata, "uid", "uid-%u", ++f->uids);
    json_set_string(a, metadata, "creationTimestamp", time_format(f->clock->now_ms, stamp));
    json_set_int(a, metadata, "generation", 1);
    object_set_defaults(a, t->kind, object);
    fake_write(f, a, t->kind, "ADDED", object);
    return (struct fake_answer){201, object};
}

/* Removes an object that is being deleted once nothing holds it. */
static inline struct fake_answer fake_store_change(struct fake_api *f, struct arena *a,
                                                   const struct fake_target *t, struct json *object)
{
    bool held = json_len(json_at(object, "metadata", "finalizers")) > 0 ||
                json_int(json_at(object, "metadata", "deletionGracePeriodSeconds"), 0) > 0;

    fake_write(f, a, t->kind, object_is_deleting(object) && !held ? "DELETED" : "MODIFIED", object);
    return (struct fake_answer){200, object};
}

static inline bool fake_conflicts(const struct json *sent, const struct json *stored)
{
    const char *rv = object_resource_version(sent), *uid = object_uid(sent);

    return (*rv && strcmp(rv, object_resource_version(stored)) != 0) ||
           (*uid && strcmp(uid, object_uid(stored)) != 0);
}

static inline struct fake_answer fake_put(struct fake_api *f, struct arena *a,
                                          const struct fake_target *t, const struct json *sent)
{
    struct json *object = fake_api_get(f, a, t->kind, t->ns, t->name);

    if (!object)
        return fake_fail(a, ERR_NOT_FOUND, t, "not found");
    if (fake_conflicts(sent, object))
        return fake_fail(a, ERR_CONFLICT, t, "the object has been modified");
    assert(strcmp(t->sub, "status") == 0); /* nothing under test updates anything else */
    if (json_equal(json_get(sent, "status"), json_get(object, "status")))
        return (struct fake_answer){200, object};
    json_set(a, object, "status", json_clone(a, json_get(sent, "status")));
    return fake_store_change(f, a, t, object);
}

static inline struct fake_answer fake_patch(struct fake_api *f, struct arena *a,
                                            const struct fake_target *t, const struct json *patch)
{
    struct json *object = fake_api_get(f, a, t->kind, t->ns, t->name), *changed;

    if (!object)
        return fake_fail(a, ERR_NOT_FOUND, t, "not found");
    if (fake_conflicts(patch, object))
        return fake_fail(a, ERR_CONFLICT, t, "the object has been modified");
    changed = patch_merge(a, object, patch);
    if (t->kind->has_status) { /* each endpoint changes its own part */
        struct json *other = *t->sub ? changed : object;
        struct json *kept = *t->sub ? object : changed;

        json_set(a, kept, "status", json_clone(a, json_get(other, "status")));
        if (*t->sub)
            changed = kept;
        else if (json_get(object, "status"))
            json_set(a, changed, "status", json_clone(a, json_get(object, "status")));
    }
    return fake_store_change(f, a, t, changed);
}

static inline struct fake_answer fake_bind(struct fake_api *f, struct arena *a,
                                           const struct fake_target *t, const struct json *binding)
{
    struct json *pod = fake_api_get(f, a, t->kind, t->ns, t->name), *status;

    if (!pod)
        return fake_fail(a, ERR_NOT_FOUND, t, "not found");
    if (fake_conflicts(binding, pod) || json_at(pod, "spec", "nodeName"))
        return fake_fail(a, ERR_CONFLICT, t, "the pod is another, or has its node");
    json_set_string(a, json_make_object(a, pod, "spec"), "nodeName",
                    json_string(json_at(binding, "target", "name"), ""));
    (void)fake_store_change(f, a, t, pod);
    status = json_new_object(a);
    json_set_string(a, status, "kind", "Status");
    return (struct fake_answer){201, status};
}

static inline struct fake_answer fake_delete(struct fake_api *f, struct arena *a,
                                             const struct fake_target *t,
                                             const struct json *options)
{
    struct json *object = fake_api_get(f, a, t->kind, t->ns, t->name), *metadata;
    const char *uid = json_string(json_at(options, "preconditions", "uid"), "");
    const char *version = json_string(json_at(options, "preconditions", "resourceVersion"), "");
    const char *policy = json_get_string(options, "propagationPolicy", "Background");
    int64_t grace = json_get_int(options, "gracePeriodSeconds", 30);
    char stamp[TIME_TEXT_SIZE];

    if (!object)
        return fake_fail(a, ERR_NOT_FOUND, t, "not found");
    if (*uid && strcmp(uid, object_uid(object)) != 0)
        return fake_fail(a, ERR_CONFLICT, t, "the UID is another");
    if (*version && strcmp(version, object_resource_version(object)) != 0)
        return fake_fail(a, ERR_CONFLICT, t, "the version is another");
    if (object_is_deleting(object) && grace > 0)
        return (struct fake_answer){200, object};
    metadata = json_get_mut(object, "metadata");
    if (strcmp(policy, "Foreground") == 0)
        json_append_string(a, json_make_array(a, metadata, "finalizers"), "foregroundDeletion");
    if (strcmp(policy, "Orphan") == 0)
        json_append_string(a, json_make_array(a, metadata, "finalizers"), "orphan");
    if (t->kind != &kind_pod || !json_at(object, "spec", "nodeName"))
        grace = 0; /* only a pod on a node has something to end gracefully */
    json_set_string(a, metadata, "deletionTimestamp", time_format(f->clock->now_ms, stamp));
    json_set_int(a, metadata, "deletionGracePeriodSeconds", grace);
    return fake_store_change(f, a, t, object);
}

static inline struct fake_answer fake_execute(struct fake_api *f, struct arena *a,
                                              const struct fake_call *c)
{
    struct fake_target t;
    struct json *body = c->body_len ? json_parse(a, c->body, c->body_len, NULL) : NULL;
    struct json *object;

    if (!fake_route(c->path, &t))
        return fake_fail(a, ERR_NOT_FOUND, &t, "no such resource");
    if (strcmp(c->method, "POST") == 0 && strcmp(t.sub, "binding") == 0)
        return fake_bind(f, a, &t, body);
    if (strcmp(c->method, "POST") == 0)
        return fake_create(f, a, &t, body);
    if (strcmp(c->method, "PUT") == 0)
        return fake_put(f, a, &t, body);
    if (strcmp(c->method, "PATCH") == 0)
        return fake_patch(f, a, &t, body);
    if (strcmp(c->method, "DELETE") == 0)
        return fake_delete(f, a, &t, body);
    if (!*t.name)
        return fake_list(f, a, &t);
    object = fake_api_get(f, a, t.kind, t.ns, t.name);
    return object ? (struct fake_answer){200, object}
                  : fake_fail(a, ERR_NOT_FOUND, &t, "not found");
}

/* --- the transport --- */

static inline void fake_call_free(struct fake_call *c)
{
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    free(c->method);
    free(c->path);
    free(c->body);
    free(c);
}

static inline void fake_run_call(void *arg)
{
    struct fake_call *c = arg;
    struct fake_api *f = c->api;
    struct arena a = ARENA_INIT(FAKE_LIMIT);
    struct fake_target none = {0};
    struct fake_answer answer;
    struct api_reply reply = {0};
    api_reply_fn *fn = c->fn;
    void *fn_arg = c->arg;
    int refusal = f->refuse ? f->refuse(f->refuse_arg, c->method, c->path) : 0;
    char *text;

    if (refusal == 409)
        answer = fake_fail(&a, ERR_CONFLICT, &none, "made up conflict");
    else if (refusal == 403)
        answer = fake_fail(&a, ERR_FORBIDDEN, &none, "pods \"x\" is forbidden: made up quota");
    else if (refusal)
        answer = (struct fake_answer){refusal, json_new_object(&a)};
    else
        answer = fake_execute(f, &a, c);
    text = fake_text(answer.body);
    reply = (struct api_reply){.status = answer.status, .body = text, .body_len = strlen(text)};
    f->in_flight--;
    fake_call_free(c);
    fn(fn_arg, &reply);
    free(text);
    arena_release(&a);
}

static inline void fake_start_call(struct transport *base, const struct api_call *call,
                                   api_reply_fn *fn, void *arg)
{
    struct fake_api *f = container_of(base, struct fake_api, transport);
    struct fake_call *c = calloc(1, sizeof(*c));

    assert(c);
    f->calls_made++;
    if (++f->in_flight > f->most_in_flight)
        f->most_in_flight = f->in_flight;
    c->api = f;
    c->method = strdup(call->method);
    c->path = strdup(call->path);
    c->body = strndup(call->body ? call->body : "", call->body_len);
    c->body_len = call->body_len;
    c->fn = fn;
    c->arg = arg;
    c->next = f->calls;
    c->at = &f->calls;
    if (c->next)
        c->next->at = &c->next;
    f->calls = c;
    c->timer = clock_start(&f->clock->clock, f->latency_ms, fake_run_call, c);
}

static inline struct api_stream *fake_open(struct transport *base, const char *path,
                                           const struct api_stream_handler *handler)
{
    struct fake_api *f = container_of(base, struct fake_api, transport);
    struct api_stream *s = calloc(1, sizeof(*s));
    struct fake_target t;
    bool found = fake_route(path, &t);

    assert(s && found);
    s->kind = t.kind;
    s->ns = strdup(t.ns);
    s->revision = fake_query_int(t.query, "resourceVersion=");
    s->handler = *handler;
    s->next = f->streams;
    f->streams = s;
    fake_pump_later(f);
    return s;
}

static inline void fake_close(struct transport *base, struct api_stream *s)
{
    struct fake_api *f = container_of(base, struct fake_api, transport);
    struct api_stream **at = &f->streams;

    while (*at != s) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = s->next;
    free(s->ns);
    free(s);
}

static inline const struct fake_event *fake_next_event(const struct fake_api *f,
                                                       struct api_stream *s)
{
    const struct fake_event *e = s->passed ? s->passed->next : f->first_event;

    for (; e; e = e->next) {
        if (e->revision > s->revision && e->kind == s->kind && (!*s->ns || !strcmp(e->ns, s->ns)))
            return e;
        s->passed = e;
    }
    return NULL;
}

/* Sends one event; false when the stream has nothing to get. */
static inline bool fake_send_one(struct fake_api *f, struct api_stream *s)
{
    static const char expired[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                                  "\"code\":410,\"reason\":\"Expired\",\"message\":\"old\"}}\n";
    const struct fake_event *e = fake_next_event(f, s);
    struct api_stream_handler handler = s->handler;
    size_t half;

    if (s->revision < f->compacted) {
        fake_close(&f->transport, s);
        handler.on_data(handler.arg, expired, sizeof(expired) - 1);
        handler.on_end(handler.arg, &(struct api_reply){.status = 200, .body = ""});
        return true;
    }
    if (!e)
        return false;
    s->revision = e->revision;
    half = strlen(e->line) / 2;
    handler.on_data(handler.arg, e->line, half);
    handler.on_data(handler.arg, e->line + half, strlen(e->line + half));
    return true;
}

/* The first stream that something was sent on; it may be gone by then. */
static inline bool fake_pump_one(struct fake_api *f)
{
    struct api_stream *next;

    for (struct api_stream *s = f->streams; s; s = next) {
        next = s->next;
        if (s->kind != f->held_kind && fake_send_one(f, s))
            return true;
    }
    return false;
}

static inline void fake_pump(void *arg)
{
    struct fake_api *f = arg;

    f->pump = NULL;
    while (!f->hold_watches && fake_pump_one(f))
        ;
}

static inline void fake_api_release(struct transport *base)
{
    struct fake_api *f = container_of(base, struct fake_api, transport);

    clock_stop(&f->clock->clock, f->pump);
    while (f->calls) {
        clock_stop(&f->clock->clock, f->calls->timer);
        fake_call_free(f->calls);
    }
    while (f->streams)
        fake_close(base, f->streams);
    while (f->first_event) {
        struct fake_event *e = f->first_event;

        f->first_event = e->next;
        free(e->ns);
        free(e->line);
        free(e);
    }
    map_release(&f->objects, free);
}

static const struct transport_ops fake_api_ops = {
    .call = fake_start_call, .open = fake_open, .close = fake_close, .free = fake_api_release};

static inline void fake_api_init(struct fake_api *f, struct fake_clock *clock)
{
    *f = (struct fake_api){
        .transport = {.ops = &fake_api_ops}, .clock = clock, .revision = 100, .compacted = 1};
    f->last_event = &f->first_event;
}

/* --- what a test does to the world --- */

/* Does a call at once, as another client would; the answer's code. */
static inline int fake_api_do(struct fake_api *f, const char *method, const char *path,
                              const char *body)
{
    struct fake_call c = {.api = f,
                          .method = (char *)method,
                          .path = (char *)path,
                          .body = (char *)(body ? body : ""),
                          .body_len = body ? strlen(body) : 0};
    struct arena a = ARENA_INIT(FAKE_LIMIT);
    int status = fake_execute(f, &a, &c).status;

    arena_release(&a);
    return status;
}

/* Ends every watch: 200 in good order, 0 broken. */
static inline void fake_api_end_watches(struct fake_api *f, int status)
{
    struct api_stream *old = f->streams;

    f->streams = NULL;
    while (old) {
        struct api_stream *s = old;

        old = s->next;
        s->handler.on_end(s->handler.arg, &(struct api_reply){.status = status, .body = ""});
        free(s->ns);
        free(s);
    }
}

/* History is forgotten: watches from before get 410. */
static inline void fake_api_compact(struct fake_api *f)
{
    f->compacted = f->revision;
    fake_pump_later(f);
}

static inline void fake_api_release_watches(struct fake_api *f)
{
    f->hold_watches = false;
    f->held_kind = NULL;
    fake_pump_later(f);
}

/* The node's agent reports: sets phase and, for an ended pod, its container's exit code. */
static inline void fake_api_pod_phase(struct fake_api *f, const char *ns, const char *name,
                                      const char *phase, int exit_code)
{
    struct arena a = ARENA_INIT(FAKE_LIMIT);
    const struct json *pod = fake_api_get(f, &a, &kind_pod, ns, name);
    char stamp[TIME_TEXT_SIZE];
    const char *path = kind_path(&a, &kind_pod, ns, name), *state, *body;
    bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    int status;

    assert(pod);
    time_format(f->clock->now_ms, stamp);
    state = ended ? arena_printf(&a,
                                 "{\"terminated\":{\"exitCode\":%d,\"startedAt\":\"%s\","
                                 "\"finishedAt\":\"%s\"}}",
                                 exit_code, stamp, stamp)
                  : arena_printf(&a, "{\"running\":{\"startedAt\":\"%s\"}}", stamp);
    body = arena_printf(
        &a,
        "{\"status\":{\"phase\":\"%s\",\"startTime\":\"%s\",\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"%s\"}],\"containerStatuses\":[{\"name\":\"%s\",\"state\":%s}]}}",
        phase, stamp, ended ? "False" : "True",
        json_string(json_at(json_first(json_at(pod, "spec", "containers")), "name"), "c"), state);
    status = fake_api_do(f, "PATCH", arena_printf(&a, "%s/status", path), body);
    assert(status == 200);
    arena_release(&a);
}

/* The node's agent lets go of a pod that is being deleted. */
static inline void fake_api_pod_gone(struct fake_api *f, const char *ns, const char *name)
{
    struct arena a = ARENA_INIT(FAKE_LIMIT);
    int status = fake_api_do(f, "DELETE", kind_path(&a, &kind_pod, ns, name),
                             "{\"gracePeriodSeconds\":0}");

    assert(status == 200);
    arena_release(&a);
}

#endif
