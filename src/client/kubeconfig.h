/*
 * kubeconfig.h - the API server's address and our credentials: reads kubectl's file, and writes one
 * for our own server. Errors name file and line.
 */
#ifndef MUSTER_CLIENT_KUBECONFIG_H
#define MUSTER_CLIENT_KUBECONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "client/exec_plugin.h"
#include "net/reach.h"

/* Unset members are NULL. Certificates are PEM texts, wherever they came from. */
struct client_config {
    const char *server; /* "https://127.0.0.1:7447", without a trailing slash */
    const char *ns;     /* the context's; NULL: default */
    const char *token;
    const char *token_file;           /* the token's source, to be read again: tokens are rotated */
    const char *cert_file, *key_file; /* likewise */
    const struct exec_plugin *plugin; /* provides token or certificate */
    int64_t expires_ms;               /* of what it provided; 0: unknown */
    struct reach reach;
    const char *username, *password; /* HTTP basic authentication */
};

/* The complete Authorization header, in the arena; NULL without credentials. */
const char *client_authorization(struct arena *a, const struct client_config *config);

/* The first line of a file without surrounding blanks, as tokens are stored; NULL if there is
 * none. */
const char *token_file_read(struct arena *a, const char *path);

/* The given context, or the current one for NULL, from a file or several separated by ':', of which
 * the first with an entry wins. Everything in *ret is in the arena. */
int kubeconfig_load(struct arena *a, const char *paths, const char *context,
                    struct client_config *ret, struct err *err) must_check;
/* $KUBECONFIG or ~/.kube/config; NULL: neither exists. */
const char *kubeconfig_of_user(struct arena *a);
/* Runs the plugin, if any, and waits for it (exec_plugin.h); sets token, certificate and
 * expires_ms. */
int client_config_login(struct arena *a, struct client_config *config, int stop_fd,
                        struct err *err) must_check;
/* For callers with their own token: omits our certificate. */
struct reach client_reach_of_others(const struct client_config *server);

/* The same from text; path is for messages and relative file names. */
int kubeconfig_parse(struct arena *a, const char *path, const char *text, size_t len,
                     struct client_config *ret, struct err *err) must_check;

/* A file with one cluster, user and context, all named "muster": server, ca_pem, token, ns,
 * insecure. */
void kubeconfig_write(struct buf *out, const struct client_config *config);

#endif
