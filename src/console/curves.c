/*
 * curves.c - see curves.h.
 *
 * A request goes through the job (it must exist, and the caller must be allowed to get it), then
 * through the claims in its filesets, one after the other, to the job's board. The board is queried
 * on a pool thread; the loop only passes messages. Several jobs, separated by commas, are separate
 * requests whose answers are combined.
 */
#include "console/curves.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "api/object.h"
#include "api/status.h"
#include "base/list.h"
#include "base/percent.h"
#include "board/media.h"
#include "client/client.h"
#include "console/board_cache.h"
#include "console/curves_answer.h"
#include "console/curves_bundle.h"
#include "console/curves_live.h"
#include "console/folder_search.h"
#include "core/job.h"
#include "net/query.h"

#define JSON_TYPE "application/json"
#define LIVE_WIDTH 1000
#define CURVES_BOARDS_LIMIT 128u /* jobs compared, plus some */
#define CURVES_FULL_BOARDS 8u
#define CURVES_POINTS_LIMIT_BYTES (8u * 1024u * 1024u) /* of one board */

struct request;

static const struct what {
    const char *name, *content_type; /* NULL: from the picture */
    curves_answer_fn *answer;        /* NULL: a stream */
    const char *list;                /* the list that is empty for a job without curves; NULL:
                                      * 404 */
} whats[] = {
    {"runs", JSON_TYPE, curves_answer_runs, "runs"},
    {"tags", JSON_TYPE, curves_answer_tags, "tags"},
    {"points", JSON_TYPE, curves_answer_points, "series"},
    {"points.bin", "application/octet-stream", curves_answer_binary, NULL},
    {"points.csv", "text/csv; charset=utf-8", curves_answer_csv, NULL},
    {"lines.bin", "application/octet-stream", curves_answer_lines, NULL},
    {"histograms", JSON_TYPE, curves_answer_histograms, NULL},
    {"images", JSON_TYPE, curves_answer_images, NULL},
    {"image", NULL, curves_answer_image, NULL},
    {"texts", JSON_TYPE, curves_answer_texts, NULL},
    {"live", "text/event-stream", NULL, NULL},
};

struct curves {
    struct loop *loop;
    struct transport *transport;
    struct board_cache *boards;
    struct live_set live;
    struct request *requests;
    size_t requests_len;
    struct utsname machine;
    char *own_folder;
    struct folder_place place;
};

struct request {
    struct board_cache_question question;
    struct curves *curves; /* NULL: gone */
    struct request *prev, *next;
    struct httpd_request *http;
    struct bundle *bundle; /* for several jobs, of which it is part-th; NULL: for one */
    size_t part;
    struct arena *arena;                         /* the HTTP request's */
    struct transport *transport, *own_transport; /* own: must be freed, or NULL */
    const struct kind *kind;
    const char *ns, *name, *uid;
    const struct what *what;
    struct curves_ask ask;
    struct folder_search search;
    struct buf out; /* filled on the pool */
    struct err err;
};

/* --- answers ---------------------------------------------------------------------------- */

static void request_free(struct request *r)
{
    if (r->curves) {
        list_remove(&r->curves->requests, r);
        r->curves->requests_len--;
    }
    transport_free(r->own_transport);
    buf_release(&r->out);
    err_release(&r->err);
    free(r);
}

static void reply_text(struct httpd_request *http, int code, const char *content_type,
                       struct buf *body)
{
    static const struct httpd_header headers[] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy", "default-src 'none'; sandbox"}};
    struct blob *b = blob_from_buf(body);

    httpd_reply(http, b || body->len == 0 ? code : 503, content_type, headers, ELEMS(headers), b);
    blob_unref(b);
}

static void reply_err(struct httpd_request *http, const struct err *err)
{
    struct buf body = BUF_INIT(1u << 20);

    json_write(&body, status_from_err(&http->arena, err, NULL, NULL));
    reply_text(http, err_http_code(err->reason), JSON_TYPE, &body);
    buf_release(&body);
}

