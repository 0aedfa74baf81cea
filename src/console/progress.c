/*
 * progress.c - see progress.h.
 *
 * Jobs are followed by list and watch; only running ones are kept, and not those whose first
 * replica is known to be elsewhere. An update of one reads the API (the current job, the log's end)
 * and its board on a pool thread, and ends in a patch of the status when something changed. Updates
 * of one job never overlap.
 */
#include "console/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/object.h"
#include "base/map.h"
#include "base/timefmt.h"
#include "client/client.h"
#include "client/reflector.h"
#include "console/board_cache.h"
#include "console/folder_search.h"
#include "console/progress_status.h"
#include "core/job.h"

#define LOOK_MEMORY_BYTES (16u * 1024u * 1024u)
#define LOG_TAIL_LINES 100
#define LOG_TAIL_BYTES (64u * 1024u)
#define LOG_LIMIT_BYTES (1024u * 1024u)
#define BOARD_CAPACITY 128u
#define BOARD_POINTS_BYTES (512u * 1024u)
#define KINDS_LIMIT 16u

struct source {
    struct progress *progress;
    const struct kind *kind;
    struct reflector *reflector;
};

struct tracked {
    struct board_cache_question question;
    struct progress *progress;
    const struct kind *kind;
    char *uid, *ns, *name;
    char pod_uid[64];     /* of the first replica, to notice a new one */
    char here_uid[64];    /* of the last first replica on this machine; it may be gone by now */
    bool over, succeeded; /* the job has ended */
    bool ended;           /* before this update began: it is the last one */
    bool looking;         /* an update is under way */
    struct api_stream *log_stream;
    struct buf log_text;
    struct json *job;   /* in the arena: as of the start of the update */
    bool on_pool;       /* it is on the board's pool thread */
    bool dropped;       /* to be freed when the pool is done */
    bool listed;        /* seen in the current list */
    struct arena arena; /* for an update */
    struct folder_search search;
    struct clock_timer *timer;
    struct log_progress log;
    struct board_progress board;
    struct progress_pace pace;
    char *written; /* what was written last, without its time */
};

struct progress {
    struct loop *loop;
    struct transport *transport;
    enum progress_place (*place_of)(void *arg, const char *ns, const char *pod, const char *uid);
    void *arg;
    struct board_cache *boards;
    int64_t look_ms;
    struct map jobs; /* UID -> struct tracked */
    struct source sources[KINDS_LIMIT];
    size_t sources_len;
    struct utsname machine;
    bool pods_are_named;
    const char *own_folder;
};

static void look(void *arg);

/* --- which jobs are ours ---------------------------------------------------------------- */

static const struct json *first_replica(const struct json *job)
{
    return json_index(json_get(json_index(json_at(job, "status", "tasks"), 0), "replicas"), 0);
}

static const char *first_uid(const struct json *job)
{
    return json_get_string(first_replica(job), "uid", "");
}

static enum progress_place place_of(const struct progress *p, const struct json *job)
{
    const char *uid = first_uid(job);

    return *uid ? p->place_of(p->arg, object_namespace(job),
                              json_get_string(first_replica(job), "name", ""), uid)
                : PROGRESS_UNKNOWN;
}

/* A replica that was here counts as here even when its pod is gone: we write its job's last
 * update. */
static enum progress_place place_of_tracked(const struct tracked *t, const struct json *job)
{
    const char *uid = first_uid(job);

    if (*t->here_uid && (!*uid || strcmp(uid, t->here_uid) == 0))
        return PROGRESS_HERE;
    return place_of(t->progress, job);
}

static void note_here(struct tracked *t, const struct json *job)
{
    if (place_of(t->progress, job) == PROGRESS_HERE)
        (void)snprintf(t->here_uid, sizeof(t->here_uid), "%s", first_uid(job));
}

/* --- tracked jobs ----------------------------------------------------------------------- */

static void tracked_free(struct tracked *t)
{
    arena_release(&t->arena);
    buf_release(&t->log_text);
    free(t->uid);
    free(t->ns);
    free(t->name);
    free(t->written);
    free(t);
}

