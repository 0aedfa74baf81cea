/* notebook_ssh.h - the ssh server of a Notebook (core/notebook.c) on one machine. Pure. */
#ifndef MUSTER_CORE_NOTEBOOK_SSH_H
#define MUSTER_CORE_NOTEBOOK_SSH_H

#include "core/app.h"

#define NOTEBOOK_SSH_FOLDER "/t9k/ssh" /* where its pod has the server's files */
#define NOTEBOOK_SSH_PORT_VARIABLE "MUSTER_SSH_PORT"

#define NOTEBOOK_SSH_CHECK APP_CHECK_PORT("$" NOTEBOOK_SSH_PORT_VARIABLE, APP_EXIT_SSH_PORT_TAKEN)
/* For the shell that starts the Notebook's program: starts the server if it is set up. What it
 * starts has the environment of that shell, without the token of JupyterLab. The pipe brings its
 * messages to the container's log. */
#define NOTEBOOK_SSH_START                                                                         \
    "d=" NOTEBOOK_SSH_FOLDER "; if [ -r $d/config ]; then " NOTEBOOK_SSH_CHECK                     \
    "(umask 077; unset TERM SHELL JUPYTER_TOKEN; rm -f $d/log; mkfifo $d/log; "                    \
    "export MUSTER_START=\"$PWD\"; { export -p; echo 'cd \"$MUSTER_START\"; "                      \
    "[ -z \"$SSH_ORIGINAL_COMMAND\" ] || exec \"$SHELL\" -c \"$SSH_ORIGINAL_COMMAND\"; "           \
    "exec \"$SHELL\"'; } >$d/session); "                                                           \
    "[ \"$(id -u)\" != 0 ] || mkdir -p /run/sshd; cat $d/log >&2 & "                               \
    "\"$(cat $d/program)\" -f $d/config -E $d/log || { " NOTEBOOK_SSH_CHECK                        \
    "echo 'sshd could not be started' >&2; }; fi; "

/* The pod's part of it: volumes, and a container that prepares the server's files. */
void notebook_ssh_set(const struct app_look *l, struct json *pod, struct json *container);
/* What identifies that part in a pod; pods that differ in it do not fit. */
const struct json *notebook_ssh_mark(const struct json *pod);
/* The Secret with its host key. */
struct json *notebook_ssh_secret(const struct app_look *l);
/* See struct app_kind. */
void notebook_ssh_status(const struct app_look *l, struct json *status, struct plan *plan);

#endif
