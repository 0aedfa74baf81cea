/* console.c - see console.h. */
#include "runtime/console.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop/file.h"

#define DRAIN_READS 64 /* of what a terminal still holds when its program has ended */

struct console {
    bool terminal, once;
    int ours;    /* the terminal's master, or the input's writing end */
    int program; /* the other end, until it is taken */
    int listener, client;
    char in[CONSOLE_PACKET_BYTES], out[CONSOLE_PACKET_BYTES];
    size_t in_len, out_len; /* not taken yet by the program, by the client */
    char line[256];         /* the terminal's unfinished line: a client sees the prompt */
    size_t line_len;
};

/* Cannot clash: container names start with a letter or digit. */
static void socket_name(char out[256], const char *name)
{
    (void)snprintf(out, 256, ".console-%s", name);
}

/* By the folder's descriptor: a path may be longer than an address. */
static struct sockaddr_un address_of(int dir_fd, const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char file[256];

    socket_name(file, name);
    (void)snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/%.80s", dir_fd, file);
    return to;
}

static int open_listener(int dir_fd, const char *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to = address_of(dir_fd, name);
    char file[256];

    socket_name(file, name);
    (void)unlinkat(dir_fd, file, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || listen(fd, 4) != 0))
        file_close(&fd);
    return fd;
}

int console_connect(const char *pod_root, const char *uid, const char *name)
{
    char dir[4096];
    int dir_fd, fd, rc = 0;
    struct sockaddr_un to;

    if ((size_t)snprintf(dir, sizeof(dir), "%s/%s", pod_root, uid) >= sizeof(dir))
        return -ENAMETOOLONG;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    to = address_of(dir_fd, name);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        rc = -errno;
    (void)close(dir_fd);
    if (rc != 0 && fd >= 0)
        (void)close(fd);
    return rc != 0 ? rc : fd;
}

/* --- making --- */

