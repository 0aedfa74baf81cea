/*
 * exec.c - runs a command in a container and connects its streams with the client's.
 *
 * Nothing is buffered without bound: while the command does not read its input the connection is
 * paused, and while the client does not read, neither is the command's output.
 */
#include "runtime/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "door/door_internal.h"
#include "door/remote_stdio.h"

#define INPUT_LIMIT_BYTES (1024u * 1024u) /* many times one read of the connection */
#define OUTPUT_READ_BYTES (64u * 1024u)
#define REQUEST_LIMIT_BYTES (256u * 1024u)
/* kubectl sends the terminal's size at once, but only after the upgrade. */
#define SIZE_WAIT_MS 200
/* How long the output of a finished command may stay open and silent, held by processes it left
 * behind. */
#define DRAIN_MS 500

struct session_output {
    struct loop_fd *watch;
    bool open, waiting; /* waiting: for room */
};

struct exec_session {
    struct remote_stdio remote;
    struct door *door;
    struct arena arena; /* for what follows */
    struct node_command command;
    const char *pod_uid;
    struct exec *exec;
    struct buf input;
    struct loop_fd *input_watch;
    bool input_ended, input_closed;
    struct session_output outputs[NODE_STREAMS];
    struct buf resize;
    struct clock_timer *timer; /* for the size, later for the last output */
    bool over, quiet;
    int exit_code;
};

static struct exec_session *self_of(struct remote_stdio *r)
{
    return container_of(r, struct exec_session, remote);
}

static struct clock *clock_of(const struct exec_session *s)
{
    return loop_clock(s->remote.loop);
}

static void set_timer(struct exec_session *s, int64_t delay_ms, void (*fn)(void *arg))
{
    clock_stop(clock_of(s), s->timer);
    s->timer = clock_start(clock_of(s), delay_ms, fn, s);
}

/* --- ending ---------------------------------------------------------------------------- */

static void stop_streams(struct exec_session *s)
{
    loop_fd_stop(s->input_watch);
    s->input_watch = NULL;
    for (int i = 0; i < NODE_STREAMS; i++) {
        loop_fd_stop(s->outputs[i].watch);
        s->outputs[i] = (struct session_output){.open = false};
    }
    clock_stop(clock_of(s), s->timer);
    s->timer = NULL;
    exec_free(s->exec);
    s->exec = NULL;
}

static void free_exec(struct remote_stdio *r)
{
    struct exec_session *s = self_of(r);

    stop_streams(s);
    remote_stdio_release(r);
    buf_release(&s->input);
    buf_release(&s->resize);
    arena_release(&s->arena);
    free(s);
}

static void on_quiet(void *arg);

/* The result comes after all of the output. */
static void check_over(struct exec_session *s)
{
    int code = s->exit_code;

    if (!s->over || !s->exec)
        return;
    if ((s->outputs[NODE_STDOUT].open || s->outputs[NODE_STDERR].open) && !s->quiet) {
        set_timer(s, DRAIN_MS, on_quiet);
        return;
    }
    stop_streams(s);
    mux_pause(s->remote.mux, MUX_READING); /* further input is dropped, so that the end is
                                            * noticed */
    remote_stdio_finish(&s->remote, code);
}

static void on_quiet(void *arg)
{
    struct exec_session *s = arg;

    s->timer = NULL;
    s->quiet = remote_stdio_has_room(&s->remote); /* a slow client is waited for */
    check_over(s);
}

static void on_ended(void *arg, const struct exec_end *end)
{
    struct exec_session *s = arg;

    s->over = true;
    s->exit_code = end->exit_code;
    if (*end->message) {
        enum remote_stdio_role role = s->remote.wanted[REMOTE_STDERR] ? REMOTE_STDERR
                                                                      : REMOTE_STDOUT;

        remote_stdio_send(&s->remote, role, end->message, strlen(end->message));
        remote_stdio_send(&s->remote, role, s->command.tty ? "\r\n" : "\n", s->command.tty ? 2 : 1);
    }
    check_over(s);
}

