/*
 * last_words.h - of all a program writes to stderr, the line that tells why it failed: the last
 * one, or the exception of the traceback it ends with; under torchrun that of the rank it reports
 * as the root cause. Memory is bounded whatever comes in; what comes out is valid UTF-8 without
 * control characters, fit for a status.
 */
#ifndef MUSTER_RUNTIME_LAST_WORDS_H
#define MUSTER_RUNTIME_LAST_WORDS_H

#include "base/arena.h"

#define LAST_WORDS_LINE_BYTES 480u /* of a line; two of them are the longest answer */

#define LAST_WORDS_RANKS 4 /* of torchrun's processes, whose exceptions are kept */

/* What torchrun reports of one process. */
struct torchrun_failure {
    int rank, code;
    bool any, in_traceback;
    char said[LAST_WORDS_LINE_BYTES];
};

/* Zero is a good start. */
struct last_words {
    char raw[LAST_WORDS_LINE_BYTES]; /* the unfinished line; what is too long is dropped */
    size_t raw_len;
    char last[LAST_WORDS_LINE_BYTES];
    char exception[LAST_WORDS_LINE_BYTES];
    unsigned lines_since;  /* the exception */
    uint64_t in_traceback; /* a bit for those without a mark, then one for each rank */
    bool by_torchrun;      /* the last traceback is torchrun's report of a worker's failure */
    /* The last exception of each that is not about a peer, else the last. */
    struct {
        int mark; /* 0: none, else the rank + 1 */
        char exception[LAST_WORDS_LINE_BYTES];
    } ranks[LAST_WORDS_RANKS];
    struct torchrun_failure failure, other; /* the report's last, which is its root cause; the first
                                               before it that has a reason of its own */
};

void last_words_feed(struct last_words *w, const char *data, size_t len);
/* "" when there is nothing to say. The stream has ended. */
const char *last_words_text(struct last_words *w, struct arena *a);

#endif
