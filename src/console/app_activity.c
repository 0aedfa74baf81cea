/*
 * app_activity.c - see app_activity.h.
 *
 * A round lists the apps that report activity, and polls those that run and were not used just now.
 * Failures are ignored: the next round polls again.
 */
#include "console/app_activity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "net/http_answer.h"
#include "net/origin.h"

#define ROUND_LIMIT_BYTES (64u * 1024u * 1024u)
#define ASK_LIMIT_BYTES (4u * 1024u * 1024u) /* for polling one app */
#define ANSWER_LIMIT_BYTES (256u * 1024u)
#define READ_BYTES 4096u
#define ANSWER_WAIT_MS 10000

struct one {
    struct one *next;
    const struct app_kind *kind;
    const char *ns, *name, *uid, *pod, *url;
    int64_t used_ms;
};

struct app_activity {
    struct loop *loop;
    struct transport *transport;
    struct node *node;
    int64_t period_ms;
    struct clock_timer *next_round, *patience;
    size_t listed;           /* kinds, in this round */
    struct arena arena;      /* for the round */
    struct one *first, *now; /* to be polled; and the current one */

    struct arena ask; /* for the current app */
    char *pod_uid;
    unsigned port, ssh_port;
    size_t path; /* being requested */
    int64_t active_ms;
    struct pod_dial *dial;
    int fd;
    struct loop_fd *watch;
    bool sent;
    struct buf up, out;
    struct http_answer answer;
};

bool app_say_used(struct transport *t, struct arena *a, const struct kind *k, const char *ns,
                  const char *name, const char *annotation, int64_t when_ms, client_fn *fn,
                  void *arg)
{
    struct json *patch = json_new_object(a);
    char text[TIME_TEXT_SIZE];

    json_set_string(a, json_make_object(a, json_make_object(a, patch, "metadata"), "annotations"),
                    annotation, time_format(when_ms, text));
    if (arena_failed(a))
        return false;
    client_patch(t, k, ns, name, "", patch, fn, arg);
    return true;
}

void app_add_token(struct buf *out, const char *token)
{
    if (*token && origin_is_printable(token))
        buf_addf(out, "Authorization: token %s\r\n", token);
}

/* --- one app ---------------------------------------------------------------------------------- */

static void ask_next(struct app_activity *w);

static void hang_up(struct app_activity *w)
{
    if (w->dial)
        w->node->ops->cancel_dial(w->node, w->dial);
    w->dial = NULL;
    loop_fd_stop(w->watch);
    w->watch = NULL;
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    clock_stop(loop_clock(w->loop), w->patience);
    w->patience = NULL;
    http_answer_release(&w->answer);
    http_answer_init(&w->answer, false);
    buf_release(&w->up);
    buf_release(&w->out);
}

static void said(void *arg, const struct json *object, const struct err *err)
{
    (void)object, (void)err;
    ask_next(arg);
}

static void say_used(void *arg, const struct json *object, const struct err *err)
{
    struct app_activity *w = arg;
    const struct one *o = w->now;

    (void)object, (void)err;
    if (w->active_ms / 1000 <= o->used_ms / 1000 || /* at the precision of the annotation */
        !app_say_used(w->transport, &w->ask, o->kind->job->kind, o->ns, o->name,
                      ANNOTATION_LAST_USED, w->active_ms, said, w))
        ask_next(w);
}

static void on_peers(void *arg, int peers, const char *token)
{
    struct app_activity *w = arg;
    const struct one *o = w->now;

    (void)token;
    w->dial = NULL;
    if (peers <= 0) {
        say_used(w, NULL, NULL);
        return;
    }
    w->active_ms = clock_now_ms(loop_clock(w->loop));
    if (!app_say_used(w->transport, &w->ask, o->kind->job->kind, o->ns, o->name,
                      ANNOTATION_LAST_SSH, w->active_ms, say_used, w))
        ask_next(w);
}

static void asked_all(struct app_activity *w)
{
    const struct one *o = w->now;
    const struct node_pod pod = {o->ns, o->pod, w->pod_uid};

    if (w->ssh_port)
        w->dial = w->node->ops->count_peers(w->node, &pod, w->ssh_port, on_peers, w);
    if (!w->dial)
        say_used(w, NULL, NULL);
}

static void ask_path(struct app_activity *w);

static void path_asked(struct app_activity *w)
{
    int64_t now_ms = clock_now_ms(loop_clock(w->loop));
    const struct json *answer = w->answer.state == ANSWER_DONE && w->answer.status == 200
                                    ? json_parse(&w->ask, w->out.data, w->out.len, NULL)
                                    : NULL;

    if (answer)
        w->active_ms = max_i64(w->active_ms,
                               min_i64(w->now->kind->active_ms(answer, now_ms), now_ms));
    hang_up(w);
    w->path++;
    ask_path(w);
}

static void on_patience(void *arg)
{
    struct app_activity *w = arg;

    w->patience = NULL;
    path_asked(w);
}

static void receive(struct app_activity *w)
{
    char bytes[READ_BYTES];
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 ? http_answer_end(&w->answer) < 0
               : http_answer_feed(&w->answer, bytes, (size_t)n, &w->out) < 0)
        w->answer.status = 0;
    if (n <= 0 || w->answer.status == 0 || w->answer.state == ANSWER_DONE)
        path_asked(w);
}

