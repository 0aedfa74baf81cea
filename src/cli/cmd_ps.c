/* cmd_ps.c - `muster ps`: the jobs, and why they are where they are. */
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/table.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/jobphase.h"
#include "cli/output.h"
#include "cli/session.h"

struct ps_options {
    struct session_options session;
    const char *format, *selector;
    bool all;
};

static const struct ps_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct ps_options, all, "all-namespaces", "jobs of every namespace",
                   .letter = 'A'),
    OPTION_OF(OPTION_CHOICE, struct ps_options, format, "output", OUTPUT_FORMAT_NAMES,
              "how to print them", .letter = 'o', .values = output_formats),
    OPTION_OF_TEXT(struct ps_options, selector, "selector", "LABELS",
                   "only jobs with these labels: team=nlp; " TAG_PREFIX "NAME for a tag",
                   .letter = 'l'),
    SESSION_OPTIONS(struct ps_options, session),
    {0},
};

/* Columns that are not always there. */
struct ps_shape {
    bool all, queue, progress, wide, tags, note;
};

static size_t name_columns(const struct ps_shape *shape, const char *names[COLUMNS_LIMIT])
{
    static const char *const always[] = {"NAME", "KIND", "PHASE", "READY", "RESTARTS", "AGE"};
    size_t n = 0;

    if (shape->all)
        names[n++] = "NAMESPACE";
    for (size_t i = 0; i < ELEMS(always); i++)
        names[n++] = always[i];
    if (shape->queue)
        names[n++] = "QUEUE";
    if (shape->progress)
        names[n++] = "PROGRESS";
    names[n++] = "WHY";
    if (shape->wide)
        names[n++] = "UID";
    if (shape->tags)
        names[n++] = "TAGS";
    if (shape->note)
        names[n++] = "NOTE";
    return n;
}

static const char *queue_of(const struct json *job)
{
    const struct json *ours = json_at(job, "spec", "scheduler", "t9kScheduler");

    return ours ? json_get_string(ours, "queue", DEFAULT_QUEUE) : NULL;
}

/* "night #2": the second in line there. */
static void add_queue(struct columns *c, const struct json *job)
{
    const char *queue = queue_of(job), *at = strstr(job_why(job), "number ");

    if (at && !job_is_finished(job))
        columns_addf(c, "%s #%ld", queue ? queue : DEFAULT_QUEUE,
                     strtol(at + strlen("number "), NULL, 10));
    else
        columns_add(c, queue ? queue : "");
}

static void add_tags(struct columns *c, const struct json *job)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    json_each (label, object_labels(job))
        if (strncmp(label->key, TAG_PREFIX, strlen(TAG_PREFIX)) == 0)
            buf_addf(&text, "%s%s", text.len ? "," : "", label->key + strlen(TAG_PREFIX));
    columns_add(c, text.len ? text.data : "");
    buf_release(&text);
}

/* Its first line. */
static void add_note(struct columns *c, const struct json *job)
{
    const char *note = object_annotation(job, ANNOTATION_NOTE);

    columns_addf(c, "%.*s", note ? (int)strcspn(note, "\r\n") : 0, note ? note : "");
}

static void add_row(struct arena *a, struct columns *c, const struct json *job, int64_t now_ms,
                    const struct ps_shape *shape)
{
    const struct kind *k = kind_of_object(job);
    char age[TIME_TEXT_SIZE], progress[JOB_PROGRESS_SIZE];
    /* A running job has a reason only when not all is well: a replica failed, or is missing. */
    const char *why = job_has_succeeded(job) ? "" : job_why(job);

    if (shape->all)
        columns_add(c, object_namespace(job));
    columns_add(c, object_name(job));
    columns_add(c, json_get_string(job, "kind", ""));
    columns_add(c, object_is_deleting(job) ? "Deleting" : job_phase(job));
    columns_add(c, table_cell_text(a, k ? table_cell(a, k, "Running", job, now_ms) : NULL));
    columns_addf(c, "%lld", (long long)job_restarts(job));
    columns_add(c, time_age(now_ms - object_created_ms(job), age));
    if (shape->queue)
        add_queue(c, job);
    if (shape->progress)
        columns_add(c, job_progress(job, shape->wide, progress));
    columns_add(c, why);
    if (shape->wide)
        columns_add(c, object_uid(job));
    if (shape->tags)
        add_tags(c, job);
    if (shape->note)
        add_note(c, job);
}

static void print_table(struct cli *cli, const struct json *list, int64_t now_ms,
                        struct ps_shape shape)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    const char *names[COLUMNS_LIMIT];
    struct columns table;

    json_each (job, json_get(list, "items")) {
        shape.progress = shape.progress || json_at(job, "status", "progress");
        shape.queue = shape.queue || queue_of(job);
        json_each (label, object_labels(job))
            shape.tags |= shape.wide && strncmp(label->key, TAG_PREFIX, strlen(TAG_PREFIX)) == 0;
        shape.note |= shape.wide && object_annotation(job, ANNOTATION_NOTE);
    }
    columns_init(&table, names, name_columns(&shape, names));
    json_each (job, json_get(list, "items"))
        add_row(&cli->arena, &table, job, now_ms, &shape);
    columns_write(&table, shape.wide ? 0 : cli->talk.columns, &out);
    output_text(&out);
    columns_release(&table);
    buf_release(&out);
}

static int ps(struct cli *cli, const struct ps_options *o, struct session *s, struct err *err)
{
    struct json *list = NULL;
    int r = session_open(cli, &o->session, s, err);

    if (r == 0)
        r = session_list_jobs(s, o->all ? NULL : s->ns, o->selector, &list, err);
    if (r || output_list(o->format, list))
        return r;
    if (json_len(json_get(list, "items")) == 0)
        talk_note(&cli->talk, "no jobs%s%s%s; start one with: muster run FILE",
                  o->selector ? " with these labels" : "", o->all ? "" : " in namespace ",
                  o->all ? "" : s->ns);
    else
        print_table(cli, list, clock_now_ms(loop_clock(s->loop)),
                    (struct ps_shape){.all = o->all, .wide = strcmp(o->format, "wide") == 0});
    return 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    int r = ps(cli, values, &s, &err);

    (void)args;
    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_ps = {
    .name = "ps",
    .args = "",
    .summary = "List jobs, and why they are not running",
    .help = "  muster ps\n"
            "  muster ps -A -o wide\n"
            "  muster ps -l team=nlp," TAG_PREFIX "baseline\n"
            "  muster ps -o json\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct ps_options),
    .run = run,
};
