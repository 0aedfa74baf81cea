/*
 * app_proxy.c - see app_proxy.h.
 *
 * A request goes through the app (it must exist, and the caller must be allowed to use it) and its
 * pod to a new connection: on this machine to a port that a process of that very pod listens on
 * (port/node.h), on a cluster to the pod's address. Nothing of the request is passed on verbatim:
 * the request line and a few named headers are rebuilt, and only a few named headers of the answer
 * are kept. Bodies are pulled in both directions: what is not consumed is not read.
 *
 * Use keeps an app from being removed, so it is recorded, infrequently, in an annotation
 * (core/app.h).
 */
#include "console/app_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/object.h"
#include "base/list.h"
#include "base/share.h"
#include "client/client.h"
#include "console/app_activity.h"
#include "console/app_pages.h"
#include "console/app_place.h"
#include "console/ws_tunnel.h"
#include "core/app.h"
#include "net/http_answer.h"
#include "net/origin.h"
#include "net/relay.h"

#define HEAD_LIMIT_BYTES (64u * 1024u)
#define READ_BYTES (16u * 1024u)
#define BODY_LIMIT_BYTES (64u * 1024u) /* buffered for a client that does not read */
#define BODY_PAUSE_BYTES (BODY_LIMIT_BYTES - READ_BYTES)
#define ANSWER_WAIT_MS 120000 /* it may have to read many files first */
#define SENDS_PER_TURN 16
#define TOKEN_LIMIT_BYTES (2 * NODE_TOKEN_SIZE)
#define HTTP_PORT 80u
#define TOUCH_AGAIN_MS 10000 /* not for every request of a page */
#define HEADERS_LIMIT 40u

struct exchange {
    struct relay relay; /* for the client, once answered */
    struct app_proxy *proxy;
    struct exchange *prev, *next;
    struct httpd_request *http;         /* NULL once answered */
    const struct mount_request *caller; /* the same */
    struct app_place place;
    char *user, *program; /* for its share of limited resources (base/share.h) */
    bool page_wanted, upgrades;
    struct json *app; /* in the request's arena; NULL for a pod's port */
    unsigned port;

    struct pod_dial *dial;
    struct sockaddr_storage to;
    socklen_t to_len;
    int fd;
    struct loop_fd *watch;
    unsigned watched;
    bool connecting;
    struct buf up;         /* unsent part of the request */
    struct stream *pulled; /* source of the rest of its body; NULL: no more */
    struct http_answer answer;
    bool heard; /* anything was received from it */
    struct clock_timer *timer;
    int64_t deadline_ms;
};

struct app_proxy {
    struct loop *loop;
    struct transport *transport;
    struct node *node; /* of the pods; NULL: they are on a cluster */
    struct exchange *exchanges;
    struct ws_tunnels *tunnels;
    struct app_activity *activity; /* NULL on a cluster */
    size_t turn;                   /* among a service's pods */
    int64_t touch_ms;              /* how often use is recorded */
    char touched[64];              /* UID of the app recorded last */
    int64_t touched_ms;
};

/* --- ending ----------------------------------------------------------------------------------- */

static void hang_up(struct exchange *x)
{
    if (x->dial && x->proxy->node)
        x->proxy->node->ops->cancel_dial(x->proxy->node, x->dial);
    x->dial = NULL;
    loop_fd_stop(x->watch);
    x->watch = NULL;
    if (x->fd >= 0)
        (void)close(x->fd);
    x->fd = -1;
    if (x->proxy)
        clock_stop(loop_clock(x->proxy->loop), x->timer);
    x->timer = NULL;
}

static void unlink_exchange(struct exchange *x)
{
    if (!x->proxy)
        return;
    list_remove(&x->proxy->exchanges, x);
    x->proxy = NULL;
}

static void exchange_free(struct exchange *x)
{
    hang_up(x);
    unlink_exchange(x);
    http_answer_release(&x->answer);
    buf_release(&x->up);
    buf_release(&x->relay.held);
    free(x->user);
    free(x->program);
    free(x);
}

static void fail(struct exchange *x, const struct err *err)
{
    origin_refuse(x->http, err);
    exchange_free(x);
}

