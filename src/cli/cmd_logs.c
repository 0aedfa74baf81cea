/* cmd_logs.c - `muster logs`: the output of a job's replicas, or of one pod. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/duration.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "cli/common_options.h"
#include "cli/follow.h"
#include "cli/job_pods.h"
#include "cli/jobphase.h"
#include "cli/logreader.h"
#include "cli/words.h"
#include "core/job.h"
#include "runtime/line_match.h"

struct logs_options {
    struct session_options session;
    const char *replica, *grep, *since;
    int64_t tail, attempt;
    bool follow, timestamps, previous, raw;
};

static const struct logs_options defaults = {.tail = -1, .attempt = -1};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct logs_options, follow, "follow", "follow until the job has ended",
                   .letter = 'f'),
    OPTION_OF_INT(struct logs_options, attempt, "attempt", "N",
                  "only attempt N of each replica, counted from 0"),
    OPTION_OF_TEXT(struct logs_options, grep, "grep", "EXPRESSION",
                   "only lines that match this regular expression"),
    OPTION_OF_FLAG(struct logs_options, previous, "previous",
                   "the attempt before the last, or the container's previous run"),
    OPTION_RAW(struct logs_options),
    OPTION_OF_TEXT(struct logs_options, replica, "replica", "NAME", "only this replica: worker-1"),
    OPTION_OF_TEXT(struct logs_options, since, "since", "TIME",
                   "only lines of the last 10m or 2h, or since a time like 2026-01-31T08:00:00Z"),
    OPTION_OF_INT(struct logs_options, tail, "tail", "N", "only the last N lines of each replica"),
    OPTION_OF_FLAG(struct logs_options, timestamps, "timestamps",
                   "print when each line was written"),
    SESSION_OPTIONS(struct logs_options, session),
    {0},
};

/* The command line's subject: a job, or any pod. */
struct subject {
    struct follow_target target;
    struct json *job; /* NULL for a pod */
    struct job_pods pods;
};

/* --- lookup --- */

/* Logs outlive their job for a while. */
static bool find_deleted(struct cli *cli, struct session *s, const char *name, struct subject *ret)
{
    struct arena *a = s->arena;

    job_pods_find_deleted(s, name, &ret->pods);
    if (ret->pods.len == 0)
        return false;
    ret->job = json_new_object(a); /* finished, as far as its logs go */
    json_set_string(a, json_make_object(a, ret->job, "status"), "phase", "Failed");
    ret->target.name = name;
    talk_note(&cli->talk, "job '%s' was deleted; these logs are kept until room is needed", name);
    return true;
}

static int find_subject(struct cli *cli, struct session *s, const char *name, struct subject *ret,
                        struct err *err)
{
    struct json *found = NULL;
    int r = session_find_object(s, name, &ret->target.kind, &found, err);

    if (r && err->reason == ERR_NOT_FOUND && !strchr(name, '/') &&
        find_deleted(cli, s, name, ret)) {
        err_release(err);
        return 0;
    }
    if (r)
        return r;
    ret->target.ns = object_namespace(found);
    ret->target.name = object_name(found);
    ret->target.uid = object_uid(found);
    if (ret->target.kind == &kind_pod) {
        ret->pods.list = arena_alloc(s->arena, sizeof(*ret->pods.list));
        if (!ret->pods.list)
            return err_set(err, ERR_INTERNAL, "out of memory");
        ret->pods.list[ret->pods.len++].pod = found;
        return 0;
    }
    if (!job_is_kind(ret->target.kind)) {
        err_set(err, ERR_BAD_REQUEST, words("a %s has no log"), ret->target.kind->singular);
        err_hint(err, words("jobs and pods have one"));
        return -EINVAL;
    }
    ret->job = found;
    return job_pods_find(s, found, &ret->pods, err);
}

/* --- printing existing logs --- */

struct one_log {
    struct session *session;
    struct err *err;
    int result;
};

struct printed {
    bool any;   /* a line */
    bool found; /* a log, perhaps empty */
};

static bool always_over(void *arg, const struct logreader *r)
{
    (void)arg, (void)r;
    return true;
}

