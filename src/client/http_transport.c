/*
 * http_transport.c - see http_transport.h. Adds the server's address, credentials and time limits;
 * knows nothing of objects.
 */
#include "client/http_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "loop/file.h"
#include "net/http_client.h"

#define CALL_TIMEOUT_MS 60000
#define BUSY_PATIENCE_MS 60000
#define REPLY_LIMIT_BYTES (256u * 1024u * 1024u)
#define REFUSAL_LIMIT_BYTES (1024u * 1024u) /* body of a refused stream */
#define URL_LIMIT_BYTES (64u * 1024u)
#define CONFIG_LIMIT_BYTES (1024u * 1024u)
#define TOKEN_MEMORY_BYTES (1024u * 1024u)
#define PLUGIN_AGAIN_MS 10000 /* after a failure */
#define USER_AGENT "User-Agent: muster"

/* A file that may change, and its state when it was read. */
struct seen_file {
    const char *path; /* NULL: none */
    struct stat stat;
};

struct http_transport {
    struct transport transport;
    struct http_client *http;
    struct arena arena;          /* for what follows */
    const char *server;          /* "https://host:port" */
    const char *authorization;   /* a whole header, or NULL */
    struct seen_file token_file; /* its source */
    struct seen_file cert_file, key_file;
    const struct exec_plugin *plugin; /* that provided it, or NULL */
    int64_t expires_ms;               /* 0: unknown */
    struct loop *loop;
    struct login *login; /* while the plugin runs */
    struct arena token_arena;
    struct api_stream *calls; /* everything under way, calls and streams */
};

/* The plugin, running on a pool thread. */
struct login {
    struct http_transport *transport; /* NULL: already freed */
    struct client_config fresh;
    struct arena arena;
    struct err err;
    int stop_fd;
};

/* A request waiting for it. */
struct held {
    struct arena arena;
    struct api_call call;
    bool paused;
};

/* One call or stream. */
struct api_stream {
    struct api_stream *next, **at;
    struct http_transport *transport;
    struct http_exchange *exchange; /* NULL while waiting */
    struct held *held;
    api_reply_fn *fn; /* for a call */
    void *fn_arg;
    struct api_stream_handler handler; /* for a stream */
};

static struct api_stream *item_new(struct http_transport *t)
{
    struct api_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->transport = t;
    s->next = t->calls;
    s->at = &t->calls;
    if (s->next)
        s->next->at = &s->next;
    t->calls = s;
    return s;
}

static void held_free(struct held *h)
{
    if (h)
        arena_release(&h->arena);
    free(h);
}

static void item_free(struct api_stream *s)
{
    held_free(s->held);
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    free(s);
}

static void answer(struct api_stream *s, const struct api_reply *reply)
{
    api_reply_fn *fn = s->fn ? s->fn : s->handler.on_end;
    void *arg = s->fn ? s->fn_arg : s->handler.arg;

    item_free(s);
    fn(arg, reply);
}

static void on_end(void *arg, const struct http_result *result)
{
    struct api_stream *s = arg;
    struct api_reply reply = {
        .status = result->status, .body = result->body, .body_len = result->body_len};
    struct buf why = BUF_INIT(URL_LIMIT_BYTES);

    if (result->status == 401 && s->transport->plugin)
        s->transport->expires_ms = 1; /* the next request runs it again, as in kubectl */
    if (result->status == 0) {
        buf_addf(&why, "cannot reach %s: %s", s->transport->server, result->error);
        reply.body = why.failed ? "cannot reach the API server" : why.data;
        reply.body_len = strlen(reply.body);
    }
    answer(s, &reply);
    buf_release(&why);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct api_stream *s = arg;

    s->handler.on_data(s->handler.arg, data, len);
}

static void on_open(void *arg)
{
    struct api_stream *s = arg;

    s->handler.on_open(s->handler.arg);
}

static bool has_changed(struct seen_file *f)
{
    struct stat now;

    if (!f->path || stat(f->path, &now) < 0 ||
        (now.st_ino == f->stat.st_ino && now.st_size == f->stat.st_size &&
         memcmp(&now.st_mtim, &f->stat.st_mtim, sizeof(now.st_mtim)) == 0))
        return false;
    f->stat = now;
    return true;
}

/* On a cluster a pod's token file is replaced long before the old token expires. */
static const char *authorization(struct http_transport *t)
{
    struct client_config fresh = {0};
    struct arena a = ARENA_INIT(TOKEN_MEMORY_BYTES);
    const char *header;

    if (!has_changed(&t->token_file))
        return t->authorization;
    fresh.token = token_file_read(&a, t->token_file.path);
    header = fresh.token ? client_authorization(&a, &fresh) : NULL;
    if (!header) { /* the old one is better than none */
        arena_release(&a);
        return t->authorization;
    }
    arena_release(&t->token_arena);
    t->token_arena = a;
    return t->authorization = header;
}

