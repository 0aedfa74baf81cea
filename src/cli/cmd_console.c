/*
 * cmd_console.c - `muster console`: opens the console of this machine's muster, or with
 * --kubeconfig serves the console for an API server elsewhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/browser.h"
#include "cli/common_options.h"
#include "cli/daemon.h"
#include "cli/session.h"
#include "console/standalone.h"

#define DEFAULT_LISTEN "127.0.0.1:7448"
#define CODE_PATH "/console/v1/code"

struct console_options {
    const char *dir, *kubeconfig, *context, *listen;
    struct option_list volumes;
    bool print, verbose;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct console_options, print, "print",
                   "only print the address, do not open a browser"),
    OPTION_DIR(struct console_options),
    OPTION_OF_TEXT(struct console_options, kubeconfig, "kubeconfig", "FILE",
                   "serve the console here, for the API server in this file"),
    OPTION_OF_TEXT(struct console_options, context, "context", "NAME",
                   "the same for a context of the kubeconfig ($KUBECONFIG, else ~/.kube/config)"),
    OPTION_OF_TEXT(struct console_options, listen, "listen", "ADDRESS:PORT",
                   "with --kubeconfig or in a pod: where to serve it (default " DEFAULT_LISTEN ")"),
    OPTION_OF(
        OPTION_LIST, struct console_options, volumes, "volume", "NAMESPACE/NAME=DIR",
        "with --kubeconfig or in a pod: where a PersistentVolumeClaim is mounted, to read curves"),
    OPTION_VERBOSE(struct console_options),
    {0},
};

static void show(struct cli *cli, const struct console_options *o, const char *address)
{
    bool seen = isatty(STDOUT_FILENO) &&
                (getenv("BROWSER") || getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
    auto_err err = ERR_INIT;
    struct home home;

    puts(address);
    (void)fflush(stdout);
    if (!o->print && seen && home_locate(&cli->arena, o->dir, &home, &err) == 0 &&
        home_create(&home, &err) == 0)
        browser_open_secret(&home, address);
}

/* --- this machine's ---------------------------------------------------------------------- */

struct code_answer {
    struct loop *loop;
    struct arena *arena;
    const char *path;
    struct err *err;
};

static void on_code(void *arg, const struct api_reply *reply)
{
    struct code_answer *c = arg;
    const struct json *body = json_parse(c->arena, reply->body, reply->body_len, NULL);

    c->path = reply->status == 201 ? json_get_string(body, "path", NULL) : NULL;
    if (!c->path)
        (void)err_set(c->err, ERR_UNAVAILABLE, "cannot get an address to sign in with: %.300s",
                      json_get_string(body, "message", reply->status ? "" : reply->body));
    loop_stop(c->loop);
}

static enum exit_code show_own(struct cli *cli, const struct console_options *o)
{
    const struct session_options where = {.dir = o->dir};
    auto_err err = ERR_INIT;
    struct session s;
    struct code_answer code = {.arena = &cli->arena, .err = &err};
    const char *address = NULL;
    enum exit_code rc = EXIT_OK;

    if (session_open(cli, &where, &s, &err))
        return command_fail(cli, &err);
    code.loop = s.loop;
    transport_call(
        s.transport,
        &(struct api_call){
            .method = "POST", .path = CODE_PATH, .body = "", .content_type = "application/json"},
        on_code, &code);
    while (!code.path && !err_is_set(&err))
        loop_run(s.loop);
    if (code.path)
        address = browser_address(&cli->arena, s.config.server, code.path);
    if (address)
        show(cli, o, address);
    else
        rc = command_fail(cli, &err);
    session_close(&s);
    return rc;
}

/* --- standalone -------------------------------------------------------------------------- */

static bool is_loopback(const char *listen)
{
    return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "[::1]", 5) == 0 ||
           strncmp(listen, "localhost", 9) == 0;
}

/* The host as given, with the actual port. With the kubeconfig's own token the address signs its
 * user in; otherwise the page asks for a token. */
