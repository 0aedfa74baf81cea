/*
 * live.c - see live.h: tabs, their messages and subscriptions. The subscriptions themselves are in
 * live_watch.c and live_log.c.
 */
#include "console/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/list.h"
#include "base/share.h"
#include "console/live_internal.h"
#include "net/websocket.h"

#define MESSAGE_MEMORY_BYTES (1024u * 1024u)
#define WEBSOCKET_KEY_LIMIT 64u
#define LOOK_MS 60000

struct live_hub {
    struct loop *loop;
    struct live_tab *tabs;
    size_t count;
};

/* --- output ------------------------------------------------------------------------------ */

bool live_has_room(const struct live_tab *t)
{
    return t->mux && mux_has_room(t->mux);
}

void live_send(struct live_tab *t, struct buf *message)
{
    if (t->mux && !message->failed)
        mux_send(t->mux, 0, message->data, message->len);
    buf_release(message);
}

static void send_error(struct live_tab *t, unsigned id, int code, const char *reason,
                       const char *text)
{
    struct buf b = BUF_INIT(LIVE_MESSAGE_LIMIT_BYTES);

    buf_addf(&b, "{\"id\":%u,\"t\":\"error\",\"code\":%d,\"reason\":", id, code);
    json_write_string(&b, reason, strlen(reason));
    buf_adds(&b, ",\"message\":");
    json_write_string(&b, text, strlen(text));
    buf_adds(&b, "}");
    live_send(t, &b);
}

void live_send_error(struct live_sub *s, int code, const char *reason, const char *text)
{
    send_error(s->tab, s->id, code, reason, text);
}

void live_send_end(struct live_sub *s)
{
    struct buf b = BUF_INIT(LIVE_MESSAGE_LIMIT_BYTES);

    buf_addf(&b, "{\"id\":%u,\"t\":\"end\"}", s->id);
    live_send(s->tab, &b);
}

/* The API's own message when it refused: it says more than we could. */
void live_refused(struct live_sub *s, const struct api_reply *reply)
{
    struct arena a = ARENA_INIT(MESSAGE_MEMORY_BYTES);
    const struct json *status = json_parse(&a, reply->body, reply->body_len, NULL);

    live_send_error(s, reply->status, json_get_string(status, "reason", ""),
                    json_get_string(status, "message",
                                    reply->status ? "" : "the API server cannot be reached"));
    arena_release(&a);
}

/* --- subscriptions ----------------------------------------------------------------------- */

void live_sub_free(struct live_sub *s)
{
    struct live_sub **at = &s->tab->subs;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->tab->subs_len--;
    if (s->stream)
        transport_close(s->tab->transport, s->stream);
    clock_stop(loop_clock(s->tab->loop), s->again);
    buf_release(&s->line);
    free(s->path);
    free(s->more);
    free(s->cursor);
    free(s);
}

/* One waiting for an answer is freed when it arrives: a call cannot be cancelled. */
static void sub_stop(struct live_sub *s)
{
    if (s->listing)
        s->gone = true;
    else
        live_sub_free(s);
}

static struct live_sub *sub_find(struct live_tab *t, unsigned id)
{
    struct live_sub *s = t->subs;

    while (s && (s->id != id || s->gone))
        s = s->next;
    return s;
}

/* Whether it can be used verbatim in a request line. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f || *text == '#')
            return false;
    return true;
}

/* A revision as servers write them; it becomes part of a query. */
static bool is_cursor(const char *text)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";

    return strspn(text, allowed) == strlen(text);
}

static bool is_api_path(const char *path)
{
    return strncmp(path, "/api/", 5) == 0 || strncmp(path, "/apis/", 6) == 0;
}

/* The path, with the query that the message gave separately. */
static char *path_of(const struct json *message)
{
    const char *path = json_get_string(message, "path", "");
    const char *query = json_get_string(message, "query", "");
    char *whole = NULL;

    if (!is_api_path(path) || !is_plain(path) || !is_plain(query))
        return NULL;
    if (asprintf(&whole, "%s%s%s", path, *query ? (strchr(path, '?') ? "&" : "?") : "", query) < 0)
        return NULL;
    return whole;
}

static const struct {
    const char *op;
    const struct live_ops *ops;
} kinds[] = {{"watch", &live_watch_ops}, {"logs", &live_log_ops}};

