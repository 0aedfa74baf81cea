/* logreader.c - see logreader.h. Only prints: its owner decides what to read. */
#include "cli/logreader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/status.h"
#include "base/percent.h"
#include "cli/output.h"
#include "cli/status_line.h"
#include "cli/tame.h"
#include "runtime/line_match.h"

#define PATH_LIMIT_BYTES (16u * 1024u)
#define OUT_LIMIT_BYTES (256u * 1024u * 1024u)
#define RETRY_FIRST_MS 50
#define RETRY_MOST_MS 1000

static void connect_now(struct logreader *r);

static void connect_timer(void *arg)
{
    struct logreader *r = arg;

    r->timer = NULL;
    connect_now(r);
}

static void connect_later(struct logreader *r)
{
    r->timer = clock_start(loop_clock(r->options.session->loop), r->delay_ms, connect_timer, r);
    r->delay_ms = min_i64(r->delay_ms * 2, RETRY_MOST_MS);
}

static void finish(struct logreader *r, const struct err *err)
{
    r->done = true;
    r->options.on_done(r->options.arg, r, err);
}

static void add_line(void *arg, const char *stamp, const char *line, size_t len)
{
    struct logreader *r = arg;
    size_t at;

    /* one that takes too long to match is shown */
    if (r->options.match && line_match_test(r->options.match, line, len, &at) == 0)
        return;
    buf_adds(&r->out, r->options.prefix);
    if (r->options.timestamps && *stamp)
        buf_addf(&r->out, "%s ", stamp);
    if (r->tamed)
        tame_line(&r->out, line, len);
    else
        buf_add(&r->out, line, len);
    buf_addc(&r->out, '\n');
}

/* Our reader is gone: exit silently, like any program on a closed pipe. */
static void flush(struct logreader *r)
{
    if (r->out.len == 0)
        return;
    status_line_hide();
    r->printed = true;
    if (output_bytes(STDOUT_FILENO, r->out.data, r->out.len) != 0)
        _exit(EXIT_FAILED);
    status_line_show();
    buf_clear(&r->out);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct logreader *r = arg;

    r->delay_ms = RETRY_FIRST_MS;
    logcursor_feed(&r->cursor, data, len, add_line, r);
    flush(r);
}

static void on_end(void *arg, const struct api_reply *reply)
{
    struct logreader *r = arg;
    auto_err err = ERR_INIT;

    r->stream = NULL;
    if (reply->status == 200 && r->options.is_over(r->options.arg, r)) {
        logcursor_finish(&r->cursor, add_line, r);
        flush(r);
        finish(r, NULL);
    } else if ((reply->status == 404 && r->options.is_over(r->options.arg, r)) ||
               (reply->status == 400 && r->options.previous) || reply->status == 401 ||
               reply->status == 403 ||
               (!r->options.follow && (reply->status == 503 || reply->status == 504))) {
        status_to_err(reply->status, reply->body, reply->body_len, &err);
        finish(r, &err);
    } else { /* not started yet, which a kubelet reports as 404, or the daemon went away */
        connect_later(r);
    }
}

static void add_parameter(struct buf *path, const char *name, const char *value)
{
    buf_addf(path, "%c%s=", strchr(path->data, '?') ? '&' : '?', name);
    percent_encode(path, value);
}

/* uid is only for our own server: the log of exactly this attempt. */
static void build_path(struct logreader *r, struct buf *path)
{
    struct arena scratch = ARENA_INIT(PATH_LIMIT_BYTES);
    const struct logreader_options *o = &r->options;
    const char *pod = kind_path(&scratch, &kind_pod, o->ns, o->pod);

    buf_addf(path, "%s/log", pod ? pod : "");
    add_parameter(path, "container", o->container);
    add_parameter(path, "timestamps", "true");
    if (o->by_attempt)
        buf_addf(path, "&attempt=%lld", (long long)o->attempt);
    else if (!o->previous)
        add_parameter(path, "uid", o->uid);
    if (o->previous)
        add_parameter(path, "previous", "true");
    if (o->follow)
        add_parameter(path, "follow", "true");
    if (r->cursor.stamp[0])
        add_parameter(path, "sinceTime", r->cursor.stamp);
    else if (o->since)
        add_parameter(path, "sinceTime", o->since);
    if (!r->cursor.stamp[0] && o->tail_lines >= 0)
        buf_addf(path, "&tailLines=%lld", (long long)o->tail_lines);
    arena_release(&scratch);
}

static void connect_now(struct logreader *r)
{
    const struct api_stream_handler handler = {.on_data = on_data, .on_end = on_end, .arg = r};
    struct buf path = BUF_INIT(PATH_LIMIT_BYTES);

    logcursor_reopen(&r->cursor);
    build_path(r, &path);
    r->stream = path.failed ? NULL
                            : transport_open(r->options.session->transport, path.data, &handler);
    if (!r->stream)
        connect_later(r);
    buf_release(&path);
}

struct logreader *logreader_new(const struct logreader_options *options)
{
    struct logreader *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->options = *options;
    r->tamed = !options->raw && isatty(STDOUT_FILENO);
    r->delay_ms = RETRY_FIRST_MS;
    buf_init(&r->out, OUT_LIMIT_BYTES);
    logcursor_init(&r->cursor);
    if (!options->after || options->after->done)
        connect_now(r);
    return r;
}

void logreader_begin(struct logreader *r)
{
    connect_now(r);
}

void logreader_free(struct logreader *r)
{
    if (!r)
        return;
    if (r->stream)
        transport_close(r->options.session->transport, r->stream);
    clock_stop(loop_clock(r->options.session->loop), r->timer);
    logcursor_release(&r->cursor);
    buf_release(&r->out);
    free(r);
}
