/*
 * shrink.c - see shrink.h.
 *
 * The text is treated as the continuation of the model. The output is a sequence of steps:
 *   - token: the high half is the number of literal bytes, the low half the length of the reference
 *     less LEAST;
 *   - for each half that is 15, extra length bytes, of which only the last is not 255;
 *   - the literal bytes;
 *   - two bytes with the distance back to the reference, missing at the end of the text.
 *
 * Texts hold a reference to the model they were shrunk with. When enough texts stay long with the
 * current model, one of them becomes the next; each time it takes more of them, since some texts
 * are just incompressible.
 */
#include "base/shrink.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

#define LEAST 4u        /* shortest reference */
#define LONG_ENOUGH 64u /* stop looking for a longer one */
#define TABLE_BITS 12
#define TABLE_SLOTS (1u << TABLE_BITS)
#define HALF 15u
#define LONG_STEP 255u
#define MODEL_LEAST_TEXTS 64u
#define MODEL_MOST_TEXTS (1u << 16)
#define LONG_PART 8u /* a result longer than 1/8 of its text counts as long */

struct shrink_model {
    unsigned refs;
    uint32_t len;
    uint16_t table[TABLE_SLOTS]; /* by hash: position + 1; 0: none */
    unsigned char text[];
};

static struct shrink_model *model_ref(struct shrink_model *m)
{
    m->refs++;
    return m;
}

static void model_unref(struct shrink_model *m)
{
    if (m && --m->refs == 0)
        free(m);
}

static uint32_t hash_at(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v * 2654435761u >> (32 - TABLE_BITS);
}

static struct shrink_model *model_new(const char *text, size_t len)
{
    struct shrink_model *m = calloc(1, sizeof(*m) + len);

    if (!m)
        return NULL;
    m->refs = 1;
    m->len = (uint32_t)len;
    memcpy(m->text, text, len);
    for (uint32_t i = 0; i + LEAST <= m->len; i++)
        m->table[hash_at(m->text + i)] = (uint16_t)(i + 1);
    return m;
}

/* --- shrinking --- */

/* The model and the text as one sequence, and the output for the second. */
struct work {
    unsigned char joined[2 * SHRINK_TEXT_LIMIT_BYTES];
    unsigned char out[SHRINK_TEXT_LIMIT_BYTES];
    uint16_t table[TABLE_SLOTS];
    uint32_t start, end, len;
};

static struct work work;

static bool has_room(const struct work *w, size_t bytes)
{
    return bytes <= sizeof(w->out) - w->len;
}

static void put_length(struct work *w, uint32_t n)
{
    if (n < HALF)
        return;
    for (n -= HALF; n >= LONG_STEP; n -= LONG_STEP)
        w->out[w->len++] = LONG_STEP;
    w->out[w->len++] = (unsigned char)n;
}

/* One step: `count` literal bytes from `from`, then a reference of `length` (0: end of text). */
static bool put_step(struct work *w, uint32_t from, uint32_t count, uint32_t length,
                     uint32_t distance)
{
    uint32_t rest = length ? length - LEAST : 0;

    if (!has_room(w, (size_t)count + count / LONG_STEP + rest / LONG_STEP + 8))
        return false;
    w->out[w->len++] = (unsigned char)(min_size(count, HALF) << 4 | min_size(rest, HALF));
    put_length(w, count);
    put_length(w, rest);
    memcpy(w->out + w->len, w->joined + from, count);
    w->len += count;
    if (length) {
        w->out[w->len++] = (unsigned char)distance;
        w->out[w->len++] = (unsigned char)(distance >> 8);
    }
    return true;
}

static uint32_t same_bytes(const struct work *w, uint32_t a, uint32_t b)
{
    uint32_t n = 0;
    uint64_t x, y;

    for (; b + n + sizeof(x) <= w->end; n += sizeof(x)) {
        memcpy(&x, w->joined + a + n, sizeof(x));
        memcpy(&y, w->joined + b + n, sizeof(y));
        if (x != y)
            break;
    }
    while (b + n < w->end && w->joined[a + n] == w->joined[b + n])
        n++;
    return n;
}

struct reference {
    uint32_t distance, length;
};

/* The longest of up to three candidates: the same distance as the last reference, continuing after
 * what differed; the hash's position in the model; its latest position in the text. */
