/* node_limits.c - see node_limits.h. */
#include "cli/node_limits.h"

#include <errno.h>

#include "api/quantity.h"
#include "runtime/process.h"

int node_limits_parse(struct cli *cli, const char *log_limit, const char *cpus, const char *memory,
                      struct node_limits *ret)
{
    *ret = (struct node_limits){0};
    if (quantity_value(log_limit ? log_limit : LOG_LIMIT_DEFAULT, &ret->log_bytes) != 0 ||
        ret->log_bytes < PROCESS_LOG_LEAST_BYTES || ret->log_bytes > PROCESS_LOG_MOST_BYTES) {
        talk_errorf(&cli->talk, "--log-limit wants a size from 16Mi to 1Ti, like 64Mi, not \"%s\"",
                    log_limit);
        return -EINVAL;
    }
    if (cpus && (quantity_milli(cpus, &ret->cpu_milli) != 0 || ret->cpu_milli < 1)) {
        talk_errorf(&cli->talk, "--cpus wants a number of CPUs, like 4 or 2500m, not \"%s\"", cpus);
        return -EINVAL;
    }
    if (memory && (quantity_value(memory, &ret->memory_bytes) != 0 || ret->memory_bytes < 1)) {
        talk_errorf(&cli->talk, "--memory wants a size, like 16Gi, not \"%s\"", memory);
        return -EINVAL;
    }
    return 0;
}
