/* cmd_completion.c - `muster completion`: a shell script that completes commands and options,
 * generated from the table of commands. Job names are queried from the daemon when completing. */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"

/* Completes job names. */
#define JOB_NAMES "muster ps -A -o jsonpath=.metadata.name 2>/dev/null"
#define LOOK_S "0.5" /* an unresponsive daemon must not block the shell */

static bool takes_jobs(const struct command *c)
{
    return strstr(c->args, "JOB") != NULL;
}

static void write_flags(struct buf *out, const struct command *c)
{
    for (const struct option_spec *s = c->options; s && s->name; s++)
        buf_addf(out, "--%s ", s->name);
    buf_adds(out, "--help");
}

static void write_names(struct buf *out)
{
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            buf_addf(out, "%s%s", i ? " " : "", commands[i]->name);
}

static void write_bash(struct buf *out)
{
    buf_adds(out, "# bash completion of muster: source <(muster completion bash)\n"
                  "_muster() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} words=\"\" jobs=\"\"\n"
                  "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W \"");
    write_names(out);
    buf_adds(out, "\" -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        buf_addf(out, "    %s) words=\"", commands[i]->name);
        write_flags(out, commands[i]);
        buf_addf(out, "\"%s ;;\n", takes_jobs(commands[i]) ? " jobs=1" : "");
    }
    buf_adds(out,
             "    esac\n"
             "    case $cur in\n"
             "    -*) ;;\n"
             "    *) words=\"\"; [ -z \"$jobs\" ] || words=$(timeout " LOOK_S " " JOB_NAMES ") ;;\n"
             "    esac\n"
             "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
             "}\n"
             "complete -o default -F _muster muster\n");
}

/* Writes text in single quotes. */
static void write_quoted(struct buf *out, const char *text)
{
    buf_addc(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *text);
    buf_addc(out, '\'');
}

/* _describe takes "name:what it does". */
static void write_zsh_pair(struct buf *out, const char *dashes, const char *name, const char *doc)
{
    struct buf text = BUF_INIT(4096);

    buf_addf(&text, "%s%s:%s", dashes, name, doc);
    buf_addc(out, ' ');
    write_quoted(out, text.data ? text.data : "");
    buf_release(&text);
}

static void write_zsh(struct buf *out)
{
    buf_adds(out, "#compdef muster\n"
                  "# zsh completion of muster: source <(muster completion zsh)\n"
                  "_muster() {\n"
                  "    local -a offered\n"
                  "    local jobs=\n"
                  "    if (( CURRENT == 2 )); then\n"
                  "        offered=(");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            write_zsh_pair(out, "", commands[i]->name, commands[i]->summary);
    buf_adds(out, ")\n        _describe command offered\n        return\n    fi\n"
                  "    case $words[2] in\n");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        buf_addf(out, "    %s) offered=(", commands[i]->name);
        for (const struct option_spec *s = commands[i]->options; s && s->name; s++)
            write_zsh_pair(out, "--", s->name, s->doc);
        buf_addf(out, ")%s ;;\n", takes_jobs(commands[i]) ? "; jobs=1" : "");
    }
    buf_adds(out, "    esac\n"
                  "    if [[ $PREFIX == -* ]]; then\n"
                  "        _describe option offered\n"
                  "    elif [[ -n $jobs ]]; then\n"
                  "        compadd -- ${(f)\"$(timeout " LOOK_S " " JOB_NAMES ")\"}\n"
                  "    else\n"
                  "        _files\n"
                  "    fi\n"
                  "}\n"
                  "compdef _muster muster\n");
}

static void write_fish(struct buf *out)
{
    buf_adds(out, "# fish completion of muster: muster completion fish | source\n");
    for (size_t i = 0; commands[i]; i++) {
        const struct command *c = commands[i];

        if (c->hidden)
            continue;
        buf_addf(out, "complete -c muster -n __fish_use_subcommand -f -a %s -d ", c->name);
        write_quoted(out, c->summary);
        buf_addc(out, '\n');
        for (const struct option_spec *s = c->options; s && s->name; s++) {
            buf_addf(out, "complete -c muster -n '__fish_seen_subcommand_from %s' -l %s%s -d ",
                     c->name, s->name, s->type == OPTION_FLAG ? "" : " -r");
            write_quoted(out, s->doc);
            buf_addc(out, '\n');
        }
        if (takes_jobs(c))
            buf_addf(
                out,
                "complete -c muster -n '__fish_seen_subcommand_from %s' -f -a '(timeout " LOOK_S
                " " JOB_NAMES ")'\n",
                c->name);
    }
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    static const struct {
        const char *shell;
        void (*write)(struct buf *out);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    size_t i = 0;

    (void)values;
    while (i < ELEMS(shells) && strcmp(shells[i].shell, args->list[0]) != 0)
        i++;
    if (i == ELEMS(shells)) {
        talk_errorf(&cli->talk, "no completion for '%s'", args->list[0]);
        talk_hint(&cli->talk, "bash, zsh and fish have one");
        return EXIT_USAGE;
    }
    shells[i].write(&out);
    output_text(&out);
    buf_release(&out);
    return EXIT_OK;
}

const struct command command_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "Print a shell completion script for commands, options and job names",
    .examples = "  source <(muster completion bash)\n"
                "  source <(muster completion zsh)\n"
                "  muster completion fish | source\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
