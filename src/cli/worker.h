/* worker.h - a process that only runs clients of an API server elsewhere: controllers, a node's
 * agent. */
#ifndef MUSTER_CLI_WORKER_H
#define MUSTER_CLI_WORKER_H

#include "cli/command.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "port/transport.h"

struct worker {
    const char *kubeconfig; /* NULL: from the pod it runs in */
    bool verbose;
    /* Creates the clients of that server; NULL with err set. They run until stop, which is called
     * before the transport is freed. */
    void *(*start)(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *options, struct err *err);
    void (*stop)(void *clients);
    const void *options;
    const char *health;                    /* address for /healthz, or NULL */
    const char *(*trouble)(void *clients); /* see health.h; with health */
    bool (*leads)(void *clients);
};

/* Until SIGINT, SIGTERM or SIGHUP. */
enum exit_code worker_run(struct cli *cli, const struct worker *w);

#endif
