/*
 * local.c - the in-process transport. Calls and answers go through queues processed by one wake-up
 * of the loop, so that no callback runs inside its own call, and nothing can fail for lack of
 * memory once a call was accepted.
 *
 * A call is one allocation: the request's arena, the copied call, and later the answer. It outlives
 * the transport only while the server still owes an answer.
 */
#include "server/local.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "server/tokens.h"

#define CALL_MEMORY_BYTES (64u * 1024u * 1024u)
#define READ_BYTES (32u * 1024u)
#define CALLER_MEMORY_BYTES (64u * 1024u)
#define READS_PER_TURN 32 /* per stream, then it is the others' turn */
#define REFUSALS_LIMIT 1024

struct local;

/* A call, or a stream and the call that opens it. */
struct api_stream {
    struct server_request request;
    struct arena arena;
    struct local *local;            /* NULL: the transport is gone */
    struct api_stream *prev, *next; /* all of the transport */
    struct api_stream *queue_next;  /* in the queue of those with work */
    bool queued, asked, answered, closed, paused;

    api_reply_fn *fn;
    void *arg;
    struct api_stream_handler handler; /* for a stream */
    bool is_stream;

    int status;
    struct blob *body;
    struct stream *stream;
};

/* A call for which there was no memory. */
struct refusal {
    api_reply_fn *fn;
    void *arg;
};

struct local {
    struct transport base;
    struct server *server;
    struct loop_wake *wake;
    struct api_stream *all;
    struct api_stream *first, *last; /* the queue */
    size_t queue_len;
    struct refusal refusals[REFUSALS_LIMIT]; /* of one turn of the loop */
    size_t refusals_len;
    struct api_stream *current; /* being processed: freed by the pump */
    bool in_refusals;           /* refusals are being delivered */
    bool freed;
    struct arena caller_arena;
    const struct caller *caller; /* of the requests */
    char room[READ_BYTES];
};

static void enqueue(struct api_stream *c)
{
    struct local *l = c->local;

    if (!l || c->queued)
        return;
    c->queued = true;
    c->queue_next = NULL;
    if (l->last)
        l->last->queue_next = c;
    else
        l->first = c;
    l->last = c;
    l->queue_len++;
    loop_wake_send(l->wake);
}

static struct api_stream *dequeue(struct local *l)
{
    struct api_stream *c = l->first;

    if (!c)
        return NULL;
    l->first = c->queue_next;
    if (!l->first)
        l->last = NULL;
    l->queue_len--;
    c->queued = false;
    return c;
}

static void unqueue(struct local *l, struct api_stream *c)
{
    struct api_stream **at = &l->first;

    if (!c->queued)
        return;
    while (*at != c)
        at = &(*at)->queue_next;
    *at = c->queue_next;
    l->queue_len--;
    c->queued = false;
    l->last = NULL;
    for (struct api_stream *q = l->first; q; q = q->queue_next)
        l->last = q;
}

/* --- calls ----------------------------------------------------------------------------- */

static void call_destroy(struct api_stream *c)
{
    if (c->stream)
        c->stream->ops->close(c->stream);
    blob_unref(c->body);
    arena_release(&c->arena);
    free(c);
}

static void unlink_call(struct api_stream *c)
{
    struct local *l = c->local;

    if (!l)
        return;
    unqueue(l, c);
    list_remove(&l->all, c);
    c->local = NULL;
}

/* Releases it; while the server still works on it, it stays until the answer. */
static void call_drop(struct api_stream *c)
{
    unlink_call(c);
    if (!c->asked || c->answered)
        call_destroy(c);
}

static void take_reply(struct server_request *r, const struct server_reply *reply)
{
    struct api_stream *c = container_of(r, struct api_stream, request);

    c->answered = true;
    c->status = reply->code;
    c->body = blob_ref(reply->body);
    if (c->local)
        enqueue(c);
    else
        call_destroy(c);
}

static void stream_has_data(void *arg)
{
    enqueue(arg);
}

static const char not_opened[] = "the answer is a stream: open it instead";

