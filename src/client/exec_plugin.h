/*
 * exec_plugin.h - programs that give a kubeconfig's user a token or a certificate
 * (client.authentication.k8s.io v1 and v1beta1), as kubectl runs them.
 */
#ifndef MUSTER_CLIENT_EXEC_PLUGIN_H
#define MUSTER_CLIENT_EXEC_PLUGIN_H

#include "base/arena.h"
#include "base/err.h"

struct exec_plugin {
    const char *api_version;
    const char *const *argv; /* the command first; ends with NULL */
    const char *const *env;  /* "NAME=value", beside our own; ends with NULL */
    const char *info;        /* KUBERNETES_EXEC_INFO */
    const char *install_hint;
    bool interactive; /* it may ask who sits at the terminal */
};

#define EXEC_PLUGIN_WAIT_MS 60000
/* The user may have to sign in in a browser. */
#define EXEC_PLUGIN_INTERACTIVE_WAIT_MS 300000

/* Absent things are NULL. */
struct credential {
    const char *token, *cert_pem, *key_pem;
    int64_t expires_ms; /* 0: when the server says so */
};

/* Waits for the program, or until stop_fd can be read (-1: nobody stops it). What it says is in the
 * arena. */
int exec_plugin_run(struct arena *a, const struct exec_plugin *p, int stop_fd,
                    struct credential *ret, struct err *err) must_check;

#endif
