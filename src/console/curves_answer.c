/* curves_answer.c - see curves_answer.h. */
#include "console/curves_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void curves_write_number(struct buf *out, double value)
{
    if (!isfinite(value))
        buf_adds(out, "null");
    else if ((double)(float)value == value)
        buf_addf(out, "%.9g", value);
    else
        buf_addf(out, "%.17g", value);
}

static void write_text(struct buf *out, const char *text)
{
    json_write_string(out, text, strlen(text));
}

void curves_each_scalar(const struct board *b, const struct curves_ask *ask,
                        void (*fn)(void *arg, const struct run *run, const struct tag *tag),
                        void *arg)
{
    map_for_each (node, board_runs(b)) {
        const struct run *run = node->value;
        const struct tag **tags;
        size_t len;

        if (ask->run && strcmp(ask->run, run->name) != 0)
            continue;
        tags = run_tags(run, &len);
        for (size_t i = 0; i < len; i++)
            if (tags[i]->kind == TAG_SCALAR && (!ask->tag || strcmp(ask->tag, tags[i]->name) == 0))
                fn(arg, run, tags[i]);
        free(tags);
    }
}

/* --- runs ------------------------------------------------------------------------------- */

static void write_hparams(struct buf *out, const struct run *run)
{
    buf_adds(out, "\"hparams\":{");
    for (size_t i = 0; i < run->hparams_len; i++) {
        if (i)
            buf_addc(out, ',');
        write_text(out, run->hparams[i].name);
        buf_addc(out, ':');
        write_text(out, run->hparams[i].value);
    }
    buf_addc(out, '}');
}

static void write_run(struct buf *out, const struct run *run)
{
    buf_adds(out, "{\"name\":");
    write_text(out, run->name);
    buf_addf(out, ",\"tags\":%zu,", run->tags_len);
    if (run->last_wall_time > 0)
        buf_addf(out, "\"lastStep\":%lld,\"lastTime\":%.3f,", (long long)run->last_step,
                 run->last_wall_time);
    write_hparams(out, run);
    buf_addc(out, '}');
}

static void write_state(struct buf *out, const struct board *b, bool more)
{
    struct board_totals t;

    board_totals(b, &t);
    buf_addf(out,
             "\"reading\":%s,\"files\":%llu,\"bytes\":%llu,\"bytesRead\":%llu,"
             "\"badRecords\":%llu,\"longRecords\":%llu,\"damagedFiles\":%llu,\"limited\":%s",
             more ? "true" : "false", (unsigned long long)t.files, (unsigned long long)t.bytes,
             (unsigned long long)t.bytes_read, (unsigned long long)t.bad_records,
             (unsigned long long)t.long_records, (unsigned long long)t.ended_files,
             t.limited ? "true" : "false");
}

int curves_answer_runs(const struct board *b, bool more, const struct curves_ask *ask,
                       struct buf *out, struct err *err)
{
    bool first = true;

    (void)ask, (void)err;
    buf_addc(out, '{');
    write_state(out, b, more);
    buf_adds(out, ",\"runs\":[");
    map_for_each (node, board_runs(b)) {
        if (!first)
            buf_addc(out, ',');
        first = false;
        write_run(out, node->value);
    }
    buf_adds(out, "]}\n");
    return 0;
}

/* --- tags ------------------------------------------------------------------------------- */

static void write_point(struct buf *out, const char *name, const struct point *p)
{
    buf_addf(out, ",\"%s\":{\"step\":%lld,\"wall\":%.3f,\"value\":", name, (long long)p->step,
             p->wall_time);
    curves_write_number(out, p->value);
    buf_addc(out, '}');
}