static void subscribe(struct live_tab *t, unsigned id, const char *op, const struct json *message)
{
    struct live_sub *s = calloc(1, sizeof(*s));
    const char *from = json_get_string(message, "from", "");

    if (!s) {
        send_error(t, id, 503, "ServiceUnavailable", "out of memory");
        return;
    }
    *s = (struct live_sub){.tab = t, .id = id, .next = t->subs};
    buf_init(&s->line, LIVE_MESSAGE_LIMIT_BYTES);
    t->subs = s;
    t->subs_len++;
    for (size_t i = 0; i < ELEMS(kinds); i++)
        if (strcmp(op, kinds[i].op) == 0)
            s->ops = kinds[i].ops;
    s->path = path_of(message);
    s->cursor = *from && is_cursor(from) ? strdup(from) : NULL;
    s->page = LIVE_PAGE_ITEMS;
    s->first = true;
    s->credit = json_get_int(message, "credit", 0);
    if (!s->ops || !s->path) {
        live_send_error(s, 400, "BadRequest", "a subscription is a watch or logs of an API path");
        live_sub_free(s);
        return;
    }
    s->ops->begin(s);
}

static void take_op(struct live_tab *t, const struct json *message)
{
    const char *op = json_get_string(message, "op", "");
    int64_t id = json_get_int(message, "id", 0);
    bool has_id = id > 0 && id <= UINT32_MAX;
    struct live_sub *s = has_id ? sub_find(t, (unsigned)id) : NULL;

    if (strcmp(op, "ping") == 0) {
        struct buf b = BUF_INIT(64);

        buf_adds(&b, "{\"t\":\"pong\"}");
        live_send(t, &b);
    } else if (strcmp(op, "stop") == 0) {
        if (s)
            sub_stop(s);
    } else if (strcmp(op, "credit") == 0) {
        if (s && s->ops->credit)
            s->ops->credit(s, json_get_int(message, "bytes", 0));
    } else if (!has_id || s) {
        send_error(t, s ? s->id : 0, 400, "BadRequest",
                   "each subscription needs its own id, a number from 1");
    } else if (t->subs_len >= LIVE_SUBSCRIPTIONS_LIMIT) {
        send_error(t, (unsigned)id, 429, "TooManyRequests", "this tab has too many subscriptions");
    } else {
        subscribe(t, (unsigned)id, op, message);
    }
}

/* --- tabs -------------------------------------------------------------------------------- */

static void tab_unsubscribe(struct live_tab *t)
{
    for (struct live_sub *s = t->subs, *next; s; s = next) {
        next = s->next;
        live_sub_free(s);
    }
    transport_free(t->transport); /* drops its unanswered calls */
    t->transport = NULL;
}

/* Removes it from the hub, and ends its use of the API. */
static void tab_empty(struct live_tab *t)
{
    tab_unsubscribe(t);
    clock_stop(loop_clock(t->loop), t->timer);
    t->timer = NULL;
    list_remove(&t->hub->tabs, t);
    t->hub->count--;
    t->hub = NULL;
    free(t->user);
    t->user = NULL;
}

static void tab_free(struct live_tab *t)
{
    tab_empty(t);
    mux_free(t->mux);
    free(t);
}

static void on_look(void *arg);

static void look_later(struct live_tab *t)
{
    t->timer = clock_start(loop_clock(t->loop), LOOK_MS, on_look, t);
}

/* Closes at once: a tab that has not read until then never will. */
static void on_look(void *arg)
{
    struct live_tab *t = arg;
    int64_t now = loop_monotonic_ms(t->loop);

    t->timer = NULL;
    if (now - t->heard_ms > LIVE_SILENCE_LIMIT_MS || now - t->opened_ms > LIVE_TAB_LIMIT_MS)
        tab_free(t);
    else
        look_later(t);
}

static void on_message(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct live_tab *t = arg;
    struct arena a = ARENA_INIT(MESSAGE_MEMORY_BYTES);
    const struct json *message = json_parse(&a, data, len, NULL);

    (void)stream;
    t->heard_ms = loop_monotonic_ms(t->loop);
    if (json_is(message, JSON_OBJECT))
        take_op(t, message);
    else
        send_error(t, 0, 400, "BadRequest", "a message is a JSON object");
    arena_release(&a);
}

void live_go_on(struct live_tab *t)
{
    for (struct live_sub *s = t->subs, *next; s && live_has_room(t); s = next) {
        next = s->next;
        if (!s->gone)
            s->ops->room(s);
    }
}

static void on_room(void *arg)
{
    live_go_on(arg);
}

static void on_closed(void *arg)
{
    tab_free(arg);
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    (void)arg, (void)stream, (void)headers, (void)count;
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    (void)arg, (void)stream, (void)how;
}

