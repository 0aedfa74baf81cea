/* node_limits.h - --log-limit, --cpus, --memory, --gpus, --gpu-shares, --runtime and --image-limit:
 * what this machine's pods may use, and how they run. */
#ifndef MUSTER_CLI_NODE_LIMITS_H
#define MUSTER_CLI_NODE_LIMITS_H

#include "cli/command.h"

#define LOG_LIMIT_DEFAULT "256Mi"

struct node_limits {
    int64_t log_bytes;               /* per run of a container */
    int64_t cpu_milli, memory_bytes; /* 0: all of the machine's */
    bool some_gpus;                  /* only those in gpus; otherwise all */
    uint64_t gpus;
    int64_t gpu_shares;    /* per shared GPU; 0: none are shared */
    bool some_gpus_shared; /* only those in shared_gpus; otherwise all available ones */
    uint64_t shared_gpus;
    bool in_image;       /* pods run in their images unless they say otherwise */
    int64_t image_bytes; /* of all unpacked images; 0: no limit */
};

/* As typed; NULL: absent. */
struct node_limits_text {
    const char *log_limit, *cpus, *memory, *gpus, *gpu_shares, *runtime, *image_limit;
};
extern const char *const node_runtimes[];

/* -EINVAL, with a message, when one is invalid. */
int node_limits_parse(struct cli *cli, const struct node_limits_text *text,
                      struct node_limits *ret) must_check;
/* The name of the first one given that is for a node agent, or NULL. */
const char *node_limits_given(const struct node_limits_text *text);

#endif
