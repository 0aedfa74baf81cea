/*
 * exec_pump.c - see exec_pump.h. Output is written as it arrives and may block: then nothing is
 * read from the connection either, and the command waits. Input is read only while there is room.
 */
#include "cli/exec_pump.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/output.h"

#define READ_BYTES 32768

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

struct pump {
    struct loop *loop;
    struct exec_client *client;
    struct loop_fd *input;
    bool input_is_file; /* cannot be watched: always readable */
    bool input_over;
    struct loop_signal *signals[ELEMS(end_signals)], *window;
    struct termios saved;
    bool raw;
    bool done;
    int code;
    struct err *err;
};

static void finish(struct pump *p, int code)
{
    p->done = true;
    p->code = code;
    loop_stop(p->loop);
}

/* --- output ---------------------------------------------------------------------------- */

static void on_output(void *arg, enum exec_client_stream stream, const char *data, size_t len)
{
    struct pump *p = arg;

    if (output_bytes(stream == EXEC_CLIENT_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, len) != 0)
        finish(p, 128 + SIGPIPE);
}

static void on_ended(void *arg, int exit_code, const struct err *err)
{
    struct pump *p = arg;

    if (err)
        exit_code = err_set(p->err, err->reason, "%s", err->text);
    finish(p, exit_code);
}

/* --- input ----------------------------------------------------------------------------- */

static void end_input(struct pump *p)
{
    p->input_over = true;
    loop_fd_stop(p->input);
    p->input = NULL;
    exec_client_end_input(p->client);
}

static void read_input(struct pump *p)
{
    char bytes[READ_BYTES];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

    if (n > 0)
        exec_client_send(p->client, bytes, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        end_input(p);
}

static void watch_input(struct pump *p)
{
    unsigned events = exec_client_has_room(p->client) ? LOOP_READABLE : 0;

    if (p->input)
        (void)loop_fd_change(p->input, events);
    while (p->input_is_file && !p->input_over && exec_client_has_room(p->client))
        read_input(p);
}

static void on_input(void *arg, unsigned events)
{
    struct pump *p = arg;

    (void)events;
    read_input(p);
    if (p->input)
        watch_input(p);
}

static void on_drained(void *arg)
{
    struct pump *p = arg;

    if (!p->input_over)
        watch_input(p);
}

static void start_input(struct pump *p, bool wanted)
{
    p->input_over = !wanted;
    if (!wanted)
        return;
    p->input = loop_fd_watch(p->loop, STDIN_FILENO, LOOP_READABLE, on_input, p);
    p->input_is_file = !p->input;
    watch_input(p);
}

/* --- terminal and signals -------------------------------------------------------------- */

static void send_size(struct pump *p)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        exec_client_resize(p->client, size.ws_col, size.ws_row);
}

static void on_window(void *arg, int signum)
{
    (void)signum;
    send_size(arg);
}

static void on_signal(void *arg, int signum)
{
    finish(arg, 128 + signum);
}

static void start_terminal(struct pump *p)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &p->saved) == 0) {
        raw = p->saved;
        cfmakeraw(&raw);
        p->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    send_size(p);
    p->window = loop_signal_watch(p->loop, SIGWINCH, on_window, p);
}

static bool watch_signals(struct pump *p)
{
    bool fine = true;

    for (size_t i = 0; i < ELEMS(end_signals); i++) {
        p->signals[i] = loop_signal_watch(p->loop, end_signals[i], on_signal, p);
        fine = fine && p->signals[i];
    }
    return fine;
}

static void stop(struct pump *p)
{
    if (p->raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &p->saved);
    for (size_t i = 0; i < ELEMS(end_signals); i++)
        if (p->signals[i])
            loop_signal_stop(p->signals[i]);
    if (p->window)
        loop_signal_stop(p->window);
    loop_fd_stop(p->input);
    exec_client_free(p->client);
    loop_free(p->loop);
}

int exec_pump_run(const struct exec_client_options *options, struct err *err)
{
    static const struct exec_client_handler events = {
        .output = on_output, .drained = on_drained, .ended = on_ended};
    struct pump p = {.loop = loop_new(err), .err = err, .code = -1};
    struct exec_client_options how = *options;

    if (!p.loop)
        return -ENOMEM;
    (void)signal(SIGPIPE, SIG_IGN);
    how.loop = p.loop;
    if (watch_signals(&p))
        p.client = exec_client_new(&how, &events, &p, err);
    else
        (void)err_set(err, ERR_INTERNAL, "out of memory");
    if (p.client) {
        if (options->tty)
            start_terminal(&p);
        start_input(&p, options->wants_stdin);
        while (!p.done)
            loop_run(p.loop);
    }
    stop(&p);
    return p.code;
}