static void take_stream(struct server_request *r, const char *content_type, struct stream *stream)
{
    struct api_stream *c = container_of(r, struct api_stream, request);

    (void)content_type;
    c->answered = true;
    if (c->is_stream) {
        c->status = 200;
        c->stream = stream;
        stream->on_ready = stream_has_data;
        stream->on_ready_arg = c;
    } else { /* the caller expects one answer, and a stream may never end */
        stream->ops->close(stream);
        c->body = blob_new(not_opened, strlen(not_opened));
    }
    if (c->local)
        enqueue(c);
    else
        call_destroy(c);
}

static const struct server_front local_front = {.reply = take_reply, .stream = take_stream};

static void link_call(struct local *l, struct api_stream *c)
{
    c->local = l;
    list_push(&l->all, c);
}

static bool copy_call(struct api_stream *c, const struct api_call *call)
{
    const char *mark = strchrnul(call->path, '?');
    struct server_request *r = &c->request;

    r->front = &local_front;
    r->arena = &c->arena;
    r->method = arena_strdup(&c->arena, call->method);
    r->path = arena_strndup(&c->arena, call->path, (size_t)(mark - call->path));
    r->query = arena_strdup(&c->arena, *mark ? mark + 1 : "");
    r->accept = call->accept ? arena_strdup(&c->arena, call->accept) : NULL;
    r->agent = "muster";
    r->bare = !call->accept || strcmp(call->accept, JSON_TYPE) != 0; /* our own parts' */
    r->content_type = call->content_type ? arena_strdup(&c->arena, call->content_type) : NULL;
    r->too_large = call->body_len > OBJECT_LIMIT_BYTES;
    r->body_len = r->too_large ? 0 : call->body_len;
    r->body = arena_strndup(&c->arena, r->body_len ? call->body : "", r->body_len);
    return !arena_failed(&c->arena);
}

/* NULL: out of memory. If only the copy of the request failed, the call is already answered with
 * status 0. */
static struct api_stream *call_new(struct local *l, const struct api_call *call)
{
    struct api_stream *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    arena_init(&c->arena, CALL_MEMORY_BYTES);
    link_call(l, c);
    if (!copy_call(c, call))
        c->asked = c->answered = true;
    return c;
}

/* --- the pump -------------------------------------------------------------------------- */

static const char no_memory[] = "out of memory";

static void deliver_refusal(const struct refusal *r)
{
    const struct api_reply reply = {
        .status = 0, .body = no_memory, .body_len = sizeof(no_memory) - 1};

    r->fn(r->arg, &reply);
}

static void deliver_reply(struct api_stream *c)
{
    struct api_reply reply = {.status = c->status,
                              .body = c->body     ? c->body->data
                                      : c->status ? ""
                                                  : no_memory};

    reply.body_len = c->body ? c->body->len : strlen(reply.body);

    if (!c->is_stream) {
        c->fn(c->arg, &reply);
    } else {
        if (c->status == 200 && reply.body_len) {
            c->handler.on_data(c->handler.arg, reply.body, reply.body_len);
            reply.body_len = 0;
        }
        if (!c->closed && !c->local->freed)
            c->handler.on_end(c->handler.arg, &reply);
    }
    c->closed = true;
}

static void deliver_stream(struct local *l, struct api_stream *c)
{
    const struct api_reply end = {.status = 200, .body = ""};

    for (int i = 0; i < READS_PER_TURN && !c->closed && !c->paused && !l->freed; i++) {
        ssize_t n = c->stream->ops->read(c->stream, l->room, sizeof(l->room));

        if (n == 0)
            return;
        if (n < 0) {
            c->handler.on_end(c->handler.arg, &end);
            c->closed = true;
            return;
        }
        c->handler.on_data(c->handler.arg, l->room, (size_t)n);
    }
    if (!c->closed && !c->paused && !l->freed)
        enqueue(c); /* there may be more */
}

/* A browser tab may outlive the account. */
static const struct caller *caller_now(struct local *l, struct arena *a)
{
    if (l->caller && l->caller->kind == CALLER_ACCOUNT &&
        !token_is_still_good(l->server, a, l->caller))
        return NULL;
    return l->caller;
}

