/*
 * http_client.c - libcurl's multi interface on our loop. See http_client.h.
 *
 * libcurl must not be called from inside its own callbacks. So an exchange that is started or
 * cancelled while libcurl is on the stack only changes its state, and settle() does the rest when
 * libcurl has returned. The state says what libcurl knows of the exchange.
 */
#include "net/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "net/curl_library.h"

#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_IDLE_S 30L
#define KEEPALIVE_INTERVAL_S 10L
/* libcurl closes connections beyond this, and each new one costs a handshake: enough for all calls
 * under way and more streams than one process has. */
#define KEPT_CONNECTIONS 256L
#define CALLS_AT_ONCE 32

enum exchange_state {
    EXCHANGE_WAITING,   /* until a call under way ends */
    EXCHANGE_NEW,       /* to be passed to libcurl */
    EXCHANGE_RUNNING,   /* libcurl has it */
    EXCHANGE_HELD,      /* until a busy server may be asked again */
    EXCHANGE_FAILED,    /* never passed to libcurl: on_end with an error is due */
    EXCHANGE_CANCELLED, /* to be freed without calling back */
};

struct http_exchange {
    struct http_exchange *next, **at;
    struct http_client *client;
    enum exchange_state state;
    bool in_curl; /* added to the multi handle */
    bool too_large;
    bool (*may_reach)(const struct sockaddr *to);
    bool refused; /* by may_reach */
    int fd;       /* given and not used yet; 0: none */
    bool paused;  /* by its user */
    bool held;    /* paused in libcurl, which buffers the data */
    int64_t busy_patience_ms;
    struct clock_timer *busy;
    struct http_handler handler;
    CURL *easy;
    struct curl_slist *headers;
    char *request_body;
    struct buf answer;
    char error[CURL_ERROR_SIZE];
};

struct http_client {
    const struct curl_library *curl;
    struct loop *loop;
    CURLM *multi;
    struct clock_timer *timer;
    struct clock_timer *settling;
    bool inside; /* libcurl is on the stack */
    struct http_exchange *all;
    struct http_exchange *waiting, **waiting_end; /* calls over the limit, oldest first */
    unsigned calls;                               /* total, without streams */
    struct reach_kept reach;
};

static void settle(struct http_client *c);

/* --- exchanges --- */

static void link_exchange(struct http_exchange *x, struct http_exchange **at)
{
    x->next = *at;
    x->at = at;
    if (x->next)
        x->next->at = &x->next;
    *at = x;
    if (at == x->client->waiting_end)
        x->client->waiting_end = &x->next;
}

static void unlink_exchange(struct http_exchange *x)
{
    *x->at = x->next;
    if (x->next)
        x->next->at = x->at;
    else if (x->client->waiting_end == &x->next)
        x->client->waiting_end = x->at;
}

static bool is_call(const struct http_exchange *x)
{
    return !x->handler.on_data;
}

static void settle_later(struct http_client *c);

/* Streams never wait: a delayed watch would hold up everything. */
static void begin(struct http_exchange *x)
{
    struct http_client *c = x->client;

    if (is_call(x) && c->calls >= CALLS_AT_ONCE) {
        link_exchange(x, c->waiting_end);
        return;
    }
    x->state = EXCHANGE_NEW;
    c->calls += is_call(x);
    link_exchange(x, &c->all);
}

static void call_over(struct http_client *c)
{
    struct http_exchange *x = c->waiting;

    c->calls--;
    if (!x)
        return;
    unlink_exchange(x);
    begin(x);
    settle_later(c);
}

/* It does not count as a call under way, and libcurl does not know it. */
static bool is_idle(const struct http_exchange *x)
{
    return x->state == EXCHANGE_WAITING || x->state == EXCHANGE_HELD;
}

