/*
 * cmd_board.c - `muster board`: a job's curves in the terminal, as numbers, or in a browser. Asks
 * the daemon (docs/board.md), which reads the event files.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/status.h"
#include "base/percent.h"
#include "cli/browser.h"
#include "cli/jobphase.h"
#include "cli/output.h"
#include "cli/plot.h"
#include "cli/session.h"
#include "client/kubeconfig.h"
#include "core/tensorboard.h"

#define PLOTS_LIMIT 24u /* for more, use --tag */
#define LINES_LIMIT 16u /* runs per tag */
#define PIPE_COLUMNS 80u
#define LOOK_AGAIN_MS 1000

struct board_options {
    struct session_options session;
    const char *tag, *run, *selector;
    bool csv, json, follow, open;
    int64_t height;
};

static const struct board_options defaults = {.height = 10};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct board_options, tag, "tag", "TEXT",
                   "only tags whose names contain this text (with --csv and --json: this tag)",
                   .letter = 't'),
    OPTION_OF_TEXT(struct board_options, run, "run", "RUN",
                   "only this run: a folder of event files", .letter = 'r'),
    OPTION_OF_TEXT(struct board_options, selector, "selector", "LABELS",
                   "jobs with these labels, in the same plots: " LABEL_SWEEP "=x", .letter = 'l'),
    OPTION_OF_FLAG(struct board_options, follow, "follow", "follow until the job ends",
                   .letter = 'f'),
    OPTION_OF_FLAG(struct board_options, csv, "csv", "print the points as CSV"),
    OPTION_OF_FLAG(struct board_options, json, "json", "print the points as JSON"),
    OPTION_OF_FLAG(struct board_options, open, "open",
                   "print the address of the page with the curves, and open it in a browser"),
    OPTION_OF_INT(struct board_options, height, "height", "LINES",
                  "height of each plot (default 10)"),
    SESSION_OPTIONS(struct board_options, session),
    {0},
};

struct board_view {
    struct cli *cli;
    const struct board_options *options;
    struct session *session;
    const struct kind *kind; /* of the requested one, like job */
    struct json *job;
    struct subject *subjects;
    size_t subjects_len;
};

struct subject {
    const struct kind *kind;
    struct json *job;
};

static struct board_view view_of(const struct board_view *v, size_t i)
{
    struct board_view one = *v;

    one.kind = v->subjects[i].kind;
    one.job = v->subjects[i].job;
    return one;
}

/* --- requests --------------------------------------------------------------------------- */

static void add_param(struct buf *path, const char *name, const char *value)
{
    if (!value)
        return;
    buf_addf(path, "%c%s=", strchr(path->data, '?') ? '&' : '?', name);
    percent_encode(path, value);
}

/* GET of the job's curves; appends the body. -ENOTSUP: the server is not ours. */
static int ask(const struct board_view *v, const char *what, const char *tag, const char *width,
               struct buf *body, struct err *err)
{
    struct buf path = BUF_INIT(64u * 1024u);
    int r;

    buf_addf(&path, "/board/api/%s/%s/%s/%s", v->kind->plural, object_namespace(v->job),
             object_name(v->job), what);
    add_param(&path, "run", v->options->run);
    add_param(&path, "tag", tag);
    add_param(&path, "width", width);
    r = path.failed ? err_set(err, ERR_INTERNAL, "the path is too long")
                    : session_fetch(v->session, path.data, body, err);
    buf_release(&path);
    if (r == -ENOTSUP) {
        err_release(err);
        err_set(err, ERR_NOT_FOUND,
                "this API server has no curves: mount the claim they are on, and see them with "
                "muster console --kubeconfig --volume");
    }
    return r;
}

static struct json *ask_json(const struct board_view *v, struct arena *a, const char *what,
                             const char *tag, const char *width, struct err *err)
{
    struct buf body = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    struct json *answer = NULL;

    if (ask(v, what, tag, width, &body, err) == 0)
        answer = json_parse(a, body.data ? body.data : "", body.len, err);
    buf_release(&body);
    return answer;
}

/* --- drawing ---------------------------------------------------------------------------- */

static double number(const struct json *v)
{
    if (json_is(v, JSON_INT))
        return (double)v->u.integer;
    return json_is(v, JSON_REAL) ? strtod(v->u.text, NULL) : NAN;
}

