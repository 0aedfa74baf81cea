/* cmd_rm.c - `muster rm`: jobs and everything that runs for them. */
#include "api/object.h"
#include "cli/session.h"

#include <stdio.h>

struct rm_options {
    struct session_options session;
    bool dry_run, no_wait;
};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct rm_options, dry_run, "dry-run", "only say what would be removed"),
    OPTION_OF_FLAG(struct rm_options, no_wait, "no-wait",
                   "do not wait until its replicas have stopped"),
    SESSION_OPTIONS(struct rm_options, session),
    {0},
};

static int remove_one(struct session *s, const struct rm_options *o, const char *name,
                      struct err *err)
{
    const struct kind *k = NULL;
    struct json *job = NULL;
    int r = session_find_job(s, name, &k, &job, err);

    if (r == 0 && !o->dry_run)
        r = o->no_wait ? session_delete(s, k, object_namespace(job), object_name(job),
                                        object_uid(job), err)
                       : session_remove_job(s, k, job, err);
    if (r == 0)
        printf("%s.%s/%s %s\n", k->singular, k->group, object_name(job),
               o->dry_run ? "would be removed" : "removed");
    return r;
}

/* Every name is tried; the first failure decides the exit code. */
static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct rm_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    enum exit_code code = EXIT_OK;

    if (session_open(cli, &o->session, &s, &err))
        code = command_fail(cli, &err);
    for (size_t i = 0; s.transport && i < args->len; i++) {
        auto_err one = ERR_INIT;

        if (remove_one(&s, o, args->list[i], &one)) {
            enum exit_code failed = command_fail(cli, &one);

            code = code == EXIT_OK ? failed : code;
        }
    }
    session_close(&s);
    return code;
}

const struct command command_rm = {
    .name = "rm",
    .args = "JOB...",
    .summary = "Remove jobs: their replicas are stopped, files they wrote stay",
    .help = "  muster rm mnist\n"
            "  muster rm --dry-run mnist other\n",
    .options = options,
    .options_size = sizeof(struct rm_options),
    .min_args = 1,
    .max_args = ARGS_LIMIT,
    .run = run,
};
