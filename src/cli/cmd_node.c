/* cmd_node.c - `muster node`: what needs a machine's processes and files, as clients of an API
 * server elsewhere: the node agent, and the progress of jobs whose first replica it runs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "api/object.h"
#include "base/log.h"
#include "cli/common_options.h"
#include "cli/home.h"
#include "cli/local_progress.h"
#include "cli/node_limits.h"
#include "cli/supervisor_image.h"
#include "cli/worker.h"
#include "client/client.h"
#include "door/door.h"
#include "door/kubelet.h"
#include "net/listen.h"

#define LOCK_TRIES 100
#define LOCK_PAUSE_US 20000

struct node_options {
    const char *kubeconfig, *dir, *node_name, *listen;
    struct node_limits_text limits;
    struct option_list label_texts, taint_texts;
    bool verbose;
    const char *folder, *pod_root; /* from dir */
    struct key_pair authority;
    const char *host; /* from listen, without brackets */
    struct node_limits parsed;
    struct json *labels, *taints;
};

struct clients {
    struct loop *loop;
    struct transport *transport;
    const char *folder;
    struct clock_timer *again; /* to ask what the server is */
    struct agent *agent;
    struct node *door;
    struct kubelet *kubelet;
    struct progress *progress; /* if jobs may be written */
};

#define ASK_AGAIN_MS 2000

static const struct node_options defaults = {.listen = "127.0.0.1:0"};

static const struct option_spec options[] = {
    OPTION_KUBECONFIG(struct node_options),
    OPTION_OF_TEXT(struct node_options, dir, "dir", "DIR",
                   "data folder for the pods (default: $MUSTER_HOME, else ~/.muster)"),
    OPTION_NODE_NAME(struct node_options),
    OPTION_OF_TEXT(
        struct node_options, listen, "listen", "ADDRESS:PORT",
        "where to serve logs, exec and so on like a kubelet, reachable for others (default "
        "127.0.0.1:0; port 0 picks a free one)"),
    OPTIONS_NODE_LIMITS(struct node_options),
    OPTION_OF(OPTION_LIST, struct node_options, label_texts, "label", "KEY=VALUE",
              "a label of the Node; repeated"),
    OPTION_OF(
        OPTION_LIST, struct node_options, taint_texts, "taint", "KEY[=VALUE]:EFFECT",
        "a taint the Node registers with, to keep pods away that do not tolerate it; repeated"),
    OPTION_VERBOSE(struct node_options),
    {0},
};

static void stop(void *arg)
{
    struct clients *c = arg;

    client_forget(c);
    clock_stop(loop_clock(c->loop), c->again);
    progress_free(c->progress);
    kubelet_free(c->kubelet);
    door_free(c->door);
    agent_free(c->agent);
    free(c);
}

static const struct json *find_pod(void *arg, const char *ns, const char *name)
{
    const struct clients *c = arg;

    return agent_find_pod(c->agent, ns, name);
}

static void each_pod(void *arg, bool (*fn)(void *fn_arg, const struct json *pod), void *fn_arg)
{
    const struct clients *c = arg;

    agent_each_pod(c->agent, fn, fn_arg);
}

static struct kubelet *listen_for_others(struct clients *c, struct loop *l, struct transport *t,
                                         const struct client_config *server,
                                         const struct node_options *o, struct err *err)
{
    char machine[HOST_NAME_MAX + 1] = "localhost";
    const char *const names[] = {"localhost", "127.0.0.1", "::1", machine, o->host, NULL};
    const struct tls_options tls = {
        .authority = o->authority, .names = names, .client_ca_pem = server->reach.ca_pem};
    const struct kubelet_options how = {
        .loop = l,
        .pods = {.find = find_pod, .each = each_pod, .arg = c},
        .transport = t,
        .address = o->listen,
        .tls = &tls,
    };

    (void)gethostname(machine, HOST_NAME_MAX);
    return kubelet_new(&how, err);
}

static void ask_server(void *arg);

static void ask_server_again(struct clients *c, const struct err *err)
{
    c->again = clock_start(loop_clock(c->loop), ASK_AGAIN_MS, ask_server, c);
    if (err)
        log_debug("cannot identify the server, will keep trying: %s", err->text);
}

static void watch_progress(struct clients *c)
{
    c->progress = local_progress_new(c->loop, c->transport, c->agent, c->folder);
    if (!c->progress)
        ask_server_again(c, NULL);
}

