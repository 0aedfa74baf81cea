/* cmd_controller.c - `muster controller`: the controllers alone, as clients of an API server
 * elsewhere. */
#include <stdlib.h>

#include "cli/common_options.h"
#include "cli/elected.h"
#include "cli/worker.h"

struct controller_options {
    const char *kubeconfig;
    bool overcommit, verbose;
};

static const struct option_spec options[] = {
    OPTION_KUBECONFIG(struct controller_options),
    OPTION_OVERCOMMIT(struct controller_options),
    OPTION_VERBOSE(struct controller_options),
    {0},
};

/* The scheduler has a lease of its own: `muster scheduler` may have it. */
struct clients {
    struct elected *controllers, *scheduler;
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
    struct control_options how = {.transport = t,
                                  .clock = loop_clock(l),
                                  .parts = CONTROL_JOBS | CONTROL_GC | CONTROL_NODES,
                                  .overcommit = o->overcommit,
                                  .shared_network = true};

    (void)server;
    if (c)
        c->controllers = elected_new("muster-controller", &how, err);
    how.parts = CONTROL_SCHEDULER;
    if (c && c->controllers)
        c->scheduler = elected_new("muster-scheduler", &how, err);
    if (c && c->scheduler)
        return c;
    stop(c);
    return NULL;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct controller_options *o = values;
    const struct worker w = {.kubeconfig = o->kubeconfig,
                             .verbose = o->verbose,
                             .start = start,
                             .stop = stop,
                             .options = o};

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
            "the scheduler in it the one that holds kube-system/muster-scheduler.\n",
    .options = options,
    .options_size = sizeof(struct controller_options),
    .run = run,
};
