/*
 * run.c - see run.h.
 *
 * A value's kind follows from its content and, for tensors, from the plugin its tag was first
 * written with: TensorFlow 2 writes scalars, texts and images all as tensors, and not every writer
 * repeats the plugin.
 */
#include "board/run.h"

#include <stdlib.h>

#include "board/tensor.h"

#define SLOTS_START 64u

static const char *const kind_names[TAG_KIND_COUNT] = {
    [TAG_UNKNOWN] = "unknown", [TAG_SCALAR] = "scalar", [TAG_TEXT] = "text",
    [TAG_HPARAMS] = "hparams", [TAG_IMAGE] = "image",   [TAG_HISTOGRAM] = "histogram",
    [TAG_AUDIO] = "audio",     [TAG_TENSOR] = "tensor",
};

const char *tag_kind_name(enum tag_kind kind)
{
    return kind_names[kind];
}

static const struct {
    const char *plugin;
    enum tag_kind kind;
} plugins[] = {
    {"scalars", TAG_SCALAR},
    {"text", TAG_TEXT},
    {"hparams", TAG_HPARAMS},
    {"images", TAG_IMAGE},
    {"audio", TAG_AUDIO},
    {"histograms", TAG_HISTOGRAM},
    {"distributions", TAG_HISTOGRAM},
};

static enum tag_kind kind_of_plugin(const struct event_value *v)
{
    for (size_t i = 0; i < ELEMS(plugins); i++)
        if (v->plugin.len == strlen(plugins[i].plugin) &&
            memcmp(v->plugin.data, plugins[i].plugin, v->plugin.len) == 0)
            return plugins[i].kind;
    return v->data_class == 1 ? TAG_SCALAR : TAG_TENSOR;
}

static enum tag_kind kind_of_value(const struct event_value *v)
{
    switch (v->content) {
    case VALUE_SIMPLE:
        return TAG_SCALAR;
    case VALUE_IMAGE:
        return TAG_IMAGE;
    case VALUE_HISTOGRAM:
        return TAG_HISTOGRAM;
    case VALUE_AUDIO:
        return TAG_AUDIO;
    case VALUE_TENSOR:
    case VALUE_NONE:
        return v->has_metadata ? kind_of_plugin(v) : TAG_UNKNOWN;
    }
    unreachable();
}

/* --- the table of tags ------------------------------------------------------------------ */

