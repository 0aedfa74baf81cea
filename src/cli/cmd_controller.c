/* cmd_controller.c - `muster controller` and `muster scheduler`: the controllers, or just the
 * scheduler, as clients of an API server elsewhere. */
#include <stdlib.h>

#include "api/object.h"
#include "cli/common_options.h"
#include "cli/elected.h"
#include "cli/worker.h"
#include "net/webhook.h"

struct elected_command {
    const char *kubeconfig, *ns, *health;
    bool no_controllers, no_scheduler; /* no_controllers: for `muster scheduler` */
    bool shared_network, as_default, overcommit, notify_local, verbose;
};

#define COMMON_OPTIONS                                                                             \
    OPTION_KUBECONFIG(struct elected_command), OPTION_LEASE_NAMESPACE(struct elected_command),     \
        OPTION_HEALTH(struct elected_command), OPTION_OVERCOMMIT(struct elected_command),          \
        OPTION_VERBOSE(struct elected_command)

static const struct option_spec controller_options[] = {
    COMMON_OPTIONS,
    OPTION_NOTIFY_LOCAL(struct elected_command),
    OPTION_OF_FLAG(struct elected_command, no_scheduler, "no-scheduler",
                   "leave scheduling to `muster scheduler`"),
    OPTION_OF_FLAG(struct elected_command, shared_network, "shared-network",
                   "pods share their machine's network on a Kubernetes cluster too, as its nodes "
                   "are `muster node`; ports are leased in --namespace (else muster-system)"),
    {0},
};

static const struct option_spec scheduler_options[] = {
    COMMON_OPTIONS,
    OPTION_OF_FLAG(struct elected_command, as_default, "as-default",
                   "also place default-scheduler's pods, on a cluster without kube-scheduler"),
    {0},
};

/* The scheduler has its own lease, which `muster scheduler` may hold. Either may be NULL. */
struct clients {
    struct elected *controllers, *scheduler;
    struct webhook *webhook;
};

static void stop(void *clients)
{
    struct clients *c = clients;

    if (!c)
        return;
    elected_free(c->controllers);
    elected_free(c->scheduler);
    webhook_free(c->webhook);
    free(c);
}

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct elected_command *o = values;
    struct clients *c = calloc(1, sizeof(*c));
    struct elected_options how = {
        .lease = LEASE_CONTROLLER,
        .ns = o->ns,
        .shared_network = o->shared_network,
        .as_default = o->as_default,
        .control = {.transport = t,
                    .clock = loop_clock(l),
                    .parts = CONTROL_JOBS | CONTROL_GC | CONTROL_NODES | CONTROL_BATCH,
                    .overcommit = o->overcommit,
                    .shared_network = true}};

    (void)server;
    if (c && !o->no_controllers)
        how.control.webhook = c->webhook = webhook_new(l, o->notify_local);
    if (c && !o->no_controllers && !c->webhook)
        err_set(err, ERR_INTERNAL, "out of memory");
    if (c && !o->no_controllers && c->webhook)
        c->controllers = elected_new(&how, err);
    how.lease = LEASE_SCHEDULER;
    how.control.parts = CONTROL_SCHEDULER;
    if (c && (c->controllers || o->no_controllers) && !o->no_scheduler)
        c->scheduler = elected_new(&how, err);
    if (c && (c->controllers || o->no_controllers) && (c->scheduler || o->no_scheduler))
        return c;
    stop(c);
    return NULL;
}

static const char *trouble(void *clients)
{
    struct clients *c = clients;
    const char *why = c->controllers ? elected_trouble(c->controllers) : NULL;

    return why || !c->scheduler ? why : elected_trouble(c->scheduler);
}

static bool leads(void *clients)
{
    struct clients *c = clients;

    return elected_leads(c->controllers ? c->controllers : c->scheduler);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct elected_command *o = values;
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
    .examples = "  muster up --only api --detach\n"
                "  muster controller --kubeconfig ~/.muster/kubeconfig\n",
    .help = "Several may run: the holder of the Lease kube-system/muster-controller acts, and\n"
            "for its scheduler the holder of kube-system/muster-scheduler. In a pod of a\n"
            "cluster it needs no --kubeconfig (`muster manifests` prints what to install\n"
            "there).\n",
    .options = controller_options,
    .options_size = sizeof(struct elected_command),
    .run = run,
};

static const struct elected_command scheduler_defaults = {.no_controllers = true};

const struct command command_scheduler = {
    .name = "scheduler",
    .args = "",
    .summary = "Run only the scheduler, against an API server",
    .examples = "  muster scheduler --kubeconfig ~/.kube/config\n",
    .help = "Several may run: the holder of the Lease kube-system/muster-scheduler acts. On a\n"
            "Kubernetes cluster it places pods whose schedulerName is t9k-scheduler or muster,\n"
            "with --as-default also those of default-scheduler, and leaves all others alone.\n",
    .options = scheduler_options,
    .defaults = &scheduler_defaults,
    .options_size = sizeof(struct elected_command),
    .run = run,
};
