/* cmd_events.c - `muster events`: what happened to a job and its pods, or in a namespace. */
#include "cli/job_events.h"
#include "cli/output.h"
#include "cli/words.h"

struct events_options {
    struct session_options session;
    const char *format;
    bool warnings;
};

static const struct events_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct events_options, warnings, "warnings", "only warnings", .letter = 'w'),
    OPTION_OUTPUT(struct events_options),
    SESSION_OPTIONS(struct events_options, session),
    {0},
};

static void print_table(struct cli *cli, const struct json *list, int64_t now_ms)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    job_events_write(list, now_ms, cli->talk.columns, &out);
    output_text(&out);
    buf_release(&out);
}

static int events(struct cli *cli, const struct events_options *o, const char *name,
                  struct session *s, struct err *err)
{
    const struct kind *k = NULL;
    struct json *job = NULL, *list = NULL;
    int r = session_open(cli, &o->session, s, err);

    if (r == 0 && name)
        r = session_find_object(s, name, &k, &job, err);
    if (r == 0)
        r = job_events_find(s, job, o->warnings, &list, err);
    if (r)
        return r;
    r = output_list(o->format, list, err);
    if (r)
        return r < 0 ? r : 0;
    if (json_len(json_get(list, "items")))
        print_table(cli, list, clock_now_ms(loop_clock(s->loop)));
    else
        talk_note(&cli->talk, "no events%s; they are kept for a while only",
                  o->warnings ? words(" that warn") : "");
    return 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = events(cli, values, args->len ? args->list[0] : NULL, &s, &err);

    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_events = {
    .name = "events",
    .args = "[JOB | KIND/NAME]",
    .summary = "Print the events of a job and its pods",
    .examples = "  muster events mnist\n"
                "  muster events notebook/lab\n"
                "  muster events --warnings\n",
    .help = "Oldest first. Without a job: all events of the namespace.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct events_options),
    .max_args = 1,
    .run = run,
};
