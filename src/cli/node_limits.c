/* node_limits.c - see node_limits.h. */
#include "cli/node_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/quantity.h"
#include "core/gpus.h"
#include "runtime/process.h"

#define GPU_SHARES_MOST 100

const char *const node_runtimes[] = {"process", "image", NULL};

static int refuse(struct cli *cli, const char *option, const char *wants, const char *text)
{
    talk_errorf(&cli->talk, "%s wants %s, not \"%s\"", option, wants, text);
    return -EINVAL;
}

/* "4" or "4:0,2-3" */
static int parse_shares(const char *text, struct node_limits *ret)
{
    char *end;
    long long count = strtoll(text, &end, 10);

    if (*text < '0' || *text > '9' || count < 1 || count > GPU_SHARES_MOST)
        return -EINVAL;
    ret->gpu_shares = count;
    ret->some_gpus_shared = *end == ':';
    if (!ret->some_gpus_shared)
        return *end ? -EINVAL : 0;
    if (gpu_set_parse(end + 1, &ret->shared_gpus) != 0 || !ret->shared_gpus)
        return -EINVAL;
    return 0;
}

int node_limits_parse(struct cli *cli, const struct node_limits_text *text, struct node_limits *ret)
{
    const char *log = text->log_limit ? text->log_limit : LOG_LIMIT_DEFAULT;

    *ret = (struct node_limits){.some_gpus = text->gpus != NULL,
                                .in_image = text->runtime && strcmp(text->runtime, "image") == 0};
    if (text->image_limit &&
        (quantity_value(text->image_limit, &ret->image_bytes) != 0 || ret->image_bytes < 1))
        return refuse(cli, "--image-limit", "a size, like 100Gi", text->image_limit);
    if (quantity_value(log, &ret->log_bytes) != 0 || ret->log_bytes < PROCESS_LOG_LEAST_BYTES ||
        ret->log_bytes > PROCESS_LOG_MOST_BYTES)
        return refuse(cli, "--log-limit", "a size from 16Mi to 1Ti, like 64Mi", log);
    if (text->cpus && (quantity_milli(text->cpus, &ret->cpu_milli) != 0 || ret->cpu_milli < 1))
        return refuse(cli, "--cpus", "a number of CPUs, like 4 or 2500m", text->cpus);
    if (text->memory &&
        (quantity_value(text->memory, &ret->memory_bytes) != 0 || ret->memory_bytes < 1))
        return refuse(cli, "--memory", "a size, like 16Gi", text->memory);
    if (text->gpus && gpu_set_parse(text->gpus, &ret->gpus) != 0)
        return refuse(cli, "--gpus", "indexes of GPUs, like 0,2-3, or none", text->gpus);
    if (text->gpu_shares && parse_shares(text->gpu_shares, ret) != 0)
        return refuse(cli, "--gpu-shares",
                      "a number of shares from 1 to 100, for some GPUs with their indexes, like 4 "
                      "or 4:0,2-3",
                      text->gpu_shares);
    return 0;
}

const char *node_limits_given(const struct node_limits_text *text)
{
    return text->cpus          ? "--cpus"
           : text->memory      ? "--memory"
           : text->gpus        ? "--gpus"
           : text->gpu_shares  ? "--gpu-shares"
           : text->runtime     ? "--runtime"
           : text->image_limit ? "--image-limit"
                               : NULL;
}
