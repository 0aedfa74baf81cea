/* follow.c - see follow.h. Decides which logs to read and when to stop; logreader.c reads them. */
#include "cli/follow.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/timefmt.h"
#include "cli/jobphase.h"
#include "cli/logreader.h"
#include "cli/status_line.h"
#include "cli/words.h"
#include "client/cache.h"
#include "client/client.h"
#include "core/job.h"
#include "core/job_view.h"

/* After a job's end its last replicas may still be stopping, or even starting; their last output is
 * waited for this long, counted from the last time that one of them started or ended. */
#define LAST_WORDS_MS 5000
#define NEWS_LIMIT_BYTES (64u * 1024u)
#define TICK_MS 1000     /* the status line counts seconds */
#define UNSEEN_LIMIT 100 /* attempts before the first one seen */

struct target {
    struct follow *f;
    struct follow_target what;
    struct cache *jobs; /* NULL when the target is a pod */
    struct cache *pods;
    struct jobphase said;
    bool shared;        /* jobs belongs to another target */
    bool ended, listed; /* listed: the pods were listed once more after the end */
    enum follow_end end;
    char *last_sentence; /* why it failed */
    int64_t took_ms;
};

struct follow {
    struct cli *cli;
    struct session *session;
    const struct follow_options *options;
    struct target *targets;
    size_t targets_len, replicas_seen, label_width;
    struct logreader *readers;
    struct clock_timer *last_words, *tick, *timeout;
    bool look_queued, stopped, interrupted, timed_out, in_trouble;
    struct err *err; /* what it cannot continue with */
};

static void look(void *arg);
static void wait_for_last_words(struct follow *f);

static void look_soon(struct follow *f)
{
    if (f->look_queued || f->stopped)
        return;
    f->look_queued = loop_defer(f->session->loop, look, f) == 0;
}

/* --- pods --- */

bool follow_wanted(const struct json *pod, const char *replica)
{
    struct arena scratch = ARENA_INIT(NEWS_LIMIT_BYTES);
    bool wanted;

    if (!replica || strcmp(object_name(pod), replica) == 0)
        return true;
    wanted = strcmp(follow_label(&scratch, pod, NULL), replica) == 0;
    arena_release(&scratch);
    return wanted;
}

const char *follow_label(struct arena *a, const struct json *pod, const char *container)
{
    const char *type = object_label(pod, LABEL_REPLICA_TYPE),
               *index = object_label(pod, LABEL_REPLICA_INDEX);
    const char *name = type && index ? arena_printf(a, "%s-%s", type, index)
                                     : arena_strdup(a, object_name(pod));

    if (container && json_len(json_at(pod, "spec", "containers")) > 1)
        name = arena_printf(a, "%s/%s", name ? name : "", container);
    return name ? name : "";
}

static const struct json *container_state(const struct json *pod, const char *container)
{
    json_each (status, json_at(pod, "status", "containerStatuses"))
        if (json_string_is(json_get(status, "name"), container))
            return json_get(status, "state");
    return NULL;
}

