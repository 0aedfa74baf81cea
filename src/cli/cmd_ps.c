/* cmd_ps.c - `muster ps`: the jobs, and why they are in their state. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/object.h"
#include "cli/job_table.h"
#include "cli/jobphase.h"
#include "cli/live.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/words.h"

struct ps_options {
    struct session_options session;
    const char *format, *selector, *phase, *queue;
    bool all, watch;
};

static const struct ps_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct ps_options, all, "all-namespaces", "jobs in every namespace",
                   .letter = 'A'),
    OPTION_OUTPUT(struct ps_options),
    OPTION_OF_TEXT(struct ps_options, phase, "phase", "LIST",
                   "only jobs in these phases, like Running,Pending"),
    OPTION_OF_TEXT(struct ps_options, queue, "queue", "NAME", "only jobs in this queue",
                   .letter = 'q'),
    OPTION_OF_FLAG(struct ps_options, watch, "watch",
                   "keep running, and print them again when they change", .letter = 'w'),
    OPTION_OF_TEXT(struct ps_options, selector, "selector", "LABELS",
                   "only jobs with these labels: team=nlp; " TAG_PREFIX "NAME for a tag",
                   .letter = 'l'),
    SESSION_OPTIONS(struct ps_options, session),
    {0},
};

/* Whether a comma-separated list contains word, ignoring case. */
static bool is_listed(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL))
        if (strcspn(p, ",") == len && strncasecmp(p, word, len) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct ps_options *o, const struct json *job)
{
    const char *queue = job_table_queue(job);

    return (!o->phase || is_listed(o->phase, job_phase(job))) &&
           (!o->queue || strcmp(o->queue, queue ? queue : DEFAULT_QUEUE) == 0);
}

static void keep_wanted(const struct ps_options *o, struct json *list)
{
    struct json *items = json_get_mut(list, "items"), *next;

    for (struct json *job = json_first_mut(items); job; job = next) {
        next = job->next;
        if (!is_wanted(o, job))
            (void)json_remove_item(items, job);
    }
}

static void print_table(struct cli *cli, const struct ps_options *o, const struct json *list,
                        int64_t now_ms)
{
    bool wide = strcmp(o->format, "wide") == 0;
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    job_table_write(&cli->arena, list, now_ms, wide ? 0 : cli->talk.columns,
                    (struct job_table_shape){.all = o->all, .wide = wide}, &out);
    output_text(&out);
    buf_release(&out);
}

static int show(struct cli *cli, const struct ps_options *o, struct session *s, struct json *list,
                struct err *err)
{
    int r;

    keep_wanted(o, list);
    r = output_list(o->format, list, err);
    if (r)
        return r < 0 ? r : 0;
    if (json_len(json_get(list, "items")) == 0)
        talk_note(&cli->talk, "no jobs%s%s%s; start one with: muster run FILE",
                  o->selector            ? words(" with these labels")
                  : o->phase || o->queue ? words(" of these")
                                         : "",
                  o->all ? "" : words(" in namespace "), o->all ? "" : s->ns);
    else
        print_table(cli, o, list, clock_now_ms(loop_clock(s->loop)));
    return 0;
}

/* --- watching --- */

struct ps_watch {
    struct cli *cli;
    const struct ps_options *options;
    struct session *session;
};

/* Requested again: the watch only says that something changed. */
static int redraw(void *arg, struct live *live, struct err *err)
{
    const struct ps_watch *w = arg;
    struct json *list = NULL;
    int r = session_list_jobs(w->session, w->options->all ? NULL : w->session->ns,
                              w->options->selector, &list, err);

    (void)live;
    if (r == 0 && w->cli->talk.columns)
        (void)fputs("\033[H\033[J", stdout);
    return r ? r : show(w->cli, w->options, w->session, list, err);
}

static int watch(struct cli *cli, const struct ps_options *o, struct session *s, struct err *err)
{
    struct ps_watch w = {.cli = cli, .options = o, .session = s};

    return live_run(&(struct live_options){.session = s,
                                           .ns = o->all ? NULL : s->ns,
                                           .labels = o->selector,
                                           .draw = redraw,
                                           .arg = &w},
                    err);
}

static int ps(struct cli *cli, const struct ps_options *o, struct session *s, struct err *err)
{
    struct json *list = NULL;
    int r = session_open(cli, &o->session, s, err);

    if (r == 0 && o->watch)
        return watch(cli, o, s, err);
    if (r == 0)
        r = session_list_jobs(s, o->all ? NULL : s->ns, o->selector, &list, err);
    return r ? r : show(cli, o, s, list, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = ps(cli, values, &s, &err);

    (void)args;
    session_close(&s);
    if (r)
        return command_fail(cli, &err);
    return ((const struct ps_options *)values)->watch ? EXIT_INTERRUPTED : EXIT_OK;
}

const struct command command_ps = {
    .name = "ps",
    .args = "",
    .summary = "List jobs, and why they are not running",
    .examples = "  muster ps\n"
                "  muster ps -A -o wide\n"
                "  muster ps -l team=nlp," TAG_PREFIX "baseline\n"
                "  muster ps --phase Running,Pending --queue night\n"
                "  muster ps --watch\n"
                "  muster ps -o jsonpath=.status.phase\n",
    .help = "Newest first. -o json prints a List, -o jsonpath the first value of the path for\n"
            "each job.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct ps_options),
    .run = run,
};
