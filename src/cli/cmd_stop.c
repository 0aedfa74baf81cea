/* cmd_stop.c - `muster stop`, also called `pause`, and `muster resume`: removes a job's replicas,
 * and brings them back. */
#include "cli/job_choice.h"

struct stop_options {
    struct session_options session;
    struct job_choice choice;
};

static const struct option_spec stop_options[] = {
    JOB_CHOICE_OPTIONS(struct stop_options, choice, "stopped"),
    SESSION_OPTIONS(struct stop_options, session),
    {0},
};

static const struct option_spec pause_options[] = {
    JOB_CHOICE_OPTIONS(struct stop_options, choice, "paused"),
    SESSION_OPTIONS(struct stop_options, session),
    {0},
};

static const struct option_spec resume_options[] = {
    JOB_CHOICE_OPTIONS(struct stop_options, choice, "resumed"),
    SESSION_OPTIONS(struct stop_options, session),
    {0},
};

static enum exit_code pause_jobs(struct cli *cli, const struct stop_options *o,
                                 const struct args *args, const char *verb, const char *done)
{
    bool paused = true;
    enum exit_code code = job_choice_each(cli, &o->session, &o->choice, args, verb, done,
                                          job_choice_set_paused, &paused);

    if (code == EXIT_OK && !o->choice.dry_run && args->len)
        talk_hint(&cli->talk, "resume with: muster resume %s", args->list[0]);
    return code;
}

static enum exit_code run_stop(struct cli *cli, const void *values, const struct args *args)
{
    return pause_jobs(cli, values, args, "stop", "stopped");
}

static enum exit_code run_pause(struct cli *cli, const void *values, const struct args *args)
{
    return pause_jobs(cli, values, args, "pause", "paused");
}

static enum exit_code run_resume(struct cli *cli, const void *values, const struct args *args)
{
    const struct stop_options *o = values;
    bool paused = false;

    return job_choice_each(cli, &o->session, &o->choice, args, "resume", "resumed",
                           job_choice_set_paused, &paused);
}

const struct command command_stop = {
    .name = "stop",
    .args = "JOB...",
    .summary = "Stop the replicas of jobs; the jobs and their logs stay",
    .examples = "  muster stop mnist\n"
                "  muster stop --selector team=nlp --yes\n",
    .help = "The job is paused (spec.runMode.pause.enabled) and gives up its resources. 'muster\n"
            "resume' creates its replicas again, 'muster rm' removes it.\n",
    .options = stop_options,
    .options_size = sizeof(struct stop_options),
    .max_args = ARGS_LIMIT,
    .run = run_stop,
};

const struct command command_pause = {
    .name = "pause",
    .args = "JOB...",
    .summary = "Pause jobs: the same as stop",
    .examples = "  muster pause mnist\n"
                "  muster pause --all --yes\n",
    .options = pause_options,
    .options_size = sizeof(struct stop_options),
    .max_args = ARGS_LIMIT,
    .run = run_pause,
};

const struct command command_resume = {
    .name = "resume",
    .args = "JOB...",
    .summary = "Resume stopped or paused jobs, with new replicas",
    .examples = "  muster resume mnist\n",
    .options = resume_options,
    .options_size = sizeof(struct stop_options),
    .max_args = ARGS_LIMIT,
    .run = run_resume,
};