static bool pod_is_terminal(const struct json *pod)
{
    const char *phase = json_string(json_at(pod, "status", "phase"), "");

    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static bool container_has_started(const struct json *pod, const char *container)
{
    const struct json *state = container_state(pod, container);

    return json_get(state, "running") || json_get(state, "terminated") || pod_is_terminal(pod);
}

static const struct json *find_pod(const struct target *t, const char *name, const char *uid)
{
    const struct json *pod = cache_get(t->pods, t->what.ns, name);

    return pod && strcmp(object_uid(pod), uid) == 0 ? pod : NULL;
}

/* --- logs --- */

static bool reader_is_over(void *arg, const struct logreader *r)
{
    const struct target *t = arg;
    const struct json *pod = find_pod(t, r->options.pod, r->options.uid);

    return !pod || pod_is_terminal(pod) ||
           json_get(container_state(pod, r->options.container), "terminated");
}

static void reader_done(void *arg, struct logreader *r, const struct err *err)
{
    struct target *t = arg;

    if (err && err->reason != ERR_NOT_FOUND)
        talk_warn(&t->f->cli->talk, "log of %s: %s", r->options.pod, err->text);
    for (struct logreader *other = t->f->readers; other; other = other->next)
        if (other->options.after == r)
            logreader_begin(other);
    look_soon(t->f);
}

static const char *make_prefix(struct follow *f, const struct target *t, const struct json *pod,
                               const char *container)
{
    struct arena *a = &f->cli->arena;
    const char *label = follow_label(a, pod, container);
    size_t color = f->replicas_seen;
    const char *index = object_label(pod, LABEL_REPLICA_INDEX);

    if (!f->options->prefix)
        return "";
    if (f->targets_len > 1)
        label = arena_printf(a, "%s/%s", t->what.name, label);
    if (index) /* a replaced replica keeps its colour */
        color = (size_t)strtoul(index, NULL, 10);
    f->label_width = max_size(f->label_width, label ? strlen(label) : 0);
    return arena_printf(a, "%s%-*s |%s ", talk_replica_color(&f->cli->talk, color),
                        (int)f->label_width, label, talk_plain(&f->cli->talk));
}

static bool is_read(const struct follow *f, const char *uid, const char *container)
{
    for (const struct logreader *r = f->readers; r; r = r->next)
        if (strcmp(r->options.uid, uid) == 0 && strcmp(r->options.container, container) == 0)
            return true;
    return false;
}

static int64_t attempt_of(const struct json *pod)
{
    const char *text = object_annotation(pod, ANNOTATION_ATTEMPT);

    return text ? strtoll(text, NULL, 10) : 0;
}

/* For this pod, or an earlier one of the same name. */
static struct logreader *read_attempt(struct target *t, const struct json *pod,
                                      const char *container, int64_t attempt,
                                      const struct logreader *after)
{
    struct follow *f = t->f;
    struct arena *a = &f->cli->arena;
    bool earlier = attempt != attempt_of(pod);
    struct logreader_options options = {
        .session = f->session,
        .ns = t->what.ns,
        .pod = arena_strdup(a, object_name(pod)),
        .uid = arena_strdup(a, earlier ? "" : object_uid(pod)),
        .by_attempt = earlier,
        .attempt = attempt,
        .after = after,
        .container = arena_strdup(a, container),
        .prefix = make_prefix(f, t, pod, container),
        .follow = !earlier,
        .timestamps = f->options->timestamps,
        .match = f->options->match,
        .raw = f->options->raw,
        .tail_lines = f->options->tail_lines,
        .since = f->options->since,
        .is_over = reader_is_over,
        .on_done = reader_done,
        .arg = t,
    };
    struct logreader *r;

    if (arena_failed(a) || !options.prefix)
        return NULL;
    r = logreader_new(&options);
    if (!r)
        return NULL;
    r->next = f->readers;
    f->readers = r;
    f->replicas_seen++;
    return r;
}

static bool is_attempt_read(const struct target *t, const struct json *pod, const char *container,
                            int64_t attempt)
{
    for (const struct logreader *r = t->f->readers; r; r = r->next)
        if (r->options.arg == t && r->options.attempt == attempt &&
            strcmp(r->options.pod, object_name(pod)) == 0 &&
            strcmp(r->options.container, container) == 0)
            return true;
    return false;
}

/* A short attempt may have come and gone between two looks: its log still exists, and its lines
 * come before those of the next. */
static void read_container(struct target *t, const struct json *pod, const char *container)
{
    int64_t last = attempt_of(pod);
    const struct logreader *before = NULL;
    bool wanted = t->f->options->every_attempt;

    for (int64_t n = max_i64(0, last - UNSEEN_LIMIT); n < last; n++) {
        bool read = is_attempt_read(t, pod, container, n);

        wanted = wanted || read;
        if (wanted && !read)
            before = read_attempt(t, pod, container, n, before);
    }
    (void)read_attempt(t, pod, container, last, before);
}

/* Before it starts a pod has no log. After the job's end, which is its master's, it is requested
 * all the same: the reader waits for those still starting. */
static bool look_at_pod(void *arg, const struct json *pod)
{
    struct target *t = arg;

    if (!follow_wanted(pod, t->f->options->replica))
        return true;
    json_each (c, json_at(pod, "spec", "containers")) {
        const char *container = json_get_string(c, "name", "");

        if ((t->ended || container_has_started(pod, container)) &&
            !is_read(t->f, object_uid(pod), container))
            read_container(t, pod, container);
    }
    return true;
}

/* --- targets --- */

/* Listed once more: a short-lived pod may have come and gone unnoticed by the watch. */
static void on_final_list(void *arg, const struct json *list, const struct err *err)
{
    struct target *t = arg;

    t->listed = true;
    if (!err)
        json_each (pod, json_get(list, "items"))
            if (t->jobs ? object_is_controlled_by(pod, t->what.uid)
                        : strcmp(object_uid(pod), t->what.uid) == 0)
                look_at_pod(t, pod);
    look_soon(t->f);
}

static const char *pods_query(const struct target *t)
{
    struct arena *a = &t->f->cli->arena;

    return t->what.kind == &kind_pod
               ? session_selector(a, "fieldSelector", "metadata.name", t->what.name)
               : session_selector(a, "labelSelector", LABEL_OWNER_NAME, t->what.name);
}

static const struct json *job_of(const struct target *t)
{
    return t->jobs ? cache_get(t->jobs, t->what.ns, t->what.name) : NULL;
}

/* The others may fail after the replica that decides has succeeded. */
static void warn_of_failed_replicas(const struct target *t)
{
    const struct json *job = job_of(t);
    int64_t failed = json_int(json_at(job, "status", "aggregate", "failed"), 0);

    if (failed > 0)
        talk_warn(&t->f->cli->talk,
                  "%lld of %lld replicas failed without failing the job: muster describe %s",
                  (long long)failed, (long long)job_replicas(job), t->what.name);
}

static void say_end(const struct target *t)
{
    const struct talk *talk = &t->f->cli->talk;
    const char *sentence = t->last_sentence ? t->last_sentence : "", *until = t->f->options->until;
    char took[TIME_TEXT_SIZE];

    if (t->f->options->quiet)
        return;
    if (t->end == FOLLOW_SUCCEEDED && until)
        talk_note(talk, "%s: %s", t->what.name, until);
    else if (t->end == FOLLOW_SUCCEEDED) {
        warn_of_failed_replicas(t);
        talk_note(talk, "%s: succeeded after %s", t->what.name, time_age(t->took_ms, took));
    } else if (t->end == FOLLOW_NEVER_FITS)
        talk_errorf(talk, "job '%s' cannot start%s%s", t->what.name, *sentence ? ": " : "",
                    sentence);
    else
        talk_errorf(talk, "job '%s' did not %s%s%s", t->what.name,
                    until ? arena_printf(&t->f->cli->arena, words("become %s"), until)
                          : words("succeed"),
                    *sentence ? ": " : "", sentence);
}

static void end_target(struct target *t, enum follow_end end, const char *sentence)
{
    t->ended = true;
    t->end = end;
    t->last_sentence = arena_strdup(&t->f->cli->arena, sentence ? sentence : "");
    if (t->f->options->without_logs) {
        t->listed = true;
        say_end(t);
        return;
    }
    client_list(t->f->session->transport, &kind_pod, t->what.ns, pods_query(t), on_final_list, t);
}

/* Whether this is the awaited state. */
static bool is_wanted(const struct target *t, const char *state)
{
    const char *until = t->f->options->until;

    return until && strcmp(until, state) == 0;
}

static bool is_hopeless(const struct json *reason)
{
    return json_string_is(reason, JOB_NEVER_FITS) || json_string_is(reason, JOB_QUOTA_FORBIDS);
}

static void look_at_job(struct target *t)
{
    struct follow *f = t->f;
    const struct json *job = cache_get(t->jobs, t->what.ns, t->what.name);
    struct arena scratch = ARENA_INIT(NEWS_LIMIT_BYTES);
    const char *news;

    if (!job || strcmp(object_uid(job), t->what.uid) != 0) {
        end_target(t, is_wanted(t, FOLLOW_UNTIL_DELETED) ? FOLLOW_SUCCEEDED : FOLLOW_DELETED,
                   "it was deleted");
        return;
    }
    if (is_wanted(t, job_phase(job))) {
        end_target(t, FOLLOW_SUCCEEDED, "");
        return;
    }
    news = jobphase_news(&t->said, &scratch, job);
    if (news && !f->options->quiet)
        talk_note(&f->cli->talk, "%s: %s", t->what.name, news);
    arena_release(&scratch);
    if (f->options->leave_hopeless && is_hopeless(json_at(job, "status", "reason")))
        end_target(t, FOLLOW_NEVER_FITS, job_why(job));
    if (!job_is_finished(job) || t->ended || is_wanted(t, FOLLOW_UNTIL_DELETED))
        return;
    t->took_ms = object_time(json_get(job, "status"), "completionTime") - object_created_ms(job);
    /* A succeeded job has also run, seen or not. */
    end_target(t,
               job_has_succeeded(job) && (!f->options->until || is_wanted(t, "Running"))
                   ? FOLLOW_SUCCEEDED
                   : FOLLOW_FAILED,
               job_why(job));
}

static void look_at_lone_pod(struct target *t)
{
    const struct json *pod = find_pod(t, t->what.name, t->what.uid);

    if (!pod)
        end_target(t, FOLLOW_DELETED, "it was deleted");
    else if (pod_is_terminal(pod))
        end_target(t,
                   json_string_is(json_at(pod, "status", "phase"), "Succeeded") ? FOLLOW_SUCCEEDED
                                                                                : FOLLOW_FAILED,
                   "");
}

static void look_at_target(struct target *t)
{
    if ((t->pods && !cache_is_synced(t->pods)) || (t->jobs && !cache_is_synced(t->jobs)))
        return;
    if (t->jobs && t->pods)
        cache_each_of_controller(t->pods, t->what.uid, look_at_pod, t);
    else if (t->pods)
        cache_each(t->pods, look_at_pod, t);
    if (t->ended)
        return;
    if (t->jobs)
        look_at_job(t);
    else
        look_at_lone_pod(t);
}

/* --- status --- */

static void write_status(struct follow *f, struct buf *out)
{
    int64_t now = clock_now_ms(loop_clock(f->session->loop));
    size_t ended = 0;

    for (size_t i = 0; i < f->targets_len; i++) {
        const struct target *t = &f->targets[i];
        const struct json *job = job_of(t);
        char age[TIME_TEXT_SIZE], progress[JOB_PROGRESS_SIZE];

        ended += t->ended;
        if (!job || t->ended)
            continue;
        job_progress(job, true, progress);
        buf_addf(out, "%s%s %s %lld/%lld%s%s  %s", out->len ? "  |  " : "", t->what.name,
                 job_phase(job), (long long)job_running(job), (long long)job_replicas(job),
                 *progress ? "  " : "", progress, time_age(now - object_created_ms(job), age));
    }
    if (out->len && ended)
        buf_addf(out, "  |  %zu ended", ended);
    if (out->len)
        buf_addf(out, "  |  Ctrl-C %s", f->options->without_logs ? "ends waiting" : "detaches");
}

static void show_status(struct follow *f)
{
    struct buf out = BUF_INIT(NEWS_LIMIT_BYTES);

    if (status_line_possible(&f->cli->talk) && !f->options->quiet) {
        write_status(f, &out);
        status_line_set(&f->cli->talk, out.data ? out.data : "");
    }
    buf_release(&out);
}

static void on_tick(void *arg)
{
    struct follow *f = arg;

    show_status(f);
    f->tick = clock_start(loop_clock(f->session->loop), TICK_MS, on_tick, f);
}

/* --- ending --- */

static void stop(struct follow *f)
{
    f->stopped = true;
    loop_stop(f->session->loop);
}

static bool logs_left(const struct follow *f, bool only_ended)
{
    for (const struct logreader *r = f->readers; r; r = r->next)
        if (!r->done && (!only_ended || reader_is_over(r->options.arg, r)))
            return true;
    return false;
}

/* Replicas that continue after the job's end (cleanUpPolicy: None) are not waited for; complete
 * logs are. */
static void on_last_words(void *arg)
{
    struct follow *f = arg;

    f->last_words = NULL;
    if (logs_left(f, true))
        wait_for_last_words(f);
    else
        stop(f);
}

static void wait_for_last_words(struct follow *f)
{
    clock_stop(loop_clock(f->session->loop), f->last_words);
    f->last_words = clock_start(loop_clock(f->session->loop), LAST_WORDS_MS, on_last_words, f);
}

static void check_end(struct follow *f)
{
    for (size_t i = 0; i < f->targets_len; i++)
        if (!f->targets[i].ended || !f->targets[i].listed)
            return;
    if (!logs_left(f, false))
        stop(f);
    else if (!f->last_words)
        wait_for_last_words(f);
}

static void look(void *arg)
{
    struct follow *f = arg;

    f->look_queued = false;
    if (f->stopped)
        return;
    for (size_t i = 0; i < f->targets_len; i++)
        look_at_target(&f->targets[i]);
    show_status(f);
    check_end(f);
}

/* Phases only advance, so this happens a bounded number of times. */
static bool phase_has_changed(const struct json *object, const struct json *old)
{
    return strcmp(json_string(json_at(object, "status", "phase"), ""),
                  json_string(json_at(old, "status", "phase"), "")) != 0;
}

static void on_change(void *arg, enum cache_event event, const struct json *object,
                      const struct json *old)
{
    struct target *t = arg;

    (void)event;
    if (t->f->last_words && phase_has_changed(object, old))
        wait_for_last_words(t->f);
    if (t->f->in_trouble && !t->f->options->quiet)
        talk_note(&t->f->cli->talk, "connected again");
    t->f->in_trouble = false;
    look_soon(t->f);
}

static void on_synced(void *arg)
{
    struct target *t = arg;

    look_soon(t->f);
}

static void on_trouble(void *arg, const struct err *err)
{
    struct target *t = arg;
    struct follow *f = t->f;

    if (err->reason == ERR_FORBIDDEN && !f->stopped) { /* retrying would not help */
        err_set(f->err, err->reason, "%s", err->text);
        stop(f);
    }
    if (f->in_trouble || err->reason != ERR_UNAVAILABLE)
        return;
    f->in_trouble = true;
    if (!f->options->quiet)
        talk_note(&f->cli->talk, "the daemon does not answer; training continues without it; "
                                 "waiting for it to come back");
}

static void on_signal(void *arg, int signum)
{
    struct follow *f = arg;

    (void)signum;
    f->interrupted = true;
    stop(f);
}

static void on_timeout(void *arg)
{
    struct follow *f = arg;

    f->timeout = NULL;
    f->timed_out = true;
    stop(f);
}

static struct cache *open_cache(struct target *t, const struct kind *k, const char *query)
{
    struct cache_options options = {.transport = t->f->session->transport,
                                    .clock = loop_clock(t->f->session->loop),
                                    .kind = k,
                                    .ns = t->what.ns,
                                    .query = query && *query ? query : NULL,
                                    .on_change = on_change,
                                    .on_synced = on_synced,
                                    .on_trouble = on_trouble,
                                    .arg = t};

    return query ? cache_new(&options) : NULL;
}

static int open_target(struct follow *f, struct target *t, const struct follow_target *what,
                       struct err *err)
{
    *t = (struct target){.f = f, .what = *what};
    for (struct target *other = f->targets; f->options->without_logs && other < t; other++)
        if (other->what.kind == what->kind) {
            t->jobs = other->jobs;
            t->shared = true;
            return 0;
        }
    if (f->options->without_logs) {
        t->jobs = open_cache(t, what->kind,
                             f->targets_len > 1 ? ""
                                                : session_selector(&f->cli->arena, "fieldSelector",
                                                                   "metadata.name", what->name));
        return t->jobs ? 0 : err_set(err, ERR_INTERNAL, "out of memory");
    }
    t->pods = open_cache(t, &kind_pod, pods_query(t));
    if (what->kind != &kind_pod)
        t->jobs = open_cache(
            t, what->kind,
            session_selector(&f->cli->arena, "fieldSelector", "metadata.name", what->name));
    return t->pods && (t->jobs || what->kind == &kind_pod)
               ? 0
               : err_set(err, ERR_INTERNAL, "out of memory");
}

static void release(struct follow *f)
{
    struct logreader *next;

    for (struct logreader *r = f->readers; r; r = next) {
        next = r->next;
        logreader_free(r);
    }
    clock_stop(loop_clock(f->session->loop), f->last_words);
    for (size_t i = 0; i < f->targets_len; i++) {
        client_forget(&f->targets[i]);
        if (f->targets[i].jobs && !f->targets[i].shared)
            cache_free(f->targets[i].jobs);
        if (f->targets[i].pods)
            cache_free(f->targets[i].pods);
    }
}

static enum follow_end say_ends(struct follow *f)
{
    enum follow_end worst = FOLLOW_SUCCEEDED;

    for (size_t i = 0; i < f->targets_len; i++) {
        const struct target *t = &f->targets[i];

        worst = t->end > worst ? t->end : worst;
        if (!f->options->without_logs)
            say_end(t);
    }
    return worst;
}

enum follow_end follow(struct cli *cli, struct session *s, const struct follow_target *targets,
                       size_t targets_len, const struct follow_options *options, struct err *err)
{
    struct follow f = {
        .cli = cli, .session = s, .options = options, .targets_len = targets_len, .err = err};
    struct loop_signal *sigint = loop_signal_watch(s->loop, SIGINT, on_signal, &f);
    struct loop_signal *sigterm = loop_signal_watch(s->loop, SIGTERM, on_signal, &f);
    enum follow_end end = FOLLOW_BROKEN;

    f.targets = arena_alloc(&cli->arena, sizeof(*f.targets) * max_size(targets_len, 1));
    if (!f.targets || !sigint || !sigterm) {
        f.targets_len = 0;
        err_set(err, ERR_INTERNAL, "out of memory");
    } else {
        int r = 0;

        for (size_t i = 0; i < targets_len && r == 0; i++)
            r = open_target(&f, &f.targets[i], &targets[i], err);
        if (r == 0)
            on_tick(&f);
        if (r == 0 && options->timeout_ms)
            f.timeout = clock_start(loop_clock(s->loop), options->timeout_ms, on_timeout, &f);
        while (r == 0 && !f.stopped)
            loop_run(s->loop);
        clock_stop(loop_clock(s->loop), f.tick);
        clock_stop(loop_clock(s->loop), f.timeout);
        status_line_set(&cli->talk, "");
        if (r == 0 && !err_is_set(err))
            end = f.interrupted ? FOLLOW_INTERRUPTED
                  : f.timed_out ? FOLLOW_TIMED_OUT
                                : say_ends(&f);
    }
    f.stopped = true;
    release(&f);
    /* A queued look still refers to f: let it pass. */
    while (f.look_queued)
        loop_run_once(s->loop);
    loop_signal_stop(sigint);
    loop_signal_stop(sigterm);
    return end;
}

enum exit_code follow_exit_code(enum follow_end end)
{
    static const enum exit_code codes[] = {
        [FOLLOW_SUCCEEDED] = EXIT_OK,        [FOLLOW_FAILED] = EXIT_JOB_FAILED,
        [FOLLOW_DELETED] = EXIT_JOB_FAILED,  [FOLLOW_NEVER_FITS] = EXIT_NEVER_FITS,
        [FOLLOW_TIMED_OUT] = EXIT_TIMED_OUT, [FOLLOW_INTERRUPTED] = EXIT_INTERRUPTED,
        [FOLLOW_BROKEN] = EXIT_FAILED,
    };

    return codes[end];
}
