/* node_limits.h - --log-limit, --cpus, --memory, --gpus and --gpu-shares: what pods of this machine
 * may have. */
#ifndef MUSTER_CLI_NODE_LIMITS_H
#define MUSTER_CLI_NODE_LIMITS_H

#include "cli/command.h"

#define LOG_LIMIT_DEFAULT "256Mi"

struct node_limits {
    int64_t log_bytes;               /* of one run of a container */
    int64_t cpu_milli, memory_bytes; /* 0: what the machine has */
    bool some_gpus;                  /* those of gpus; else all */
    uint64_t gpus;
    int64_t gpu_shares;    /* of each GPU that is shared; 0: none is */
    bool some_gpus_shared; /* those of shared_gpus; else all that pods may use */
    uint64_t shared_gpus;
};

/* As they are typed; NULL: absent. */
struct node_limits_text {
    const char *log_limit, *cpus, *memory, *gpus, *gpu_shares;
};

/* -EINVAL when one is not understood, which is said. */
int node_limits_parse(struct cli *cli, const struct node_limits_text *text,
                      struct node_limits *ret) must_check;
/* The first that is given and is for a node agent, by its name; NULL: none is. */
const char *node_limits_given(const struct node_limits_text *text);

#endif
