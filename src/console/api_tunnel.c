/*
 * api_tunnel.c - see api_tunnel.h. The client's own key and protocols go into the handshake, so
 * that what the server answers is what the client expects and no frame has to be looked at.
 */
#include "console/api_tunnel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/list.h"
#include "net/place.h"
#include "net/tunnel.h"

#define HEAD_LIMIT_BYTES (64u * 1024u)

struct entry {
    struct api_tunnels *all; /* NULL: they are gone, and this one goes when it can */
    struct entry *prev, *next;
    uint64_t session;
    struct httpd_request *http; /* NULL once it is answered */
    struct tunnel *tunnel;
    struct buf request;
    bool joined;
};

struct api_tunnels {
    struct loop *loop;
    const struct client_config *server;
    struct entry *first;
    size_t count;
};

/* --- ends ------------------------------------------------------------------------------- */

static void unlink_entry(struct entry *e)
{
    if (!e->all)
        return;
    list_remove(&e->all->first, e);
    e->all->count--;
    e->all = NULL;
}

static void entry_free(struct entry *e)
{
    unlink_entry(e);
    tunnel_free(e->tunnel);
    buf_release(&e->request);
    free(e);
}

static void on_failed(void *arg, const struct err *err)
{
    struct entry *e = arg;

    place_refuse(e->http, err);
    entry_free(e);
}

static void fail(struct entry *e, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    on_failed(e, &err);
}

/* Refused: the server's own words. */
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
        fail(e, ERR_UNAVAILABLE, "the API server answered the WebSocket handshake wrongly");
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

static bool is_printable(const char *text)
{
    return is_field_value(text) && !strchr(text, ' ');
}

/* "https://host:6443/prefix" -> "/prefix" */
static const char *prefix_of(const char *server)
{
    const char *host = strstr(server, "://");

    return strchrnul(host ? host + 3 : server, '/');
}

/* All that the client offers but its key, which is for us alone. */
static void write_protocols(struct entry *e, const char *offered)
{
    const char *before = "Sec-WebSocket-Protocol: ";

    while (*offered) {
        size_t len;

        offered += strspn(offered, ", \t");
        len = strcspn(offered, ", \t");
        if (len > 0 && !place_is_bearer_protocol(offered)) {
            buf_addf(&e->request, "%s%.*s", before, (int)len, offered);
            before = ", ";
        }
        offered += len;
    }
    if (*before == ',')
        buf_adds(&e->request, "\r\n");
}

static int write_handshake(struct entry *e, const char *token, struct err *err)
{
    struct httpd_request *http = e->http;
    const char *server = e->all->server->server, *prefix = prefix_of(server);
    const char *host = strstr(server, "://");
    const char *key = httpd_header(http, "Sec-WebSocket-Key");
    const char *protocols = httpd_header_joined(http, "Sec-WebSocket-Protocol");
    const char *version = httpd_header(http, "Sec-WebSocket-Version");

    host = host ? host + 3 : server;
    if (strcmp(http->method, "GET") != 0 || !key || !is_printable(key) || !version ||
        strcmp(version, "13") != 0 || !protocols || !is_field_value(protocols) ||
        !is_printable(http->path) || !is_printable(http->query))
        return err_set(err, ERR_BAD_REQUEST, "this is no handshake of a WebSocket");
    buf_addf(&e->request,
             "GET %s%s%s%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: muster-console\r\n"
             "Authorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
             prefix, http->path, *http->query ? "?" : "", http->query, (int)(prefix - host), host,
             token, key);
    write_protocols(e, protocols);
    buf_adds(&e->request, "\r\n");
    return e->request.failed ? err_set(err, ERR_TOO_LARGE, "the request is too large") : 0;
}

static struct entry *entry_new(struct api_tunnels *all, struct httpd_request *http)
{
    struct entry *e = all->count < API_TUNNELS_LIMIT ? calloc(1, sizeof(*e)) : NULL;

    if (!e)
        return NULL;
    *e = (struct entry){
        .all = all, .http = http, .session = http->session, .request = BUF_INIT(HEAD_LIMIT_BYTES)};
    list_push(&all->first, e);
    all->count++;
    return e;
}

void api_tunnel_handle(struct api_tunnels *all, struct httpd_request *http, const char *token)
{
    const struct client_config *server = all->server;
    const struct tunnel_options how = {
        .loop = all->loop,
        .server = {.url = server->server, .reach = client_reach_of_others(server)},
        .who = "the API server",
        .wait_ms = API_TUNNEL_WAIT_MS};
    struct entry *e = entry_new(all, http);
    auto_err err = ERR_INIT;

    if (!e) {
        (void)err_set(&err, ERR_TOO_MANY_REQUESTS, "too many terminals are open");
        place_refuse(http, &err);
        return;
    }
    if (write_handshake(e, token, &err) == 0) {
        e->tunnel = tunnel_open(&how, &e->request, &events, e);
        if (!e->tunnel)
            (void)err_set(&err, ERR_UNAVAILABLE, "out of memory");
    }
    if (err_is_set(&err))
        on_failed(e, &err);
}

/* --- life ------------------------------------------------------------------------------- */

struct api_tunnels *api_tunnels_new(struct loop *l, const struct client_config *server)
{
    struct api_tunnels *all = calloc(1, sizeof(*all));

    if (all)
        *all = (struct api_tunnels){.loop = l, .server = server};
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

void api_tunnels_end_session(struct api_tunnels *all, uint64_t session)
{
    for (struct entry *e = all->first, *next; e; e = next) {
        next = e->next;
        if (e->session == session)
            cut(e, ERR_UNAUTHORIZED, "Unauthorized");
    }
}

void api_tunnels_free(struct api_tunnels *all)
{
    for (struct entry *e = all ? all->first : NULL, *next; e; e = next) {
        next = e->next;
        cut(e, ERR_UNAVAILABLE, "the console is stopping");
    }
    free(all);
}
