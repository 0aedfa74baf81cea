/*
 * exec_plugin.h - programs that provide a token or certificate for a kubeconfig's user
 * (client.authentication.k8s.io v1 and v1beta1), run the way kubectl does.
 */
#ifndef MUSTER_CLIENT_EXEC_PLUGIN_H
#define MUSTER_CLIENT_EXEC_PLUGIN_H

#include "base/arena.h"
#include "base/err.h"

struct exec_plugin {
    const char *api_version;
    const char *const *argv; /* starting with the command; NULL-terminated */
    const char *const *env;  /* "NAME=value", in addition to our own; NULL-terminated */
    const char *info;        /* KUBERNETES_EXEC_INFO */
    const char *install_hint;
    bool interactive; /* it may prompt on the terminal */
};

#define EXEC_PLUGIN_WAIT_MS 60000
/* The user may have to sign in with a browser. */
#define EXEC_PLUGIN_INTERACTIVE_WAIT_MS 300000

/* Unset members are NULL. */
struct credential {
    const char *token, *cert_pem, *key_pem;
    int64_t expires_ms; /* 0: when the server says so */
};

/* Waits for the program, or until stop_fd is readable (-1: never). Its result is in the arena. */
int exec_plugin_run(struct arena *a, const struct exec_plugin *p, int stop_fd,
                    struct credential *ret, struct err *err) must_check;

#endif
