/*
 * fixture.h - a server on a store in a folder of its own, asked through the in-process transport;
 * time is a clock that tests step.
 */
#ifndef MUSTER_TESTS_SERVER_FIXTURE_H
#define MUSTER_TESTS_SERVER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/object.h"
#include "fake_clock.h"
#include "server/local.h"
#include "server/server.h"

struct fixture {
    char folder[64], path[96];
    struct loop *loop;
    struct store *store;
    struct store_options options;
    struct server *server;
    struct transport *transport;
    bool overcommit, has_controllers, root_pods;
    struct fake_clock clock;
    struct arena arena; /* answers live here until the test ends */
};

/* An answer; object is NULL when the body is not JSON. */
struct answer {
    bool came;
    int status;
    char *body;
    struct json *object;
    struct fixture *fixture;
};

static inline void fixture_open(struct fixture *f)
{
    auto_err err = ERR_INIT;
    struct server_options o = {.clock = &f->clock.clock,
                               .overcommit = f->overcommit,
                               .root_pods = f->root_pods,
                               .has_controllers = f->has_controllers};

    f->loop = loop_new(&err);
    f->store = store_open(f->loop, f->path, &f->options, &err);
    if (!f->store)
        fail_msg("%s", err.text);
    o.loop = f->loop;
    o.store = f->store;
    f->server = server_new(&o, &err);
    if (!f->server)
        fail_msg("%s", err.text);
    f->transport = server_local_transport(f->server, &caller_owner);
    assert_non_null(f->transport);
    /* what every start writes is on disk, so a test may count revisions */
    while (store_revision(f->store) + 1 < store_next_revision(f->store))
        loop_run_once(f->loop);
}

static inline void fixture_close(struct fixture *f)
{
    transport_free(f->transport);
    server_free(f->server);
    store_close(f->store);
    loop_free(f->loop);
    f->transport = NULL;
}

static inline int fixture_set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    strcpy(f->folder, "/tmp/muster-server-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    (void)snprintf(f->path, sizeof(f->path), "%s/muster.db", f->folder);
    fake_clock_init(&f->clock);
    arena_init(&f->arena, 256u << 20);
    fixture_open(f);
    *state = f;
    return 0;
}

/* With a port of its own; token is the owner's. */
static inline int fixture_set_up_listening(void **state, const char *token)
{
    auto_err err = ERR_INIT;
    struct fixture *f;

    if (fixture_set_up(state) < 0)
        return -1;
    f = *state;
    return server_listen(f->server, "127.0.0.1:0", token, NULL, &err);
}

static inline int fixture_tear_down(void **state)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    struct fixture *f = *state;
    char name[160];

    if (f->transport)
        fixture_close(f);
    fake_clock_release(&f->clock);
    for (size_t i = 0; i < ELEMS(suffixes); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", f->path, suffixes[i]);
        (void)unlink(name);
    }
    (void)rmdir(f->folder);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static inline void answer_came(void *arg, const struct api_reply *reply)
{
    struct answer *a = arg;

    a->came = true;
    a->status = reply->status;
    a->body = arena_strndup(&a->fixture->arena, reply->body, reply->body_len);
    a->object = json_parse(&a->fixture->arena, reply->body, reply->body_len, NULL);
}

static inline void ask_with(struct fixture *f, struct answer *a, const char *method,
                            const char *path, const char *type, const char *accept,
                            const char *body)
{
    struct api_call call = {.method = method,
                            .path = path,
                            .content_type = type,
                            .accept = accept,
                            .body = body,
                            .body_len = body ? strlen(body) : 0};

    *a = (struct answer){.fixture = f};
    transport_call(f->transport, &call, answer_came, a);
}

static inline struct answer wait_for(struct fixture *f, struct answer *a)
{
    while (!a->came)
        loop_run_once(f->loop);
    return *a;
}

static inline struct answer ask(struct fixture *f, const char *method, const char *path,
                                const char *body)
{
    struct answer a;
    const char *type = !body                          ? NULL
                       : strcmp(method, "PATCH") == 0 ? "application/merge-patch+json"
                                                      : "application/json";

    ask_with(f, &a, method, path, type, NULL, body);
    return wait_for(f, &a);
}

/* Asks, and fails the test when the answer is another one. */
static inline struct answer expect(struct fixture *f, const char *method, const char *path,
                                   const char *body, int code)
{
    struct answer a = ask(f, method, path, body);

    if (a.status != code)
        fail_msg("%s %s: %d %s", method, path, a.status, a.body);
    return a;
}

#define message_of(a) json_get_string((a).object, "message", "")
#define reason_of(a) json_get_string((a).object, "reason", "")

static inline void assert_says(struct answer a, const char *reason, const char *text)
{
    assert_string_equal(reason_of(a), reason);
    if (!strstr(message_of(a), text))
        fail_msg("\"%s\" does not say \"%s\"", message_of(a), text);
}

/* --- streams ---------------------------------------------------------------------------- */

struct reader {
    struct fixture *fixture;
    struct api_stream *stream;
    struct buf in;
    bool ended;
    int status;
};

static inline void reader_data(void *arg, const char *data, size_t len)
{
    struct reader *r = arg;

    buf_add(&r->in, data, len);
}

static inline void reader_end(void *arg, const struct api_reply *reply)
{
    struct reader *r = arg;

    r->ended = true;
    r->status = reply->status;
    buf_add(&r->in, reply->body, reply->body_len);
}

static inline void reader_open(struct fixture *f, struct reader *r, const char *path)
{
    struct api_stream_handler h = {.on_data = reader_data, .on_end = reader_end, .arg = r};

    *r = (struct reader){.fixture = f, .in = BUF_INIT(64u << 20)};
    r->stream = transport_open(f->transport, path, &h);
    assert_non_null(r->stream);
}

static inline void reader_close(struct reader *r)
{
    if (!r->ended)
        transport_close(r->fixture->transport, r->stream);
    buf_release(&r->in);
}

/* The next line of a watch, parsed; fails when the stream ends first. */
static inline const struct json *reader_next(struct reader *r)
{
    struct json *event;
    char *end;

    while (!r->in.len || !(end = memchr(r->in.data, '\n', r->in.len))) {
        if (r->ended)
            fail_msg("the stream ended: %d %s", r->status, r->in.data ? r->in.data : "");
        loop_run_once(r->fixture->loop);
    }
    event = json_parse(&r->fixture->arena, r->in.data, (size_t)(end - r->in.data), NULL);
    assert_non_null(event);
    buf_consume(&r->in, (size_t)(end - r->in.data) + 1);
    return event;
}

static inline void assert_event(const struct json *event, const char *type, const char *name)
{
    assert_string_equal(json_get_string(event, "type", ""), type);
    assert_string_equal(object_name(json_get(event, "object")), name);
}

#endif
