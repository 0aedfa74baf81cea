/* cmd_version.c - `muster version`. */
#include <stdio.h>

#include "base/version.h"
#include "cli/command.h"

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    (void)cli, (void)values, (void)args;
    puts("muster " MUSTER_VERSION);
    return EXIT_OK;
}

const struct command command_version = {
    .name = "version",
    .args = "",
    .summary = "Print the version",
    .run = run,
};