static uint64_t hash_of(const char *name, size_t len)
{
    uint64_t hash = len * 0x9e3779b97f4a7c15u, part;

    for (; len >= 8; name += 8, len -= 8) {
        memcpy(&part, name, 8);
        hash = (hash ^ part) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    part = 0;
    if (len)
        memcpy(&part, name, len);
    hash = (hash ^ part) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

static struct tag **slot_of(const struct run *r, uint64_t hash, const char *name, size_t len)
{
    size_t i = hash & (r->slots_len - 1);

    while (r->slots[i] && (r->slots[i]->hash != hash || r->slots[i]->name_len != len ||
                           memcmp(r->slots[i]->name, name, len) != 0))
        i = (i + 1) & (r->slots_len - 1);
    return &r->slots[i];
}

static bool grow_slots(struct run *r)
{
    struct run larger = {.slots_len = r->slots_len ? r->slots_len * 2 : SLOTS_START};

    larger.slots = calloc(larger.slots_len, sizeof(struct tag *));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < r->slots_len; i++)
        if (r->slots[i])
            *slot_of(&larger, r->slots[i]->hash, r->slots[i]->name,
                     r->slots[i]->name_len) = r->slots[i];
    free(r->slots);
    r->slots = larger.slots;
    r->slots_len = larger.slots_len;
    return true;
}

static struct tag *tag_new(struct event_bytes name, uint64_t hash)
{
    struct tag *t = calloc(1, sizeof(*t) + name.len + 1);

    if (!t)
        return NULL;
    t->hash = hash;
    t->name_len = name.len;
    memcpy(t->name, name.data, name.len);
    return t;
}

/* Existing curves cannot be made smaller. */
static bool is_full(const struct run_limits *l)
{
    return l->capacity <= SERIES_CAPACITY_MIN && l->bytes > l->limit_bytes;
}

static struct tag *find_or_make(struct run *r, struct event_bytes name)
{
    uint64_t hash = hash_of(name.data, name.len);
    struct tag *known = r->slots_len ? *slot_of(r, hash, name.data, name.len) : NULL, **slot;

    if (known)
        return known;
    if (r->limits->tags >= r->limits->tags_limit || is_full(r->limits) ||
        name.len > RUN_TAG_NAME_LIMIT_BYTES || memchr(name.data, '\0', name.len)) {
        r->limits->tags_left_out++;
        return NULL;
    }
    if (r->tags_len * 2 >= r->slots_len && !grow_slots(r))
        return NULL;
    slot = slot_of(r, hash, name.data, name.len);
    *slot = tag_new(name, hash);
    if (*slot) {
        r->tags_len++;
        r->limits->tags++;
        r->limits->bytes += sizeof(**slot) + name.len;
    }
    return *slot;
}

/* --- values ----------------------------------------------------------------------------- */

static void take_scalar(struct run *r, struct tag *t, const struct event *e,
                        const struct event_value *v)
{
    struct point p = {.step = e->step, .wall_time = e->wall_time, .value = (double)v->simple};

    if (v->content == VALUE_TENSOR && !tensor_scalar(v->body.data, v->body.len, &p.value))
        return;
    if (v->content != VALUE_TENSOR && v->content != VALUE_SIMPLE)
        return;
    if (series_add(&t->series, p, r->limits->capacity, &r->limits->bytes) == 0) {
        r->last_step = e->step;
        r->last_wall_time = e->wall_time;
    }
}

/* Histograms are kept over the whole training; of images and texts only the newest. */
static void take_sample(struct tag *t, const struct event *e, const struct run_place *at)
{
    const struct sample s = {
        .step = e->step, .wall_time = e->wall_time, .file = at->file, .offset = at->offset};

    samples_add(&t->samples, &s, t->kind == TAG_HISTOGRAM ? SAMPLES_SPREAD : SAMPLES_LAST);
}

static void take_hparam(void *arg, struct event_bytes name, const char *value)
{
    struct run *r = arg;
    struct hparam *h;
    char *copy = strndup(name.data, min_size(name.len, RUN_HPARAM_NAME_LIMIT_BYTES));
    char *text = strdup(value);

    for (size_t i = 0; copy && text && i < r->hparams_len; i++)
        if (strcmp(r->hparams[i].name, copy) == 0) {
            free(r->hparams[i].value);
            r->hparams[i].value = text;
            free(copy);
            return;
        }
    h = copy && text && r->hparams_len < RUN_HPARAMS_LIMIT
            ? reallocarray(r->hparams, r->hparams_len + 1, sizeof(*h))
            : NULL;
    if (!h) {
        free(copy);
        free(text);
        return;
    }
    r->hparams = h;
    r->hparams[r->hparams_len++] = (struct hparam){.name = copy, .value = text};
}

static void take_value(struct run *r, const struct event *e, const struct event_value *v,
                       const struct run_place *at)
{
    struct tag *t = v->tag.data && v->tag.len ? find_or_make(r, v->tag) : NULL;

    if (!t)
        return;
    t->values++;
    if (t->kind == TAG_UNKNOWN)
        t->kind = kind_of_value(v);
    if (t->kind == TAG_SCALAR)
        take_scalar(r, t, e, v);
    else if (t->kind == TAG_TEXT || t->kind == TAG_IMAGE || t->kind == TAG_HISTOGRAM)
        take_sample(t, e, at);
    else if (t->kind == TAG_HPARAMS && v->plugin_content.data)
        event_each_hparam(v->plugin_content, take_hparam, r);
}

static void purge_all(struct run *r, int64_t step)
{
    for (size_t i = 0; i < r->slots_len; i++)
        if (r->slots[i]) {
            series_purge(&r->slots[i]->series, step);
            samples_purge(&r->slots[i]->samples, step);
        }
}

void run_take(struct run *r, const struct event *e, const struct run_place *at)
{
    struct event_value v;

    if (e->session_start) {
        if (r->session_started || !at->first_file)
            purge_all(r, e->step);
        r->session_started = true;
    }
    for (size_t i = 0; i < e->summaries_len; i++) {
        struct wire summary = e->summaries[i];

        while (event_next_value(&summary, &v))
            take_value(r, e, &v, at);
    }
}

/* --- the run ---------------------------------------------------------------------------- */

struct run *run_new(const char *name, struct run_limits *limits)
{
    struct run *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->limits = limits;
    r->name = strdup(name);
    if (r->name)
        return r;
    free(r);
    return NULL;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->slots_len; i++)
        if (r->slots[i]) {
            series_release(&r->slots[i]->series);
            samples_release(&r->slots[i]->samples);
            free(r->slots[i]);
        }
    for (size_t i = 0; i < r->hparams_len; i++) {
        free(r->hparams[i].name);
        free(r->hparams[i].value);
    }
    free(r->hparams);
    free(r->slots);
    free(r->name);
    free(r);
}

const struct tag *run_find(const struct run *r, const char *tag)
{
    size_t len = strlen(tag);

    return r->slots_len ? *slot_of(r, hash_of(tag, len), tag, len) : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tag *const *)a)->name, (*(const struct tag *const *)b)->name);
}

const struct tag **run_tags(const struct run *r, size_t *ret_len)
{
    const struct tag **tags = r->tags_len ? calloc(r->tags_len, sizeof(struct tag *)) : NULL;
    size_t n = 0;

    *ret_len = 0;
    if (!tags)
        return NULL;
    for (size_t i = 0; i < r->slots_len; i++)
        if (r->slots[i])
            tags[n++] = r->slots[i];
    qsort(tags, n, sizeof(struct tag *), by_name);
    *ret_len = n;
    return tags;
}

void run_shrink(struct run *r)
{
    for (size_t i = 0; i < r->slots_len; i++)
        if (r->slots[i])
            series_shrink(&r->slots[i]->series, r->limits->capacity, &r->limits->bytes);
}
