/*
 * door.c - see door.h. A UID only names a folder: the caller is authorized for a namespace and a
 * name, so the folder's own records must match both.
 */
#include "door/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door/door_internal.h"
#include "runtime/exec.h"
#include "runtime/kept.h"
#include "runtime/pod_dial.h"
#include "runtime/podfolder.h"
#include "runtime/podlog.h"

int door_out_of_memory(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "out of memory");
}

/* --- checking the folder ------------------------------------------------------------------ */

bool door_runs(const struct door *d, const struct node_pod *pod)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    bool is = pod_folder_is_of(&a, d->pod_root, pod->uid, pod->ns, pod->name);

    arena_release(&a);
    return is;
}

const char *door_uid(const struct door *d, struct arena *a, const struct node_pod *pod,
                     const char *container)
{
    const char *own = pod_late_uid(a, pod->uid, container);

    return own && pod_folder_is_of(a, d->pod_root, own, pod->ns, pod->name)
               ? own
               : arena_strdup(a, pod->uid);
}

int door_check_runs(const struct door *d, const struct node_pod *pod, const char *container,
                    struct err *err)
{
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const char *uid = door_uid(d, &a, pod, container);
    int rc = uid && door_runs(d, &(struct node_pod){pod->ns, pod->name, uid})
                 ? exec_check(d->pod_root, uid, container, err)
                 : err_set(err, ERR_BAD_REQUEST, "container \"%s\" has not been started yet",
                           container);

    arena_release(&a);
    return rc;
}

char *door_kept_folder(const struct door *d, const struct node_pod *pod)
{
    char *folder = NULL;

    if (!pod_name_is_safe(pod->ns) || !pod_name_is_safe(pod->name) ||
        asprintf(&folder, "%s/%s/%s", d->log_root, pod->ns, pod->name) < 0)
        return NULL;
    return folder;
}

/* --- logs --------------------------------------------------------------------------------- */

static int open_in(struct door *d, const char *root, const char *uid, const char *container,
                   const struct node_log_options *o, struct stream **ret, struct err *err)
{
    if (o->search.wanted)
        return log_search_open(&d->searches, root, uid, container, o, ret, err);
    return podlog_open(d->loop, root, uid, container, o, ret, err);
}

/* Of an earlier pod: the given attempt, or (NODE_ANY_ATTEMPT) the newest. */
static int open_earlier_log(struct door *d, const struct node_pod *pod, const char *container,
                            const struct node_log_options *o, struct stream **ret, struct err *err)
{
    struct node_log_options newest = *o;
    char *folder = door_kept_folder(d, pod);
    char uid[KEPT_UID_SIZE];
    int rc = -ENOENT;

    newest.previous = newest.follow = false;
    if (folder && kept_find(folder, pod->uid, o->attempt, uid))
        rc = open_in(d, folder, uid, container, &newest, ret, NULL);
    free(folder);
    if (rc < 0 && o->attempt != NODE_ANY_ATTEMPT)
        return err_set(err, ERR_NOT_FOUND, "attempt %lld of pod \"%s\" left no log",
                       (long long)o->attempt, pod->name);
    if (rc < 0)
        return err_set(err, door_runs(d, pod) ? ERR_BAD_REQUEST : ERR_NOT_FOUND,
                       "previous terminated container \"%s\" in pod \"%s\" not found", container,
                       pod->name);
    return 0;
}

/* Among the running ones first: it may just be ending. */
static int open_this_log(struct door *d, const struct node_pod *pod, const char *container,
                         const struct node_log_options *o, struct stream **ret, struct err *err)
{
    char *folder;
    int rc = -ENOENT;

    if (door_runs(d, pod))
        return open_in(d, d->pod_root, pod->uid, container, o, ret, err);
    folder = door_kept_folder(d, pod);
    if (folder)
        rc = open_in(d, folder, pod->uid, container, o, ret, NULL);
    free(folder);
    if (rc < 0)
        return err_set(err, ERR_NOT_FOUND, "pod \"%s\" with UID \"%s\" left no log", pod->name,
                       pod->uid);
    return rc;
}

int door_open_log(struct node *n, const struct node_pod *pod, const char *container,
                  const struct node_log_options *o, struct stream **ret, struct err *err)
{
    struct door *d = door_of(n);
    int rc = o->search.wanted ? log_search_check(&d->searches, &o->search, err) : 0;
    struct arena a = ARENA_INIT(POD_ARENA_LIMIT_BYTES);
    const char *uid = door_uid(d, &a, pod, container);
    bool late = uid && strcmp(uid, pod->uid) != 0;

    if (rc == 0 && late)
        rc = open_this_log(d, &(struct node_pod){pod->ns, pod->name, uid}, container, o, ret, err);
    arena_release(&a);
    if (rc < 0 || late)
        return rc;
    if (o->attempt != NODE_ANY_ATTEMPT)
        return open_earlier_log(d, pod, container, o, ret, err);
    if (!o->previous)
        return open_this_log(d, pod, container, o, ret, err);
    if (open_this_log(d, pod, container, o, ret, NULL) == 0)
        return 0;
    return open_earlier_log(d, pod, container, o, ret, err);
}

