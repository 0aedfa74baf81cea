/*
 * kubeconfig.h - where the API server is and how to prove who we are: reads the file kubectl uses,
 * and writes one for our own server. Errors name file and line.
 */
#ifndef MUSTER_CLIENT_KUBECONFIG_H
#define MUSTER_CLIENT_KUBECONFIG_H

#include "base/buf.h"
#include "base/err.h"

/* Absent things are NULL. Certificates are PEM texts, wherever they came from. */
struct client_config {
    const char *server; /* "https://127.0.0.1:7447", no slash at the end */
    const char *ns;     /* of the context; NULL: default */
    const char *token;
    const char *token_file; /* where it came from, to be read again: tokens are changed */
    const char *ca_pem;
    const char *cert_pem, *key_pem;
    const char *username, *password; /* HTTP basic authentication */
    bool insecure;                   /* insecure-skip-tls-verify */
};

/* The header that says who we are, whole, in the arena; NULL when there is nothing to say. */
const char *client_authorization(struct arena *a, const struct client_config *config);

/* The first line of a file, without blanks around it, as tokens are kept; NULL when there is none.
 */
const char *token_file_read(struct arena *a, const char *path);

/* The current context of the file. Everything in *ret lives in the arena. */
int kubeconfig_load(struct arena *a, const char *path, struct client_config *ret,
                    struct err *err) must_check;
/* The same of a text; path is for messages and for file names relative to it. */
int kubeconfig_parse(struct arena *a, const char *path, const char *text, size_t len,
                     struct client_config *ret, struct err *err) must_check;

/* A file with one cluster, user and context, all named "muster": server, ca_pem, token, ns,
 * insecure. */
void kubeconfig_write(struct buf *out, const struct client_config *config);

#endif