static struct reference find_reference(const struct work *w, const struct shrink_model *m,
                                       uint32_t at, uint32_t last_distance)
{
    uint32_t slot = hash_at(w->joined + at);
    uint32_t in_model = m->table[slot], in_text = w->table[slot];
    uint32_t distances[] = {last_distance, in_model ? at + 1 - in_model : 0,
                            in_text ? at + 1 - in_text : 0};
    struct reference best = {0};

    for (size_t i = 0; i < ELEMS(distances) && best.length < LONG_ENOUGH; i++) {
        uint32_t length = distances[i] ? same_bytes(w, at - distances[i], at) : 0;

        if (length > best.length)
            best = (struct reference){distances[i], length};
    }
    return best;
}

/* False when the text would not get smaller. */
static bool shrink_joined(struct work *w, const struct shrink_model *m)
{
    uint32_t at = w->start, pending = at, last_distance = 0;

    while (at + LEAST <= w->end) {
        struct reference r = find_reference(w, m, at, last_distance);

        w->table[hash_at(w->joined + at)] = (uint16_t)(at + 1);
        if (r.length < LEAST) {
            at++;
            continue;
        }
        if (!put_step(w, pending, at - pending, r.length, r.distance))
            return false;
        if (at - r.distance < w->start)
            last_distance = r.distance;
        at += r.length;
        pending = at;
    }
    return put_step(w, pending, w->end - pending, 0, 0) && w->len < w->end - w->start;
}

static bool shrink_with(struct work *w, const struct shrink_model *m, const char *text, size_t len)
{
    memcpy(w->joined, m->text, m->len);
    memcpy(w->joined + m->len, text, len);
    memset(w->table, 0, sizeof(w->table));
    w->start = m->len;
    w->end = m->len + (uint32_t)len;
    w->len = 0;
    return shrink_joined(w, m);
}

/* --- reading steps --- */

struct step {
    const unsigned char *literal;
    uint32_t count, length,
        distance; /* length and distance have no meaning at the end of the text */
};

static uint32_t take_length(const unsigned char **p, uint32_t n)
{
    unsigned char more;

    if (n < HALF)
        return n;
    do {
        more = *(*p)++;
        n += more;
    } while (more == LONG_STEP);
    return n;
}

/* Of the step at p, which produces the text from `at` on; returns the next. */
static const unsigned char *read_step(const struct shrunk *t, const unsigned char *p, uint32_t at,
                                      struct step *ret)
{
    unsigned char token = *p++;

    ret->count = take_length(&p, token >> 4);
    ret->length = take_length(&p, token & HALF) + LEAST;
    ret->literal = p;
    p += ret->count;
    if (at + ret->count == t->text_len)
        return p;
    ret->distance = (uint32_t)(p[0] | p[1] << 8);
    return p + 2;
}

/* How much of a reference at `at` is in the model, and where. */
static uint32_t part_in_model(const struct shrink_model *m, uint32_t at, const struct step *s,
                              const unsigned char **ret)
{
    uint32_t in_model = s->distance > at ? s->distance - at : 0;

    *ret = m->text + m->len - in_model;
    return (uint32_t)min_size(in_model, s->length);
}

/* It may start in the model and continue in the text, or overlap its own output. */
static void copy_reference(const struct shrink_model *m, char *out, uint32_t at,
                           const struct step *s)
{
    const unsigned char *model;
    uint32_t n = part_in_model(m, at, s, &model);

    memcpy(out + at, model, n);
    if (n < s->length && s->distance >= s->length) {
        memcpy(out + at + n, out + at + n - s->distance, s->length - n);
        return;
    }
    for (; n < s->length; n++)
        out[at + n] = out[at + n - s->distance];
}

void shrunk_expand(const struct shrunk *t, char *out)
{
    const unsigned char *p = t->data;
    struct step s;
    uint32_t at = 0;

    out[t->text_len] = '\0';
    if (!t->model) {
        memcpy(out, t->data, t->len);
        return;
    }
    while (at < t->text_len) {
        p = read_step(t, p, at, &s);
        memcpy(out + at, s.literal, s.count);
        at += s.count;
        if (at == t->text_len)
            return;
        copy_reference(t->model, out, at, &s);
        at += s.length;
    }
}

/* What is referred to in the text was compared before. */
static bool has_reference(const struct shrink_model *m, const char *text, uint32_t at,
                          const struct step *s)
{
    const unsigned char *model;
    uint32_t n = part_in_model(m, at, s, &model);

    return memcmp(text + at, model, n) == 0 &&
           (n == s->length ||
            memcmp(text + at + n, text + at + n - s->distance, s->length - n) == 0);
}

/* Without expanding it. The text has as many bytes. */
static bool expands_to(const struct shrunk *t, const char *text)
{
    const unsigned char *p = t->data;
    struct step s;
    uint32_t at = 0;

    while (at < t->text_len) {
        p = read_step(t, p, at, &s);
        if (memcmp(text + at, s.literal, s.count) != 0)
            return false;
        at += s.count;
        if (at < t->text_len && !has_reference(t->model, text, at, &s))
            return false;
        at += s.length;
    }
    return true;
}

