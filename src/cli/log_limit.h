/* log_limit.h - the option --log-limit of who runs pods. */
#ifndef MUSTER_CLI_LOG_LIMIT_H
#define MUSTER_CLI_LOG_LIMIT_H

#include "cli/command.h"

#define LOG_LIMIT_DEFAULT "256Mi"

/* text: NULL when it was not given. Says itself what is wrong. */
int log_limit_parse(struct cli *cli, const char *text, int64_t *ret_bytes) must_check;

#endif