static const double *numbers(struct arena *a, const struct json *list)
{
    double *out = arena_alloc(a, max_size(json_len(list), 1) * sizeof(*out));
    size_t n = 0;

    json_each (item, list)
        if (out)
            out[n++] = number(item);
    return out;
}

static unsigned columns_of(const struct board_view *v)
{
    return v->cli->talk.columns ? v->cli->talk.columns : PIPE_COLUMNS;
}

static const char *name_line(const struct board_view *v, struct arena *a, const char *run)
{
    const char *name = v->subjects_len == 1    ? run
                       : strcmp(run, ".") == 0 ? object_name(v->job)
                                               : arena_printf(a, "%s/%s", object_name(v->job), run);

    return name ? name : "";
}

static int add_lines(const struct board_view *v, struct arena *a, const char *tag,
                     struct plot *plot, struct plot_line lines[LINES_LIMIT], struct err *err)
{
    const char *width = arena_printf(a, "%zu", min_size(plot->width, PLOT_WIDTH_LIMIT));
    const struct json *answer = width ? ask_json(v, a, "points", tag, width, err) : NULL;

    json_each (series, json_get(answer, "series")) {
        struct plot_line *l = &lines[plot->lines_len];

        if (plot->lines_len == LINES_LIMIT)
            break;
        *l = (struct plot_line){.name = name_line(v, a, json_get_string(series, "run", "")),
                                .color = talk_replica_color(&v->cli->talk, plot->lines_len),
                                .x = numbers(a, json_get(series, "step")),
                                .y = numbers(a, json_get(series, "value")),
                                .len = json_len(json_get(series, "value"))};
        if (l->x && l->y)
            plot->lines_len++;
    }
    return answer ? 0 : -1;
}

static int draw_tag(const struct board_view *v, struct arena *a, const char *tag, struct buf *out,
                    struct err *err)
{
    struct plot_line lines[LINES_LIMIT];
    struct plot plot = {.title = tag,
                        .lines = lines,
                        .width = columns_of(v),
                        .height = (unsigned)min_i64(v->options->height, PLOT_HEIGHT_LIMIT),
                        .plain = talk_plain(&v->cli->talk)};
    int r = 0;

    for (size_t i = 0; i < v->subjects_len && r == 0; i++) {
        struct board_view one = view_of(v, i);

        r = add_lines(&one, a, tag, &plot, lines, err);
    }
    if (r)
        return r;
    plot_draw(out, &plot);
    buf_addc(out, '\n');
    return 0;
}

/* Adds the names of wanted scalar tags, each once. The server returns them by run, sorted. */
static size_t add_tags(const struct board_view *v, const struct json *answer,
                       const char *names[PLOTS_LIMIT], size_t len, size_t *more)
{
    const char *text = v->options->tag;

    json_each (tag, json_get(answer, "tags")) {
        const char *name = json_get_string(tag, "tag", "");
        bool known = false;

        if (!json_string_is(json_get(tag, "kind"), "scalar") || (text && !strstr(name, text)))
            continue;
        for (size_t i = 0; i < len; i++)
            known = known || strcmp(names[i], name) == 0;
        if (!known && len < PLOTS_LIMIT)
            names[len++] = name;
        else if (!known)
            ++*more;
    }
    return len;
}

/* Draws everything: 0, or negative with err set. *ret_any: there was something to draw. Some of
 * several jobs may have nothing. */
static int draw(const struct board_view *v, struct buf *out, bool *ret_any, struct err *err)
{
    struct arena a = ARENA_INIT(CLI_ARENA_LIMIT_BYTES);
    const char *names[PLOTS_LIMIT];
    size_t more = 0, len = 0;
    int r = 0;

    for (size_t i = 0; i < v->subjects_len && r == 0; i++) {
        struct board_view one = view_of(v, i);
        const struct json *answer = ask_json(&one, &a, "tags", NULL, NULL, err);

        len = answer ? add_tags(v, answer, names, len, &more) : len;
        if (!answer)
            r = -1;
        else if (json_get(answer, "message") && v->subjects_len == 1)
            r = err_set(err, ERR_NOT_FOUND, "%s", json_get_string(answer, "message", ""));
    }
    for (size_t i = 0; i < len && r == 0; i++)
        r = draw_tag(v, &a, names[i], out, err);
    if (more)
        buf_addf(out, "(%zu more tags: choose with --tag)\n", more);
    *ret_any = len > 0;
    arena_release(&a);
    return r;
}