static void on_socket(void *arg, unsigned events)
{
    struct app_activity *w = arg;

    /* A few hundred bytes into a new connection: accepted completely, or it is useless. */
    if (!w->sent) {
        w->sent = send(w->fd, w->up.data, w->up.len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                  (ssize_t)w->up.len;
        if (!w->sent || loop_fd_change(w->watch, LOOP_READABLE) < 0)
            path_asked(w);
    } else if (events & (LOOP_READABLE | LOOP_HANGUP)) {
        receive(w);
    }
}

static void on_dialled(void *arg, int fd, const char *token)
{
    struct app_activity *w = arg;
    const struct one *o = w->now;

    w->dial = NULL;
    if (fd < 0) {
        asked_all(w);
        return;
    }
    w->fd = fd;
    w->sent = false;
    buf_init(&w->up, ANSWER_LIMIT_BYTES);
    buf_init(&w->out, ANSWER_LIMIT_BYTES);
    buf_addf(&w->up, "GET %s%s HTTP/1.1\r\nHost: " APP_PROGRAM_HOST "\r\nConnection: close\r\n",
             o->url, o->kind->activity_paths[w->path]);
    app_add_token(&w->up, token);
    buf_adds(&w->up, "\r\n");
    w->watch = w->up.failed ? NULL : loop_fd_watch(w->loop, fd, LOOP_WRITABLE, on_socket, w);
    w->patience = clock_start(loop_clock(w->loop), ANSWER_WAIT_MS, on_patience, w);
    if (!w->watch || !w->patience)
        path_asked(w);
}

static void ask_path(struct app_activity *w)
{
    const struct one *o = w->now;
    const struct node_pod pod = {o->ns, o->pod, w->pod_uid};

    if (o->kind->activity_paths[w->path])
        w->dial = w->node->ops->dial(w->node, &pod, w->port, on_dialled, w);
    if (!w->dial)
        asked_all(w);
}

static void got_pod(void *arg, const struct json *pod, const struct err *err)
{
    struct app_activity *w = arg;
    const struct one *o = w->now;

    if (err || !object_is_controlled_by(pod, o->uid) || object_is_deleting(pod)) {
        ask_next(w);
        return;
    }
    w->port = app_port(o->kind, pod);
    w->ssh_port = app_ssh_port(o->kind, pod);
    w->pod_uid = arena_strdup(&w->ask, object_uid(pod));
    if (w->pod_uid)
        ask_path(w);
    else
        ask_next(w);
}

/* --- a round ---------------------------------------------------------------------------------- */

static void on_round(void *arg);

static void end_round(struct app_activity *w)
{
    arena_release(&w->arena);
    w->first = w->now = NULL;
    w->next_round = clock_start(loop_clock(w->loop), w->period_ms, on_round, w);
}

static void ask_next(struct app_activity *w)
{
    hang_up(w);
    arena_release(&w->ask);
    w->now = w->first;
    if (!w->now) {
        end_round(w);
        return;
    }
    w->first = w->now->next;
    w->path = 0;
    w->active_ms = 0;
    client_get(w->transport, &kind_pod, w->now->ns, w->now->pod, got_pod, w);
}

static void add_one(struct app_activity *w, const struct app_kind *k, const struct json *app)
{
    int64_t used_ms = object_time(json_at(app, "metadata", "annotations"), ANNOTATION_LAST_USED);
    int64_t since = clock_now_ms(loop_clock(w->loop)) - used_ms;
    struct one *o;

    if (!json_string_is(json_at(app, "status", "phase"), "Running") ||
        (since >= 0 && since < w->period_ms && !port_wants_ssh(app)))
        return;
    o = arena_alloc(&w->arena, sizeof(*o));
    if (!o)
        return;
    *o = (struct one){.next = w->first,
                      .kind = k,
                      .ns = arena_strdup(&w->arena, object_namespace(app)),
                      .name = arena_strdup(&w->arena, object_name(app)),
                      .uid = arena_strdup(&w->arena, object_uid(app)),
                      .pod = app_child_name(&w->arena, k, app),
                      .url = app_url(&w->arena, k, app),
                      .used_ms = used_ms};
    if (!arena_failed(&w->arena))
        w->first = o;
}

static void list_next(struct app_activity *w);

static void listed(void *arg, const struct json *list, const struct err *err)
{
    struct app_activity *w = arg;
    const struct app_kind *k = app_kinds[w->listed++];

    json_each (app, err ? NULL : json_get(list, "items"))
        add_one(w, k, app);
    list_next(w);
}

static void list_next(struct app_activity *w)
{
    while (app_kinds[w->listed] && !app_kinds[w->listed]->active_ms)
        w->listed++;
    if (app_kinds[w->listed])
        client_list(w->transport, app_kinds[w->listed]->job->kind, NULL, NULL, listed, w);
    else
        ask_next(w);
}

static void on_round(void *arg)
{
    struct app_activity *w = arg;

    w->next_round = NULL;
    w->listed = 0;
    list_next(w);
}

/* --- life ------------------------------------------------------------------------------------- */

struct app_activity *app_activity_new(struct loop *loop, struct transport *t, struct node *node,
                                      const struct idle_times *times)
{
    struct app_activity *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->loop = loop;
    w->transport = t;
    w->node = node;
    w->fd = -1;
    w->period_ms = app_touch_ms(times);
    arena_init(&w->arena, ROUND_LIMIT_BYTES);
    arena_init(&w->ask, ASK_LIMIT_BYTES);
    http_answer_init(&w->answer, false);
    w->next_round = clock_start(loop_clock(loop), w->period_ms, on_round, w);
    if (w->next_round)
        return w;
    free(w);
    return NULL;
}

void app_activity_free(struct app_activity *w)
{
    if (!w)
        return;
    client_forget(w);
    hang_up(w);
    http_answer_release(&w->answer);
    clock_stop(loop_clock(w->loop), w->next_round);
    arena_release(&w->arena);
    arena_release(&w->ask);
    free(w);
}
