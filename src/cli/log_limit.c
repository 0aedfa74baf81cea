/* log_limit.c - see log_limit.h. */
#include "cli/log_limit.h"

#include <errno.h>

#include "api/quantity.h"
#include "runtime/process.h"

int log_limit_parse(struct cli *cli, const char *text, int64_t *ret_bytes)
{
    if (quantity_value(text ? text : LOG_LIMIT_DEFAULT, ret_bytes) == 0 &&
        *ret_bytes >= PROCESS_LOG_LEAST_BYTES && *ret_bytes <= PROCESS_LOG_MOST_BYTES)
        return 0;
    talk_errorf(&cli->talk, "--log-limit wants a size from 16Mi to 1Ti, like 64Mi, not \"%s\"",
                text);
    return -EINVAL;
}
