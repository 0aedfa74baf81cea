/*
 * network.c - what is between a client and the server. A call is a flight: on its way, at the
 * server, on its way back; at each leg it can be late or lost, and its sender can die while it goes
 * on. A stream's lines come in order, late, twice, or not at all because the stream broke.
 *
 * The server end of everything is one in-process transport (server/local.h), which comes and goes
 * with the server.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/local.h"
#include "sim.h"

struct link {
    struct transport base;
    struct network *network;
    enum client who;
    bool open;
    struct link *next;
};

struct flight {
    struct flight *next, **at;
    struct network *network;
    struct link *link; /* NULL: its sender is gone */
    enum client who;
    struct api_call call;
    char *method, *path, *content_type, *body;
    api_reply_fn *fn;
    void *arg;
    struct clock_timer *timer;
    bool outward, at_server;
    int status;
    char *reply;
    size_t reply_len;
};

struct piece {
    struct piece *next;
    int64_t due_ms;
    bool end;
    int status;
    size_t len;
    char data[];
};

struct api_stream {
    struct api_stream *next, **at;
    struct link *link;
    struct api_stream_handler handler;
    char *path;
    struct api_stream *inner;
    struct clock_timer *timer;
    struct piece *first, **last;
    struct buf partial;
    char *again; /* a line to be told once more, behind the next */
    size_t again_len;
    int64_t last_due, last_revision;
    bool asked, broken, delivering, closed;
};

struct network {
    struct sim *sim;
    struct transport *inner; /* NULL: the server is down */
    struct link *links;
    struct flight *flights;
    struct api_stream *streams;
};

static bool is_write(const char *method)
{
    return strcmp(method, "GET") != 0;
}

static bool is_faulty(enum client who)
{
    return who != CLIENT_USER;
}

static int64_t usual_delay(enum client who)
{
    return who == CLIENT_USER ? 1 : rand_below(4);
}

/* --- answers the server never gave -------------------------------------------------------------
 */

