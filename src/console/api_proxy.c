/*
 * api_proxy.c - see api_proxy.h. Nothing is passed on verbatim: the request is rebuilt from its
 * method, address and a few named headers, and only a few named headers of the answer are kept. So
 * neither cookies nor impersonation headers get through, and hop-by-hop headers end here.
 */
#include "console/api_proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "net/http_answer.h"
#include "net/http_client.h"
#include "net/origin.h"
#include "net/relay.h"

#define BODY_PAUSE_BYTES (64u * 1024u) /* buffered for a client that does not read */
#define BODY_LIMIT_BYTES                                                                           \
    (512u * 1024u) /* ... including what arrives before the pause takes                            \
                    * effect */
#define URL_LIMIT_BYTES (64u * 1024u)
#define FIELD_LIMIT_BYTES (16u * 1024u)
#define HEADERS_LIMIT 16u

struct exchange {
    struct relay relay; /* for the client, once answered */
    struct api_proxy *proxy;
    struct exchange *prev, *next;
    struct httpd_request *http; /* NULL once answered */
    struct http_exchange *upstream;
    struct clock_timer *timer;
    struct http_answer head;
};

struct api_proxy {
    struct loop *loop;
    const char *server;
    struct http_client *client;
    struct exchange *exchanges;
    size_t exchanges_len;
};

/* --- ending ----------------------------------------------------------------------------- */

/* No further callbacks from the server. */
static void hang_up(struct exchange *x)
{
    if (x->upstream)
        http_exchange_cancel(x->upstream);
    x->upstream = NULL;
    if (x->proxy)
        clock_stop(loop_clock(x->proxy->loop), x->timer);
    x->timer = NULL;
}

static void unlink_exchange(struct exchange *x)
{
    if (!x->proxy)
        return;
    list_remove(&x->proxy->exchanges, x);
    x->proxy->exchanges_len--;
    x->proxy = NULL;
}

static void exchange_free(struct exchange *x)
{
    hang_up(x);
    unlink_exchange(x);
    http_answer_release(&x->head);
    buf_release(&x->relay.held);
    free(x);
}

static void fail(struct exchange *x, enum err_reason reason, const char *what, const char *why)
{
    auto_err err = ERR_INIT;

    (void)err_set(&err, reason, "%s%s%s", what, *why ? ": " : "", why);
    origin_refuse(x->http, &err);
    exchange_free(x);
}

/* --- the answer ------------------------------------------------------------------------- */

static void pause_server(struct relay *r, bool paused)
{
    http_exchange_pause(container_of(r, struct exchange, relay)->upstream, paused);
}

static void close_answer(struct relay *r)
{
    exchange_free(container_of(r, struct exchange, relay));
}

static size_t answer_headers(const struct http_answer *head,
                             struct httpd_header headers[HEADERS_LIMIT])
{
    static const char *const kept[] = {"Cache-Control", "Warning",       "Retry-After",
                                       "ETag",          "Last-Modified", "Audit-Id"};
    size_t n = 0;

    headers[n++] = (struct httpd_header){"X-Content-Type-Options", "nosniff"};
    for (size_t i = 0; i < head->fields_len; i++)
        for (size_t k = 0; k < ELEMS(kept) && n < HEADERS_LIMIT; k++)
            if (strcasecmp(head->fields[i].name, kept[k]) == 0)
                headers[n++] = (struct httpd_header){kept[k], head->fields[i].value};
    return n;
}

/* The head is complete. x may be gone afterwards. */
static void begin_answer(struct exchange *x)
{
    struct httpd_request *http = x->http;
    const char *type = http_answer_field(&x->head, "Content-Type");
    struct httpd_header headers[HEADERS_LIMIT];
    size_t n = answer_headers(&x->head, headers);
    int status = x->head.status;

    clock_stop(loop_clock(x->proxy->loop), x->timer);
    x->timer = NULL;
    x->http = NULL;
    if (status == 204 || status == 304) {
        httpd_reply(http, status, NULL, headers, n, NULL);
        exchange_free(x);
        return;
    }
    httpd_stream_with(http, status, type ? type : "application/octet-stream", headers, n,
                      &x->relay.stream);
}

static void on_header(void *arg, const char *line, size_t len)
{
    struct exchange *x = arg;

    if (!x->http)
        return; /* trailers */
    if (http_answer_feed(&x->head, line, len, &x->relay.held) < 0)
        fail(x, ERR_UNAVAILABLE, "the API server gave an invalid answer", "");
    else if (x->head.state != ANSWER_HEAD)
        begin_answer(x);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct exchange *x = arg;

    if (relay_add(&x->relay, data, len) < 0)
        hang_up(x);
}

