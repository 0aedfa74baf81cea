/*
 * cmd_sweep.c - `muster sweep`: runs a command once per combination of parameters, as jobs with a
 * common label. Those beyond --parallel are created paused; the controller resumes them in turn
 * (control/sweeps.h), whether this command still runs or not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "base/percent.h"
#include "cli/browser.h"
#include "cli/follow.h"
#include "cli/output.h"
#include "cli/run_line.h"
#include "cli/start.h"
#include "cli/sweep_grid.h"
#include "cli/words.h"

#define NAMES_TRIED 1000u

struct sweep_options {
    struct session_options session;
    struct run_line_options line;
    struct option_list sets;
    const char *name, *format;
    int64_t parallel;
    bool detach, dry_run;
};

static const struct sweep_options defaults = {.format = "yaml"};

static const struct option_spec options[] = {
    OPTION_OF(OPTION_LIST, struct sweep_options, sets, "set", "NAME=VALUE,...",
              "a parameter and its values; {NAME} in the command is replaced"),
    OPTION_OF_INT(struct sweep_options, parallel, "parallel", "N",
                  "run at most N jobs at once (default: as many as there is room for)"),
    OPTION_OF_TEXT(struct sweep_options, name, "name", "NAME",
                   "name of the sweep; its jobs are NAME-1, ..."),
    OPTION_OF_FLAG(struct sweep_options, detach, "detach", "create the jobs and return at once",
                   .letter = 'd'),
    RUN_LINE_OPTIONS(struct sweep_options, line),
    OPTION_DRY_RUN(struct sweep_options),
    SESSION_OPTIONS(struct sweep_options, session),
    {0},
};

struct sweep {
    struct cli *cli;
    const struct sweep_options *options;
    const char *const *command;
    size_t command_len;
    const char *name;
    struct sweep_grid grid;
    struct session session;
    struct manifest manifest;
    struct follow_target *jobs;
};

/* --- its name --- */

/* How many jobs belong to a sweep of that name, or have the name of one of its jobs. */
static size_t count_holders(const char *name, const struct json *list)
{
    size_t len = strlen(name), n = 0;

    json_each (job, json_get(list, "items")) {
        const char *label = object_label(job, LABEL_SWEEP), *own = object_name(job);
        bool alike = strncmp(own, name, len) == 0 && own[len] == '-' &&
                     strspn(own + len + 1, "0123456789") == strlen(own + len + 1);

        n += (label && strcmp(label, name) == 0) || alike;
    }
    return n;
}

static int find_name(struct sweep *w, struct err *err)
{
    const char *base = run_line_name(&w->cli->arena, w->command, w->command_len);
    struct json *list = NULL;
    int r = session_list_jobs(&w->session, w->session.ns, NULL, &list, err);

    if (r)
        return r;
    if (w->options->name && count_holders(w->name, list)) {
        err_set(err, ERR_ALREADY_EXISTS, "sweep '%s' already exists: %zu jobs", w->name,
                count_holders(w->name, list));
        err_hint(err,
                 "choose another --name, or remove it with: muster rm --all -l " LABEL_SWEEP "=%s",
                 w->name);
        return -EEXIST;
    }
    for (size_t n = 2; !w->options->name && count_holders(w->name, list); n++) {
        w->name = n < NAMES_TRIED ? arena_printf(&w->cli->arena, "%s-sweep%zu", base, n) : NULL;
        if (!w->name)
            return err_set(err, ERR_ALREADY_EXISTS, "too many sweeps are named %s; use --name",
                           base);
    }
    return 0;
}

/* --- its jobs --- */

/* Paused until the controller resumes it. */
static void make_wait(struct arena *a, struct json *job, int64_t parallel)
{
    struct json *metadata = json_get_mut(job, "metadata"), *spec = json_get_mut(job, "spec");

    json_set_stringf(a, json_make_object(a, metadata, "annotations"), ANNOTATION_SWEEP_TURN, "%lld",
                     (long long)parallel);
    json_set_bool(a, json_make_object(a, json_make_object(a, spec, "runMode"), "pause"), "enabled",
                  true);
}