/* text NULL: from the object's status. */
static void fail_with_state(struct exchange *x, int code, const char *text)
{
    auto_err err = ERR_INIT;

    if (x->place.api) {
        err_set(&err, ERR_UNAVAILABLE, "error trying to reach %s \"%s\": %s",
                x->place.service ? "service" : "pod", x->place.asked, text);
        fail(x, &err);
        return;
    }
    app_reply_state(x->http, x->place.kind, x->page_wanted, code,
                    x->app ? object_name(x->app) : x->place.name, x->app, text);
    exchange_free(x);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void update_watch(struct exchange *x)
{
    unsigned events = 0;

    if (x->connecting || x->up.len > 0)
        events |= LOOP_WRITABLE;
    if (!x->connecting && !x->relay.over && !x->relay.paused)
        events |= LOOP_READABLE;
    if (x->watch && events != x->watched && loop_fd_change(x->watch, events) == 0)
        x->watched = events;
}

static void pause_program(struct relay *r, bool paused)
{
    (void)paused;
    update_watch(container_of(r, struct exchange, relay));
}

static void close_answer(struct relay *r)
{
    exchange_free(container_of(r, struct exchange, relay));
}

/* A path at its own address, absolute or with the Host of our requests; anything else must not
 * reach the user's browser. */
static const char *own_location(struct exchange *x, const char *location)
{
    return strncmp(location, x->place.url, strlen(x->place.url)) == 0 &&
                   origin_is_printable(location) && !strchr(location, '\\') &&
                   !app_place_has_dots(location)
               ? location
               : NULL;
}

/* Completed with its base path, as the browser sees it. The program behind a pod's port does not
 * know its own path. */
static const char *whole_location(struct exchange *x, const char *location)
{
    static const char host[] = "http://" APP_PROGRAM_HOST "/";
    const char *path = x->http->path, *slash = strrchr(path, '/');
    size_t kept = *location == '?' || !slash ? strlen(path) : (size_t)(slash + 1 - path);

    if (strncmp(location, host, strlen(host)) == 0)
        location += strlen(host) - 1;
    if (*location == '/' && location[1] != '/' && !x->place.kind)
        location = arena_printf(&x->http->arena, "%s%s", x->place.url, location + 1);
    else if (*location && *location != '/' && location[strcspn(location, ":/?#")] != ':')
        location = arena_printf(&x->http->arena, "%.*s%s", (int)kept, path, location);
    return location ? location : "";
}

/* Reporting endpoints are not covered by our own policy. */
static const char *policy_without_reports(struct arena *a, const char *policy)
{
    static const char *const reports[] = {"report-uri", "report-to"};
    char *kept = arena_strdup(a, policy);

    for (char *at = kept; at && *at; at += strcspn(at, ";,"), at += *at != '\0') {
        char *name = at + strspn(at, " \t");

        for (size_t i = 0; i < ELEMS(reports); i++)
            if (strcspn(name, " \t;,") == strlen(reports[i]) &&
                strncasecmp(name, reports[i], strlen(reports[i])) == 0)
                memset(at, ' ', strcspn(at, ";,"));
    }
    return kept;
}

/* A browser may cache a page's assets, but the page itself ends with the session. */
static bool is_page(const struct exchange *x)
{
    const char *type = http_answer_field(&x->answer, "Content-Type");

    return type && strncasecmp(type, "text/html", strlen("text/html")) == 0;
}

static size_t answer_headers(struct exchange *x, struct httpd_header headers[HEADERS_LIMIT])
{
    enum { POLICY, CACHING, EXPIRES };
    static const char *const kept[] = {[POLICY] = "Content-Security-Policy",
                                       [CACHING] = "Cache-Control",
                                       [EXPIRES] = "Expires",
                                       "Accept-Ranges",
                                       "Content-Disposition",
                                       "Content-Encoding",
                                       "Content-Range",
                                       "ETag",
                                       "Last-Modified",
                                       "Vary"};
    bool page = is_page(x);
    const char *location = http_answer_field(&x->answer, "Location");
    size_t n = 0;

    for (size_t i = 0; i < ELEMS(kept); i++) {
        const char *value = http_answer_field(&x->answer, kept[i]);

        if (value && i == POLICY)
            value = policy_without_reports(&x->http->arena, value);
        if (page && (i == CACHING || i == EXPIRES))
            value = i == CACHING ? "no-store" : NULL;
        if (value)
            headers[n++] = (struct httpd_header){kept[i], value};
    }
    for (size_t i = 0; x->place.api && i < x->answer.fields_len && n < HEADERS_LIMIT - 4; i++) {
        const struct http_field *f = &x->answer.fields[i];

        if (strncasecmp(f->name, "X-", 2) == 0)
            headers[n++] = (struct httpd_header){f->name, f->value};
    }
    location = location ? own_location(x, whole_location(x, location)) : NULL;
    if (location)
        headers[n++] = (struct httpd_header){"Location", location};
    headers[n++] = (struct httpd_header){"X-Content-Type-Options", "nosniff"};
    headers[n++] = (struct httpd_header){"Referrer-Policy", "no-referrer"};
    headers[n++] = (struct httpd_header){"Content-Security-Policy",
                                         x->place.api ? APP_API_POLICY : app_policy(x->place.kind)};
    return n;
}

/* The head is complete. Unsent parts of the request are no longer wanted and are dropped. */
static void begin_answer(struct exchange *x)
{
    struct httpd_header headers[HEADERS_LIMIT];
    size_t n = answer_headers(x, headers);
    const char *type = http_answer_field(&x->answer, "Content-Type");
    struct httpd_request *http = x->http;
    bool empty = x->answer.state == ANSWER_DONE && x->relay.held.len == 0;

    if (!type)
        type = "application/octet-stream";
    x->http = NULL;
    x->caller = NULL;
    x->app = NULL;
    x->pulled = NULL;
    buf_clear(&x->up);
    if (empty) {
        httpd_reply(http, x->answer.status, type, headers, n, NULL);
        exchange_free(x);
        return;
    }
    httpd_stream_with(http, x->answer.status, type, headers, n, &x->relay.stream);
}

/* Nothing more comes. x may be gone afterwards. */
static void end_answer(struct exchange *x, bool broken)
{
    if (x->http) {
        fail_with_state(x, 502, "It gave an invalid answer; see the log of its pod.");
        return;
    }
    hang_up(x);
    relay_end(&x->relay, broken);
}

/* An app being stopped closes its connections; that is not a bad answer. */
static void connection_ended(struct exchange *x, bool broken)
{
    if (x->http && !x->heard)
        fail_with_state(x, 503,
                        "It ended the connection without an answer: it is being stopped, "
                        "or has just ended.");
    else
        end_answer(x, broken);
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_time(void *arg);

static void wait_at_most(struct exchange *x, int64_t ms)
{
    x->deadline_ms = loop_monotonic_ms(x->proxy->loop) + ms;
    if (!x->timer)
        x->timer = clock_start(loop_clock(x->proxy->loop), ms, on_time, x);
}

static void on_time(void *arg)
{
    struct exchange *x = arg;
    int64_t left = x->deadline_ms - loop_monotonic_ms(x->proxy->loop);

    x->timer = NULL;
    if (x->relay.held.len > 0) /* the client does not read, which the server watches */
        left = ANSWER_WAIT_MS;
    if (left > 0)
        x->timer = clock_start(loop_clock(x->proxy->loop), left, on_time, x);
    else
        end_answer(x, true);
}

/* Pulls more of the body into up, which is empty. False: the client is gone, and so is x. */
static bool pull_body(struct exchange *x)
{
    char *room = buf_reserve(&x->up, READ_BYTES);
    ssize_t n = room ? x->pulled->ops->read(x->pulled, room, READ_BYTES) : STREAM_BROKEN;

    if (n == STREAM_BROKEN) {
        fail_with_state(x, 503, "The request was not sent completely.");
        return false;
    }
    if (n == STREAM_END)
        x->pulled = NULL;
    else
        x->up.len += (size_t)n;
    return true;
}

/* False when the exchange is gone or over. */
static bool send_request(struct exchange *x)
{
    for (int i = 0; i < SENDS_PER_TURN; i++) {
        ssize_t n;

        if (x->up.len == 0 && x->pulled && !pull_body(x))
            return false;
        if (x->up.len == 0)
            break;
        n = send(x->fd, x->up.data, x->up.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) { /* it may have answered without reading everything: the answer can still be
                      * received */
            buf_clear(&x->up);
            x->pulled = NULL;
            break;
        }
        buf_consume(&x->up, (size_t)n);
        wait_at_most(x, ANSWER_WAIT_MS);
    }
    return true;
}

/* More of the body has arrived. */
static void on_body(void *arg)
{
    struct exchange *x = arg;

    if (x->watch && !x->connecting && send_request(x))
        update_watch(x);
}

static void receive(struct exchange *x)
{
    static char bytes[READ_BYTES]; /* one thread, never kept between calls */
    bool had_head = x->answer.state != ANSWER_HEAD;
    ssize_t n = recv(x->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        update_watch(x);
        return;
    }
    wait_at_most(x, ANSWER_WAIT_MS);
    if (n <= 0) {
        connection_ended(x, n < 0 || http_answer_end(&x->answer) < 0);
        return;
    }
    x->heard = true;
    if (http_answer_feed(&x->answer, bytes, (size_t)n, &x->relay.held) < 0) {
        end_answer(x, true);
        return;
    }
    if (x->answer.state == ANSWER_DONE) {
        hang_up(x);
        relay_end(&x->relay, false);
    } else {
        relay_fed(&x->relay);
    }
    update_watch(x);
    if (!had_head && x->answer.state != ANSWER_HEAD)
        begin_answer(x);
}

static void on_socket(void *arg, unsigned events)
{
    struct exchange *x = arg;
    int problem = 0;
    socklen_t len = sizeof(problem);

    if (x->connecting) {
        if (getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &problem, &len) != 0 || problem != 0) {
            fail_with_state(x, 503, "It is starting and does not answer yet.");
            return;
        }
        x->connecting = false;
    }
    if (!send_request(x))
        return;
    if (events & (LOOP_READABLE | LOOP_HANGUP))
        receive(x);
    else
        update_watch(x);
}

/* The socket address for x->port; false when address is invalid. */
static bool set_address(struct exchange *x, const char *address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)x->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)x->port)};

    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
        memcpy(&x->to, &v4, sizeof(v4));
        x->to_len = sizeof(v4);
    } else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1) {
        memcpy(&x->to, &v6, sizeof(v6));
        x->to_len = sizeof(v6);
    }
    return x->to_len && x->port > 0 && x->port <= 65535;
}