static const struct {
    int code;
    const char *reason, *message;
} refusals[] = {
    {409, "Conflict",
     "the object has been modified; please apply your changes to the latest version"},
    {410, "Expired", "too old resource version"},
    {429, "TooManyRequests", "too many requests, please try again later"},
    {500, "InternalError", "internal error"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout", "the server did not answer in time"},
};

static char *refusal(int code, size_t *ret_len)
{
    char *text;
    size_t i = 0;
    int n;

    while (refusals[i].code != code)
        i++;
    n = asprintf(
        &text,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
        refusals[i].message, refusals[i].reason, code);
    assert(n > 0);
    *ret_len = (size_t)n;
    return text;
}

/* --- calls -------------------------------------------------------------------------------------
 */

static void flight_free(struct flight *f)
{
    *f->at = f->next;
    if (f->next)
        f->next->at = f->at;
    clock_stop(f->network->sim->clock, f->timer);
    free(f->method);
    free(f->path);
    free(f->content_type);
    free(f->body);
    free(f->reply);
    free(f);
}

static void flight_lands(void *arg)
{
    struct flight *f = arg;
    struct api_reply reply = {.status = f->status, .body = f->reply, .body_len = f->reply_len};

    f->timer = NULL;
    if (f->link)
        f->fn(f->arg, &reply);
    flight_free(f);
}

static void fly_back(struct flight *f, int64_t delay_ms)
{
    f->timer = clock_start(f->network->sim->clock, delay_ms, flight_lands, f);
}

static void set_reply(struct flight *f, int status, const char *body, size_t len)
{
    free(f->reply);
    f->status = status;
    f->reply = malloc(len + 1);
    assert(f->reply);
    memcpy(f->reply, body, len);
    f->reply[len] = '\0';
    f->reply_len = len;
}

static void lose(struct flight *f, const char *why, int64_t delay_ms)
{
    set_reply(f, 0, why, strlen(why));
    fly_back(f, delay_ms);
}

static void answered(void *arg, const struct api_reply *reply)
{
    struct flight *f = arg;
    struct sim *s = f->network->sim;

    f->at_server = false;
    observer_acknowledged(s->observer, &f->call, reply);
    if (is_faulty(f->who) && fault(s, FAULT_REPLY_LOST)) {
        say(s, "net   reply lost: %s %s (%d)", f->method, f->path, reply->status);
        lose(f, "the connection broke", rand_range(1, LATE_MS));
        return;
    }
    set_reply(f, reply->status, reply->body, reply->body_len);
    fly_back(f, is_faulty(f->who) && fault(s, FAULT_REPLY_LATE) ? rand_range(20, LATE_MS)
                                                                : usual_delay(f->who));
}

/* The refusal a healthy server under load, or a proxy before it, could have given. */
static int refused_with(struct flight *f)
{
    struct sim *s = f->network->sim;
    bool list = strcmp(f->method, "GET") == 0 && strstr(f->path, "limit=");

    if ((strcmp(f->method, "PUT") == 0 || strcmp(f->method, "PATCH") == 0) && fault(s, FAULT_409))
        return 409;
    if (list && fault(s, FAULT_410))
        return 410;
    if (fault(s, FAULT_429))
        return 429;
    if (fault(s, FAULT_5XX))
        return rand_chance(0.4) ? 500 : rand_chance(0.5) ? 503 : 504;
    return 0;
}

static void flight_arrives(void *arg)
{
    struct flight *f = arg;
    struct sim *s = f->network->sim;
    int code = is_faulty(f->who) ? refused_with(f) : 0;

    f->timer = NULL;
    f->outward = false;
    if (!f->network->inner) {
        lose(f, "connection refused", usual_delay(f->who));
    } else if (code) {
        say(s, "net   %s %s: refused with %d", f->method, f->path, code);
        f->status = code;
        f->reply = refusal(code, &f->reply_len);
        fly_back(f, usual_delay(f->who));
    } else {
        f->at_server = true;
        transport_call(f->network->inner, &f->call, answered, f);
    }
}

static char *copy_or_null(const char *text, size_t len)
{
    return text ? strndup(text, len) : NULL;
}

static struct flight *flight_new(struct link *l, const struct api_call *call, api_reply_fn *fn,
                                 void *arg)
{
    struct flight *f = calloc(1, sizeof(*f));

    assert(f);
    f->network = l->network;
    f->link = l;
    f->who = l->who;
    f->fn = fn;
    f->arg = arg;
    f->call = *call;
    f->call.method = f->method = strdup(call->method);
    f->call.path = f->path = strdup(call->path);
    f->call.content_type = f->content_type = copy_or_null(
        call->content_type, call->content_type ? strlen(call->content_type) : 0);
    f->call.body = f->body = copy_or_null(call->body, call->body_len);
    f->next = l->network->flights;
    f->at = &l->network->flights;
    if (f->next)
        f->next->at = &f->next;
    l->network->flights = f;
    return f;
}

static void link_call(struct transport *t, const struct api_call *call, api_reply_fn *fn, void *arg)
{
    struct link *l = container_of(t, struct link, base);
    struct sim *s = l->network->sim;
    struct flight *f = flight_new(l, call, fn, arg);
    int64_t delay = usual_delay(l->who);

    if (is_faulty(l->who) && fault(s, FAULT_REQUEST_LATE))
        delay = rand_range(20, LATE_MS);
    if (is_write(call->method) && l->who == CLIENT_CONTROLLER &&
        fault(s, FAULT_CONTROLLER_KILLED_AT_WRITE))
        soon(s, world_kill_controller);
    if (l->who == CLIENT_AGENT && is_write(call->method) && fault(s, FAULT_AGENT_KILLED_AT_ACTION))
        soon(s, world_kill_agent);
    if (is_faulty(l->who) && fault(s, FAULT_REQUEST_LOST)) {
        say(s, "net   request lost: %s %s", call->method, call->path);
        lose(f, "timed out", rand_range(1, 30000));
        return;
    }
    f->outward = true;
    f->timer = clock_start(s->clock, delay, flight_arrives, f);
}

/* --- streams -----------------------------------------------------------------------------------
 */

static void stream_deliver(void *arg);

static void stream_free(struct api_stream *st)
{
    struct network *n = st->link->network;

    *st->at = st->next;
    if (st->next)
        st->next->at = st->at;
    clock_stop(n->sim->clock, st->timer);
    if (st->inner && n->inner)
        transport_close(n->inner, st->inner);
    while (st->first) {
        struct piece *p = st->first;

        st->first = p->next;
        free(p);
    }
    buf_release(&st->partial);
    free(st->again);
    free(st->path);
    free(st);
}

static void wait_for_first(struct api_stream *st)
{
    struct sim *s = st->link->network->sim;

    if (st->first && !st->timer && !st->delivering)
        st->timer = clock_start(s->clock, st->first->due_ms - sim_loop_now(s->loop), stream_deliver,
                                st);
}

static void push(struct api_stream *st, const char *data, size_t len, bool end, int status,
                 int64_t delay_ms)
{
    struct piece *p = calloc(1, sizeof(*p) + len + 1);
    int64_t due = sim_loop_now(st->link->network->sim->loop) + delay_ms;

    assert(p);
    st->last_due = p->due_ms = max_i64(due, st->last_due);
    p->end = end;
    p->status = status;
    p->len = len;
    if (len)
        memcpy(p->data, data, len);
    *st->last = p;
    st->last = &p->next;
    wait_for_first(st);
}

/* Data comes in pieces cut anywhere. */
static void hand_out(struct api_stream *st, const struct piece *p)
{
    size_t half = p->len > 1 && rand_chance(0.1) ? (size_t)rand_below((int64_t)p->len) : 0;

    if (half)
        st->handler.on_data(st->handler.arg, p->data, half);
    if (!st->closed)
        st->handler.on_data(st->handler.arg, p->data + half, p->len - half);
}

static void stream_deliver(void *arg)
{
    struct api_stream *st = arg;
    struct piece *p = st->first;
    bool over = p->end;

    st->timer = NULL;
    st->first = p->next;
    if (!st->first)
        st->last = &st->first;
    st->delivering = true;
    if (over)
        st->handler.on_end(
            st->handler.arg,
            &(struct api_reply){.status = p->status, .body = p->data, .body_len = p->len});
    else
        hand_out(st, p);
    st->delivering = false;
    free(p);
    if (over || st->closed)
        stream_free(st);
    else
        wait_for_first(st);
}

static void close_inner(struct api_stream *st)
{
    struct network *n = st->link->network;

    if (st->inner && n->inner)
        transport_close(n->inner, st->inner);
    st->inner = NULL;
}

static void break_off(struct api_stream *st, const char *why)
{
    st->broken = true;
    push(st, why, strlen(why), true, 0, rand_below(200));
}

static void take_line(struct api_stream *st, const char *line, size_t len)
{
    struct sim *s = st->link->network->sim;
    int64_t delay = usual_delay(st->link->who);

    observer_watch_line(s->observer, st->path, &st->last_revision, line, len);
    if (!is_faulty(st->link->who)) {
        push(st, line, len, false, 0, delay);
        return;
    }
    if (fault(s, FAULT_WATCH_CUT)) {
        say(s, "net   watch cut: %s", st->path);
        if (rand_chance(0.5))
            push(st, line, (size_t)rand_below((int64_t)len), false, 0, delay);
        break_off(st, "connection reset");
        return;
    }
    if (fault(s, FAULT_WATCH_STALL)) {
        say(s, "net   watch stalls: %s", st->path);
        st->broken = true; /* nothing more comes, and no end */
        return;
    }
    if (fault(s, FAULT_WATCH_LATE))
        delay = rand_range(50, LATE_MS);
    push(st, line, len, false, 0, delay);
    if (st->again) { /* behind a newer one */
        push(st, st->again, st->again_len, false, 0, delay);
        free(st->again);
        st->again = NULL;
    }
    if (!fault(s, FAULT_WATCH_TWICE))
        return;
    if (rand_chance(0.5)) {
        push(st, line, len, false, 0, delay);
        return;
    }
    st->again = strndup(line, len);
    st->again_len = len;
}

static void inner_data(void *arg, const char *data, size_t len)
{
    struct api_stream *st = arg;
    const char *newline;

    buf_add(&st->partial, data, len);
    while (!st->broken && st->partial.len &&
           (newline = memchr(st->partial.data, '\n', st->partial.len))) {
        size_t n = (size_t)(newline - st->partial.data) + 1;

        take_line(st, st->partial.data, n);
        memmove(st->partial.data, st->partial.data + n, st->partial.len - n);
        st->partial.len -= n;
    }
    if (st->broken)
        close_inner(st);
}

static void inner_end(void *arg, const struct api_reply *reply)
{
    struct api_stream *st = arg;

    st->inner = NULL;
    if (!st->broken)
        push(st, reply->body, reply->body_len, true, reply->status, usual_delay(st->link->who));
}

static void stream_arrives(void *arg)
{
    struct api_stream *st = arg;
    struct network *n = st->link->network;
    struct api_stream_handler handler = {.on_data = inner_data, .on_end = inner_end, .arg = st};
    bool faulty = is_faulty(st->link->who);
    int code = 0;
    size_t len;
    char *text;

    st->timer = NULL;
    if (!n->inner) {
        break_off(st, "connection refused");
        return;
    }
    if (faulty && fault(n->sim, FAULT_410))
        code = 410;
    else if (faulty && fault(n->sim, FAULT_429))
        code = 429;
    else if (faulty && fault(n->sim, FAULT_5XX))
        code = 503;
    if (code) {
        text = refusal(code, &len);
        st->broken = true;
        push(st, text, len, true, code, 1);
        free(text);
        return;
    }
    st->asked = true;
    st->inner = transport_open(n->inner, st->path, &handler);
}

static struct api_stream *link_open(struct transport *t, const char *path,
                                    const struct api_stream_handler *handler)
{
    struct link *l = container_of(t, struct link, base);
    struct api_stream *st = calloc(1, sizeof(*st));

    assert(st);
    st->link = l;
    st->handler = *handler;
    st->path = strdup(path);
    st->last = &st->first;
    buf_init(&st->partial, 64u * 1024 * 1024);
    st->next = l->network->streams;
    st->at = &l->network->streams;
    if (st->next)
        st->next->at = &st->next;
    l->network->streams = st;
    st->timer = clock_start(l->network->sim->clock, usual_delay(l->who), stream_arrives, st);
    return st;
}

static void link_close(struct transport *t, struct api_stream *st)
{
    (void)t;
    st->closed = true;
    if (!st->delivering)
        stream_free(st);
}

/* --- links -------------------------------------------------------------------------------------
 */

/* Its sender died: it was never sent, or it is on the wire and arrives. */
static void orphan(struct flight *f)
{
    struct sim *s = f->network->sim;

    f->link = NULL;
    if (f->at_server)
        return;
    if (!f->outward || rand_chance(0.5)) {
        flight_free(f);
        return;
    }
    clock_stop(s->clock, f->timer);
    f->timer = clock_start(s->clock, rand_below(3), flight_arrives, f);
}

static void link_free(struct transport *t)
{
    struct link *l = container_of(t, struct link, base);
    struct network *n = l->network;
    struct api_stream *next;

    for (struct flight *f = n->flights, *following; f; f = following) {
        following = f->next;
        if (f->link == l)
            orphan(f);
    }
    for (struct api_stream *st = n->streams; st; st = next) {
        next = st->next;
        if (st->link == l)
            stream_free(st);
    }
    l->open = false;
}

static const struct transport_ops link_ops = {
    .call = link_call, .open = link_open, .close = link_close, .free = link_free};

struct transport *network_link(struct network *n, enum client who)
{
    struct link *l = calloc(1, sizeof(*l));

    assert(l);
    *l = (struct link){
        .base = {&link_ops}, .network = n, .who = who, .open = true, .next = n->links};
    n->links = l;
    return &l->base;
}

struct network *network_new(struct sim *s)
{
    struct network *n = calloc(1, sizeof(*n));

    assert(n);
    n->sim = s;
    return n;
}

void network_connect(struct network *n, struct server *server)
{
    n->inner = server_local_transport(server, &caller_owner);
    assert(n->inner);
}

void network_break(struct network *n)
{
    transport_free(n->inner);
    n->inner = NULL;
    for (struct flight *f = n->flights; f; f = f->next) {
        if (!f->at_server)
            continue;
        f->at_server = false;
        lose(f, "connection reset", rand_below(50));
    }
    for (struct api_stream *st = n->streams; st; st = st->next) {
        bool was = st->inner;

        st->inner = NULL;
        if (was && !st->broken)
            break_off(st, "connection reset");
    }
}

void network_free(struct network *n)
{
    transport_free(n->inner);
    n->inner = NULL;
    while (n->streams)
        stream_free(n->streams);
    while (n->flights)
        flight_free(n->flights);
    while (n->links) {
        struct link *l = n->links;

        n->links = l->next;
        free(l);
    }
    free(n);
}
