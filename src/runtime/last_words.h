/*
 * last_words.h - of all a program writes to stderr, the line that tells why it failed: the last
 * one, or the exception of the traceback it ends with. Memory is bounded whatever comes in; what
 * comes out is valid UTF-8 without control characters, fit for a status.
 */
#ifndef MUSTER_RUNTIME_LAST_WORDS_H
#define MUSTER_RUNTIME_LAST_WORDS_H

#include "base/arena.h"

#define LAST_WORDS_LINE_BYTES 480u /* of a line; two of them are the longest answer */

/* Zero is a good start. */
struct last_words {
    char raw[LAST_WORDS_LINE_BYTES]; /* the unfinished line; what is too long is dropped */
    size_t raw_len;
    char last[LAST_WORDS_LINE_BYTES];
    char exception[LAST_WORDS_LINE_BYTES];
    unsigned lines_since; /* the exception */
    bool in_traceback;
    bool by_torchrun; /* the last traceback is torchrun's report of a worker's failure */
};

void last_words_feed(struct last_words *w, const char *data, size_t len);
/* "" when there is nothing to say. The stream has ended. */
const char *last_words_text(struct last_words *w, struct arena *a);

#endif
