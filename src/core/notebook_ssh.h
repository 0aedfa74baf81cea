/* notebook_ssh.h - the ssh server of a Notebook (core/notebook.c) on one machine. Pure. */
#ifndef MUSTER_CORE_NOTEBOOK_SSH_H
#define MUSTER_CORE_NOTEBOOK_SSH_H

#include "core/app.h"

#define NOTEBOOK_SSH_FOLDER "/t9k/ssh" /* where its pod has the server's files */
#define NOTEBOOK_SSH_PORT_VARIABLE "MUSTER_SSH_PORT"

#define NOTEBOOK_SSH_CHECK APP_CHECK_PORT("$" NOTEBOOK_SSH_PORT_VARIABLE, APP_EXIT_SSH_PORT_TAKEN)
/* Shell fragment of the Notebook's program: starts the server if it is set up, and again whenever
 * it ends. Commands run by ssh have the environment of that shell, without JupyterLab's token. */
#define NOTEBOOK_SSH_START                                                                         \
    "d=" NOTEBOOK_SSH_FOLDER "; if [ -r $d/config ]; then " NOTEBOOK_SSH_CHECK                     \
    "(umask 077; unset TERM SHELL JUPYTER_TOKEN; "                                                 \
    "export MUSTER_START=\"$PWD\"; { export -p; echo 'cd \"$MUSTER_START\"; "                      \
    "[ -z \"$SSH_ORIGINAL_COMMAND\" ] || exec \"$SHELL\" -c \"$SSH_ORIGINAL_COMMAND\"; "           \
    "exec \"$SHELL\"'; } >$d/session); "                                                           \
    "[ \"$(id -u)\" != 0 ] || mkdir -p /run/sshd; "                                                \
    "(n=0; while :; do \"$(cat $d/program)\" -D -e -f $d/config; n=$((n + 1)); "                   \
    "echo \"sshd ended, and is started again in $n s\" >&2; sleep $n; done) & fi; "

/* The pod's part of it: volumes, and a container that prepares the server's files. */
void notebook_ssh_set(const struct app_look *l, struct json *pod, struct json *container);
/* Identifies that part of a pod; a pod with another value must be replaced. */
const struct json *notebook_ssh_mark(const struct json *pod);
/* The Secret with its host key. */
struct json *notebook_ssh_secret(const struct app_look *l);
/* See struct app_kind. */
void notebook_ssh_status(const struct app_look *l, struct json *status, struct plan *plan);

#endif
