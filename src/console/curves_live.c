/* curves_live.c - see curves_live.h. */
#include "console/curves_live.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/list.h"

#define LOOK_MS 1000
#define SILENCE_LIMIT 15 /* looks without news, then a keep-alive line */
#define EVENT_LIMIT_BYTES (32u * 1024u * 1024u)

/* What the client already has of one series. */
struct sent {
    uint64_t read, purges;
    int64_t step;
    double wall_time;
};

struct live {
    struct stream base;
    struct board_cache_question question;
    struct live_set *set; /* NULL: ended */
    struct live *prev, *next;
    char *uid, *run, *tag;
    struct curves_ask ask;
    struct map sent;       /* run NUL tag -> struct sent */
    struct buf out, fresh; /* fresh: filled on the pool */
    struct clock_timer *timer;
    bool asked, closed, failed;
    int silent;
};

/* --- on the pool ------------------------------------------------------------------------ */

static struct sent *sent_of(struct live *l, const struct run *run, const struct tag *tag)
{
    struct buf key = BUF_INIT(FOLDER_PATH_LIMIT + RUN_TAG_NAME_LIMIT_BYTES + 1024);
    struct sent *s = NULL;

    buf_add(&key, run->name, strlen(run->name) + 1);
    buf_adds(&key, tag->name);
    if (!key.failed)
        s = map_get(&l->sent, key.data, key.len);
    if (!s && !key.failed) {
        s = calloc(1, sizeof(*s));
        if (s && map_put(&l->sent, key.data, key.len, s, NULL) < 0) {
            free(s);
            s = NULL;
        }
    }
    buf_release(&key);
    return s;
}

static size_t drop_sent(const struct sent *s, struct point *p, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++)
        if (p[i].step > s->step || (p[i].step == s->step && p[i].wall_time > s->wall_time))
            p[kept++] = p[i];
    return kept;
}

static void tell_series(void *arg, const struct run *run, const struct tag *tag)
{
    struct live *l = arg;
    const struct series *series = &tag->series;
    struct sent *s = sent_of(l, run, tag);
    bool whole;
    struct point *p;
    size_t len;

    if (!s || (s->read == series->read && s->purges == series->purges))
        return;
    whole = s->read == 0 || s->purges != series->purges;
    p = points_of(series, &l->ask.range, &len);
    if (len == SIZE_MAX)
        return;
    if (!whole)
        len = drop_sent(s, p, len);
    *s = (struct sent){.read = series->read,
                       .purges = series->purges,
                       .step = series->last.step,
                       .wall_time = series->last.wall_time};
    if (len || whole) {
        buf_adds(&l->fresh, "event: points\ndata: {\"run\":");
        json_write_string(&l->fresh, run->name, strlen(run->name));
        buf_adds(&l->fresh, ",\"tag\":");
        json_write_string(&l->fresh, tag->name, strlen(tag->name));
        buf_addf(&l->fresh, ",\"whole\":%s,", whole ? "true" : "false");
        curves_write_points(&l->fresh, p, len);
        buf_adds(&l->fresh, "}\n\n");
    }
    free(p);
}

static void collect(struct board_cache_question *q, const struct board *b, bool more)
{
    struct live *l = container_of(q, struct live, question);

    (void)more;
    curves_each_scalar(b, &l->ask, tell_series, l);
}

/* --- on the loop ------------------------------------------------------------------------ */

static void live_free(struct live *l)
{
    map_release(&l->sent, free);
    buf_release(&l->out);
    buf_release(&l->fresh);
    free(l->uid);
    free(l->run);
    free(l->tag);
    free(l);
}

static void detach(struct live *l)
{
    if (!l->set)
        return;
    clock_stop(loop_clock(l->set->loop), l->timer);
    l->timer = NULL;
    list_remove(&l->set->all, l);
    l->set->count--;
    l->set = NULL;
}

static void look(void *arg);

static void look_later(struct live *l)
{
    if (l->set && !l->timer)
        l->timer = clock_start(loop_clock(l->set->loop), LOOK_MS, look, l);
}

static void collected(struct board_cache_question *q, const struct err *failed)
{
    struct live *l = container_of(q, struct live, question);

    l->asked = false;
    if (l->closed) {
        live_free(l);
        return;
    }
    l->failed = l->failed || failed || l->fresh.failed || !l->set;
    if (l->fresh.len == 0 && ++l->silent >= SILENCE_LIMIT)
        buf_adds(&l->fresh, ": still here\n\n");
    if (l->fresh.len) {
        l->silent = 0;
        buf_add(&l->out, l->fresh.data, l->fresh.len);
        buf_clear(&l->fresh);
    }
    if (l->out.len || l->failed)
        stream_ready(&l->base);
    look_later(l);
}

static void ask(struct live *l)
{
    auto_err err = ERR_INIT;

    l->asked = true;
    if (board_cache_ask(l->set->boards, l->uid, NULL, &l->question, &err) == 0)
        return;
    l->asked = false;
    l->failed = true; /* the client will reconnect */
    stream_ready(&l->base);
}

/* No new points are looked for until the client has read what there is. */
static void look(void *arg)
{
    struct live *l = arg;

    l->timer = NULL;
    if (l->out.len)
        look_later(l);
    else if (!l->asked && !l->failed)
        ask(l);
}

static ssize_t live_read(struct stream *s, char *out, size_t cap)
{
    struct live *l = container_of(s, struct live, base);
    size_t n = min_size(cap, l->out.len);

    if (n == 0)
        return l->failed ? STREAM_END : 0;
    memcpy(out, l->out.data, n);
    buf_consume(&l->out, n);
    return (ssize_t)n;
}

static void live_close(struct stream *s)
{
    struct live *l = container_of(s, struct live, base);

    detach(l);
    l->closed = true;
    if (!l->asked)
        live_free(l);
}

static const struct stream_ops live_ops = {.read = live_read, .close = live_close};

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

int live_open(struct live_set *set, const char *uid, const struct curves_ask *what,
              struct stream **ret, struct err *err)
{
    struct live *l;

    if (set->count >= CURVES_LIVE_LIMIT)
        return err_set(err, ERR_TOO_MANY_REQUESTS, "%u live streams of curves are open already",
                       CURVES_LIVE_LIMIT);
    l = calloc(1, sizeof(*l));
    if (!l)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    l->base.ops = &live_ops;
    l->question.work = collect;
    l->question.done = collected;
    l->uid = strdup(uid);
    l->run = copy(what->run);
    l->tag = copy(what->tag);
    l->ask = (struct curves_ask){.run = l->run, .tag = l->tag, .range = what->range};
    buf_init(&l->out, EVENT_LIMIT_BYTES);
    buf_init(&l->fresh, EVENT_LIMIT_BYTES);
    if (!l->uid || (what->run && !l->run) || (what->tag && !l->tag)) {
        live_free(l);
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    }
    l->set = set;
    list_push(&set->all, l);
    set->count++;
    ask(l);
    *ret = &l->base;
    return 0;
}

void live_end_all(struct live_set *set)
{
    while (set->all) {
        struct live *l = set->all;

        detach(l);
        l->failed = true;
        stream_ready(&l->base);
    }
}
