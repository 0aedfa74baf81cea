/*
 * curves_live.h - streams new points as server-sent events: first the existing ones, then
 * additions, checked once a second. Nothing is buffered for a client that does not read.
 */
#ifndef MUSTER_CONSOLE_CURVES_LIVE_H
#define MUSTER_CONSOLE_CURVES_LIVE_H

#include "console/board_cache.h"
#include "console/curves_answer.h"
#include "port/stream.h"

#define CURVES_LIVE_LIMIT 64u

struct live;

struct live_set {
    struct loop *loop;
    struct board_cache *boards;
    struct live *all;
    size_t count;
};

/* The stream is freed by its close. The board cache must have the job's board. */
int live_open(struct live_set *set, const char *uid, const struct curves_ask *ask,
              struct stream **ret, struct err *err) must_check;
/* Ends all streams; they are freed when their consumers close them. Before freeing the board
 * cache. */
void live_end_all(struct live_set *set);

#endif
