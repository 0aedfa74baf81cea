/* remote.c - see remote.h. */
#include "server/remote.h"

#include <string.h>

#include "api/status.h"
#include "loop/file.h"
#include "server/upgrade.h"

#define STATUS_LIMIT_BYTES (64u * 1024u)

static const char *const role_names[REMOTE_ROLES] = {
    [REMOTE_STDIN] = "stdin", [REMOTE_STDOUT] = "stdout", [REMOTE_STDERR] = "stderr",
    [REMOTE_ERROR] = "error", [REMOTE_RESIZE] = "resize",
};

int remote_wishes(const struct server_request *q, struct remote *r, bool *ret_tty, struct err *err)
{
    bool tty = query_is_true(q, "tty");

    for (int i = REMOTE_STDIN; i <= REMOTE_STDERR; i++)
        r->wanted[i] = query_is_true(q, role_names[i]);
    if (!r->wanted[REMOTE_STDIN] && !r->wanted[REMOTE_STDOUT] && !r->wanted[REMOTE_STDERR])
        return err_set(err, ERR_BAD_REQUEST,
                       "you must specify at least 1 of stdin, stdout, stderr");
    if (tty && r->wanted[REMOTE_STDERR])
        return err_set(err, ERR_BAD_REQUEST, "tty and stderr cannot both be true");
    r->wanted[REMOTE_ERROR] = true;
    r->wanted[REMOTE_RESIZE] = tty;
    *ret_tty = tty;
    return 0;
}

/* --- the connection's events ----------------------------------------------------------- */

static void check_ready(struct remote *r)
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
    struct remote *r = arg;
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
    mux_end(r->mux, stream); /* nothing we know */
}

static bool role_of(const struct remote *r, uint32_t stream, enum remote_role *ret)
{
    for (int i = 0; i < REMOTE_ROLES; i++)
        if (r->known[i] && r->streams[i] == stream) {
            *ret = (enum remote_role)i;
            return true;
        }
    return false;
}

static void on_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct remote *r = arg;
    enum remote_role role;

    if (role_of(r, stream, &role))
        r->ops->data(r, role, data, len);
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    struct remote *r = arg;
    enum remote_role role;

    (void)how;
    if (role_of(r, stream, &role))
        r->ops->ended(r, role);
}

static void on_drained(void *arg)
{
    struct remote *r = arg;

    if (r->is_ready)
        r->ops->drained(r);
}

static void on_closed(void *arg)
{
    struct remote *r = arg;

    r->ops->free(r);
}

static const struct mux_handler events = {.opened = on_opened,
                                          .data = on_data,
                                          .ended = on_ended,
                                          .drained = on_drained,
                                          .closed = on_closed};

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct remote *r = arg;

    if (!session_opened(&r->session))
        file_close(&fd);
    if (fd >= 0)
        r->mux = mux_new(r->session.server->loop, fd, early, early_len, r->kind, &events, r);
    if (!r->mux) {
        r->ops->free(r);
        return;
    }
    if (r->kind != MUX_CHANNELS)
        return;
    for (int i = 0; i < REMOTE_ROLES; i++) {
        r->known[i] = r->wanted[i];
        r->streams[i] = (uint32_t)i;
    }
    check_ready(r);
}

/* --- life ------------------------------------------------------------------------------ */

static void free_session(struct session *s)
{
    struct remote *r = container_of(s, struct remote, session);

    r->ops->free(r);
}

int remote_open(struct server_request *q, struct remote *r, const struct remote_ops *ops,
                struct err *err)
{
    struct upgrade u;
    int rc = upgrade_negotiate(q, UPGRADE_REMOTE_COMMAND, &u, err);

    if (rc == 0)
        rc = session_add(q, &r->session, free_session, err);
    if (rc < 0)
        return rc;
    r->ops = ops;
    r->kind = u.kind;
    q->front->upgrade(q, u.headers, u.header_count, on_upgraded, r);
    return 0;
}

void remote_release(struct remote *r)
{
    mux_free(r->mux);
    session_remove(&r->session);
}

/* --- output ---------------------------------------------------------------------------- */

bool remote_has_room(const struct remote *r)
{
    return mux_has_room(r->mux);
}

void remote_send(struct remote *r, enum remote_role role, const void *data, size_t len)
{
    if (r->known[role])
        mux_send(r->mux, r->streams[role], data, len);
}

static void finish(struct remote *r, const struct json *status)
{
    static const enum remote_role order[] = {REMOTE_ERROR, REMOTE_STDOUT, REMOTE_STDERR};
    struct buf text = BUF_INIT(STATUS_LIMIT_BYTES);

    json_write(&text, status);
    if (!text.failed)
        remote_send(r, REMOTE_ERROR, text.data, text.len);
    buf_release(&text);
    for (size_t i = 0; i < ELEMS(order); i++)
        if (r->known[order[i]])
            mux_end(r->mux, r->streams[order[i]]);
    mux_finish(r->mux);
}

void remote_finish(struct remote *r, int exit_code)
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

void remote_fail(struct remote *r, const struct err *err)
{
    struct arena a = ARENA_INIT(2 * STATUS_LIMIT_BYTES);

    finish(r, status_from_err(&a, err, NULL, NULL));
    arena_release(&a);
}