/* --- output ---------------------------------------------------------------------------- */

static void close_output(struct exec_session *s, enum node_stream stream)
{
    loop_fd_stop(s->outputs[stream].watch);
    s->outputs[stream] = (struct session_output){.open = false};
    check_over(s);
}

static void read_output(struct exec_session *s, enum node_stream stream)
{
    static char bytes[OUTPUT_READ_BYTES]; /* one thread, never kept between calls */
    struct session_output *o = &s->outputs[stream];
    ssize_t n;

    if (!remote_stdio_has_room(&s->remote)) {
        o->waiting = loop_fd_change(o->watch, 0) == 0;
        return;
    }
    n = read(exec_fd(s->exec, stream), bytes, sizeof(bytes));
    if (n > 0) {
        remote_stdio_send(&s->remote, (enum remote_stdio_role)stream, bytes, (size_t)n);
        check_over(s); /* not quiet: the wait starts over */
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_output(s, stream); /* EIO: the terminal is closed */
    }
}

static void on_stdout(void *arg, unsigned events)
{
    (void)events;
    read_output(arg, NODE_STDOUT);
}

static void on_stderr(void *arg, unsigned events)
{
    (void)events;
    read_output(arg, NODE_STDERR);
}

static void drained(struct remote_stdio *r)
{
    struct exec_session *s = self_of(r);

    for (int i = NODE_STDOUT; i < NODE_STREAMS; i++)
        if (s->outputs[i].waiting)
            s->outputs[i].waiting = loop_fd_change(s->outputs[i].watch, LOOP_READABLE) != 0;
}

/* --- input ----------------------------------------------------------------------------- */

static void pump_input(struct exec_session *s);

static void on_input_room(void *arg, unsigned events)
{
    (void)events;
    pump_input(arg);
}

static void drop_input(struct exec_session *s)
{
    buf_clear(&s->input);
    loop_fd_stop(s->input_watch);
    s->input_watch = NULL;
    if (!s->input_closed)
        exec_close_stdin(s->exec);
    s->input_closed = true;
}