static void reply_bundle(struct httpd_request *http, struct bundle *b)
{
    struct buf out = BUF_INIT(CURVES_ANSWER_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    bundle_write(b, &out);
    if (out.failed) {
        err_set(&err, ERR_TOO_LARGE, "the answers are longer than %u bytes: ask for fewer jobs",
                CURVES_ANSWER_LIMIT_BYTES);
        reply_err(http, &err);
    } else {
        reply_text(http, 200, "application/octet-stream", &out);
    }
    buf_release(&out);
    bundle_free(b);
}

static void finish(struct request *r, int status, const char *content_type, struct buf *body)
{
    if (!r->bundle)
        reply_text(r->http, status, content_type, body);
    else if (bundle_take(r->bundle, r->part, status, body))
        reply_bundle(r->http, r->bundle);
    request_free(r);
}

static void fail(struct request *r, const struct err *err)
{
    struct buf body = BUF_INIT(1u << 20);

    json_write(&body, status_from_err(r->arena, err, NULL, NULL));
    finish(r, err_http_code(err->reason), JSON_TYPE, &body);
    buf_release(&body);
}

/* --- querying the board ----------------------------------------------------------------- */

/* On the pool. */
static void answer(struct board_cache_question *q, const struct board *b, bool more)
{
    struct request *r = container_of(q, struct request, question);

    if (r->what->answer && r->what->answer(b, more, &r->ask, &r->out, &r->err) < 0)
        return;
    if (r->out.failed)
        err_set(&r->err, ERR_TOO_LARGE,
                "the answer is longer than %u bytes: ask for one run or tag, or a smaller width",
                CURVES_ANSWER_LIMIT_BYTES);
}

static void open_live(struct request *r)
{
    struct httpd_request *http = r->http;
    struct stream *stream = NULL;

    if (!r->curves)
        err_set(&r->err, ERR_UNAVAILABLE, "the server is stopping");
    else if (live_open(&r->curves->live, r->uid, &r->ask, &stream, &r->err) == 0) {
        const char *type = r->what->content_type;

        request_free(r);
        httpd_stream(http, 200, type, stream);
        return;
    }
    fail(r, &r->err);
}

static const char *content_type_of(const struct request *r)
{
    struct picture p;

    if (r->what->content_type)
        return r->what->content_type;
    return picture_look(r->out.data, r->out.len, &p) ? picture_content_type(p.type)
                                                     : "application/octet-stream";
}

static void answered(struct board_cache_question *q, const struct err *failed)
{
    struct request *r = container_of(q, struct request, question);

    if (failed || err_is_set(&r->err)) {
        fail(r, failed ? failed : &r->err);
    } else if (!r->what->answer) {
        open_live(r);
    } else {
        finish(r, 200, content_type_of(r), &r->out);
    }
}

static void ask_board(struct request *r, const struct log_folder *folder)
{
    r->question = (struct board_cache_question){.work = answer, .done = answered};
    if (board_cache_ask(r->curves->boards, r->uid, folder, &r->question, &r->err) < 0)
        fail(r, &r->err);
}

/* A job without curves is not an error. */
static void reply_none(struct request *r, const struct err *why)
{
    struct json *v = json_new_object(r->arena);

    json_set_bool(r->arena, v, "reading", false);
    json_set_stringf(r->arena, v, "message", "%s%s%s", why->text, why->hint ? "; " : "",
                     why->hint ? why->hint : "");
    json_set(r->arena, v, r->what->list, json_new_array(r->arena));
    json_write(&r->out, v);
    finish(r, 200, JSON_TYPE, &r->out);
}

static void found_folder(void *arg, const struct log_folder *folder, const struct err *err)
{
    struct request *r = arg;

    if (err && err->reason == ERR_NOT_FOUND && r->what->list)
        reply_none(r, err);
    else if (err)
        fail(r, err);
    else
        ask_board(r, folder);
}

static void got_job(void *arg, const struct json *job, const struct err *err)
{
    struct request *r = arg;

    if (err) {
        fail(r, err);
        return;
    }
    r->uid = arena_strdup(r->arena, object_uid(job));
    if (!r->uid) {
        err_set(&r->err, ERR_UNAVAILABLE, "out of memory");
        fail(r, &r->err);
    } else if (board_cache_has(r->curves->boards, r->uid)) {
        ask_board(r, NULL);
    } else {
        folder_search_start(&r->search, r->transport, r->arena, job, &r->curves->place,
                            found_folder, r);
    }
}

/* --- requests --------------------------------------------------------------------------- */

/* A job, or a TensorBoard, whose files we read ourselves. */
static const struct kind *readable_kind(const char *plural)
{
    if (strcmp(plural, kind_tensorboard.plural) == 0)
        return &kind_tensorboard;
    for (size_t i = 0; job_kinds[i]; i++)
        if (strcmp(job_kinds[i]->kind->plural, plural) == 0)
            return job_kinds[i]->kind;
    return NULL;
}

/* The next segment of a path, unescaped; NULL at its end. */
static const char *segment(struct arena *a, const char **at)
{
    const char *start = *at + strspn(*at, "/");
    size_t len = strcspn(start, "/");

    *at = start + len;
    return len ? percent_decode(a, start, len) : NULL;
}

static int no_such_path(struct err *err)
{
    return err_set(
        err, ERR_NOT_FOUND,
        "there is no such path: it is " CURVES_PREFIX "/api/KINDS/NAMESPACE/JOB/"
        "{runs,tags,points,points.bin,points.csv,lines.bin,live,histograms,images,image,texts}");
}

static int parse_path(struct request *r, const char *path, struct err *err)
{
    const char *plural = segment(r->arena, &path), *ns = segment(r->arena, &path);
    const char *name = segment(r->arena, &path), *what = segment(r->arena, &path);

    r->kind = plural ? readable_kind(plural) : NULL;
    r->ns = ns;
    r->name = name;
    for (size_t i = 0; what && i < ELEMS(whats); i++)
        if (strcmp(what, whats[i].name) == 0)
            r->what = &whats[i];
    if (r->kind && r->what && !segment(r->arena, &path) && !strchr(ns, '/') && !strchr(name, '/'))
        return 0;
    return no_such_path(err);
}

static int parse_query(struct request *r, const char *query, struct err *err)
{
    int64_t width = 0;
    int rc = query_number(r->arena, query, "from", INT64_MIN, INT64_MAX, INT64_MIN,
                          &r->ask.range.from, err);

    if (rc == 0)
        rc = query_number(r->arena, query, "to", INT64_MIN, INT64_MAX, INT64_MAX, &r->ask.range.to,
                          err);
    if (rc == 0)
        rc = query_number(r->arena, query, "width", 1, POINTS_WIDTH_LIMIT,
                          r->what->answer ? 0 : LIVE_WIDTH, &width, err);
    if (rc == 0)
        rc = query_number(r->arena, query, "step", INT64_MIN, INT64_MAX, 0, &r->ask.step, err);
    if (rc == 0)
        rc = query_number(r->arena, query, "index", 0, PICTURES_LIMIT - 1, 0, &r->ask.index, err);
    r->ask.range.width = (uint32_t)width;
    r->ask.run = query_param(r->arena, query, "run");
    r->ask.tag = query_param(r->arena, query, "tag");
    return rc;
}

static struct request *request_new(struct curves *c, struct httpd_request *http)
{
    struct request *r = c->requests_len < CURVES_REQUESTS_LIMIT ? calloc(1, sizeof(*r)) : NULL;

    if (!r)
        return NULL;
    r->curves = c;
    r->http = http;
    r->arena = &http->arena;
    r->transport = c->transport;
    r->err = (struct err)ERR_INIT;
    buf_init(&r->out, CURVES_ANSWER_LIMIT_BYTES);
    list_push(&c->requests, r);
    c->requests_len++;
    return r;
}

static int may_get(const struct request *r, const struct mount_request *m, struct err *err)
{
    if (r->own_transport || m->may(m, "get", r->kind->group, r->kind->plural, r->ns, r->name))
        return 0;
    return err_set(err, ERR_FORBIDDEN, "%s.%s \"%s\" is forbidden: you may not get it",
                   r->kind->plural, r->kind->group, r->name);
}

/* The same question about another job; NULL: too many, or out of memory. */
static struct request *request_like(const struct request *r, const struct mount_request *m)
{
    struct request *like = request_new(r->curves, r->http);

    if (like && r->own_transport)
        like->transport = like->own_transport = m->transport(m);
    if (like && !like->transport) {
        request_free(like);
        return NULL;
    }
    if (like) {
        like->kind = r->kind;
        like->ns = r->ns;
        like->what = r->what;
        like->ask = r->ask;
    }
    return like;
}

/* One request per name, r being the first. Returns their number, or 0. */
static size_t split(struct request *r, const struct mount_request *m, struct request **all,
                    size_t len)
{
    const char *at = r->name;

    r->bundle = bundle_new(len);
    all[0] = r;
    for (size_t i = 0; i < len; i++) {
        size_t n = strcspn(at, ",");

        if (i)
            all[i] = r->bundle ? request_like(r, m) : NULL;
        if (!all[i])
            return len - i;
        all[i]->bundle = r->bundle;
        all[i]->part = i;
        all[i]->name = arena_strndup(r->arena, at, n);
        at += n + (at[n] == ',');
    }
    return 0;
}

/* A job the caller may not see gets an error in its place. */
static void start_several(struct request *r, const struct mount_request *m)
{
    struct request *all[BUNDLE_JOBS_LIMIT];
    size_t len = 1, missing;

    for (const char *c = r->name; *c; c++)
        len += *c == ',';
    missing = len > BUNDLE_JOBS_LIMIT ? len : split(r, m, all, len);
    if (missing) {
        for (size_t i = 1; i + missing < len; i++)
            request_free(all[i]);
        bundle_free(r->bundle);
        r->bundle = NULL;
        err_set(&r->err, ERR_TOO_MANY_REQUESTS,
                "too many concurrent questions about curves: ask for at most %u jobs",
                BUNDLE_JOBS_LIMIT);
        fail(r, &r->err);
        return;
    }
    for (size_t i = 0; i < len; i++)
        if (!all[i]->name || may_get(all[i], m, &all[i]->err) < 0)
            fail(all[i], &all[i]->err);
        else
            client_get(all[i]->transport, all[i]->kind, all[i]->ns, all[i]->name, got_job, all[i]);
}

static int begin(struct request *r, const struct mount_request *m, const char *path,
                 struct err *err)
{
    int rc = parse_path(r, path, err);

    if (rc == 0)
        rc = parse_query(r, m->http->query, err);
    if (rc == 0 && strchr(r->name, ','))
        return r->what->answer ? 0 : err_set(err, ERR_BAD_REQUEST, "live: of one job at a time");
    return rc == 0 ? may_get(r, m, err) : rc;
}

void curves_handle(void *arg, const struct mount_request *m)
{
    static const char api[] = CURVES_PREFIX "/api/";
    struct curves *c = arg;
    auto_err err = ERR_INIT;
    struct request *r;

    if (strcmp(m->http->method, "GET") != 0) {
        err_set(&err, ERR_METHOD_NOT_ALLOWED, "only GET is allowed here");
        reply_err(m->http, &err);
        return;
    }
    if (strncmp(m->http->path, api, strlen(api)) != 0) {
        (void)no_such_path(&err);
        reply_err(m->http, &err);
        return;
    }
    r = request_new(c, m->http);
    if (r && !c->transport)
        r->transport = r->own_transport = m->transport(m);
    if (r && !r->transport) {
        err_set(&err, ERR_UNAVAILABLE, "out of memory");
        fail(r, &err);
    } else if (!r) {
        err_set(&err, ERR_TOO_MANY_REQUESTS, "too many concurrent questions about curves");
        reply_err(m->http, &err);
    } else if (begin(r, m, m->http->path + strlen(api), &r->err) < 0) {
        fail(r, &r->err);
    } else if (strchr(r->name, ',')) {
        start_several(r, m);
    } else {
        client_get(r->transport, r->kind, r->ns, r->name, got_job, r);
    }
}

/* --- life ------------------------------------------------------------------------------- */

struct curves *curves_new(struct loop *loop, struct transport *t, const char *own_folder,
                          const char *const *volumes)
{
    struct curves *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->loop = loop;
    c->transport = t;
    (void)uname(&c->machine);
    c->boards = board_cache_new(
        loop, &(struct board_cache_options){.boards_limit = CURVES_BOARDS_LIMIT,
                                            .full_boards = CURVES_FULL_BOARDS,
                                            .points_limit_bytes = CURVES_POINTS_LIMIT_BYTES});
    c->live = (struct live_set){.loop = loop, .boards = c->boards};
    c->own_folder = own_folder ? strdup(own_folder) : NULL;
    c->place = (struct folder_place){
        .machine = c->machine.nodename, .outside = c->own_folder, .volumes = volumes};
    if (c->boards && (c->own_folder || !own_folder))
        return c;
    board_cache_free(c->boards);
    free(c->own_folder);
    free(c);
    return NULL;
}

void curves_free(struct curves *c)
{
    auto_err gone = ERR_INIT;

    if (!c)
        return;
    err_set(&gone, ERR_UNAVAILABLE, "the server is stopping");
    live_end_all(&c->live);
    board_cache_free(
        c->boards); /* answers questions waiting for a board; those being processed come later */
    while (c->requests) {
        struct request *r = c->requests;
        bool at_work = r->question.done != NULL;

        c->requests = r->next; /* explicit, so that the analyzer sees the loop advance */
        if (r->next)
            r->next->prev = NULL;
        r->curves = NULL;
        if (at_work)
            continue;
        client_forget(r);
        folder_search_stop(&r->search);
        fail(r, &gone);
    }
    free(c->own_folder);
    free(c);
}
