/*
 * handover.c - pods/NAME/exec, attach and portforward: the caller is already authorized; pod and
 * container are determined here, and the connection becomes the node's (port/node.h). Errors before
 * that are reported before the upgrade, as a Status.
 */
#include <stdlib.h>
#include <string.h>

#include "loop/file.h"
#include "net/query.h"
#include "net/upgrade.h"
#include "server/machine_access.h"
#include "server/request_metrics.h"
#include "server/session.h"

struct handover {
    struct session session;
    struct server_request *request; /* NULL once answered */
    struct node_session *node;      /* NULL until the node has opened it */
    struct upgrade upgrade;
    bool gone; /* from the server, while the node is opening it */
};

/* --- the connection -------------------------------------------------------------------- */

static void free_handover(struct session *s)
{
    struct handover *h = container_of(s, struct handover, session);

    session_remove(s);
    if (h->request) {
        h->gone = true; /* the node's answer is still to come */
        return;
    }
    h->node->ops->free(h->node);
    free(h);
}

static void on_over(void *arg)
{
    struct handover *h = arg;

    free_handover(&h->session);
}

static void on_upgraded(void *arg, int fd, const char *early, size_t early_len)
{
    struct handover *h = arg;

    if (!session_opened(&h->session))
        file_close(&fd);
    if (fd < 0 || h->node->ops->begin(h->node, fd, early, early_len, h->upgrade.kind) < 0)
        free_handover(&h->session);
}

static void on_session(void *arg, struct node_session *node, const struct err *err)
{
    struct handover *h = arg;
    struct server_request *r = h->request;
    auto_err stopping = ERR_INIT;

    if (h->gone && node) {
        node->ops->free(node);
        (void)err_set(&stopping, ERR_UNAVAILABLE, "the server is stopping");
        err = &stopping;
    }
    if (err || !node) {
        if (!h->gone)
            session_remove(&h->session);
        free(h);
        reply_node_err(r, err);
        return;
    }
    h->node = node;
    node->on_over = on_over;
    node->on_over_arg = h;
    h->request = NULL;
    request_metrics_end(r, 101, true);
    r->front->upgrade(r, h->upgrade.headers, h->upgrade.header_count, on_upgraded, h);
}

/* Also NULL for fronts without headers: the in-process transport upgrades nothing. */
static const char *header(void *arg, const char *name)
{
    struct server_request *r = arg;

    return r->front->header ? r->front->header(r, name) : NULL;
}

/* The protocol is negotiated first, because the node needs to know it. */
static struct handover *handover_new(struct server_request *r, enum upgrade_use use,
                                     struct node_upgrade *ret, struct err *err)
{
    const struct upgrade_request asked = {.method = r->method, .header = header, .arg = r};
    struct handover *h = calloc(1, sizeof(*h));
    int rc = h ? upgrade_negotiate(&asked, use, r->arena, &h->upgrade, err) : out_of_memory(err);

    if (rc == 0)
        rc = session_add(r, &h->session, free_handover, err);
    if (!h || rc < 0) {
        free(h);
        return NULL;
    }
    h->request = r;
    *ret = (struct node_upgrade){.kind = h->upgrade.kind,
                                 .to = h->upgrade.headers[0].value,
                                 .offer = h->upgrade.headers[1].name,
                                 .protocol = h->upgrade.headers[1].value};
    return h;
}

/* --- the request ----------------------------------------------------------------------- */

static int check_phase(const struct json *pod, struct err *err)
{
    const char *phase = json_string(json_at(pod, "status", "phase"), "");

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot exec into a container in a completed pod; current phase is %s",
                       phase);
    return 0;
}

static int check_running(const struct json *pod, struct err *err)
{
    const char *phase = json_string(json_at(pod, "status", "phase"), "");

    if (strcmp(phase, "Running") == 0)
        return 0;
    return err_set(err, ERR_BAD_REQUEST,
                   "unable to forward port because pod is not running. Current status=%s", phase);
}

/* --- verbs ----------------------------------------------------------------------------- */

/* exec and attach; attach has no command, and is allowed for a pod that has ended. */
static int run_command(struct server_request *r, bool exec, struct err *err)
{
    static const char *const streams[NODE_STREAMS] = {
        [NODE_STDIN] = "stdin", [NODE_STDOUT] = "stdout", [NODE_STDERR] = "stderr"};
    const char *key, *query = r->query ? r->query : "";
    const struct store_item *item;
    const struct json *pod = request_load(r, &key, &item, err);
    struct node_command c = {0};
    struct node_upgrade u;
    struct node_pod which;
    struct handover *h;
    struct node *node;

    if (!pod || pod_choose_container(r, pod, &c.container, err) < 0 ||
        (exec && check_phase(pod, err) < 0) ||
        query_streams(r->arena, query, streams, &c, err) < 0 ||
        (exec && query_argv(r->arena, query, &c, err) < 0) ||
        !(node = pod_node(r, pod, &which, err)) || machine_access_enter(r, pod, err) < 0 ||
        !(h = handover_new(r, UPGRADE_REMOTE_COMMAND, &u, err)))
        return -1;
    (exec ? node->ops->exec : node->ops->attach)(node, &which, &c, &u, on_session, h);
    return 0;
}

int verb_exec(struct server_request *r, struct err *err)
{
    return run_command(r, true, err);
}

int verb_attach(struct server_request *r, struct err *err)
{
    return run_command(r, false, err);
}

int verb_forward(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, err);
    struct node_ports ports;
    struct node_upgrade u;
    struct node_pod which;
    struct handover *h;
    struct node *node;

    if (!pod || check_running(pod, err) < 0 || !(node = pod_node(r, pod, &which, err)) ||
        query_ports(r->arena, r->query ? r->query : "", "ports", &ports, err) < 0 ||
        !(h = handover_new(r, UPGRADE_PORT_FORWARD, &u, err)))
        return -1;
    node->ops->forward(node, &which, &ports, &u, on_session, h);
    return 0;
}
