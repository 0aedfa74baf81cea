/*
 * transport.h - how a client reaches the Kubernetes API: in-process (server/local.h) or over HTTP
 * (client/http_transport.h). Everything above this header is the same for both.
 */
#ifndef MUSTER_PORT_TRANSPORT_H
#define MUSTER_PORT_TRANSPORT_H

#include "base/base.h"

struct transport;

struct api_call {
    const char *method;       /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;         /* "/api/v1/pods?limit=500", already escaped */
    const char *content_type; /* of the body, NULL without one */
    const char *accept;       /* NULL: application/json */
    const char *body;
    size_t body_len;
};

struct api_reply {
    int status; /* HTTP code; 0: the server could not be reached, and body says why in a sentence */
    const char *body;
    size_t body_len;
};

/* Called once, on the loop thread, never inside call(). The reply is valid until fn returns. */
typedef void api_reply_fn(void *arg, const struct api_reply *reply);

/* A streamed GET (watch or followed log). on_data gets pieces with arbitrary boundaries; on_end is
 * called once, last: status is the HTTP code (200: the server ended a good stream) with the body of
 * a refusal, or 0. */
struct api_stream_handler {
    const char *accept;         /* NULL: application/json */
    void (*on_open)(void *arg); /* HTTP only: a good answer has begun; may be NULL */
    void (*on_data)(void *arg, const char *data, size_t len);
    void (*on_end)(void *arg, const struct api_reply *reply);
    void *arg;
};

struct api_stream;

struct transport_ops {
    /* Copies what it needs of the call. Replies may come in any order. Not for streamed answers
     * (watches, logs): use open. */
    void (*call)(struct transport *t, const struct api_call *call, api_reply_fn *fn, void *arg);
    /* NULL only when out of memory. Handlers are never called from inside open or close. */
    struct api_stream *(*open)(struct transport *t, const char *path,
                               const struct api_stream_handler *handler);
    void (*close)(struct transport *t,
                  struct api_stream *s); /* no on_end afterwards; not needed after on_end */
    /* Stops on_data, except for data already on its way; the server waits. NULL: not supported. */
    void (*pause)(struct transport *t, struct api_stream *s, bool paused);
    /* Drops outstanding calls and streams without any callback. */
    void (*free)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    /* Write and watch Kubernetes' own kinds in protobuf: cheaper than JSON for kube-apiserver, more
     * expensive for our server. */
    bool protobuf;
};

static inline void transport_call(struct transport *t, const struct api_call *call,
                                  api_reply_fn *fn, void *arg)
{
    t->ops->call(t, call, fn, arg);
}

static inline struct api_stream *transport_open(struct transport *t, const char *path,
                                                const struct api_stream_handler *handler)
{
    return t->ops->open(t, path, handler);
}

static inline void transport_close(struct transport *t, struct api_stream *s)
{
    t->ops->close(t, s);
}

static inline void transport_pause(struct transport *t, struct api_stream *s, bool paused)
{
    if (t->ops->pause)
        t->ops->pause(t, s, paused);
}

static inline void transport_free(struct transport *t)
{
    if (t)
        t->ops->free(t);
}

#endif
