/*
 * api_tunnel.c - see api_tunnel.h.
 *
 * Connecting waits, so a pool thread does it; the rest is on the loop. The client's own key and
 * protocols go into the handshake, so that what the server answers is what the client expects and
 * no frame has to be looked at.
 */
#include "console/api_tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/list.h"
#include "console/http_answer.h"
#include "net/dial.h"
#include "net/place.h"

#define HEAD_LIMIT_BYTES (64u * 1024u)
#define READ_BYTES (32u * 1024u)
#define HELD_BYTES (64u * 1024u) /* in one direction; then its source waits */
#define HELD_LIMIT_BYTES (HELD_BYTES + READ_BYTES)
#define ROUNDS_PER_TURN 16

enum state {
    DIALING,  /* on a pool thread */
    SHAKING,  /* the handshake is sent, its answer comes */
    OPENING,  /* our own answer goes to the client */
    RELAYING, /* bytes both ways */
};

struct tunnel {
    struct api_tunnels *all; /* NULL: they are gone, and this one goes when it can */
    struct tunnel *prev, *next;
    struct loop *loop;
    uint64_t session;
    enum state state;
    struct httpd_request *http; /* NULL once it is answered */
    struct clock_timer *timer;

    struct dial_options where;
    struct err err; /* of connecting */
    struct dial *dial;
    struct loop_fd *dial_watch;
    unsigned dial_watched;
    bool more; /* may wait above the socket, which TLS has read already */

    int client;
    struct loop_fd *client_watch;
    unsigned client_watched;

    struct http_answer answer;
    struct buf up, down; /* to the server, to the client */
    bool server_over, client_over;
};

struct api_tunnels {
    struct loop *loop;
    const struct client_config *server;
    struct tunnel *first;
    size_t count;
};

/* --- ends ------------------------------------------------------------------------------- */

static void unlink_tunnel(struct tunnel *t)
{
    if (!t->all)
        return;
    list_remove(&t->all->first, t);
    t->all->count--;
    t->all = NULL;
}

/* Not while a pool thread has it. */
static void tunnel_free(struct tunnel *t)
{
    unlink_tunnel(t);
    clock_stop(loop_clock(t->loop), t->timer);
    loop_fd_stop(t->dial_watch);
    loop_fd_stop(t->client_watch);
    dial_close(t->dial);
    if (t->client >= 0)
        (void)close(t->client);
    http_answer_release(&t->answer);
    buf_release(&t->up);
    buf_release(&t->down);
    err_release(&t->err);
    free(t);
}

static void fail(struct tunnel *t, enum err_reason reason, const char *text)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s", text);
    place_refuse(t->http, &err);
    tunnel_free(t);
}

static void on_time(void *arg)
{
    struct tunnel *t = arg;

    t->timer = NULL;
    fail(t, ERR_TIMEOUT, "the API server does not answer");
}

/* --- bytes both ways -------------------------------------------------------------------- */

static void watch_as(struct loop_fd *watch, unsigned *watched, unsigned events)
{
    if (watch && events != *watched && loop_fd_change(watch, events) == 0)
        *watched = events;
}

static void update_watches(struct tunnel *t)
{
    bool takes_up = !t->client_over && t->up.len < HELD_BYTES;
    bool takes_down = !t->server_over && t->down.len < HELD_BYTES;

    watch_as(t->client_watch, &t->client_watched,
             (takes_up ? LOOP_READABLE : 0u) | (t->down.len ? LOOP_WRITABLE : 0u));
    watch_as(t->dial_watch, &t->dial_watched,
             (takes_down ? LOOP_READABLE : 0u) |
                 (t->up.len || (t->more && takes_down) ? LOOP_WRITABLE : 0u));
}

/* Each answers whether anything moved. */
static bool read_server(struct tunnel *t)
{
    static char bytes[READ_BYTES]; /* one thread, and never kept */
    ssize_t n;

    if (t->server_over || t->down.len >= HELD_BYTES)
        return false;
    n = dial_read(t->dial, bytes, sizeof(bytes));
    t->more = n > 0;
    if (n == -EAGAIN)
        return false;
    if (n <= 0)
        t->server_over = true;
    else
        buf_add(&t->down, bytes, (size_t)n);
    return n > 0;
}

static bool write_server(struct tunnel *t)
{
    ssize_t n = t->up.len ? dial_write(t->dial, t->up.data, t->up.len) : -EAGAIN;

    if (n > 0)
        buf_consume(&t->up, (size_t)n);
    else if (n != -EAGAIN)
        t->server_over = true;
    return n > 0;
}

