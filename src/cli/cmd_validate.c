/* cmd_validate.c - `muster validate`: checks manifests as a server would, without one. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/manifest.h"

struct validate_options {
    const char *ns;
    bool quiet;
};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct validate_options, ns, "namespace", "NAME",
                   "namespace they are for (default: default)", .letter = 'n'),
    OPTION_OF_FLAG(struct validate_options, quiet, "quiet", "report problems only", .letter = 'q'),
    {0},
};

static bool is_valid(struct cli *cli, const struct validate_options *o, const char *file,
                     size_t *problems)
{
    const struct manifest_options how = {.ns = o->ns};
    auto_err err = ERR_INIT;
    struct manifest m;
    int r = manifest_load(&cli->arena, &cli->talk, file, &how, &m, &err);

    if (err_is_set(&err))
        talk_error(&cli->talk, &err);
    if (r == 0 && !o->quiet)
        printf("%s: valid, %zu object%s\n", m.file, m.count, m.count == 1 ? "" : "s");
    *problems += r ? max_size(m.problems, 1) : 0;
    return r == 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    size_t problems = 0;
    size_t wrong = 0;

    for (size_t i = 0; i < args->len; i++)
        wrong += !is_valid(cli, values, args->list[i], &problems);
    if (wrong)
        talk_note(&cli->talk, "%zu problem%s; 'muster explain KIND.FIELD' says what a field takes",
                  problems, problems == 1 ? "" : "s");
    return wrong ? EXIT_FAILED : EXIT_OK;
}

const struct command command_validate = {
    .name = "validate",
    .args = "FILE...",
    .summary = "Check manifests, without a server",
    .examples = "  muster validate job.yaml\n"
                "  muster validate manifests/ more.yaml\n"
                "  kubectl kustomize . | muster validate -\n",
    .help = "Reports every problem in every file, with its line; the rules are the server's\n"
            "own.\n"
            "FILE may be a folder of manifests, or - for standard input.\n",
    .options = options,
    .options_size = sizeof(struct validate_options),
    .min_args = 1,
    .max_args = ARGS_LIMIT,
    .run = run,
};
