/*
 * board_cache.h - the boards in use, one per job. A board is read and queried on a pool thread, by
 * one at a time; questions are queued. Unused boards are dropped.
 */
#ifndef MUSTER_CONSOLE_BOARD_CACHE_H
#define MUSTER_CONSOLE_BOARD_CACHE_H

#include "board/board.h"
#include "console/log_folder.h"
#include "loop/loop.h"

#define BOARD_CACHE_QUESTIONS_LIMIT 256u /* waiting, all together */
#define BOARD_CACHE_IDLE_MS (5 * 60 * 1000)

struct board_cache;

struct board_cache_question {
    struct board_cache_question *next;
    /* On a pool thread. more: not all files are read yet. err: set when the folder cannot be
     * read. */
    void (*work)(struct board_cache_question *q, const struct board *b, bool more);
    /* On the loop. failed: work was not called, err says why. */
    void (*done)(struct board_cache_question *q, const struct err *failed);
};

struct board_cache_options {
    size_t boards_limit; /* at a time; the least recently used is dropped */
    size_t full_boards;  /* this many get all of points_limit_bytes; with more, each gets less, so
                          * that the sum stays the same */
    size_t points_limit_bytes; /* of one board */
    uint32_t capacity;         /* points per tag; 0: the default */
};

struct board_cache *board_cache_new(struct loop *loop,
                                    const struct board_cache_options *options) must_check;
/* Waiting questions end with an error; one being processed, too, but later. */
void board_cache_free(struct board_cache *s);

bool board_cache_has(const struct board_cache *s, const char *uid);
/* folder may be NULL when the job's board is already cached. Copied. done is never called before
 * this returns; negative: it is not called at all. */
int board_cache_ask(struct board_cache *s, const char *uid, const struct log_folder *folder,
                    struct board_cache_question *q, struct err *err) must_check;

#endif
