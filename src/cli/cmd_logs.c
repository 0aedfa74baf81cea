/* cmd_logs.c - `muster logs`: what the replicas of a job, or one pod, have printed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "cli/common_options.h"
#include "cli/follow.h"
#include "cli/jobphase.h"
#include "cli/logreader.h"
#include "runtime/line_match.h"

/* Most replicas a job has whose logs are printed. */
#define PODS_LIMIT 8192
/* Phase of our own: what a job remembers of a pod that was cleaned up. */
#define POD_GONE "Gone"

struct logs_options {
    struct session_options session;
    const char *replica, *grep;
    int64_t tail, attempt;
    bool follow, timestamps, previous, raw;
};

static const struct logs_options defaults = {.tail = -1, .attempt = -1};

static const struct option_spec options[] = {
    OPTION_OF_FLAG(struct logs_options, follow, "follow", "go on until the job has ended",
                   .letter = 'f'),
    OPTION_OF_INT(struct logs_options, attempt, "attempt", "N",
                  "of each replica's attempt N, counted from 0"),
    OPTION_OF_TEXT(struct logs_options, grep, "grep", "EXPRESSION",
                   "only lines in which this regular expression matches"),
    OPTION_OF_FLAG(struct logs_options, previous, "previous",
                   "of the attempt before the last, or of the container's last run"),
    OPTION_RAW(struct logs_options),
    OPTION_OF_TEXT(struct logs_options, replica, "replica", "NAME", "only this replica: worker-1"),
    OPTION_OF_INT(struct logs_options, tail, "tail", "N", "only the last N lines of each replica"),
    OPTION_OF_FLAG(struct logs_options, timestamps, "timestamps",
                   "print when each line was written"),
    SESSION_OPTIONS(struct logs_options, session),
    {0},
};

/* Sorted by place of its type in the job, then by number. */
struct ranked_pod {
    unsigned long type, index;
    const struct json *pod;
};

/* What was named on the command line: a job, or a pod of any origin. */
struct subject {
    struct follow_target target;
    struct json *job; /* NULL for a pod */
    struct ranked_pod *pods;
    size_t pods_len;
};

/* --- finding it --- */

static unsigned long type_order(const struct json *job, const struct json *pod)
{
    const char *type = object_label(pod, LABEL_REPLICA_TYPE);
    unsigned long at = 0;

    json_each (spec, json_at(job, "status", "tasks")) {
        if (type && json_string_is(json_get(spec, "type"), type))
            break;
        at++;
    }
    return at;
}

static unsigned long index_order(const struct json *pod)
{
    const char *index = object_label(pod, LABEL_REPLICA_INDEX);

    return index ? strtoul(index, NULL, 10) : 0;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked_pod *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_listed(const struct subject *subject, const char *uid)
{
    for (size_t i = 0; i < subject->pods_len; i++)
        if (strcmp(object_uid(subject->pods[i].pod), uid) == 0)
            return true;
    return false;
}

static void add_pod(struct subject *subject, const struct json *pod)
{
    if (subject->pods_len < PODS_LIMIT)
        subject->pods[subject->pods_len++] = (struct ranked_pod){
            .type = type_order(subject->job, pod), .index = index_order(pod), .pod = pod};
}

/* One without a template of its own has a container called after its type. */
static void set_containers(struct arena *a, struct json *pod, const char *type,
                           const struct json *containers)
{
    struct json *spec = json_make_object(a, pod, "spec");

    if (json_len(containers) > 0)
        json_set(a, spec, "containers", json_clone(a, containers));
    else
        json_set_string(a, json_append(json_make_array(a, spec, "containers"), json_new_object(a)),
                        "name", type);
}

/* A pod that is gone, as far as the job remembers it: enough to ask for its log, which outlives it.
 */
static const struct json *gone_pod(struct arena *a, const struct json *job, const char *type,
                                   const struct json *replica)
{
    const char *name = json_get_string(replica, "name", ""), *dash = strrchr(name, '-');
    const struct json *containers = NULL;
    struct json *pod = json_new_object(a), *metadata = json_make_object(a, pod, "metadata");
    struct json *labels = json_make_object(a, metadata, "labels");

    json_set_string(a, metadata, "name", name);
    json_set_string(a, metadata, "namespace", object_namespace(job));
    json_set_string(a, metadata, "uid", json_get_string(replica, "uid", ""));
    json_set_string(a, labels, LABEL_REPLICA_TYPE, type);
    json_set_string(a, labels, LABEL_REPLICA_INDEX,
                    dash && strcmp(dash + 1, type) != 0 ? dash + 1 : "0");
    json_each (spec, json_at(job, "spec", "replicaSpecs"))
        if (json_string_is(json_get(spec, "type"), type))
            containers = json_at(spec, "template", "spec", "containers");
    set_containers(a, pod, type, containers);
    json_set_string(a, json_make_object(a, pod, "status"), "phase", POD_GONE);
    return pod;
}

static void add_gone_pods(struct arena *a, struct subject *subject)
{
    json_each (task, json_at(subject->job, "status", "tasks"))
        json_each (replica, json_get(task, "replicas")) {
            const char *uid = json_get_string(replica, "uid", "");

            if (*uid && !is_listed(subject, uid))
                add_pod(subject,
                        gone_pod(a, subject->job, json_get_string(task, "type", ""), replica));
        }
}

static int find_pods(struct session *s, struct subject *subject, struct err *err)
{
    struct json *list = NULL;
    int r = session_list(
        s, &kind_pod, s->ns,
        session_selector(s->arena, "labelSelector", LABEL_OWNER_NAME, subject->target.name), &list,
        err);

    if (r)
        return r;
    subject->pods = arena_alloc(s->arena, sizeof(*subject->pods) * PODS_LIMIT);
    if (!subject->pods)
        return err_set(err, ERR_INTERNAL, "out of memory");
    json_each (pod, json_get(list, "items"))
        if (object_is_controlled_by(pod, subject->target.uid))
            add_pod(subject, pod);
    add_gone_pods(s->arena, subject);
    qsort(subject->pods, subject->pods_len, sizeof(*subject->pods), compare_ranks);
    return arena_failed(s->arena) ? err_set(err, ERR_INTERNAL, "out of memory") : 0;
}

static int find_pod(struct session *s, const char *name, struct subject *subject)
{
    auto_err ignored = ERR_INIT;
    struct json *pod = NULL;

    if (session_get(s, &kind_pod, s->ns, name, &pod, &ignored))
        return -ENOENT;
    subject->pods = arena_alloc(s->arena, sizeof(*subject->pods));
    if (!subject->pods)
        return -ENOMEM;
    subject->pods[subject->pods_len++].pod = pod;
    subject->target = (struct follow_target){.kind = &kind_pod,
                                             .ns = object_namespace(pod),
                                             .name = object_name(pod),
                                             .uid = object_uid(pod)};
    return 0;
}

static int find_subject(struct session *s, const char *name, struct subject *ret, struct err *err)
{
    auto_err no_job = ERR_INIT;

    if (session_find_job(s, name, &ret->target.kind, &ret->job, &no_job)) {
        if (no_job.reason == ERR_NOT_FOUND && find_pod(s, name, ret) == 0)
            return 0;
        err_move(err, &no_job);
        return -ENOENT;
    }
    ret->target.ns = object_namespace(ret->job);
    ret->target.name = object_name(ret->job);
    ret->target.uid = object_uid(ret->job);
    return find_pods(s, ret, err);
}

/* --- printing what is there --- */

struct one_log {
    struct session *session;
    struct err *err;
    int result;
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
                     struct err *err)
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
    logreader_free(r);
    return one.result;
}

