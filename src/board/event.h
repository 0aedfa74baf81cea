/*
 * event.h - decodes an Event message in place: time, step, and the values of its summaries. media.h
 * decodes images and histograms; nothing is allocated.
 */
#ifndef MUSTER_BOARD_EVENT_H
#define MUSTER_BOARD_EVENT_H

#include "base/wire.h"

#define EVENT_SUMMARIES_LIMIT 4u /* per event; there is one in practice */

struct event {
    double wall_time; /* seconds since 1970 */
    int64_t step;
    bool session_start; /* a restart: older points from this step on are superseded */
    struct wire summaries[EVENT_SUMMARIES_LIMIT];
    size_t summaries_len;
};

enum value_content {
    VALUE_NONE,
    VALUE_SIMPLE,
    VALUE_TENSOR,
    VALUE_IMAGE,
    VALUE_HISTOGRAM,
    VALUE_AUDIO
};

struct event_bytes {
    const char *data; /* NULL: absent */
    size_t len;
};

struct event_value {
    struct event_bytes tag;
    enum value_content content;
    float simple;
    struct event_bytes body; /* unless it is a simple value */
    bool has_metadata;
    struct event_bytes plugin, plugin_content;
    uint64_t data_class; /* 0 unknown, 1 scalar, 2 tensor, 3 blobs */
};

/* False when the message is malformed. */
bool event_decode(const void *data, size_t len, struct event *ret) must_check;
/* The next value of a summary; false at its end, or where it is malformed. */
bool event_next_value(struct wire *summary, struct event_value *ret);

/* One hyperparameter of the hparams plugin: its name, and its value as text. */
typedef void event_hparam_fn(void *arg, struct event_bytes name, const char *value);
/* From the plugin content of a value whose plugin is "hparams". */
void event_each_hparam(struct event_bytes plugin_content, event_hparam_fn *fn, void *arg);

#endif