static void work_on(struct local *l, struct api_stream *c)
{
    if (!c->asked) {
        c->asked = true;
        c->request.caller = caller_now(l, &c->arena);
        server_handle(l->server, &c->request); /* runs no callbacks: the answer is queued */
        return;
    }
    l->current = c;
    if (c->stream)
        deliver_stream(l, c);
    else
        deliver_reply(c);
    l->current = NULL;
    if (c->closed)
        call_drop(c);
}

static void local_destroy(struct local *l)
{
    arena_release(&l->caller_arena);
    loop_wake_free(l->wake);
    free(l);
}

static void drop_all(struct local *l)
{
    struct api_stream *next;

    for (struct api_stream *c = l->all; c; c = next) {
        next = c->next;
        call_drop(c);
    }
}

/* A call made by one of these callbacks and refused in turn is answered at the next wake-up. */
static void deliver_refusals(struct local *l)
{
    size_t n = l->refusals_len;

    l->in_refusals = n > 0;
    for (size_t i = 0; i < n && !l->freed; i++)
        deliver_refusal(&l->refusals[i]);
    l->in_refusals = false;
    l->refusals_len -= n;
    memmove(l->refusals, l->refusals + n, l->refusals_len * sizeof(l->refusals[0]));
}

/* Processes what is queued now; new entries come with the next wake-up. */
static void pump(void *arg)
{
    struct local *l = arg;
    struct api_stream *c;

    deliver_refusals(l);
    for (size_t n = l->queue_len; n > 0 && !l->freed && (c = dequeue(l)); n--)
        work_on(l, c);
    if (l->freed) {
        drop_all(l);
        local_destroy(l);
    }
}

/* --- the transport --------------------------------------------------------------------- */

static struct local *local_of(struct transport *t)
{
    return container_of(t, struct local, base);
}

/* Every call gets an answer; in the extreme case before the call returns. */
static void refuse(struct local *l, api_reply_fn *fn, void *arg)
{
    const struct refusal r = {.fn = fn, .arg = arg};

    if (l->refusals_len == REFUSALS_LIMIT) {
        deliver_refusal(&r);
        return;
    }
    l->refusals[l->refusals_len++] = r;
    loop_wake_send(l->wake);
}

static void local_call(struct transport *t, const struct api_call *call, api_reply_fn *fn,
                       void *arg)
{
    struct local *l = local_of(t);
    struct api_stream *c = call_new(l, call);

    if (!c) {
        refuse(l, fn, arg);
        return;
    }
    c->fn = fn;
    c->arg = arg;
    enqueue(c);
}

static struct api_stream *local_open(struct transport *t, const char *path,
                                     const struct api_stream_handler *handler)
{
    const struct api_call call = {.method = "GET", .path = path, .accept = handler->accept};
    struct api_stream *c = call_new(local_of(t), &call);

    if (!c)
        return NULL;
    c->is_stream = true;
    c->handler = *handler;
    enqueue(c);
    return c;
}

static void local_close(struct transport *t, struct api_stream *c)
{
    struct local *l = local_of(t);

    c->closed = true;
    if (l->current != c)
        call_drop(c);
}

static void local_pause(struct transport *t, struct api_stream *c, bool paused)
{
    (void)t;
    c->paused = paused;
    if (!paused && c->stream)
        enqueue(c);
}

static void local_free(struct transport *t)
{
    struct local *l = local_of(t);

    l->freed = true;
    if (l->current || l->in_refusals)
        return; /* inside a callback: the pump ends it */
    drop_all(l);
    local_destroy(l);
}

static const struct transport_ops local_ops = {
    .call = local_call,
    .open = local_open,
    .close = local_close,
    .pause = local_pause,
    .free = local_free,
};

struct transport *server_local_transport(struct server *s, const struct caller *who)
{
    struct local *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->base.ops = &local_ops;
    arena_init(&l->caller_arena, CALLER_MEMORY_BYTES);
    l->server = s;
    l->wake = loop_wake_new(s->loop, pump, l);
    l->caller = who ? caller_clone(&l->caller_arena, who) : NULL;
    if (!l->wake || (who && !l->caller)) {
        local_destroy(l);
        return NULL;
    }
    return &l->base;
}