static void exchange_free(struct http_exchange *x)
{
    const struct curl_library *curl = x->client->curl;

    if (x->in_curl)
        (void)curl->multi_remove_handle(x->client->multi, x->easy);
    if (x->easy)
        curl->easy_cleanup(x->easy);
    curl->slist_free_all(x->headers);
    clock_stop(loop_clock(x->client->loop), x->busy);
    unlink_exchange(x);
    if (is_call(x) && !is_idle(x))
        call_over(x->client);
    buf_release(&x->answer);
    if (x->fd)
        (void)close(x->fd);
    free(x->request_body);
    free(x);
}

static const char *cause_text(const struct http_exchange *x, CURLcode code)
{
    if (x->refused)
        return "the address is not allowed: it leads to this machine itself or a network of its "
               "own";
    if (x->too_large)
        return "the answer is too large";
    return x->client->curl->easy_strerror(code);
}

static const char *error_text(const struct http_exchange *x, CURLcode code)
{
    return x->error[0] && !x->too_large && !x->refused ? x->error : cause_text(x, code);
}

static void on_busy_over(void *arg)
{
    struct http_exchange *x = arg;

    x->busy = NULL;
    unlink_exchange(x);
    x->state = EXCHANGE_WAITING;
    begin(x);
    settle_later(x->client);
}

/* Meanwhile its slot is free for others: a server may be busy with only one kind of call. */
static bool hold(struct http_exchange *x, CURLcode code)
{
    struct http_client *c = x->client;
    curl_off_t wait_s = 0;
    long status = 0;

    if (!x->easy || code != CURLE_OK)
        return false;
    (void)c->curl->easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 429 || status == 503)
        (void)c->curl->easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &wait_s);
    if (wait_s <= 0 || wait_s > x->busy_patience_ms / 1000)
        return false;
    x->busy = clock_start(loop_clock(c->loop), wait_s * 1000, on_busy_over, x);
    if (!x->busy)
        return false;
    x->busy_patience_ms -= wait_s * 1000;
    (void)c->curl->multi_remove_handle(c->multi, x->easy);
    x->in_curl = false;
    x->state = EXCHANGE_HELD;
    buf_clear(&x->answer);
    if (is_call(x))
        call_over(c);
    return true;
}

/* Frees the exchange before the handler runs, which may do anything, including freeing the
 * client. */
static void finish(struct http_exchange *x, CURLcode code)
{
    struct http_result result = {.body = ""};
    struct http_handler handler = x->handler;
    struct buf answer = x->answer;
    char error[CURL_ERROR_SIZE] = "";
    long status = 0;

    if (x->easy && code == CURLE_OK)
        (void)x->client->curl->easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK)
        (void)snprintf(error, sizeof(error), "%s", error_text(x, code));
    result.cause = code == CURLE_OK ? "" : cause_text(x, code);
    result.refused = x->refused;
    buf_init(&x->answer, 0);
    exchange_free(x);
    result.status = (int)status;
    result.error = error;
    if (code == CURLE_OK && answer.data) {
        result.body = answer.data;
        result.body_len = answer.len;
    }
    handler.on_end(handler.arg, &result);
    buf_release(&answer);
}

static bool is_streamed(struct http_exchange *x)
{
    long status = 0;

    if (!x->handler.on_data)
        return false;
    if (x->handler.on_header)
        return true;
    (void)x->client->curl->easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status <= 299;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_exchange *x = arg;
    size_t len = size * count;

    if (x->state == EXCHANGE_CANCELLED)
        return 0; /* makes libcurl stop */
    if (is_streamed(x)) {
        if (x->paused) {
            x->held = true;
            return CURL_WRITEFUNC_PAUSE;
        }
        x->handler.on_data(x->handler.arg, data, len);
        return x->state == EXCHANGE_CANCELLED ? 0 : len;
    }
    buf_add(&x->answer, data, len);
    x->too_large = x->answer.failed;
    return x->too_large ? 0 : len;
}