static void on_end(void *arg, const struct http_result *result)
{
    struct exchange *x = arg;

    x->upstream = NULL;
    if (x->http) {
        fail(x, ERR_UNAVAILABLE, "the API server cannot be reached", result->error);
        return;
    }
    relay_end(&x->relay, result->status == 0);
}

static void on_time(void *arg)
{
    struct exchange *x = arg;

    x->timer = NULL;
    fail(x, ERR_TIMEOUT, "the API server does not answer", "");
}

/* --- the request ------------------------------------------------------------------------ */

static int check_request(const struct httpd_request *http, struct err *err)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    bool known = false;

    for (size_t i = 0; i < ELEMS(methods); i++)
        known = known || strcmp(http->method, methods[i]) == 0;
    if (!known)
        return err_set(err, ERR_METHOD_NOT_ALLOWED, "%.20s is not passed on to the API server",
                       http->method);
    if (http->too_large)
        return err_set(err, ERR_TOO_LARGE, "the request is too large");
    if (!origin_is_printable(http->path) || !origin_is_printable(http->query))
        return err_set(err, ERR_BAD_REQUEST, "the path contains invalid characters");
    return 0;
}

static void start(struct exchange *x, const char *token)
{
    static const char *const passed_on[] = {"Accept", "Content-Type"};
    struct httpd_request *http = x->http;
    struct arena *a = &http->arena;
    const char *headers[ELEMS(passed_on) + 3] = {"User-Agent: muster-console"}, *url;
    size_t n = 1;

    url = arena_printf(a, "%s%s%s%s", x->proxy->server, http->path, *http->query ? "?" : "",
                       http->query);
    headers[n++] = arena_printf(a, "Authorization: Bearer %s", token);
    for (size_t i = 0; i < ELEMS(passed_on); i++) {
        const char *value = httpd_header(http, passed_on[i]);

        if (value && strlen(value) < FIELD_LIMIT_BYTES)
            headers[n++] = arena_printf(a, "%s: %s", passed_on[i], value);
    }
    if (arena_failed(a))
        return;
    x->timer = clock_start(loop_clock(x->proxy->loop), API_PROXY_WAIT_MS, on_time, x);
    x->upstream = http_client_start(
        x->proxy->client,
        &(struct http_request){.method = http->method,
                               .url = url,
                               .headers = headers,
                               .body = strcmp(http->method, "GET") == 0 ? NULL : http->body,
                               .body_len = http->body_len},
        &(struct http_handler){
            .on_data = on_data, .on_header = on_header, .on_end = on_end, .arg = x});
}

static struct exchange *exchange_new(struct api_proxy *p, struct httpd_request *http)
{
    struct exchange *x = p->exchanges_len < API_PROXY_EXCHANGES_LIMIT ? calloc(1, sizeof(*x))
                                                                      : NULL;

    if (!x)
        return NULL;
    *x = (struct exchange){.proxy = p, .http = http};
    relay_init(&x->relay, BODY_PAUSE_BYTES, BODY_LIMIT_BYTES, pause_server, close_answer);
    http_answer_init(&x->head, false);
    list_push(&p->exchanges, x);
    p->exchanges_len++;
    return x;
}

void api_proxy_handle(struct api_proxy *p, struct httpd_request *http, const char *token)
{
    auto_err err = ERR_INIT;
    struct exchange *x = NULL;

    if (check_request(http, &err) == 0) {
        x = exchange_new(p, http);
        if (!x)
            (void)err_set(&err, ERR_TOO_MANY_REQUESTS, "too many concurrent requests");
    }
    if (!x) {
        origin_refuse(http, &err);
        return;
    }
    start(x, token);
    if (!x->upstream)
        fail(x, ERR_UNAVAILABLE, "out of memory", "");
}

/* --- life ------------------------------------------------------------------------------- */

struct api_proxy *api_proxy_new(struct loop *l, const struct client_config *server, struct err *err)
{
    struct reach reach = client_reach_of_others(server);
    struct api_proxy *p = calloc(1, sizeof(*p));

    if (!p) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    *p = (struct api_proxy){.loop = l, .server = server->server};
    p->client = http_client_new(l, &reach, err);
    if (p->client)
        return p;
    free(p);
    return NULL;
}

void api_proxy_free(struct api_proxy *p)
{
    for (struct exchange *x = p ? p->exchanges : NULL, *next; x; x = next) {
        next = x->next;
        if (x->http) {
            fail(x, ERR_UNAVAILABLE, "the console is stopping", "");
            continue;
        }
        hang_up(x); /* the HTTP server closes the stream */
        unlink_exchange(x);
        relay_end(&x->relay, true);
    }
    if (p)
        http_client_free(p->client);
    free(p);
}