/* Certificates are renewed in place as well. */
static void renew_certificate(struct http_transport *t)
{
    struct buf cert = BUF_INIT(CONFIG_LIMIT_BYTES), key = BUF_INIT(CONFIG_LIMIT_BYTES);
    bool changed = has_changed(&t->cert_file);
    auto_err err = ERR_INIT;

    if ((has_changed(&t->key_file) || changed) &&
        file_read(t->cert_file.path, CONFIG_LIMIT_BYTES, &cert) == 0 &&
        file_read(t->key_file.path, CONFIG_LIMIT_BYTES, &key) == 0 && cert.len > 0 && key.len > 0 &&
        http_client_identify(t->http, cert.data, key.data, &err) < 0)
        log_warn("%s: %s", t->cert_file.path, err.text);
    buf_release(&cert);
    buf_release(&key);
}

static bool start_now(struct api_stream *s, const struct api_call *call)
{
    struct http_transport *t = s->transport;
    const char *who = authorization(t);
    struct buf url = BUF_INIT(URL_LIMIT_BYTES), accept = BUF_INIT(URL_LIMIT_BYTES),
               type = BUF_INIT(URL_LIMIT_BYTES);
    const char *headers[5] = {USER_AGENT};
    size_t n = 1;

    renew_certificate(t);
    buf_addf(&url, "%s%s", t->server, call->path);
    buf_addf(&accept, "Accept: %s", call->accept ? call->accept : "application/json");
    headers[n++] = accept.data;
    if (who)
        headers[n++] = who;
    if (call->content_type) {
        buf_addf(&type, "Content-Type: %s", call->content_type);
        headers[n++] = type.data;
    }
    if (!url.failed && !accept.failed && !type.failed)
        s->exchange = http_client_start(
            t->http,
            &(struct http_request){.method = call->method,
                                   .url = url.data,
                                   .headers = headers,
                                   .body = call->body,
                                   .body_len = call->body_len,
                                   .timeout_ms = s->fn ? CALL_TIMEOUT_MS : 0,
                                   .busy_patience_ms = BUSY_PATIENCE_MS,
                                   .body_limit_bytes = s->fn ? REPLY_LIMIT_BYTES
                                                             : REFUSAL_LIMIT_BYTES},
            &(struct http_handler){.on_open = s->handler.on_open ? on_open : NULL,
                                   .on_data = s->fn ? NULL : on_data,
                                   .on_end = on_end,
                                   .arg = s});
    buf_release(&url);
    buf_release(&accept);
    buf_release(&type);
    return s->exchange;
}

/* --- the plugin runs on a pool thread while requests wait --- */

static void login_free(struct login *login)
{
    (void)close(login->stop_fd);
    arena_release(&login->arena);
    err_release(&login->err);
    free(login);
}

static void run_plugin(void *arg)
{
    struct login *login = arg;

    (void)!client_config_login(&login->arena, &login->fresh, login->stop_fd, &login->err);
}

static void use_login(struct http_transport *t, struct login *login)
{
    const struct client_config *fresh = &login->fresh;

    if (!err_is_set(&login->err) && fresh->reach.cert_pem)
        (void)!http_client_identify(t->http, fresh->reach.cert_pem, fresh->reach.key_pem,
                                    &login->err);
    if (err_is_set(&login->err)) { /* the server will judge the old credentials */
        log_warn("%s", login->err.text);
        t->expires_ms = clock_now_ms(loop_clock(t->loop)) + PLUGIN_AGAIN_MS;
        return;
    }
    t->expires_ms = fresh->expires_ms;
    t->authorization = client_authorization(&login->arena, fresh);
    arena_release(&t->token_arena);
    t->token_arena = login->arena;
    arena_init(&login->arena, 0);
}

static void start_held(struct api_stream *s)
{
    static const char why[] = "out of memory";
    struct held *h = s->held;

    s->held = NULL;
    if (start_now(s, &h->call)) {
        if (h->paused)
            http_exchange_pause(s->exchange, true);
    } else {
        answer(s, &(struct api_reply){.status = 0, .body = why, .body_len = sizeof(why) - 1});
    }
    held_free(h);
}

static void plugin_done(void *arg)
{
    struct login *login = arg;
    struct http_transport *t = login->transport;
    struct api_stream *s;

    if (t) {
        t->login = NULL;
        use_login(t, login);
    }
    login_free(login);
    do { /* restart from the first: an answered caller may close others */
        for (s = t ? t->calls : NULL; s && !s->held; s = s->next)
            ;
        if (s)
            start_held(s);
    } while (s);
}

static void begin_login(struct http_transport *t)
{
    struct login *login = calloc(1, sizeof(*login));

    if (!login)
        return;
    *login = (struct login){.transport = t,
                            .fresh = {.plugin = t->plugin},
                            .arena = ARENA_INIT(TOKEN_MEMORY_BYTES),
                            .err = ERR_INIT,
                            .stop_fd = eventfd(0, EFD_CLOEXEC)};
    if (loop_work(t->loop, run_plugin, plugin_done, login) == 0)
        t->login = login;
    else
        login_free(login);
}