static void drop(struct tracked *t)
{
    (void)map_removes(&t->progress->jobs, t->uid);
    client_forget(t);
    folder_search_stop(&t->search);
    clock_stop(loop_clock(t->progress->loop), t->timer);
    t->timer = NULL;
    if (t->log_stream)
        transport_close(t->progress->transport, t->log_stream);
    t->log_stream = NULL;
    t->dropped = true;
    if (!t->on_pool)
        tracked_free(t);
}

static void look_later(struct tracked *t, int64_t delay_ms)
{
    if (!t->timer)
        t->timer = clock_start(loop_clock(t->progress->loop), delay_ms, look, t);
}

static struct tracked *track(struct source *s, const struct json *job)
{
    struct progress *p = s->progress;
    struct tracked *t = p->jobs.count < PROGRESS_JOBS_LIMIT ? calloc(1, sizeof(*t)) : NULL;

    if (!t)
        return NULL;
    t->progress = p;
    t->kind = s->kind;
    arena_init(&t->arena, LOOK_MEMORY_BYTES);
    buf_init(&t->log_text, LOG_LIMIT_BYTES);
    t->uid = strdup(object_uid(job));
    t->ns = strdup(object_namespace(job));
    t->name = strdup(object_name(job));
    if (t->uid && t->ns && t->name && map_puts(&p->jobs, t->uid, t, NULL) == 0)
        return t;
    tracked_free(t);
    return NULL;
}

/* --- ending an update ------------------------------------------------------------------- */

static void look_over(struct tracked *t)
{
    t->looking = false;
    if (t->ended)
        drop(t);
    else
        look_later(t, t->over ? 0 : t->progress->look_ms);
}

static void patched(void *arg, const struct json *object, const struct err *err)
{
    struct tracked *t = arg;

    (void)object;
    if (err) { /* retried with the next update */
        free(t->written);
        t->written = NULL;
    }
    look_over(t);
}

static bool is_news(struct tracked *t, const struct json *status)
{
    struct buf text = BUF_INIT(64u * 1024u);
    size_t len;

    json_write(&text, status);
    if (text.failed || (t->written && strcmp(t->written, text.data) == 0)) {
        buf_release(&text);
        return false;
    }
    free(t->written);
    t->written = buf_take(&text, &len);
    return true;
}

static void write_status(struct tracked *t)
{
    struct progress_facts facts = {.log = &t->log,
                                   .board = &t->board,
                                   .pace = &t->pace,
                                   .now_ms = clock_now_ms(loop_clock(t->progress->loop)),
                                   .ended = t->ended,
                                   .succeeded = t->succeeded};
    struct arena *a = &t->arena;
    struct json *status = progress_status(a, &facts), *patch;
    char time[TIME_TEXT_SIZE];

    if (!status || !is_news(t, status)) {
        look_over(t);
        return;
    }
    json_set_string(a, status, "time", time_format(facts.now_ms, time));
    patch = json_new_object(a);
    json_set(a, json_make_object(a, patch, "status"), "progress", status);
    if (arena_failed(a))
        look_over(t);
    else
        client_patch(t->progress->transport, t->kind, t->ns, t->name, "status", patch, patched, t);
}

/* --- an update -------------------------------------------------------------------------- */

/* On the pool. */
static void ask(struct board_cache_question *q, const struct board *b, bool more)
{
    struct tracked *t = container_of(q, struct tracked, question);

    if (!more) /* half-read files would yield outdated values */
        board_progress_of(b, &t->board);
}

static void asked(struct board_cache_question *q, const struct err *failed)
{
    struct tracked *t = container_of(q, struct tracked, question);

    (void)failed; /* then only the log counts */
    t->on_pool = false;
    if (t->dropped)
        tracked_free(t);
    else
        write_status(t);
}

static void ask_board(struct tracked *t, const struct log_folder *folder)
{
    auto_err err = ERR_INIT;

    t->question = (struct board_cache_question){.work = ask, .done = asked};
    t->on_pool = true;
    if (board_cache_ask(t->progress->boards, t->uid, folder, &t->question, &err) == 0)
        return;
    t->on_pool = false;
    write_status(t);
}

