/*
 * server.h - a Kubernetes-compatible API server on a store.
 *
 * The core answers requests from any front: HTTP (server_listen) or calls from the same process
 * (server/local.h). Loop thread only.
 */
#ifndef MUSTER_SERVER_SERVER_H
#define MUSTER_SERVER_SERVER_H

#include "loop/loop.h"
#include "net/mount.h"
#include "net/sessions.h"
#include "store/store.h"

struct kind;
struct server;

struct server_options {
    struct loop *loop;
    struct store *store;
    struct clock *clock;       /* NULL: the loop's */
    bool has_controllers;      /* in this process: their leases are refused to others */
    bool root_pods;            /* root may run pods: users matter */
    bool overcommit;           /* nodes' CPU and memory are not counted: see core/ledger.h */
    const char *sessions_path; /* file that keeps browsers signed in across restarts, or NULL */
    /* Shown to the owner in the console, for kubectl. Must outlive the server; NULL: none. */
    const char *kubeconfig_path;
};

/* Creates the standard namespaces if missing. The store must outlive the server. NULL with err
 * set. */
struct server *server_new(const struct server_options *options, struct err *err) must_check;
/* Closes connections and streams; free local transports first. Requests whose write is under way
 * are finished by store_close, which comes afterwards. */
void server_free(struct server *s);

/* Where logs, exec and so on come from (port/node.h): the node in this process (or NULL), and the
 * others. Both must outlive the server. */
struct node;
struct node_directory;
void server_set_nodes(struct server *s, struct node *own, struct node_directory *others);

/* Serves HTTP ("127.0.0.1:7447", "[::1]:0") on one port, with TLS and, over the loopback, without.
 * tls NULL: only without, and only on loopback addresses. Clients must present the token. At most
 * one address. */
int server_listen(struct server *s, const char *address, const char *token,
                  const struct tls_options *tls, struct err *err) must_check;
unsigned server_port(const struct server *s); /* 0 when not listening */

/* Serves the path prefix ("/board") and everything below it with fn: on the same port, after the
 * same checks. prefix must outlive the server. -ENOSPC when there are too many. */
#define SERVER_MOUNTS_LIMIT 12u
int server_mount(struct server *s, const char *prefix, mount_fn *fn, void *arg) must_check;
/* The same for handlers that pull request bodies (net/httpd.h), however long they are. */
int server_mount_pulling(struct server *s, const char *prefix, mount_fn *fn, void *arg) must_check;
/* The same for those paths of the API that fit. */
int server_mount_proxy(struct server *s, bool (*fits)(const char *path), mount_fn *fn,
                       void *arg) must_check;

/* The same for apps shown in the browser, each at its own origin without access to ours
 * (server/apps.h). */
struct server_app {
    unsigned parts;     /* path segments after the prefix that identify the app: the first is */
    unsigned name_part; /* a namespace, and this one the name of */
    const struct kind *kind; /* an object of this kind, to which the origin belongs */
    const char *pod_suffix;  /* of the pod's name, if using the app executes code in that pod */
    mount_fn *fn;
    int (*may_open)(const struct mount_request *r, const char *path, struct err *err);
    void (*signed_out)(void *arg, uint64_t session);
    void *arg;
};
int server_mount_app(struct server *s, const char *prefix, const struct server_app *app) must_check;

/* Pages and files at all other paths, which are public. wants decides which requests those are
 * (accept: the header, or NULL); the rest is the API's. */
struct server_pages {
    bool (*wants)(const char *method, const char *path, const char *accept);
    mount_fn *handle;
    void *arg;
    const char *hash; /* of all of them, "" when left out; must outlive the server */
    /* The session has ended: whatever was opened with it must end. NULL: nothing is. */
    void (*signed_out)(void *live, uint64_t session);
    void *live;
};
void server_set_pages(struct server *s, const struct server_pages *pages);

/* A one-time code for /login?code=CODE that signs the owner in, valid for some minutes; "" when out
 * of memory. */
#define SERVER_LOGIN_CODE_SIZE SESSION_CODE_SIZE
void server_login_code(struct server *s, char out[SERVER_LOGIN_CODE_SIZE]);

#endif
