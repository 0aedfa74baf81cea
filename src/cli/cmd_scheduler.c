/* cmd_scheduler.c - `muster scheduler`: the scheduler alone, a client of an API server elsewhere.
 */
#include "api/object.h"
#include "cli/common_options.h"
#include "cli/elected.h"
#include "cli/worker.h"

struct scheduler_command {
    const char *kubeconfig, *ns, *health;
    bool as_default, overcommit, verbose;
};

static const struct option_spec options[] = {
    OPTION_KUBECONFIG(struct scheduler_command),
    OPTION_LEASE_NAMESPACE(struct scheduler_command),
    OPTION_HEALTH(struct scheduler_command),
    OPTION_OVERCOMMIT(struct scheduler_command),
    OPTION_OF_FLAG(struct scheduler_command, as_default, "as-default",
                   "on a Kubernetes cluster, place default-scheduler's pods too: where no "
                   "kube-scheduler runs"),
    OPTION_VERBOSE(struct scheduler_command),
    {0},
};

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct scheduler_command *o = values;

    (void)server;
    return elected_new(&(struct elected_options){.lease = LEASE_SCHEDULER,
                                                 .ns = o->ns,
                                                 .as_default = o->as_default,
                                                 .control = {.transport = t,
                                                             .clock = loop_clock(l),
                                                             .parts = CONTROL_SCHEDULER,
                                                             .overcommit = o->overcommit}},
                       err);
}

static const char *trouble(void *clients)
{
    return elected_trouble(clients);
}

static bool leads(void *clients)
{
    return elected_leads(clients);
}

static void stop(void *clients)
{
    elected_free(clients);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct scheduler_command *o = values;
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

const struct command command_scheduler = {
    .name = "scheduler",
    .args = "",
    .summary = "Run only the scheduler, against an API server",
    .help = "  muster scheduler --kubeconfig ~/.kube/config\n\n"
            "Several may run; the one that holds the Lease kube-system/muster-scheduler acts. On a "
            "Kubernetes\n"
            "cluster it places pods whose schedulerName is t9k-scheduler or muster, and with "
            "--as-default\n"
            "those of default-scheduler; it leaves others alone.\n",
    .options = options,
    .options_size = sizeof(struct scheduler_command),
    .run = run,
};