/* --- following -------------------------------------------------------------------------- */

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static int wait_a_moment(const struct board_view *v, struct err *err)
{
    struct loop *l = v->session->loop;

    if (!clock_start(loop_clock(l), LOOK_AGAIN_MS, stop_loop, l))
        return err_set(err, ERR_INTERNAL, "out of memory");
    loop_run(l);
    return 0;
}

/* Redrawn on changes: in place on a terminal, otherwise appended. */
static int follow_curves(const struct board_view *v, struct err *err)
{
    struct buf shown = BUF_INIT(CLI_TEXT_LIMIT_BYTES), next = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    bool any, over = false;
    int r = 0;

    while (r == 0) {
        bool ended = true;

        buf_clear(&next);
        r = draw(v, &next, &any, err);
        if (r == 0 && (next.len != shown.len || memcmp(next.data, shown.data, next.len) != 0)) {
            if (v->cli->talk.columns)
                (void)fputs("\033[H\033[J", stdout);
            output_text(&next);
            (void)fflush(stdout);
            buf_clear(&shown);
            buf_add(&shown, next.data, next.len);
        }
        if (over)
            break; /* drawn once more after the job ended: nothing is missing */
        for (size_t i = 0; i < v->subjects_len && r == 0; i++) {
            const struct subject *one = &v->subjects[i];
            struct json *job = NULL;

            r = session_get(v->session, one->kind, object_namespace(one->job),
                            object_name(one->job), &job, err);
            ended = r == 0 && ended && one->kind != &kind_tensorboard && job_is_finished(job);
        }
        over = r == 0 && ended;
        if (r == 0 && !over)
            r = wait_a_moment(v, err);
    }
    buf_release(&shown);
    buf_release(&next);
    return r;
}

/* --- the page --------------------------------------------------------------------------- */

/* "/compare?jobs=NAMESPACE/KIND/NAME;..." */
static const char *compare_path(const struct board_view *v)
{
    struct arena *a = &v->cli->arena;
    const char *path = "/compare?jobs=";

    for (size_t i = 0; path && i < v->subjects_len; i++)
        path = arena_printf(a, "%s%s%s/%s/%s", path, i ? ";" : "",
                            object_namespace(v->subjects[i].job), v->subjects[i].kind->name,
                            object_name(v->subjects[i].job));
    return path;
}

/* The console's page for the job or jobs, or the TensorBoard itself; either lets the user sign
 * in. */
static const char *page_address(const struct board_view *v, struct err *err)
{
    struct arena *a = &v->cli->arena;
    const char *path, *address;

    path = v->subjects_len > 1 ? compare_path(v)
           : v->kind == &kind_tensorboard
               ? app_url(a, &app_kind_tensorboard, v->job)
               : arena_printf(a, "/jobs/%s/%s/%s/training", object_namespace(v->job), v->kind->name,
                              object_name(v->job));
    address = path ? browser_address(a, v->session->config.server, path) : NULL;
    if (!address)
        err_set(err, ERR_INTERNAL, "out of memory");
    return address;
}

/* --- the command ------------------------------------------------------------------------ */

static int print_points(const struct board_view *v, struct err *err)
{
    struct buf body = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    int r = ask(v, v->options->csv ? "points.csv" : "points", v->options->tag, NULL, &body, err);

    if (r == 0)
        output_text(&body);
    buf_release(&body);
    return r;
}

static int print_curves(const struct board_view *v, struct err *err)
{
    struct buf out = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    bool any = false;
    int r = draw(v, &out, &any, err);

    if (r == 0 && any)
        output_text(&out);
    else if (r == 0)
        talk_note(&v->cli->talk, "'%s'%s no scalars%s%s%s yet", object_name(v->job),
                  v->subjects_len > 1 ? " and the others have" : " has",
                  v->options->tag ? " named like '" : "", v->options->tag ? v->options->tag : "",
                  v->options->tag ? "'" : "");
    buf_release(&out);
    return r;
}

/* A server without curves has no page for them; the page itself reports other problems. */
static bool has_pages(const struct board_view *v, struct err *err)
{
    struct buf body = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    int r = ask(v, "runs", NULL, NULL, &body, err);

    buf_release(&body);
    if (r != -ENOTSUP)
        err_release(err);
    return r != -ENOTSUP;
}