/* --- equal texts --- */

#define FEWEST_BUCKETS 256u

static struct {
    struct shrunk **buckets; /* by hash; NULL: none was kept yet, or no memory */
    size_t buckets_len;      /* a power of two */
    size_t count;
} kept;

static struct shrunk **bucket_of(uint32_t hash)
{
    return &kept.buckets[hash & (kept.buckets_len - 1)];
}

static bool is_text(const struct shrunk *t, uint32_t hash, const char *text, size_t len)
{
    if (t->hash != hash || t->text_len != len)
        return false;
    return t->model ? expands_to(t, text) : memcmp(t->data, text, len) == 0;
}

static struct shrunk *find_kept(uint32_t hash, const char *text, size_t len)
{
    struct shrunk *t = kept.buckets ? *bucket_of(hash) : NULL;

    while (t && !is_text(t, hash, text, len))
        t = t->next;
    return t;
}

static void resize_buckets(size_t len)
{
    struct shrunk **old = kept.buckets, **more = calloc(len, sizeof(struct shrunk *));
    size_t old_len = kept.buckets_len;

    if (!more)
        return; /* longer chains, then */
    kept.buckets = more;
    kept.buckets_len = len;
    for (size_t i = 0; old && i < old_len; i++)
        for (struct shrunk *t = old[i], *next; t; t = next) {
            next = t->next;
            t->next = *bucket_of(t->hash);
            *bucket_of(t->hash) = t;
        }
    free(old);
}

static bool keep_one(struct shrunk *t)
{
    if (kept.count >= kept.buckets_len)
        resize_buckets(max_size(2 * kept.buckets_len, FEWEST_BUCKETS));
    if (!kept.buckets)
        return false;
    t->next = *bucket_of(t->hash);
    *bucket_of(t->hash) = t;
    kept.count++;
    return true;
}

static void keep_no_more(const struct shrunk *t)
{
    struct shrunk **at = bucket_of(t->hash);

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (--kept.count == 0) {
        free(kept.buckets);
        kept.buckets = NULL;
        kept.buckets_len = 0;
    } else if (kept.count < kept.buckets_len / 8 && kept.buckets_len > FEWEST_BUCKETS) {
        resize_buckets(kept.buckets_len / 2);
    }
}

size_t shrunk_count(void)
{
    return kept.count;
}

static struct shrunk *keep(struct shrink_model *m, const void *data, size_t len, size_t text_len,
                           uint32_t hash)
{
    struct shrunk *t = malloc(sizeof(*t) + len);

    if (!t)
        return NULL;
    t->refs = 1;
    t->hash = hash;
    if (!keep_one(t)) {
        free(t);
        return NULL;
    }
    t->model = m ? model_ref(m) : NULL;
    t->text_len = (uint32_t)text_len;
    t->len = (uint32_t)len;
    memcpy(t->data, data, len);
    return t;
}

static bool set_model(struct shrinker *s, const char *text, size_t len)
{
    struct shrink_model *m = model_new(text, len);

    if (!m)
        return false;
    model_unref(s->model);
    s->model = m;
    s->long_texts = 0;
    s->patience = (unsigned)min_size(max_size(2 * s->patience, MODEL_LEAST_TEXTS),
                                     MODEL_MOST_TEXTS);
    return true;
}

struct shrunk *shrink(struct shrinker *s, const char *text, size_t len)
{
    uint32_t hash = crc32c(text, len);
    struct shrunk *same = find_kept(hash, text, len);
    bool smaller;

    if (same) {
        same->refs++;
        return same;
    }
    if (len >= SHRINK_TEXT_LIMIT_BYTES || (!s->model && !set_model(s, text, len)))
        return keep(NULL, text, len, len, hash);
    smaller = shrink_with(&work, s->model, text, len);
    if ((!smaller || work.len > len / LONG_PART) && ++s->long_texts > s->patience &&
        set_model(s, text, len))
        smaller = shrink_with(&work, s->model, text, len);
    return smaller ? keep(s->model, work.out, work.len, len, hash)
                   : keep(NULL, text, len, len, hash);
}

void shrunk_unref(struct shrunk *t)
{
    assert(!t || t->refs > 0);
    if (!t || --t->refs > 0)
        return;
    keep_no_more(t);
    model_unref(t->model);
    free(t);
}

void shrinker_release(struct shrinker *s)
{
    model_unref(s->model);
    *s = (struct shrinker){.model = NULL};
}
