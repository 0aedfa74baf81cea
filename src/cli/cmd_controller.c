/* cmd_controller.c - `muster controller`: the controllers alone, as clients of an API server
 * elsewhere. */
#include "cli/common_options.h"
#include "cli/worker.h"
#include "control/control.h"

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

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct controller_options *o = values;
    const struct control_options how = {.transport = t,
                                        .clock = loop_clock(l),
                                        .parts = CONTROL_ALL | CONTROL_NODES,
                                        .overcommit = o->overcommit,
                                        .shared_network = true};

    (void)server;
    return control_new(&how, err);
}

static void stop(void *clients)
{
    control_free(clients);
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
            "  muster controller --kubeconfig ~/.muster/kubeconfig\n",
    .options = options,
    .options_size = sizeof(struct controller_options),
    .run = run,
};
