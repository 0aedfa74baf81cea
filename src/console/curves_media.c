/* curves_media.c - see curves_answer.h: histograms, images and texts, read again from the files. */
#include <string.h>

#include "base/json.h"
#include "board/media.h"
#include "board/tensor.h"
#include "console/curves_answer.h"

#define TEXT_LIMIT_BYTES (64u * 1024u) /* of a text, its start */

struct telling {
    const struct curves_ask *ask;
    struct buf *out;
    size_t told;
};

static const struct tag *one_tag(const struct board *b, const struct curves_ask *ask,
                                 enum tag_kind kind, const struct run **ret_run, struct err *err)
{
    const char *name = ask->run ? ask->run : ".";
    const struct tag *tag;

    *ret_run = board_run(b, name);
    tag = *ret_run && ask->tag ? run_find(*ret_run, ask->tag) : NULL;
    if (tag && tag->kind == kind)
        return tag;
    if (!ask->tag)
        err_set(err, ERR_BAD_REQUEST, "tag: name one");
    else
        err_set(err, ERR_NOT_FOUND, "run \"%.200s\" has no %s tag named \"%.200s\"", name,
                tag_kind_name(kind), ask->tag);
    return NULL;
}

/* {"reading":..,"samples":[..],"limited":..}, with fn writing each sample. */
static int tell(const struct board *b, bool more, const struct curves_ask *ask, enum tag_kind kind,
                board_value_fn *fn, struct buf *out, struct err *err)
{
    struct telling t = {.ask = ask, .out = out};
    const struct run *run;
    const struct tag *tag = one_tag(b, ask, kind, &run, err);
    bool whole;

    if (!tag)
        return -1;
    buf_addf(out, "{\"reading\":%s,\"samples\":[", more ? "true" : "false");
    whole = board_read_again(b, run, tag, fn, &t);
    buf_addf(out, "],\"limited\":%s}\n", whole ? "false" : "true");
    return 0;
}

static void begin_sample(struct telling *t, const struct sample *s)
{
    buf_addf(t->out, "%s{\"step\":%lld,\"wall\":", t->told++ ? "," : "", (long long)s->step);
    curves_write_number(t->out, s->wall_time);
}

/* --- histograms ------------------------------------------------------------------------- */

static void tell_histogram(void *arg, const struct sample *s, const struct event_value *v)
{
    struct telling *t = arg;
    struct histogram h;

    if (!histogram_of(v, &h))
        return;
    begin_sample(t, s);
    buf_adds(t->out, ",\"min\":");
    curves_write_number(t->out, h.min);
    buf_adds(t->out, ",\"max\":");
    curves_write_number(t->out, h.max);
    buf_adds(t->out, ",\"count\":");
    curves_write_number(t->out, h.count);
    for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
        buf_adds(t->out, i ? "," : ",\"bins\":[");
        curves_write_number(t->out, (double)(float)h.bins[i]);
    }
    buf_adds(t->out, "]}");
}

int curves_answer_histograms(const struct board *b, bool more, const struct curves_ask *ask,
                             struct buf *out, struct err *err)
{
    return tell(b, more, ask, TAG_HISTOGRAM, tell_histogram, out, err);
}

/* --- images ----------------------------------------------------------------------------- */

static void tell_images(void *arg, const struct sample *s, const struct event_value *v)
{
    struct telling *t = arg;
    struct picture p;

    for (size_t i = 0; i < PICTURES_LIMIT; i++) {
        if (!picture_of(v, i, &p))
            continue;
        begin_sample(t, s);
        buf_addf(t->out, ",\"index\":%zu,\"type\":\"%s\",\"width\":%u,\"height\":%u,\"bytes\":%zu}",
                 i, picture_content_type(p.type), p.width, p.height, p.len);
    }
}

int curves_answer_images(const struct board *b, bool more, const struct curves_ask *ask,
                         struct buf *out, struct err *err)
{
    return tell(b, more, ask, TAG_IMAGE, tell_images, out, err);
}

static void tell_image(void *arg, const struct sample *s, const struct event_value *v)
{
    struct telling *t = arg;
    struct picture p;

    if (s->step != t->ask->step || t->told || !picture_of(v, (size_t)t->ask->index, &p))
        return;
    t->told++;
    buf_add(t->out, p.data, p.len);
}

int curves_answer_image(const struct board *b, bool more, const struct curves_ask *ask,
                        struct buf *out, struct err *err)
{
    struct telling t = {.ask = ask, .out = out};
    const struct run *run;
    const struct tag *tag = one_tag(b, ask, TAG_IMAGE, &run, err);

    (void)more;
    if (!tag)
        return -1;
    (void)board_read_again(b, run, tag, tell_image, &t);
    if (t.told)
        return 0;
    return err_set(
        err, ERR_NOT_FOUND,
        "there is no image %lld of step %lld that can be shown: a PNG or JPEG, among the "
        "last %u",
        (long long)ask->index, (long long)ask->step, SAMPLES_CAPACITY);
}

/* --- texts ------------------------------------------------------------------------------ */

static void tell_text(void *arg, const struct sample *s, const struct event_value *v)
{
    struct telling *t = arg;
    const char *text;
    size_t len;

    if (v->content != VALUE_TENSOR || !tensor_text(v->body.data, v->body.len, 0, &text, &len))
        return;
    begin_sample(t, s);
    buf_adds(t->out, ",\"text\":");
    json_write_string(t->out, text, min_size(len, TEXT_LIMIT_BYTES));
    buf_addf(t->out, ",\"cut\":%s}", len > TEXT_LIMIT_BYTES ? "true" : "false");
}

int curves_answer_texts(const struct board *b, bool more, const struct curves_ask *ask,
                        struct buf *out, struct err *err)
{
    return tell(b, more, ask, TAG_TEXT, tell_text, out, err);
}
