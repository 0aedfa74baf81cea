/*
 * remote_stdio.h - the streams of exec and attach, over any protocol: remote standard input and
 * output, a result at the end, and the size of the client's terminal.
 */
#ifndef MUSTER_DOOR_REMOTE_STDIO_H
#define MUSTER_DOOR_REMOTE_STDIO_H

#include "net/mux.h"
#include "port/node.h"

/* The numbers of the WebSocket channels, and of enum node_stream. */
enum remote_stdio_role {
    REMOTE_STDIN,
    REMOTE_STDOUT,
    REMOTE_STDERR,
    REMOTE_ERROR,
    REMOTE_RESIZE,
    REMOTE_ROLES
};

struct remote_stdio;

struct remote_stdio_ops {
    void (*ready)(struct remote_stdio *r); /* every wanted stream is open: begin */
    void (*data)(struct remote_stdio *r, enum remote_stdio_role role, const char *data, size_t len);
    void (*ended)(struct remote_stdio *r, enum remote_stdio_role role);
    void (*drained)(struct remote_stdio *r); /* there is room (again) */
    void (*free)(struct remote_stdio *r);
};

struct remote_stdio {
    struct node_session session;
    const struct remote_stdio_ops *ops;
    struct loop *loop;
    struct mux *mux; /* NULL until connected */
    bool wanted[REMOTE_ROLES], known[REMOTE_ROLES];
    uint32_t streams[REMOTE_ROLES];
    bool is_ready;
};

void remote_stdio_init(struct remote_stdio *r, struct loop *l, const struct node_command *command,
                       const struct remote_stdio_ops *ops);
void remote_stdio_release(struct remote_stdio *r); /* for ops->free */

bool remote_stdio_has_room(const struct remote_stdio *r);
void remote_stdio_send(struct remote_stdio *r, enum remote_stdio_role role, const void *data,
                       size_t len);
/* Sizes of the client's terminal, {"Width":100,"Height":40}, repeated, with or without newlines in
 * between, as in a kubelet. They may arrive in pieces. */
#define REMOTE_SIZES_LIMIT_BYTES 256u
void remote_stdio_add_size(struct buf *sizes, const char *data, size_t len);
bool remote_stdio_next_size(struct buf *sizes, unsigned *columns, unsigned *rows);

/* Sends the result and ends. exit_code 0 is success. */
void remote_stdio_finish(struct remote_stdio *r, int exit_code);
void remote_stdio_fail(struct remote_stdio *r, const struct err *err);

#endif
