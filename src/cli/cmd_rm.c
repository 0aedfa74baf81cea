/* cmd_rm.c - `muster rm`: jobs and everything that runs for them. */
#include "api/object.h"
#include "cli/job_choice.h"

struct rm_options {
    struct session_options session;
    struct job_choice choice;
    bool no_wait;
};

static const struct option_spec options[] = {
    JOB_CHOICE_OPTIONS(struct rm_options, choice, "removed"),
    OPTION_OF_FLAG(struct rm_options, no_wait, "no-wait", "do not wait for its replicas to stop"),
    SESSION_OPTIONS(struct rm_options, session),
    {0},
};

static int remove_one(void *arg, struct session *s, const struct kind *k, const struct json *job,
                      struct err *err)
{
    const struct rm_options *o = arg;

    return o->no_wait
               ? session_delete(s, k, object_namespace(job), object_name(job), object_uid(job), err)
               : session_remove_job(s, k, job, err);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    struct rm_options o = *(const struct rm_options *)values;

    return job_choice_each(cli, &o.session, &o.choice, args, "remove", "removed", remove_one, &o);
}

const struct command command_rm = {
    .name = "rm",
    .args = "JOB...",
    .summary = "Remove jobs: their replicas are stopped, files they wrote stay",
    .examples = "  muster rm mnist\n"
                "  muster rm --dry-run mnist other\n"
                "  muster rm --all --selector team=nlp --yes\n",
    .options = options,
    .options_size = sizeof(struct rm_options),
    .max_args = ARGS_LIMIT,
    .run = run,
};
