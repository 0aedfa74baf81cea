/*
 * forward.c - port-forward: each connection of the client is two streams, one for data and one for
 * errors, and one connection of ours to the port, on which a process of that pod must listen
 * (runtime/pod_dial.h).
 *
 * Over WebSocket channels the ports are in the request, one connection each. Channels are numbered
 * from 0, but stream 0 means none here, so one is added to their numbers.
 *
 * Streams have no flow control of their own: one that does not take its data blocks the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "door/door_internal.h"
#include "loop/file.h"
#include "net/mux.h"
#include "runtime/pod_dial.h"
#include "runtime/pod_port.h"

#define PAIR_LIMIT 256u
#define INPUT_LIMIT_BYTES (1024u * 1024u) /* many times one read of the connection */
#define READ_BYTES (64u * 1024u)
#define REQUEST_ID_SIZE 64

/* One forwarded connection. */
struct pair {
    struct pair *prev, *next;
    struct forward *forward;
    char request_id[REQUEST_ID_SIZE];
    unsigned port;
    uint32_t error, data;  /* streams; 0: not opened yet */
    struct pod_dial *dial; /* while it connects */
    int fd;                /* -1: not connected */
    struct loop_fd *watch;
    unsigned watched;
    struct buf input;             /* for the port */
    bool input_ended, input_over; /* by the client; passed on to the port */
    bool output_over;
};

struct forward {
    struct node_session session;
    struct door *door;
    struct mux *mux;
    uint32_t first; /* offset between stream numbers here and in the mux */
    char *ns, *name, *uid;
    struct node_ports ports;
    struct pair *pairs;
    size_t pair_count;
};

/* --- one connection -------------------------------------------------------------------- */

static void update_pause(struct forward *f)
{
    bool blocked = false;

    /* A pair without both streams must not pause reading: the other one is still to come. */
    for (const struct pair *p = f->pairs; p; p = p->next)
        blocked = blocked || ((p->fd >= 0 || p->dial) && p->input.len > 0);
    mux_pause(f->mux, blocked ? MUX_PAUSED : MUX_READING);
}

static void pair_free(struct pair *p)
{
    struct forward *f = p->forward;

    list_remove(&f->pairs, p);
    f->pair_count--;
    pod_dial_cancel(p->dial);
    loop_fd_stop(p->watch);
    file_close(&p->fd);
    buf_release(&p->input);
    free(p);
}

/* Closes both streams from our side, and frees it. Channels cannot be closed alone: the connection
 * ends with the last of them. */
static void pair_end(struct pair *p)
{
    struct forward *f = p->forward;

    if (p->error)
        mux_end(f->mux, p->error - f->first);
    if (p->data)
        mux_end(f->mux, p->data - f->first);
    pair_free(p);
    update_pause(f);
    if (f->first && !f->pairs)
        mux_finish(f->mux);
}

static void pair_fail(struct pair *p, const char *what, const char *why)
{
    struct forward *f = p->forward;
    char text[1024];

    (void)snprintf(text, sizeof(text), "error forwarding port %u to pod %s/%s: %s: %s", p->port,
                   f->ns, f->name, what, why);
    if (p->error)
        mux_send(f->mux, p->error - f->first, text, strlen(text));
    pair_end(p);
}

static void update_watch(struct pair *p)
{
    unsigned events = 0;

    if (p->input.len > 0)
        events |= LOOP_WRITABLE;
    if (!p->output_over && mux_has_room(p->forward->mux))
        events |= LOOP_READABLE;
    if (p->watch && events != p->watched && loop_fd_change(p->watch, events) == 0)
        p->watched = events;
}

/* False when the port is gone, and the pair with it. */
static bool pump_input(struct pair *p)
{
    while (p->input.len > 0 && p->fd >= 0) {
        ssize_t n = send(p->fd, p->input.data, p->input.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            pair_fail(p, "write", strerror(errno));
            return false;
        }
        buf_consume(&p->input, (size_t)n);
    }
    if (p->input.len == 0 && p->input_ended && !p->input_over && p->fd >= 0) {
        p->input_over = true;
        (void)shutdown(p->fd, SHUT_WR);
    }
    update_pause(p->forward);
    return true;
}

