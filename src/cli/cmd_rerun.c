/* cmd_rerun.c - `muster rerun`: runs a job again, as a new one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "cli/common_options.h"
#include "cli/follow.h"
#include "cli/output.h"

#define NAMES_TRIED 10000u

struct rerun_options {
    struct session_options session;
    const char *name, *format;
    bool detach, raw, dry_run, own;
};

static const struct rerun_options defaults = {.format = "yaml"};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct rerun_options, name, "name", "NAME",
                   "name of the new one (default: x-2, x-3 and so on)"),
    OPTION_OF_FLAG(struct rerun_options, detach, "detach", "create it and return at once",
                   .letter = 'd'),
    OPTION_OF_FLAG(struct rerun_options, own, "own",
                   "run another user's job as you, not as its namespace's user: read it first"),
    OPTION_DRY_RUN(struct rerun_options),
    OPTION_RAW(struct rerun_options),
    SESSION_OPTIONS(struct rerun_options, session),
    {0},
};

/* "train" and "train-2" become "train-3" if that is the first free name. */
static const char *free_name(struct arena *a, const char *of, const struct json *jobs)
{
    const char *dash = strrchr(of, '-');
    bool counted = dash && dash[1] && strspn(dash + 1, "0123456789") == strlen(dash + 1);
    unsigned long first = counted ? strtoul(dash + 1, NULL, 10) + 1 : 2;

    for (unsigned long n = first; n < first + NAMES_TRIED; n++) {
        const char *name = arena_printf(a, "%.*s-%lu", (int)(counted ? dash - of : (int)strlen(of)),
                                        of, n);
        bool taken = false;

        json_each (job, json_get(jobs, "items"))
            taken = taken || (name && strcmp(object_name(job), name) == 0);
        if (!taken)
            return name;
    }
    return NULL;
}

/* The job as created, without its history: like a copy made in the console. */
static struct json *copy_job(struct arena *a, const struct kind *k, const struct json *job,
                             const char *name, bool own)
{
    static const char *const carried[] = {ANNOTATION_FOLDER, ANNOTATION_LOG_DIR};
    struct json *copy = json_new_object(a), *metadata, *labels, *annotations, *mode;

    json_set_string(a, copy, "apiVersion", kind_api_version(a, k));
    json_set_string(a, copy, "kind", k->name);
    metadata = json_make_object(a, copy, "metadata");
    json_set_string(a, metadata, "name", name);
    json_set_string(a, metadata, "namespace", object_namespace(job));
    labels = json_make_object(a, metadata, "labels");
    json_each (label, object_labels(job))
        if (strncmp(label->key, TAG_PREFIX, strlen(TAG_PREFIX)) != 0)
            json_set_string(a, labels, label->key, json_string(label, ""));
    json_set_string(a, labels, LABEL_RERUN_OF, object_uid(job));
    annotations = json_make_object(a, metadata, "annotations");
    for (size_t i = 0; i < ELEMS(carried); i++)
        if (object_annotation(job, carried[i]))
            json_set_string(a, annotations, carried[i], object_annotation(job, carried[i]));
    if (object_annotation(job, ANNOTATION_RUN_AS) && !own)
        json_set_string(a, annotations, ANNOTATION_RUN_AS, RUN_AS_NAMESPACE);
    json_set_string(a, annotations, LABEL_RERUN_OF, object_name(job));
    json_set(a, copy, "spec", json_clone(a, json_get(job, "spec")));
    mode = json_get_mut(json_get_mut(copy, "spec"), "runMode");
    if (mode)
        json_remove(mode, "pause");
    return arena_failed(a) ? NULL : copy;
}

static enum exit_code follow_it(struct cli *cli, struct session *s, const struct rerun_options *o,
                                const struct kind *k, const struct json *made, struct err *err)
{
    const struct follow_target target = {.kind = k,
                                         .ns = object_namespace(made),
                                         .name = object_name(made),
                                         .uid = object_uid(made)};
    const struct follow_options how = {
        .prefix = true, .raw = o->raw, .tail_lines = -1, .every_attempt = true};
    enum follow_end end = follow(cli, s, &target, 1, &how, err);

    if (end == FOLLOW_BROKEN)
        return command_fail(cli, err);
    if (end == FOLLOW_INTERRUPTED)
        talk_hint(&cli->talk, "it keeps running; come back with: muster logs -f %s", target.name);
    return follow_exit_code(end);
}

static enum exit_code rerun(struct cli *cli, struct session *s, const struct rerun_options *o,
                            const char *word, struct err *err)
{
    const struct kind *k = NULL;
    struct json *job = NULL, *jobs = NULL, *copy, *made = NULL;
    const char *name = o->name;

    if (session_open(cli, &o->session, s, err) || session_find_job(s, word, &k, &job, err) ||
        session_list_jobs(s, s->ns, NULL, &jobs, err))
        return command_fail(cli, err);
    if (!name)
        name = free_name(s->arena, object_name(job), jobs);
    copy = name ? copy_job(s->arena, k, job, name, o->own) : NULL;
    if (!copy)
        err_set(err, ERR_INTERNAL, "no free name; use --name");
    if (copy && o->dry_run) {
        struct manifest_object only = {.kind = k, .object = copy, .said = copy};

        output_manifest(o->format, &(struct manifest){.first = &only, .last = &only, .count = 1});
        return EXIT_OK;
    }
    if (!copy || session_create(s, k, copy, &made, err))
        return command_fail(cli, err);
    fprintf(o->detach ? stdout : stderr, "%s.%s/%s created\n", k->singular, k->group,
            object_name(made));
    return o->detach ? EXIT_OK : follow_it(cli, s, o, k, made, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    auto_err err = ERR_INIT;
    struct session s = {0};
    enum exit_code code = rerun(cli, &s, values, args->list[0], &err);

    session_close(&s);
    return code;
}

const struct command command_rerun = {
    .name = "rerun",
    .args = "JOB",
    .summary = "Run a job again, as a new one, and follow it",
    .examples = "  muster rerun mnist\n"
                "  muster rerun mnist --name mnist-again --detach\n"
                "  muster rerun mnist --dry-run >changed.yaml\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct rerun_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