static void on_review(void *arg, const struct json *review, const struct err *err)
{
    struct clients *c = arg;

    if (err)
        ask_server_again(c, err);
    else if (json_bool(json_at(review, "status", "allowed"), false))
        watch_progress(c);
    else
        log_info("the progress of jobs is not recorded: this node may not write it (its user needs "
                 "the ClusterRole muster-node-progress)");
}

/* A cluster does not let its nodes read and write jobs, unless granted. */
static void on_version(void *arg, const struct json *answer, const struct err *err)
{
    struct clients *c = arg;

    if (err)
        ask_server_again(c, err);
    else if (strstr(json_get_string(answer, "gitVersion", ""), CLIENT_OUR_SERVER))
        watch_progress(c);
    else
        client_review(c->transport,
                      &(struct client_access){.ns = "",
                                              .verb = "patch",
                                              .group = kind_pytorch_training_job.group,
                                              .resource = kind_pytorch_training_job.plural,
                                              .subresource = "status",
                                              .name = ""},
                      on_review, c);
}

static void ask_server(void *arg)
{
    struct clients *c = arg;

    c->again = NULL;
    client_get_path(c->transport, "/version", on_version, c);
}

static void *start(struct loop *l, struct transport *t, const struct client_config *server,
                   const void *values, struct err *err)
{
    const struct node_options *o = values;
    struct agent_options how = {.loop = l,
                                .transport = t,
                                .pod_root = o->pod_root,
                                .asks_server = true,
                                .node_name = o->node_name,
                                .log_bytes = o->parsed.log_bytes,
                                .in_image = o->parsed.in_image,
                                .image_bytes = o->parsed.image_bytes,
                                .cpu_milli = o->parsed.cpu_milli,
                                .memory_bytes = o->parsed.memory_bytes,
                                .gpus = o->parsed.some_gpus ? &o->parsed.gpus : NULL,
                                .gpu_shares = o->parsed.gpu_shares,
                                .shared_gpus = o->parsed.some_gpus_shared ? &o->parsed.shared_gpus
                                                                          : NULL,
                                .labels = o->labels,
                                .taints = o->taints,
                                .small_program = supervisor_image_path(),
                                .server = server->server,
                                .ca_pem = server->reach.ca_pem};
    struct clients *c = calloc(1, sizeof(*c));

    if (!c) {
        (void)err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    c->loop = l;
    c->transport = t;
    c->folder = o->folder;
    c->kubelet = listen_for_others(c, l, t, server, o, err);
    if (c->kubelet) {
        how.door_host = o->host;
        how.door_port = kubelet_port(c->kubelet);
        how.door_ca_pem = o->authority.certificate;
        c->agent = agent_new(&how, err);
    }
    if (c->agent)
        c->door = door_new(l, o->pod_root, agent_node_name(c->agent), err);
    if (c->door) {
        kubelet_set_node(c->kubelet, c->door);
        ask_server(c);
        return c;
    }
    stop(c);
    return NULL;
}

/* Usable by others: neither a name nor the unspecified address. */
static bool is_address(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    return (inet_pton(AF_INET, host, &v4) == 1 && v4.s_addr != INADDR_ANY) ||
           (inet_pton(AF_INET6, host, &v6) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&v6));
}

/* "[::1]:0" -> "::1" */
static int read_host(struct arena *a, struct node_options *o, struct err *err)
{
    const char *colon = strrchr(o->listen, ':');
    bool bracketed = *o->listen == '[' && colon && colon[-1] == ']';

    if (listen_check(o->listen, err) < 0)
        return -EINVAL;
    o->host = arena_strndup(a, o->listen + bracketed,
                            (size_t)(colon - o->listen) - 2 * (size_t)bracketed);
    if (!o->host)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (!is_address(o->host))
        return err_set(
            err, ERR_BAD_REQUEST,
            "--listen %s: the Node tells others this address: name one of this machine's, "
            "as 10.0.0.5:10250",
            o->listen);
    return 0;
}

