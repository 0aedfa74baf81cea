/*
 * node.h - what the server asks a node about its pods: logs, exec, port connections, usage. The
 * kubelet's part. The caller is already authorized for the namespace and name; the node answers
 * only for a pod that matches both and the UID, and that it runs or has kept.
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

/* A position in a log: a byte in one of its files, as reported by `offsets` and by searches, or the
 * first line at or after a time. */
struct node_log_place {
    enum { LOG_PLACE_NONE, LOG_PLACE_BYTE, LOG_PLACE_TIME } kind;
    uint32_t segment;
    int64_t byte;
    int64_t time_ms;
};

/* A line's level by its words; the first match in this order wins. */
enum node_log_level { LINE_ERROR, LINE_WARN, LINE_DEBUG, LINE_INFO, LINE_OTHER, LINE_LEVELS };

/* Searches the whole log. Each match is a line of JSON: `at` (its position), `time`, `stream`,
 * `text`; for a truncated text also `cut`, with the line's `length` and the byte at which the text
 * starts. Progress lines in between have `scanned` and `total` bytes and the `count` so far; the
 * last one also has `end` or `error`. `began` is where the search started, `next` where the
 * following one continues. */
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
    bool follow; /* until the container has ended and everything is read */
    bool timestamps;
    bool offsets; /* prefix each line with its position */
    struct node_log_place from;
    struct node_log_search search;
    /* The previous run: of a restarted container, or else of the previous pod of that name. */
    bool previous;
    int64_t tail_lines;  /* -1: all */
    int64_t since_ms;    /* wall time; 0: from the start */
    int64_t limit_bytes; /* -1: no limit */
    /* Unless NODE_ANY_ATTEMPT: of a deleted pod of that name, other than the one with this UID. */
    int64_t attempt;
};

#define NODE_ANY_ATTEMPT (-1)

#define NODE_JSON_LINES_TYPE "application/jsonl"
static inline const char *node_log_type(const struct node_log_options *o)
{
    return o->search.wanted ? NODE_JSON_LINES_TYPE : "text/plain";
}

/* The stream belongs to the callee; NULL: err says why. Also used for the list of a namespace's
 * logs, deleted pods included: lines of JSON with `pod`, `uid`, `owner` (its controller's UID),
 * `attempt`, `leftMs` (last change), `bytes` and `containers`. */
typedef void node_log_fn(void *arg, struct stream *stream, const struct err *err);

/* --- streams --------------------------------------------------------------------------- */

enum node_stream { NODE_STDIN, NODE_STDOUT, NODE_STDERR, NODE_STREAMS };

struct node_command {
    const char *container;
    const char *const *argv; /* NULL-terminated; attach has none */
    bool wanted[NODE_STREAMS];
    bool tty; /* one terminal instead of three pipes; there is no stderr then */
};

/* The protocol of the connection after the upgrade, as in the request headers "Upgrade: TO" and
 * "OFFER: PROTOCOL". */
struct node_upgrade {
    enum mux_kind kind;
    const char *to, *offer, *protocol;
};

/* Forwarded over MUX_CHANNELS: port i uses channel 2i for data and 2i + 1 for errors, 255 closes.
 */
#define NODE_PORTS_LIMIT 127u
struct node_ports {
    size_t count;
    uint16_t all[NODE_PORTS_LIMIT];
};

/* A prepared session. The client's connection is handed over only after it has been upgraded, so
 * that earlier errors can still be answered over HTTP. */
struct node_session;
struct node_session_ops {
    /* Takes fd, even on failure. early: what the client sent along with its request. */
    int (*begin)(struct node_session *s, int fd, const char *early, size_t early_len,
                 enum mux_kind kind);
    void (*free)(struct node_session *s); /* ends whatever of it still runs, at once */
};
struct node_session {
    const struct node_session_ops *ops;
    /* Set by the owner of the session: the connection is over and s must be freed. Called from the
     * loop only. */
    void (*on_over)(void *arg);
    void *on_over_arg;
};