int door_list_logs(struct node *n, const char *ns, struct stream **ret, struct err *err)
{
    const struct door *d = door_of(n);
    int rc = kept_list_open(d->loop, d->pod_root, d->log_root, ns, ret);

    if (rc == -EINVAL)
        return err_set(err, ERR_NOT_FOUND, "no such namespace: \"%s\"", ns);
    return rc < 0 ? door_out_of_memory(err) : 0;
}

/* --- ports -------------------------------------------------------------------------------- */

static struct pod_dial *dial(struct node *n, const struct node_pod *pod, unsigned port,
                             node_dial_fn *fn, void *arg)
{
    const struct door *d = door_of(n);

    return pod_dial_start(d->loop, d->pod_root, pod, port, false, fn, arg);
}

static struct pod_dial *count_peers(struct node *n, const struct node_pod *pod, unsigned port,
                                    node_dial_fn *fn, void *arg)
{
    const struct door *d = door_of(n);

    return pod_dial_start(d->loop, d->pod_root, pod, port, true, fn, arg);
}

static void cancel_dial(struct node *n, struct pod_dial *dial)
{
    (void)n;
    pod_dial_cancel(dial);
}

/* --- life --------------------------------------------------------------------------------- */

/* Locally, every answer is immediate. */
static void open_log(struct node *n, const struct node_pod *pod, const char *container,
                     const struct node_log_options *o, node_log_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct stream *stream = NULL;
    int rc = door_open_log(n, pod, container, o, &stream, &err);

    fn(arg, stream, rc < 0 ? &err : NULL);
}

static void list_logs(struct node *n, const char *ns, node_log_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct stream *stream = NULL;
    int rc = door_list_logs(n, ns, &stream, &err);

    fn(arg, stream, rc < 0 ? &err : NULL);
}

static void exec(struct node *n, const struct node_pod *pod, const struct node_command *c,
                 const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct node_session *session = NULL;
    int rc = door_exec(n, pod, c, &session, &err);

    (void)u;
    fn(arg, session, rc < 0 ? &err : NULL);
}

static void attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                   const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct node_session *session = NULL;
    int rc = door_attach(n, pod, c, &session, &err);

    (void)u;
    fn(arg, session, rc < 0 ? &err : NULL);
}

static void forward(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                    const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct node_session *session = NULL;
    int rc = door_forward(n, pod, ports, u->kind, &session, &err);

    fn(arg, session, rc < 0 ? &err : NULL);
}

static void samples(struct node *n, const struct node_pod *pod, const struct node_samples_query *q,
                    node_samples_fn *fn, void *arg)
{
    auto_err err = ERR_INIT;
    struct buf text = BUF_INIT(NODE_SAMPLES_LIMIT_BYTES);
    bool found = door_samples(n, pod, q, &text);

    if (text.failed)
        (void)door_out_of_memory(&err);
    fn(arg, text.failed ? NULL : text.data, found, text.failed ? &err : NULL);
    buf_release(&text);
}

static const struct node_ops door_ops = {.open_log = open_log,
                                         .list_logs = list_logs,
                                         .exec = exec,
                                         .attach = attach,
                                         .forward = forward,
                                         .samples = samples,
                                         .latest = door_latest,
                                         .dial = dial,
                                         .count_peers = count_peers,
                                         .cancel_dial = cancel_dial};

struct node *door_new(struct loop *l, const char *pod_root, const char *node_name, struct err *err)
{
    struct door *d = calloc(1, sizeof(*d));
    const char *slash = strrchr(pod_root, '/');

    if (d) {
        d->node.ops = &door_ops;
        d->loop = d->searches.loop = l;
        d->pod_root = strdup(pod_root);
        d->name = strdup(node_name);
        d->node.name = d->name;
        if (asprintf(&d->log_root, "%.*s" POD_LOGS_FOLDER, slash ? (int)(slash + 1 - pod_root) : 0,
                     pod_root) < 0)
            d->log_root = NULL;
    }
    if (d && d->pod_root && d->log_root && d->name)
        return &d->node;
    (void)door_out_of_memory(err);
    door_free(d ? &d->node : NULL);
    return NULL;
}

void door_free(struct node *n)
{
    struct door *d = n ? door_of(n) : NULL;

    if (!d)
        return;
    log_searches_end(&d->searches);
    exec_host_free(d->exec_host);
    free(d->name);
    free(d->pod_root);
    free(d->log_root);
    free(d);
}
