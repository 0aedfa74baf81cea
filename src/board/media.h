/*
 * media.h - decodes the histograms and images of event files in place: pure, without allocation.
 * Both have two encodings: their own messages (PyTorch) or tensors (TensorFlow 2).
 */
#ifndef MUSTER_BOARD_MEDIA_H
#define MUSTER_BOARD_MEDIA_H

#include "board/event.h"

#define HISTOGRAM_BINS 40u
#define HISTOGRAM_BUCKETS_LIMIT 65536u
#define PICTURE_PIXELS_LIMIT (64u * 1024u * 1024u) /* what a browser can reasonably decode */
#define PICTURES_LIMIT 16u                         /* per value */

struct histogram {
    double min, max, count;
    double bins[HISTOGRAM_BINS]; /* of equal width, from min to max */
};

/* False when invalid: malformed, without a finite range, or with too many buckets. */
bool histogram_of(const struct event_value *v, struct histogram *ret);

enum picture_type { PICTURE_NONE, PICTURE_PNG, PICTURE_JPEG };

struct picture {
    enum picture_type type;
    uint32_t width, height; /* according to the picture itself */
    const char *data;
    size_t len;
};

/* "image/png" ... */
const char *picture_content_type(enum picture_type type);
/* The index-th picture of a value, usually 0. False when there is none, or it cannot be shown: only
 * PNG and JPEG up to PICTURE_PIXELS_LIMIT. */
bool picture_of(const struct event_value *v, size_t index, struct picture *ret);
/* Detects the type by its first bytes. */
bool picture_look(const void *data, size_t len, struct picture *ret);

#endif
