/* job_choice.c - see job_choice.h. */
#include "cli/job_choice.h"
#include "cli/words.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "api/object.h"
#include "cli/jobphase.h"

struct choosing {
    struct cli *cli;
    struct session session;
    const struct job_choice *choice;
    const char *verb, *done;
    job_choice_fn *fn;
    void *arg;
    enum exit_code code;
};

static void fail(struct choosing *c, const struct err *err)
{
    enum exit_code code = command_fail(c->cli, err);

    c->code = c->code == EXIT_OK ? code : c->code;
}

static void treat(struct choosing *c, const struct kind *k, const struct json *job)
{
    auto_err err = ERR_INIT;

    if (!c->choice->dry_run && c->fn(c->arg, &c->session, k, job, &err))
        fail(c, &err);
    else
        printf("%s.%s/%s %s%s\n", k->singular, k->group, object_name(job),
               c->choice->dry_run ? "would be " : "", c->done);
}

/* Asks for confirmation on a terminal; without one nothing is assumed. */
static bool is_meant(struct choosing *c, size_t count)
{
    char answer[8] = "";

    if (c->choice->yes || c->choice->dry_run)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        talk_errorf(&c->cli->talk, "would %s %zu job%s; add --yes to do so", c->verb, count,
                    count == 1 ? "" : "s");
        c->code = EXIT_USAGE;
        return false;
    }
    fprintf(stderr, "%s %zu job%s? [y/N] ", c->verb, count, count == 1 ? "" : "s");
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    talk_note(&c->cli->talk, "nothing was %s", c->done);
    c->code = EXIT_FAILED;
    return false;
}

/* Without names, pausing and resuming pass over jobs they cannot change. */
static void drop_unconcerned(const struct choosing *c, struct json *items)
{
    struct json *next;

    for (struct json *job = json_first_mut(items); job; job = next) {
        bool paused = json_bool(json_at(job, "spec", "runMode", "pause", "enabled"), false);

        next = job->next;
        if (c->fn == job_choice_set_paused &&
            (job_is_finished(job) || paused == *(const bool *)c->arg))
            (void)json_remove_item(items, job);
    }
}

static void treat_labelled(struct choosing *c)
{
    auto_err err = ERR_INIT;
    struct json *list = NULL;

    if (session_list_jobs(&c->session, c->session.ns, c->choice->selector, &list, &err)) {
        fail(c, &err);
        return;
    }
    drop_unconcerned(c, json_get_mut(list, "items"));
    if (json_len(json_get(list, "items")) == 0) {
        talk_note(&c->cli->talk, "no jobs%s in namespace %s to %s",
                  c->choice->selector ? words(" with these labels") : "", c->session.ns, c->verb);
        return;
    }
    if (is_meant(c, json_len(json_get(list, "items"))))
        json_each (job, json_get(list, "items"))
            treat(c, kind_of_object(job), job);
}

static void treat_named(struct choosing *c, const char *name)
{
    auto_err err = ERR_INIT;
    const struct kind *k = NULL;
    struct json *job = NULL;

    if (session_find_job(&c->session, name, &k, &job, &err))
        fail(c, &err);
    else
        treat(c, k, job);
}

enum exit_code job_choice_each(struct cli *cli, const struct session_options *where,
                               const struct job_choice *choice, const struct args *args,
                               const char *verb, const char *done, job_choice_fn *fn, void *arg)
{
    struct choosing c = {
        .cli = cli, .choice = choice, .verb = verb, .done = done, .fn = fn, .arg = arg};
    bool named = args->len > 0;
    auto_err err = ERR_INIT;

    if (named == (choice->all || choice->selector)) {
        talk_errorf(&cli->talk, named ? "either jobs, or --all or --selector" : "which job?");
        talk_hint(&cli->talk, "name jobs, or use --all or --selector LABELS; 'muster ps' lists "
                              "them");
        return EXIT_USAGE;
    }
    if (session_open(cli, where, &c.session, &err))
        return command_fail(cli, &err);
    if (!named)
        treat_labelled(&c);
    for (size_t i = 0; i < args->len; i++)
        treat_named(&c, args->list[i]);
    session_close(&c.session);
    return c.code;
}

int job_choice_set_paused(void *arg, struct session *s, const struct kind *k,
                          const struct json *job, struct err *err)
{
    bool paused = *(const bool *)arg;
    struct arena *a = s->arena;
    struct json *patch = json_new_object(a), *metadata = json_make_object(a, patch, "metadata");
    struct json *mode = json_make_object(a, json_make_object(a, patch, "spec"), "runMode");

    if (job_is_finished(job)) {
        err_set(err, ERR_CONFLICT, words("job '%s' has ended already (%s)"), object_name(job),
                job_phase(job));
        err_hint(err, words("run it again with: muster rerun %s"), object_name(job));
        return -EEXIST;
    }
    json_set_string(a, metadata, "uid", object_uid(job));
    json_set(a, json_make_object(a, metadata, "annotations"), ANNOTATION_SWEEP_TURN,
             json_new_null(a));
    json_set_bool(a, json_make_object(a, mode, "pause"), "enabled", paused);
    return session_patch(s, k, object_namespace(job), object_name(job), patch, err);
}
