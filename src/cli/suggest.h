/* suggest.h - "did you mean": the nearest word of a list. Pure. */
#ifndef MUSTER_CLI_SUGGEST_H
#define MUSTER_CLI_SUGGEST_H

#include "base/base.h"

/* Edits (insert, delete, replace, swap of neighbours) from a to b, ignoring case. */
size_t suggest_distance(const char *a, const char *b);

struct suggest {
    const char *word; /* as typed */
    const char *best; /* the nearest so far; NULL: none is near enough */
    size_t distance;
};

void suggest_init(struct suggest *s, const char *word);
void suggest_offer(struct suggest *s, const char *candidate);

#endif
