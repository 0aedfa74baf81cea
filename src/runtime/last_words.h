/*
 * last_words.h - picks from a program's stderr the line that tells why it failed: the last one, or
 * the exception of its final traceback; under torchrun that of the rank reported as the root cause.
 * Memory is bounded whatever comes in; the result is valid UTF-8 without control characters, fit
 * for a status.
 */
#ifndef MUSTER_RUNTIME_LAST_WORDS_H
#define MUSTER_RUNTIME_LAST_WORDS_H

#include "base/arena.h"

#define LAST_WORDS_LINE_BYTES 480u /* of a line; the longest result has two */

#define LAST_WORDS_RANKS 4 /* torchrun processes whose exceptions are kept */

/* torchrun's report about one process. */
struct torchrun_failure {
    int rank, code;
    bool any, in_traceback;
    char said[LAST_WORDS_LINE_BYTES];
};

/* Starts zeroed. */
struct last_words {
    char raw[LAST_WORDS_LINE_BYTES]; /* the unfinished line; the excess is dropped */
    size_t raw_len;
    char last[LAST_WORDS_LINE_BYTES];
    char exception[LAST_WORDS_LINE_BYTES];
    unsigned lines_since;  /* since the exception */
    uint64_t in_traceback; /* a bit for lines without a mark, then one per rank */
    bool by_torchrun;      /* the last traceback is torchrun's report of a worker's failure */
    /* Each one's last exception that is not about a peer, else its last. */
    struct {
        int mark; /* 0: none, else rank + 1 */
        char exception[LAST_WORDS_LINE_BYTES];
    } ranks[LAST_WORDS_RANKS];
    struct torchrun_failure failure, other; /* the report's last, its root cause; and the first
                                             * before it with a reason of its own */
};

void last_words_feed(struct last_words *w, const char *data, size_t len);
/* "" when there is nothing to say. Call it once the stream has ended. */
const char *last_words_text(struct last_words *w, struct arena *a);

#endif