/* Writes what the command accepts; pauses the client for the rest. */
static void pump_input(struct exec_session *s)
{
    int fd = s->exec ? exec_fd(s->exec, NODE_STDIN) : -1;

    while (fd >= 0 && s->input.len > 0) {
        ssize_t n = write(fd, s->input.data, s->input.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            drop_input(s); /* EPIPE: it reads no more */
        if (n <= 0)
            break;
        buf_consume(&s->input, (size_t)n);
    }
    if (s->exec && s->input.len == 0 && s->input_ended && !s->input_closed)
        drop_input(s);
    if (s->input.len > 0 && fd >= 0 && !s->input_watch && !s->input_closed)
        s->input_watch = loop_fd_watch(s->remote.loop, fd, LOOP_WRITABLE, on_input_room, s);
    if (s->input.len == 0) {
        loop_fd_stop(s->input_watch);
        s->input_watch = NULL;
    }
    mux_pause(s->remote.mux, s->input.len > 0 ? MUX_PAUSED : MUX_READING);
}

static void take_sizes(struct exec_session *s)
{
    unsigned columns, rows;

    while (remote_stdio_next_size(&s->resize, &columns, &rows))
        exec_resize(s->exec, columns, rows);
}

static void begin(struct exec_session *s);

static void data(struct remote_stdio *r, enum remote_stdio_role role, const char *bytes, size_t len)
{
    struct exec_session *s = self_of(r);

    if (role == REMOTE_STDIN && !s->input_closed && !s->over) {
        buf_add(&s->input, bytes, len);
        if (s->exec)
            pump_input(s);
        else
            mux_pause(r->mux, MUX_PAUSED);
    } else if (role == REMOTE_RESIZE) {
        remote_stdio_add_size(&s->resize, bytes, len);
        if (s->exec)
            take_sizes(s);
        else if (s->timer)
            begin(s);
    }
}

static void ended(struct remote_stdio *r, enum remote_stdio_role role)
{
    struct exec_session *s = self_of(r);

    if (role != REMOTE_STDIN)
        return;
    s->input_ended = true;
    if (s->exec)
        pump_input(s);
}

/* --- starting -------------------------------------------------------------------------- */

static bool watch_outputs(struct exec_session *s)
{
    static void (*const readers[NODE_STREAMS])(void *, unsigned) = {
        [NODE_STDOUT] = on_stdout, [NODE_STDERR] = on_stderr};

    for (int i = NODE_STDOUT; i < NODE_STREAMS; i++) {
        int fd = exec_fd(s->exec, (enum node_stream)i);

        if (fd < 0)
            continue;
        s->outputs[i].open = true;
        s->outputs[i].watch = loop_fd_watch(s->remote.loop, fd, LOOP_READABLE, readers[i], s);
        if (!s->outputs[i].watch)
            return false;
    }
    return true;
}

static void begin(struct exec_session *s)
{
    auto_err err = ERR_INIT;

    clock_stop(clock_of(s), s->timer);
    s->timer = NULL;
    s->exec = exec_start(s->door->exec_host, s->door->pod_root, s->pod_uid, &s->command, on_ended,
                         s, &err);
    if (s->exec && !watch_outputs(s))
        (void)door_out_of_memory(&err);
    if (err_is_set(&err)) {
        stop_streams(s);
        remote_stdio_fail(&s->remote, &err);
        return;
    }
    take_sizes(s);
    pump_input(s);
}

static void on_no_size(void *arg)
{
    struct exec_session *s = arg;

    s->timer = NULL;
    begin(s);
}

static void ready(struct remote_stdio *r)
{
    struct exec_session *s = self_of(r);

    if (s->command.tty && s->resize.len == 0)
        set_timer(s, SIZE_WAIT_MS, on_no_size);
    if (!s->timer)
        begin(s);
}

static const struct remote_stdio_ops exec_ops = {
    .ready = ready, .data = data, .ended = ended, .drained = drained, .free = free_exec};

/* --- the request ----------------------------------------------------------------------- */

static bool keep(struct exec_session *s, const struct node_pod *pod, const struct node_command *c)
{
    size_t n = 0;
    const char **argv;

    while (c->argv[n])
        n++;
    argv = arena_alloc(&s->arena, (n + 1) * sizeof(*argv)); /* zeroed */
    for (size_t i = 0; argv && i < n; i++)
        argv[i] = arena_strdup(&s->arena, c->argv[i]);
    s->command = *c;
    s->command.argv = argv;
    s->command.container = arena_strdup(&s->arena, c->container);
    s->pod_uid = arena_strdup(&s->arena, door_uid(s->door, &s->arena, pod, c->container));
    return !arena_failed(&s->arena);
}

int door_exec(struct node *n, const struct node_pod *pod, const struct node_command *c,
              struct node_session **ret, struct err *err)
{
    struct door *d = door_of(n);
    struct exec_session *s;
    int rc = door_check_runs(d, pod, c->container, err);

    if (rc < 0)
        return rc;
    if (!d->exec_host)
        d->exec_host = exec_host_new(d->loop, NULL, err);
    if (!d->exec_host)
        return -1;
    s = calloc(1, sizeof(*s));
    if (!s)
        return door_out_of_memory(err);
    s->door = d;
    arena_init(&s->arena, REQUEST_LIMIT_BYTES);
    buf_init(&s->input, INPUT_LIMIT_BYTES);
    buf_init(&s->resize, REMOTE_SIZES_LIMIT_BYTES);
    remote_stdio_init(&s->remote, d->loop, c, &exec_ops);
    if (!keep(s, pod, c)) {
        free_exec(&s->remote);
        return door_out_of_memory(err);
    }
    *ret = &s->remote.session;
    return 0;
}
