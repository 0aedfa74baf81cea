/*
 * cmd_run.c - `muster run`: checks and creates the objects in a file, or the job for a command
 * line, and follows the jobs to their end. All or nothing: everything is checked, and none of its
 * jobs may exist already, before the first object is created.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/object.h"
#include "cli/common_options.h"
#include "cli/follow.h"
#include "cli/jobphase.h"
#include "cli/last_applied.h"
#include "cli/manifest.h"
#include "cli/output.h"
#include "cli/run_line.h"
#include "cli/start.h"
#include "cli/words.h"
#include "core/job.h"

struct run_options {
    struct session_options session;
    struct run_line_options line;
    const char *name, *format;
    bool detach, replace, wait, raw, dry_run;
};

static const struct run_options defaults = {.format = "yaml"};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct run_options, detach, "detach", "create it and return at once",
                   .letter = 'd'),
    OPTION_OF_FLAG(struct run_options, replace, "replace", "remove a job of the same name first"),
    OPTION_OF_FLAG(struct run_options, wait, "wait",
                   "wait even for a job that can never fit on this machine"),
    OPTION_OF_TEXT(struct run_options, name, "name", "NAME", "name of the job"),
    RUN_LINE_OPTIONS(struct run_options, line),
    OPTION_DRY_RUN(struct run_options),
    OPTION_RAW(struct run_options),
    SESSION_OPTIONS(struct run_options, session),
    {0},
};

struct run {
    struct cli *cli;
    const struct run_options *options;
    const char *file;           /* NULL: a command line */
    const char *const *command; /* NULL: a file */
    size_t command_len;
    const char *base_name; /* for a command line without --name: a free name is derived from it */
    struct session session;
    struct manifest manifest;
    struct follow_target *jobs;
    size_t jobs_len;
};

static bool is_job(const struct manifest_object *o)
{
    for (size_t i = 0; job_kinds[i]; i++)
        if (job_kinds[i]->kind == o->kind)
            return true;
    return false;
}

/* --- before anything is created --- */

static bool is_unchanged(const struct run *r, const struct manifest_object *o,
                         const struct json *found)
{
    return last_applied_is_current(r->session.arena, found, o->said, o->config);
}

static int job_exists(struct run *r, const struct manifest_object *o, const struct json *found,
                      struct err *err)
{
    const char *name = object_name(found);

    if (job_is_finished(found)) {
        err_set(err, ERR_ALREADY_EXISTS, "job '%s' already exists and has ended (%s)%s", name,
                job_phase(found), is_unchanged(r, o, found) ? "; it is unchanged" : "");
        err_hint(err,
                 "run it again with: muster run --replace %s   or remove it with: muster rm %s",
                 r->file ? r->file : "...", name);
    } else {
        err_set(err, ERR_ALREADY_EXISTS, "job '%s' already exists (%s)", name, job_phase(found));
        err_hint(err,
                 "follow it with: muster logs -f %s   or start over with: muster run --replace %s",
                 name, r->file ? r->file : "...");
    }
    return -EEXIST;
}

static int check_job(struct run *r, const struct manifest_object *o, struct err *err)
{
    auto_err lookup = ERR_INIT;
    struct json *found = NULL;
    int result = session_get(&r->session, o->kind, object_namespace(o->object),
                             object_name(o->object), &found, &lookup);

    if (result && lookup.reason == ERR_NOT_FOUND)
        return 0;
    if (result) {
        err_move(err, &lookup);
        return result;
    }
    if (r->options->replace || (!job_is_finished(found) && is_unchanged(r, o, found)))
        return 0;
    return job_exists(r, o, found, err);
}

static int remove_old(struct run *r, const struct manifest_object *o, struct err *err)
{
    auto_err lookup = ERR_INIT;
    struct json *found = NULL;

    if (!r->options->replace || session_get(&r->session, o->kind, object_namespace(o->object),
                                            object_name(o->object), &found, &lookup))
        return 0;
    talk_note(&r->cli->talk, "%s: removing the one that exists", object_name(found));
    return session_remove_job(&r->session, o->kind, found, err);
}

/* --- a free name --- */

#define NAMES_TRIED 10000

static int set_name(struct run *r, struct manifest_object *o, size_t n)
{
    const char *name = n == 1 ? r->base_name
                              : arena_printf(r->session.arena, "%s-%zu", r->base_name, n);

    if (!name)
        return -ENOMEM;
    json_set_string(r->session.arena, json_get_mut(o->object, "metadata"), "name", name);
    return 0;
}

