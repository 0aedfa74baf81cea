/* cmd_scale.c - `muster scale`: changes an elastic job's number of replicas. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/object.h"
#include "cli/session.h"
#include "cli/words.h"

struct scale_options {
    struct session_options session;
    const char *replicas;
};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct scale_options, replicas, "replicas", "N", "the same as N, as in kubectl"),
    SESSION_OPTIONS(struct scale_options, session),
    {0},
};

static int scale(struct session *s, const char *name, int64_t replicas, struct err *err)
{
    struct arena *a = s->arena;
    struct json *job = NULL, *patch = json_new_object(a);
    const struct kind *k = NULL;
    int r = session_find_job(s, name, &k, &job, err);

    if (r)
        return r;
    if (!json_bool(json_at(job, "spec", "elastic", "enabled"), false)) {
        err_set(err, ERR_BAD_REQUEST,
                words("job '%s' is not elastic: its number of replicas is fixed"),
                object_name(job));
        err_hint(
            err,
            words("an elastic job has spec.elastic; 'muster explain job.spec.elastic' says how"));
        return -EINVAL;
    }
    json_set_int(a, json_make_object(a, json_make_object(a, patch, "spec"), "elastic"),
                 "expectedReplicas", replicas);
    r = session_patch(s, k, object_namespace(job), object_name(job), patch, err);
    if (r == 0)
        printf("%s.%s/%s scaled to %lld\n", k->singular, k->group, object_name(job),
               (long long)replicas);
    return r;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct scale_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    const char *wanted = args->len > 1 ? args->list[1] : o->replicas ? o->replicas : "";
    char *end;
    long long replicas = strtoll(wanted, &end, 10);
    int r;

    if (*end || end == wanted || replicas < 1) {
        talk_errorf(&cli->talk, *wanted ? "'%s' is not a number of replicas" : "how many replicas?",
                    wanted);
        talk_hint(&cli->talk, "muster scale %s 4", args->list[0]);
        return EXIT_USAGE;
    }
    r = session_open(cli, &o->session, &s, &err);
    if (r == 0)
        r = scale(&s, args->list[0], replicas, &err);
    session_close(&s);
    return r ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_scale = {
    .name = "scale",
    .args = "JOB N",
    .summary = "Change the number of replicas of an elastic job",
    .examples = "  muster scale mnist 4\n",
    .options = options,
    .options_size = sizeof(struct scale_options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
