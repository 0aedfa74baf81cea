/* exec_pump.h - connects our own standard streams and terminal with those of a command in a pod. */
#ifndef MUSTER_CLI_EXEC_PUMP_H
#define MUSTER_CLI_EXEC_PUMP_H

#include "client/exec_client.h"

/* Runs the command (options->loop is ignored) until it has ended or a signal ends us, which ends
 * the command. The exit code: the command's, or 128 + signal; negative with err set when it did not
 * run. */
int exec_pump_run(const struct exec_client_options *options, struct err *err) must_check;

#endif
