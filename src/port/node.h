/*
 * node.h - what is asked of a node about its pods: logs, commands in them, connections to their
 * ports, what they used. The kubelet's work. The caller has the right to that namespace and name;
 * the node answers only for a pod that has both and the UID, and that it runs, or ran and kept.
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

/* A place in a log: a byte of one of its files, as `offsets` and answers to searches have it, or
 * the first line of a time. */
struct node_log_place {
    enum { LOG_PLACE_NONE, LOG_PLACE_BYTE, LOG_PLACE_TIME } kind;
    uint32_t segment;
    int64_t byte;
    int64_t time_ms;
};

/* What the words of a line say of it; those before win. */
enum node_log_level { LINE_ERROR, LINE_WARN, LINE_DEBUG, LINE_INFO, LINE_OTHER, LINE_LEVELS };

/* Lines that match, of the whole log, each a line of JSON: `at` (its place), `time`, `stream`,
 * `text`, and where that is not all of it `cut`, with the line's `length` and from which byte on
 * the text is. Between them how far it is: `scanned` of `total` bytes and the `count` so far; at
 * last the same with `end`, or `error`. `began` is the place where it began, `next` where another
 * search goes on. */
struct node_log_search {
    bool wanted;
    const char *text; /* "": every line */
    bool regex, ignore_case;
    unsigned levels;  /* 1 << enum node_log_level; 0: all */
    bool back;        /* before `from` (else: at the end), the nearest first */
    bool count;       /* go on behind the last line that is given, and count */
    int64_t lines;    /* given at most */
    const char *user; /* whose part of the searches it takes (base/share.h); NULL: the owner's */
};

#define NODE_LOG_LINES_LIMIT 10000
#define NODE_LOG_PATTERN_LIMIT_BYTES 4096u

struct node_log_options {
    bool follow; /* until the container has ended and everything was read */
    bool timestamps;
    bool offsets; /* each line begins with its place */
    struct node_log_place from;
    struct node_log_search search;
    /* The run before the newest: of a container that was restarted, or else of the pod of that name
     * before this one. */
    bool previous;
    int64_t tail_lines;  /* -1: all */
    int64_t since_ms;    /* wall time; 0: from the start */
    int64_t limit_bytes; /* -1: no limit */
    /* Not NODE_ANY_ATTEMPT: of a pod of that name that is gone, other than the one of this UID. */
    int64_t attempt;
};

#define NODE_ANY_ATTEMPT (-1)

#define NODE_JSON_LINES_TYPE "application/jsonl"
static inline const char *node_log_type(const struct node_log_options *o)
{
    return o->search.wanted ? NODE_JSON_LINES_TYPE : "text/plain";
}

/* The stream is who asked's; NULL: err says why. The same for which logs there are of a namespace's
 * pods, also of those that are gone: lines of JSON with `pod`, `uid`, `owner` (its controller's
 * UID), `attempt`, `leftMs` (when something of it changed last), `bytes` and `containers`. */
typedef void node_log_fn(void *arg, struct stream *stream, const struct err *err);

/* --- streams --------------------------------------------------------------------------- */

enum node_stream { NODE_STDIN, NODE_STDOUT, NODE_STDERR, NODE_STREAMS };

struct node_command {
    const char *container;
    const char *const *argv; /* NULL-terminated; attach has none */
    bool wanted[NODE_STREAMS];
    bool tty; /* one terminal instead of three pipes; there is no stderr then */
};

/* What the connection will speak, as the headers of a request would ask for it:
 * "Upgrade: TO", "OFFER: PROTOCOL". */
struct node_upgrade {
    enum mux_kind kind;
    const char *to, *offer, *protocol;
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

/* The session is who asked's; NULL: err says why. */
typedef void node_session_fn(void *arg, struct node_session *session, const struct err *err);

/* --- samples --------------------------------------------------------------------------- */

struct node_samples_query {
    int64_t since_ms, until_ms; /* until_ms 0: to the newest */
    int64_t step_ms;            /* one value per step; 0: the finest there is */
};

#define NODE_SAMPLES_LIMIT_BYTES (4u * 1024u * 1024u)

/* `"time":[...],"columns":{...}`. found: something was kept of it; else the columns are empty. err:
 * it cannot be said, and samples is NULL. */
typedef void node_samples_fn(void *arg, const char *samples, bool found, const struct err *err);

/* --- the node -------------------------------------------------------------------------- */

struct pod_dial;

/* What a program that runs what it is told wants of those who ask it: in its environment, where its
 * own user and root can read it and nobody else. */
#define NODE_TOKEN_VARIABLE "JUPYTER_TOKEN"
#define NODE_TOKEN_SIZE 512u
typedef void node_dial_fn(void *arg, int fd, const char *token);

/* What takes a function calls it once, perhaps from inside; what it is given is copied. */
struct node_ops {
    void (*open_log)(struct node *n, const struct node_pod *pod, const char *container,
                     const struct node_log_options *o, node_log_fn *fn, void *arg);
    void (*list_logs)(struct node *n, const char *ns, node_log_fn *fn, void *arg);
    void (*exec)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                 const struct node_upgrade *u, node_session_fn *fn, void *arg);
    /* What the container prints from now on. */
    void (*attach)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                   const struct node_upgrade *u, node_session_fn *fn, void *arg);
    void (*forward)(struct node *n, const struct node_pod *pod, const struct node_upgrade *u,
                    node_session_fn *fn, void *arg);
    /* Of a pod, or (NULL) of the machine. */
    void (*samples)(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                    node_samples_fn *fn, void *arg);
    /* The newest sample of a pod that runs, or (NULL) of the machine. -ENOENT without one. */
    int (*latest)(struct node *n, const struct node_pod *pod, struct usage_latest *ret);
    /* A connection to a port that a process of the pod listens on. fn is called once, not from
     * inside: fd is the callee's, not blocking; or -ECONNREFUSED when nobody listens, -EPERM when
     * another program does, -ENOENT when the pod does not run here, or another errno. token: of who
     * listens there, "" without one. NULL when out of memory. Only of a node in this process. */
    struct pod_dial *(*dial)(struct node *n, const struct node_pod *pod, unsigned port,
                             node_dial_fn *fn, void *arg);
    void (*cancel_dial)(struct node *n, struct pod_dial *d); /* fn is not called any more */
};

struct node {
    const struct node_ops *ops;
    const char *name; /* of its Node */
};

/* --- nodes elsewhere ------------------------------------------------------------------- */

struct json;
struct node_directory;

/* In the caller's memory until fn is called: once, perhaps from inside. */
struct node_refresh {
    void (*fn)(struct node_refresh *r);
    size_t left; /* inside */
};

struct node_directory_ops {
    /* The one of that Node object, to be used at once. NULL: err says why it cannot be asked. */
    struct node *(*find)(struct node_directory *d, const struct json *node, struct err *err);
    /* So that `latest` of these is of now, or -ENOENT where one does not answer in time. */
    void (*refresh)(struct node_directory *d, const struct json *const *nodes, size_t len,
                    struct node_refresh *r);
};

struct node_directory {
    const struct node_directory_ops *ops;
};

#endif