static bool read_client(struct tunnel *t)
{
    static char bytes[READ_BYTES];
    ssize_t n;

    if (t->client_over || t->up.len >= HELD_BYTES)
        return false;
    n = recv(t->client, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0)
        buf_add(&t->up, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        t->client_over = true;
    return n > 0;
}

static bool write_client(struct tunnel *t)
{
    ssize_t n = t->down.len
                    ? send(t->client, t->down.data, t->down.len, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : 0;

    if (n > 0)
        buf_consume(&t->down, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        t->client_over = true;
    return n > 0;
}

/* Who hung up is not sent anything any more; the other gets what is left of it, and goes too. */
static void relay(struct tunnel *t)
{
    for (int i = 0; i < ROUNDS_PER_TURN; i++) {
        bool moved = read_server(t);

        moved = (!t->client_over && write_client(t)) || moved;
        moved = read_client(t) || moved;
        moved = (!t->server_over && write_server(t)) || moved;
        if (!moved)
            break;
    }
    if ((t->server_over && (t->client_over || t->down.len == 0)) ||
        (t->client_over && (t->server_over || t->up.len == 0)) || t->up.failed || t->down.failed)
        tunnel_free(t);
    else
        update_watches(t);
}

static void on_client(void *arg, unsigned events)
{
    (void)events;
    relay(arg);
}

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct tunnel *t = arg;

    if (fd < 0 || !t->all) {
        t->client = fd;
        tunnel_free(t);
        return;
    }
    t->client = fd;
    t->state = RELAYING;
    buf_add(&t->up, early, early_len);
    t->client_watched = LOOP_READABLE | LOOP_WRITABLE;
    t->client_watch = loop_fd_watch(t->loop, fd, t->client_watched, on_client, t);
    if (!t->client_watch)
        tunnel_free(t);
    else
        relay(t);
}

/* --- the handshake ---------------------------------------------------------------------- */

static void open_to_client(struct tunnel *t)
{
    const char *accept = http_answer_field(&t->answer, "Sec-WebSocket-Accept");
    const char *protocol = http_answer_field(&t->answer, "Sec-WebSocket-Protocol");
    struct httpd_header headers[] = {{"Upgrade", "websocket"},
                                     {"Sec-WebSocket-Accept", accept},
                                     {"Sec-WebSocket-Protocol", protocol}};
    struct httpd_request *http = t->http;

    if (!accept) {
        fail(t, ERR_UNAVAILABLE, "the API server answered the WebSocket handshake wrongly");
        return;
    }
    t->state = OPENING;
    t->http = NULL;
    clock_stop(loop_clock(t->loop), t->timer);
    t->timer = NULL;
    watch_as(t->dial_watch, &t->dial_watched, 0);
    httpd_upgrade(http, headers, protocol ? 3 : 2, on_upgraded, t);
}

/* Refused: the server's own words. */
static void pass_refusal(struct tunnel *t)
{
    const char *type = http_answer_field(&t->answer, "Content-Type");
    struct blob *body = blob_from_buf(&t->down);
    struct httpd_request *http = t->http;

    t->http = NULL;
    httpd_reply(http, t->answer.status, type ? type : "text/plain", NULL, 0, body);
    blob_unref(body);
    tunnel_free(t);
}

/* Whether more of it is to come; t may be gone otherwise. */
static bool take_answer(struct tunnel *t, const char *data, ssize_t n)
{
    int rc = n > 0   ? http_answer_feed(&t->answer, data, (size_t)n, &t->down)
             : n < 0 ? (int)n
                     : http_answer_end(&t->answer);

    if (rc < 0)
        fail(t, ERR_UNAVAILABLE, "the API server did not answer as a server should");
    else if (t->answer.state == ANSWER_DONE)
        pass_refusal(t);
    else if (t->answer.state != ANSWER_HEAD && t->answer.status == 101)
        open_to_client(t);
    else
        return true;
    return false;
}

static void shake(struct tunnel *t)
{
    static char bytes[READ_BYTES];
    ssize_t n;

    (void)write_server(t);
    do {
        n = t->server_over ? -EPIPE : dial_read(t->dial, bytes, sizeof(bytes));
        if (n == -EAGAIN) {
            t->more = false;
            update_watches(t);
            return;
        }
        t->more = true;
    } while (take_answer(t, bytes, n));
}

static void on_server(void *arg, unsigned events)
{
    struct tunnel *t = arg;

    (void)events;
    if (t->state == SHAKING)
        shake(t);
    else if (t->state == RELAYING)
        relay(t);
}

/* --- connecting ------------------------------------------------------------------------- */

static void dial_work(void *arg)
{
    struct tunnel *t = arg;

    t->dial = dial_open(&t->where, &t->err);
}

static void dial_done(void *arg)
{
    struct tunnel *t = arg;

    if (!t->all) {
        fail(t, ERR_UNAVAILABLE, "the console is stopping");
    } else if (!t->dial) {
        place_refuse(t->http, &t->err);
        tunnel_free(t);
    } else {
        t->state = SHAKING;
        t->timer = clock_start(loop_clock(t->loop), API_TUNNEL_WAIT_MS, on_time, t);
        t->dial_watched = LOOP_READABLE | LOOP_WRITABLE;
        t->dial_watch = loop_fd_watch(t->loop, dial_fd(t->dial), t->dial_watched, on_server, t);
        if (!t->dial_watch || !t->timer)
            fail(t, ERR_UNAVAILABLE, "out of memory");
    }
}

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
static void write_protocols(struct tunnel *t, const char *offered)
{
    const char *before = "Sec-WebSocket-Protocol: ";

    while (*offered) {
        size_t len;

        offered += strspn(offered, ", \t");
        len = strcspn(offered, ", \t");
        if (len > 0 && !place_is_bearer_protocol(offered)) {
            buf_addf(&t->up, "%s%.*s", before, (int)len, offered);
            before = ", ";
        }
        offered += len;
    }
    if (*before == ',')
        buf_adds(&t->up, "\r\n");
}

static int write_handshake(struct tunnel *t, const char *token, struct err *err)
{
    struct httpd_request *http = t->http;
    const char *server = t->all->server->server, *prefix = prefix_of(server);
    const char *host = strstr(server, "://");
    const char *key = httpd_header(http, "Sec-WebSocket-Key");
    const char *protocols = httpd_header_joined(http, "Sec-WebSocket-Protocol");
    const char *version = httpd_header(http, "Sec-WebSocket-Version");

    host = host ? host + 3 : server;
    if (strcmp(http->method, "GET") != 0 || !key || !is_printable(key) || !version ||
        strcmp(version, "13") != 0 || !protocols || !is_field_value(protocols) ||
        !is_printable(http->path) || !is_printable(http->query))
        return err_set(err, ERR_BAD_REQUEST, "this is no handshake of a WebSocket");
    buf_addf(&t->up,
             "GET %s%s%s%s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: muster-console\r\n"
             "Authorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
             prefix, http->path, *http->query ? "?" : "", http->query, (int)(prefix - host), host,
             token, key);
    write_protocols(t, protocols);
    buf_adds(&t->up, "\r\n");
    return t->up.failed ? err_set(err, ERR_TOO_LARGE, "the request is too large") : 0;
}

static struct tunnel *tunnel_new(struct api_tunnels *all, struct httpd_request *http)
{
    const struct client_config *server = all->server;
    struct tunnel *t = all->count < API_TUNNELS_LIMIT ? calloc(1, sizeof(*t)) : NULL;

    if (!t)
        return NULL;
    *t = (struct tunnel){.all = all,
                         .loop = all->loop,
                         .http = http,
                         .session = http->session,
                         .client = -1,
                         .err = ERR_INIT,
                         .where = {.url = server->server, .reach = client_reach_of_others(server)}};
    buf_init(&t->up, HEAD_LIMIT_BYTES + HELD_LIMIT_BYTES);
    buf_init(&t->down, HELD_LIMIT_BYTES);
    http_answer_init(&t->answer, false);
    t->answer.may_upgrade = true;
    list_push(&all->first, t);
    all->count++;
    return t;
}

void api_tunnel_handle(struct api_tunnels *all, struct httpd_request *http, const char *token)
{
    struct tunnel *t = tunnel_new(all, http);
    auto_err err = ERR_INIT;

    if (!t) {
        (void)err_set(&err, ERR_TOO_MANY_REQUESTS, "too many terminals are open");
        place_refuse(http, &err);
        return;
    }
    if (write_handshake(t, token, &err) == 0 && loop_work(t->loop, dial_work, dial_done, t) < 0)
        (void)err_set(&err, ERR_UNAVAILABLE, "out of memory");
    if (err_is_set(&err)) {
        place_refuse(http, &err);
        tunnel_free(t);
    }
}

/* --- life ------------------------------------------------------------------------------- */

struct api_tunnels *api_tunnels_new(struct loop *l, const struct client_config *server)
{
    struct api_tunnels *all = calloc(1, sizeof(*all));

    if (all)
        *all = (struct api_tunnels){.loop = l, .server = server};
    return all;
}

static void cut(struct tunnel *t, enum err_reason reason, const char *why)
{
    if (t->state == SHAKING)
        fail(t, reason, why);
    else if (t->state == RELAYING)
        tunnel_free(t);
    else
        unlink_tunnel(t); /* dial_done or on_upgraded is still to come */
}

void api_tunnels_end_session(struct api_tunnels *all, uint64_t session)
{
    for (struct tunnel *t = all->first, *next; t; t = next) {
        next = t->next;
        if (t->session == session)
            cut(t, ERR_UNAUTHORIZED, "Unauthorized");
    }
}

void api_tunnels_free(struct api_tunnels *all)
{
    for (struct tunnel *t = all ? all->first : NULL, *next; t; t = next) {
        next = t->next;
        cut(t, ERR_UNAVAILABLE, "the console is stopping");
    }
    free(all);
}
