/* cmd_wait.c - `muster wait`: waits until jobs have ended, or have reached a phase. */
#include <errno.h>
#include <string.h>

#include "api/duration.h"
#include "api/object.h"
#include "cli/follow.h"

struct wait_options {
    struct session_options session;
    const char *until, *timeout;
    bool quiet;
};

#define UNTIL "ended|Running|Paused|Succeeded|Failed|" FOLLOW_UNTIL_DELETED
static const char *const untils[] = {
    "ended", "Running", "Paused", "Succeeded", "Failed", FOLLOW_UNTIL_DELETED, NULL};
static const struct wait_options defaults = {.until = "ended"};

static const struct option_spec options[] = {
    OPTION_OF(OPTION_CHOICE, struct wait_options, until, "for", UNTIL,
              "what to wait for (default: the end)", .values = untils),
    OPTION_OF_TEXT(struct wait_options, timeout, "timeout", "TIME",
                   "give up after this time, like 30s or 2h; exit code 124"),
    OPTION_OF_FLAG(struct wait_options, quiet, "quiet", "print nothing, only exit", .letter = 'q'),
    SESSION_OPTIONS(struct wait_options, session),
    {0},
};

/* A missing one counts as deleted. */
static int find_targets(struct session *s, const struct wait_options *o, const struct args *args,
                        struct follow_target *targets, size_t *ret_len, struct err *err)
{
    for (size_t i = 0; i < args->len; i++) {
        struct follow_target *t = &targets[*ret_len];
        struct json *job = NULL;

        if (session_find_job(s, args->list[i], &t->kind, &job, err)) {
            if (err->reason != ERR_NOT_FOUND || strcmp(o->until, FOLLOW_UNTIL_DELETED) != 0)
                return -ENOENT;
            err_release(err);
            continue;
        }
        t->ns = object_namespace(job);
        t->name = object_name(job);
        t->uid = object_uid(job);
        ++*ret_len;
    }
    return 0;
}

static enum exit_code wait_for(struct cli *cli, struct session *s, const struct wait_options *o,
                               const struct args *args, int64_t timeout_ms, struct err *err)
{
    struct follow_target *targets = arena_alloc(&cli->arena, sizeof(*targets) * args->len);
    const struct follow_options how = {.without_logs = true,
                                       .quiet = o->quiet,
                                       .until = o->until == untils[0] ? NULL : o->until,
                                       .timeout_ms = timeout_ms};
    enum follow_end end;
    size_t len = 0;

    if (!targets)
        err_set(err, ERR_INTERNAL, "out of memory");
    if (!targets || find_targets(s, o, args, targets, &len, err))
        return command_fail(cli, err);
    end = len ? follow(cli, s, targets, len, &how, err) : FOLLOW_SUCCEEDED;
    if (end == FOLLOW_BROKEN)
        return command_fail(cli, err);
    if (end == FOLLOW_TIMED_OUT && !o->quiet)
        talk_errorf(&cli->talk, "not yet after %s; 'muster ps' says why", o->timeout);
    return follow_exit_code(end);
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct wait_options *o = values;
    auto_err err = ERR_INIT;
    struct session s = {0};
    int64_t timeout_ms = 0;
    enum exit_code code;

    if (o->timeout && (duration_parse_ms(o->timeout, &timeout_ms) || timeout_ms == 0)) {
        talk_errorf(&cli->talk, "--timeout takes a time like 30s or 2h, not '%s'", o->timeout);
        return EXIT_USAGE;
    }
    code = session_open(cli, &o->session, &s, &err) ? command_fail(cli, &err)
                                                    : wait_for(cli, &s, o, args, timeout_ms, &err);
    session_close(&s);
    return code;
}

const struct command command_wait = {
    .name = "wait",
    .args = "JOB...",
    .summary = "Wait until jobs have ended, or reached a phase",
    .examples = "  muster wait mnist\n"
                "  muster wait mnist other --for=Running --timeout 10m\n"
                "  muster wait mnist --for=deleted\n",
    .help = "The exit code is 0 when all have reached it, 3 when one no longer can (it failed\n"
            "or was deleted), 124 on timeout.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct wait_options),
    .min_args = 1,
    .max_args = ARGS_LIMIT,
    .run = run,
};
