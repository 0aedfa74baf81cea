/*
 * kubeconfig.h - where the API server is and how to prove who we are: reads the file kubectl uses,
 * and writes one for our own server. Errors name file and line.
 */
#ifndef MUSTER_CLIENT_KUBECONFIG_H
#define MUSTER_CLIENT_KUBECONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "client/exec_plugin.h"
#include "net/reach.h"

/* Absent things are NULL. Certificates are PEM texts, wherever they came from. */
struct client_config {
    const char *server; /* "https://127.0.0.1:7447", no slash at the end */
    const char *ns;     /* of the context; NULL: default */
    const char *token;
    const char *token_file;           /* where it came from, to be read again: tokens are changed */
    const char *cert_file, *key_file; /* likewise */
    const struct exec_plugin *plugin; /* that gives token or certificate */
    int64_t expires_ms;               /* of what it gave; 0: it does not say */
    struct reach reach;
    const char *username, *password; /* HTTP basic authentication */
};

/* The header that says who we are, whole, in the arena; NULL when there is nothing to say. */
const char *client_authorization(struct arena *a, const struct client_config *config);

/* The first line of a file, without blanks around it, as tokens are kept; NULL when there is none.
 */
const char *token_file_read(struct arena *a, const char *path);

/* A context, or when it is NULL the current one, of a file or of several with ':' between them, of
 * which the first that has something counts. Everything in *ret lives in the arena. */
int kubeconfig_load(struct arena *a, const char *paths, const char *context,
                    struct client_config *ret, struct err *err) must_check;
/* $KUBECONFIG or ~/.kube/config; NULL: there is neither. */
const char *kubeconfig_of_user(struct arena *a);
/* Runs the plugin, where there is one, and waits for it (exec_plugin.h); token, certificate and
 * expires_ms are set. */
int client_config_login(struct arena *a, struct client_config *config, int stop_fd,
                        struct err *err) must_check;
/* For those who show a token of their own: without our certificate. */
struct reach client_reach_of_others(const struct client_config *server);

/* The same of a text; path is for messages and for file names relative to it. */
int kubeconfig_parse(struct arena *a, const char *path, const char *text, size_t len,
                     struct client_config *ret, struct err *err) must_check;

/* A file with one cluster, user and context, all named "muster": server, ca_pem, token, ns,
 * insecure. */
void kubeconfig_write(struct buf *out, const struct client_config *config);

#endif