static size_t on_header_line(char *line, size_t size, size_t count, void *arg)
{
    struct http_exchange *x = arg;
    size_t len = size * count;
    long status = 0;

    if (x->state == EXCHANGE_CANCELLED)
        return 0;
    if (x->handler.on_header) {
        x->handler.on_header(x->handler.arg, line, len);
    } else if (*line == '\r' || *line == '\n') {
        (void)x->client->curl->easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status >= 200 && status <= 299)
            x->handler.on_open(x->handler.arg);
    }
    return x->state == EXCHANGE_CANCELLED ? 0 : len;
}

/* This is the address actually connected to, so DNS cannot change in between. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct http_exchange *x = arg;

    (void)purpose;
    if (x->may_reach(&to->addr))
        return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    x->refused = true;
    return CURL_SOCKET_BAD;
}

/* libcurl may want a second one, for another address of the host. */
static curl_socket_t use_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct http_exchange *x = arg;
    int fd = x->fd;

    (void)purpose, (void)to;
    x->fd = 0;
    return fd ? fd : CURL_SOCKET_BAD;
}

static int say_connected(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    (void)arg, (void)fd, (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/* --- libcurl's requests: sockets and one timer --- */

static void act(struct http_client *c, curl_socket_t fd, int events)
{
    int running;

    c->inside = true;
    (void)c->curl->multi_socket_action(c->multi, fd, events, &running);
    c->inside = false;
    settle(c);
}

struct socket_watch {
    struct http_client *client;
    curl_socket_t fd;
    struct loop_fd *watch;
};

static void on_socket_ready(void *arg, unsigned events)
{
    struct socket_watch *s = arg;
    int bits = 0;

    if (events & (LOOP_READABLE | LOOP_HANGUP))
        bits |= CURL_CSELECT_IN;
    if (events & LOOP_WRITABLE)
        bits |= CURL_CSELECT_OUT;
    act(s->client, s->fd, bits);
}

static void socket_watch_free(struct socket_watch *s)
{
    loop_fd_stop(s->watch);
    free(s);
}

static int watch_socket(struct http_client *c, curl_socket_t fd, unsigned events)
{
    struct socket_watch *s = calloc(1, sizeof(*s));

    if (!s)
        return -1;
    s->client = c;
    s->fd = fd;
    s->watch = loop_fd_watch(c->loop, fd, events, on_socket_ready, s);
    if (!s->watch || c->curl->multi_assign(c->multi, fd, s) != CURLM_OK) {
        socket_watch_free(s);
        return -1;
    }
    return 0;
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
    struct http_client *c = arg;
    struct socket_watch *s = assigned;
    unsigned events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s)
            socket_watch_free(s);
        (void)c->curl->multi_assign(c->multi, fd, NULL);
        return 0;
    }
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= LOOP_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= LOOP_WRITABLE;
    if (!s)
        return watch_socket(c, fd, events);
    return loop_fd_change(s->watch, events) < 0 ? -1 : 0;
}