static int add_job(struct sweep *w, size_t n, const struct manifest_options *how, struct err *err)
{
    struct arena *a = &w->cli->arena;
    const char **words = arena_alloc(a, sizeof(*words) * w->command_len);
    const char *name = arena_printf(a, "%s-%zu", w->name, n + 1);
    struct json *job, *labels;

    for (size_t i = 0; words && i < w->command_len; i++)
        words[i] = sweep_grid_word(a, &w->grid, n, w->command[i]);
    if (!words || !name || arena_failed(a))
        return err_set(err, ERR_INTERNAL, "out of memory");
    job = run_line_job(a, &w->options->line, name, words, w->command_len, how->set_folder, err);
    if (!job)
        return -EINVAL;
    labels = json_make_object(a, json_get_mut(job, "metadata"), "labels");
    json_set_string(a, labels, LABEL_SWEEP, w->name);
    for (size_t i = 0; i < w->grid.parameters_len; i++) {
        const char *key = arena_printf(a, SWEEP_PARAMETER_PREFIX "%s", w->grid.parameters[i].name);

        if (key)
            json_set_string(a, labels, key, sweep_label_value(a, sweep_grid_value(&w->grid, n, i)));
    }
    if (w->options->parallel && n >= (size_t)w->options->parallel)
        make_wait(a, job, w->options->parallel);
    return manifest_of_object(a, &w->cli->talk, name, job, how, &w->manifest, err);
}

/* Only the first error is reported: the others would be the same. */
static int make_jobs(struct sweep *w, struct err *err)
{
    const struct manifest_options how = {.ns = w->options->session.ns,
                                         .default_ns = w->session.ns,
                                         .set_folder = !session_is_elsewhere(&w->options->session)};
    int r = 0;

    if (run_line_uses_python3(&w->cli->arena, &w->options->line, w->command, how.set_folder))
        talk_note(&w->cli->talk, "%s", words(USING_PYTHON3));
    for (size_t n = 0; n < w->grid.jobs && r == 0; n++)
        r = add_job(w, n, &how, err);
    if (r && !err_is_set(err))
        talk_note(&w->cli->talk, "nothing was created");
    return r;
}

static int create(struct sweep *w, struct err *err)
{
    size_t n = 0;

    w->jobs = arena_alloc(&w->cli->arena, sizeof(*w->jobs) * w->grid.jobs);
    if (!w->jobs)
        return err_set(err, ERR_INTERNAL, "out of memory");
    for (const struct manifest_object *o = w->manifest.first; o; o = o->next, n++) {
        struct json *made = NULL;
        int r = session_create(&w->session, o->kind, o->object, &made, err);

        if (r && n)
            err_hint(
                err,
                "%zu of %zu jobs were created; remove them with: muster rm --all -l " LABEL_SWEEP
                "=%s",
                n, w->grid.jobs, w->name);
        if (r)
            return r;
        w->jobs[n] = (struct follow_target){.kind = o->kind,
                                            .ns = object_namespace(made),
                                            .name = object_name(made),
                                            .uid = object_uid(made)};
        fprintf(w->options->detach ? stdout : stderr, "%s.%s/%s created  %s\n", o->kind->singular,
                o->kind->group, object_name(made), sweep_grid_text(&w->cli->arena, &w->grid, n));
    }
    return 0;
}

/* --- the command --- */