static int show(const struct board_view *v, struct err *err)
{
    const char *address;

    if (v->options->open) {
        address = has_pages(v, err) ? page_address(v, err) : NULL;
        if (!address)
            return -1;
        printf("%s\n", address);
        (void)fflush(stdout);
        browser_open(address);
        return 0;
    }
    if (v->options->csv || v->options->json)
        return print_points(v, err);
    return v->options->follow ? follow_curves(v, err) : print_curves(v, err);
}

/* A job, or else the TensorBoard of that name, whose folders the daemon reads itself. */
static int find(struct board_view *v, const char *word, struct err *err)
{
    const char *slash = strchr(word, '/');
    bool only_board = slash &&
                      session_kind_is_called(&kind_tensorboard, word, (size_t)(slash - word));
    auto_err attempt = ERR_INIT;
    int r = only_board ? session_find_object(v->session, word, &v->kind, &v->job, err)
                       : session_find_job(v->session, word, &v->kind, &v->job, err);

    if (r == 0 || err->reason != ERR_NOT_FOUND || slash)
        return r;
    v->kind = &kind_tensorboard;
    if (session_get(v->session, v->kind, v->session->ns, word, &v->job, &attempt))
        return r;
    err_release(err);
    return 0;
}

static int find_labelled(struct board_view *v, struct err *err)
{
    struct json *list = NULL;
    size_t n = 0;
    int r = session_list_jobs(v->session, v->session->ns, v->options->selector, &list, err);

    if (r)
        return r;
    v->subjects_len = json_len(json_get(list, "items"));
    v->subjects = arena_alloc(&v->cli->arena, max_size(v->subjects_len, 1) * sizeof(*v->subjects));
    if (!v->subjects)
        return err_set(err, ERR_INTERNAL, "out of memory");
    for (struct json *job = json_first_mut(json_get_mut(list, "items")); job; job = job->next)
        v->subjects[n++] = (struct subject){kind_of_object(job), job};
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "no job has the labels %s", v->options->selector);
    return 0;
}

static int find_all(struct board_view *v, const struct args *args, struct err *err)
{
    int r = 0;

    if (v->options->selector)
        return find_labelled(v, err);
    v->subjects = arena_alloc(&v->cli->arena, args->len * sizeof(*v->subjects));
    if (!v->subjects)
        return err_set(err, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < args->len && r == 0; i++) {
        r = find(v, args->list[i], err);
        v->subjects[v->subjects_len++] = (struct subject){v->kind, v->job};
    }
    return r;
}

static int board(struct board_view *v, const struct args *args, struct err *err)
{
    int r = session_open(v->cli, &v->options->session, v->session, err);

    if (r == 0)
        r = find_all(v, args, err);
    if (r)
        return r;
    v->kind = v->subjects[0].kind;
    v->job = v->subjects[0].job;
    if (v->subjects_len > 1 && (v->options->csv || v->options->json))
        return err_set(err, ERR_BAD_REQUEST, "--%s prints the points of one job; %zu are meant",
                       v->options->csv ? "csv" : "json", v->subjects_len);
    return show(v, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct board_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    struct board_view v = {.cli = cli, .options = o, .session = &s};
    int r;

    if ((args->len == 0) == !o->selector) {
        talk_errorf(&cli->talk, args->len ? "either jobs or --selector" : "which job?");
        talk_hint(&cli->talk, "muster board mnist   or: muster board -l " LABEL_SWEEP "=NAME");
        return EXIT_USAGE;
    }
    r = board(&v, args, &err);
    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_board = {
    .name = "board",
    .args = "JOB|TENSORBOARD...",
    .summary = "Draw the curves of jobs from their TensorBoard event files",
    .examples = "  muster board mnist\n"
                "  muster board mnist --tag loss --follow\n"
                "  muster board mnist --csv >points.csv\n"
                "  muster board mnist --open\n"
                "  muster board tensorboard/curves --open\n"
                "  muster board -l " LABEL_SWEEP "=train-sweep --tag loss\n",
    .help = "Needs no TensorBoard. Event files are looked for in spec.tensorboardSpec of the\n"
            "job, in its annotation muster.dev/log-dir, or below its working folder; for a\n"
            "TensorBoard, in the folders it shows. --open opens the page.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct board_options),
    .max_args = ARGS_LIMIT,
    .run = run,
};
