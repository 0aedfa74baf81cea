/*
 * attach.c - the output of a running container from now on, until it ends, and its standard input
 * if it has one. The output comes from the container's log, so both streams are sent as standard
 * output; only a terminal's comes from its console (runtime/console.h), as it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "door/door_internal.h"
#include "door/remote_stdio.h"
#include "loop/file.h"
#include "runtime/console.h"
#include "runtime/podfolder.h"

#define READ_BYTES (64u * 1024u)
#define INPUT_LIMIT_BYTES (1024u * 1024u) /* many times one read of the connection */

struct attach_session {
    struct remote_stdio remote;
    struct stream *log; /* NULL when it has ended, or for a terminal */
    struct loop_wake *wake;
    int console; /* or -1 */
    struct loop_fd *watch;
    bool terminal, waiting; /* waiting: for the client to take what it was sent */
    struct buf input, sizes;
    bool input_ended;
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
    loop_fd_stop(s->watch);
    file_close(&s->console);
    buf_release(&s->input);
    buf_release(&s->sizes);
    remote_stdio_release(r);
    free(s);
}

/* --- the console ------------------------------------------------------------------------------ */

static void watch_console(struct attach_session *s)
{
    unsigned events = (s->waiting ? 0 : LOOP_READABLE) |
                      (s->input.len > 0 || s->input_ended ? LOOP_WRITABLE : 0);

    if (s->watch && loop_fd_change(s->watch, events) != 0)
        remote_stdio_finish(&s->remote, 0);
}

