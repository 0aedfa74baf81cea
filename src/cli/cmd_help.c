/* cmd_help.c - `muster help [COMMAND | exit-codes | man [COMMAND]]`. */
#include <string.h>

#include "cli/command.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "cli/words.h"

static const struct {
    enum exit_code code;
    const char *meaning;
} exit_codes[] = {
    {EXIT_OK, "success"},
    {EXIT_FAILED, "failure"},
    {EXIT_USAGE, "the command line is invalid"},
    {EXIT_JOB_FAILED, "the job finished unsuccessfully"},
    {EXIT_NOT_LOGGED_IN, "the server does not recognize or authorize us"},
    {EXIT_NOT_FOUND, "not found"},
    {EXIT_CONFLICT, "already exists, or was changed meanwhile"},
    {EXIT_NEVER_FITS, "the job asks for more than there is, and waits"},
    {EXIT_TIMED_OUT, "timed out"},
    {EXIT_INTERRUPTED, "interrupted by Ctrl-C"},
};

void command_print_exit_codes(struct buf *out)
{
    for (size_t i = 0; i < ELEMS(exit_codes); i++)
        buf_addf(out, "%4d  %s\n", exit_codes[i].code, words(exit_codes[i].meaning));
}

static enum exit_code unknown_topic(struct cli *cli, const char *topic)
{
    struct suggest near;

    talk_errorf(&cli->talk, "no help on '%s'", topic);
    suggest_init(&near, topic);
    suggest_offer(&near, "exit-codes");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->hidden)
            suggest_offer(&near, commands[i]->name);
    if (near.best)
        talk_hint(&cli->talk, "did you mean '%s'?", near.best);
    return EXIT_USAGE;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    bool man = args->len && strcmp(args->list[0], "man") == 0;
    const char *topic = args->len > man ? args->list[man] : NULL;
    const struct command *c = topic ? command_find(topic) : NULL;

    (void)values;
    if (topic && args->len > 1u + man)
        return unknown_topic(cli, args->list[1]);
    if (topic && !man && strcmp(topic, "exit-codes") == 0)
        command_print_exit_codes(&out);
    else if (topic && !c)
        return unknown_topic(cli, topic);
    else if (man)
        man_page_write(c, &out);
    else
        command_print_help(c, &out);
    output_text(&out);
    buf_release(&out);
    return EXIT_OK;
}

const struct command command_help = {
    .name = "help",
    .args = "[COMMAND | exit-codes | man [COMMAND]]",
    .summary = "Show how to use a command",
    .max_args = 2,
    .run = run,
};
