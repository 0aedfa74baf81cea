/*
 * console.h - the standard input of a container's program, or its terminal, and the client attached
 * to it: the node's door connects to a socket in the pod's folder. What a terminal shows goes to
 * the container's log, and to the client as it comes. Belongs to the worker that started the
 * program and ends with it: without a worker the input is at its end, and a terminal hangs up.
 */
#ifndef MUSTER_RUNTIME_CONSOLE_H
#define MUSTER_RUNTIME_CONSOLE_H

#include <poll.h>

#include "port/runtime.h"

/* Packets of a client: the first byte tells what the rest is. */
enum console_packet { CONSOLE_INPUT = 'i', CONSOLE_END = 'e', CONSOLE_SIZE = 's' };
#define CONSOLE_PACKET_BYTES 4096u /* at most, in either direction */

struct console_size {
    uint16_t columns, rows;
};

struct console;

/* NULL when it cannot be made. */
struct console *console_open(int dir_fd, const struct container_start *c);
/* What the program gets. The caller closes it when the program runs. */
int console_take_program_fd(struct console *k);
bool console_is_terminal(const struct console *k);
/* Output of a terminal goes to log. NULL-safe, like what follows. */
typedef void console_log_fn(void *arg, const char *data, size_t len);
void console_close(struct console *k, int dir_fd, const char *name, console_log_fn *log, void *arg);

#define CONSOLE_FDS 3
void console_poll(const struct console *k, struct pollfd fds[CONSOLE_FDS]);
void console_step(struct console *k, const struct pollfd fds[CONSOLE_FDS], console_log_fn *log,
                  void *arg);

/* For the door: a non-blocking connection to the console of a container, or a negative errno. */
int console_connect(const char *pod_root, const char *uid, const char *name) must_check;

#endif