static const char *address_of(struct cli *cli, struct standalone_console *r, const char *listen,
                              const char *token)
{
    const char *colon = strrchr(listen, ':');
    const char *path = token ? standalone_console_login_path(r, &cli->arena, token) : "/";

    return arena_printf(&cli->arena, "%s://%.*s:%u%s", is_loopback(listen) ? "http" : "https",
                        colon ? (int)(colon - listen) : (int)strlen(listen), listen,
                        standalone_console_port(r), path ? path : "/");
}

static int serve_on(struct cli *cli, const struct console_options *o,
                    const struct client_config *config, struct loop *l, struct err *err)
{
    const char *listen = o->listen ? o->listen : DEFAULT_LISTEN;
    const struct standalone_console_options how = {.loop = l,
                                                   .listen = listen,
                                                   .server = config,
                                                   .version = MUSTER_VERSION,
                                                   .volumes = o->volumes.items};
    struct loop_signal *signals[4] = {0};
    struct standalone_console *r = standalone_console_new(&how, err);
    int rc = r ? daemon_watch_signals(l, signals, err) : -EIO;
    const char *address = rc == 0 ? address_of(cli, r, listen, config->token) : NULL;

    if (address) {
        log_info("the console for %s; %s", config->server,
                 config->token ? "the address signs in as the kubeconfig's user, once"
                               : "sign in with a token of that server");
        show(cli, o, address);
        loop_run(l);
    }
    standalone_console_free(r);
    daemon_unwatch_signals(signals);
    return rc;
}

static enum exit_code serve(struct cli *cli, const struct console_options *o)
{
    const struct session_options where = {.kubeconfig = o->kubeconfig, .context = o->context};
    auto_err err = ERR_INIT;
    struct client_config config;
    struct loop *l;
    int rc;

    log_set_level(o->verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    if (session_find_cluster(cli, &where, true, &config, &err))
        return command_fail(cli, &err);
    if (!o->kubeconfig && !o->context)
        config.token = NULL; /* the pod's own must not sign anyone in */
    l = loop_new(&err);
    if (!l)
        return command_fail(cli, &err);
    rc = serve_on(cli, o, &config, l, &err);
    loop_free(l);
    return rc ? command_fail(cli, &err) : EXIT_OK;
}

static bool is_mapping(const char *text)
{
    size_t ns = strcspn(text, "/="), name = text[ns] == '/' ? strcspn(text + ns + 1, "/=") : 0;

    return ns > 0 && name > 0 && strncmp(text + ns + 1 + name, "=/", 2) == 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct console_options *o = values;

    (void)args;
    for (size_t i = 0; i < o->volumes.len; i++)
        if (!is_mapping(o->volumes.items[i])) {
            talk_errorf(&cli->talk, "--volume %s: it is NAMESPACE/NAME=DIR, with a folder from /",
                        o->volumes.items[i]);
            return EXIT_USAGE;
        }
    if (o->kubeconfig || o->context || (o->listen && getenv("KUBERNETES_SERVICE_HOST")))
        return serve(cli, o);
    if (o->listen || o->volumes.len) {
        talk_errorf(&cli->talk,
                    "--%s is for --kubeconfig: 'muster up' serves the console of this machine",
                    o->listen ? "listen" : "volume");
        return EXIT_USAGE;
    }
    return show_own(cli, o);
}

const struct command command_console = {
    .name = "console",
    .args = "",
    .summary = "Open the web console",
    .examples = "  muster console\n"
                "  muster console --print\n"
                "  muster console --kubeconfig ~/.kube/config --listen 127.0.0.1:7448\n",
    .help = "Prints an address that signs you in once, and opens it if there is a browser. With\n"
            "--kubeconfig it serves the console for any API server until Ctrl-C; users sign in\n"
            "with a token of that server and may do what it allows them. It speaks plain HTTP\n"
            "on the loopback, and TLS with a self-signed certificate on other addresses. In a\n"
            "pod --listen alone serves the console of the pod's cluster.\n",
    .options = options,
    .options_size = sizeof(struct console_options),
    .run = run,
};
