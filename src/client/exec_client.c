/* exec_client.c - see exec_client.h. Channels: 0 input, 1 and 2 output, 3 the result (a Status), 4
 * terminal sizes, 255 end of a channel (v5). */
#include "client/exec_client.h"

#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/status.h"
#include "base/percent.h"
#include "net/ws_client.h"

#define PATH_LIMIT_BYTES (256u * 1024u) /* includes the command */
#define STATUS_LIMIT_BYTES (64u * 1024u)
#define HEADERS_LIMIT_BYTES (64u * 1024u)
#define PROTOCOLS "v5.channel.k8s.io, v4.channel.k8s.io"

enum channel { STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 255 };

struct exec_client {
    struct ws_client *ws;
    struct exec_client_handler handler;
    void *arg;
    unsigned channel;
    bool channel_known;
    struct buf status;
};

/* --- input from the server ------------------------------------------------------------- */

static void on_part(void *arg, bool first, const char *data, size_t len)
{
    struct exec_client *c = arg;

    if (first)
        c->channel_known = false;
    if (len > 0 && !c->channel_known) {
        c->channel = (unsigned char)*data++;
        c->channel_known = true;
        len--;
    }
    if (len == 0)
        return;
    if (c->channel == STDOUT || c->channel == STDERR)
        c->handler.output(c->arg, (enum exec_client_stream)c->channel, data, len);
    else if (c->channel == ERROR)
        buf_add(&c->status, data, len);
}

static int exit_code_of(const struct json *status)
{
    json_each (cause, json_at(status, "details", "causes"))
        if (json_string_is(json_get(cause, "reason"), "ExitCode"))
            return atoi(json_get_string(cause, "message", "1"));
    return -1;
}

/* 0 with *ret_code; negative when the Status says the command did not run. */
static int read_status(const struct exec_client *c, int *ret_code, struct err *err)
{
    struct arena a = ARENA_INIT(4 * STATUS_LIMIT_BYTES);
    const struct json *status = json_parse(&a, c->status.data, c->status.len, NULL);
    int rc = 0;

    *ret_code = 0;
    if (!json_string_is(json_get(status, "status"), "Success")) {
        *ret_code = exit_code_of(status);
        if (*ret_code < 0)
            rc = err_set(err, err_reason_from_name(json_get_string(status, "reason", "")), "%s",
                         json_get_string(status, "message", "the command did not run"));
    }
    arena_release(&a);
    return rc;
}

static void on_closed(void *arg, const struct ws_client_end *end)
{
    struct exec_client *c = arg;
    auto_err err = ERR_INIT;
    int code = 0;

    if (end->http_status)
        status_to_err(end->http_status, end->body, strlen(end->body), &err);
    else if (c->status.len > 0 && !c->status.failed)
        (void)read_status(c, &code, &err);
    else
        (void)err_set(&err, ERR_UNAVAILABLE, "the connection ended before the command did: %s",
                      end->error ? end->error : "the server closed it");
    c->handler.ended(c->arg, code, err_is_set(&err) ? &err : NULL);
}

static void on_drained(void *arg)
{
    struct exec_client *c = arg;

    c->handler.drained(c->arg);
}

static const struct ws_client_handler events = {
    .part = on_part, .drained = on_drained, .closed = on_closed};

/* --- output to the server -------------------------------------------------------------- */

bool exec_client_has_room(const struct exec_client *c)
{
    return ws_client_has_room(c->ws);
}

void exec_client_send(struct exec_client *c, const void *data, size_t len)
{
    if (len > 0)
        ws_client_send(c->ws, STDIN, data, len);
}

/* Also sent before the server has chosen its version: an older one ignores the unknown channel. */
void exec_client_end_input(struct exec_client *c)
{
    static const unsigned char channel = STDIN;

    ws_client_send(c->ws, CLOSE, &channel, 1);
}

void exec_client_resize(struct exec_client *c, unsigned columns, unsigned rows)
{
    struct buf text = BUF_INIT(128);

    buf_addf(&text, "{\"Width\":%u,\"Height\":%u}\n", columns, rows);
    if (!text.failed)
        ws_client_send(c->ws, RESIZE, text.data, text.len);
    buf_release(&text);
}

/* --- life ------------------------------------------------------------------------------ */

static const char *make_path(struct arena *a, const struct exec_client_options *o)
{
    struct buf out = BUF_INIT(PATH_LIMIT_BYTES);
    const char *base = strstr(o->config->server, "://"),
               *path = kind_path(a, &kind_pod, o->ns, o->pod);
    const char *text;

    base = base ? strchr(base + 3, '/') : NULL; /* a server may be below a path */
    buf_addf(&out, "%s%s/exec?stdout=true", base ? base : "", path ? path : "");
    if (!o->tty)
        buf_adds(&out, "&stderr=true");
    if (o->wants_stdin)
        buf_adds(&out, "&stdin=true");
    if (o->tty)
        buf_adds(&out, "&tty=true");
    if (o->container) {
        buf_adds(&out, "&container=");
        percent_encode(&out, o->container);
    }
    for (const char *const *word = o->argv; *word; word++) {
        buf_adds(&out, "&command=");
        percent_encode(&out, *word);
    }
    text = out.failed ? NULL : arena_strndup(a, out.data, out.len);
    buf_release(&out);
    return text;
}

struct exec_client *exec_client_new(const struct exec_client_options *options,
                                    const struct exec_client_handler *handler, void *arg,
                                    struct err *err)
{
    struct exec_client *c = calloc(1, sizeof(*c));
    struct arena a = ARENA_INIT(2 * PATH_LIMIT_BYTES + HEADERS_LIMIT_BYTES);
    const char *headers[] = {"User-Agent: muster", client_authorization(&a, options->config), NULL};
    struct ws_client_options ws = {
        .loop = options->loop,
        .server = {.url = options->config->server, .reach = options->config->reach},
        .path = make_path(&a, options),
        .protocols = PROTOCOLS,
        .headers = headers};

    if (!c || !ws.path || arena_failed(&a)) {
        (void)err_set(err, ERR_BAD_REQUEST, "the command is too long");
        arena_release(&a);
        free(c);
        return NULL;
    }
    *c = (struct exec_client){.handler = *handler, .arg = arg};
    buf_init(&c->status, STATUS_LIMIT_BYTES);
    c->ws = ws_client_new(&ws, &events, c, err);
    arena_release(&a);
    if (c->ws)
        return c;
    exec_client_free(c);
    return NULL;
}

void exec_client_free(struct exec_client *c)
{
    if (!c)
        return;
    ws_client_free(c->ws);
    buf_release(&c->status);
    free(c);
}
