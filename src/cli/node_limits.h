/* node_limits.h - --log-limit, --cpus and --memory: what pods of this machine may have. */
#ifndef MUSTER_CLI_NODE_LIMITS_H
#define MUSTER_CLI_NODE_LIMITS_H

#include "cli/command.h"

#define LOG_LIMIT_DEFAULT "256Mi"

struct node_limits {
    int64_t log_bytes;               /* of one run of a container */
    int64_t cpu_milli, memory_bytes; /* 0: what the machine has */
};

/* Absent texts are NULL. -EINVAL when one is no amount, which is said. */
int node_limits_parse(struct cli *cli, const char *log_limit, const char *cpus, const char *memory,
                      struct node_limits *ret);

#endif
