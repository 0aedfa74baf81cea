/*
 * ws_tunnel.c - see ws_tunnel.h. The client's own key and protocols go into the handshake, so that
 * the server's answer is what the client expects and no frame has to be parsed.
 */
#include "console/ws_tunnel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/share.h"
#include "net/origin.h"

struct entry {
    struct ws_tunnels *all; /* NULL: they are gone, and this one is freed when possible */
    struct entry *prev, *next;
    uint64_t session;
    struct httpd_request *http; /* NULL once answered */
    struct tunnel *tunnel;
    bool joined;
    char *user, *program;
};

struct ws_tunnels {
    struct loop *loop;
    const char *who;
    struct entry *first;
};

/* --- ending ----------------------------------------------------------------------------- */

static void unlink_entry(struct entry *e)
{
    if (!e->all)
        return;
    list_remove(&e->all->first, e);
    e->all = NULL;
}

static void entry_free(struct entry *e)
{
    unlink_entry(e);
    tunnel_free(e->tunnel);
    free(e->user);
    free(e->program);
    free(e);
}

static void on_failed(void *arg, const struct err *err)
{
    struct entry *e = arg;

    origin_refuse(e->http, err);
    entry_free(e);
}

static void fail(struct entry *e, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    on_failed(e, &err);
}

/* Refused: passes on the server's message. */
static void on_refused(void *arg, const struct http_answer *answer, struct buf *text)
{
    struct entry *e = arg;
    const char *type = http_answer_field(answer, "Content-Type");
    struct blob *body = blob_from_buf(text);

    httpd_reply(e->http, answer->status, type ? type : "text/plain", NULL, 0, body);
    blob_unref(body);
    entry_free(e);
}

static void on_over(void *arg)
{
    entry_free(arg);
}

/* --- the handshake ---------------------------------------------------------------------- */

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct entry *e = arg;

    if (fd >= 0 && !e->all)
        (void)close(fd);
    e->joined = true;
    if (fd < 0 || !e->all || tunnel_join(e->tunnel, fd, early, early_len) < 0)
        entry_free(e);
}

static void on_opened(void *arg, const struct http_answer *answer)
{
    struct entry *e = arg;
    const char *accept = http_answer_field(answer, "Sec-WebSocket-Accept");
    const char *protocol = http_answer_field(answer, "Sec-WebSocket-Protocol");
    struct httpd_header headers[] = {{"Upgrade", "websocket"},
                                     {"Sec-WebSocket-Accept", accept},
                                     {"Sec-WebSocket-Protocol", protocol}};
    struct httpd_request *http = e->http;

    if (!accept) {
        fail(e, ERR_UNAVAILABLE, "the WebSocket handshake was answered wrongly");
        return;
    }
    e->http = NULL;
    httpd_upgrade(http, headers, protocol ? 3 : 2, on_upgraded, e);
}

static const struct tunnel_handler events = {
    .opened = on_opened, .refused = on_refused, .failed = on_failed, .over = on_over};

static bool is_field_value(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

/* Everything the client offers except its key, which is only for us. */
static void write_protocols(struct buf *out, const char *offered)
{
    const char *before = "Sec-WebSocket-Protocol: ";

    while (*offered) {
        size_t len;

        offered += strspn(offered, ", \t");
        len = strcspn(offered, ", \t");
        if (len > 0 && !origin_is_bearer_protocol(offered)) {
            buf_addf(out, "%s%.*s", before, (int)len, offered);
            before = ", ";
        }
        offered += len;
    }
    if (*before == ',')
        buf_adds(out, "\r\n");
}

int ws_handshake_add(struct buf *out, struct httpd_request *http, struct err *err)
{
    const char *key = httpd_header(http, "Sec-WebSocket-Key");
    const char *protocols = httpd_header_joined(http, "Sec-WebSocket-Protocol");
    const char *version = httpd_header(http, "Sec-WebSocket-Version");

    if (strcmp(http->method, "GET") != 0 || !key || !origin_is_printable(key) || !version ||
        strcmp(version, "13") != 0 || !protocols || !is_field_value(protocols) ||
        !origin_is_printable(http->path) || !origin_is_printable(http->query))
        return err_set(err, ERR_BAD_REQUEST, "this is not a WebSocket handshake");
    buf_addf(out,
             "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: %s\r\n",
             key);
    write_protocols(out, protocols);
    buf_adds(out, "\r\n");
    return out->failed ? err_set(err, ERR_TOO_LARGE, "the request is too large") : 0;
}

static void on_gone(void *arg)
{
    fail(arg, ERR_UNAVAILABLE, "the client is gone");
}

static bool has_room(const struct ws_tunnels *all, const struct ws_tunnel_for *what)
{
    struct share share = {.limit = WS_TUNNELS_LIMIT};

    for (const struct entry *e = all->first; e; e = e->next)
        share_count(&share, e->user, e->program, what->user, what->program);
    return share_ask(&share, !*what->user) == SHARE_LEFT;
}

static struct entry *entry_new(struct ws_tunnels *all, struct httpd_request *http,
                               const struct ws_tunnel_for *what)
{
    struct entry *e = has_room(all, what) ? calloc(1, sizeof(*e)) : NULL;

    if (!e)
        return NULL;
    *e = (struct entry){.all = all,
                        .http = http,
                        .session = http->session,
                        .user = strdup(what->user),
                        .program = strdup(what->program)};
    list_push(&all->first, e);
    if (e->user && e->program)
        return e;
    entry_free(e);
    return NULL;
}

void ws_tunnel_start(struct ws_tunnels *all, struct httpd_request *http, struct buf *request,
                     const struct ws_tunnel_for *what)
{
    const struct tunnel_options how = {.loop = all->loop,
                                       .server = *what->server,
                                       .fd = what->fd,
                                       .who = all->who,
                                       .wait_ms = WS_TUNNEL_WAIT_MS};
    struct entry *e = entry_new(all, http, what);

    if (!e) {
        if (what->fd > 0)
            (void)close(what->fd);
        origin_refuse_with(
            http, ERR_TOO_MANY_REQUESTS,
            "too many WebSockets are open: close some of your account or of this program");
        return;
    }
    httpd_on_gone(http, on_gone, e);
    e->tunnel = tunnel_open(&how, request, &events, e);
    if (!e->tunnel)
        fail(e, ERR_UNAVAILABLE, "out of memory");
}

/* --- life ------------------------------------------------------------------------------- */

struct ws_tunnels *ws_tunnels_new(struct loop *l, const char *who)
{
    struct ws_tunnels *all = calloc(1, sizeof(*all));

    if (all)
        *all = (struct ws_tunnels){.loop = l, .who = who};
    return all;
}

static void cut(struct entry *e, enum err_reason reason, const char *why)
{
    if (e->http)
        fail(e, reason, why);
    else if (e->joined)
        entry_free(e);
    else
        unlink_entry(e); /* on_upgraded is still to come */
}

void ws_tunnels_end_session(struct ws_tunnels *all, uint64_t session)
{
    for (struct entry *e = all->first, *next; e; e = next) {
        next = e->next;
        if (e->session == session)
            cut(e, ERR_UNAUTHORIZED, "Unauthorized");
    }
}

void ws_tunnels_free(struct ws_tunnels *all)
{
    for (struct entry *e = all ? all->first : NULL, *next; e; e = next) {
        next = e->next;
        cut(e, ERR_UNAVAILABLE, "the server is stopping");
    }
    free(all);
}
