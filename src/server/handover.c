/*
 * handover.c - pods/NAME/exec, attach and portforward: who asks was authorised; which pod and
 * container is worked out here, and the connection becomes the node's (port/node.h). What is wrong
 * before is said before the upgrade, as a Status.
 */
#include <stdlib.h>
#include <string.h>

#include "loop/file.h"
#include "net/upgrade.h"
#include "server/session.h"

#define ARGV_LIMIT 1000u

struct handover {
    struct session session;
    struct node_session *node;
    enum mux_kind kind;
};

/* --- the connection -------------------------------------------------------------------- */

static void free_handover(struct session *s)
{
    struct handover *h = container_of(s, struct handover, session);

    h->node->ops->free(h->node);
    session_remove(s);
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
    if (fd < 0 || h->node->ops->begin(h->node, fd, early, early_len, h->kind) < 0)
        free_handover(&h->session);
}

/* NULL also where the front has none: the in-process transport upgrades nothing. */
static const char *header(void *arg, const char *name)
{
    struct server_request *r = arg;

    return r->front->header ? r->front->header(r, name) : NULL;
}

/* The session is freed when it comes to nothing. */
static int hand_over(struct server_request *r, enum upgrade_use use, struct node_session *node,
                     struct err *err)
{
    const struct upgrade_request asked = {.method = r->method, .header = header, .arg = r};
    struct handover *h = calloc(1, sizeof(*h));
    struct upgrade u;
    int rc = h ? upgrade_negotiate(&asked, use, r->arena, &u, err) : out_of_memory(err);

    if (rc == 0)
        rc = session_add(r, &h->session, free_handover, err);
    if (!h || rc < 0) {
        node->ops->free(node);
        free(h);
        return rc;
    }
    h->node = node;
    h->kind = u.kind;
    node->on_over = on_over;
    node->on_over_arg = h;
    r->front->upgrade(r, u.headers, u.header_count, on_upgraded, h);
    return 0;
}

/* --- what is asked for ----------------------------------------------------------------- */

static int read_streams(const struct server_request *r, struct node_command *c, struct err *err)
{
    static const char *const names[NODE_STREAMS] = {
        [NODE_STDIN] = "stdin", [NODE_STDOUT] = "stdout", [NODE_STDERR] = "stderr"};

    for (int i = 0; i < NODE_STREAMS; i++)
        c->wanted[i] = query_is_true(r, names[i]);
    c->tty = query_is_true(r, "tty");
    if (!c->wanted[NODE_STDIN] && !c->wanted[NODE_STDOUT] && !c->wanted[NODE_STDERR])
        return err_set(err, ERR_BAD_REQUEST,
                       "you must specify at least 1 of stdin, stdout, stderr");
    if (c->tty && c->wanted[NODE_STDERR])
        return err_set(err, ERR_BAD_REQUEST, "tty and stderr cannot both be true");
    return 0;
}

static int read_argv(const struct server_request *r, struct node_command *c, struct err *err)
{
    const char **argv = arena_alloc(r->arena, (ARGV_LIMIT + 1) * sizeof(*argv));
    size_t n = 0;

    for (const struct param *p = r->params; p && argv; p = p->next) {
        if (strcmp(p->name, "command") != 0)
            continue;
        if (n == ARGV_LIMIT)
            return err_set(err, ERR_BAD_REQUEST, "a command has at most %u words", ARGV_LIMIT);
        argv[n++] = p->value;
    }
    if (!argv)
        return out_of_memory(err);
    if (n == 0)
        return err_set(err, ERR_BAD_REQUEST, "you must specify a command");
    c->argv = argv;
    return 0;
}

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

int verb_exec(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, err);
    struct node_command c = {0};
    struct node_session *session;
    struct node *node;
    struct node_pod which;

    if (!pod || pod_choose_container(r, pod, &c.container, err) < 0 || check_phase(pod, err) < 0 ||
        read_streams(r, &c, err) < 0 || read_argv(r, &c, err) < 0 ||
        !(node = pod_node(r, pod, &which, err)) ||
        node->ops->exec(node, &which, &c, &session, err) < 0)
        return -1;
    return hand_over(r, UPGRADE_REMOTE_COMMAND, session, err);
}

int verb_attach(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, err);
    struct node_command c = {0};
    struct node_session *session;
    struct node *node;
    struct node_pod which;

    if (!pod || pod_choose_container(r, pod, &c.container, err) < 0 ||
        read_streams(r, &c, err) < 0 || !(node = pod_node(r, pod, &which, err)) ||
        node->ops->attach(node, &which, &c, &session, err) < 0)
        return -1;
    return hand_over(r, UPGRADE_REMOTE_COMMAND, session, err);
}

int verb_forward(struct server_request *r, struct err *err)
{
    const struct store_item *item;
    const char *key;
    const struct json *pod = request_load(r, &key, &item, err);
    struct node_session *session;
    struct node *node;
    struct node_pod which;

    if (!pod || check_running(pod, err) < 0 || !(node = pod_node(r, pod, &which, err)) ||
        node->ops->forward(node, &which, &session, err) < 0)
        return -1;
    return hand_over(r, UPGRADE_PORT_FORWARD, session, err);
}