/* The program's answer to the handshake goes to the client; then both are joined. */
static void begin_tunnel(struct exchange *x, const char *address)
{
    struct httpd_request *http = x->http;
    bool v6 = strchr(address, ':');
    const struct dial_options to = {.url = arena_printf(&http->arena, "http://%s%s%s:%u",
                                                        v6 ? "[" : "", address, v6 ? "]" : "",
                                                        x->port)};
    struct buf request = x->up;
    int fd = x->fd > 0 ? x->fd : 0;

    if (!to.url) {
        fail_with_state(x, 503, "There is not enough memory for another connection.");
        return;
    }
    x->fd = -1;
    x->up = (struct buf)BUF_INIT(0);
    ws_tunnel_start(
        x->proxy->tunnels, http, &request,
        &(struct ws_tunnel_for){.user = x->user, .program = x->program, .server = &to, .fd = fd});
    buf_release(&request);
    exchange_free(x);
}

static void talk(struct exchange *x)
{
    if (x->upgrades) {
        begin_tunnel(x, "");
        return;
    }
    x->watched = LOOP_WRITABLE;
    x->watch = loop_fd_watch(x->proxy->loop, x->fd, x->watched, on_socket, x);
    if (!x->watch)
        fail_with_state(x, 503, "There is not enough memory for another connection.");
    else
        wait_at_most(x, ANSWER_WAIT_MS);
}