static bool is_gone(const struct json *pod)
{
    return json_string_is(json_at(pod, "status", "phase"), POD_GONE);
}

static bool has_log(const struct logs_options *o, const struct json *pod, const char *container)
{
    if (is_gone(pod) || o->previous || o->attempt >= 0)
        return true;
    json_each (status, json_at(pod, "status", "containerStatuses"))
        if (json_string_is(json_get(status, "name"), container))
            return json_at(status, "state", "running") || json_at(status, "state", "terminated") ||
                   json_at(status, "lastState", "terminated");
    return false;
}

/* One container's; a pod that is gone may have left no log, which is no trouble. */
static int print_container(struct cli *cli, struct session *s, const struct logs_options *o,
                           struct line_match *match, const struct ranked_pod *p, const char *name,
                           bool prefixed, bool *ret_found, struct err *err)
{
    auto_err attempt = ERR_INIT;
    const char *prefix = prefixed ? prefix_of(cli, p->pod, name, p->index) : "";
    int r = has_log(o, p->pod, name) ? print_log(s, o, match, p->pod, name, prefix, &attempt) : 0;

    *ret_found = *ret_found || r == 0;
    if (r == 0 || ((is_gone(p->pod) || o->attempt >= 0) && attempt.reason == ERR_NOT_FOUND))
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
    bool prefixed = subject->job && !o->replica, found = false;

    for (size_t i = 0; i < subject->pods_len; i++) {
        const struct ranked_pod *p = &subject->pods[i];

        if (!follow_wanted(p->pod, o->replica))
            continue;
        json_each (c, json_at(p->pod, "spec", "containers")) {
            int r = print_container(cli, s, o, match, p, json_get_string(c, "name", ""), prefixed,
                                    &found, err);

            if (r)
                return r;
        }
    }
    return o->attempt < 0 || found ? 0 : say_no_attempt(subject, o->attempt, err);
}

static int check_replica(const struct subject *subject, const char *replica, struct err *err)
{
    if (!replica || !subject->job)
        return 0;
    for (size_t i = 0; i < subject->pods_len; i++)
        if (follow_wanted(subject->pods[i].pod, replica))
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
                                 .quiet = true};
    enum follow_end end;

    if (session_open(cli, &o->session, s, err) || find_subject(s, name, &subject, err) ||
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

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct logs_options *o = values;
    const struct node_log_search only = {.text = o->grep ? o->grep : "", .regex = true};
    auto_err err = ERR_INIT;
    struct session s = {0};
    struct line_match *match = line_match_new(&only, &err);
    enum exit_code code;

    if (!match) {
        err_context(&err, "--grep");
        return command_fail(cli, &err);
    }
    code = logs(cli, o, match, args->list[0], &s, &err);
    session_close(&s);
    line_match_free(match);
    return code;
}

const struct command command_logs = {
    .name = "logs",
    .args = "JOB|POD",
    .summary = "Print what the replicas of a job have printed",
    .help = "  muster logs mnist\n"
            "  muster logs -f mnist\n"
            "  muster logs mnist --replica worker-1 --tail 20\n"
            "  muster logs mnist --grep 'loss 0\\.[01]|Error'\n"
            "  muster logs mnist --attempt 0\n",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct logs_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
