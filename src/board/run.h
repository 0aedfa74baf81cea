/*
 * run.h - the contents of one folder's event files: its tags with their points, texts and
 * hyperparameters. "Run" is TensorBoard's term for such a folder.
 */
#ifndef MUSTER_BOARD_RUN_H
#define MUSTER_BOARD_RUN_H

#include "board/event.h"
#include "board/samples.h"
#include "board/series.h"

#define RUN_TAG_NAME_LIMIT_BYTES 1024u /* tags with longer names are skipped */
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
    uint64_t values;        /* read, of any kind */
    struct series series;   /* TAG_SCALAR */
    struct samples samples; /* TAG_TEXT, TAG_IMAGE, TAG_HISTOGRAM */
    size_t name_len;
    char name[]; /* also NUL-terminated */
};

struct hparam {
    char *name, *value;
};

/* Limits shared by all runs of a board. */
struct run_limits {
    uint32_t capacity;         /* of a series */
    size_t bytes, limit_bytes; /* of all points and tags */
    size_t tags, tags_limit;   /* of all runs */
    uint64_t tags_left_out;    /* values of tags for which there was no room */
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

/* The location of an event. */
struct run_place {
    const char *file; /* its name: must live as long as the run */
    uint64_t offset;
    bool first_file; /* in which a session's start is not a restart */
};

/* When out of memory, values are skipped. */
void run_take(struct run *r, const struct event *e, const struct run_place *at);

const struct tag *run_find(const struct run *r, const char *tag);
/* All tags by name; the caller frees the array. NULL without any, or when out of memory. */
const struct tag **run_tags(const struct run *r, size_t *ret_len) must_check;
/* Shrinks every series to the capacity in the limits. */
void run_shrink(struct run *r);

#endif
