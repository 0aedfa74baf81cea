/* commands.c - the table of commands, and looking one up. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/suggest.h"
#include "cli/words.h"

/* clang-format off: one to a line */
const struct command *const commands[] = {
    &command_up,         &command_down,
    &command_run,        &command_sweep,
    &command_ps,         &command_queue,
    &command_logs,       &command_wait,
    &command_board,      &command_console,
    &command_exec,       &command_describe,
    &command_events,     &command_top,
    &command_ui,         &command_export,
    &command_stop,       &command_pause,
    &command_resume,     &command_scale,
    &command_rerun,      &command_rm,
    &command_kubeconfig, &command_controller,
    &command_scheduler,  &command_node,
    &command_validate,   &command_explain,
    &command_manifests,  &command_mpi_launch,
    &command_mpi_worker, &command_notebook,
    &command_image,      &command_doctor,
    &command_completion, &command_version,
    &command_help,       NULL,
};
/* clang-format on */

static const struct {
    enum err_reason reason;
    enum exit_code code;
} codes[] = {
    {ERR_UNAUTHORIZED, EXIT_NOT_LOGGED_IN}, {ERR_FORBIDDEN, EXIT_NOT_LOGGED_IN},
    {ERR_NOT_FOUND, EXIT_NOT_FOUND},        {ERR_ALREADY_EXISTS, EXIT_CONFLICT},
    {ERR_CONFLICT, EXIT_CONFLICT},          {ERR_TIMEOUT, EXIT_TIMED_OUT},
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

enum exit_code command_fail(struct cli *cli, const struct err *e)
{
    talk_error(&cli->talk, e);
    for (size_t i = 0; i < ELEMS(codes); i++)
        if (codes[i].reason == e->reason)
            return codes[i].code;
    return EXIT_FAILED;
}

static void print_overview(struct buf *out)
{
    buf_adds(out,
             words("muster runs distributed training jobs on this machine.\n\n"
                   "  muster run --workers 2 -- python train.py   run a program as a job\n"
                   "  muster run job.yaml                         or the jobs of a manifest\n"
                   "  muster ps                                   list jobs, and why they wait\n"
                   "  muster console                              open the web console\n\n"
                   "Commands:\n"));
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            buf_addf(out, "  %-12s %s\n", commands[i]->name, words(commands[i]->summary));
    buf_adds(out, words("\n`muster help COMMAND` or `muster COMMAND -h` says more; `muster help "
                        "exit-codes` lists exit codes.\n"));
}

void command_print_help(const struct command *c, struct buf *out)
{
    if (!c) {
        print_overview(out);
        return;
    }
    buf_addf(out, "muster %s%s%s%s\n\n%s%s\n\n", c->name, *c->args ? " " : "", c->args,
             c->options ? " [OPTIONS]" : "", words(c->summary), words("."));
    if (c->examples)
        buf_addf(out, "%s\n", c->examples);
    if (c->help)
        buf_addf(out, "%s\n", words_of_help(c->name, c->help));
    buf_adds(out, words("Options:\n"));
    options_help(c->options, out);
}

static enum exit_code show_help(const struct command *c)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    command_print_help(c, &out);
    if (out.data)
        fputs(out.data, stdout);
    buf_release(&out);
    return EXIT_OK;
}

/* Words of kubectl, docker and Slurm for what we call otherwise. */
static const char *const other_words[][2] = {
    {"apply", "run"},   {"create", "run"},    {"submit", "run"},    {"start", "run"},
    {"get", "ps"},      {"list", "ps"},       {"status", "ps"},     {"jobs", "ps"},
    {"delete", "rm"},   {"remove", "rm"},     {"kill", "stop"},     {"cancel", "stop"},
    {"attach", "logs"}, {"suspend", "pause"}, {"restart", "rerun"}, {"dashboard", "console"},
};

static enum exit_code unknown_command(struct cli *cli, const char *word)
{
    const char *meant = word;
    struct suggest near;