/* train, train-2, train-3: the first that no job of any kind has. If another command takes it
 * meanwhile, the next. */
static int create_under_free_name(struct run *r, struct manifest_object *o, struct json **ret,
                                  struct err *err)
{
    struct json *list = NULL;
    bool taken = true;
    int result = session_list_jobs(&r->session, object_namespace(o->object), NULL, &list, err);

    for (size_t n = 1; result == 0 && taken && n < NAMES_TRIED; n++) {
        auto_err attempt = ERR_INIT;

        if (set_name(r, o, n))
            return err_set(err, ERR_INTERNAL, "out of memory");
        taken = false;
        json_each (job, json_get(list, "items"))
            taken = taken || strcmp(object_name(job), object_name(o->object)) == 0;
        if (taken)
            continue;
        result = session_create(&r->session, o->kind, o->object, ret, &attempt);
        taken = result && attempt.reason == ERR_ALREADY_EXISTS;
        if (taken)
            result = 0;
        else if (result)
            err_move(err, &attempt);
    }
    return result == 0 && taken
               ? err_set(err, ERR_ALREADY_EXISTS, "%s-2 to %s-%d exist; use --name", r->base_name,
                         r->base_name, NAMES_TRIED - 1)
               : result;
}

/* --- creating --- */

static void say_done(const struct run *r, const struct manifest_object *o, const char *what)
{
    /* Data when the command only creates; messages when it continues with logs. */
    FILE *out = r->options->detach || r->jobs_len == 0 ? stdout : stderr;

    fprintf(out, "%s%s%s/%s %s\n", o->kind->singular, *o->kind->group ? "." : "", o->kind->group,
            object_name(o->object), what);
}

static void add_job(struct run *r, const struct kind *k, const struct json *job)
{
    r->jobs[r->jobs_len++] = (struct follow_target){
        .kind = k, .ns = object_namespace(job), .name = object_name(job), .uid = object_uid(job)};
}

/* Other objects may exist from the last run: they are updated to match the file. */
static int update(struct run *r, const struct manifest_object *o, const struct json *found,
                  struct err *err)
{
    struct arena *a = r->session.arena;
    struct json *patch = json_clone(a, o->object);
    int result;

    json_remove(patch, "status");
    last_applied_add_removals(a, patch, found, o->said);
    result = session_patch(&r->session, o->kind,
                           o->kind->namespaced ? object_namespace(o->object) : NULL,
                           object_name(o->object), patch, err);
    if (result == 0)
        say_done(r, o, "updated");
    return result;
}

/* An existing job is followed if it matches the file. */
static int take_existing(struct run *r, const struct manifest_object *o, struct err *err)
{
    struct json *found = NULL;
    int result = session_get(&r->session, o->kind,
                             o->kind->namespaced ? object_namespace(o->object) : NULL,
                             object_name(o->object), &found, err);

    if (result)
        return result;
    if (!is_job(o) && !is_unchanged(r, o, found))
        return update(r, o, found, err);
    if (is_job(o) && (job_is_finished(found) || !is_unchanged(r, o, found)))
        return job_exists(r, o, found, err);
    if (is_job(o))
        add_job(r, o->kind, found);
    say_done(r, o, "unchanged");
    return 0;
}

static int create(struct run *r, struct manifest_object *o, struct err *err)
{
    auto_err attempt = ERR_INIT;
    struct json *created = NULL;
    int result = is_job(o) && !r->base_name ? remove_old(r, o, &attempt) : 0;

    if (result == 0 && r->base_name)
        result = create_under_free_name(r, o, &created, &attempt);
    else if (result == 0)
        result = session_create(&r->session, o->kind, o->object, &created, &attempt);
    if (result && attempt.reason == ERR_ALREADY_EXISTS && !r->base_name)
        return take_existing(r, o, err);
    if (result) {
        err_move(err, &attempt);
        return result;
    }
    if (is_job(o))
        add_job(r, o->kind, created);
    say_done(r, o, "created");
    return 0;
}

static int create_all(struct run *r, struct err *err)
{
    int result = 0;

    r->jobs = arena_alloc(r->session.arena, sizeof(*r->jobs) * max_size(r->manifest.count, 1));
    if (!r->jobs)
        return err_set(err, ERR_INTERNAL, "out of memory");
    for (const struct manifest_object *o = r->manifest.first; o && result == 0; o = o->next)
        if (is_job(o) && !r->base_name)
            result = check_job(r, o, err);
    for (struct manifest_object *o = r->manifest.first; o && result == 0; o = o->next)
        result = create(r, o, err);
    return result;
}

