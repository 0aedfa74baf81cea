/* remote_stdio.c - see remote_stdio.h. */
#include "door/remote_stdio.h"

#include <errno.h>
#include <string.h>

#include "api/status.h"

#define STATUS_LIMIT_BYTES (64u * 1024u)

static const char *const role_names[REMOTE_ROLES] = {
    [REMOTE_STDIN] = "stdin", [REMOTE_STDOUT] = "stdout", [REMOTE_STDERR] = "stderr",
    [REMOTE_ERROR] = "error", [REMOTE_RESIZE] = "resize",
};

/* --- the connection's events ----------------------------------------------------------- */

static void check_ready(struct remote_stdio *r)
{
    for (int i = 0; i < REMOTE_ROLES; i++)
        if (r->wanted[i] && !r->known[i])
            return;
    if (r->is_ready)
        return;
    r->is_ready = true;
    r->ops->ready(r);
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    struct remote_stdio *r = arg;
    const char *type = "";

    for (size_t i = 0; i < count; i++)
        if (strcmp(headers[i].name, "streamtype") == 0)
            type = headers[i].value;
    for (int i = 0; i < REMOTE_ROLES; i++)
        if (strcmp(type, role_names[i]) == 0 && !r->known[i]) {
            r->known[i] = true;
            r->streams[i] = stream;
            check_ready(r);
            return;
        }
    mux_end(r->mux, stream); /* unknown to us */
}

static bool role_of(const struct remote_stdio *r, uint32_t stream, enum remote_stdio_role *ret)
{
    for (int i = 0; i < REMOTE_ROLES; i++)
        if (r->known[i] && r->streams[i] == stream) {
            *ret = (enum remote_stdio_role)i;
            return true;
        }
    return false;
}

static void on_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct remote_stdio *r = arg;
    enum remote_stdio_role role;

    if (role_of(r, stream, &role))
        r->ops->data(r, role, data, len);
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    struct remote_stdio *r = arg;
    enum remote_stdio_role role;

    (void)how;
    if (role_of(r, stream, &role))
        r->ops->ended(r, role);
}

static void on_drained(void *arg)
{
    struct remote_stdio *r = arg;

    if (r->is_ready)
        r->ops->drained(r);
}

static void on_closed(void *arg)
{
    struct remote_stdio *r = arg;

    r->session.on_over(r->session.on_over_arg);
}

static const struct mux_handler events = {.opened = on_opened,
                                          .data = on_data,
                                          .ended = on_ended,
                                          .drained = on_drained,
                                          .closed = on_closed};

/* --- life ------------------------------------------------------------------------------ */

static struct remote_stdio *self_of(struct node_session *s)
{
    return container_of(s, struct remote_stdio, session);
}

static int begin_session(struct node_session *s, int fd, const char *early, size_t early_len,
                         enum mux_kind kind)
{
    struct remote_stdio *r = self_of(s);

    r->mux = mux_new(r->loop, fd, early, early_len, kind, &events, r);
    if (!r->mux)
        return -ENOMEM;
    if (kind != MUX_CHANNELS)
        return 0;
    for (int i = 0; i < REMOTE_ROLES; i++) {
        r->known[i] = r->wanted[i];
        r->streams[i] = (uint32_t)i;
    }
    check_ready(r);
    return 0;
}

static void free_session(struct node_session *s)
{
    struct remote_stdio *r = self_of(s);

    r->ops->free(r);
}

static const struct node_session_ops session_ops = {.begin = begin_session, .free = free_session};

void remote_stdio_init(struct remote_stdio *r, struct loop *l, const struct node_command *command,
                       const struct remote_stdio_ops *ops)
{
    r->session.ops = &session_ops;
    r->loop = l;
    r->ops = ops;
    for (int i = 0; i < NODE_STREAMS; i++)
        r->wanted[i] = command->wanted[i];
    r->wanted[REMOTE_ERROR] = true;
    r->wanted[REMOTE_RESIZE] = command->tty;
}

void remote_stdio_release(struct remote_stdio *r)
{
    mux_free(r->mux);
}

/* --- output ---------------------------------------------------------------------------- */

bool remote_stdio_has_room(const struct remote_stdio *r)
{
    return mux_has_room(r->mux);
}

void remote_stdio_send(struct remote_stdio *r, enum remote_stdio_role role, const void *data,
                       size_t len)
{
    if (r->known[role])
        mux_send(r->mux, r->streams[role], data, len);
}

static void finish(struct remote_stdio *r, const struct json *status)
{
    static const enum remote_stdio_role order[] = {REMOTE_ERROR, REMOTE_STDOUT, REMOTE_STDERR};
    struct buf text = BUF_INIT(STATUS_LIMIT_BYTES);

    json_write(&text, status);
    if (!text.failed)
        remote_stdio_send(r, REMOTE_ERROR, text.data, text.len);
    buf_release(&text);
    for (size_t i = 0; i < ELEMS(order); i++)
        if (r->known[order[i]])
            mux_end(r->mux, r->streams[order[i]]);
    mux_finish(r->mux);
}

void remote_stdio_add_size(struct buf *sizes, const char *data, size_t len)
{
    buf_add(sizes, data, len);
    if (sizes->failed)
        buf_clear(sizes);
}

bool remote_stdio_next_size(struct buf *sizes, unsigned *columns, unsigned *rows)
{
    const char *end = sizes->len > 0 ? memchr(sizes->data, '}', sizes->len) : NULL;
    struct arena a = ARENA_INIT(65536);
    const struct json *v;
    size_t len;

    if (!end)
        return false;
    len = (size_t)(end - sizes->data) + 1;
    v = json_parse(&a, sizes->data, len, NULL);
    *columns = (unsigned)json_get_int(v, "Width", 0);
    *rows = (unsigned)json_get_int(v, "Height", 0);
    arena_release(&a);
    buf_consume(sizes, len);
    return true;
}

void remote_stdio_finish(struct remote_stdio *r, int exit_code)
{
    struct arena a = ARENA_INIT(STATUS_LIMIT_BYTES);
    struct json *status = json_new_object(&a), *cause;

    (void)json_make_object(&a, status, "metadata");
    json_set_string(&a, status, "status", exit_code ? "Failure" : "Success");
    if (exit_code) {
        json_set_stringf(&a, status, "message",
                         "command terminated with non-zero exit code: exit code %d", exit_code);
        json_set_string(&a, status, "reason", "NonZeroExitCode");
        cause = json_append(json_make_array(&a, json_make_object(&a, status, "details"), "causes"),
                            json_new_object(&a));
        json_set_string(&a, cause, "reason", "ExitCode");
        json_set_stringf(&a, cause, "message", "%d", exit_code);
    }
    finish(r, status);
    arena_release(&a);
}

void remote_stdio_fail(struct remote_stdio *r, const struct err *err)
{
    struct arena a = ARENA_INIT(2 * STATUS_LIMIT_BYTES);

    finish(r, status_from_err(&a, err, NULL, NULL));
    arena_release(&a);
}
