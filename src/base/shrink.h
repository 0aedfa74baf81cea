/*
 * shrink.h - compresses similar texts: whatever already occurred in the text, or in the model (one
 * of the texts itself), is replaced by a reference. Objects of one kind shrink to about a tenth;
 * expanding one takes some microseconds. Equal texts are kept once in the process: the store and
 * every cache of an object share one. One thread.
 */
#ifndef MUSTER_BASE_SHRINK_H
#define MUSTER_BASE_SHRINK_H

#include "base/base.h"

#define SHRINK_TEXT_LIMIT_BYTES (32u * 1024u) /* longer ones are stored unshrunk */

struct shrink_model;

struct shrunk {
    struct shrunk *next;        /* in the same hash bucket */
    struct shrink_model *model; /* NULL: data is the text itself */
    uint32_t text_len, len;
    uint32_t refs, hash;
    unsigned char data[];
};

/* Starts zeroed. */
struct shrinker {
    struct shrink_model *model; /* for the next text */
    unsigned long_texts;        /* how many results stayed long with it */
    unsigned patience;          /* how many of those until the model is replaced */
};

void shrinker_release(struct shrinker *s);

/* Shared by all holders of the same text. NULL: out of memory. */
struct shrunk *shrink(struct shrinker *s, const char *text, size_t len) must_check;
/* out must have room for text_len bytes and a NUL. */
void shrunk_expand(const struct shrunk *t, char *out);
void shrunk_unref(struct shrunk *t); /* NULL-safe */
size_t shrunk_count(void);           /* different texts that are kept */

#endif