static void write_tag(struct buf *out, const struct run *run, const struct tag *t)
{
    const struct series *s = &t->series;

    buf_adds(out, "{\"run\":");
    write_text(out, run->name);
    buf_adds(out, ",\"tag\":");
    write_text(out, t->name);
    buf_addf(out, ",\"kind\":\"%s\",\"count\":%llu", tag_kind_name(t->kind),
             (unsigned long long)t->values);
    if (s->any) {
        write_point(out, "first", &s->first);
        write_point(out, "last", &s->last);
    }
    if (s->any && s->any_finite) {
        write_point(out, "min", &s->min);
        write_point(out, "max", &s->max);
    }
    if (t->kind == TAG_HPARAMS) {
        buf_addc(out, ',');
        write_hparams(out, run);
    }
    buf_addc(out, '}');
}

int curves_answer_tags(const struct board *b, bool more, const struct curves_ask *ask,
                       struct buf *out, struct err *err)
{
    bool first = true;

    (void)err;
    buf_addf(out, "{\"reading\":%s,\"tags\":[", more ? "true" : "false");
    map_for_each (node, board_runs(b)) {
        const struct run *run = node->value;
        size_t len = 0;
        const struct tag **tags = !ask->run || strcmp(ask->run, run->name) == 0
                                      ? run_tags(run, &len)
                                      : NULL;

        for (size_t i = 0; i < len; i++) {
            if (!first)
                buf_addc(out, ',');
            first = false;
            write_tag(out, run, tags[i]);
        }
        free(tags);
    }
    buf_adds(out, "]}\n");
    return 0;
}

/* --- points ----------------------------------------------------------------------------- */

void curves_write_points(struct buf *out, const struct point *p, size_t len)
{
    buf_adds(out, "\"step\":[");
    for (size_t i = 0; i < len; i++)
        buf_addf(out, "%s%lld", i ? "," : "", (long long)p[i].step);
    buf_adds(out, "],\"wall\":[");
    for (size_t i = 0; i < len; i++)
        buf_addf(out, "%s%.6f", i ? "," : "", p[i].wall_time);
    buf_adds(out, "],\"value\":[");
    for (size_t i = 0; i < len; i++) {
        if (i)
            buf_addc(out, ',');
        curves_write_number(out, p[i].value);
    }
    buf_addc(out, ']');
}

struct writing {
    const struct curves_ask *ask;
    struct buf *out;
    size_t series;
};

/* The requested points, to be freed; false when out of memory. */
static bool take_points(const struct writing *w, const struct tag *tag, struct point **ret,
                        size_t *ret_len)
{
    *ret = points_of(&tag->series, &w->ask->range, ret_len);
    if (*ret_len == SIZE_MAX)
        w->out->failed = true;
    return *ret_len != SIZE_MAX;
}

static void write_series(void *arg, const struct run *run, const struct tag *tag)
{
    struct writing *w = arg;
    struct point *p;
    size_t len;

    if (!take_points(w, tag, &p, &len))
        return;
    buf_adds(w->out, w->series++ ? ",{\"run\":" : "{\"run\":");
    write_text(w->out, run->name);
    buf_adds(w->out, ",\"tag\":");
    write_text(w->out, tag->name);
    buf_addf(w->out, ",\"read\":%llu,", (unsigned long long)tag->series.read);
    curves_write_points(w->out, p, len);
    buf_addc(w->out, '}');
    free(p);
}

int curves_answer_points(const struct board *b, bool more, const struct curves_ask *ask,
                         struct buf *out, struct err *err)
{
    struct writing w = {.ask = ask, .out = out};

    (void)err;
    buf_addf(out, "{\"reading\":%s,\"series\":[", more ? "true" : "false");
    curves_each_scalar(b, ask, write_series, &w);
    buf_adds(out, "]}\n");
    return 0;
}

static const struct tag *one_scalar(const struct board *b, const struct curves_ask *ask,
                                    struct err *err)
{
    const char *name = ask->run ? ask->run : ".";
    const struct run *run = board_run(b, name);
    const struct tag *tag = run && ask->tag ? run_find(run, ask->tag) : NULL;

    if (tag && tag->kind == TAG_SCALAR)
        return tag;
    if (!ask->tag)
        err_set(err, ERR_BAD_REQUEST, "tag: name one");
    else
        err_set(err, ERR_NOT_FOUND, "run \"%.200s\" has no scalars named \"%.200s\"", name,
                ask->tag);
    return NULL;
}