/* One read. False when the pair is gone. */
static bool read_output(struct pair *p)
{
    static char bytes[READ_BYTES]; /* one thread, never kept between calls */
    ssize_t n;

    if (!mux_has_room(p->forward->mux))
        return true;
    n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) {
        mux_send(p->forward->mux, p->data - p->forward->first, bytes, (size_t)n);
    } else if (n == 0) {
        p->output_over = true;
        if (p->forward->first) { /* the client cannot be told otherwise */
            pair_end(p);
            return false;
        }
        mux_end(p->forward->mux, p->data);
    } else if (errno != EAGAIN && errno != EINTR) {
        pair_fail(p, "read", strerror(errno));
        return false;
    }
    return true;
}

static void on_port(void *arg, unsigned events)
{
    struct pair *p = arg;

    if (!pump_input(p))
        return;
    if (events & (LOOP_READABLE | LOOP_HANGUP) && !p->output_over && !read_output(p))
        return;
    if (p->output_over && p->input_over)
        pair_end(p);
    else
        update_watch(p);
}

static void on_dialled(void *arg, int fd, const char *token)
{
    struct pair *p = arg;

    (void)token; /* a forwarding client has its own */
    p->dial = NULL;
    if (fd < 0) {
        pair_fail(p, "connect", fd == -ENOENT ? "the pod does not run" : pod_port_problem(fd));
        return;
    }
    p->fd = fd;
    p->watched = LOOP_READABLE | LOOP_WRITABLE;
    p->watch = loop_fd_watch(p->forward->door->loop, fd, p->watched, on_port, p);
    if (!p->watch)
        pair_fail(p, "connect", strerror(ENOMEM));
    else if (pump_input(p))
        update_watch(p);
}

static void pair_connect(struct pair *p)
{
    const struct forward *f = p->forward;
    const struct node_pod pod = {f->ns, f->name, f->uid};

    p->dial = pod_dial_start(f->door->loop, f->door->pod_root, &pod, p->port, false, on_dialled, p);
    if (!p->dial)
        pair_fail(p, "connect", strerror(ENOMEM));
}

/* --- the client's events --------------------------------------------------------------- */

static const char *header(const struct spdy_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(headers[i].name, name) == 0)
            return headers[i].value;
    return "";
}

static struct pair *find_request(const struct forward *f, const char *id)
{
    for (struct pair *p = f->pairs; p; p = p->next)
        if (strcmp(p->request_id, id) == 0 && (!p->data || !p->error))
            return p;
    return NULL;
}

static struct pair *pair_new(struct forward *f, const char *id, unsigned port)
{
    struct pair *p = f->pair_count < PAIR_LIMIT ? calloc(1, sizeof(*p)) : NULL;

    if (!p)
        return NULL;
    *p = (struct pair){.forward = f, .port = port, .fd = -1};
    (void)snprintf(p->request_id, sizeof(p->request_id), "%s", id);
    buf_init(&p->input, INPUT_LIMIT_BYTES);
    list_push(&f->pairs, p);
    f->pair_count++;
    return p;
}

static void on_opened(void *arg, uint32_t stream, const struct spdy_header *headers, size_t count)
{
    struct forward *f = arg;
    const char *type = header(headers, count, "streamtype");
    const char *id = header(headers, count, "requestid");
    unsigned long port = strtoul(header(headers, count, "port"), NULL, 10);
    bool is_error = strcmp(type, "error") == 0;
    struct pair *p = strlen(id) < REQUEST_ID_SIZE ? find_request(f, id) : NULL;

    if (!p && port > 0 && port <= 65535 && strlen(id) < REQUEST_ID_SIZE)
        p = pair_new(f, id, (unsigned)port);
    if (!p || (!is_error && strcmp(type, "data") != 0) || (is_error ? p->error : p->data)) {
        mux_end(f->mux, stream);
        return;
    }
    if (is_error)
        p->error = stream;
    else
        p->data = stream;
    if (p->error && p->data)
        pair_connect(p);
}