    talk_errorf(&cli->talk, "unknown command '%s'", word);
    for (size_t i = 0; i < ELEMS(other_words); i++)
        if (strcmp(word, other_words[i][0]) == 0)
            meant = other_words[i][1];
    suggest_init(&near, meant);
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            suggest_offer(&near, commands[i]->name);
    if (near.best)
        talk_hint(&cli->talk, "did you mean 'muster %s'?", near.best);
    else
        talk_hint(&cli->talk, "'muster help' lists the commands");
    return EXIT_USAGE;
}

static enum exit_code usage_error(struct cli *cli, const struct command *c, const struct err *e)
{
    talk_error(&cli->talk, e);
    if (!e->hint)
        talk_hint(&cli->talk, "'muster %s -h' lists what it takes", c->name);
    return EXIT_USAGE;
}

static int check_args(const struct command *c, const struct args *args, struct err *err)
{
    if (args->len < c->min_args)
        return err_set(err, ERR_BAD_REQUEST, words("'muster %s' needs: %s"), c->name, c->args);
    if (args->len > c->max_args)
        return err_set(err, ERR_BAD_REQUEST, words("'muster %s': unexpected argument '%s'"),
                       c->name, args->list[c->max_args]);
    return 0;
}

static enum exit_code run_command(struct cli *cli, const struct command *c, int argc, char **argv)
{
    auto_err err = ERR_INIT;
    struct args *args = arena_alloc(&cli->arena, sizeof(*args));
    void *options = arena_alloc(&cli->arena, max_size(c->options_size, 1));

    if (!args || !options) {
        talk_errorf(&cli->talk, "out of memory");
        return EXIT_FAILED;
    }
    if (c->defaults)
        memcpy(options, c->defaults, c->options_size);
    if (options_parse(c->options, options, argc, argv, args, &err))
        return usage_error(cli, c, &err);
    if (args->help)
        return show_help(c);
    if (check_args(c, args, &err))
        return usage_error(cli, c, &err);
    return c->run(cli, options, args);
}

/* --color may come before the command; it is the one option all commands have. */
static int global_options(int argc, char **argv, enum talk_color *ret_color, struct err *err)
{
    static const struct {
        const char *word;
        enum talk_color color;
    } words[] = {{"--color=auto", TALK_COLOR_AUTO},
                 {"--color=always", TALK_COLOR_ALWAYS},
                 {"--color=never", TALK_COLOR_NEVER}};
    int out = 1;

    for (int i = 1; i < argc; i++) {
        size_t w = 0;

        if (strcmp(argv[i], "--") == 0) { /* what follows is another program's */
            while (i < argc)
                argv[out++] = argv[i++];
            break;
        }
        while (w < ELEMS(words) && strcmp(argv[i], words[w].word) != 0)
            w++;
        if (w < ELEMS(words))
            *ret_color = words[w].color;
        else if (strncmp(argv[i], "--color", 7) == 0)
            return err_set(err, ERR_BAD_REQUEST,
                           "'%s': --color=auto, --color=always or --color=never", argv[i]);
        else
            argv[out++] = argv[i];
    }
    argv[out] = NULL;
    return out;
}

enum exit_code command_main(int argc, char **argv)
{
    auto_err err = ERR_INIT;
    struct cli cli = {.arena = ARENA_INIT(CLI_ARENA_LIMIT_BYTES)};
    enum talk_color color = TALK_COLOR_AUTO;
    const struct command *c;
    enum exit_code code;

    argc = global_options(argc, argv, &color, &err);
    talk_init(&cli.talk, color);
    if (argc < 0) {
        talk_error(&cli.talk, &err);
        return EXIT_USAGE;
    }
    if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
        return show_help(NULL);
    c = command_find(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    code = c ? run_command(&cli, c, argc - 2, argv + 2) : unknown_command(&cli, argv[1]);
    if (fflush(stdout) != 0 && code == EXIT_OK)
        code = EXIT_FAILED;
    arena_release(&cli.arena);
    return code;
}
