/* worker.c - see worker.h. */
#include "cli/worker.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/daemon.h"
#include "cli/health.h"
#include "cli/session.h"
#include "client/http_transport.h"

static int work(const struct worker *w, const struct client_config *config, struct loop *l,
                struct err *err)
{
    struct loop_signal *signals[4] = {0};
    struct transport *t = http_transport_new(l, config, err);
    void *clients = t ? w->start(l, t, config, w->options, err) : NULL;
    int r = clients ? daemon_watch_signals(l, signals, err) : -EIO;
    struct health *health = NULL;

    if (r == 0 && w->health) {
        health = health_new(&(struct health_options){.loop = l,
                                                     .address = w->health,
                                                     .trouble = w->trouble,
                                                     .leads = w->leads,
                                                     .arg = clients},
                            err);
        r = health ? 0 : -EIO;
    }
    if (r == 0) {
        log_info("working for the API server at %s", config->server);
        loop_run(l);
    }
    health_free(health);
    if (clients)
        w->stop(clients);
    transport_free(t);
    daemon_unwatch_signals(signals);
    return r;
}

enum exit_code worker_run(struct cli *cli, const struct worker *w)
{
    auto_err err = ERR_INIT;
    struct client_config config;
    struct loop *l;
    int r;

    if (!w->kubeconfig && !getenv("KUBERNETES_SERVICE_HOST")) {
        talk_errorf(&cli->talk, "--kubeconfig is required: it names the API server");
        return EXIT_USAGE;
    }
    daemon_keep_to_itself();
    log_set_level(w->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    r = session_find_cluster(cli, &(struct session_options){.kubeconfig = w->kubeconfig}, true,
                             &config, &err);
    l = r ? NULL : loop_new(&err);
    if (!l)
        return command_fail(cli, &err);
    r = work(w, &config, l, &err);
    loop_free(l);
    return r ? command_fail(cli, &err) : EXIT_OK;
}