/* The session belongs to the callee; NULL: err says why. */
typedef void node_session_fn(void *arg, struct node_session *session, const struct err *err);

/* --- samples --------------------------------------------------------------------------- */

struct node_samples_query {
    int64_t since_ms, until_ms; /* until_ms 0: to the newest */
    int64_t step_ms;            /* one value per step; 0: the finest resolution */
};

#define NODE_SAMPLES_LIMIT_BYTES (4u * 1024u * 1024u)

/* `"time":[...],"columns":{...}`. found: samples were kept; otherwise the columns are empty. On err
 * samples is NULL. */
typedef void node_samples_fn(void *arg, const char *samples, bool found, const struct err *err);

/* --- the node -------------------------------------------------------------------------- */

struct pod_dial;

/* The token a program that executes code (Jupyter) demands of its clients: passed in its
 * environment, which only its own user and root can read. */
#define NODE_TOKEN_VARIABLE "JUPYTER_TOKEN"
#define NODE_TOKEN_SIZE 512u
typedef void node_dial_fn(void *arg, int fd, const char *token);

/* Each operation that takes a function calls it once, perhaps before returning; arguments are
 * copied. */
struct node_ops {
    void (*open_log)(struct node *n, const struct node_pod *pod, const char *container,
                     const struct node_log_options *o, node_log_fn *fn, void *arg);
    void (*list_logs)(struct node *n, const char *ns, node_log_fn *fn, void *arg);
    void (*exec)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                 const struct node_upgrade *u, node_session_fn *fn, void *arg);
    /* The container's output from now on. */
    void (*attach)(struct node *n, const struct node_pod *pod, const struct node_command *c,
                   const struct node_upgrade *u, node_session_fn *fn, void *arg);
    /* SPDY clients name the ports in their streams. */
    void (*forward)(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                    const struct node_upgrade *u, node_session_fn *fn, void *arg);
    /* Of a pod, or of the machine when pod is NULL. */
    void (*samples)(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                    node_samples_fn *fn, void *arg);
    /* The newest sample of a running pod, or of the machine when pod is NULL. -ENOENT if there is
     * none. */
    int (*latest)(struct node *n, const struct node_pod *pod, struct usage_latest *ret);
    /* Connects to a port that a process of the pod listens on. fn is called once, after this
     * returns: the non-blocking fd is the callee's; or -ECONNREFUSED when nothing listens, -EPERM
     * when another program does, -ENOENT when the pod does not run here, or another errno. token:
     * of the listening program, or "". NULL when out of memory. Only for a node in this process. */
    struct pod_dial *(*dial)(struct node *n, const struct node_pod *pod, unsigned port,
                             node_dial_fn *fn, void *arg);
    /* Likewise, but fn gets the number of open connections to that port instead of a new one. */
    struct pod_dial *(*count_peers)(struct node *n, const struct node_pod *pod, unsigned port,
                                    node_dial_fn *fn, void *arg);
    void (*cancel_dial)(struct node *n, struct pod_dial *d); /* fn will not be called */
};

struct node {
    const struct node_ops *ops;
    const char *name; /* of its Node object */
};

/* --- other nodes ----------------------------------------------------------------------- */

struct json;
struct node_directory;

/* Owned by the caller until fn is called: once, perhaps before refresh returns. */
struct node_refresh {
    void (*fn)(struct node_refresh *r);
    size_t left; /* internal */
};

struct node_directory_ops {
    /* The node of that Node object, for immediate use only. NULL: err says why it cannot be
     * reached. */
    struct node *(*find)(struct node_directory *d, const struct json *node, struct err *err);
    /* Makes `latest` of these nodes current, or -ENOENT for one that does not answer in time. */
    void (*refresh)(struct node_directory *d, const struct json *const *nodes, size_t len,
                    struct node_refresh *r);
};

struct node_directory {
    const struct node_directory_ops *ops;
};

#endif
