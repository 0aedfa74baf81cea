/* far_session.c - exec, attach and port-forward on a remote node: the node opens the session in the
 * protocol agreed with the client, and from then on bytes are relayed unchanged (net/tunnel.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/percent.h"
#include "door/door_internal.h"
#include "door/far_internal.h"
#include "net/tunnel.h"

#define REQUEST_LIMIT_BYTES (1024u * 1024u)
#define PROTOCOL_SIZE 64
#define DIAL_MS 5000
/* They block pool threads, which others need too. */
#define DIALS_AT_ONCE 2u

struct far_session {
    struct node_session session;
    struct far_session *prev, *next; /* among all, or (not begun) among those waiting */
    struct far_node *node;
    struct tunnel *tunnel;
    struct buf request;
    char offer[PROTOCOL_SIZE], protocol[PROTOCOL_SIZE];
    node_session_fn *fn; /* NULL once called */
    void *arg;
    bool dialing;
};

static void begin_waiting(struct far *f);

static void session_free(struct far_session *s)
{
    struct far *f = s->node->far;

    list_remove(s->tunnel ? &f->sessions : &f->waiting, s);
    f->asks--;
    f->dialing -= s->dialing;
    tunnel_free(s->tunnel);
    far_node_release(s->node);
    buf_release(&s->request);
    free(s);
    begin_waiting(f);
}

static void tell(struct far_session *s, const struct err *err)
{
    node_session_fn *fn = s->fn;
    void *arg = s->arg;
    struct node_session *session = err ? NULL : &s->session;

    s->fn = NULL;
    if (err)
        session_free(s);
    fn(arg, session, err);
}

/* --- the tunnel's events ---------------------------------------------------------------- */

static void dialled(struct far_session *s)
{
    s->node->far->dialing -= s->dialing;
    s->dialing = false;
}

static void on_opened(void *arg, const struct http_answer *answer)
{
    struct far_session *s = arg;
    const char *spoken = http_answer_field(answer, s->offer);
    auto_err err = ERR_INIT;

    dialled(s);
    begin_waiting(s->node->far);
    if (!spoken || strcmp(spoken, s->protocol) != 0)
        (void)err_set(&err, ERR_UNAVAILABLE, "%s does not speak %s", s->node->who, s->protocol);
    tell(s, err_is_set(&err) ? &err : NULL);
}

static void on_refused(void *arg, const struct http_answer *answer, struct buf *body)
{
    struct far_session *s = arg;
    auto_err err = ERR_INIT;

    far_refusal(s->node, answer->status, body->len ? body->data : "", body->len, &err);
    tell(s, &err);
}

static void on_failed(void *arg, const struct err *why)
{
    struct far_session *s = arg;
    auto_err err = ERR_INIT;

    if (strncmp(why->text, s->node->who, strlen(s->node->who)) == 0)
        (void)err_set(&err, why->reason, "%s at %s", why->text, s->node->url);
    else
        far_refusal(s->node, 0, why->text, strlen(why->text), &err);
    tell(s, &err);
}

static void on_over(void *arg)
{
    struct far_session *s = arg;

    s->session.on_over(s->session.on_over_arg);
}

static const struct tunnel_handler events = {
    .opened = on_opened, .refused = on_refused, .failed = on_failed, .over = on_over};

/* --- the session ------------------------------------------------------------------------ */

static struct far_session *self_of(struct node_session *s)
{
    return container_of(s, struct far_session, session);
}

static int begin(struct node_session *session, int fd, const char *early, size_t early_len,
                 enum mux_kind kind)
{
    (void)kind; /* as negotiated with the node */
    return tunnel_join(self_of(session)->tunnel, fd, early, early_len);
}

static void free_session(struct node_session *session)
{
    session_free(self_of(session));
}

static const struct node_session_ops session_ops = {.begin = begin, .free = free_session};

/* --- requesting -------------------------------------------------------------------------- */

static void dial(struct far_session *s)
{
    struct far_node *n = s->node;
    struct far *f = n->far;
    const struct tunnel_options how = {.loop = f->loop,
                                       .server = {.url = n->url,
                                                  .reach = {.ca_pem = n->ca_pem,
                                                            .cert_pem = f->certificate.data,
                                                            .key_pem = f->key.data},
                                                  .timeout_ms = DIAL_MS},
                                       .who = n->who,
                                       .wait_ms = FAR_WAIT_MS};
    auto_err err = ERR_INIT;

    s->tunnel = tunnel_open(&how, &s->request, &events, s);
    if (!s->tunnel) {
        (void)door_out_of_memory(&err);
        tell(s, &err);
        return;
    }
    list_remove(&f->waiting, s);
    list_push(&f->sessions, s);
    s->dialing = true;
    f->dialing++;
}

