/* cmd_notebook.c - `muster notebook --setup`: installs JupyterLab in a virtual environment. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/home.h"
#include "cli/words.h"

struct notebook_options {
    bool setup;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct notebook_options, setup, "setup",
                   "install JupyterLab from PyPI, for you and your daemon"),
    {0},
};

/* With the system's packages visible, so that kernels find its torch. */
static const char script[] =
    "say() { echo \"error: $1\" >&2; exit 1; }; "
    "python3 -m venv --system-site-packages \"$0\" || "
    "say \"no virtual environment in $0: python3 and its venv module are needed (Debian: "
    "python3-venv)\"; "
    "\"$0/bin/python\" -m pip --disable-pip-version-check install -q jupyterlab || "
    "say 'pip could not install JupyterLab, as it says above; nothing is lost: run it again'; "
    "echo \"JupyterLab $(\"$0/bin/jupyter-lab\" --version) is in $0\"";

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct notebook_options *o = values;
    const char *venv = home_jupyter(&cli->arena);
    auto_err err = ERR_INIT;

    (void)args;
    if (!o->setup) {
        err_set(&err, ERR_BAD_REQUEST, words("say what to do: muster notebook --setup"));
        err_hint(&err, words("create Notebooks in the console or with kubectl apply"));
    } else if (!venv) {
        err_set(&err, ERR_BAD_REQUEST, "HOME is not set: JupyterLab is installed below it");
    } else {
        execl("/bin/sh", "sh", "-c", script, venv, (char *)NULL);
        err_set(&err, ERR_INTERNAL, "cannot run /bin/sh: %s", strerror(errno));
    }
    return command_fail(cli, &err);
}

const struct command command_notebook = {
    .name = "notebook",
    .args = "",
    .summary = "Install JupyterLab for Notebooks",
    .examples = "  muster notebook --setup\n",
    .help = "Notebooks run the machine's jupyter-lab: the one in the daemon's PATH or virtual\n"
            "environment, otherwise the one this installs in ~/.local/share/muster/jupyter.\n",
    .options = options,
    .options_size = sizeof(struct notebook_options),
    .run = run,
};
