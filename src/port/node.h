/*
 * node.h - what is asked of a node about its pods: logs, commands in them, connections to their
 * ports, what they used. The kubelet's work. Who asks has the right to that namespace and name; the
 * node answers only for a pod that has both and the UID, and that it runs, or ran and kept.
 */
#ifndef MUSTER_PORT_NODE_H
#define MUSTER_PORT_NODE_H

#include "base/buf.h"
#include "base/err.h"
#include "port/mux_kind.h"
#include "port/stream.h"
#include "port/usage.h"

struct node;

struct node_pod {
    const char *ns, *name, *uid;
};

/* --- logs ------------------------------------------------------------------------------ */

struct node_log_options {
    bool follow; /* until the container has ended and everything was read */
    bool timestamps;
    bool previous;       /* the run before the newest: of a container that was restarted */
    int64_t tail_lines;  /* -1: all */
    int64_t since_ms;    /* wall time; 0: from the start */
    int64_t limit_bytes; /* -1: no limit */
};

#define NODE_ANY_ATTEMPT (-1)

/* --- streams --------------------------------------------------------------------------- */

enum node_stream { NODE_STDIN, NODE_STDOUT, NODE_STDERR, NODE_STREAMS };

struct node_command {
    const char *container;
    const char *const *argv; /* NULL-terminated; attach has none */
    bool wanted[NODE_STREAMS];
    bool tty; /* one terminal instead of three pipes; there is no stderr then */
};

/* What was asked for, and the client's connection, which is handed over when it has been upgraded:
 * what is wrong before can be answered still. */
struct node_session;
struct node_session_ops {
    /* Takes fd, also when it fails. early: what the client sent along with its request. */
    int (*begin)(struct node_session *s, int fd, const char *early, size_t early_len,
                 enum mux_kind kind);
    void (*free)(struct node_session *s); /* ends what still runs of it, at once */
};
struct node_session {
    const struct node_session_ops *ops;
    /* Set by who asked: the connection is over, s is to be freed. From the loop only. */
    void (*on_over)(void *arg);
    void *on_over_arg;
};

/* --- samples --------------------------------------------------------------------------- */

struct node_samples_query {
    int64_t since_ms, until_ms; /* until_ms 0: to the newest */
    int64_t step_ms;            /* one value per step; 0: the finest there is */
};

/* --- the node -------------------------------------------------------------------------- */

struct pod_dial;

struct node_ops {
    /* Whether it has a folder of the pod, which runs or is gone. */
    bool (*keeps)(struct node *n, const struct node_pod *pod);
    int (*open_log)(struct node *n, const struct node_pod *pod, const char *container,
                    const struct node_log_options *o, struct stream **ret, struct err *err);
    /* Of a pod of that name that is gone, other than the one of this UID: of that attempt, or
     * (NODE_ANY_ATTEMPT) the newest. */
    int (*open_earlier_log)(struct node *n, const struct node_pod *pod, int64_t attempt,
                            const char *container, const struct node_log_options *o,
                            struct stream **ret, struct err *err);
    int (*exec)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                struct node_session **ret, struct err *err);
    /* What the container prints from now on. */
    int (*attach)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                  struct node_session **ret, struct err *err);
    int (*forward)(struct node *n, const struct node_pod *pod, struct node_session **ret,
                   struct err *err);
    /* A connection to a port that a process of the pod listens on. fn is called once, not from
     * inside: fd is the callee's, not blocking; or -ECONNREFUSED when nobody listens, -EPERM when
     * another program does, -ENOENT when the pod does not run here, or another errno. NULL when out
     * of memory. */
    struct pod_dial *(*dial)(struct node *n, const struct node_pod *pod, unsigned port,
                             void (*fn)(void *arg, int fd), void *arg);
    void (*cancel_dial)(struct node *n, struct pod_dial *d); /* fn is not called any more */
    /* Adds `"time":[...],"columns":{...}` of a pod, or (NULL) of the machine. False: nothing was
     * kept of it; the columns are there, and empty. */
    bool (*samples)(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                    struct buf *out);
    /* The newest sample of a pod that runs, or (NULL) of the machine. -ENOENT without one. */
    int (*latest)(struct node *n, const struct node_pod *pod, struct usage_latest *ret);
};

struct node {
    const struct node_ops *ops;
    const char *name; /* of its Node; NULL: not known, and it answers for its pods alone */
};

#endif
