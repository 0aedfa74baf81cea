/* cmd_controller.c - `muster controller`: the controllers alone, as clients of an API server
 * elsewhere. */
#include <stdlib.h>

#include "api/object.h"
#include "cli/common_options.h"
#include "cli/elected.h"
#include "cli/worker.h"

struct controller_options {
    const char *kubeconfig, *ns, *health;
    bool no_scheduler, shared_network, overcommit, verbose;
};

static const struct option_spec options[] = {
    OPTION_KUBECONFIG(struct controller_options),
    OPTION_LEASE_NAMESPACE(struct controller_options),
    OPTION_HEALTH(struct controller_options),
    OPTION_OF_FLAG(struct controller_options, no_scheduler, "no-scheduler",
                   "leave scheduling to `muster scheduler`"),
    OPTION_OF_FLAG(struct controller_options, shared_network, "shared-network",
                   "on a Kubernetes cluster too, pods share their machine's network: its nodes "
                   "are `muster node`"),
    OPTION_OVERCOMMIT(struct controller_options),
    OPTION_VERBOSE(struct controller_options),
    {0},
};

/* The scheduler has a lease of its own: `muster scheduler` may have it. */
struct clients {
    struct elected *controllers, *scheduler; /* scheduler may be NULL */
};

static void stop(void *clients)
{
    struct clients *c = clients;

    if (!c)
        return;
    elected_free(c->controllers);
    elected_free(c->scheduler);
    free(c);
}

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct controller_options *o = values;
    struct clients *c = calloc(1, sizeof(*c));
    struct elected_options how = {.lease = LEASE_CONTROLLER,
                                  .ns = o->ns,
                                  .shared_network = o->shared_network,
                                  .control = {.transport = t,
                                              .clock = loop_clock(l),
                                              .parts = CONTROL_JOBS | CONTROL_GC | CONTROL_NODES,
                                              .overcommit = o->overcommit,
                                              .shared_network = true}};

    (void)server;
    if (c)
        c->controllers = elected_new(&how, err);
    how.lease = LEASE_SCHEDULER;
    how.control.parts = CONTROL_SCHEDULER;
    if (c && c->controllers && !o->no_scheduler)
        c->scheduler = elected_new(&how, err);
    if (c && c->controllers && (c->scheduler || o->no_scheduler))
        return c;
    stop(c);
    return NULL;
}

static const char *trouble(void *clients)
{
    struct clients *c = clients;
    const char *why = elected_trouble(c->controllers);

    return why || !c->scheduler ? why : elected_trouble(c->scheduler);
}

static bool leads(void *clients)
{
    struct clients *c = clients;

    return elected_leads(c->controllers);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct controller_options *o = values;
    const struct worker w = {.kubeconfig = o->kubeconfig,
                             .verbose = o->verbose,
                             .start = start,
                             .stop = stop,
                             .options = o,
                             .health = o->health,
                             .trouble = trouble,
                             .leads = leads};

    (void)args;
    return worker_run(cli, &w);
}

const struct command command_controller = {
    .name = "controller",
    .args = "",
    .summary = "Run only the controllers, against an API server",
    .help = "  muster up --only api --detach\n"
            "  muster controller --kubeconfig ~/.muster/kubeconfig\n\n"
            "Several may run; the one that holds the Lease kube-system/muster-controller acts, and "
            "for\n"
            "the scheduler in it the one that holds kube-system/muster-scheduler. In a pod of a "
            "cluster\n"
            "it needs no --kubeconfig (`muster manifests` prints what to install there).\n",
    .options = options,
    .options_size = sizeof(struct controller_options),
    .run = run,
};
