/*
 * attach.c - the output of a running container from now on, until it ends. It comes from the
 * container's log, so both streams are sent as standard output. Programs in pods have no standard
 * input; requesting it is an error.
 */
#include <stdlib.h>
#include <string.h>

#include "door/door_internal.h"
#include "door/remote_stdio.h"

#define READ_BYTES (64u * 1024u)

struct attach_session {
    struct remote_stdio remote;
    struct stream *log; /* NULL when it has ended */
    struct loop_wake *wake;
};

static struct attach_session *self_of(struct remote_stdio *r)
{
    return container_of(r, struct attach_session, remote);
}

static void close_log(struct attach_session *s)
{
    if (s->log)
        s->log->ops->close(s->log);
    s->log = NULL;
}

static void free_attach(struct remote_stdio *r)
{
    struct attach_session *s = self_of(r);

    close_log(s);
    if (s->wake)
        loop_wake_free(s->wake);
    remote_stdio_release(r);
    free(s);
}

/* On the loop, never from inside the log's own calls. */
static void send_log(void *arg)
{
    static char bytes[READ_BYTES]; /* one thread, never kept between calls */
    struct attach_session *s = arg;
    ssize_t n = 0;

    if (!s->remote.is_ready)
        return;
    while (s->log && remote_stdio_has_room(&s->remote)) {
        n = s->log->ops->read(s->log, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        remote_stdio_send(&s->remote, REMOTE_STDOUT, bytes, (size_t)n);
    }
    if (s->log && n == STREAM_END) {
        close_log(s);
        remote_stdio_finish(&s->remote, 0);
    }
}

static void log_ready(void *arg)
{
    struct attach_session *s = arg;

    loop_wake_send(s->wake);
}

static void ready(struct remote_stdio *r)
{
    loop_wake_send(self_of(r)->wake);
}

static void ignore_data(struct remote_stdio *r, enum remote_stdio_role role, const char *data,
                        size_t len)
{
    (void)r, (void)role, (void)data, (void)len;
}

static void ignore_end(struct remote_stdio *r, enum remote_stdio_role role)
{
    (void)r, (void)role;
}

static const struct remote_stdio_ops attach_ops = {.ready = ready,
                                                   .data = ignore_data,
                                                   .ended = ignore_end,
                                                   .drained = ready,
                                                   .free = free_attach};

int door_attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                struct node_session **ret, struct err *err)
{
    static const struct node_log_options from_now = {
        .follow = true, .tail_lines = 0, .limit_bytes = -1, .attempt = NODE_ANY_ATTEMPT};
    struct door *d = door_of(n);
    struct attach_session *s;
    int rc;

    if (c->wanted[NODE_STDIN])
        return err_set(err, ERR_BAD_REQUEST,
                       "container \"%s\" has no standard input to attach to: leave out -i, or use "
                       "exec",
                       c->container);
    rc = door_check_runs(d, pod, c->container, err);
    if (rc < 0)
        return rc;
    s = calloc(1, sizeof(*s));
    if (!s)
        return door_out_of_memory(err);
    remote_stdio_init(&s->remote, d->loop, c, &attach_ops);
    s->wake = loop_wake_new(d->loop, send_log, s);
    rc = s->wake ? door_open_log(n, pod, c->container, &from_now, &s->log, err)
                 : door_out_of_memory(err);
    if (rc < 0) {
        free_attach(&s->remote);
        return rc;
    }
    s->log->on_ready = log_ready;
    s->log->on_ready_arg = s;
    *ret = &s->remote.session;
    return 0;
}