int curves_answer_binary(const struct board *b, bool more, const struct curves_ask *ask,
                         struct buf *out, struct err *err)
{
    const struct tag *tag = one_scalar(b, ask, err);
    uint32_t head[2] = {0x3150424d /* "MBP1" */, 0}, flags[2] = {more, 0};
    struct point *p;
    size_t len;

    if (!tag)
        return -1;
    p = points_of(&tag->series, &ask->range, &len);
    if (len == SIZE_MAX)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    head[1] = (uint32_t)len;
    buf_add(out, head, sizeof(head));
    buf_add(out, flags, sizeof(flags));
    for (size_t i = 0; i < len; i++)
        buf_add(out, &p[i].step, 8);
    for (size_t i = 0; i < len; i++)
        buf_add(out, &p[i].wall_time, 8);
    for (size_t i = 0; i < len; i++)
        buf_add(out, &p[i].value, 8);
    free(p);
    return 0;
}

/* One curve: lengths, its names, and its points as numbers a browser reads in place. */
static void write_line(void *arg, const struct run *run, const struct tag *tag)
{
    static const char padding[8] = {0};
    struct buf names = BUF_INIT(64u * 1024u);
    struct writing *w = arg;
    struct point *p;
    uint32_t head[2];
    double step;
    size_t len;

    if (!take_points(w, tag, &p, &len))
        return;
    buf_adds(&names, "{\"run\":");
    write_text(&names, run->name);
    buf_adds(&names, ",\"tag\":");
    write_text(&names, tag->name);
    buf_addc(&names, '}');
    head[0] = (uint32_t)names.len;
    head[1] = (uint32_t)len;
    buf_add(w->out, head, sizeof(head));
    buf_add(w->out, names.data, names.len);
    buf_add(w->out, padding, -names.len % sizeof(padding));
    for (size_t i = 0; i < len; i++) {
        step = (double)p[i].step;
        buf_add(w->out, &step, sizeof(step));
    }
    for (size_t i = 0; i < len; i++)
        buf_add(w->out, &p[i].wall_time, sizeof(double));
    for (size_t i = 0; i < len; i++)
        buf_add(w->out, &p[i].value, sizeof(double));
    w->out->failed = w->out->failed || names.failed;
    buf_release(&names);
    free(p);
}

int curves_answer_lines(const struct board *b, bool more, const struct curves_ask *ask,
                        struct buf *out, struct err *err)
{
    struct writing w = {.ask = ask, .out = out};

    (void)more, (void)err;
    curves_each_scalar(b, ask, write_line, &w);
    return 0;
}

/* --- CSV -------------------------------------------------------------------------------- */

/* Quoted if necessary. */
static void write_cell(struct buf *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        buf_adds(out, text);
        return;
    }
    buf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_addc(out, '"');
        buf_addc(out, *text);
    }
    buf_addc(out, '"');
}

static void write_rows(void *arg, const struct run *run, const struct tag *tag)
{
    struct writing *w = arg;
    struct point *p;
    size_t len;

    if (!take_points(w, tag, &p, &len))
        return;
    for (size_t i = 0; i < len; i++) {
        write_cell(w->out, run->name);
        buf_addc(w->out, ',');
        write_cell(w->out, tag->name);
        buf_addf(w->out, ",%lld,%.6f,", (long long)p[i].step, p[i].wall_time);
        if (isfinite(p[i].value))
            curves_write_number(w->out, p[i].value);
        else
            buf_adds(w->out, isnan(p[i].value) ? "NaN" : p[i].value > 0 ? "Infinity" : "-Infinity");
        buf_addc(w->out, '\n');
    }
    free(p);
}

int curves_answer_csv(const struct board *b, bool more, const struct curves_ask *ask,
                      struct buf *out, struct err *err)
{
    struct writing w = {.ask = ask, .out = out};

    (void)more, (void)err;
    buf_adds(out, "run,tag,step,wall_time,value\n");
    curves_each_scalar(b, ask, write_rows, &w);
    return 0;
}
