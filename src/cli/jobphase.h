/* jobphase.h - a job's status in terms for the user waiting for it. Pure. */
#ifndef MUSTER_CLI_JOBPHASE_H
#define MUSTER_CLI_JOBPHASE_H

#include "base/json.h"

const char *job_phase(const struct json *job); /* "Pending" before the controller has set it */
bool job_is_finished(const struct json *job);
bool job_has_succeeded(const struct json *job);
/* One sentence, or "". */
const char *job_why(const struct json *job);
int64_t job_restarts(const struct json *job);
int64_t job_running(const struct json *job);
int64_t job_replicas(const struct json *job);

/* Its progress in a few words ("45%, 3m12s left, loss 0.312"), or "". all: including what is
 * otherwise omitted. */
#define JOB_PROGRESS_SIZE 160
const char *job_progress(const struct json *job, bool all, char out[JOB_PROGRESS_SIZE]);

/* What was reported last, so that only changes are. */
struct jobphase {
    char phase[32];
    char why[1024];
    int64_t running, restarts;
    bool any;
};

/* The next change to report ("running 4/4"), or NULL. Ends are not reported here, but when the logs
 * are complete. Text is in the arena. */
const char *jobphase_news(struct jobphase *last, struct arena *a, const struct json *job);

#endif