static void on_timer(void *arg)
{
    struct http_client *c = arg;

    c->timer = NULL;
    act(c, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wish(CURLM *multi, long delay_ms, void *arg)
{
    struct http_client *c = arg;

    (void)multi;
    clock_stop(loop_clock(c->loop), c->timer);
    c->timer = delay_ms >= 0 ? clock_start(loop_clock(c->loop), delay_ms, on_timer, c) : NULL;
    return delay_ms >= 0 && !c->timer ? -1 : 0;
}

/* --- settling: what had to wait for libcurl to return --- */

static struct http_exchange *next_finished(struct http_client *c, CURLcode *ret_code)
{
    CURLMsg *message;
    int left;

    while ((message = c->curl->multi_info_read(c->multi, &left))) {
        void *found = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        *ret_code = message->data.result;
        (void)c->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
        if (found)
            return found;
    }
    return NULL;
}

static void give_to_curl(struct http_exchange *x)
{
    struct http_client *c = x->client;

    c->inside = true;
    if (c->curl->multi_add_handle(c->multi, x->easy) == CURLM_OK) {
        x->in_curl = true;
        x->state = EXCHANGE_RUNNING;
    } else {
        x->state = EXCHANGE_FAILED;
    }
    c->inside = false;
}

static void on_settle(void *arg)
{
    struct http_client *c = arg;

    c->settling = NULL;
    settle(c);
}

static void settle_later(struct http_client *c)
{
    if (!c->settling)
        c->settling = clock_start(loop_clock(c->loop), 0, on_settle, c);
}

/* The first exchange out of step with libcurl, or NULL. */
static struct http_exchange *next_unsettled(struct http_client *c)
{
    for (struct http_exchange *x = c->all; x; x = x->next)
        if (x->state != EXCHANGE_HELD && (x->state != EXCHANGE_RUNNING || (x->held && !x->paused)))
            return x;
    return NULL;
}

/* libcurl delivers buffered data from inside this call. */
static void go_on(struct http_exchange *x)
{
    struct http_client *c = x->client;

    x->held = false;
    c->inside = true;
    (void)c->curl->easy_pause(x->easy, CURLPAUSE_CONT);
    c->inside = false;
}

/* One at a time, restarting after each: a handler may start, cancel and free exchanges. */
static void settle(struct http_client *c)
{
    struct http_exchange *x;
    CURLcode code;

    x = next_unsettled(c);
    if (x && x->state == EXCHANGE_CANCELLED) {
        exchange_free(x);
        settle_later(c);
    } else if (x && x->state == EXCHANGE_NEW) {
        give_to_curl(x);
        settle_later(c);
    } else if (x && x->state == EXCHANGE_RUNNING) {
        go_on(x);
        settle_later(c);
    } else if (x) {
        settle_later(c);
        finish(x, CURLE_FAILED_INIT);
        return;
    }
    x = next_finished(c, &code);
    if (!x)
        return;
    settle_later(c);
    if (x->state == EXCHANGE_CANCELLED)
        exchange_free(x);
    else if (!hold(x, code))
        finish(x, code);
}

/* --- life --- */

static int set_up_multi(struct http_client *c, struct err *err)
{
    c->multi = c->curl->multi_init();
    if (!c->multi)
        return err_set(err, ERR_INTERNAL, "out of memory");
    (void)c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wish);
    (void)c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    (void)c->curl->multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
    (void)c->curl->multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    (void)c->curl->multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    return 0;
}

struct http_client *http_client_new(struct loop *l, const struct reach *reach, struct err *err)
{
    const struct curl_library *curl = curl_library_load(err);
    struct http_client *c = curl ? calloc(1, sizeof(*c)) : NULL;

    if (!curl)
        return NULL;
    if (!c) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    c->curl = curl;
    c->loop = l;
    c->waiting_end = &c->waiting;
    if (set_up_multi(c, err) < 0 || reach_keep(&c->reach, curl, reach, err) < 0) {
        http_client_free(c);
        return NULL;
    }
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    for (struct http_exchange *x = c->waiting, *next; x; x = next) {
        next = x->next;
        exchange_free(x);
    }
    for (struct http_exchange *x = c->all, *next; x; x = next) {
        next = x->next;
        exchange_free(x);
    }
    if (c->multi)
        (void)c->curl->multi_cleanup(c->multi);
    clock_stop(loop_clock(c->loop), c->timer);
    clock_stop(loop_clock(c->loop), c->settling);
    reach_release(&c->reach);
    free(c);
}

int http_client_identify(struct http_client *c, const char *cert_pem, const char *key_pem,
                         struct err *err)
{
    return reach_identify(&c->reach, cert_pem, key_pem, err);
}

/* --- starting --- */

static int set_headers(struct http_exchange *x, const char *const *headers)
{
    const struct curl_library *curl = x->client->curl;
    static const char *const none[] = {NULL};

    /* Waiting for "100 Continue" costs a round trip for nothing. */
    x->headers = curl->slist_append(NULL, "Expect:");
    for (headers = headers ? headers : none; x->headers && *headers; headers++) {
        struct curl_slist *more = curl->slist_append(x->headers, *headers);

        if (!more)
            return -1;
        x->headers = more;
    }
    if (!x->headers || curl->easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers) != CURLE_OK)
        return -1;
    return 0;
}

