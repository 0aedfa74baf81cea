/*
 * script_transport.h - a transport (port/transport.h) that does nothing by itself: the test sees
 * what was asked and says what is answered, byte by byte if it wants.
 */
#ifndef MUSTER_TESTS_SCRIPT_TRANSPORT_H
#define MUSTER_TESTS_SCRIPT_TRANSPORT_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "port/transport.h"

struct script_call {
    struct script_call *next;
    char *method, *path, *content_type, *body;
    api_reply_fn *fn;
    void *arg;
};

struct api_stream {
    struct api_stream *next;
    char *path;
    struct api_stream_handler handler;
    bool paused; /* what is said to it all the same was on its way */
};

struct script_transport {
    struct transport transport;
    struct script_call *calls;  /* unanswered, oldest first */
    struct api_stream *streams; /* open, oldest first */
    unsigned calls_made, streams_opened, streams_closed;
};

static inline char *script_copy(const char *text, size_t len)
{
    char *copy = text ? strndup(text, len) : NULL;

    assert(copy || !text);
    return copy;
}

static inline void script_call_free(struct script_call *c)
{
    free(c->method);
    free(c->path);
    free(c->content_type);
    free(c->body);
    free(c);
}

static inline void script_start_call(struct transport *base, const struct api_call *call,
                                     api_reply_fn *fn, void *arg)
{
    struct script_transport *t = container_of(base, struct script_transport, transport);
    struct script_call *c = calloc(1, sizeof(*c)), **at = &t->calls;

    assert(c);
    c->method = script_copy(call->method, strlen(call->method));
    c->path = script_copy(call->path, strlen(call->path));
    c->content_type = script_copy(call->content_type,
                                  call->content_type ? strlen(call->content_type) : 0);
    c->body = script_copy(call->body, call->body_len);
    c->fn = fn;
    c->arg = arg;
    while (*at)
        at = &(*at)->next;
    *at = c;
    t->calls_made++;
}

static inline struct api_stream *script_open(struct transport *base, const char *path,
                                             const struct api_stream_handler *handler)
{
    struct script_transport *t = container_of(base, struct script_transport, transport);
    struct api_stream *s = calloc(1, sizeof(*s)), **at = &t->streams;

    assert(s);
    s->path = script_copy(path, strlen(path));
    s->handler = *handler;
    while (*at)
        at = &(*at)->next;
    *at = s;
    t->streams_opened++;
    return s;
}

static inline void script_unlink(struct script_transport *t, struct api_stream *s)
{
    struct api_stream **at = &t->streams;

    while (*at != s) {
        assert(*at); /* closing a stream that has ended is a bug of its owner */
        at = &(*at)->next;
    }
    *at = s->next;
    free(s->path);
    free(s);
}

static inline void script_close(struct transport *base, struct api_stream *s)
{
    struct script_transport *t = container_of(base, struct script_transport, transport);

    t->streams_closed++;
    script_unlink(t, s);
}

static inline void script_pause(struct transport *base, struct api_stream *s, bool paused)
{
    (void)base;
    s->paused = paused;
}

static inline void script_free(struct transport *base)
{
    struct script_transport *t = container_of(base, struct script_transport, transport);

    while (t->calls) {
        struct script_call *c = t->calls;

        t->calls = c->next;
        script_call_free(c);
    }
    while (t->streams)
        script_unlink(t, t->streams);
}

static const struct transport_ops script_transport_ops = {
    .call = script_start_call,
    .open = script_open,
    .close = script_close,
    .pause = script_pause,
    .free = script_free,
};

static inline void script_transport_init(struct script_transport *t)
{
    *t = (struct script_transport){.transport = {.ops = &script_transport_ops}};
}

/* Answers the oldest unanswered call. */
static inline void script_answer(struct script_transport *t, int status, const char *body)
{
    struct script_call *c = t->calls;
    struct api_reply reply = {.status = status, .body = body, .body_len = strlen(body)};

    assert(c);
    t->calls = c->next;
    c->fn(c->arg, &reply);
    script_call_free(c);
}

/* The oldest open stream gets bytes, or ends. */
static inline void script_send(struct script_transport *t, const char *data)
{
    assert(t->streams);
    t->streams->handler.on_data(t->streams->handler.arg, data, strlen(data));
}

static inline void script_end(struct script_transport *t, int status, const char *body)
{
    struct api_stream_handler handler;

    assert(t->streams);
    handler = t->streams->handler;
    script_unlink(t, t->streams);
    handler.on_end(handler.arg,
                   &(struct api_reply){.status = status, .body = body, .body_len = strlen(body)});
}

#endif
