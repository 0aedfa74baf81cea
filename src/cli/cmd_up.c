/* cmd_up.c - `muster up`: the daemon, in the foreground or detached. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/duration.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/daemon.h"
#include "cli/home.h"
#include "cli/node_limits.h"
#include "loop/descriptors.h"
#include "net/listen.h"
#include "server/server.h"

#define DEFAULT_LISTEN "127.0.0.1:7447"
#define FREE_LISTEN "127.0.0.1:0" /* several users may each have one on a machine */
/* Each client takes one; the default of 1024 is for programs that use select(2). */
#define DESCRIPTORS_WANTED 65536

struct up_options {
    const char *dir, *listen, *only, *client_ca, *node_name, *idle_after, *reclaim_after;
    struct node_limits_text limits;
    bool detach, overcommit, notify_local, verbose;
    struct option_list volumes;
};

static const char *const parts[] = {"api", NULL};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct up_options, detach, "detach",
                   "run in the background; return when it is ready", .letter = 'd'),
    OPTION_DIR(struct up_options),
    OPTION_OF_TEXT(struct up_options, listen, "listen", "ADDRESS:PORT",
                   "where to serve (default " DEFAULT_LISTEN
                   ", or a free port if that is taken; port 0 picks a free one)"),
    OPTION_OF(OPTION_CHOICE, struct up_options, only, "only", "api",
              "only the API server; see 'muster help controller' and 'muster help node'",
              .values = parts),
    OPTION_OF_TEXT(struct up_options, client_ca, "client-ca-file", "FILE",
                   "also accept clients' certificates that these authorities signed (PEM)"),
    OPTION_OVERCOMMIT(struct up_options),
    OPTION_NOTIFY_LOCAL(struct up_options),
    OPTION_NODE_NAME(struct up_options),
    OPTIONS_NODE_LIMITS(struct up_options),
    OPTION_OF(OPTION_LIST, struct up_options, volumes, "volume", "NAME=DIR",
              "folder of a PersistentVolumeClaim (or NAMESPACE/NAME=DIR); remembered"),
    OPTION_OF_TEXT(struct up_options, idle_after, "idle-after", "TIME",
                   "consider a Notebook or TensorBoard idle after this time without use (default "
                   "1h; 0: never)"),
    OPTION_OF_TEXT(struct up_options, reclaim_after, "reclaim-after", "TIME",
                   "remove the pod of one unused for this long (default 24h; 0: never)"),
    OPTION_VERBOSE(struct up_options),
    {0},
};

/* --- readiness of a detached daemon --- */

#define LOG_FILE_LIMIT_BYTES (10u * 1024u * 1024u) /* plus the previous one */