static void log_done(void *arg, struct logreader *r, const struct err *err)
{
    struct one_log *one = arg;

    (void)r;
    if (err)
        one->result = err_set(one->err, err->reason, "%s", err->text);
    loop_stop(one->session->loop);
}

static const char *prefix_of(struct cli *cli, const struct json *pod, const char *container,
                             size_t color)
{
    return arena_printf(&cli->arena, "%s%s |%s ", talk_replica_color(&cli->talk, color),
                        follow_label(&cli->arena, pod, container), talk_plain(&cli->talk));
}

static int print_log(struct session *s, const struct logs_options *o, struct line_match *match,
                     const struct json *pod, const char *container, const char *prefix,
                     struct printed *printed, struct err *err)
{
    struct one_log one = {.session = s, .err = err};
    struct logreader_options how = {
        .session = s,
        .ns = object_namespace(pod),
        .pod = object_name(pod),
        .uid = object_uid(pod),
        .container = container,
        .prefix = prefix ? prefix : "",
        .timestamps = o->timestamps,
        .match = match,
        .raw = o->raw,
        .tail_lines = o->tail,
        .since = o->since,
        .previous = o->previous,
        .by_attempt = o->attempt >= 0,
        .attempt = o->attempt,
        .is_over = always_over,
        .on_done = log_done,
        .arg = &one,
    };
    struct logreader *r = logreader_new(&how);

    if (!r)
        return err_set(err, ERR_INTERNAL, "out of memory");
    while (!r->done)
        loop_run(s->loop);
    printed->any |= r->printed;
    logreader_free(r);
    return one.result;
}

static bool has_log(const struct logs_options *o, const struct json *pod, const char *container)
{
    if (job_pod_is_gone(pod) || o->previous || o->attempt >= 0)
        return true;
    json_each (status, json_at(pod, "status", "containerStatuses"))
        if (json_string_is(json_get(status, "name"), container))
            return json_at(status, "state", "running") || json_at(status, "state", "terminated") ||
                   json_at(status, "lastState", "terminated");
    return false;
}

/* One container's; a deleted pod may have left no log, which is not an error. */
static int print_container(struct cli *cli, struct session *s, const struct logs_options *o,
                           struct line_match *match, const struct job_pod *p, const char *name,
                           bool prefixed, struct printed *printed, struct err *err)
{
    auto_err attempt = ERR_INIT;
    const char *prefix = prefixed ? prefix_of(cli, p->pod, name, p->index) : "";
    int r = has_log(o, p->pod, name)
                ? print_log(s, o, match, p->pod, name, prefix, printed, &attempt)
                : 0;

    printed->found |= r == 0;
    if (r == 0 || ((job_pod_is_gone(p->pod) || o->attempt >= 0) && attempt.reason == ERR_NOT_FOUND))
        return 0;
    err_move(err, &attempt);
    return r;
}

static int say_no_attempt(const struct subject *subject, int64_t attempt, struct err *err)
{
    int64_t most = 0;

    json_each (task, json_at(subject->job, "status", "tasks"))
        json_each (replica, json_get(task, "replicas"))
            most = max_i64(most, json_get_int(replica, "restartCount", 0));
    err_set(err, ERR_NOT_FOUND, "'%s' has no log of an attempt %" PRId64, subject->target.name,
            attempt);
    if (most == 0)
        err_hint(err, "it was never restarted: its one attempt is number 0");
    else
        err_hint(err,
                 "attempts are counted from 0; its last is number %" PRId64
                 ", and the logs of old ones go when room is needed",
                 most);
    return -ENOENT;
}

static int print_logs(struct cli *cli, struct session *s, const struct logs_options *o,
                      struct line_match *match, const struct subject *subject, struct err *err)
{
    bool prefixed = subject->job && !o->replica;
    const char *why = subject->job ? job_why(subject->job) : "";
    struct printed printed = {0};

