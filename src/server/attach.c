/*
 * attach.c - pods/NAME/attach: what a running container prints from now on, until it ends. It comes
 * from the container's log, so both of its streams come as standard output; programs in pods have
 * no standard input, and who asks for one is told.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/exec.h"
#include "runtime/podlog.h"
#include "server/remote.h"

#define READ_BYTES (64u * 1024u)

struct attach_session {
    struct remote remote;
    struct stream *log; /* NULL when it has ended */
    struct loop_wake *wake;
};

static struct attach_session *self_of(struct remote *r)
{
    return container_of(r, struct attach_session, remote);
}

static void close_log(struct attach_session *s)
{
    if (s->log)
        s->log->ops->close(s->log);
    s->log = NULL;
}

static void free_attach(struct remote *r)
{
    struct attach_session *s = self_of(r);

    close_log(s);
    if (s->wake)
        loop_wake_free(s->wake);
    remote_release(r);
    free(s);
}

/* On the loop, never from inside the log's own calls. */
static void send_log(void *arg)
{
    static char bytes[READ_BYTES]; /* one thread, and never kept */
    struct attach_session *s = arg;
    ssize_t n = 0;

    if (!s->remote.is_ready)
        return;
    while (s->log && remote_has_room(&s->remote)) {
        n = s->log->ops->read(s->log, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        remote_send(&s->remote, REMOTE_STDOUT, bytes, (size_t)n);
    }
    if (s->log && n == STREAM_END) {
        close_log(s);
        remote_finish(&s->remote, 0);
    }
}

static void log_ready(void *arg)
{
    struct attach_session *s = arg;

    loop_wake_send(s->wake);
}

static void ready(struct remote *r)
{
    loop_wake_send(self_of(r)->wake);
}

static void ignore_data(struct remote *r, enum remote_role role, const char *data, size_t len)
{
    (void)r, (void)role, (void)data, (void)len;
}

static void ignore_end(struct remote *r, enum remote_role role)
{
    (void)r, (void)role;
}

static const struct remote_ops attach_ops = {.ready = ready,
                                             .data = ignore_data,
                                             .ended = ignore_end,
                                             .drained = ready,
                                             .free = free_attach};

static int open_log(struct server_request *r, struct attach_session *s, struct err *err)
{
    struct podlog_options options = {.follow = true, .tail_lines = 0, .limit_bytes = -1};
    const struct store_item *item;
    const char *key, *container, *root;
    const struct json *pod = request_load(r, &key, &item, err);

    if (!pod || pod_choose_container(r, pod, &container, err) < 0)
        return -1;
    if (s->remote.wanted[REMOTE_STDIN])
        return err_set(err, ERR_BAD_REQUEST,
                       "container \"%s\" has no standard input to attach to: leave out -i, or use "
                       "exec",
                       container);
    root = pod_root(r, pod, err);
    if (!root || exec_check(root, object_uid(pod), container, err) < 0)
        return -1;
    return podlog_open(r->server->loop, root, object_uid(pod), container, &options, &s->log, err);
}

int verb_attach(struct server_request *r, struct err *err)
{
    struct attach_session *s = calloc(1, sizeof(*s));
    bool tty;
    int rc;

    if (!s)
        return out_of_memory(err);
    rc = remote_wishes(r, &s->remote, &tty, err);
    if (rc == 0)
        rc = open_log(r, s, err);
    if (rc == 0) {
        s->wake = loop_wake_new(r->server->loop, send_log, s);
        rc = s->wake ? 0 : out_of_memory(err);
    }
    if (rc == 0) {
        s->log->on_ready = log_ready;
        s->log->on_ready_arg = s;
        rc = remote_open(r, &s->remote, &attach_ops, err);
    }
    if (rc < 0) {
        close_log(s);
        if (s->wake)
            loop_wake_free(s->wake);
        free(s);
    }
    return rc;
}