static void begin_waiting(struct far *f)
{
    struct far_session *last = f->waiting;

    while (last && last->next)
        last = last->next;
    if (last && f->dialing < DIALS_AT_ONCE && !f->stopped)
        dial(last);
}

static void write_request(struct far_session *s, const char *what, const struct node_pod *pod,
                          const struct node_command *c, const struct node_ports *ports,
                          const struct node_upgrade *u)
{
    static const char *const streams[NODE_STREAMS] = {
        [NODE_STDIN] = "input", [NODE_STDOUT] = "output", [NODE_STDERR] = "error"};
    const char *const words[] = {what, pod->ns, pod->name, pod->uid, c ? c->container : NULL, NULL};
    struct buf *b = &s->request;
    bool websocket = u->kind != MUX_SPDY;

    buf_adds(b, websocket ? "GET " : "POST ");
    for (const char *const *w = words; *w; w++) {
        buf_addc(b, '/');
        percent_encode(b, *w);
    }
    buf_adds(b, "?");
    for (size_t i = 0; c && i < NODE_STREAMS; i++)
        if (c->wanted[i])
            buf_addf(b, "%s=1&", streams[i]);
    if (c && c->tty)
        buf_adds(b, "tty=1&");
    for (size_t i = 0; ports && i < ports->count; i++)
        buf_addf(b, "port=%u&", ports->all[i]);
    for (const char *const *w = c ? c->argv : NULL; w && *w; w++) {
        buf_adds(b, "command=");
        percent_encode(b, *w);
        buf_addc(b, '&');
    }
    buf_addf(b,
             " HTTP/1.1\r\nHost: %s\r\nUser-Agent: muster\r\nConnection: Upgrade\r\n"
             "Upgrade: %s\r\n%s: %s\r\n",
             s->node->url + strlen("https://"), u->to, u->offer, u->protocol);
    /* The key only prevents cached answers, and there is no cache in between. */
    if (websocket)
        buf_adds(b, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bXVzdGVyOnNlcnZlcjAxMg==\r\n");
    else
        buf_adds(b, "Content-Length: 0\r\n");
    buf_adds(b, "\r\n");
}

static void ask(struct node *node, const char *what, const struct node_pod *pod,
                const struct node_command *c, const struct node_ports *ports,
                const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    struct far_node *n = container_of(node, struct far_node, node);
    struct far *f = n->far;
    auto_err err = ERR_INIT;
    struct far_session *s = far_may_ask(f, &err) == 0 ? calloc(1, sizeof(*s)) : NULL;

    if (!s) {
        (void)door_out_of_memory(&err); /* unless already set */
        fn(arg, NULL, &err);
        return;
    }
    s->session.ops = &session_ops;
    s->node = n;
    s->fn = fn;
    s->arg = arg;
    buf_init(&s->request, REQUEST_LIMIT_BYTES);
    (void)snprintf(s->offer, sizeof(s->offer), "%s", u->offer);
    (void)snprintf(s->protocol, sizeof(s->protocol), "%s", u->protocol);
    write_request(s, what, pod, c, ports, u);
    far_node_hold(n);
    list_push(&f->waiting, s);
    f->asks++;
    begin_waiting(f);
}

void far_exec(struct node *n, const struct node_pod *pod, const struct node_command *c,
              const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    ask(n, "exec", pod, c, NULL, u, fn, arg);
}

void far_attach(struct node *n, const struct node_pod *pod, const struct node_command *c,
                const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    ask(n, "attach", pod, c, NULL, u, fn, arg);
}

void far_forward(struct node *n, const struct node_pod *pod, const struct node_ports *ports,
                 const struct node_upgrade *u, node_session_fn *fn, void *arg)
{
    ask(n, "portForward", pod, NULL, ports, u, fn, arg);
}

void far_stop_sessions(struct far *f, const struct err *why)
{
    for (struct far_session *s = f->waiting, *next; s; s = next) {
        next = s->next;
        tell(s, why);
    }
    for (struct far_session *s = f->sessions, *next; s; s = next) {
        next = s->next;
        if (s->fn)
            tell(s, why);
    }
}