static void say_next(struct sweep *w)
{
    struct buf path = BUF_INIT(1024);
    const char *address;

    buf_adds(&path, "/compare?label=");
    percent_encode(&path, LABEL_SWEEP);
    buf_addf(&path, "=%s", w->name);
    address = path.data ? browser_address(&w->cli->arena, w->session.config.server, path.data)
                        : NULL;
    buf_release(&path);
    if (w->options->parallel && w->grid.jobs > (size_t)w->options->parallel)
        talk_note(&w->cli->talk,
                  "%s: %zu jobs, at most %lld at once; the daemon starts the others in turn",
                  w->name, w->grid.jobs, (long long)w->options->parallel);
    if (w->session.own_daemon && address)
        talk_note(&w->cli->talk, "compare them at %s", address);
    talk_hint(&w->cli->talk,
              "muster ps -l " LABEL_SWEEP "=%s   remove them with: muster rm --all -l " LABEL_SWEEP
              "=%s",
              w->name, w->name);
}

static enum exit_code follow_jobs(struct sweep *w, struct err *err)
{
    const struct follow_options how = {.without_logs = true};
    enum follow_end end = follow(w->cli, &w->session, w->jobs, w->grid.jobs, &how, err);

    if (end == FOLLOW_BROKEN)
        return command_fail(w->cli, err);
    if (end == FOLLOW_INTERRUPTED)
        talk_note(&w->cli->talk,
                  "%s: detached; its jobs keep running, and waiting ones are still started in turn",
                  w->name);
    return follow_exit_code(end);
}

static enum exit_code sweep(struct sweep *w, struct err *err)
{
    const struct session_options *where = &w->options->session;

    if (!w->options->dry_run &&
        (start_session(w->cli, where, &w->session, err) || find_name(w, err)))
        return command_fail(w->cli, err);
    if (make_jobs(w, err))
        return err_is_set(err) ? command_fail(w->cli, err) : EXIT_FAILED;
    if (w->options->dry_run) {
        output_manifest(w->options->format, &w->manifest);
        return EXIT_OK;
    }
    if (create(w, err))
        return command_fail(w->cli, err);
    say_next(w);
    return w->options->detach ? EXIT_OK : follow_jobs(w, err);
}

static int check(struct sweep *w, const struct args *args, struct err *err)
{
    if (!args->dashes || args->before_dashes || args->len == 0 || w->options->sets.len == 0) {
        err_set(err, ERR_BAD_REQUEST,
                args->len == 0              ? "nothing to run"
                : w->options->sets.len == 0 ? "nothing to vary: use --set"
                                            : "the command comes after --");
        err_hint(err, "muster sweep --set lr=0.1,0.01 -- python train.py --lr {lr}");
        return -EINVAL;
    }
    w->command = args->list;
    w->command_len = args->len;
    w->name = w->options->name ? w->options->name
                               : arena_printf(&w->cli->arena, "%s-sweep",
                                              run_line_name(&w->cli->arena, args->list, args->len));
    return sweep_grid_read(&w->cli->arena, &w->options->sets, args->list, args->len, &w->grid, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct sweep w = {.cli = cli, .options = values};
    enum exit_code code;

    if (check(&w, args, &err)) {
        talk_error(&cli->talk, &err);
        return EXIT_USAGE;
    }
    code = sweep(&w, &err);
    session_close(&w.session);
    return code;
}

const struct command command_sweep = {
    .name = "sweep",
    .args = "-- COMMAND...",
    .summary = "Run a command once for each combination of parameters",
    .examples =
        "  muster sweep --set lr=0.1,0.01 --set bs=32,64 -- python train.py --lr {lr} --bs {bs}\n"
        "  muster sweep --parallel 2 --gpus 1 --set seed=1,2,3,4 -- python train.py {seed}\n"
        "  muster sweep --dry-run --set lr=0.1,0.01 -- python train.py --lr {lr}\n",
    .help = "Each combination is a job, labelled muster.dev/sweep=NAME and\n"
            "param.muster.dev/lr=0.1.\n"
            "Compare them in the console, or with: muster board -l muster.dev/sweep=NAME.\n"
            "Jobs beyond --parallel are created paused and resumed in turn by the daemon,\n"
            "regardless of Ctrl-C and --detach. The exit code is 3 if one of them failed.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct sweep_options),
    .max_args = ARGS_LIMIT,
    .run = run,
};
