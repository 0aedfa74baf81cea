/* start.h - a session with this machine's muster, which is started if it is not up. */
#ifndef MUSTER_CLI_START_H
#define MUSTER_CLI_START_H

#include "cli/session.h"

/* For another server: session_open. */
int start_session(struct cli *cli, const struct session_options *options, struct session *ret,
                  struct err *err) must_check;

#endif
