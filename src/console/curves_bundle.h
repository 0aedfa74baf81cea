/*
 * curves_bundle.h - combines the answers for several jobs: a frame for each, in the order
 * requested, so that a failure affects no other. docs/board.md describes the frames.
 */
#ifndef MUSTER_CONSOLE_CURVES_BUNDLE_H
#define MUSTER_CONSOLE_CURVES_BUNDLE_H

#include "base/buf.h"

#define BUNDLE_JOBS_LIMIT 64u

struct bundle;

/* NULL: no memory. */
struct bundle *bundle_new(size_t jobs) must_check;
void bundle_free(struct bundle *b);
/* Adds one job's answer; takes the body. True when it was the last one. */
bool bundle_take(struct bundle *b, size_t job, int status, struct buf *body) must_check;
/* Appends all frames; out.failed when they are too long. */
void bundle_write(const struct bundle *b, struct buf *out);

#endif