static bool hold(struct api_stream *s, const struct api_call *call)
{
    struct held *h = calloc(1, sizeof(*h));
    struct arena *a;

    if (!h)
        return false;
    a = &h->arena;
    arena_init(a, REPLY_LIMIT_BYTES);
    h->call = (struct api_call){
        .method = arena_strdup(a, call->method),
        .path = arena_strdup(a, call->path),
        .content_type = call->content_type ? arena_strdup(a, call->content_type) : NULL,
        .accept = call->accept ? arena_strdup(a, call->accept) : NULL,
        .body = call->body ? arena_strndup(a, call->body, call->body_len) : NULL,
        .body_len = call->body_len};
    s->held = h;
    return !arena_failed(a);
}

static bool start(struct api_stream *s, const struct api_call *call)
{
    struct http_transport *t = s->transport;

    if (!t->login && t->plugin && t->expires_ms &&
        clock_now_ms(loop_clock(t->loop)) >= t->expires_ms)
        begin_login(t);
    return t->login ? hold(s, call) : start_now(s, call);
}

/* Out of memory there is no later moment to report it: an early answer is better than none. */
static void no_memory(api_reply_fn *fn, void *arg)
{
    static const char why[] = "out of memory";

    fn(arg, &(struct api_reply){.status = 0, .body = why, .body_len = sizeof(why) - 1});
}

static void transport_start_call(struct transport *base, const struct api_call *call,
                                 api_reply_fn *fn, void *arg)
{
    struct http_transport *t = container_of(base, struct http_transport, transport);
    struct api_stream *s = item_new(t);

    if (s) {
        s->fn = fn;
        s->fn_arg = arg;
        if (start(s, call))
            return;
        item_free(s);
    }
    no_memory(fn, arg);
}

static struct api_stream *transport_open_stream(struct transport *base, const char *path,
                                                const struct api_stream_handler *handler)
{
    struct http_transport *t = container_of(base, struct http_transport, transport);
    struct api_stream *s = item_new(t);

    if (!s)
        return NULL;
    s->handler = *handler;
    if (start(s, &(struct api_call){.method = "GET", .path = path, .accept = handler->accept}))
        return s;
    item_free(s);
    return NULL;
}

static void transport_close_stream(struct transport *base, struct api_stream *s)
{
    (void)base;
    if (s->exchange)
        http_exchange_cancel(s->exchange);
    item_free(s);
}

static void transport_pause_stream(struct transport *base, struct api_stream *s, bool paused)
{
    (void)base;
    if (s->held)
        s->held->paused = paused;
    else
        http_exchange_pause(s->exchange, paused);
}

static void http_transport_free(struct transport *base)
{
    struct http_transport *t = container_of(base, struct http_transport, transport);

    if (t->login) { /* the loop waits for its end */
        t->login->transport = NULL;
        (void)!eventfd_write(t->login->stop_fd, 1);
    }
    http_client_free(t->http);
    for (struct api_stream *s = t->calls, *next; s; s = next) {
        next = s->next;
        item_free(s);
    }
    arena_release(&t->arena);
    arena_release(&t->token_arena);
    free(t);
}

static const struct transport_ops http_transport_ops = {
    .call = transport_start_call,
    .open = transport_open_stream,
    .close = transport_close_stream,
    .pause = transport_pause_stream,
    .free = http_transport_free,
};

/* --- life --- */

static const char *copied(struct http_transport *t, const char *path)
{
    return path ? arena_strdup(&t->arena, path) : NULL;
}

struct transport *http_transport_new(struct loop *l, const struct client_config *config,
                                     struct err *err)
{
    struct http_transport *t = calloc(1, sizeof(*t));

    if (!t) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    t->transport.ops = &http_transport_ops;
    arena_init(&t->arena, CONFIG_LIMIT_BYTES);
    arena_init(&t->token_arena, TOKEN_MEMORY_BYTES);
    t->server = arena_strdup(&t->arena, config->server);
    t->token_file.path = copied(t, config->token_file);
    if (config->cert_file && config->key_file) {
        t->cert_file.path = copied(t, config->cert_file);
        t->key_file.path = copied(t, config->key_file);
    }
    t->authorization = client_authorization(&t->arena, config);
    t->plugin = config->plugin;
    t->expires_ms = config->expires_ms;
    t->loop = l;
    if (arena_failed(&t->arena))
        err_set(err, ERR_INTERNAL, "the server's address and the token do not fit into memory");
    else
        t->http = http_client_new(l, &config->reach, err);
    if (t->http)
        return &t->transport;
    http_transport_free(&t->transport);
    return NULL;
}
