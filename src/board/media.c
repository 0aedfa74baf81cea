/* media.c - see media.h. The field numbers are those of summary.proto. */
#include "board/media.h"

#include <math.h>

#include "board/tensor.h"

/* --- histograms ------------------------------------------------------------------------- */

enum { HISTO_MIN = 1, HISTO_MAX = 2, HISTO_LIMITS = 6, HISTO_COUNTS = 7 };

/* The buckets: limits and counts, or triples of left, right and count. */
struct buckets {
    double min, max;
    struct tensor_numbers limits, counts, triples;
    size_t len;
};

struct bucket {
    double left, right, count;
};

static struct bucket bucket_at(const struct buckets *b, size_t i)
{
    struct bucket found;

    if (b->triples.len) {
        found = (struct bucket){.left = tensor_number(&b->triples, 3 * i),
                                .right = tensor_number(&b->triples, 3 * i + 1),
                                .count = tensor_number(&b->triples, 3 * i + 2)};
    } else {
        found = (struct bucket){.left = i ? tensor_number(&b->limits, i - 1) : b->min,
                                .right = tensor_number(&b->limits, i),
                                .count = tensor_number(&b->counts, i)};
        found.left = fmax(found.left, b->min); /* the last limit is often the largest double */
        found.right = fmin(found.right, b->max);
    }
    if (!(found.count > 0) || !isfinite(found.count) || !isfinite(found.left) ||
        !isfinite(found.right) || found.right < found.left)
        found.count = 0;
    return found;
}

static bool read_message(struct event_bytes body, struct buckets *b)
{
    struct wire w = wire_of(body.data, body.len);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if ((f.number == HISTO_MIN || f.number == HISTO_MAX) && f.type == WIRE_FIXED64)
            memcpy(f.number == HISTO_MIN ? &b->min : &b->max, &f.number_value, sizeof(double));
        else if ((f.number == HISTO_LIMITS || f.number == HISTO_COUNTS) && f.type == WIRE_BYTES)
            *(f.number == HISTO_LIMITS ? &b->limits : &b->counts) = (struct tensor_numbers){
                .data = f.data, .size = sizeof(double), .len = f.len / sizeof(double)};
    }
    b->len = min_size(b->limits.len, b->counts.len);
    return !w.bad;
}

static bool read_triples(struct event_bytes body, struct buckets *b)
{
    if (!tensor_floats(body.data, body.len, &b->triples))
        return false;
    b->len = b->triples.len / 3;
    b->min = INFINITY;
    b->max = -INFINITY;
    for (size_t i = 0; i < b->len && b->len <= HISTOGRAM_BUCKETS_LIMIT; i++) {
        struct bucket one = bucket_at(b, i);

        if (one.count > 0) {
            b->min = fmin(b->min, one.left);
            b->max = fmax(b->max, one.right);
        }
    }
    return true;
}

static double bin_of(const struct histogram *h, double value)
{
    double at = (value - h->min) / (h->max - h->min) * HISTOGRAM_BINS;

    return fmin(fmax(at, 0), HISTOGRAM_BINS);
}

/* Distributes a bucket's count over the bins it overlaps, proportionally. */
static void spread(struct histogram *h, const struct bucket *one)
{
    double from = bin_of(h, one->left), to = bin_of(h, one->right);
    size_t first = (size_t)fmin(from, HISTOGRAM_BINS - 1),
           last = (size_t)fmin(to, HISTOGRAM_BINS - 1);

    h->count += one->count;
    if (first == last || to <= from) {
        h->bins[first] += one->count;
        return;
    }
    for (size_t i = first; i <= last; i++)
        h->bins[i] += one->count * (fmin(to, (double)i + 1) - fmax(from, (double)i)) / (to - from);
}

bool histogram_of(const struct event_value *v, struct histogram *ret)
{
    struct buckets b = {.len = 0};
    bool good = v->content == VALUE_HISTOGRAM
                    ? read_message(v->body, &b)
                    : v->content == VALUE_TENSOR && read_triples(v->body, &b);

    *ret = (struct histogram){.min = b.min, .max = b.max};
    if (!good || b.len > HISTOGRAM_BUCKETS_LIMIT || !isfinite(b.min) || !isfinite(b.max) ||
        b.max < b.min || !isfinite(b.max - b.min))
        return false;
    for (size_t i = 0; i < b.len; i++) {
        struct bucket one = bucket_at(&b, i);

        if (one.count > 0 && b.max > b.min) {
            spread(ret, &one);
        } else if (one.count > 0) { /* all values are equal */
            ret->bins[HISTOGRAM_BINS / 2] += one.count;
            ret->count += one.count;
        }
    }
    return true;
}

/* --- images ----------------------------------------------------------------------------- */

enum { IMAGE_ENCODED = 4 };

const char *picture_content_type(enum picture_type type)
{
    return type == PICTURE_PNG ? "image/png" : type == PICTURE_JPEG ? "image/jpeg" : "";
}

static uint32_t big_endian(const unsigned char *p, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

/* Signature, then IHDR, which must be first. */
static bool look_png(const unsigned char *p, size_t len, struct picture *ret)
{
    if (len < 24 || memcmp(p, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(p + 12, "IHDR", 4) != 0)
        return false;
    ret->type = PICTURE_PNG;
    ret->width = big_endian(p + 16, 4);
    ret->height = big_endian(p + 20, 4);
    return true;
}

/* Follows its segments to the start of frame, which has the size. */
static bool look_jpeg(const unsigned char *p, size_t len, struct picture *ret)
{
    size_t at = 2;

    if (len < 4 || p[0] != 0xff || p[1] != 0xd8)
        return false;
    while (at + 9 < len && p[at] == 0xff) {
        unsigned char marker = p[at + 1];
        bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
                        marker != 0xcc;

        if (is_frame) {
            ret->type = PICTURE_JPEG;
            ret->height = big_endian(p + at + 5, 2);
            ret->width = big_endian(p + at + 7, 2);
            return true;
        }
        at += 2 + (size_t)big_endian(p + at + 2, 2);
    }
    return false;
}

bool picture_look(const void *data, size_t len, struct picture *ret)
{
    *ret = (struct picture){.data = data, .len = len};
    if (!look_png(data, len, ret) && !look_jpeg(data, len, ret))
        return false;
    return ret->width && ret->height && (uint64_t)ret->width * ret->height <= PICTURE_PIXELS_LIMIT;
}

bool picture_of(const struct event_value *v, size_t index, struct picture *ret)
{
    struct wire w = wire_of(v->body.data, v->body.len);
    struct event_bytes text = {0};
    struct wire_field f;

    if (index >= PICTURES_LIMIT)
        return false;
    if (v->content == VALUE_TENSOR) /* a tensor of strings: width, height, then the pictures */
        return tensor_text(v->body.data, v->body.len, index + 2, &text.data, &text.len) &&
               picture_look(text.data, text.len, ret);
    while (v->content == VALUE_IMAGE && index == 0 && wire_next(&w, &f))
        if (f.number == IMAGE_ENCODED && f.type == WIRE_BYTES)
            return picture_look(f.data, f.len, ret);
    return false;
}