/* Splits "KEY=VALUE"; value "" without one. */
static int split_label(struct arena *a, const char *option, const char *text, const char **ret_key,
                       const char **ret_value, struct err *err)
{
    const char *equals = strchrnul(text, '='), *problem;

    *ret_key = arena_strndup(a, text, (size_t)(equals - text));
    *ret_value = *equals ? equals + 1 : equals;
    if (!*ret_key)
        return err_set(err, ERR_INTERNAL, "out of memory");
    problem = label_key_problem(*ret_key);
    if (!problem)
        problem = label_value_problem(*ret_value);
    return problem ? err_set(err, ERR_BAD_REQUEST, "--%s %s: %s", option, text, problem) : 0;
}

static int read_label(struct arena *a, const char *text, struct json *labels, struct err *err)
{
    const char *key, *value;

    if (split_label(a, "label", text, &key, &value, err) < 0)
        return -EINVAL;
    if (!strchr(text, '='))
        return err_set(err, ERR_BAD_REQUEST, "--label %s: it is KEY=VALUE", text);
    if (strncmp(key, "kubernetes.io/", 14) == 0 || strncmp(key, "nvidia.com/", 11) == 0)
        return err_set(err, ERR_BAD_REQUEST, "--label %s: muster sets labels of that domain itself",
                       text);
    json_set_string(a, labels, key, value);
    return 0;
}

static int read_taint(struct arena *a, const char *text, struct json *taints, struct err *err)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    const char *colon = strrchr(text, ':'), *key, *value;
    const char *name = colon ? arena_strndup(a, text, (size_t)(colon - text)) : NULL;
    struct json *taint = json_append(taints, json_new_object(a));

    for (size_t i = 0; name && i < ELEMS(effects); i++)
        if (strcmp(colon + 1, effects[i]) == 0) {
            if (split_label(a, "taint", name, &key, &value, err) < 0)
                return -EINVAL;
            json_set_string(a, taint, "key", key);
            json_set_string(a, taint, "value", value);
            json_set_string(a, taint, "effect", effects[i]);
            return 0;
        }
    return err_set(err, ERR_BAD_REQUEST,
                   "--taint %s: it is KEY[=VALUE]:EFFECT, the effect NoSchedule, PreferNoSchedule "
                   "or NoExecute",
                   text);
}

static int read_marks(struct arena *a, struct node_options *o, struct err *err)
{
    int rc = 0;

    o->labels = json_new_object(a);
    o->taints = o->taint_texts.len ? json_new_array(a) : NULL;
    for (size_t i = 0; rc == 0 && i < o->label_texts.len; i++)
        rc = read_label(a, o->label_texts.items[i], o->labels, err);
    for (size_t i = 0; rc == 0 && i < o->taint_texts.len; i++)
        rc = read_taint(a, o->taint_texts.items[i], o->taints, err);
    return rc;
}

/* Two agents in one folder would start and stop each other's pods. The lock ends with the process;
 * a killed one's may be held for a moment by a process it had just forked. */
static int lock_pods(struct arena *a, const struct home *h, int *ret_fd, struct err *err)
{
    const char *path = arena_printf(a, "%s/node.lock", h->dir);
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "%s/node.lock: %s", h->dir, strerror(errno));
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i == LOCK_TRIES) {
            close(fd);
            return err_set(err, ERR_CONFLICT,
                           "another muster node runs its pods in %s: give each its own --dir",
                           h->dir);
        }
        (void)usleep(LOCK_PAUSE_US);
    }
    *ret_fd = fd;
    return 0;
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
    enum exit_code code;
    struct home home;
    int lock = -1;

    (void)args;
    if (node_limits_parse(cli, &o.limits, &o.parsed) != 0)
        return EXIT_USAGE;
    if (read_marks(&cli->arena, &o, &err) < 0)
        return command_fail(cli, &err);
    if (home_locate(&cli->arena, o.dir, &home, &err) || home_create(&home, &err) ||
        home_authority(&cli->arena, &home, time(NULL), &o.authority, &err) ||
        read_host(&cli->arena, &o, &err) || lock_pods(&cli->arena, &home, &lock, &err))
        return command_fail(cli, &err);
    o.folder = home.dir;
    o.pod_root = home.pods_path;
    code = worker_run(cli, &w);
    close(lock);
    return code;
}

const struct command command_node = {
    .name = "node",
    .args = "",
    .summary = "Run only this machine's agent, against an API server",
    .examples = "  muster up --only api --detach\n"
                "  muster node --kubeconfig ~/.muster/kubeconfig --dir ~/.muster-node\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct node_options),
    .run = run,
};
