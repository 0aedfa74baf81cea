/*
 * pod_logs.c - GET /apis/muster.dev/v1/namespaces/NS/podlogs: lists the logs of the namespace's
 * pods, deleted ones included, on all nodes, as lines of JSON (port/node.h). Requires the right to
 * read all logs of the namespace. An unreachable node is a line, too: `node` and `error`.
 */
#include <stdlib.h>
#include <string.h>

#include "server/internal.h"
#include "server/rbac.h"

#define SAID_LIMIT_BYTES (1024u * 1024u)

/* The streams of all nodes, one after the other. */
struct pod_logs {
    struct stream base;
    struct server_request *request; /* until it is answered */
    struct node_round round;
    struct stream **parts;
    size_t len, at;
    struct buf said; /* about unreachable nodes */
};

static ssize_t logs_read(struct stream *s, char *out, size_t cap)
{
    struct pod_logs *k = container_of(s, struct pod_logs, base);
    ssize_t n = STREAM_END;

    while (k->at < k->len) {
        struct stream *part = k->parts[k->at];

        part->on_ready = s->on_ready;
        part->on_ready_arg = s->on_ready_arg;
        n = part->ops->read(part, out, cap);
        if (n != STREAM_END)
            return n;
        k->at++;
    }
    n = (ssize_t)min_size(cap, k->said.len);
    if (n == 0)
        return STREAM_END;
    memcpy(out, k->said.data, (size_t)n);
    buf_consume(&k->said, (size_t)n);
    return n;
}

static void logs_close(struct stream *s)
{
    struct pod_logs *k = container_of(s, struct pod_logs, base);

    for (size_t i = 0; i < k->len; i++)
        k->parts[i]->ops->close(k->parts[i]);
    buf_release(&k->said);
    free(k->parts);
    free(k);
}

static void ask_next(struct pod_logs *k);

static void on_logs(void *arg, struct stream *stream, const struct err *err)
{
    struct pod_logs *k = arg;

    if (err) {
        buf_adds(&k->said, "{\"error\":");
        json_write_string(&k->said, err->text ? err->text : "", strlen(err->text ? err->text : ""));
        buf_adds(&k->said, "}\n");
    } else {
        k->parts[k->len++] = stream;
    }
    ask_next(k);
}

static void ask_next(struct pod_logs *k)
{
    struct node *node = server_next_node(k->request, &k->round);

    if (node)
        node->ops->list_logs(node, k->request->route.ns, on_logs, k);
    else
        reply_stream(k->request, NODE_JSON_LINES_TYPE, &k->base);
}

bool pod_logs_are(const char *group, const char *version, char *const *text, size_t count)
{
    return strcmp(group, "muster.dev") == 0 && strcmp(version, "v1") == 0 && count == 3 &&
           strcmp(text[0], "namespaces") == 0 && strcmp(text[2], "podlogs") == 0;
}

int pod_logs_answer(struct server_request *r, const char *ns, struct err *err)
{
    static const struct stream_ops ops = {.read = logs_read, .close = logs_close};
    const struct access what = {
        .verb = "get", .group = "", .resource = "pods", .subresource = "log", .ns = ns, .name = ""};
    struct pod_logs *k;
    int rc = rbac_check_access(r, &what, err);

    if (rc < 0)
        return rc;
    if (strcmp(r->method, "GET") != 0)
        return err_set(err, ERR_METHOD_NOT_ALLOWED, "only GET is allowed here");
    k = calloc(1, sizeof(*k));
    if (k)
        k->parts = calloc(SERVER_NODES_LIMIT + 1, sizeof(struct stream *));
    if (!k || !k->parts) {
        free(k);
        return out_of_memory(err);
    }
    k->base.ops = &ops;
    k->request = r;
    r->route.ns = ns;
    buf_init(&k->said, SAID_LIMIT_BYTES);
    ask_next(k);
    return 0;
}