static void connect_to(struct exchange *x, const char *address)
{
    int on = 1;

    if (!set_address(x, address)) {
        fail_with_state(x, 503, "It is starting: its address is not known yet.");
        return;
    }
    if (x->upgrades) {
        begin_tunnel(x, address);
        return;
    }
    x->fd = socket(x->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (x->fd < 0 ||
        (connect(x->fd, (struct sockaddr *)&x->to, x->to_len) != 0 && errno != EINPROGRESS)) {
        fail_with_state(x, 503, "It is starting and does not answer yet.");
        return;
    }
    (void)setsockopt(x->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    x->connecting = true;
    talk(x);
}

/* Inserted after the request line, the first of the unsent part. Only for programs that demand a
 * token. */
static void add_token(struct exchange *x, const char *token)
{
    struct buf with = BUF_INIT(x->up.limit_bytes + TOKEN_LIMIT_BYTES);
    size_t line = (size_t)((const char *)memchr(x->up.data, '\n', x->up.len) + 1 - x->up.data);

    buf_add(&with, x->up.data, line);
    app_add_token(&with, token);
    buf_add(&with, x->up.data + line, x->up.len - line);
    buf_release(&x->up);
    x->up = with;
}

static void on_dialled(void *arg, int fd, const char *token)
{
    struct exchange *x = arg;

    x->dial = NULL;
    if (fd == -EPERM) {
        fail_with_state(x, 503,
                        arena_printf(&x->http->arena,
                                     "Another program on this machine listens on its port %u. This "
                                     "one is shown when the port is free.",
                                     x->port));
    } else if (fd < 0) {
        fail_with_state(x, 503, "It is starting and does not answer yet.");
    } else {
        x->fd = fd;
        if (x->place.kind && x->place.kind->runs_code)
            add_token(x, token);
        talk(x);
    }
}

static void dial_pod(struct exchange *x, const struct json *pod)
{
    const struct node_pod which = {object_namespace(pod), object_name(pod), object_uid(pod)};
    struct node *node = x->proxy->node;

    x->dial = node->ops->dial(node, &which, x->port, on_dialled, x);
    if (!x->dial)
        fail_with_state(x, 503, "There is not enough memory for another connection.");
}

/* --- finding the pod -------------------------------------------------------------------------- */

static void touched(void *arg, const struct json *object, const struct err *err)
{
    (void)arg, (void)object, (void)err; /* the next request tries again */
}

/* Records that it is used, unless that was done recently. */
static void touch(struct app_proxy *p, struct arena *a, const struct kind *k,
                  const struct json *app)
{
    const struct json *annotations = json_at(app, "metadata", "annotations");
    int64_t now_ms = clock_now_ms(loop_clock(p->loop)), since;

    since = now_ms - object_time(annotations, ANNOTATION_LAST_USED);
    if (since >= 0 && since < p->touch_ms)
        return;
    since = now_ms - p->touched_ms;
    if (strcmp(p->touched, object_uid(app)) == 0 && since >= 0 && since < TOUCH_AGAIN_MS)
        return;
    p->touched_ms = now_ms;
    (void)snprintf(p->touched, sizeof(p->touched), "%s", object_uid(app));
    (void)app_say_used(p->transport, a, k, object_namespace(app), object_name(app),
                       ANNOTATION_LAST_USED, now_ms, touched, p);
}

static bool runs_here(const struct exchange *x, const struct json *pod)
{
    const char *name = json_string(json_at(pod, "spec", "nodeName"), "");

    return x->proxy->node && (!*name || strcmp(x->proxy->node->name, name) == 0);
}

/* Where a path names no port: the first that a container declares, as in Kubernetes. */
static unsigned declared_port(const struct json *pod)
{
    json_each (container, json_at(pod, "spec", "containers")) {
        const struct json *port = json_first(json_get(container, "ports"));

        if (port)
            return (unsigned)json_get_int(port, "containerPort", 0);
    }
    return HTTP_PORT;
}

/* From its own pod: an app's status alone could name any. */
static void got_pod(void *arg, const struct json *pod, const struct err *err)
{
    struct exchange *x = arg;
    auto_err refused = ERR_INIT;

    if (err && !x->place.kind) {
        fail(x, err);
        return;
    }
    if (x->place.api && !runs_here(x, pod)) {
        fail_with_state(x, 503, "It runs on another machine, whose programs port-forward reaches.");
        return;
    }
    if (err || object_is_deleting(pod) ||
        (x->place.kind && !object_is_controlled_by(pod, object_uid(x->app)))) {
        fail_with_state(x, 503, "It is starting: its pod does not exist yet.");
        return;
    }
    if (x->place.kind && x->place.kind->runs_code &&
        x->caller->enter(x->caller, pod, &refused) < 0) {
        fail(x, &refused);
        return;
    }
    if (x->place.kind)
        x->port = app_port(x->place.kind, pod);
    else if (!x->port)
        x->port = declared_port(pod);
    if (x->proxy->node)
        dial_pod(x, pod);
    else
        connect_to(x, json_string(json_at(pod, "status", "podIP"), ""));
}

static void find_pod(struct exchange *x)
{
    const char *name = x->place.kind ? app_child_name(&x->http->arena, x->place.kind, x->app)
                                     : x->place.name;

    if (name)
        client_get(x->proxy->transport, &kind_pod, x->place.ns, name, got_pod, x);
    else
        fail_with_state(x, 503, NULL);
}

/* --- finding a pod of a service --------------------------------------------------------------- */

static void fail_without_pods(struct exchange *x)
{
    auto_err err = ERR_INIT;

    err_set(&err, ERR_UNAVAILABLE, "no endpoints available for service \"%s\"", x->place.name);
    fail(x, &err);
}

/* Of the ready addresses with that port, one after the other; NULL: none. */
static const char *next_pod(struct exchange *x, const struct json *endpoints)
{
    json_each (subset, json_get(endpoints, "subsets")) {
        const struct json *addresses = json_get(subset, "addresses");
        size_t count = json_len(addresses);

        json_each (port, json_get(subset, "ports"))
            if (count > 0 && strcmp(json_get_string(port, "name", ""), x->place.port_text) == 0) {
                const struct json *chosen = json_index(addresses, x->proxy->turn++ % count);

                x->port = (unsigned)json_get_int(port, "port", 0);
                return json_string(json_at(chosen, "targetRef", "name"), NULL);
            }
    }
    return NULL;
}

static void got_endpoints(void *arg, const struct json *endpoints, const struct err *err)
{
    struct exchange *x = arg;
    const char *pod = err ? NULL : next_pod(x, endpoints);

    if (pod)
        client_get(x->proxy->transport, &kind_pod, x->place.ns, pod, got_pod, x);
    else
        fail_without_pods(x);
}

/* A port of a service may be given by its number. */
static void got_service(void *arg, const struct json *service, const struct err *err)
{
    struct exchange *x = arg;
    struct arena *a = &x->http->arena;
    unsigned number = app_place_port(x->place.port_text);
    const char *path;

    if (err) {
        fail(x, err);
        return;
    }
    json_each (port, json_at(service, "spec", "ports"))
        if (number && json_get_int(port, "port", 0) == number) {
            x->place.port_text = arena_strdup(a, json_get_string(port, "name", ""));
            break;
        }
    path = arena_printf(a, APP_API_PREFIX "/namespaces/%s/endpoints/%s", x->place.ns,
                        x->place.name);
    if (path && x->place.port_text)
        client_get_path(x->proxy->transport, path, got_endpoints, x);
    else
        fail_without_pods(x);
}

/* --- finding an app --------------------------------------------------------------------------- */

static void got_app(void *arg, const struct json *app, const struct err *err)
{
    struct exchange *x = arg;
    struct arena *a = &x->http->arena;
    const struct json *phase = json_at(app, "status", "phase");

    if (err) {
        fail(x, err);
        return;
    }
    x->app = json_clone(a, app);
    if (!x->app) {
        auto_err memory = ERR_INIT;

        err_set(&memory, ERR_UNAVAILABLE, "out of memory");
        fail(x, &memory);
        return;
    }
    if (!json_bool(json_at(app, "spec", "suspend"), false))
        touch(x->proxy, a, x->place.kind->job->kind, app);
    if (!json_string_is(phase, "Running"))
        fail_with_state(x, 503, NULL);
    else
        find_pod(x);
}

/* --- the request ------------------------------------------------------------------------------ */

/* Headers that are passed on; credentials and hop-by-hop headers are not. */
static const char *const passed_on[] = {
    "Accept",   "Accept-Encoding",  "Accept-Language", "Content-Encoding",  "Content-Type",
    "If-Match", "If-None-Match",    "If-Range",        "If-Modified-Since", "If-Unmodified-Since",
    "Range",    "X-Requested-With", "X-XSRF-Protected"};

static bool is_field_value(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static void take_body(struct exchange *x)
{
    struct httpd_request *http = x->http;

    if (http->pulled_len) {
        x->pulled = httpd_body(http);
        x->pulled->on_ready = on_body;
        x->pulled->on_ready_arg = x;
        buf_addf(&x->up, "Content-Length: %" PRIu64 "\r\n\r\n", http->pulled_len);
    } else if (strcmp(http->method, "GET") != 0 && strcmp(http->method, "HEAD") != 0) {
        buf_addf(&x->up, "Content-Length: %zu\r\n\r\n", http->body_len);
        buf_add(&x->up, http->body, http->body_len);
    } else {
        buf_adds(&x->up, "\r\n");
    }
}

/* The API's own clients may send any header but credentials and those of one connection. */
static void pass_header(void *arg, const char *name, const char *value)
{
    static const char *const kept_back[] = {"Authorization",
                                            "Connection",
                                            "Content-Length",
                                            "Cookie",
                                            "Expect",
                                            "Host",
                                            "Keep-Alive",
                                            "Origin",
                                            "Proxy-Connection",
                                            "Te",
                                            "Trailer",
                                            "Upgrade",
                                            "Proxy-Authorization",
                                            "Transfer-Encoding"};
    static const char *const families[] = {"Impersonate-", "Sec-WebSocket-"};
    struct exchange *x = arg;

    for (size_t i = 0; i < ELEMS(kept_back); i++)
        if (strcasecmp(name, kept_back[i]) == 0)
            return;
    for (size_t i = 0; i < ELEMS(families); i++)
        if (strncasecmp(name, families[i], strlen(families[i])) == 0)
            return;
    if (is_field_value(value))
        buf_addf(&x->up, "%s: %s\r\n", name, value);
}

static void pass_headers(struct exchange *x)
{
    if (x->place.api) {
        httpd_each_header(x->http, pass_header, x);
        return;
    }
    for (size_t i = 0; i < ELEMS(passed_on); i++) {
        const char *value = httpd_header(x->http, passed_on[i]);

        if (value && is_field_value(value))
            buf_addf(&x->up, "%s: %s\r\n", passed_on[i], value);
    }
}

static int write_request(struct exchange *x, struct err *err)
{
    struct httpd_request *http = x->http;

    buf_addf(&x->up, "%s %s%s%s HTTP/1.1\r\nHost: " APP_PROGRAM_HOST "\r\n", http->method,
             x->place.kind ? http->path : x->place.rest, *http->query ? "?" : "", http->query);
    pass_headers(x);
    if (x->upgrades) { /* from its own page: rewritten to the origin the program knows */
        buf_adds(&x->up, "Origin: http://" APP_PROGRAM_HOST "\r\n");
        return ws_handshake_add(&x->up, http, err);
    }
    buf_adds(&x->up, "Connection: close\r\n");
    take_body(x);
    return x->up.failed ? err_set(err, ERR_TOO_LARGE, "the request is too large") : 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_allowed_method(const char *method)
{
    static const char *const allowed[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

    for (size_t i = 0; i < ELEMS(allowed); i++)
        if (strcmp(method, allowed[i]) == 0)
            return true;
    return false;
}

static int check_request(struct exchange *x, struct err *err)
{
    const struct mount_request *m = x->caller;
    int rc = app_place_parse(&m->http->arena, m->http->path, &x->place, err);

    x->port = x->place.port;
    if (rc == 0 && !origin_is_printable(m->http->query))
        rc = err_set(err, ERR_BAD_REQUEST, "the query must not contain invalid characters");
    if (rc == 0 && !is_allowed_method(m->http->method))
        rc = err_set(err, ERR_METHOD_NOT_ALLOWED,
                     "only GET, HEAD, POST, PUT, PATCH and DELETE are allowed here");
    if (rc == 0 && (m->http->too_large || m->http->pulled_len > APP_BODY_LIMIT_BYTES))
        rc = err_set(err, ERR_TOO_LARGE, "the request is too large");
    return rc == 0 ? app_place_check_rights(&x->place, m, err) : rc;
}

int app_proxy_may_open(const struct mount_request *m, const char *path, struct err *err)
{
    struct app_place place;
    int rc = app_place_parse(&m->http->arena, path, &place, err);

    return rc == 0 ? app_place_check_rights(&place, m, err) : rc;
}

/* Relative addresses in its pages need the trailing slash. */
static void redirect_to_slash(struct exchange *x)
{
    struct httpd_request *http = x->http;
    const char *to = arena_printf(&http->arena, "%s%s%s", x->place.url, *http->query ? "?" : "",
                                  http->query);
    struct httpd_header location = {"Location", to};

    httpd_reply(http, to ? 307 : 503, NULL, &location, to ? 1 : 0, NULL);
    exchange_free(x);
}

static bool has_room(const struct app_proxy *p, const char *user, const char *program)
{
    struct share share = {.limit = APP_EXCHANGES_LIMIT};

    for (const struct exchange *x = p->exchanges; x; x = x->next)
        share_count(&share, x->user, x->program, user, program);
    return share_ask(&share, !*user) == SHARE_LEFT;
}

static struct exchange *exchange_new(struct app_proxy *p, const struct mount_request *m)
{
    struct httpd_request *http = m->http;
    const char *host = httpd_header(http, "Host"), *program = host ? host : ""; /* one per origin */
    struct exchange *x = has_room(p, m->user, program) ? calloc(1, sizeof(*x)) : NULL;
    const char *accept = httpd_header(http, "Accept");

    if (!x)
        return NULL;
    x->proxy = p;
    x->http = http;
    x->caller = m;
    x->user = strdup(m->user);
    x->program = strdup(program);
    x->fd = -1;
    x->page_wanted = accept && strstr(accept, "text/html");
    x->upgrades = httpd_header(http, "Upgrade");
    buf_init(&x->up, HEAD_LIMIT_BYTES + HTTPD_BODY_LIMIT_BYTES);
    relay_init(&x->relay, BODY_PAUSE_BYTES, BODY_LIMIT_BYTES, pause_program, close_answer);
    http_answer_init(&x->answer, strcmp(http->method, "HEAD") == 0);
    list_push(&p->exchanges, x);
    if (x->user && x->program)
        return x;
    exchange_free(x);
    return NULL;
}

static void on_gone(void *arg)
{
    auto_err gone = ERR_INIT;

    client_forget(arg);
    err_set(&gone, ERR_UNAVAILABLE, "the client is gone");
    fail(arg, &gone);
}

void app_proxy_handle(void *arg, const struct mount_request *m)
{
    struct app_proxy *p = arg;
    struct exchange *x = exchange_new(p, m);
    auto_err err = ERR_INIT;

    if (!x) {
        err_set(&err, ERR_TOO_MANY_REQUESTS, "too many concurrent requests to programs");
        origin_refuse(m->http, &err);
        return;
    }
    if (check_request(x, &err) < 0) {
        fail(x, &err);
        return;
    }
    if (!*x->place.rest) {
        redirect_to_slash(x);
        return;
    }
    httpd_on_gone(m->http, on_gone, x);
    /* now: the request's headers are gone later */
    if (write_request(x, &err) < 0)
        fail(x, &err);
    else if (x->place.service)
        client_get(p->transport, &kind_service, x->place.ns, x->place.name, got_service, x);
    else if (x->place.kind)
        client_get(p->transport, x->place.kind->job->kind, x->place.ns, x->place.name, got_app, x);
    else
        find_pod(x);
}

/* --- life ------------------------------------------------------------------------------------- */

struct app_proxy *app_proxy_new(struct loop *loop, struct transport *t, struct node *node,
                                const struct idle_times *times)
{
    struct app_proxy *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->loop = loop;
    p->transport = t;
    p->node = node;
    p->touch_ms = app_touch_ms(times);
    p->tunnels = ws_tunnels_new(loop, "the program");
    p->activity = node ? app_activity_new(loop, t, node, times) : NULL;
    if (p->tunnels && (p->activity || !node))
        return p;
    app_activity_free(p->activity);
    ws_tunnels_free(p->tunnels);
    free(p);
    return NULL;
}

void app_proxy_free(struct app_proxy *p)
{
    auto_err gone = ERR_INIT;

    if (!p)
        return;
    err_set(&gone, ERR_UNAVAILABLE, "the server is stopping");
    client_forget(p);
    for (struct exchange *x = p->exchanges, *next; x; x = next) {
        next = x->next;
        client_forget(x);
        hang_up(x);
        x->proxy = NULL;
        if (x->http) {
            fail(x, &gone);
            continue;
        }
        relay_end(&x->relay, x->relay.broken || !x->relay.over); /* the server closes the stream */
    }
    ws_tunnels_free(p->tunnels);
    app_activity_free(p->activity);
    free(p);
}

void app_proxy_end_session(void *arg, uint64_t session)
{
    ws_tunnels_end_session(((struct app_proxy *)arg)->tunnels, session);
}
