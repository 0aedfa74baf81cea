/*
 * exec_client.h - runs a command in a container through pods/NAME/exec (WebSocket,
 * v5.channel.k8s.io), on our server or any other.
 */
#ifndef MUSTER_CLIENT_EXEC_CLIENT_H
#define MUSTER_CLIENT_EXEC_CLIENT_H

#include "client/kubeconfig.h"
#include "loop/loop.h"

struct exec_client;

enum exec_client_stream { EXEC_CLIENT_STDOUT = 1, EXEC_CLIENT_STDERR = 2 };

struct exec_client_options {
    struct loop *loop;
    const struct client_config *config;
    const char *ns, *pod;
    const char *container;   /* NULL: the only one, or the pod's default */
    const char *const *argv; /* NULL-terminated */
    bool wants_stdin, tty;   /* with tty there is no stderr */
};

/* Called from the loop only. Each may free the client. */
struct exec_client_handler {
    void (*output)(void *arg, enum exec_client_stream stream, const char *data, size_t len);
    void (*drained)(void *arg); /* more input may be sent */
    /* Once, last. err NULL: the command ran and ended with exit_code. Otherwise it did not run, or
     * its outcome is unknown. */
    void (*ended)(void *arg, int exit_code, const struct err *err);
};

/* Blocks until it is connected; the rest is asynchronous. options are not kept. */
struct exec_client *exec_client_new(const struct exec_client_options *options,
                                    const struct exec_client_handler *handler, void *arg,
                                    struct err *err) must_check;
void exec_client_free(struct exec_client *c); /* ends the command; NULL-safe */

bool exec_client_has_room(const struct exec_client *c);
void exec_client_send(struct exec_client *c, const void *data, size_t len);
void exec_client_end_input(struct exec_client *c);
void exec_client_resize(struct exec_client *c, unsigned columns, unsigned rows);

#endif