static struct pair *find_data(const struct forward *f, uint32_t stream)
{
    for (struct pair *p = f->pairs; p; p = p->next)
        if (p->data == stream + f->first)
            return p;
    return NULL;
}

static void on_data(void *arg, uint32_t stream, const char *data, size_t len)
{
    struct pair *p = find_data(arg, stream);

    if (!p || p->input_ended)
        return;
    buf_add(&p->input, data, len);
    if (p->input.failed)
        pair_fail(p, "write", strerror(ENOMEM));
    else if (pump_input(p))
        update_watch(p);
}

static void on_ended(void *arg, uint32_t stream, enum spdy_end how)
{
    struct pair *p = find_data(arg, stream);

    if (!p)
        return; /* the error stream, which the client closes at once */
    p->input_ended = true;
    if (how == SPDY_RESET || (p->fd >= 0 && pump_input(p) && p->output_over && p->input_over))
        pair_end(p);
}

static void on_drained(void *arg)
{
    struct forward *f = arg;

    for (struct pair *p = f->pairs; p; p = p->next)
        update_watch(p);
}

/* --- life ------------------------------------------------------------------------------ */

static struct forward *self_of(struct node_session *s)
{
    return container_of(s, struct forward, session);
}

static void free_forward(struct node_session *s)
{
    struct forward *f = self_of(s);

    for (struct pair *p = f->pairs, *next; p; p = next) {
        next = p->next;
        pair_free(p);
    }
    mux_free(f->mux);
    free(f->ns);
    free(f->name);
    free(f->uid);
    free(f);
}

static void on_closed(void *arg)
{
    struct forward *f = arg;

    f->session.on_over(f->session.on_over_arg);
}

static const struct mux_handler events = {.opened = on_opened,
                                          .data = on_data,
                                          .ended = on_ended,
                                          .drained = on_drained,
                                          .closed = on_closed};

/* The first message of a channel is its port, the low byte first. */
static void announce(struct pair *p)
{
    const unsigned char port[] = {(unsigned char)p->port, (unsigned char)(p->port >> 8)};
    const struct forward *f = p->forward;

    mux_send(f->mux, p->data - f->first, port, sizeof(port));
    mux_send(f->mux, p->error - f->first, port, sizeof(port));
    pair_connect(p);
}

static int begin(struct node_session *s, int fd, const char *early, size_t early_len,
                 enum mux_kind kind)
{
    struct forward *f = self_of(s);

    f->mux = mux_new(f->door->loop, fd, early, early_len, kind, &events, f);
    if (!f->mux)
        return -ENOMEM;
    f->first = kind == MUX_CHANNELS;
    for (uint32_t i = 0; f->first && i < f->ports.count; i++) {
        struct pair *p = pair_new(f, "", f->ports.all[i]);

        if (!p)
            return -ENOMEM;
        p->data = 2 * i + f->first;
        p->error = p->data + 1;
        announce(p);
    }
    return 0;
}

static const struct node_session_ops forward_ops = {.begin = begin, .free = free_forward};

int door_forward(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                 enum mux_kind kind, struct node_session **ret, struct err *err)
{
    struct forward *f;

    if (kind == MUX_CHANNELS && !ports->count)
        return err_set(err, ERR_BAD_REQUEST, "query parameter \"ports\" is required");
    f = calloc(1, sizeof(*f));
    if (!f)
        return door_out_of_memory(err);
    f->session.ops = &forward_ops;
    f->door = door_of(n);
    f->ports = *ports;
    f->ns = strdup(pod->ns);
    f->name = strdup(pod->name);
    f->uid = strdup(pod->uid);
    if (!f->ns || !f->name || !f->uid) {
        free_forward(&f->session);
        return door_out_of_memory(err);
    }
    *ret = &f->session;
    return 0;
}
