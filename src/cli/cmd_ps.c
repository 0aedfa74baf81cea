/* cmd_ps.c - `muster ps`: the jobs, and why they are where they are. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/object.h"
#include "api/table.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/jobphase.h"
#include "cli/output.h"
#include "cli/session.h"
#include "client/cache.h"
#include "core/job.h"
#include "core/schedule.h"

struct ps_options {
    struct session_options session;
    const char *format, *selector, *phase, *queue;
    bool all, watch;
};

static const struct ps_options defaults = {.format = "table"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct ps_options, all, "all-namespaces", "jobs of every namespace",
                   .letter = 'A'),
    OPTION_OUTPUT(struct ps_options),
    OPTION_OF_TEXT(struct ps_options, phase, "phase", "LIST",
                   "only jobs in these phases, like Running,Pending"),
    OPTION_OF_TEXT(struct ps_options, queue, "queue", "NAME", "only jobs of this queue",
                   .letter = 'q'),
    OPTION_OF_FLAG(struct ps_options, watch, "watch", "go on, and print them anew when they change",
                   .letter = 'w'),
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

/* "night #2": in the queue night, and the second in the line of all queues; the first is not
 * numbered. */
static void add_queue(struct columns *c, const struct json *job)
{
    const char *queue = queue_of(job);
    const char *reason = json_string(json_at(job, "status", "reason"), "");
    size_t place = job_is_finished(job) ? 0 : schedule_place(reason, job_why(job));

    queue = queue || place < 2 ? queue : DEFAULT_QUEUE;
    if (place > PLACES_TOLD)
        columns_addf(c, "%s #>%d", queue, PLACES_TOLD);
    else if (place > 1)
        columns_addf(c, "%s #%zu", queue, place);
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

/* Whether word is one of a list with commas; case does not matter. */
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
    const char *queue = queue_of(job);

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
                  o->selector            ? " with these labels"
                  : o->phase || o->queue ? " of these"
                                         : "",
                  o->all ? "" : " in namespace ", o->all ? "" : s->ns);
    else
        print_table(cli, list, clock_now_ms(loop_clock(s->loop)),
                    (struct ps_shape){.all = o->all, .wide = strcmp(o->format, "wide") == 0});
    return 0;
}

/* --- watching --- */

#define REDRAW_MS 250 /* changes come in bursts */

struct ps_watch {
    struct session *session;
    struct cache *caches[JOB_KINDS_LIMIT];
    bool changed, stopped;
    struct err *err;
};

static void wake(void *arg)
{
    struct ps_watch *w = arg;

    loop_stop(w->session->loop);
}

static void on_change(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old)
{
    struct ps_watch *w = arg;

    (void)event, (void)object, (void)old;
    w->changed = true;
    loop_stop(w->session->loop);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct ps_watch *w = arg;

    if (err->reason != ERR_FORBIDDEN && err->reason != ERR_BAD_REQUEST)
        return; /* it comes back */
    err_set(w->err, err->reason, "%s", err->text);
    loop_stop(w->session->loop);
}

static void on_signal(void *arg, int signum)
{
    struct ps_watch *w = arg;

    (void)signum;
    w->stopped = true;
    loop_stop(w->session->loop);
}

static int open_caches(struct ps_watch *w, const struct ps_options *o, struct err *err)
{
    const char *query = o->selector ? session_labels_query(w->session->arena, o->selector) : NULL;

    for (size_t i = 0; job_kinds[i] && i < ELEMS(w->caches); i++) {
        w->caches[i] = cache_new(&(struct cache_options){.transport = w->session->transport,
                                                         .clock = loop_clock(w->session->loop),
                                                         .kind = job_kinds[i]->kind,
                                                         .ns = o->all ? NULL : w->session->ns,
                                                         .query = query,
                                                         .on_change = on_change,
                                                         .on_synced = wake,
                                                         .on_trouble = on_trouble,
                                                         .arg = w});
        if (!w->caches[i])
            return err_set(err, ERR_INTERNAL, "out of memory");
    }
    return 0;
}

static bool is_synced(const struct ps_watch *w)
{
    for (size_t i = 0; i < ELEMS(w->caches) && w->caches[i]; i++)
        if (!cache_is_synced(w->caches[i]))
            return false;
    return true;
}

/* Asked for anew: what changed is known, what is printed is the server's word. */
static int redraw(struct cli *cli, const struct ps_options *o, struct ps_watch *w, struct err *err)
{
    struct arena scratch = ARENA_INIT(CLI_ARENA_LIMIT_BYTES), *own = w->session->arena;
    struct json *list = NULL;
    int r;

    w->session->arena = &scratch;
    w->changed = false;
    r = session_list_jobs(w->session, o->all ? NULL : w->session->ns, o->selector, &list, err);
    if (r == 0 && cli->talk.columns)
        (void)fputs("\033[H\033[J", stdout);
    if (r == 0)
        r = show(cli, o, w->session, list, err);
    (void)fflush(stdout);
    w->session->arena = own;
    arena_release(&scratch);
    return r;
}

static int watch(struct cli *cli, const struct ps_options *o, struct session *s, struct err *err)
{
    struct ps_watch w = {.session = s, .err = err};
    struct loop_signal *sigint = loop_signal_watch(s->loop, SIGINT, on_signal, &w);
    struct loop_signal *sigterm = loop_signal_watch(s->loop, SIGTERM, on_signal, &w);
    int r = sigint && sigterm ? open_caches(&w, o, err)
                              : err_set(err, ERR_INTERNAL, "out of memory");
    bool drawn = false;

    while (r == 0 && !w.stopped && !err_is_set(err)) {
        struct clock_timer *pause;

        if (!is_synced(&w) || (drawn && !w.changed)) {
            loop_run(s->loop);
            continue;
        }
        r = redraw(cli, o, &w, err);
        drawn = true;
        pause = clock_start(loop_clock(s->loop), REDRAW_MS, wake, &w);
        for (int64_t until = loop_monotonic_ms(s->loop) + REDRAW_MS;
             pause && r == 0 && !w.stopped && loop_monotonic_ms(s->loop) < until;)
            loop_run(s->loop);
        if (w.stopped)
            clock_stop(loop_clock(s->loop), pause);
    }
    for (size_t i = 0; i < ELEMS(w.caches); i++)
        if (w.caches[i])
            cache_free(w.caches[i]);
    loop_signal_stop(sigint);
    loop_signal_stop(sigterm);
    return r ? r : err_is_set(err) ? -EACCES : 0;
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
    .help = "  muster ps\n"
            "  muster ps -A -o wide\n"
            "  muster ps -l team=nlp," TAG_PREFIX "baseline\n"
            "  muster ps --phase Running,Pending --queue night\n"
            "  muster ps --watch\n"
            "  muster ps -o jsonpath=.status.phase\n"
            "\n"
            "Newest first. -o json prints a List, jsonpath the first value of the path of each.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct ps_options),
    .run = run,
};
