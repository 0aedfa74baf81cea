/*
 * exec.h - runs a command next to a container's program: in its namespaces, as its user, with its
 * environment and working directory.
 *
 * Each command has a helper, the binary re-executed (exec_helper.h). The helper ends the command
 * when the container ends or when the caller lets go of it, even by dying; what the command left in
 * the background lives on until the container ends, as on a cluster. Loop thread only.
 */
#ifndef MUSTER_RUNTIME_EXEC_H
#define MUSTER_RUNTIME_EXEC_H

#include "loop/loop.h"
#include "port/node.h"

#define EXEC_LIMIT 256u /* concurrent helpers */

struct exec_end {
    int exit_code;       /* as a shell would report it */
    const char *message; /* why it could not be started, or "" */
};

/* Manages the helpers; program is what is re-executed, NULL for our own binary. */
struct exec_host;
struct exec_host *exec_host_new(struct loop *l, const char *program, struct err *err) must_check;
/* Ends all commands. */
void exec_host_free(struct exec_host *h);

/* Whether the container runs; otherwise the error says what it does instead. */
int exec_check(const char *pod_root, const char *pod_uid, const char *container,
               struct err *err) must_check;

/* ended is called once, after this returns, unless the session is freed first. There may still be
 * output in the pipes then. */
struct exec;
struct exec *exec_start(struct exec_host *h, const char *pod_root, const char *pod_uid,
                        const struct node_command *command,
                        void (*ended)(void *arg, const struct exec_end *end), void *arg,
                        struct err *err) must_check;
/* Our non-blocking end of a stream; -1 when it was not requested. Owned by the session. */
int exec_fd(const struct exec *e, enum node_stream stream);
void exec_close_stdin(struct exec *e);
void exec_resize(struct exec *e, unsigned columns, unsigned rows);
/* Ends the command if it still runs. NULL-safe. */
void exec_free(struct exec *e);

#endif
