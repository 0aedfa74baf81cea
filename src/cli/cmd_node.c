/* cmd_node.c - `muster node`: what needs a machine's processes and files, as clients of an API
 * server elsewhere: the node agent, and how far the jobs are whose first replica it runs. */
#include <stdlib.h>

#include "cli/common_options.h"
#include "cli/home.h"
#include "cli/local_progress.h"
#include "cli/node_limits.h"
#include "cli/supervisor_image.h"
#include "cli/worker.h"

struct node_options {
    const char *kubeconfig, *dir, *node_name;
    struct node_limits_text limits;
    bool verbose;
    const char *folder, *pod_root; /* from dir */
    struct node_limits parsed;
};

struct clients {
    struct agent *agent;
    struct progress *progress;
};

static const struct option_spec options[] = {
    OPTION_KUBECONFIG(struct node_options),
    {.name = "dir",
     .type = OPTION_TEXT,
     .offset = offsetof(struct node_options, dir),
     .value_name = "DIR",
     .doc = "data folder, for the pods (default: $MUSTER_HOME, else ~/.muster)"},
    OPTION_NODE_NAME(struct node_options),
    OPTIONS_NODE_LIMITS(struct node_options),
    OPTION_VERBOSE(struct node_options),
    {0},
};

static void stop(void *arg)
{
    struct clients *c = arg;

    progress_free(c->progress);
    agent_free(c->agent);
    free(c);
}

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct node_options *o = values;
    const struct agent_options how = {.loop = l,
                                      .transport = t,
                                      .pod_root = o->pod_root,
                                      .node_name = o->node_name,
                                      .log_bytes = o->parsed.log_bytes,
                                      .cpu_milli = o->parsed.cpu_milli,
                                      .memory_bytes = o->parsed.memory_bytes,
                                      .gpus = o->parsed.some_gpus ? &o->parsed.gpus : NULL,
                                      .small_program = supervisor_image_path(),
                                      .server = server->server,
                                      .ca_pem = server->ca_pem};
    struct clients *c = calloc(1, sizeof(*c));

    if (!c) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    c->agent = agent_new(&how, err);
    if (c->agent)
        c->progress = local_progress_new(l, t, c->agent, o->folder);
    if (c->progress)
        return c;
    if (c->agent)
        (void)err_set(err, ERR_INTERNAL, "out of memory");
    stop(c);
    return NULL;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    struct node_options o = *(const struct node_options *)values;
    const struct worker w = {.kubeconfig = o.kubeconfig,
                             .verbose = o.verbose,
                             .start = start,
                             .stop = stop,
                             .options = &o};
    auto_err err = ERR_INIT;
    struct home home;

    (void)args;
    if (node_limits_parse(cli, &o.limits, &o.parsed) != 0)
        return EXIT_USAGE;
    if (home_locate(&cli->arena, o.dir, &home, &err) || home_create(&home, &err))
        return command_fail(cli, &err);
    o.folder = home.dir;
    o.pod_root = home.pods_path;
    return worker_run(cli, &w);
}

const struct command command_node = {
    .name = "node",
    .args = "",
    .summary = "Run only this machine's agent, against an API server",
    .help = "  muster up --only api --detach\n"
            "  muster node --kubeconfig ~/.muster/kubeconfig --dir ~/.muster\n",
    .options = options,
    .options_size = sizeof(struct node_options),
    .run = run,
};
