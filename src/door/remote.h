/*
 * remote.h - the streams of exec and attach, whatever carries them: standard input and output of
 * something that runs elsewhere, a result at the end, and the size of the client's terminal.
 */
#ifndef MUSTER_DOOR_REMOTE_H
#define MUSTER_DOOR_REMOTE_H

#include "net/mux.h"
#include "port/node.h"

/* The numbers are those of the WebSocket channels, and of enum node_stream. */
enum remote_role {
    REMOTE_STDIN,
    REMOTE_STDOUT,
    REMOTE_STDERR,
    REMOTE_ERROR,
    REMOTE_RESIZE,
    REMOTE_ROLES
};

struct remote;

struct remote_ops {
    void (*ready)(struct remote *r); /* every wanted stream is there: begin */
    void (*data)(struct remote *r, enum remote_role role, const char *data, size_t len);
    void (*ended)(struct remote *r, enum remote_role role);
    void (*drained)(struct remote *r); /* there is room (again) */
    void (*free)(struct remote *r);
};

struct remote {
    struct node_session session;
    const struct remote_ops *ops;
    struct loop *loop;
    struct mux *mux; /* NULL until the connection is there */
    bool wanted[REMOTE_ROLES], known[REMOTE_ROLES];
    uint32_t streams[REMOTE_ROLES];
    bool is_ready;
};

void remote_init(struct remote *r, struct loop *l, const struct node_command *command,
                 const struct remote_ops *ops);
void remote_release(struct remote *r); /* for ops->free */

bool remote_has_room(const struct remote *r);
void remote_send(struct remote *r, enum remote_role role, const void *data, size_t len);
/* The result, and the end. exit_code: 0 is success. */
void remote_finish(struct remote *r, int exit_code);
void remote_fail(struct remote *r, const struct err *err);

#endif
