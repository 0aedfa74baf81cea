/*
 * shrink.h - compression for many similar texts: whatever occurred earlier in the text, or in a
 * model (one of the texts themselves), becomes a reference. Objects of one kind shrink to about a
 * tenth, and expanding one takes microseconds. One thread.
 */
#ifndef MUSTER_BASE_SHRINK_H
#define MUSTER_BASE_SHRINK_H

#include "base/base.h"

#define SHRINK_TEXT_LIMIT_BYTES (32u * 1024u) /* longer ones are stored unshrunk */

struct shrink_model;

struct shrunk {
    struct shrink_model *model; /* NULL: data is the text itself */
    uint32_t text_len, len;
    unsigned char data[];
};

/* Starts zeroed. */
struct shrinker {
    struct shrink_model *model; /* for the next text */
    unsigned long_texts;        /* how many results stayed long with it */
    unsigned patience;          /* how many of those until the model is replaced */
};

void shrinker_release(struct shrinker *s);

/* NULL: out of memory. */
struct shrunk *shrink(struct shrinker *s, const char *text, size_t len) must_check;
/* out must have room for text_len bytes and a NUL. */
void shrunk_expand(const struct shrunk *t, char *out);
void shrunk_free(struct shrunk *t);

#endif