    for (size_t i = 0; i < subject->pods.len; i++) {
        const struct job_pod *p = &subject->pods.list[i];

        if (!follow_wanted(p->pod, o->replica))
            continue;
        json_each (c, json_at(p->pod, "spec", "containers")) {
            int r = print_container(cli, s, o, match, p, json_get_string(c, "name", ""), prefixed,
                                    &printed, err);

            if (r)
                return r;
        }
    }
    if (o->attempt >= 0 && !printed.found)
        return say_no_attempt(subject, o->attempt, err);
    if (!printed.any && !o->grep && !o->since && o->tail != 0 && *why)
        talk_note(&cli->talk, "'%s' printed nothing: %s", subject->target.name, why);
    return 0;
}

static int check_replica(const struct subject *subject, const char *replica, struct err *err)
{
    if (!replica || !subject->job)
        return 0;
    for (size_t i = 0; i < subject->pods.len; i++)
        if (follow_wanted(subject->pods.list[i].pod, replica))
            return 0;
    err_set(err, ERR_NOT_FOUND, "job '%s' has no replica '%s' now", subject->target.name, replica);
    err_hint(
        err, "replicas are named by type and number, such as %s-0",
        json_string(json_get(json_index(json_at(subject->job, "spec", "replicaSpecs"), 0), "type"),
                    "worker"));
    return -ENOENT;
}

/* --- the command --- */

static enum exit_code logs(struct cli *cli, const struct logs_options *o, struct line_match *match,
                           const char *name, struct session *s, struct err *err)
{
    struct subject subject = {0};
    struct follow_options how = {.replica = o->replica,
                                 .timestamps = o->timestamps,
                                 .match = match,
                                 .raw = o->raw,
                                 .tail_lines = o->tail,
                                 .since = o->since,
                                 .quiet = true};
    enum follow_end end;

    if (session_open(cli, &o->session, s, err) || find_subject(cli, s, name, &subject, err) ||
        check_replica(&subject, o->replica, err))
        return command_fail(cli, err);
    if (!o->follow || o->previous || o->attempt >= 0 ||
        (subject.job && job_is_finished(subject.job)))
        return print_logs(cli, s, o, match, &subject, err) ? command_fail(cli, err) : EXIT_OK;
    how.prefix = subject.job && !o->replica;
    end = follow(cli, s, &subject.target, 1, &how, err);
    if (end == FOLLOW_BROKEN)
        return command_fail(cli, err);
    return end == FOLLOW_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_OK;
}

/* Converts it to the API's format, in place. */
static int parse_since(struct cli *cli, struct logs_options *o, struct err *err)
{
    char *text = arena_alloc(&cli->arena, TIME_TEXT_SIZE);
    int64_t ago_ms, at_ms;

    if (!o->since)
        return 0;
    if (!text)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (duration_parse_ms(o->since, &ago_ms) == 0)
        at_ms = time(NULL) * INT64_C(1000) - ago_ms;
    else if (time_parse(o->since, &at_ms))
        return err_set(err, ERR_BAD_REQUEST,
                       words("--since takes a time like 10m, 2h or 2026-01-31T08:00:00Z, not '%s'"),
                       o->since);
    o->since = time_format(max_i64(at_ms, 0), text);
    return 0;
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    struct logs_options own = *(const struct logs_options *)values, *o = &own;
    const struct node_log_search only = {.text = o->grep ? o->grep : "", .regex = true};
    auto_err err = ERR_INIT;
    struct session s = {0};
    struct line_match *match = line_match_new(&only, &err);
    enum exit_code code;

    if (!match) {
        err_context(&err, "--grep");
        return command_fail(cli, &err);
    }
    if (parse_since(cli, o, &err)) {
        line_match_free(match);
        talk_error(&cli->talk, &err);
        return EXIT_USAGE;
    }
    code = logs(cli, o, match, args->list[0], &s, &err);
    session_close(&s);
    line_match_free(match);
    return code;
}

const struct command command_logs = {
    .name = "logs",
    .args = "JOB|POD",
    .summary = "Print the output of a job's replicas",
    .examples = "  muster logs mnist\n"
                "  muster logs -f mnist\n"
                "  muster logs mnist --replica worker-1 --tail 20\n"
                "  muster logs mnist --since 10m\n"
                "  muster logs mnist --grep 'loss 0\\.[01]|Error'\n"
                "  muster logs mnist --attempt 0\n",
    .help = "Also of a deleted job, as long as its logs are kept.\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct logs_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
