/* cmd_notebook.c - `muster notebook --setup`: installs JupyterLab in a virtual environment. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "cli/home.h"
#include "cli/words.h"

#define LINE_SIZE 4096

struct notebook_options {
    bool setup;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct notebook_options, setup, "setup",
                   "install JupyterLab from PyPI, for you and your daemon"),
    {0},
};

/* The environment sees the machine's packages, so that kernels find its torch. A JupyterLab among
 * them would satisfy pip without providing the command here, so it is installed regardless. An
 * environment whose python is gone (after an upgrade of the machine) is created again. */
static const char script[] =
    "V=$" JUPYTER_VARIABLE "; clear=; end() { echo \"$2\"; exit \"$1\"; }; "
    "install() { said=$(\"$V/bin/python\" -m pip --disable-pip-version-check install -q \"$@\" "
    "2>&1)"
    " && return; printf '%s\\n' \"$said\" >&2; case $said in "
    "*'No space left'*|*'Disk quota'*) end 15 \"$V\";; "
    "*onnection*|*'timed out'*|*ProxyError*|*SSLError*) end 14;; "
    "*'No matching distribution'*) end 16 \"$python\";; *) end 17; esac; }; "
    "command -v python3 >/dev/null || exit 10; "
    "python=$(python3 -c 'import sys; print(\"Python\", sys.version.split()[0], sys.executable); "
    "sys.exit(sys.version_info < (3, 8))') || end 11 \"$python\"; "
    "python3 -c 'import ensurepip, venv' || end 12 \"$python\"; "
    "\"$V/bin/python\" -c '' 2>/dev/null || clear=--clear; "
    "python3 -m venv --system-site-packages $clear \"$V\" >&2 || end 13 \"$V\"; "
    "install jupyterlab; [ -x \"$V/bin/jupyter-lab\" ] || install --ignore-installed jupyterlab; "
    "\"$V/bin/jupyter-lab\" --version || end 18 \"$V\"";

/* What the script's exit statuses mean; the last line it printed follows the text. */
static const struct setup_problem {
    int status;
    const char *text, *hint;
} problems[] = {
    {10, "there is no python3 in PATH", "Debian and Ubuntu: apt install python3-venv"},
    {11, "JupyterLab needs Python 3.8 or newer", "put a newer python3 first in PATH"},
    {12, "python3 cannot make virtual environments: its module venv or ensurepip is missing",
     "Debian and Ubuntu: apt install python3-venv"},
    {13, "python3 could not make the virtual environment, as it says above",
     "the folder must be yours and the disk have room; then run it again"},
    {14, "PyPI cannot be reached, as pip says above",
     "check the network; HTTPS_PROXY names a proxy, PIP_INDEX_URL a mirror"},
    {15, "the disk is full", "JupyterLab takes about 300 MB: free some room and run it again"},
    {16, "the package index has no JupyterLab for this Python",
     "PIP_INDEX_URL or pip.conf names another index than PyPI, or python3 is too old or new"},
    {17, "pip could not install JupyterLab, as it says above",
     "nothing is lost: fix the problem and run it again"},
    {18, "JupyterLab is installed but does not run, as it says above",
     "remove the folder and run it again"},
};

/* Returns the script's exit status and the last line it printed; -1: it was killed. */
static int run_script(char said[static LINE_SIZE])
{
    FILE *from = popen(script, "r");
    int status;

    if (!from)
        return -1;
    while (fgets(said, LINE_SIZE, from))
        said[strcspn(said, "\n")] = '\0';
    status = pclose(from);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void install(const char *venv, struct err *err)
{
    char said[LINE_SIZE] = "";
    int status;

    if (setenv(JUPYTER_VARIABLE, venv, 1) < 0) {
        err_set(err, ERR_INTERNAL, "%s", strerror(errno));
        return;
    }
    printf(words("installing JupyterLab in %s; this takes a minute or two\n"), venv);
    (void)fflush(stdout);
    status = run_script(said);
    if (status == 0) {
        printf(words("JupyterLab %s is there; Notebooks that wait for it start within 5 minutes\n"),
               said);
        return;
    }
    for (size_t i = 0; i < ELEMS(problems); i++)
        if (problems[i].status == status) {
            err_set(err, ERR_INTERNAL, "%s%s%s", words(problems[i].text), *said ? ": " : "", said);
            err_hint(err, "%s", words(problems[i].hint));
        }
    err_set(err, ERR_INTERNAL, words("interrupted; run it again"));
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct notebook_options *o = values;
    const char *venv = home_jupyter(&cli->arena);
    auto_err err = ERR_INIT;

    (void)args;
    if (!o->setup) {
        err_set(&err, ERR_BAD_REQUEST, words("nothing to do: use muster notebook --setup"));
        err_hint(&err, words("create Notebooks in the console or with kubectl apply"));
    } else if (!venv) {
        err_set(&err, ERR_BAD_REQUEST, words("HOME is not set: JupyterLab is installed below it"));
    } else {
        install(venv, &err);
    }
    return err_is_set(&err) ? command_fail(cli, &err) : EXIT_OK;
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