static int open_log(const struct home *home, int flags)
{
    return open(home->log_path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

/* Until it is ready its errors go to the user's terminal and to the log, then only to the log: so a
 * failed start needs no message of its own, only the byte that never comes. */
static int detach_from_terminal(const struct home *home, struct err *err)
{
    int log = open_log(home, O_CREAT), nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (log < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0) {
        err_set(err, ERR_INTERNAL, "cannot open %s: %s", home->log_path, strerror(errno));
        return -EIO;
    }
    close(log);
    close(nothing);
    log_keep_file(home->log_path, LOG_FILE_LIMIT_BYTES);
    return 0;
}

/* What is printed about a ready daemon. */
struct ready {
    char address[HOME_ADDRESS_SIZE]; /* "": it ended before it was ready */
    char login_code[SERVER_LOGIN_CODE_SIZE];
};

static int tell_ready(int ready_fd, const struct ready *r)
{
    ssize_t n = write(ready_fd, r, sizeof(*r)); /* small enough for an atomic pipe write */

    close(ready_fd);
    return n == (ssize_t)sizeof(*r) ? 0 : -EPIPE;
}

static void wait_ready(int fd, struct ready *ret)
{
    ssize_t n;

    do
        n = read(fd, ret, sizeof(*ret));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(*ret))
        *ret = (struct ready){.address = ""};
}

/* --- serving --- */

static void say_ready(struct cli *cli, const struct home *home, const struct ready *r,
                      const char *log)
{
    const char *server = arena_printf(&cli->arena, "https://%s", r->address);
    const char *pages = server ? browser_address(&cli->arena, server, "") : NULL;

    printf("muster " MUSTER_VERSION " is up at https://%s\n"
           "  kubectl: export KUBECONFIG=%s\n"
           "  log:     %s\n",
           r->address, home->kubeconfig_path, log);
    if (*r->login_code && pages)
        printf("  console: %s/login?code=%s (valid once)\n", pages, r->login_code);
    fflush(stdout);
}

static void fill_ready(struct daemon *d, bool has_console, struct ready *ret)
{
    *ret = (struct ready){.address = ""};
    (void)snprintf(ret->address, sizeof(ret->address), "%s", d->address);
    if (has_console)
        server_login_code(d->server, ret->login_code);
}

static void say_stopped(const struct home *home)
{
    size_t pods = daemon_count_pods(home);

    if (pods)
        log_info("stopped; %zu pods keep running; the next start finds them again", pods);
    else
        log_info("stopped");
}

/* ready_fd: -1 in the foreground. */
static enum exit_code serve(struct cli *cli, const struct up_options *o,
                            const struct daemon_options *how, int ready_fd)
{
    const struct home *home = how->home;
    int log = ready_fd < 0 ? -1 : open_log(home, 0); /* not created before the folder is known to be
                                                      * ours */
    auto_err err = ERR_INIT;
    struct daemon d;
    struct ready ready;
    int rc;

    daemon_keep_to_itself();
    descriptors_raise(DESCRIPTORS_WANTED);
    log_set_level(o->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    log_copy_to(log);
    rc = daemon_start(&d, &cli->arena, how, &err);
    log_copy_to(-1);
    if (log >= 0)
        close(log);
    if (rc)
        return command_fail(cli, &err);
    fill_ready(&d, !how->only_api, &ready);
    if (ready_fd < 0)
        say_ready(cli, home, &ready, "here");
    else if (detach_from_terminal(home, &err) || tell_ready(ready_fd, &ready)) {
        daemon_stop(&d);
        return command_fail(cli, &err);
    } else
        log_info("muster " MUSTER_VERSION " is up at https://%s, data folder %s", d.address,
                 home->dir);
    daemon_run(&d);
    daemon_stop(&d);
    say_stopped(home);
    return EXIT_OK;
}

static enum exit_code serve_detached(struct cli *cli, const struct up_options *o,
                                     const struct daemon_options *how)
{
    struct ready told;
    int ready[2], status = 0;
    pid_t child;

    if (pipe2(ready, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        talk_errorf(&cli->talk, "cannot start in the background: %s", strerror(errno));
        return EXIT_FAILED;
    }
    if (child == 0) {
        close(ready[0]);
        (void)setsid();
        return serve(cli, o, how, ready[1]);
    }
    close(ready[1]);
    wait_ready(ready[0], &told);
    close(ready[0]);
    if (*told.address) {
        say_ready(cli, how->home, &told, how->home->log_path);
        return EXIT_OK;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) ? (enum exit_code)WEXITSTATUS(status)
                                                    : EXIT_FAILED;
}

static bool parse_time(struct cli *cli, const char *option, const char *text, int64_t *ret)
{
    if (!text)
        return true;
    if (duration_parse_ms(text, ret) == 0) {
        *ret = *ret ? *ret : -1; /* never */
        return true;
    }
    talk_errorf(&cli->talk, "--%s takes a time like 90m or 24h, or 0 for never, not '%s'", option,
                text);
    return false;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct up_options *o = values;
    auto_err err = ERR_INIT;
    struct home home;
    struct daemon_options how = {.home = &home,
                                 .listen = o->listen ? o->listen : DEFAULT_LISTEN,
                                 .or_listen = o->listen ? NULL : FREE_LISTEN,
                                 .node_name = o->node_name,
                                 .only_api = o->only != NULL,
                                 .client_ca = o->client_ca,
                                 .overcommit = o->overcommit,
                                 .notify_local = o->notify_local,
                                 .volumes = o->volumes.items};

    (void)args;
    if (o->only && o->volumes.len > 0) {
        talk_errorf(&cli->talk, "--volume is for the node agent, which --only api leaves out");
        return EXIT_USAGE;
    }
    if (o->only && node_limits_given(&o->limits)) {
        talk_errorf(&cli->talk, "%s is for the node agent, which --only api leaves out",
                    node_limits_given(&o->limits));
        return EXIT_USAGE;
    }
    if (o->only && (o->idle_after || o->reclaim_after)) {
        talk_errorf(&cli->talk, "--%s is for the controllers, which --only api leaves out",
                    o->idle_after ? "idle-after" : "reclaim-after");
        return EXIT_USAGE;
    }
    if (node_limits_parse(cli, &o->limits, &how.limits) != 0 ||
        !parse_time(cli, "idle-after", o->idle_after, &how.idle.idle_ms) ||
        !parse_time(cli, "reclaim-after", o->reclaim_after, &how.idle.reclaim_ms))
        return EXIT_USAGE;
    if (o->listen && listen_check(o->listen, &err)) {
        talk_error(&cli->talk, &err);
        return EXIT_USAGE;
    }
    if (home_locate(&cli->arena, o->dir, &home, &err) || home_create(&home, &err))
        return command_fail(cli, &err);
    return o->detach ? serve_detached(cli, o, &how) : serve(cli, o, &how, -1);
}

const struct command command_up = {
    .name = "up",
    .args = "",
    .summary = "Start everything on this machine",
    .examples = "  muster up --detach\n"
                "  muster up --listen 127.0.0.1:0 --dir /tmp/try\n",
    .help = "Stops at Ctrl-C or 'muster down'. Running training continues, and is found again\n"
            "at the next start.\n",
    .options = options,
    .options_size = sizeof(struct up_options),
    .run = run,
};
