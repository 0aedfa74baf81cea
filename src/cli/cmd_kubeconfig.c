/* cmd_kubeconfig.c - `muster kubeconfig`: prints a kubeconfig for this daemon. */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/home.h"
#include "cli/output.h"
#include "loop/file.h"

#include <stdio.h>

#define FILE_LIMIT_BYTES (1024u * 1024u)

struct kubeconfig_options {
    const char *dir;
    bool path;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct kubeconfig_options, path, "path",
                   "print the file's path, not its contents"),
    OPTION_DIR(struct kubeconfig_options),
    {0},
};

static int print(struct cli *cli, const struct kubeconfig_options *o, struct err *err)
{
    struct buf text = BUF_INIT(FILE_LIMIT_BYTES);
    struct home home;
    int r = home_locate(&cli->arena, o->dir, &home, err);

    if (r)
        return r;
    r = file_read(home.kubeconfig_path, FILE_LIMIT_BYTES, &text);
    if (r == -ENOENT) {
        err_set(err, ERR_NOT_FOUND, "no kubeconfig in %s yet", home.dir);
        err_hint(err, "'muster up --detach' creates it");
    } else if (r) {
        err_set(err, ERR_INTERNAL, "cannot read %s: %s", home.kubeconfig_path, strerror(-r));
    } else if (o->path) {
        puts(home.kubeconfig_path);
    } else {
        output_text(&text);
    }
    buf_release(&text);
    return r;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;

    (void)args;
    return print(cli, values, &err) ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_kubeconfig = {
    .name = "kubeconfig",
    .args = "",
    .summary = "Print the kubeconfig of this daemon",
    .examples = "  export KUBECONFIG=$(muster kubeconfig --path)\n"
                "  muster kubeconfig > ~/.kube/muster\n",
    .options = options,
    .options_size = sizeof(struct kubeconfig_options),
    .run = run,
};
