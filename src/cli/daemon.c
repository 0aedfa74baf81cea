/* daemon.c - see daemon.h. Starts the parts in order and stops them in reverse. */
#include "cli/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/log.h"
#include "cli/local_progress.h"
#include "cli/supervisor_image.h"
#include "console/app_proxy.h"
#include "console/curves.h"
#include "console/live.h"
#include "console/volumes.h"
#include "console/web.h"
#include "control/control.h"
#include "core/app.h"
#include "door/door.h"
#include "door/far.h"
#include "loop/file.h"
#include "net/webhook.h"
#include "runtime/podfolder.h"
#include "server/local.h"
#include "server/server.h"
#include "store/store.h"

#define LARGE_BLOCK_BYTES (256 * 1024)
#define SPARE_BYTES (1024 * 1024)
#define CLIENT_CA_LIMIT_BYTES (1024u * 1024u)
#define REST_MS 5000 /* without a write */
#define MUCH_UNUSED_BYTES (64u * 1024u * 1024u)
#define UNUSED_BYTES (1024u * 1024u) /* worth returning to the kernel */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void on_end_signal(void *arg, int signum)
{
    (void)signum;
    loop_stop(arg);
}

void daemon_keep_to_itself(void)
{
    /* An ordinary user's pods run as that user, and enter namespaces through files in /proc that a
     * non-dumpable process does not own. */
    if (geteuid() == 0)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Large blocks, above all bodies, are returned to the kernel when freed; by default the
     * threshold would rise with the first one freed. Memory of one decision or request is reused by
     * the next. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}