static const struct mux_handler tab_events = {.opened = on_opened,
                                              .data = on_message,
                                              .ended = on_ended,
                                              .drained = on_room,
                                              .closed = on_closed};

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct live_tab *t = arg;

    if (!t->hub) { /* it was closed meanwhile */
        if (fd >= 0)
            (void)close(fd);
        free(t);
        return;
    }
    if (fd >= 0)
        t->mux = mux_new(t->loop, fd, early, early_len, MUX_TEXT, &tab_events, t);
    if (t->mux)
        look_later(t);
    else
        tab_free(t);
}

static struct live_tab *tab_new(struct live_hub *h, const struct mount_request *r)
{
    struct live_tab *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    *t = (struct live_tab){
        .hub = h, .loop = h->loop, .transport = r->transport(r), .session = r->session};
    t->opened_ms = t->heard_ms = loop_monotonic_ms(h->loop);
    t->user = t->transport ? strdup(r->user) : NULL;
    if (!t->user) {
        transport_free(t->transport);
        free(t);
        return NULL;
    }
    list_push(&h->tabs, t);
    h->count++;
    return t;
}

static void refuse(struct httpd_request *http, int code, const char *text)
{
    struct blob *body = blob_new(text, strlen(text));

    httpd_reply(http, code, "text/plain; charset=utf-8", NULL, 0, body);
    blob_unref(body);
}

static bool asks_for_websocket(struct httpd_request *http, const char **ret_key)
{
    const char *upgrade = httpd_header(http, "Upgrade");
    const char *version = httpd_header(http, "Sec-WebSocket-Version");

    *ret_key = httpd_header(http, "Sec-WebSocket-Key");
    return strcmp(http->method, "GET") == 0 && upgrade && strcasecmp(upgrade, "websocket") == 0 &&
           version && strcmp(version, "13") == 0 && *ret_key &&
           strlen(*ret_key) <= WEBSOCKET_KEY_LIMIT;
}

/* Whether the caller may open another tab; otherwise refuses it. */
static bool has_place(struct live_hub *h, const struct mount_request *r)
{
    struct share share = {.limit = LIVE_TABS_LIMIT, .all = h->count};

    for (const struct live_tab *t = h->tabs; t; t = t->next) {
        share.accounts += *t->user != '\0';
        share.own += strcmp(t->user, r->user) == 0;
    }
    switch (share_ask(&share, !*r->user)) {
    case SHARE_OWN_USED:
        refuse(r->http, 429, "this account has too many tabs open: close some\n");
        return false;
    case SHARE_ALL_USED:
        refuse(r->http, 503, "too many tabs are open\n");
        return false;
    case SHARE_LEFT:
        break;
    }
    return true;
}

void live_handle(void *arg, const struct mount_request *r)
{
    struct live_hub *h = arg;
    char accept[WEBSOCKET_ACCEPT_SIZE];
    struct live_tab *t;
    const char *key, *offered;

    if (strcmp(r->http->path, LIVE_PREFIX) != 0 || !asks_for_websocket(r->http, &key)) {
        refuse(r->http, 400, "this path is for WebSockets\n");
        return;
    }
    if (!has_place(h, r))
        return;
    t = tab_new(h, r);
    if (!t) {
        refuse(r->http, 503, "out of memory\n");
        return;
    }
    offered = httpd_header_joined(r->http, "Sec-WebSocket-Protocol");
    websocket_accept(key, accept);
    httpd_upgrade(r->http,
                  (const struct httpd_header[]){{"Upgrade", "websocket"},
                                                {"Sec-WebSocket-Accept", accept},
                                                {"Sec-WebSocket-Protocol", LIVE_PROTOCOL}},
                  offered && strstr(offered, LIVE_PROTOCOL) ? 3 : 2, on_upgraded, t);
}

static void tab_sign_out(struct live_tab *t)
{
    struct buf b = BUF_INIT(64);

    tab_unsubscribe(t);
    buf_adds(&b, "{\"t\":\"signedOut\"}");
    live_send(t, &b);
    mux_finish(t->mux);
}

void live_sign_out(void *arg, uint64_t session)
{
    struct live_hub *h = arg;

    for (struct live_tab *t = h->tabs, *next; t; t = next) {
        next = t->next;
        if (t->session != session)
            continue;
        if (t->mux)
            tab_sign_out(t);
        else
            tab_empty(t); /* on_upgraded is still to come, and frees it */
    }
}

struct live_hub *live_hub_new(struct loop *l)
{
    struct live_hub *h = calloc(1, sizeof(*h));

    if (h)
        h->loop = l;
    return h;
}

void live_hub_free(struct live_hub *h)
{
    for (struct live_tab *t = h ? h->tabs : NULL, *next; t; t = next) {
        next = t->next;
        if (t->mux)
            tab_free(t);
        else
            tab_empty(t); /* on_upgraded is still to come, and frees it */
    }
    free(h);
}
