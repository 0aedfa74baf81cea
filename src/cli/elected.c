/* elected.c - see elected.h. */
#include "cli/elected.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "client/client.h"
#include "control/leader.h"
#include "loop/random.h"

#define IDENTITY_SIZE 256
#define ASK_AGAIN_MS 2000

struct elected {
    struct elected_options options;
    char *lease, *ns;
    char *trouble;             /* why the server cannot be identified */
    struct clock_timer *again; /* to ask it again */
    struct leader *leader;     /* once the server is identified */
    struct control *control;   /* while it leads */
};

/* Machine and pid namespace, in which a pid is meaningful: "host_ns_". */
static void write_place(char out[IDENTITY_SIZE])
{
    char host[128] = "unknown";
    struct stat ns = {0};

    (void)gethostname(host, sizeof(host) - 1);
    if (stat("/proc/self/ns/pid", &ns) < 0)
        ns.st_ino = 0;
    (void)snprintf(out, IDENTITY_SIZE, "%s_%lu_", host, (unsigned long)ns.st_ino);
}

static void write_identity(char out[IDENTITY_SIZE])
{
    char uid[RANDOM_UID_SIZE];
    size_t len;

    write_place(out);
    random_uid(uid);
    len = strlen(out);
    (void)snprintf(out + len, IDENTITY_SIZE - len, "%ld_%s", (long)getpid(), uid);
}

/* A process of this machine and namespace whose pid no longer exists. */
static bool is_gone(const char *identity)
{
    char place[IDENTITY_SIZE];
    long pid;

    write_place(place);
    if (strncmp(identity, place, strlen(place)) != 0)
        return false;
    pid = strtol(identity + strlen(place), NULL, 10);
    return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void on_change(void *arg, bool leads)
{
    struct elected *e = arg;
    auto_err err = ERR_INIT;

    control_free(e->control);
    e->control = leads ? control_new(&e->options.control, &err) : NULL;
    if (leads && !e->control)
        log_error("%s", err.text);
}

/* --- identifying the server --- */

static void run_for_lease(struct elected *e)
{
    char identity[IDENTITY_SIZE];

    write_identity(identity);
    e->leader = leader_new(&(struct leader_options){.transport = e->options.control.transport,
                                                    .clock = e->options.control.clock,
                                                    .ns = e->ns,
                                                    .name = e->lease,
                                                    .identity = identity,
                                                    .is_gone = is_gone,
                                                    .on_change = on_change,
                                                    .arg = e});
    if (!e->leader)
        log_error("lease %s: out of memory", e->lease);
}

static void adapt_to_cluster(struct elected *e, const char *version)
{
    struct control_options *c = &e->options.control;

    c->parts &= ~(unsigned)(CONTROL_GC | CONTROL_NODES | CONTROL_BATCH);
    c->beside_default = !e->options.as_default;
    c->shared_network = e->options.shared_network;
    c->apps_unseen = true;
    c->lease_ns = e->ns;
    c->transport->protobuf = true;
    log_info("lease %s: this is Kubernetes %s", e->lease, version);
}

static void ask(void *arg);

static void ask_again(struct elected *e, const char *why)
{
    if (!e->trouble || strcmp(e->trouble, why) != 0)
        log_warn("lease %s: cannot ask the server for its version, will keep trying: %s", e->lease,
                 why);
    free(e->trouble);
    e->trouble = strdup(why);
    e->again = clock_start(e->options.control.clock, ASK_AGAIN_MS, ask, e);
}

static void on_version(void *arg, const struct json *answer, const struct err *err)
{
    struct elected *e = arg;
    const char *version = json_get_string(answer, "gitVersion", "");

    if (err) {
        ask_again(e, err->text);
        return;
    }
    free(e->trouble);
    e->trouble = NULL;
    if (!strstr(version, CLIENT_OUR_SERVER))
        adapt_to_cluster(e, version);
    run_for_lease(e);
}

static void ask(void *arg)
{
    struct elected *e = arg;

    e->again = NULL;
    client_get_path(e->options.control.transport, "/version", on_version, e);
}

/* --- life --- */

struct elected *elected_new(const struct elected_options *options, struct err *err)
{
    struct elected *e = calloc(1, sizeof(*e));

    if (e) {
        e->options = *options;
        e->lease = strdup(options->lease);
        e->ns = options->ns ? strdup(options->ns) : NULL;
        e->again = clock_start(options->control.clock, 0, ask, e);
    }
    if (e && e->lease && (e->ns || !options->ns) && e->again)
        return e;
    err_set(err, ERR_INTERNAL, "out of memory");
    elected_free(e);
    return NULL;
}

void elected_free(struct elected *e)
{
    if (!e)
        return;
    client_forget(e);
    clock_stop(e->options.control.clock, e->again);
    if (e->leader)
        leader_free(e->leader);
    control_free(e->control);
    free(e->lease);
    free(e->ns);
    free(e->trouble);
    free(e);
}

bool elected_leads(const struct elected *e)
{
    return e->control;
}

const char *elected_trouble(const struct elected *e)
{
    const char *why = e->control ? control_trouble(e->control) : NULL;

    if (!e->leader)
        return e->trouble ? e->trouble : "the server is not identified yet";
    return why ? why : leader_trouble(e->leader);
}
