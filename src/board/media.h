/*
 * media.h - what histograms and images of event files hold, in place: pure, and without memory of
 * its own. Both are written in two ways: as messages of their own (PyTorch), or as tensors
 * (TensorFlow 2).
 */
#ifndef MUSTER_BOARD_MEDIA_H
#define MUSTER_BOARD_MEDIA_H

#include "board/event.h"

#define HISTOGRAM_BINS 40u
#define HISTOGRAM_BUCKETS_LIMIT 65536u
#define PICTURE_PIXELS_LIMIT (64u * 1024u * 1024u) /* what a browser can be asked to unpack */
#define PICTURES_LIMIT 16u                         /* of one value */

struct histogram {
    double min, max, count;
    double bins[HISTOGRAM_BINS]; /* of equal width, from min to max */
};

/* False when it is none: malformed, without a finite range, or of too many buckets. */
bool histogram_of(const struct event_value *v, struct histogram *ret);

enum picture_type { PICTURE_NONE, PICTURE_PNG, PICTURE_JPEG };

struct picture {
    enum picture_type type;
    uint32_t width, height; /* as the picture itself says */
    const char *data;
    size_t len;
};

/* "image/png" ... */
const char *picture_content_type(enum picture_type type);
/* The index-th picture of a value, 0 for most. False when there is none, or none that can be shown:
 * a PNG or JPEG of no more than PICTURE_PIXELS_LIMIT. */
bool picture_of(const struct event_value *v, size_t index, struct picture *ret);
/* By its first bytes. */
bool picture_look(const void *data, size_t len, struct picture *ret);

#endif