/* A folder named by the user may contain curves of earlier jobs: worth showing, but not this job's
 * progress. */
static void found_folder(void *arg, const struct log_folder *folder, const struct err *err)
{
    struct tracked *t = arg;
    struct log_folder own;

    if (err) {
        write_status(t);
        return;
    }
    own = *folder;
    log_rule_own(&own.rule, t->job,
                 t->progress->pods_are_named ? "" : t->progress->machine.nodename);
    ask_board(t, &own);
}

static void find_board(struct tracked *t, const struct json *job)
{
    if (board_cache_has(t->progress->boards, t->uid))
        ask_board(t, NULL);
    else
        folder_search_start(&t->search, t->progress->transport, &t->arena, job,
                            &(struct folder_place){.machine = t->progress->machine.nodename,
                                                   .outside = t->progress->own_folder},
                            found_folder, t);
}

/* Only its end matters. */
static void on_log(void *arg, const char *data, size_t len)
{
    struct tracked *t = arg;

    buf_add(&t->log_text, data, len);
    if (t->log_text.len > 2 * LOG_TAIL_BYTES)
        buf_consume(&t->log_text, t->log_text.len - LOG_TAIL_BYTES);
}

static void on_log_end(void *arg, const struct api_reply *reply)
{
    struct tracked *t = arg;

    t->log_stream = NULL;
    if (reply->status == 200 && t->log_text.len)
        log_progress_take(&t->log, t->log_text.data, t->log_text.len);
    buf_clear(&t->log_text);
    find_board(t, t->job);
}

/* A new attempt starts from its checkpoint: the old one's pace is void. */
static void note_pod(struct tracked *t, const char *uid)
{
    if (strcmp(t->pod_uid, uid) == 0)
        return;
    (void)snprintf(t->pod_uid, sizeof(t->pod_uid), "%s", uid);
    t->log = (struct log_progress){.epoch = 0};
    t->pace = (struct progress_pace){.any = false};
}

static void read_log(struct tracked *t, struct json *job)
{
    const struct json *replica = first_replica(job), *container;
    const char *pod = json_get_string(replica, "name", ""), *path;
    const struct api_stream_handler handler = {.on_data = on_log, .on_end = on_log_end, .arg = t};

    if (*json_get_string(replica, "uid", ""))
        note_pod(t, json_get_string(replica, "uid", ""));
    container = json_index(json_get(replica, "containers"), 0);
    path = arena_printf(&t->arena, "/api/v1/namespaces/%s/pods/%s/log?tailLines=%d%s%s", t->ns, pod,
                        LOG_TAIL_LINES, container ? "&container=" : "",
                        json_get_string(container, "name", ""));
    t->job = job;
    if (*pod && path)
        t->log_stream = transport_open(t->progress->transport, path, &handler);
    if (!t->log_stream)
        find_board(t, job);
}

static void got_job(void *arg, const struct json *job, const struct err *err)
{
    struct tracked *t = arg;
    bool is_it = !err && strcmp(object_uid(job), t->uid) == 0;
    enum progress_place place = is_it ? place_of_tracked(t, job) : PROGRESS_UNKNOWN;
    struct json *copy = place == PROGRESS_HERE ? json_clone(&t->arena, job) : NULL;

    if (place == PROGRESS_ELSEWHERE)
        drop(t); /* until an event says that it is here again */
    else if (copy)
        read_log(t, copy);
    else
        look_over(t);
}

static void look(void *arg)
{
    struct tracked *t = arg;

    t->timer = NULL;
    if (t->looking)
        return;
    t->looking = true;
    t->ended = t->over;
    arena_reset(&t->arena);
    client_get(t->progress->transport, t->kind, t->ns, t->name, got_job, t);
}

/* --- following jobs --------------------------------------------------------------------- */

static bool is_phase(const struct json *job, const char *phase)
{
    return json_string_is(json_at(job, "status", "phase"), phase);
}