/* --- following --- */

static void say_detached(const struct run *r)
{
    const struct talk *t = &r->cli->talk;

    for (size_t i = 0; i < r->jobs_len; i++) {
        talk_note(t, "%s: detached; the job keeps running", r->jobs[i].name);
        talk_hint(t, "come back with: muster logs -f %s   stop it with: muster stop %s",
                  r->jobs[i].name, r->jobs[i].name);
    }
}

/* For people only: a script knows what it does next. */
static void say_next_steps(const struct run *r, enum follow_end end)
{
    const struct talk *t = &r->cli->talk;
    const char *name = r->jobs_len == 1 ? r->jobs[0].name : NULL;

    if (!name || !isatty(STDERR_FILENO))
        return;
    if (end == FOLLOW_SUCCEEDED)
        talk_hint(t, words("look around: muster logs %s   muster board %s   muster console"), name,
                  name);
    else if (end == FOLLOW_FAILED)
        talk_hint(t, words("find out more: muster logs %s   muster describe %s   muster export %s"),
                  name, name, name);
}

static enum exit_code follow_jobs(struct run *r, struct err *err)
{
    const struct follow_options how = {.prefix = true,
                                       .raw = r->options->raw,
                                       .tail_lines = -1,
                                       .leave_hopeless = !r->options->wait,
                                       .every_attempt = true};
    enum follow_end end;

    end = follow(r->cli, &r->session, r->jobs, r->jobs_len, &how, err);
    if (end == FOLLOW_BROKEN)
        return command_fail(r->cli, err);
    if (end == FOLLOW_NEVER_FITS)
        talk_hint(&r->cli->talk,
                  "remove it with: muster rm %s   or wait with: muster run --wait %s",
                  r->jobs[0].name, r->file ? r->file : "...");
    if (end == FOLLOW_INTERRUPTED)
        say_detached(r);
    say_next_steps(r, end);
    return follow_exit_code(end);
}

static int load_command(struct run *r, const struct manifest_options *how, struct err *err)
{
    struct arena *a = &r->cli->arena;
    const char *name = run_line_name(a, r->command, r->command_len);
    struct json *job;

    if (!r->options->name)
        r->base_name = name;
    if (run_line_uses_python3(a, &r->options->line, r->command, how->set_folder))
        talk_note(&r->cli->talk, "%s", words(USING_PYTHON3));
    job = run_line_job(a, &r->options->line, name, r->command, r->command_len, how->set_folder,
                       err);
    return job ? manifest_of_object(a, &r->cli->talk, "this command", job, how, &r->manifest, err)
               : -EINVAL;
}

static int load(struct run *r, struct err *err)
{
    struct manifest_options how = {.ns = r->options->session.ns,
                                   .default_ns = r->session.ns,
                                   .name = r->options->name,
                                   .set_folder = !session_is_elsewhere(&r->options->session)};
    size_t jobs = 0;
    int result = r->command ? load_command(r, &how, err)
                            : manifest_load(&r->cli->arena, &r->cli->talk, r->file, &how,
                                            &r->manifest, err);

    for (const struct manifest_object *o = r->manifest.first; o; o = o->next)
        jobs += is_job(o);
    if (result == 0 && r->options->name && jobs != 1)
        result = err_set(err, ERR_BAD_REQUEST, "--name needs a file with one job; %s has %zu",
                         r->file, jobs);
    return result;
}