static int set_body(struct http_exchange *x, const struct http_request *request)
{
    const struct curl_library *curl = x->client->curl;

    if (!request->body)
        return curl->easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK ? 0
                                                                                              : -1;
    x->request_body = malloc(request->body_len + 1);
    if (!x->request_body)
        return -1;
    memcpy(x->request_body, request->body, request->body_len);
    if (curl->easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len) !=
            CURLE_OK ||
        curl->easy_setopt(x->easy, CURLOPT_POSTFIELDS, x->request_body) != CURLE_OK ||
        curl->easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, request->method) != CURLE_OK)
        return -1;
    return 0;
}

static int set_options(struct http_exchange *x, const struct http_request *request)
{
    const struct curl_library *curl = x->client->curl;

    (void)curl->easy_setopt(x->easy, CURLOPT_PRIVATE, x);
    (void)curl->easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->error);
    (void)curl->easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl->easy_setopt(x->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl->easy_setopt(x->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    (void)curl->easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    (void)curl->easy_setopt(x->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl->easy_setopt(x->easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    (void)curl->easy_setopt(x->easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    (void)curl->easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl->easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
    (void)curl->easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (x->handler.on_header || x->handler.on_open) {
        (void)curl->easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header_line);
        (void)curl->easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
        (void)curl->easy_setopt(x->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's */
    }
    if (request->fd)
        (void)curl->easy_setopt(x->easy, CURLOPT_SOCKOPTFUNCTION, say_connected);
    if (x->may_reach || request->fd) {
        (void)curl->easy_setopt(x->easy, CURLOPT_OPENSOCKETFUNCTION,
                                request->fd ? use_socket : open_socket);
        (void)curl->easy_setopt(x->easy, CURLOPT_OPENSOCKETDATA, x);
        (void)curl->easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L);
        (void)curl->easy_setopt(x->easy, CURLOPT_FORBID_REUSE, 1L);
    }
    reach_apply(&x->client->reach, x->easy, request->url);
    if (curl->easy_setopt(x->easy, CURLOPT_URL, request->url) != CURLE_OK)
        return -1;
    return set_headers(x, request->headers) < 0 || set_body(x, request) < 0 ? -1 : 0;
}

struct http_exchange *http_client_start(struct http_client *c, const struct http_request *request,
                                        const struct http_handler *handler)
{
    struct http_exchange *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    x->client = c;
    x->handler = *handler;
    x->busy_patience_ms = request->busy_patience_ms;
    x->may_reach = request->may_reach;
    buf_init(&x->answer, request->body_limit_bytes);
    x->easy = c->curl->easy_init();
    begin(x);
    if (!x->easy || set_options(x, request) < 0) {
        exchange_free(x);
        return NULL;
    }
    x->fd = request->fd;
    if (x->state == EXCHANGE_WAITING)
        return x;
    if (c->inside)
        settle_later(c);
    else
        give_to_curl(x);
    if (x->state == EXCHANGE_FAILED)
        settle_later(c);
    return x;
}

void http_exchange_cancel(struct http_exchange *x)
{
    if (!x->client->inside || is_idle(x)) {
        exchange_free(x);
        return;
    }
    x->state = EXCHANGE_CANCELLED;
    settle_later(x->client);
}

void http_exchange_pause(struct http_exchange *x, bool paused)
{
    x->paused = paused;
    if (!paused && x->held)
        settle_later(x->client);
}
