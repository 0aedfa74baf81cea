/*
 * run.h - what the event files of one folder say: its tags with their points, texts and
 * hyperparameters. A run is TensorBoard's word for such a folder.
 */
#ifndef MUSTER_BOARD_RUN_H
#define MUSTER_BOARD_RUN_H

#include "board/event.h"
#include "board/samples.h"
#include "board/series.h"

#define RUN_TAG_NAME_LIMIT_BYTES 1024u /* tags with longer names are left out */
#define RUN_HPARAMS_LIMIT 256u
#define RUN_HPARAM_NAME_LIMIT_BYTES 256u

enum tag_kind {
    TAG_UNKNOWN,
    TAG_SCALAR,
    TAG_TEXT,
    TAG_HPARAMS,
    TAG_IMAGE,
    TAG_HISTOGRAM,
    TAG_AUDIO,
    TAG_TENSOR, /* of some other plugin */
    TAG_KIND_COUNT
};

const char *tag_kind_name(enum tag_kind kind); /* "scalar" ... */

struct tag {
    uint64_t hash;
    enum tag_kind kind;
    uint64_t values;        /* read, of whatever kind */
    struct series series;   /* TAG_SCALAR */
    struct samples samples; /* TAG_TEXT, TAG_IMAGE, TAG_HISTOGRAM */
    size_t name_len;
    char name[]; /* NUL-terminated besides */
};

struct hparam {
    char *name, *value;
};

/* What all runs of a board share: their limits. */
struct run_limits {
    uint32_t capacity;         /* of a series */
    size_t bytes, limit_bytes; /* of all points and tags */
    size_t tags, tags_limit;   /* of all runs */
    uint64_t tags_left_out;    /* values of tags that found no room */
};

struct run {
    char *name;         /* the folder, relative; "." for the folder itself */
    struct tag **slots; /* a hash table, half empty at least */
    size_t slots_len, tags_len;
    struct hparam *hparams;
    size_t hparams_len;
    struct run_limits *limits;
    bool session_started;
    int64_t last_step; /* of the last scalar */
    double last_wall_time;
};

struct run *run_new(const char *name, struct run_limits *limits) must_check;
void run_free(struct run *r);

/* Where an event stands. */
struct run_place {
    const char *file; /* its name: must live as long as the run */
    uint64_t offset;
    bool first_file; /* where a session's start is not a restart */
};

/* Out of memory leaves values out. */
void run_take(struct run *r, const struct event *e, const struct run_place *at);

const struct tag *run_find(const struct run *r, const char *tag);
/* All tags by name; the array is the caller's (free()). NULL without any, or without memory. */
const struct tag **run_tags(const struct run *r, size_t *ret_len) must_check;
/* Shrinks every series to the limits' capacity. */
void run_shrink(struct run *r);

#endif
