/*
 * exec.c - pods/NAME/exec: runs a command in a container and joins its streams with the client's.
 *
 * Nothing is kept that one side does not take: while the command does not read its input the
 * connection is paused, while the client does not read the command's output is not read. What is
 * wrong before the command runs is said before the upgrade, as a Status.
 */
#include "runtime/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/remote.h"

#define INPUT_LIMIT_BYTES (1024u * 1024u) /* one read of the connection fits many times */
#define OUTPUT_READ_BYTES (64u * 1024u)
#define RESIZE_LIMIT_BYTES 256u
#define ARGV_LIMIT 1000u
#define REQUEST_LIMIT_BYTES (256u * 1024u)
/* kubectl tells the terminal's size at once, but not before it can be told that we speak. */
#define SIZE_WAIT_MS 200
/* How long the output of a command that is over may stay open, and silent, in the hands of what it
 * left behind. */
#define DRAIN_MS 500

struct session_output {
    struct loop_fd *watch;
    bool open, waiting; /* waiting: for room */
};

struct exec_session {
    struct remote remote;
    struct arena arena; /* of request */
    struct exec_request request;
    struct exec *exec;
    struct buf input;
    struct loop_fd *input_watch;
    bool input_ended, input_closed;
    struct session_output outputs[EXEC_STREAMS];
    struct buf resize;
    struct clock_timer *timer; /* for the size, later for the last output */
    bool over, quiet;
    int exit_code;
};

static struct exec_session *self_of(struct remote *r)
{
    return container_of(r, struct exec_session, remote);
}

static struct clock *clock_of(const struct exec_session *s)
{
    return loop_clock(s->remote.session.server->loop);
}

static void set_timer(struct exec_session *s, int64_t delay_ms, void (*fn)(void *arg))
{
    clock_stop(clock_of(s), s->timer);
    s->timer = clock_start(clock_of(s), delay_ms, fn, s);
}

/* --- the end --------------------------------------------------------------------------- */

static void stop_streams(struct exec_session *s)
{
    loop_fd_stop(s->input_watch);
    s->input_watch = NULL;
    for (int i = 0; i < EXEC_STREAMS; i++) {
        loop_fd_stop(s->outputs[i].watch);
        s->outputs[i] = (struct session_output){.open = false};
    }
    clock_stop(clock_of(s), s->timer);
    s->timer = NULL;
    exec_free(s->exec);
    s->exec = NULL;
}

static void free_exec(struct remote *r)
{
    struct exec_session *s = self_of(r);

    stop_streams(s);
    remote_release(r);
    buf_release(&s->input);
    buf_release(&s->resize);
    arena_release(&s->arena);
    free(s);
}

static void on_quiet(void *arg);

/* The result follows the output, all of it. */
static void check_over(struct exec_session *s)
{
    int code = s->exit_code;

    if (!s->over || !s->exec)
        return;
    if ((s->outputs[EXEC_STDOUT].open || s->outputs[EXEC_STDERR].open) && !s->quiet) {
        set_timer(s, DRAIN_MS, on_quiet);
        return;
    }
    stop_streams(s);
    mux_pause(s->remote.mux, MUX_READING); /* what comes now is dropped, so that the end is seen */
    remote_finish(&s->remote, code);
}

static void on_quiet(void *arg)
{
    struct exec_session *s = arg;

    s->timer = NULL;
    s->quiet = remote_has_room(&s->remote); /* a client that is slow is waited for */
    check_over(s);
}

static void on_ended(void *arg, const struct exec_end *end)
{
    struct exec_session *s = arg;

    s->over = true;
    s->exit_code = end->exit_code;
    if (*end->message) {
        enum remote_role role = s->remote.wanted[REMOTE_STDERR] ? REMOTE_STDERR : REMOTE_STDOUT;

        remote_send(&s->remote, role, end->message, strlen(end->message));
        remote_send(&s->remote, role, s->request.tty ? "\r\n" : "\n", s->request.tty ? 2 : 1);
    }
    check_over(s);
}