/* As nohup(1) leaves it. */
static bool is_ignored(int signum)
{
    struct sigaction now;

    return sigaction(signum, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int daemon_watch_signals(struct loop *l, struct loop_signal *signals[4], struct err *err)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a vanished client is not our problem */
    for (size_t i = 0; i < ELEMS(end_signals); i++) {
        if (end_signals[i] == SIGHUP && is_ignored(SIGHUP))
            continue;
        signals[i] = loop_signal_watch(l, end_signals[i], on_end_signal, l);
        if (!signals[i])
            return err_set(err, ERR_INTERNAL, "out of memory");
    }
    return 0;
}

void daemon_unwatch_signals(struct loop_signal *signals[4])
{
    for (size_t i = 0; i < ELEMS(end_signals); i++) {
        if (signals[i])
            loop_signal_stop(signals[i]);
        signals[i] = NULL;
    }
}

/* The host as given, with the actual port. */
static void set_address(struct daemon *d, const char *host)
{
    static const struct {
        const char *all, *one;
    } hosts[] = {{"0.0.0.0", "127.0.0.1"}, {"[::]", "[::1]"}};

    for (size_t i = 0; i < ELEMS(hosts); i++)
        if (strcmp(host, hosts[i].all) == 0)
            host = hosts[i].one;
    (void)snprintf(d->address, sizeof(d->address), "%s:%u", host, server_port(d->server));
}

/* Our own, which signs CertificateSigningRequests, and those of --client-ca-file. */
static int client_authorities(const struct daemon *d, struct arena *a, const char **ret,
                              struct err *err)
{
    const char *path = d->options->client_ca;
    struct buf more = BUF_INIT(CLIENT_CA_LIMIT_BYTES);
    int rc = path ? file_read(path, CLIENT_CA_LIMIT_BYTES, &more) : 0;

    if (rc == 0 && path && !strstr(more.data, "-----BEGIN CERTIFICATE-----"))
        rc = err_set(err, ERR_BAD_REQUEST, "--client-ca-file %s: holds no certificate in PEM",
                     path);
    else if (rc < 0)
        rc = err_set(err, ERR_BAD_REQUEST, "--client-ca-file %s: %s", path, strerror(-rc));
    if (rc == 0)
        *ret = arena_printf(a, "%s\n%s", d->authority.certificate, path ? more.data : "");
    buf_release(&more);
    if (rc == 0 && !*ret)
        rc = err_set(err, ERR_INTERNAL, "out of memory");
    return rc;
}

/* The names under which clients may reach this server go into its certificate. */
static int listen_with_tls(struct daemon *d, struct arena *a, const char *listen, const char *host,
                           const char *token, struct err *err)
{
    char machine[HOST_NAME_MAX + 1] = "localhost";
    size_t host_len = strlen(host);
    bool bracketed = host_len > 2 && *host == '[';
    const char *bare = bracketed ? arena_strndup(a, host + 1, host_len - 2) : host;
    const char *const names[] = {"localhost",
                                 "127.0.0.1",
                                 "::1",
                                 "kubernetes",
                                 "kubernetes.default",
                                 "kubernetes.default.svc",
                                 machine,
                                 bare,
                                 NULL};
    struct tls_options tls = {.authority = d->authority, .names = names};
    int rc = client_authorities(d, a, &tls.client_ca_pem, err);

    if (rc < 0)
        return rc;
    (void)gethostname(machine, HOST_NAME_MAX);
    return bare ? server_listen(d->server, listen, token, &tls, err)
                : err_set(err, ERR_INTERNAL, "out of memory");
}

static void say_damaged(void *arg, const struct store_damage *d)
{
    (void)arg;
    if (!d->key) {
        log_error(
            "an unknown object%s%s is damaged in the database (revision %" PRId64
            "): nothing that may have belonged to it is deleted or created until muster.db is "
            "restored from a backup, or kubectl delete --raw /readyz/storage/%" PRId64
            " gives it up",
            d->collection ? " of " : "", d->collection ? d->collection : "", d->revision,
            d->revision);
        return;
    }
    log_error("%s %s is damaged in the database (revision %" PRId64
              ") and not served; delete it or create it again, or restore muster.db from a backup",
              d->collection, d->key, d->revision);
}

static int start_server(struct daemon *d, struct arena *a, const struct daemon_options *o,
                        struct err *err)
{
    struct server_options how = {.loop = d->loop,
                                 .sessions_path = o->home->sessions_path,
                                 .kubeconfig_path = o->home->kubeconfig_path,
                                 .has_controllers = !o->only_api,
                                 .root_pods = geteuid() == 0 || o->only_api,
                                 .overcommit = o->overcommit};
    const char *colon = strrchr(o->listen, ':');
    const char *host = arena_strndup(a, o->listen,
                                     colon ? (size_t)(colon - o->listen) : strlen(o->listen));
    const char *token = NULL;
    int r = home_token(a, o->home, &token, err);

    if (r == 0)
        r = home_check_database(o->home, err);
    if (r == 0)
        r = home_authority(a, o->home, clock_now_ms(loop_clock(d->loop)) / 1000, &d->authority,
                           err);
    if (r)
        return r;
    if (!host)
        return err_set(err, ERR_INTERNAL, "out of memory");
    d->store = store_open(d->loop, o->home->db_path, NULL, err);
    if (!d->store)
        return -EIO;
    d->opened_revision = store_revision(d->store);
    how.store = d->store;
    d->server = server_new(&how, err);
    store_each_damage(d->store, say_damaged, NULL);
    if (!d->server)
        return -EIO;
    r = listen_with_tls(d, a, o->listen, host, token, err);
    if (r && o->or_listen && err->reason == ERR_UNAVAILABLE) {
        err_release(err);
        r = listen_with_tls(d, a, o->or_listen, host, token, err);
    }
    if (r)
        return r;
    set_address(d, host);
    r = home_write_kubeconfig(o->home, d->address, token, d->authority.certificate, err);
    return r ? r : home_announce(d->lock_fd, d->address, err);
}

static int start_control(struct daemon *d, const struct daemon_options *o, struct err *err)
{
    struct control_options control = {.clock = loop_clock(d->loop),
                                      .parts = CONTROL_ALL | CONTROL_NODES | CONTROL_BATCH,
                                      .overcommit = o->overcommit,
                                      .idle = o->idle,
                                      .shared_network = true};

    d->control_transport = server_local_transport(d->server, &caller_component);
    if (!d->control_transport)
        return err_set(err, ERR_INTERNAL, "out of memory");
    control.transport = d->control_transport;
    control.webhook = d->webhook;
    d->control = control_new(&control, err);
    return d->control ? 0 : -EIO;
}

static void stop_control(struct daemon *d)
{
    if (d->control)
        control_free(d->control);
    transport_free(d->control_transport);
    d->control = NULL;
    d->control_transport = NULL;
}

static int start_clients(struct daemon *d, const struct daemon_options *o, struct err *err)
{
    struct agent_options agent = {.loop = d->loop,
                                  .pod_root = o->home->pods_path,
                                  .node_name = o->node_name,
                                  .volumes = o->volumes,
                                  .opened_revision = d->opened_revision,
                                  .small_program = supervisor_image_path(),
                                  .log_bytes = o->limits.log_bytes,
                                  .in_image = o->limits.in_image,
                                  .image_bytes = o->limits.image_bytes,
                                  .cpu_milli = o->limits.cpu_milli,
                                  .memory_bytes = o->limits.memory_bytes,
                                  .gpus = o->limits.some_gpus ? &o->limits.gpus : NULL,
                                  .gpu_shares = o->limits.gpu_shares,
                                  .shared_gpus = o->limits.some_gpus_shared ? &o->limits.shared_gpus
                                                                            : NULL};
    char server[sizeof(d->address) + sizeof("https://")];

    int r;

    d->agent_transport = server_local_transport(d->server, &caller_component);
    d->webhook = webhook_new(d->loop, o->notify_local);
    if (!d->agent_transport || !d->webhook)
        return err_set(err, ERR_INTERNAL, "out of memory");
    r = start_control(d, o, err);
    if (r < 0)
        return r;
    (void)snprintf(server, sizeof(server), "https://%s", d->address);
    agent.transport = d->agent_transport;
    agent.server = server;
    agent.ca_pem = d->authority.certificate;
    d->agent = agent_new(&agent, err);
    return d->agent ? 0 : -EIO;
}

static int open_doors(struct daemon *d, const struct daemon_options *o, struct err *err)
{
    d->others = far_new(d->loop, &d->authority, err);
    if (d->others && d->agent)
        d->node = door_new(d->loop, o->home->pods_path, agent_node_name(d->agent), err);
    if (!d->others || (d->agent && !d->node))
        return -ENOMEM;
    server_set_nodes(d->server, d->node, d->others);
    return 0;
}

static int show_apps(struct daemon *d, const struct idle_times *idle)
{
    struct server_app app = {.fn = app_proxy_handle,
                             .may_open = app_proxy_may_open,
                             .signed_out = app_proxy_end_session};
    int rc = 0;

    d->apps = app.arg = app_proxy_new(d->loop, d->console_transport, d->node, idle);
    if (!d->apps)
        return -ENOMEM;
    app.parts = APP_PARTS;
    app.name_part = APP_NAME_PART;
    for (size_t i = 0; app_kinds[i] && rc == 0; i++) {
        app.kind = app_kinds[i]->job->kind;
        app.pod_suffix = app_kinds[i]->runs_code ? app_kinds[i]->suffix : NULL;
        rc = server_mount_app(d->server, app_kinds[i]->path, &app);
    }
    app.parts = APP_PORT_PARTS;
    app.name_part = APP_PORT_NAME_PART;
    app.kind = &kind_pod;
    app.pod_suffix = NULL;
    if (rc == 0)
        rc = server_mount_app(d->server, APP_PORT_PREFIX, &app);
    return rc == 0 ? server_mount_proxy(d->server, app_place_is_proxy, app_proxy_handle, d->apps)
                   : rc;
}

static int claim_folder(void *arg, struct arena *a, const char *ns, const char *claim,
                        const char **ret, struct err *err)
{
    return agent_claim_folder(arg, a, ns, claim, ret, err);
}

static int show_volumes(struct daemon *d)
{
    d->volumes = volumes_new(&(struct volumes_options){.loop = d->loop,
                                                       .transport = d->console_transport,
                                                       .folder = claim_folder,
                                                       .arg = d->agent});
    return d->volumes ? server_mount_pulling(d->server, VOLUMES_PREFIX, volumes_handle, d->volumes)
                      : -ENOMEM;
}

static int start_console(struct daemon *d, const struct daemon_options *o, struct err *err)
{
    d->console_transport = server_local_transport(d->server, &caller_component);
    d->curves = d->console_transport ? curves_new(d->loop, d->console_transport, o->home->dir, NULL)
                                     : NULL;
    if (d->curves)
        d->progress = local_progress_new(d->loop, d->console_transport, d->agent, o->home->dir);
    d->live = live_hub_new(d->loop);
    if (!d->progress || !d->live ||
        server_mount(d->server, CURVES_PREFIX, curves_handle, d->curves) < 0 ||
        server_mount(d->server, LIVE_PREFIX, live_handle, d->live) < 0)
        return err_set(err, ERR_INTERNAL, "out of memory");
    server_set_pages(d->server, &(struct server_pages){.wants = web_wants,
                                                       .handle = web_handle,
                                                       .hash = web_hash(),
                                                       .signed_out = live_sign_out,
                                                       .live = d->live});
    return show_apps(d, &o->idle) < 0 || show_volumes(d) < 0
               ? err_set(err, ERR_INTERNAL, "out of memory")
               : 0;
}

int daemon_start(struct daemon *d, struct arena *a, const struct daemon_options *options,
                 struct err *err)
{
    const char *jupyter = home_jupyter(a);
    int r;

    *d = (struct daemon){.lock_fd = -1, .options = options};
    if (jupyter) /* pods inherit the daemon's variables */
        (void)setenv(JUPYTER_VARIABLE, jupyter, 0);
    r = home_lock(options->home, &d->lock_fd, err);
    if (r == 0) {
        d->loop = loop_new(err);
        r = d->loop ? daemon_watch_signals(d->loop, d->signals, err) : -ENOMEM;
    }
    if (r == 0)
        r = start_server(d, a, options, err);
    if (r == 0 && !options->only_api)
        r = start_clients(d, options, err);
    if (r == 0)
        r = open_doors(d, options, err);
    if (r == 0 && !options->only_api)
        r = start_console(d, options, err);
    if (r)
        daemon_stop(d);
    return r;
}

/* After an allocation failure, an event may have been missed or a step skipped. The controllers
 * start over, as after a restart; the node looks at its pods again. */
static void make_up_for_shortage(struct daemon *d)
{
    auto_err err = ERR_INIT;

    if (d->options->only_api || !recovery_is_due(&d->recovery))
        return;
    stop_control(d);
    if (start_control(d, d->options, &err) < 0) {
        stop_control(d);
        log_error("the controllers cannot be restarted, will keep trying: %s", err.text);
        return;
    }
    agent_look_again(d->agent);
    recovery_done(&d->recovery);
    log_warn("memory ran out for a while: the controllers were restarted");
}

/* Freed memory between live blocks stays ours; when idle, or when there is much of it, its
 * pages are returned. They still count as unused then, so only a different amount is worth
 * another try. */
static void on_rest(void *arg)
{
    struct daemon *d = arg;
    int64_t now = store_revision(d->store);
    size_t unused = mallinfo2().fordblks;
    size_t change = unused > d->unused ? unused - d->unused : d->unused - unused;

    if (change > SPARE_BYTES &&
        (unused > MUCH_UNUSED_BYTES || (now == d->rest_revision && unused > UNUSED_BYTES))) {
        (void)malloc_trim(SPARE_BYTES);
        d->unused = mallinfo2().fordblks;
    }
    d->rest_revision = now;
    make_up_for_shortage(d);
    d->rest_timer = clock_start(loop_clock(d->loop), REST_MS, on_rest, d);
}

void daemon_run(struct daemon *d)
{
    d->rest_timer = clock_start(loop_clock(d->loop), REST_MS, on_rest, d);
    loop_run(d->loop);
}

void daemon_stop(struct daemon *d)
{
    if (d->rest_timer)
        clock_stop(loop_clock(d->loop), d->rest_timer);
    progress_free(d->progress);
    volumes_free(d->volumes);
    if (d->agent)
        agent_free(d->agent);
    stop_control(d);
    webhook_free(d->webhook);
    live_hub_free(d->live);
    curves_free(d->curves);
    app_proxy_free(d->apps);
    transport_free(d->console_transport);
    transport_free(d->agent_transport);
    far_stop(d->others);
    if (d->server)
        server_free(d->server);
    far_free(d->others);
    door_free(d->node);
    if (d->store)
        store_close(d->store);
    daemon_unwatch_signals(d->signals);
    if (d->loop)
        loop_free(d->loop);
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    *d = (struct daemon){.lock_fd = -1};
}

size_t daemon_count_pods(const struct home *home)
{
    DIR *pods = opendir(home->pods_path);
    struct dirent *entry;
    size_t count = 0;

    while (pods && (entry = readdir(pods))) {
        int fd = entry->d_name[0] == '.'
                     ? -1
                     : openat(dirfd(pods), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0) {
            count += pod_lock_is_held(fd);
            close(fd);
        }
    }
    if (pods)
        closedir(pods);
    return count;
}
