/*
 * progress.h - writes how far running jobs are into their status (status.progress): last step, last
 * loss, steps per second, and where the program says its totals, the fraction done and the time
 * left. From event files (loss_tag.h) and from the log of the first replica (log_progress.h).
 *
 * A client of the API that needs the jobs' files: it runs where they are. Nothing is written for a
 * job that tells nothing, and at most every PROGRESS_LOOK_MS for one that does.
 */
#ifndef MUSTER_CONSOLE_PROGRESS_H
#define MUSTER_CONSOLE_PROGRESS_H

#include "base/err.h"
#include "loop/loop.h"
#include "port/transport.h"

#define PROGRESS_LOOK_MS 5000
#define PROGRESS_JOBS_LIMIT 256u  /* looked after at a time */
#define PROGRESS_BOARDS_LIMIT 64u /* of them, those whose event files are read */

struct progress;

/* Starts at once. look_ms: 0 for PROGRESS_LOOK_MS; less is for tests. */
struct progress *progress_new(struct loop *loop, struct transport *t, int64_t look_ms) must_check;
void progress_free(struct progress *p); /* before the transport */

#endif
