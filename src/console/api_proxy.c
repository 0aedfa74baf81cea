/*
 * api_proxy.c - see api_proxy.h. Nothing is passed on verbatim: the request is rebuilt from its
 * method, address and a few named headers, and only a few named headers of the answer are kept. So
 * neither cookies nor impersonation headers get through, and hop-by-hop headers end here.
 */
#include "console/api_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/list.h"
#include "net/http_client.h"
#include "net/origin.h"

#define BODY_PAUSE_BYTES (64u * 1024u) /* buffered for a client that does not read */
#define BODY_LIMIT_BYTES                                                                           \
    (512u * 1024u) /* ... including what arrives before the pause takes                            \
                    * effect */
#define URL_LIMIT_BYTES (64u * 1024u)
#define FIELD_LIMIT_BYTES (16u * 1024u)
#define HEADERS_LIMIT 16u

struct exchange {
    struct stream stream; /* what the client pulls, once answered */
    struct api_proxy *proxy;
    struct exchange *prev, *next;
    struct httpd_request *http; /* NULL once answered */
    struct http_exchange *upstream;
    struct clock_timer *timer;

    int status;
    const char *type; /* this and the headers are in the request's arena */
    struct httpd_header headers[HEADERS_LIMIT];
    size_t headers_len;

    struct buf out;
    bool paused, over, broken; /* nothing more comes; and it is incomplete */
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
    buf_release(&x->out);
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

static ssize_t read_answer(struct stream *s, char *out, size_t cap)
{
    struct exchange *x = container_of(s, struct exchange, stream);
    ssize_t n = stream_take(&x->out, x->over, x->broken, out, cap);

    if (x->paused && x->out.len < BODY_PAUSE_BYTES && x->upstream) {
        x->paused = false;
        http_exchange_pause(x->upstream, false);
    }
    return n;
}

static void close_answer(struct stream *s)
{
    exchange_free(container_of(s, struct exchange, stream));
}

static const struct stream_ops answer_ops = {.read = read_answer, .close = close_answer};

/* The head is complete. x may be gone afterwards. */
static void begin_answer(struct exchange *x)
{
    struct httpd_request *http = x->http;
    const char *type = x->type ? x->type : "application/octet-stream";

    if (x->headers_len < HEADERS_LIMIT)
        x->headers[x->headers_len++] = (struct httpd_header){"X-Content-Type-Options", "nosniff"};
    clock_stop(loop_clock(x->proxy->loop), x->timer);
    x->timer = NULL;
    x->http = NULL;
    x->type = NULL;
    if (x->status == 204 || x->status == 304) {
        httpd_reply(http, x->status, NULL, x->headers, x->headers_len, NULL);
        exchange_free(x);
        return;
    }
    x->stream.ops = &answer_ops;
    httpd_stream_with(http, x->status, type, x->headers, x->headers_len, &x->stream);
}

/* The value of "Name: value" if it has this name. */
static const char *value_of(struct arena *a, const char *line, size_t len, const char *name)
{
    size_t name_len = strlen(name);

    if (len <= name_len || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
        return NULL;
    line += name_len + 1;
    len -= name_len + 1;
    while (len > 0 && strchr(" \t", *line))
        line++, len--;
    return arena_strndup(a, line, len);
}

static void take_field(struct exchange *x, const char *line, size_t len)
{
    static const char *const kept[] = {"Cache-Control", "Warning",       "Retry-After",
                                       "ETag",          "Last-Modified", "Audit-Id"};
    struct arena *a = &x->http->arena;
    const char *type = value_of(a, line, len, "Content-Type");

    if (type)
        x->type = type;
    for (size_t i = 0; i < ELEMS(kept) && x->headers_len < HEADERS_LIMIT; i++) {
        const char *value = value_of(a, line, len, kept[i]);

        if (value)
            x->headers[x->headers_len++] = (struct httpd_header){kept[i], value};
    }
}

static void on_header(void *arg, const char *line, size_t len)
{
    struct exchange *x = arg;
    char status[16];

    if (!x->http)
        return; /* trailers */
    while (len > 0 && strchr("\r\n", line[len - 1]))
        len--;
    if (len >= 12 && strncmp(line, "HTTP/", 5) == 0) {
        (void)snprintf(status, sizeof(status), "%.3s", line + 9);
        x->status = atoi(status);
        x->headers_len = 0;
        x->type = NULL;
    } else if (len > 0) {
        take_field(x, line, len);
    } else if (x->status >= 200) {
        begin_answer(x);
    }
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct exchange *x = arg;

    buf_add(&x->out, data, len);
    if (x->out.failed) {
        x->over = x->broken = true;
        hang_up(x);
    } else if (!x->paused && x->out.len >= BODY_PAUSE_BYTES) {
        x->paused = true;
        http_exchange_pause(x->upstream, true);
    }
    stream_ready(&x->stream);
}

static void on_end(void *arg, const struct http_result *result)
{
    struct exchange *x = arg;

    x->upstream = NULL;
    if (x->http) {
        fail(x, ERR_UNAVAILABLE, "the API server cannot be reached", result->error);
        return;
    }
    x->over = true;
    x->broken = result->status == 0;
    stream_ready(&x->stream);
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
    buf_init(&x->out, BODY_LIMIT_BYTES);
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
        x->over = x->broken = true;
        stream_ready(&x->stream);
    }
    if (p)
        http_client_free(p->client);
    free(p);
}
