/* server.c - starts and stops the server: its collections and standard namespaces. */
#include "server/server.h"

#include <stdlib.h>

#include "server/internal.h"
#include "server/login.h"
#include "server/request_metrics.h"
#include "server/session.h"

struct server *server_new(const struct server_options *options, struct err *err)
{
    struct server *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)out_of_memory(err);
        return NULL;
    }
    s->other_loopback = -1;
    s->loop = options->loop;
    s->store = options->store;
    s->clock = options->clock ? options->clock : loop_clock(options->loop);
    s->has_controllers = options->has_controllers;
    s->root_pods = options->root_pods;
    s->overcommit = options->overcommit;
    s->kubeconfig_path = options->kubeconfig_path;
    buf_init(&s->scratch, OBJECT_LIMIT_BYTES);
    buf_init(&s->shown, SHOWN_LIMIT_BYTES);
    s->metrics = request_metrics_new();
    if (!s->metrics || login_start(s, options->sessions_path) < 0) {
        (void)out_of_memory(err);
        goto fail;
    }
    if (server_list_kinds(s, err) < 0 || definitions_start(s, err) < 0 ||
        namespaces_make(s, err) < 0)
        goto fail;
    s->first_revision = store_next_revision(s->store) - 1;
    damage_announce(s);
    namespaces_sweep_soon(s);
    events_expire_soon(s);
    age_later(s);
    return s;
fail:
    server_free(s);
    return NULL;
}

void server_set_nodes(struct server *s, struct node *own, struct node_directory *others)
{
    s->node = own;
    s->directory = others;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    front_close(s);
    sessions_close(s);
    webhooks_free(s);
    sessions_release(&s->logins);
    wait_free_all(s);
    clock_stop(s->clock, s->event_timer);
    clock_stop(s->clock, s->age_timer);
    clock_stop(s->clock, s->namespace_timer);
    free(s->event_cursor);
    buf_release(&s->scratch);
    buf_release(&s->shown);
    quota_free(s);
    room_free(s);
    free(s->addresses);
    definitions_free(s);
    server_forget_kinds(s);
    request_metrics_unref(s->metrics);
    free(s);
}