static int open_ends(struct console *k)
{
    int fds[2];

    if (k->terminal) {
        if (openpty(&k->ours, &k->program, NULL, NULL, NULL) != 0)
            return -errno;
        (void)fcntl(k->ours, F_SETFD, FD_CLOEXEC);
        (void)fcntl(k->program, F_SETFD, FD_CLOEXEC);
    } else {
        if (pipe2(fds, O_CLOEXEC) != 0)
            return -errno;
        k->program = fds[0];
        k->ours = fds[1];
    }
    return fcntl(k->ours, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static void console_free(struct console *k)
{
    file_close(&k->ours);
    file_close(&k->program);
    file_close(&k->listener);
    file_close(&k->client);
    free(k);
}

struct console *console_open(int dir_fd, const struct container_start *c)
{
    struct console *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    k->terminal = c->tty;
    k->once = c->stdin_once;
    k->ours = k->program = k->client = -1;
    k->listener = open_listener(dir_fd, c->name);
    if (k->listener >= 0 && open_ends(k) == 0)
        return k;
    console_free(k);
    return NULL;
}

int console_take_program_fd(struct console *k)
{
    int fd = k->program;

    k->program = -1;
    return fd;
}

bool console_is_terminal(const struct console *k)
{
    return k && k->terminal;
}

/* --- the client --- */

static void end_input(struct console *k)
{
    if (!k->terminal)
        file_close(&k->ours);
    k->in_len = 0;
}

static void drop_client(struct console *k)
{
    file_close(&k->client);
    k->out_len = k->in_len = 0;
    if (k->once)
        end_input(k);
}

static void send_out(struct console *k)
{
    ssize_t n;

    if (k->client < 0 || k->out_len == 0)
        return;
    n = send(k->client, k->out, k->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        k->out_len = 0;
    else if (errno != EAGAIN && errno != EINTR)
        drop_client(k);
}

/* A new client takes the place of the one before. */
static void take_client(struct console *k)
{
    int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    file_close(&k->client);
    k->client = fd;
    k->in_len = 0;
    memcpy(k->out, k->line, k->line_len);
    k->out_len = k->line_len;
    send_out(k);
}

static void resize(const struct console *k, const char *data, size_t len)
{
    struct console_size size;
    struct winsize w = {.ws_row = 0};

    if (!k->terminal || len != sizeof(size))
        return;
    memcpy(&size, data, sizeof(size));
    w.ws_col = size.columns;
    w.ws_row = size.rows;
    (void)ioctl(k->ours, TIOCSWINSZ, &w);
}

static void receive(struct console *k)
{
    char packet[CONSOLE_PACKET_BYTES];
    ssize_t n = recv(k->client, packet, sizeof(packet), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop_client(k);
        return;
    }
    switch (packet[0]) {
    case CONSOLE_INPUT:
        memcpy(k->in, packet + 1, (size_t)n - 1);
        k->in_len = k->ours >= 0 ? (size_t)n - 1 : 0;
        break;
    case CONSOLE_SIZE:
        resize(k, packet + 1, (size_t)n - 1);
        break;
    case CONSOLE_END:
        if (k->once)
            end_input(k);
        break;
    default:
        break;
    }
}

static void write_in(struct console *k)
{
    ssize_t n = k->in_len > 0 && k->ours >= 0 ? write(k->ours, k->in, k->in_len) : 0;

    if (n > 0) {
        k->in_len -= (size_t)n;
        memmove(k->in, k->in + n, k->in_len);
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        k->in_len = 0; /* the program reads no more */
    }
}

/* --- the terminal --- */

static void keep_line(struct console *k, const char *data, size_t len)
{
    const char *newline = memrchr(data, '\n', len);

    if (newline) {
        len -= (size_t)(newline + 1 - data);
        data = newline + 1;
        k->line_len = 0;
    }
    if (len > sizeof(k->line) - k->line_len)
        k->line_len = 0;
    len = min_size(len, sizeof(k->line));
    memcpy(k->line + k->line_len, data, len);
    k->line_len += len;
}

/* Whether there was anything. */
static bool read_terminal(struct console *k, console_log_fn *log, void *arg)
{
    ssize_t n = read(k->ours, k->out, sizeof(k->out));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) { /* its last user has closed it */
        file_close(&k->ours);
        return false;
    }
    log(arg, k->out, (size_t)n);
    keep_line(k, k->out, (size_t)n);
    k->out_len = k->client >= 0 ? (size_t)n : 0;
    send_out(k);
    return true;
}

/* --- the loop --- */

void console_poll(const struct console *k, struct pollfd fds[CONSOLE_FDS])
{
    for (int i = 0; i < CONSOLE_FDS; i++)
        fds[i] = (struct pollfd){.fd = -1};
    if (!k)
        return;
    fds[0] = (struct pollfd){.fd = k->listener, .events = POLLIN};
    fds[1] = (struct pollfd){
        .fd = k->client,
        .events = (short)((k->in_len == 0 ? POLLIN : 0) | (k->out_len > 0 ? POLLOUT : 0))};
    fds[2].events = (short)((k->terminal && k->out_len == 0 ? POLLIN : 0) |
                            (k->in_len > 0 ? POLLOUT : 0));
    if (fds[2].events)
        fds[2].fd = k->ours;
}

void console_step(struct console *k, const struct pollfd fds[CONSOLE_FDS], console_log_fn *log,
                  void *arg)
{
    if (!k)
        return;
    if (fds[1].revents && fds[1].fd == k->client && k->client >= 0) {
        send_out(k);
        if (k->client >= 0 && k->in_len == 0)
            receive(k);
    }
    if (fds[0].revents)
        take_client(k);
    write_in(k);
    if (fds[2].revents && k->terminal && k->ours >= 0 && k->out_len == 0)
        (void)read_terminal(k, log, arg);
}

void console_close(struct console *k, int dir_fd, const char *name, console_log_fn *log, void *arg)
{
    char file[256];

    if (!k)
        return;
    for (int i = 0; k->terminal && k->ours >= 0 && i < DRAIN_READS; i++)
        if (!read_terminal(k, log, arg))
            break;
    socket_name(file, name);
    (void)unlinkat(dir_fd, file, 0);
    console_free(k);
}