static bool send_packet(const struct attach_session *s, char type, const void *data, size_t len)
{
    char packet[CONSOLE_PACKET_BYTES];

    packet[0] = type;
    if (len > 0)
        memcpy(packet + 1, data, len);
    return send(s->console, packet, len + 1, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* Sends what the console takes; pauses the client for the rest. */
static void pump_input(struct attach_session *s)
{
    while (s->console >= 0 && s->input.len > 0) {
        size_t len = min_size(s->input.len, CONSOLE_PACKET_BYTES - 1);

        if (!send_packet(s, CONSOLE_INPUT, s->input.data, len))
            break;
        buf_consume(&s->input, len);
    }
    if (s->console >= 0 && s->input.len == 0 && s->input_ended)
        s->input_ended = !send_packet(s, CONSOLE_END, NULL, 0);
    if (s->remote.mux)
        mux_pause(s->remote.mux, s->input.len > 0 ? MUX_PAUSED : MUX_READING);
    watch_console(s);
}

static void take_sizes(struct attach_session *s)
{
    unsigned columns, rows;

    while (s->console >= 0 && remote_stdio_next_size(&s->sizes, &columns, &rows)) {
        const struct console_size size = {(uint16_t)columns, (uint16_t)rows};

        (void)send_packet(s, CONSOLE_SIZE, &size, sizeof(size));
    }
}

/* The program has ended, or its supervisor. */
static void close_console(struct attach_session *s)
{
    loop_fd_stop(s->watch);
    s->watch = NULL;
    file_close(&s->console);
    buf_clear(&s->input);
    if (s->terminal)
        remote_stdio_finish(&s->remote, 0);
}

static void on_console(void *arg, unsigned events)
{
    struct attach_session *s = arg;
    char packet[CONSOLE_PACKET_BYTES];
    ssize_t n;

    if (events & LOOP_WRITABLE)
        pump_input(s);
    if (!s->remote.is_ready || s->console < 0)
        return;
    if (!remote_stdio_has_room(&s->remote)) {
        s->waiting = true;
        watch_console(s);
        return;
    }
    n = recv(s->console, packet, sizeof(packet), MSG_DONTWAIT);
    if (n > 0)
        remote_stdio_send(&s->remote, REMOTE_STDOUT, packet, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_console(s);
}

/* --- the log ---------------------------------------------------------------------------------- */

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

/* --- the client ------------------------------------------------------------------------------- */

static void ready(struct remote_stdio *r)
{
    struct attach_session *s = self_of(r);

    if (s->wake)
        loop_wake_send(s->wake);
    if (s->console >= 0 && !s->watch) {
        s->watch = loop_fd_watch(r->loop, s->console, LOOP_READABLE, on_console, s);
        take_sizes(s);
        pump_input(s);
    } else if (s->waiting) {
        s->waiting = false;
        watch_console(s);
    }
}

static void data(struct remote_stdio *r, enum remote_stdio_role role, const char *bytes, size_t len)
{
    struct attach_session *s = self_of(r);

    if (role == REMOTE_STDIN && s->console >= 0) {
        buf_add(&s->input, bytes, len);
        pump_input(s);
    } else if (role == REMOTE_RESIZE) {
        remote_stdio_add_size(&s->sizes, bytes, len);
        if (r->is_ready)
            take_sizes(s);
    }
}

static void ended(struct remote_stdio *r, enum remote_stdio_role role)
{
    struct attach_session *s = self_of(r);

    if (role != REMOTE_STDIN || s->console < 0)
        return;
    s->input_ended = true;
    pump_input(s);
}

static const struct remote_stdio_ops attach_ops = {
    .ready = ready, .data = data, .ended = ended, .drained = ready, .free = free_attach};

/* By the pod's spec, not by what the client asks for: output must not be sent twice. */
static bool has_terminal(const struct door *d, struct arena *a, const char *uid,
                         const char *container)
{
    const char *path = arena_printf(a, "%s/%s", d->pod_root, uid);
    int dir_fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const struct json *run = dir_fd >= 0 ? pod_file_read_json(dir_fd, POD_FILE_RUN, a, NULL) : NULL;

    file_close(&dir_fd);
    json_each (c, json_get(run, "containers"))
        if (json_string_is(json_get(c, "name"), container))
            return json_get_bool(c, "tty", false);
    return false;
}

/* A container with neither input nor terminal has no console. Who only looks on without a terminal
 * reads the log: a console has one client. */
static int open_console(const struct door *d, const struct node_pod *pod,
                        const struct node_command *c, struct attach_session *s, struct err *err)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const char *uid = door_uid(d, &a, pod, c->container);
    bool terminal = uid && has_terminal(d, &a, uid, c->container);
    int rc = 0;

    if (c->wanted[NODE_STDIN] || (c->tty && terminal))
        s->console = uid ? console_connect(d->pod_root, uid, c->container) : -ENOMEM;
    arena_release(&a);
    s->terminal = terminal && s->console >= 0;
    if (c->wanted[NODE_STDIN] && s->console < 0)
        rc = err_set(err, ERR_BAD_REQUEST,
                     "container \"%s\" has no standard input to attach to: leave out -i, or use "
                     "exec",
                     c->container);
    return rc;
}

int door_attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                struct node_session **ret, struct err *err)
{
    static const struct node_log_options from_now = {
        .follow = true, .tail_lines = 0, .limit_bytes = -1, .attempt = NODE_ANY_ATTEMPT};
    struct door *d = door_of(n);
    struct attach_session *s;
    int rc = door_check_runs(d, pod, c->container, err);

    if (rc < 0)
        return rc;
    s = calloc(1, sizeof(*s));
    if (!s)
        return door_out_of_memory(err);
    s->console = -1;
    buf_init(&s->input, INPUT_LIMIT_BYTES);
    buf_init(&s->sizes, REMOTE_SIZES_LIMIT_BYTES);
    remote_stdio_init(&s->remote, d->loop, c, &attach_ops);
    rc = open_console(d, pod, c, s, err);
    if (rc == 0 && !s->terminal) {
        s->wake = loop_wake_new(d->loop, send_log, s);
        rc = s->wake ? door_open_log(n, pod, c->container, &from_now, &s->log, err)
                     : door_out_of_memory(err);
    }
    if (rc < 0) {
        free_attach(&s->remote);
        return rc;
    }
    if (s->log) {
        s->log->on_ready = log_ready;
        s->log->on_ready_arg = s;
    }
    *ret = &s->remote.session;
    return 0;
}