/* The word of a container's command that is a file next to the manifest, or NULL. */
static const char *file_beside(const struct run *r, const struct json *container)
{
    static const char *const lists[] = {"command", "args"};
    struct stat st;

    for (size_t i = 0; i < ELEMS(lists); i++)
        json_each (word, json_get(container, lists[i])) {
            const char *name = json_string(word, "");
            const char *path = arena_printf(&r->cli->arena, "%s/%s", r->manifest.folder, name);

            if (*name && *name != '/' && path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
                return name;
        }
    return NULL;
}

/* Only this machine's muster knows the file's folder: elsewhere such a program is not found. */
static void warn_of_files(const struct run *r, const char *job, const struct json *part)
{
    json_each (member, part) {
        const char *file = NULL;

        if (member->key && strcmp(member->key, "containers") == 0)
            json_each (container, member)
                if (!file && !json_get(container, "workingDir"))
                    file = file_beside(r, container);
        if (file)
            talk_warn(
                &r->cli->talk,
                "%s: %s is in this file's folder, where containers do not start on a cluster; "
                "put it into the image or on a volume, and set workingDir to its folder",
                job, file);
        else
            warn_of_files(r, job, member);
    }
}

/* --- the whole --- */

/* A kubeconfig determines the namespace, so it is read first. */
static enum exit_code run_file(struct run *r, struct err *err)
{
    const struct session_options *where = &r->options->session;
    bool elsewhere = session_is_elsewhere(where);

    if (elsewhere && session_open(r->cli, where, &r->session, err))
        return command_fail(r->cli, err);
    if (load(r, err)) {
        if (err_is_set(err))
            return command_fail(r->cli, err);
        talk_note(&r->cli->talk, "nothing was created");
        return EXIT_FAILED;
    }
    for (const struct manifest_object *o = r->manifest.first; o && elsewhere; o = o->next)
        if (is_job(o))
            warn_of_files(r, object_name(o->object), json_get(o->object, "spec"));
    if (r->options->dry_run) {
        output_manifest(r->options->format, &r->manifest);
        return EXIT_OK;
    }
    if ((!elsewhere && start_session(r->cli, where, &r->session, err)) || create_all(r, err))
        return command_fail(r->cli, err);
    if (r->options->detach || r->jobs_len == 0) {
        for (size_t i = 0; i < r->jobs_len; i++)
            talk_hint(&r->cli->talk, "follow it with: muster logs -f %s", r->jobs[i].name);
        return EXIT_OK;
    }
    return follow_jobs(r, err);
}

static const char *python_of(const char *file)
{
    size_t len = strlen(file);

    return len > 3 && strcmp(file + len - 3, ".py") == 0 ? "python " : "";
}

static bool is_script(const char *file)
{
    size_t len = strlen(file);

    return *python_of(file) || (len > 3 && strcmp(file + len - 3, ".sh") == 0);
}

/* FILE, or -- COMMAND. */
static int find_words(struct run *r, const struct args *args, struct err *err)
{
    const char *given = run_line_given(&r->options->line);
    int result = -EINVAL;

    if (args->before_dashes == 1 && args->len == 1 && !given && !is_script(args->list[0])) {
        r->file = args->list[0];
        return 0;
    }
    if (args->dashes && args->before_dashes == 0 && args->len > 0) {
        r->command = args->list;
        r->command_len = args->len;
        return 0;
    }
    if (args->before_dashes == 1 && args->len == 1 && is_script(args->list[0])) {
        result = err_set(err, ERR_BAD_REQUEST, "%s is a program, not a manifest", args->list[0]);
        err_hint(err, "muster run -- %s%s", python_of(args->list[0]), args->list[0]);
        return result;
    }
    if (args->before_dashes == 1 && args->len == 1)
        result = err_set(err, ERR_BAD_REQUEST, "%s is for a command; %s specifies it itself", given,
                         args->list[0]);
    else if (args->len == 0)
        result = err_set(err, ERR_BAD_REQUEST, "nothing to run");
    else
        result = err_set(err, ERR_BAD_REQUEST, "'%s': either one file, or a command after --",
                         args->list[0]);
    err_hint(err, "muster run job.yaml   or: muster run --workers 2 -- python train.py");
    return result;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct run r = {.cli = cli, .options = values};
    enum exit_code code;

    if (find_words(&r, args, &err)) {
        talk_error(&cli->talk, &err);
        return EXIT_USAGE;
    }
    code = run_file(&r, &err);

    session_close(&r.session);
    return code;
}

const struct command command_run = {
    .name = "run",
    .args = "FILE | -- COMMAND...",
    .summary = "Run a command or the jobs of a file, and follow their replicas",
    .examples = "  muster run --workers 4 -- python train.py --lr 0.1\n"
                "  muster run --workers 2 --nproc 4 --gpus 4 --max-restarts 3 -- python train.py\n"
                "  muster run --dry-run -- python train.py\n"
                "  muster run job.yaml\n"
                "  muster run --detach job.yaml\n"
                "  muster run --replace --name second job.yaml\n",
    .help = "The exit code is the job's: 0 if it succeeded, 3 if it failed, 7 if it can never\n"
            "fit on this machine (--wait waits anyway). Ctrl-C detaches; the job keeps running.\n"
            "An existing job that matches the file is followed.\n"
            "A container without workingDir runs in the file's folder, a command in the current\n"
            "one; on a cluster (--kubeconfig, --context) in its image's. A command gets your\n"
            "PATH and Python environment. FILE may be a folder of manifests, or - for standard\n"
            "input.\n"
            "If muster is not up, it is started.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct run_options),
    .max_args = ARGS_LIMIT,
    .run = run,
};