static int on_job(void *arg, enum reflector_source source, const struct json *job)
{
    struct source *s = arg;
    struct tracked *t = map_gets(&s->progress->jobs, object_uid(job));
    bool ended = is_phase(job, "Succeeded") || is_phase(job, "Failed");

    (void)source;
    if (!t && is_phase(job, "Running") && place_of(s->progress, job) != PROGRESS_ELSEWHERE) {
        t = track(s, job);
        if (t)
            look_later(t, s->progress->look_ms / 2);
    }
    if (!t)
        return 0;
    t->listed = true;
    note_here(t, job);
    if (ended && !t->over) { /* one last update, now, to include its final output */
        t->over = true;
        t->succeeded = is_phase(job, "Succeeded");
        clock_stop(loop_clock(s->progress->loop), t->timer);
        t->timer = NULL;
        if (!t->looking)
            look_later(t, 0);
    }
    return 0;
}

/* Those that have ended are not followed. */
static int on_text(void *arg, const struct json *head, const char *text, size_t len)
{
    const struct source *s = arg;
    struct arena a = ARENA_INIT(LOOK_MEMORY_BYTES);
    const struct json *job;
    int rc = 0;

    if (!object_has_ended(head) || map_gets(&s->progress->jobs, object_uid(head))) {
        job = json_parse(&a, text, len, NULL);
        rc = job ? on_job(arg, REFLECTOR_LIST, job) : -ENOMEM;
    }
    arena_release(&a);
    return rc;
}

static void on_gone(void *arg, const struct json *job)
{
    struct source *s = arg;
    struct tracked *t = map_gets(&s->progress->jobs, object_uid(job));

    if (t)
        drop(t);
}

static void on_list_begin(void *arg)
{
    struct source *s = arg;

    map_for_each (node, &s->progress->jobs) {
        struct tracked *t = node->value;

        if (t->kind == s->kind)
            t->listed = false;
    }
}

static struct tracked *find_unlisted(const struct source *s)
{
    map_for_each (node, &s->progress->jobs) {
        struct tracked *t = node->value;

        if (t->kind == s->kind && !t->listed)
            return t;
    }
    return NULL;
}

static void on_list_end(void *arg)
{
    struct tracked *t;

    while ((t = find_unlisted(arg)))
        drop(t);
}

/* --- life ------------------------------------------------------------------------------- */

static bool follow_kind(struct progress *p, const struct kind *k)
{
    struct source *s = &p->sources[p->sources_len];

    *s = (struct source){.progress = p, .kind = k};
    s->reflector = reflector_new(
        &(struct reflector_options){.transport = p->transport,
                                    .clock = loop_clock(p->loop),
                                    .kind = k,
                                    .unhurried = true,
                                    .handler = {.list_begin = on_list_begin,
                                                .put = on_job,
                                                .put_text = on_text,
                                                .remove = on_gone,
                                                .list_end = on_list_end,
                                                .arg = s}});
    p->sources_len += s->reflector != NULL;
    return s->reflector;
}

struct progress *progress_new(const struct progress_options *o)
{
    struct progress *p = calloc(1, sizeof(*p));
    bool ok = p;

    if (!p)
        return NULL;
    p->loop = o->loop;
    p->transport = o->transport;
    p->place_of = o->place_of;
    p->arg = o->arg;
    p->pods_are_named = o->pods_are_named;
    p->own_folder = o->own_folder;
    p->look_ms = o->look_ms ? o->look_ms : PROGRESS_LOOK_MS;
    (void)uname(&p->machine);
    p->boards = board_cache_new(
        o->loop, &(struct board_cache_options){.boards_limit = PROGRESS_BOARDS_LIMIT,
                                               .points_limit_bytes = BOARD_POINTS_BYTES,
                                               .capacity = BOARD_CAPACITY});
    ok = p->boards;
    for (size_t i = 0; ok && job_kinds[i] && i < KINDS_LIMIT; i++)
        ok = follow_kind(p, job_kinds[i]->kind);
    if (ok)
        return p;
    progress_free(p);
    return NULL;
}

void progress_free(struct progress *p)
{
    struct map_node *node;

    if (!p)
        return;
    for (size_t i = 0; i < p->sources_len; i++)
        reflector_free(p->sources[i].reflector);
    while ((node = map_first(&p->jobs)))
        drop(node->value);
    board_cache_free(p->boards); /* work on the pool frees its job when done */
    free(p);
}
