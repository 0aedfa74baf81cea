/* index_set.h - the index sets of an Indexed Job, written "0-2,5" as in its status. */
#ifndef MUSTER_API_INDEX_SET_H
#define MUSTER_API_INDEX_SET_H

#include "base/arena.h"

struct index_set {
    uint8_t *bits; /* NULL: size is 0, or out of memory */
    int64_t size, count;
};

/* Of 0 .. size-1; anything else is ignored. */
struct index_set index_set_of(struct arena *a, const char *text, int64_t size);
bool index_set_has(const struct index_set *s, int64_t index);
void index_set_add(struct index_set *s, int64_t index);
const char *index_set_text(struct arena *a, const struct index_set *s);
/* Whether the text is valid: ascending numbers and ranges below size. */
bool index_set_is_valid(const char *text, int64_t size);

#endif