/* --- output ---------------------------------------------------------------------------- */

static void close_output(struct exec_session *s, enum exec_stream stream)
{
    loop_fd_stop(s->outputs[stream].watch);
    s->outputs[stream] = (struct session_output){.open = false};
    check_over(s);
}

static void read_output(struct exec_session *s, enum exec_stream stream)
{
    static char bytes[OUTPUT_READ_BYTES]; /* one thread, and never kept */
    struct session_output *o = &s->outputs[stream];
    ssize_t n;

    if (!remote_has_room(&s->remote)) {
        o->waiting = loop_fd_change(o->watch, 0) == 0;
        return;
    }
    n = read(exec_fd(s->exec, stream), bytes, sizeof(bytes));
    if (n > 0) {
        remote_send(&s->remote, (enum remote_role)stream, bytes, (size_t)n);
        check_over(s); /* not quiet: the wait begins again */
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_output(s, stream); /* EIO: a terminal that nobody has open */
    }
}

static void on_stdout(void *arg, unsigned events)
{
    (void)events;
    read_output(arg, EXEC_STDOUT);
}

static void on_stderr(void *arg, unsigned events)
{
    (void)events;
    read_output(arg, EXEC_STDERR);
}

static void drained(struct remote *r)
{
    struct exec_session *s = self_of(r);

    for (int i = EXEC_STDOUT; i < EXEC_STREAMS; i++)
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

/* Writes what the command takes; pauses the client for the rest. */
static void pump_input(struct exec_session *s)
{
    int fd = s->exec ? exec_fd(s->exec, EXEC_STDIN) : -1;

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
        s->input_watch = loop_fd_watch(s->remote.session.server->loop, fd, LOOP_WRITABLE,
                                       on_input_room, s);
    if (s->input.len == 0) {
        loop_fd_stop(s->input_watch);
        s->input_watch = NULL;
    }
    mux_pause(s->remote.mux, s->input.len > 0 ? MUX_PAUSED : MUX_READING);
}

/* {"Width":100,"Height":40}, one per line; the line may come in pieces. */
static void take_sizes(struct exec_session *s)
{
    const char *end;

    while (s->resize.len > 0 && (end = memchr(s->resize.data, '\n', s->resize.len)) != NULL) {
        struct arena a = ARENA_INIT(65536);
        size_t len = (size_t)(end - s->resize.data);
        const struct json *v = json_parse(&a, s->resize.data, len, NULL);

        exec_resize(s->exec, (unsigned)json_get_int(v, "Width", 0),
                    (unsigned)json_get_int(v, "Height", 0));
        arena_release(&a);
        buf_consume(&s->resize, len + 1);
    }
}

static void begin(struct exec_session *s);

static void data(struct remote *r, enum remote_role role, const char *bytes, size_t len)
{
    struct exec_session *s = self_of(r);

    if (role == REMOTE_STDIN && !s->input_closed && !s->over) {
        buf_add(&s->input, bytes, len);
        if (s->exec)
            pump_input(s);
        else
            mux_pause(r->mux, MUX_PAUSED);
    } else if (role == REMOTE_RESIZE) {
        buf_add(&s->resize, bytes, len);
        if (s->resize.failed)
            buf_clear(&s->resize);
        if (s->exec)
            take_sizes(s);
        else if (s->timer)
            begin(s);
    }
}

static void ended(struct remote *r, enum remote_role role)
{
    struct exec_session *s = self_of(r);

    if (role != REMOTE_STDIN)
        return;
    s->input_ended = true;
    if (s->exec)
        pump_input(s);
}

/* --- the beginning --------------------------------------------------------------------- */

static bool watch_outputs(struct exec_session *s)
{
    static void (*const readers[EXEC_STREAMS])(void *, unsigned) = {
        [EXEC_STDOUT] = on_stdout, [EXEC_STDERR] = on_stderr};

    for (int i = EXEC_STDOUT; i < EXEC_STREAMS; i++) {
        int fd = exec_fd(s->exec, (enum exec_stream)i);

        if (fd < 0)
            continue;
        s->outputs[i].open = true;
        s->outputs[i].watch = loop_fd_watch(s->remote.session.server->loop, fd, LOOP_READABLE,
                                            readers[i], s);
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
    s->exec = exec_start(s->remote.session.server->exec_host, &s->request, on_ended, s, &err);
    if (s->exec && !watch_outputs(s))
        (void)out_of_memory(&err);
    if (err_is_set(&err)) {
        stop_streams(s);
        remote_fail(&s->remote, &err);
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

static void ready(struct remote *r)
{
    struct exec_session *s = self_of(r);

    if (s->request.tty && s->resize.len == 0)
        set_timer(s, SIZE_WAIT_MS, on_no_size);
    if (!s->timer)
        begin(s);
}

static const struct remote_ops exec_ops = {
    .ready = ready, .data = data, .ended = ended, .drained = drained, .free = free_exec};

/* --- the request ----------------------------------------------------------------------- */

static int read_command(const struct server_request *r, struct exec_session *s, struct err *err)
{
    const char **argv = arena_alloc(&s->arena, (ARGV_LIMIT + 1) * sizeof(*argv));
    size_t n = 0;

    for (const struct param *p = r->params; p && argv; p = p->next) {
        if (strcmp(p->name, "command") != 0)
            continue;
        if (n == ARGV_LIMIT)
            return err_set(err, ERR_BAD_REQUEST, "a command has at most %u words", ARGV_LIMIT);
        argv[n++] = arena_strdup(&s->arena, p->value);
    }
    if (n == 0 && argv)
        return err_set(err, ERR_BAD_REQUEST, "you must specify a command");
    s->request.argv = argv;
    return 0;
}

static int check_phase(const struct json *pod, struct err *err)
{
    const char *phase = json_string(json_at(pod, "status", "phase"), "");

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot exec into a container in a completed pod; current phase is %s",
                       phase);
    return 0;
}

static int read_target(struct server_request *r, struct exec_session *s, struct err *err)
{
    const struct store_item *item;
    const char *key, *container, *root;
    const struct json *pod = request_load(r, &key, &item, err);

    if (!pod || pod_choose_container(r, pod, &container, err) < 0 || check_phase(pod, err) < 0)
        return -1;
    root = pod_root(r, pod, err);
    if (!root || exec_check(root, object_uid(pod), container, err) < 0)
        return -1;
    s->request.pod_root = arena_strdup(&s->arena, root);
    s->request.pod_uid = arena_strdup(&s->arena, object_uid(pod));
    s->request.container = arena_strdup(&s->arena, container);
    return arena_failed(&s->arena) ? out_of_memory(err) : 0;
}

static int make_request(struct server_request *r, struct exec_session *s, struct err *err)
{
    int rc = read_target(r, s, err);

    if (rc == 0)
        rc = remote_wishes(r, &s->remote, &s->request.tty, err);
    if (rc == 0)
        rc = read_command(r, s, err);
    for (int i = 0; i < EXEC_STREAMS; i++)
        s->request.wanted[i] = s->remote.wanted[i];
    if (rc == 0 && arena_failed(&s->arena))
        rc = out_of_memory(err);
    return rc;
}

int verb_exec(struct server_request *r, struct err *err)
{
    struct exec_session *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return out_of_memory(err);
    arena_init(&s->arena, REQUEST_LIMIT_BYTES);
    buf_init(&s->input, INPUT_LIMIT_BYTES);
    buf_init(&s->resize, RESIZE_LIMIT_BYTES);
    rc = make_request(r, s, err);
    if (rc == 0 && !r->server->exec_host) {
        r->server->exec_host = exec_host_new(r->server->loop, NULL, err);
        rc = r->server->exec_host ? 0 : -1;
    }
    if (rc == 0)
        rc = remote_open(r, &s->remote, &exec_ops, err);
    if (rc < 0) {
        arena_release(&s->arena);
        free(s);
    }
    return rc;
}
