/*
 * daemon.h - where the parts are joined: only here is it decided which transport connects the
 * controllers and the node agent to the API server.
 */
#ifndef MUSTER_CLI_DAEMON_H
#define MUSTER_CLI_DAEMON_H

#include "base/reserve.h"
#include "cli/home.h"
#include "cli/node_limits.h"
#include "core/job.h"
#include "loop/loop.h"
#include "port/transport.h"

struct agent;
struct control;
struct curves;
struct progress;
struct app_proxy;
struct volumes;
struct server;
struct store;
struct node;
struct webhook;

struct daemon_options {
    const struct home *home;
    const char *listen;    /* "127.0.0.1:7447" */
    const char *or_listen; /* if that one is taken; NULL: fail */
    const char *node_name; /* NULL: the host's name */
    bool only_api;         /* neither controllers nor agent */
    const char *client_ca; /* file of more authorities for clients' certificates, or NULL */
    bool overcommit;
    bool notify_local;      /* see net/webhook.h */
    struct idle_times idle; /* see core/job.h */
    struct node_limits limits;
    const char *const *volumes; /* claims and their folders: "NAME=DIR"; NULL-terminated, or NULL */
};

struct daemon {
    struct loop *loop;
    struct store *store;
    struct server *server;
    struct transport *control_transport, *agent_transport, *console_transport;
    struct webhook *webhook;
    struct control *control;
    struct agent *agent;
    struct node *node; /* the agent's in this process; or NULL */
    struct node_directory *others;
    struct curves *curves;
    struct progress *progress;
    struct app_proxy *apps;
    struct volumes *volumes;
    struct live_hub *live;
    struct key_pair authority; /* in the arena */
    int lock_fd;
    char address[HOME_ADDRESS_SIZE]; /* where it listens, with the actual port */
    struct loop_signal *signals[4];
    struct clock_timer *rest_timer;
    const struct daemon_options *options;
    struct recovery recovery; /* of the controllers, from shortages of memory */
    int64_t opened_revision;  /* the store's newest when it was opened */
    int64_t rest_revision;
    size_t unused; /* when memory was last returned */
};

/* When it returns, requests are served. */
int daemon_start(struct daemon *d, struct arena *a, const struct daemon_options *options,
                 struct err *err) must_check;
/* Until SIGINT, SIGTERM or, unless started by nohup(1), SIGHUP. */
void daemon_run(struct daemon *d);
/* Stops the control plane; what it started on this machine keeps running. */
void daemon_stop(struct daemon *d);

/* Prevents core dumps of a process that knows the token, and inspection by root's pods. */
void daemon_keep_to_itself(void);

/* Termination signals stop the loop from now on. */
int daemon_watch_signals(struct loop *l, struct loop_signal *signals[4],
                         struct err *err) must_check;
void daemon_unwatch_signals(struct loop_signal *signals[4]);

/* Pods in the data folder whose supervisor is alive. */
size_t daemon_count_pods(const struct home *home);

#endif
