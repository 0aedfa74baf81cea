/*
 * progress.h - writes the progress of running jobs into their status (status.progress): last step,
 * last loss, steps per second, and if the program prints totals, the fraction done and the time
 * left. From event files (loss_tag.h) and the log of the first replica (log_progress.h).
 *
 * A client of the API that needs the jobs' files: it runs where they are, in every process that
 * runs pods. The one whose machine has the job's first replica writes, so that no two do. Nothing
 * is written for a job that reports nothing, and at most every PROGRESS_LOOK_MS otherwise.
 */
#ifndef MUSTER_CONSOLE_PROGRESS_H
#define MUSTER_CONSOLE_PROGRESS_H

#include "base/err.h"
#include "loop/loop.h"
#include "port/transport.h"

#define PROGRESS_LOOK_MS 5000
#define PROGRESS_JOBS_LIMIT 256u  /* tracked at a time */
#define PROGRESS_BOARDS_LIMIT 64u /* of them, those whose event files are read */

/* Where a pod is; unknown before the machine's pods are. */
enum progress_place { PROGRESS_UNKNOWN, PROGRESS_HERE, PROGRESS_ELSEWHERE };

struct progress_options {
    struct loop *loop;
    struct transport *transport;
    enum progress_place (*place_of)(void *arg, const char *ns, const char *pod, const char *uid);
    void *arg;
    bool pods_are_named;    /* pods have host names of their own: none writes under the machine's */
    const char *own_folder; /* muster's, see folder_search.h; NULL: unknown. Must live as long */
    int64_t look_ms;        /* 0: PROGRESS_LOOK_MS; less is for tests */
};

struct progress;

/* Starts at once. */
struct progress *progress_new(const struct progress_options *options) must_check;
void progress_free(struct progress *p); /* before the transport */

#endif
