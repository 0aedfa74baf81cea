/*
 * standalone.h - the console as a process of its own, for an API server elsewhere (`muster console
 * --kubeconfig F`). The same pages and the same stream as beside our own server; the pages' API
 * requests are passed on with the token of the signed-in user, so nothing is possible here that the
 * API does not allow that user. This process has no rights of its own.
 *
 *   POST /console/v1/login   {"token": T} or {"code": C}, a one-time code; the API server
 *                            identifies the user: {"key": K}, the session's
 *   POST /console/v1/logout, GET /console/v1/session, /console/v1/stream
 *   /api, /apis, /openapi, /version and the like: passed on
 *   /board: curves, from the claims mounted here
 *   /tensorboard: 404, with instructions
 */
#ifndef MUSTER_CONSOLE_STANDALONE_H
#define MUSTER_CONSOLE_STANDALONE_H

#include "client/kubeconfig.h"
#include "loop/loop.h"

struct standalone_console;

struct standalone_console_options {
    struct loop *loop;
    const char *listen;
    /* Only address, CA and namespace are used, never its credentials. Must outlive the loop. */
    const struct client_config *server;
    const char *version;        /* of this program */
    const char *const *volumes; /* "NAMESPACE/CLAIM=FOLDER", NULL-terminated; must outlive the
                                 * loop */
};

struct standalone_console *standalone_console_new(const struct standalone_console_options *options,
                                                  struct err *err) must_check;
void standalone_console_free(struct standalone_console *r);
unsigned standalone_console_port(const struct standalone_console *r);

/* The path ("/login?code=...") that signs in with the token once; in the arena. NULL when out of
 * memory. */
const char *standalone_console_login_path(struct standalone_console *r, struct arena *a,
                                          const char *token);

#endif
